/* SPDX-License-Identifier: Apache-2.0 */
/* An item that is being computed: its buffer, its rows, and what failed. A function may be
 * called by several threads at once only where that is said. */
#ifndef CW_EXEC_TASK_H
#define CW_EXEC_TASK_H

#include "exec/eval.h"
#include "exec/row_batch.h"

enum cw_task_state {
    CW_TASK_NEW,
    CW_TASK_BEGINNING, /* one thread finds its rows and allocates its buffer */
    CW_TASK_OPEN,      /* rows may be taken */
    CW_TASK_SHUT       /* all rows are taken, or it has failed */
};
/* A cache of whole batches that may have this item (batch_cache.h). */
struct cw_batch_cache_use {
    const struct cw_plan_use *use;
    size_t node;
    size_t above_n; /* operators of the cut between it and the output */
};
struct cw_exec_task {
    struct cw_exec_task *next, *prev;         /* pool lock: the queue */
    struct cw_exec_task *next_all, *prev_all; /* pool lock: all that are not done */
    struct cw_exec_item *item;
    struct cw_plan *plan;
    enum cw_task_state state; /* pool lock */
    struct cw_stop stop; /* set: the item fails with CANCELLED, unless it is computed by then */
    int64_t next_row;    /* pool lock */
    size_t running;      /* pool lock: threads that compute rows of it */
    int64_t begin_ns;

    /* set by cw_exec_task_begin, read by all */
    struct cw_plan_item cut;
    const struct cw_spec *spec; /* of a row */
    const struct cw_spec *out;  /* of the batch: names */
    bool lead;                  /* rows are stacked along a new first dimension */
    bool fixed;  /* row sizes are known: rows are written into the batch; else kept until the end */
    bool affine; /* rows are runs of one source, read by read_run */
    bool mapped; /* positions are mapped for many rows at once (positions.h) */
    int64_t rows;
    struct cw_batch *batch;
    size_t row_bytes[CW_FIELDS_MAX];
    struct cw_batch_cache_use *whole; /* topmost first */
    size_t whole_n;
    bool uncached;    /* caches are not used */
    size_t whole_hit; /* the node whose cache had the batch, so there are no rows; else SIZE_MAX */
    _Atomic int64_t run_ns; /* time of the rows, measured if a batch cache is written */

    /* one entry per row, written by the thread that computes the row */
    uint8_t *dropped;            /* enum cw_row_fate */
    const struct cw_view **kept; /* not fixed: views and bytes in one block */

    struct cw_mutex mutex;
    int64_t failed_row; /* lock: mutex; the lowest row that failed, INT64_MAX = none */
    struct cw_err err;  /* lock: mutex */
};

struct cw_exec_task *cw_exec_task_new(struct cw_exec_item *item);
void cw_exec_task_free(struct cw_exec_task *task);
/* Finds the rows and allocates the buffer. One thread. */
int cw_exec_task_begin(struct cw_exec_task *task, struct cw_err *err);
/* Computes rows [lo, hi). Several threads. */
void cw_exec_task_run(struct cw_exec_task *task, struct cw_thread_context *work, int64_t lo,
                      int64_t hi);
/* Called when the task's stop flag is set: fails the task with CANCELLED. Several threads. */
void cw_exec_task_cancel(struct cw_exec_task *task);
/* Called when all rows are computed: returns the batch (the caller's ref), or NULL and err. One
 * thread. */
struct cw_batch *cw_exec_task_finish(struct cw_exec_task *task, struct cw_thread_context *work,
                                     struct cw_err *err);

bool cw_exec_task_may_skip(const struct cw_exec_task *task, int code);
enum cw_row_fate { CW_ROW_KEPT = 0, CW_ROW_FILTERED = 1, CW_ROW_BAD = 2 };

#endif
