/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of this worker, their epochs, and the items that are being computed. Everything belongs
 * to the loop thread, except the fields of a task that name another owner. */
#ifndef CW_WORKER_MODEL_JOB_H
#define CW_WORKER_MODEL_JOB_H

#include "exec/exec.h"
#include "worker/model/batch_dedup.h"
#include "worker/model/cache_state.h"
#include "worker/model/output_queue.h"

#define CW_JOB_ID_MAX 256
#define CW_JOBS_MAX 10000
#define CW_CONSUMERS_MAX 65536

struct cw_worker_state;
struct cw_wclient;

/* What a job has of one epoch. */
struct cw_wepoch {
    uint64_t epoch;
    struct cw_set held; /* pending, being computed, or queued: a second lease of these is ignored */
    struct cw_set done; /* finished since the last Progress message; the sums below are of these */
    uint64_t cpu_ns, wall_ns, busy_ns, bytes, elements, skipped, shared;
};

enum cw_wjob_state { CW_WJOB_OPENING, CW_WJOB_READY, CW_WJOB_FAILED };

struct cw_wjob {
    struct cw_worker_state *worker;
    char *id;
    /* from the JobSpec */
    struct cw_graph *graph; /* NULL: the pipeline was not valid, and `error` says why */
    uint64_t seed;
    struct cw_buf *manifest;
    bool skip_bad, to_all, shared;
    uint32_t consumers;

    enum cw_wjob_state state;
    bool forgotten; /* removed from the worker's table; freed when its last task is back */
    /* Called by tasks.c when a forgotten job has lost its last task: frees the job. */
    void (*release)(struct cw_wjob *job);
    struct cw_err *error;               /* FAILED */
    uint64_t open_serial;               /* of the loading in progress: older results are dropped */
    struct cw_plan *plan;               /* READY */
    struct cw_dedup_function *function; /* READY */
    struct cw_dedup_member member;
    struct cw_wcache_job cache;
    struct cw_wlease *leases; /* sorted by first pending (epoch, item) */
    size_t leases_n, leases_cap;
    struct cw_wepoch *epochs; /* few, ascending */
    size_t epochs_n, epochs_cap;
    struct cw_outq *queues;      /* one per consumer */
    struct cw_wclient **clients; /* one per consumer; NULL while it has no stream */
    struct cw_wtask *tasks;      /* list: submitted, and not collected yet */
    size_t tasks_n;
    size_t waiting_n;  /* tasks that wait for the result of another job's task */
    int64_t item_ns;   /* time that an item takes one thread: moving average */
    double part;       /* weight among the jobs here, for threads and memory */
    size_t queued_n;   /* outputs in the queues */
    size_t bytes;      /* memory of tasks (estimated) and of queued outputs */
    size_t item_bytes; /* estimated memory of one output: the largest so far */
};

/* An item that exec computes, or that waits for another job's task of the same item. */
struct cw_wtask {
    struct cw_exec_item exec;
    struct cw_wjob *job;
    struct cw_lease_id lease;
    uint32_t consumer;
    size_t bytes;                  /* estimated memory, counted in job->bytes */
    bool revoked;                  /* its job does not want the result any more */
    bool shared;                   /* the result is another job's: nothing was computed */
    struct cw_wcache_store *store; /* a ref while exec may use the store, or NULL */
    struct cw_dedup_item *making;  /* set while other jobs may wait for this task */
    struct cw_wtask *wait_next;    /* list of the tasks that wait for one item */
    struct cw_wtask *prev, *next;  /* job->tasks */
    /* written by the exec thread that finishes the item, then owned by the loop thread */
    struct cw_wtask *done_next;
    struct cw_batch *batch;
    struct cw_err *error;
};

/* Finds a job by its id, or NULL. */
struct cw_wjob *cw_wjob_get(const struct cw_worker_state *w, const char *id);
/* The consumer that gets the item, for jobs whose items are not given to consumers as they come. */
uint32_t cw_wjob_consumer(const struct cw_wjob *job, uint64_t item);
/* The job's record of an epoch; made when it does not exist. The pointer is valid until the next
 * call. */
struct cw_wepoch *cw_wjob_epoch(struct cw_wjob *job, uint64_t epoch);
/* The item is not held here any more: it may be leased to this worker again. */
void cw_wjob_release_item(struct cw_wjob *job, uint64_t epoch, uint64_t item);

#endif
