/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of this worker, their epochs, and the items that are being computed. Everything belongs
 * to the loop thread, except the fields of a task that name another owner. */
#ifndef CW_WORKER_MODEL_JOB_H
#define CW_WORKER_MODEL_JOB_H

#include "auth/secret.h"
#include "exec/exec.h"
#include "worker/model/batch_dedup.h"
#include "worker/model/cache_state.h"
#include "base/limits.h"
#include "worker/model/output_queue.h"
#include "worker/model/thread_time.h"

#define CW_JOB_ID_MAX 256
#define CW_JOBS_MAX 10000

struct cw_worker_state;
struct cw_wclient;

/* what a job has of one epoch */
struct cw_wepoch {
    uint64_t epoch;
    /* items that are pending, being computed, or queued: a second lease of these is ignored */
    struct cw_set held;
    /* items finished since the last Progress message; the sums below are about these */
    struct cw_set done;
    uint64_t cpu_ns, wall_ns, busy_ns, bytes, elements, skipped, shared;
};

/* The plan that the dispatcher has sent last, until it is used (job/job_plan.c). */
struct cw_wjob_plan {
    uint64_t number;        /* 0: none */
    struct cw_graph *graph; /* NULL: the written order */
    bool only_try;          /* it is opened, and not used yet */
    bool failed;            /* it could not be opened */
    uint64_t open_serial;   /* number of the loading in progress; 0: none is */
    struct cw_plan *plan;   /* what was opened; NULL: not yet */
};

struct cw_wahead_item;
/* Items of a job for which bytes are read ahead (compute/read_ahead.c). */
struct cw_wjob_ahead {
    struct cw_wahead_item *v; /* sorted by (epoch, item); all are pending */
    size_t n, cap;
    uint64_t epoch, item; /* pending items from here on have not been looked at */
};

enum cw_wjob_state { CW_WJOB_OPENING, CW_WJOB_READY, CW_WJOB_FAILED };

struct cw_wjob {
    struct cw_worker_state *worker;
    char *id;
    /* The fields below are from the JobSpec. */
    struct cw_graph *graph; /* NULL: the pipeline was not valid, and `error` says why */
    uint64_t seed;
    struct cw_buf *manifest;
    bool skip_bad, to_all, shared;
    bool apart; /* operators are called one by one (cw_plan_set_apart) */
    uint32_t consumers;
    /* What clients must show; 0 bytes: the dispatcher has said nothing. */
    unsigned char secret[CW_SECRET_BYTES];
    size_t secret_n;
    bool secret_required;

    enum cw_wjob_state state;
    bool forgotten; /* removed from the worker's table; freed when its last task is back */
    /* Called by tasks.c when a forgotten job has lost its last task; frees the job. */
    void (*release)(struct cw_wjob *job);
    struct cw_err *error; /* in state FAILED */
    /* number of the loading in progress: results of earlier ones are dropped */
    uint64_t open_serial;
    /* In state READY: the plan of the written pipeline, whose items, output and fingerprint are those
     * of the job; and the plan by which rows are computed now, which may be the same. Each holds a
     * reference. */
    struct cw_plan *written, *plan;
    uint64_t plan_number; /* of `plan`; 0: it is the written one */
    struct cw_wjob_plan next_plan;
    struct cw_dedup_function *function; /* in state READY */
    struct cw_dedup_member member;
    struct cw_wcache_job cache;
    struct cw_wjob_ahead ahead;
    struct cw_wlease *leases; /* sorted by their first pending (epoch, item) */
    size_t leases_n, leases_cap;
    struct cw_wepoch *epochs; /* ascending; there are few */
    size_t epochs_n, epochs_cap;
    struct cw_outq *queues;      /* one for each consumer */
    struct cw_wclient **clients; /* one for each consumer; NULL while it has no stream */
    struct cw_wtask *tasks;      /* list of the tasks that were submitted and not collected yet */
    size_t tasks_n;
    size_t waiting_n;  /* number of tasks that wait for the result of another job's task */
    int64_t item_ns;   /* time that an item takes one thread (moving average) */
    double part;       /* weight among the jobs of this worker, for threads and memory */
    uint32_t show_n;   /* elements of its next output that somebody wants to see; 0: nobody looks */
    size_t queued_n;   /* number of outputs in the queues */
    size_t bytes;      /* bytes of memory of tasks (estimated) and of queued outputs */
    size_t item_bytes; /* estimated memory of one output: that of the largest so far */
    struct cw_wthreads threads;
    /* What was computed of it, up to the point at which its first counters are due, which is when
     * measured_n becomes UINT64_MAX (cw_report_counts_are_due). */
    uint64_t measured_n;
    int64_t measured_ns;
};

/* An item that exec computes, or that waits for another job's task with the same item. */
struct cw_wtask {
    struct cw_exec_item exec;
    struct cw_wjob *job;
    struct cw_lease_id lease;
    uint32_t consumer;
    uint64_t client_id; /* as in struct cw_wlease */
    size_t bytes;       /* estimated bytes of memory, counted in job->bytes */
    int64_t began_ms;   /* when it was submitted */
    int64_t traced_ns;  /* the same, of an item that is traced; 0: it is not */
    bool revoked;       /* its job does not want the result any more */
    bool shared;        /* the result comes from another job's task: nothing was computed */
    /* holds a reference while exec may use the store; otherwise NULL */
    struct cw_wcache_store *store;
    struct cw_ahead *ahead;       /* bytes that were read for it; NULL: none */
    struct cw_dedup_item *making; /* set while other jobs may wait for this task */
    struct cw_wtask *wait_next;   /* next in the list of tasks that wait for one item */
    struct cw_wtask *prev, *next; /* neighbours in the list job->tasks */
    /* Written by the exec thread that finishes the item; then it belongs to the loop thread. */
    struct cw_wtask *done_next;
    struct cw_batch *batch;
    struct cw_err *error;
};

/* Finds a job by its id, or NULL. */
struct cw_wjob *cw_wjob_get(const struct cw_worker_state *w, const char *id);
/* Whether exec has as many items of the job as keep its threads busy for a few ms. It gets no more,
 * since items that exec has cannot be taken back. */
bool cw_wjob_has_enough(const struct cw_wjob *job);
/* Returns the consumer that gets the item, for jobs whose items belong to fixed consumers. */
uint32_t cw_wjob_consumer(const struct cw_wjob *job, uint64_t item);
/* Returns the job's record of an epoch, which is made if it does not exist. The pointer is valid
 * until the next call. */
struct cw_wepoch *cw_wjob_epoch(struct cw_wjob *job, uint64_t epoch);
/* Notes that the item is not held here any more: it may be leased to this worker again. */
void cw_wjob_release_item(struct cw_wjob *job, uint64_t epoch, uint64_t item);

#endif
