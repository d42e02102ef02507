/* SPDX-License-Identifier: Apache-2.0 */
/* A job: where the trainer's thread and the client's loop thread meet. The loop puts finished
 * batches into a queue; the trainer takes the whole queue at once, and tells what it was given
 * and has consumed by two counters. So a batch costs neither side a lock or a wake-up of its
 * own, and thousands a second pass. */
#ifndef CW_CLIENT_JOB_H
#define CW_CLIENT_JOB_H

#include "base/interval.h"
#include "base/thread.h"
#include "client/model/batch.h"
#include "client/model/client.h"
#include "client/model/trainer_measure.h"
#include "loop/loop.h"

#define CW_JOB_MAGIC 0x63774a4fu
/* enum cachew_consumer_mode, ConsumerMode of job.proto */
#define CW_MODE_COORDINATED 1
#define CW_MODE_SHARED 2

struct cw_session;

/* Counters that any thread reads; the loop thread writes them unless another is named. */
struct cw_job_counts {
    _Atomic uint64_t batches, elements, bytes, skipped, epoch, epoch_batches, wait_ns; /* trainer */
    _Atomic uint64_t duplicates, shm_batches, grpc_batches, copies, buffered_bytes, lost_items,
        reconnects;
    _Atomic uint64_t pushed;     /* serial of the last entry of the queue */
    _Atomic uint64_t done_items; /* of the trainer's epoch, consumed */
    _Atomic uint32_t workers;
};
struct cachew_job {
    uint32_t magic;
    pid_t pid;
    struct cachew_client *client;
    struct cw_session *session; /* loop */

    /* What the job is: set before cachew_job_start returns, then constant. */
    char *_Atomic id;
    char **old_ids; /* loop; of jobs that were begun again: who asked may still read them */
    size_t old_ids_n;
    struct cw_hash fingerprint;
    uint64_t pipeline_sum, files_sum;   /* parts of it */
    uint32_t identity;                  /* of the source files */
    uint64_t seed, epochs, items, mine; /* mine: items of an epoch that are this consumer's */
    int64_t elements;
    bool sparse, unordered;
    uint32_t mode, consumers, consumer;

    /* The trainer's (whichever thread calls cachew_job_next). */
    struct cachew_batch *taken;  /* out of the queue, not yet given out */
    uint64_t serial;             /* of the entry given out last */
    bool last_pending;           /* it is a batch that has not been consumed */
    struct cw_pos pos, last_pos; /* behind what is consumed; behind what was given out last */
    struct cw_set used;          /* unordered: items of pos.epoch consumed */
    uint64_t last_item;
    _Atomic bool over;
    uint64_t unkicked_n, unkicked_bytes;

    struct cw_mutex mutex;
    struct cw_cond cond;
    struct cachew_batch *head, *tail; /* lock: mutex; the queue */
    bool waiting;                     /* lock: mutex; the trainer sleeps */
    bool started, closed;             /* lock: mutex */
    int64_t start_by_ns;              /* lock: mutex; cachew_job_start gives up */
    struct cw_err err;                /* lock: mutex; why the job failed */
    char reason[256];                 /* lock: mutex; what it waits for */

    _Atomic uint64_t given, consumed;    /* serials, written by the trainer */
    _Atomic uint64_t kick_n, kick_bytes; /* the trainer wakes the loop after so much */
    _Atomic int kicked, cancelled;
    struct cw_loop_node kick_node;
    struct cw_job_counts counts;
    struct cw_measure measure; /* trainer and loop */
};

/* Loop thread. Appends a list to the queue (takes it) and wakes the trainer if it sleeps. */
void cw_job_push(struct cachew_job *job, struct cachew_batch *head, struct cachew_batch *tail);
/* Trainer. Waits until the queue has something, and moves all of it to job->taken. 0, or an error:
 * TIMEOUT, or why the job failed. 0 with nothing taken: the job was cancelled. */
int cw_job_take(struct cachew_job *job, int64_t timeout_ms, struct cw_err *err) CW_MUST_CHECK;
void cw_job_set_id(struct cachew_job *job, const char *id); /* loop */
/* Ends the job with an error; the first one sticks. Any thread. */
void cw_job_fail(struct cachew_job *job, const struct cw_err *err);
/* 0, or STATE: not an open job, or a parent process's. */
int cw_job_check(const struct cachew_job *job, struct cw_err *err);
/* Makes the loop look at the counters. Any thread. */
void cw_job_kick(struct cachew_job *job);

#endif
