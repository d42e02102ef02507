/* SPDX-License-Identifier: Apache-2.0 */
/* A task is an item that is being computed: its buffer, its rows, and what failed. Only those
 * functions may be called by several threads at once whose comments say so. */
#ifndef CW_EXEC_TASK_H
#define CW_EXEC_TASK_H

#include "exec/eval.h"
#include "exec/row_batch.h"
#include "exec/row_memory.h"
#include "exec/row_pieces.h"

enum cw_task_state {
    CW_TASK_NEW,
    CW_TASK_BEGINNING, /* one thread finds the rows and allocates the buffer */
    CW_TASK_OPEN,      /* threads may take rows */
    CW_TASK_SHUT       /* all rows are taken, or the item has failed */
};
/* A cache of whole batches that may have this item (batch_cache.h). */
struct cw_batch_cache_use {
    const struct cw_plan_use *use;
    size_t node;
    size_t above_n; /* the number of operators of the cut between the cache and the output */
};
struct cw_exec_task {
    struct cw_exec_task *next, *prev; /* guarded by the pool's lock: neighbours in the queue */
    /* guarded by the pool's lock: neighbours in the list of tasks that are not done */
    struct cw_exec_task *next_all, *prev_all;
    struct cw_exec_item *item;
    struct cw_plan *plan;     /* holds a reference; it is begun and finished by this plan */
    enum cw_task_state state; /* guarded by the pool's lock */
    /* if it is set, the item fails with CANCELLED, unless all rows are computed by then */
    struct cw_stop stop;
    int64_t next_row; /* guarded by the pool's lock */
    size_t running;   /* guarded by the pool's lock: the number of threads that compute rows */
    int64_t begin_ns;
    /* Guarded by the pool's lock: how the rows are computed that no thread has taken; it holds a
     * reference to its plan. next_plan: a plan that came while a thread began the item; afterwards
     * what has to be given up when the item is done. It holds a reference, or is NULL. */
    struct cw_row_way way;
    struct cw_plan *next_plan;

    /* The fields below are set by cw_exec_task_begin and only read afterwards. */
    struct cw_plan_item cut;
    const struct cw_spec *spec; /* of each row */
    const struct cw_spec *out;  /* of the batch: it has the names of the fields */
    bool lead;                  /* rows are stacked along a new first dimension */
    /* the sizes of rows are known, so rows are written into the batch; otherwise they are kept
     * until the end */
    bool fixed;
    struct cw_row_way begun; /* of `plan`, without a reference */
    int64_t rows;
    struct cw_batch *batch;
    size_t row_bytes[CW_FIELDS_MAX];
    struct cw_batch_cache_use *batch_caches; /* caches of whole batches, topmost first */
    size_t batch_caches_n;
    bool uncached; /* no cache is used */
    /* the node whose cache had the batch, so that there are no rows; SIZE_MAX: none had it */
    size_t batch_cache_hit;
    _Atomic int64_t run_ns; /* time spent on the rows, measured if the batch is put into a cache */

    /* The arrays below have one entry for each row, written by the thread that computes the row. */
    uint8_t *dropped;         /* for each row its fate (enum cw_row_fate) */
    _Atomic bool has_dropped; /* one of them is not CW_ROW_KEPT */
    const struct cw_view *
        *kept; /* for each row, unless fixed: its views, in row_memory like its bytes */
    struct cw_row_id {
        uint64_t id, rep;
    } * ids; /* for each row, only if operators work inside the item */

    struct cw_mutex mutex;
    struct cw_row_memory row_memory; /* guarded by mutex */
    struct cw_row_pieces pieces;     /* guarded by mutex: rows that are not in `kept` */
    int64_t failed_row; /* guarded by mutex: the lowest row that failed; INT64_MAX: none */
    struct cw_err err;  /* guarded by mutex */
    /* guarded by mutex: the bad elements that are left out; NULL if there are none */
    struct cw_bad_list *bad;
};

struct cw_exec_task *cw_exec_task_new(struct cw_exec_item *item);
void cw_exec_task_free(struct cw_exec_task *task);
/* Gives up the references to plans, when nothing is computed any more. */
void cw_exec_task_leave_plans(struct cw_exec_task *task);
/* Finds the rows and allocates the buffer. Called by one thread. */
int cw_exec_task_begin(struct cw_exec_task *task, struct cw_err *err);
/* Computes the rows [lo, hi) with a context of the way's plan. Several threads may call it at once. */
void cw_exec_task_run(struct cw_exec_task *task, struct cw_thread_context *work,
                      const struct cw_row_way *way, int64_t lo, int64_t hi);
/* Fails the task with CANCELLED; called when the task's stop flag is set. Several threads may call
 * it at once. */
void cw_exec_task_cancel(struct cw_exec_task *task);
/* Returns a new reference to the batch when all rows are computed, or NULL and err. Called by one
 * thread. */
struct cw_batch *cw_exec_task_finish(struct cw_exec_task *task, struct cw_thread_context *work,
                                     struct cw_err *err);

bool cw_exec_task_may_skip(const struct cw_exec_task *task, int code);
/* ---- row_way.c ---- */
/* Fills in how a plan computes rows that it has cut. */
void cw_row_way_find(const struct cw_exec_task *task, struct cw_plan *plan,
                     const struct cw_plan_item *cut, struct cw_row_way *ret_way);
/* The same for rows of a begun item by another plan. Returns false if that plan has other rows, since
 * other operators are behind the batch. */
bool cw_row_way_of_other(const struct cw_exec_task *task, struct cw_plan *plan,
                         struct cw_row_way *ret_way);
/* Has rows that are not begun be computed by another plan. Returns the plan whose reference the caller
 * must give up, or NULL. Called with the pool's lock held. */
struct cw_plan *cw_exec_task_replan(struct cw_exec_task *task, struct cw_plan *plan);
/* Does so with a plan that came while the item was begun. Called with the pool's lock held. */
void cw_exec_task_replan_begun(struct cw_exec_task *task);
/* ---- bad_rows.c ---- */
/* Records that a row is left out since the node work->failed cannot compute it. Several threads may
 * call it at once. */
void cw_exec_task_row_is_bad(struct cw_exec_task *task, const struct cw_thread_context *work,
                             int64_t row, const struct cw_err *err);
/* Records that the rows that are left are left out, since an operator behind the batch fails. */
void cw_exec_task_batch_is_bad(struct cw_exec_task *task, const struct cw_thread_context *work,
                               int64_t rows, const struct cw_err *err);
/* Records that so many elements that were made inside the item are left out, since the node of the task's
 * plan refuses them; they begin with this row. */
void cw_exec_task_made_is_bad(struct cw_exec_task *task, size_t node, int64_t row,
                              uint64_t elements, const struct cw_err *err);
/* Names the node of the task's plan and the row in a message. Returns the error's code. */
int cw_exec_task_name_row(const struct cw_exec_task *task, size_t node, int64_t row,
                          struct cw_err *err);
enum cw_row_fate { CW_ROW_KEPT = 0, CW_ROW_FILTERED = 1, CW_ROW_BAD = 2 };

#endif
