/* SPDX-License-Identifier: Apache-2.0 */
/* Computes an item on the calling thread. */
#include "base/mem.h"
#include "exec/task.h"

struct trace {
    cw_exec_trace_fn *fn;
    void *arg;
};

static int run(struct cw_plan *plan, struct cw_exec_item *item, const struct trace *trace,
               struct cw_batch **ret_batch, struct cw_err *err)
{
    struct cw_err local = {0};
    err = err ? err : &local;
    struct cw_arena *arena = cw_arena_new((size_t)1 << 20);
    struct cw_exec_task *task = cw_exec_task_new(item);
    struct cw_thread_context *work =
        cw_thread_context_get(plan, arena, item->epoch, plan->stop ? plan->stop : &task->stop);
    struct cw_batch *batch = NULL;
    work->trace = trace ? trace->fn : NULL;
    work->trace_arg = trace ? trace->arg : NULL;
    work->trace_rc = 0;
    if (trace) /* a trace shows every operator, so caches are not used */
        task->uncached = true, work->caching = false, work->skip = plan->passing;
    int rc = cw_exec_task_begin(task, err);
    if (rc >= 0) {
        cw_exec_task_run(task, work, &task->way, 0, task->rows);
        batch = cw_exec_task_finish(task, work, err);
        rc = batch ? 0 : err->code;
    }
    work->trace_rc = 0;
    cw_thread_context_put(work);
    cw_exec_task_free(task);
    cw_arena_free(arena);
    if (rc >= 0 && ret_batch)
        *ret_batch = batch;
    else
        cw_batch_unref(batch);
    return rc < 0 ? rc : 0;
}

int cw_exec_run(struct cw_plan *plan, uint64_t epoch, uint64_t item, enum cw_bad_elements bad,
                struct cw_batch **ret_batch, struct cw_err *err)
{
    struct cw_exec_item it = {.plan = plan, .epoch = epoch, .item = item, .bad = bad};
    return run(plan, &it, NULL, ret_batch, err);
}

int cw_exec_trace(struct cw_plan *plan, uint64_t epoch, uint64_t item, cw_exec_trace_fn *fn,
                  void *arg, struct cw_err *err)
{
    struct cw_exec_item it = {.plan = plan, .epoch = epoch, .item = item, .bad = CW_BAD_SKIP};
    struct trace trace = {fn, arg};
    return run(plan, &it, &trace, NULL, err);
}
