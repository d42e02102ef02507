/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a job that the trainer's thread and the client's loop thread share.
 *
 * The loop appends ready batches to a queue (cw_client_job_push); the trainer takes the whole
 * queue at once (cw_client_job_take). So a batch costs neither side a lock or a wake-up of its
 * own, and thousands a second can pass.
 *
 * What is consumed is therefore recorded twice, on purpose:
 *   - The trainer keeps its own position (pos, last_pos, used) without any lock. A token, which
 *     it may ask for between any two batches, is made from these alone, and is exact.
 *   - The loop keeps a record for each entry of the queue, in the ledger (client/delivery/
 *     ledger.h), with what the trainer needs not know: whose credit it holds, and which items it
 *     finishes. From the ledger come credit for workers and acknowledgements for the dispatcher.
 * The two are joined by serial numbers: the loop numbers the entries that it pushes 1, 2, 3 ...,
 * and the trainer takes them in that order, so it only counts. It publishes two counters, with
 * release order: `given`, the serial of the last entry that it was given, and `consumed`, the
 * serial of the last one that it has come back from (by asking for the next). The loop reads both
 * with acquire order in cw_ledger_settle, when it likes: every 50 ms, with each message of a
 * worker, or when the trainer wakes it (cw_client_job_kick), which it does after a quarter of the
 * window or an eighth of the buffer. So the ledger lags behind the trainer and never leads. */
#ifndef CW_CLIENT_MODEL_CLIENT_JOB_H
#define CW_CLIENT_MODEL_CLIENT_JOB_H

#include "base/interval.h"
#include "base/thread.h"
#include "client/model/trainer_batch.h"
#include "client/model/client.h"
#include "client/model/trainer_measure.h"
#include "client/model/trainer_spec.h"
#include "client/model/waits.h"
#include "loop/loop.h"

#define CW_JOB_MAGIC 0x63774a4fu
/* The values are those of enum cachew_consumer_mode and of ConsumerMode in job.proto. */
#define CW_MODE_COORDINATED 1
#define CW_MODE_SHARED 2

struct cw_session;

/* Counters for cachew_job_stats. Any thread may read them; the loop thread writes them unless the
 * trainer is named. */
struct cw_job_counts {
    /* The trainer writes these. epoch_batches: the batches of the present epoch that were given
     * out. */
    _Atomic uint64_t batches, elements, bytes, skipped, epoch, epoch_batches, wait_ns;
    _Atomic uint64_t duplicates, shm_batches, grpc_batches, copies, buffered_bytes, lost_items,
        reconnects;
    _Atomic uint64_t pushed; /* The serial number of the last entry of the queue. */
    /* The trainer writes it: the items of its present epoch that are consumed. */
    _Atomic uint64_t done_items;
    _Atomic uint32_t workers; /* The number of workers that are connected. */
};
/* The bad elements that were left out of a batch, or behind the last batch of an epoch. */
struct cw_job_bad {
    uint64_t epoch, number, n;
    struct cw_bad_list *list; /* describes the first of them; one reference */
};
struct cachew_job {
    uint32_t magic;
    pid_t pid; /* The process that started the job. A forked child must not use it. */
    struct cachew_client *client;
    struct cw_session *session; /* The session belongs to the loop thread. */

    /* ---- What the job is: set before cachew_job_start returns, and then constant ---- */
    char *_Atomic id; /* Only the id may change: a job that the dispatcher lost gets another one. */
    /* Earlier ids, which are kept because callers may still read them. Loop thread. */
    char **old_ids;
    size_t old_ids_n;
    struct cw_hash fingerprint;
    /* The fingerprints of the pipeline and of the source files; both are parts of the job's
     * fingerprint. */
    uint64_t pipeline_sum, files_sum;
    uint32_t identity; /* An enum cw_identity: how source files are told from others. */
    uint64_t seed;
    uint64_t epochs; /* The number is 0 if the job has no last epoch. */
    uint64_t items;  /* The number of items of an epoch. */
    uint64_t mine;   /* How many items of an epoch belong to this consumer. */
    int64_t elements;
    bool sparse, unordered;
    bool writable;           /* The trainer may write into its batches. */
    struct cachew_spec spec; /* of its batches */
    struct cw_pads
        *pads; /* how rows of a sparse pipeline are filled up; holds one reference, or is NULL */
    uint32_t mode, consumers, consumer;

    /* ---- The trainer's thread (whichever calls cachew_job_next) owns these. ---- */
    /* Entries that were taken from the queue and are not given out yet. */
    struct cachew_batch *taken;
    uint64_t serial;            /* The serial number of the entry that was given out last. */
    bool last_pending;          /* That entry is a batch that is not consumed yet. */
    struct cw_pos pos;          /* The position behind what is consumed. */
    struct cw_pos last_pos;     /* The position behind what was given out last. */
    struct cw_set used;         /* Unordered jobs: the consumed items of epoch pos.epoch. */
    uint64_t last_item;         /* The item of the batch that was given out last. */
    struct cw_job_bad last_bad; /* What was left out of what was given out last. */
    _Atomic bool over;          /* All epochs are consumed, so the job is over. */
    uint64_t unkicked_n, unkicked_bytes; /* What was given out since the loop was last woken. */

    struct cw_mutex mutex;
    struct cw_cond cond;
    struct cachew_batch *head, *tail; /* The queue of batches for the trainer. `mutex` guards it. */
    bool waiting;                     /* The trainer sleeps on cond. `mutex` guards it. */
    bool started, closed;             /* `mutex` guards these fields. */
    /* The descriptor of cachew_job_fd, if somebody has asked for it. The trainer writes both with the
     * mutex locked. */
    bool has_fd;
    int fd;
    bool fd_is_ready;      /* The descriptor is readable. `mutex` guards it. */
    int64_t start_by_ns;   /* The time at which cachew_job_start gives up. `mutex` guards it. */
    struct cw_err err;     /* Why the job failed; the first error stays. `mutex` guards it. */
    struct cw_waits waits; /* What the job waits for. `mutex` guards it. */

    _Atomic uint64_t given, consumed; /* Serial numbers that the trainer publishes (see above). */
    /* The trainer wakes the loop after this number of batches or bytes. The loop writes both
     * fields. */
    _Atomic uint64_t kick_n, kick_bytes;
    _Atomic int kicked; /* A wake-up of the loop is posted and has not run yet. */
    _Atomic int cancelled;
    struct cw_loop_node kick_node;
    struct cw_job_counts counts;
    /* The trainer writes its measurements here, and the loop reads them. */
    struct cw_trainer_measure measure;
};

/* Appends a list of entries to the queue, which takes them, and wakes the trainer if it sleeps.
 * Loop thread. */
void cw_client_job_push(struct cachew_job *job, struct cachew_batch *head,
                        struct cachew_batch *tail);
/* Waits until the queue has an entry, and moves all entries to job->taken. Returns 0 or an error:
 * TIMEOUT, or why the job failed. If it returns 0 and nothing was taken, the job was cancelled.
 * Trainer's thread. */
int cw_client_job_take(struct cachew_job *job, int64_t timeout_ms,
                       struct cw_err *err) CW_MUST_CHECK;
/* Makes the job's descriptor readable, if there is one: cachew_job_next would not wait. The mutex is
 * locked. Any thread may call it. */
void cw_client_job_raise(struct cachew_job *job);
/* Makes it unreadable if cachew_job_next would wait. Trainer's thread. */
void cw_client_job_lower(struct cachew_job *job);
/* Changes the id of the job. Loop thread. */
void cw_client_job_set_id(struct cachew_job *job, const char *id);
/* Fails the job; the first error stays. Any thread may call it. */
void cw_client_job_fail(struct cachew_job *job, const struct cw_err *err);
/* Returns 0, or STATE if this is not an open job, or one of a parent process. */
int cw_client_job_check(const struct cachew_job *job, struct cw_err *err);
/* Wakes the loop, which then reads `given` and `consumed`. Any thread may call it; it only
 * posts. */
void cw_client_job_kick(struct cachew_job *job);

#endif
