/* SPDX-License-Identifier: Apache-2.0 */
/* One item on its way: buffer, rows, what failed. Calls may come from several threads only where
 * said. */
#ifndef CW_EXEC_TASK_H
#define CW_EXEC_TASK_H

#include "exec/eval.h"
#include "exec/row_batch.h"

enum cw_task_state {
    CW_TASK_NEW,
    CW_TASK_BEGINNING, /* one thread finds its rows and gets its buffer */
    CW_TASK_OPEN,      /* rows may be taken */
    CW_TASK_SHUT       /* all rows are taken, or it has failed */
};
/* A cache of whole batches on the item's way. */
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
    struct cw_stop stop;      /* set: it ends with CANCELLED, if it is not computed by then */
    int64_t next_row;         /* pool lock */
    size_t running;           /* pool lock: threads in it */
    int64_t begin_ns;

    /* set by cw_exec_task_begin, read by all */
    struct cw_plan_item cut;
    const struct cw_spec *spec; /* of a row */
    const struct cw_spec *out;  /* of the rows together: names */
    bool lead;                  /* rows make a first dimension */
    bool fixed;  /* rows are written where they belong; else kept and put together at the end */
    bool affine; /* rows are runs of one source: read_run */
    bool mapped; /* positions of many rows at once */
    int64_t rows;
    struct cw_batch *batch;
    size_t row_bytes[CW_FIELDS_MAX];
    struct cw_batch_cache_use *whole; /* topmost first */
    size_t whole_n;
    bool uncached;          /* caches are not asked */
    size_t whole_hit;       /* the node whose cache had the batch: no rows; SIZE_MAX = none */
    _Atomic int64_t run_ns; /* what rows took, if a cache of whole batches wants to know */

    /* one entry a row, written by the thread that computes it */
    uint8_t *dropped;            /* enum row_fate */
    const struct cw_view **kept; /* not fixed: views and bytes in one block */

    /* lock */
    struct cw_mutex mutex;
    int64_t failed_row; /* the lowest that failed, INT64_MAX = none */
    struct cw_err err;
};

struct cw_exec_task *cw_exec_task_new(struct cw_exec_item *item);
void cw_exec_task_free(struct cw_exec_task *task);
/* Finds the rows and gets the buffer. One thread. */
int cw_exec_task_begin(struct cw_exec_task *task, struct cw_err *err);
/* Computes rows [lo, hi). Several threads. */
void cw_exec_task_run(struct cw_exec_task *task, struct cw_thread_context *work, int64_t lo,
                      int64_t hi);
/* Its stop is set: it has failed. */
void cw_exec_task_cancel(struct cw_exec_task *task);
/* When all rows are computed: the batch (the caller's ref), or NULL and err. One thread. */
struct cw_batch *cw_exec_task_finish(struct cw_exec_task *task, struct cw_thread_context *work,
                                     struct cw_err *err);

bool cw_exec_task_may_skip(const struct cw_exec_task *task, int code);
enum cw_row_fate { CW_ROW_KEPT = 0, CW_ROW_FILTERED = 1, CW_ROW_BAD = 2 };

#endif
