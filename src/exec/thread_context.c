/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of threads: a plan keeps those that no thread has borrowed, and adds up their
 * counters. */
#include "exec/thread_context.h"

#include "base/clock.h"
#include "base/mem.h"
#include <stdatomic.h>

static void work_free(struct cw_thread_context *work)
{
    for (size_t i = 0; i < work->plan->n; i++) {
        void (*scratch_free)(void *scratch) = work->plan->nodes[i].op->scratch_free;
        if (work->nodes[i].scratch && scratch_free)
            scratch_free(work->nodes[i].scratch);
        if (work->nodes[i].many_scratch && scratch_free)
            scratch_free(work->nodes[i].many_scratch);
        cw_whole_unref(work->nodes[i].whole);
    }
    cw_mem_free(work->block);
    cw_str_fini(&work->trace_source);
    cw_mem_free(work->nodes);
    cw_mem_free(work->pending);
    cw_mem_free(work->puts);
    cw_mem_free(work->frames);
    cw_mem_free(work->elements);
    cw_mem_free(work);
}

static void share_free(void *arg)
{
    struct cw_plan_exec *share = arg;
    if (share->listed)
        cw_plan_counts_end(cw_plan_exec_of_all(share->plan), share);
    while (share->all) {
        struct cw_thread_context *next = share->all->next_all;
        work_free(share->all);
        share->all = next;
    }
    cw_buf_unref(share->spare);
    cw_row_spare_fini(&share->row_spare);
    cw_whole_ring_fini(&share->wholes);
    cw_mutex_fini(&share->mutex);
    cw_mem_free(share->ended);
    cw_mem_free(share);
}

struct cw_plan_exec *cw_plan_exec_of_all(struct cw_plan *plan)
{
    return cw_plan_exec_of(cw_plan_written(plan));
}

struct cw_plan_exec *cw_plan_exec_of(struct cw_plan *plan)
{
    void *have = atomic_load_explicit(&plan->exec, memory_order_acquire);
    if (have)
        return have;
    struct cw_plan_exec *share = CW_NEW(struct cw_plan_exec);
    cw_mutex_init(&share->mutex);
    share->plan = plan;
    atomic_store(&plan->exec_free, share_free);
    if (atomic_compare_exchange_strong(&plan->exec, &have, share)) {
        if (plan->written)
            cw_plan_counts_begin(cw_plan_exec_of_all(plan), share);
        return share;
    }
    share_free(share); /* another thread has set it first */
    return have;
}

static int64_t clock_cost(void)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < 8; i++) {
        int64_t begin = cw_clock_thread_cpu_ns();
        least = CW_MIN(least, cw_clock_thread_cpu_ns() - begin);
    }
    return least;
}

static void node_begin(const struct cw_plan_node *node, struct cw_node_context *mine)
{
    mine->ctx.in = node->in;
    mine->ctx.out = &node->out;
    mine->ctx.fields = node->fields;
    mine->ctx.fields_n = node->fields_n;
    mine->ctx.elsewhere_ns = &mine->elsewhere_ns;
    if (node->op->scratch_new)
        mine->ctx.scratch = mine->scratch = node->op->scratch_new(node->opts, node->state);
    if (!node->many_in)
        return;
    mine->many_ctx = mine->ctx;
    mine->many_ctx.in = node->many_in;
    mine->many_ctx.out = node->many_out;
    if (node->op->scratch_new)
        mine->many_ctx.scratch = mine->many_scratch =
            node->op->scratch_new(node->opts, node->state);
}

static struct cw_thread_context *work_new(struct cw_plan *plan)
{
    struct cw_thread_context *work = CW_NEW(struct cw_thread_context);
    work->plan = plan;
    work->clock_ns = clock_cost();
    work->nodes = CW_NEW_ARRAY(struct cw_node_context, plan->n);
    work->pending = CW_NEW_ARRAY(struct cw_walk_pending, 2 * plan->n + 1);
    work->puts = CW_NEW_ARRAY(struct cw_pending_put, plan->n + 1);
    const size_t frames = plan->nodes[plan->n - 1].frames + 1;
    work->frames = CW_NEW_ARRAY(struct cw_walk_frame, frames);
    work->elements = CW_NEW_ARRAY(struct cw_element, frames + 3);
    for (size_t i = 0; i < frames; i++)
        work->frames[i].element = &work->elements[i];
    work->element = &work->elements[frames];
    work->second = &work->elements[frames + 1];
    work->trial = &work->elements[frames + 2];
    for (size_t i = 0; i < plan->n; i++)
        node_begin(&plan->nodes[i], &work->nodes[i]);
    for (size_t i = 0; plan->unmeasured && i < plan->n; i++)
        work->nodes[i].left = UINT32_MAX;
    return work;
}

struct cw_thread_context *cw_thread_context_get(struct cw_plan *plan, struct cw_arena *arena,
                                                uint64_t epoch, const struct cw_stop *stop)
{
    struct cw_plan_exec *share = cw_plan_exec_of(plan);
    cw_mutex_lock(&share->mutex);
    struct cw_thread_context *work = share->idle;
    if (work)
        share->idle = work->next_idle;
    cw_mutex_unlock(&share->mutex);
    if (!work) {
        work = work_new(plan);
        cw_mutex_lock(&share->mutex);
        work->next_all = share->all;
        share->all = work;
        cw_mutex_unlock(&share->mutex);
    }
    work->arena = arena;
    work->epoch = epoch;
    work->stop = stop;
    work->caching = atomic_load_explicit(&plan->uses_n, memory_order_relaxed) > 0;
    work->skip = work->caching ? plan->self : plan->passing;
    work->pending_n = work->puts_n = 0;
    for (size_t i = 0; i < plan->n; i++) {
        struct cw_node_context *node = &work->nodes[i];
        node->ctx.arena = node->many_ctx.arena = arena;
        node->ctx.stop = node->many_ctx.stop = stop;
    }
    return work;
}

void cw_thread_context_put(struct cw_thread_context *work)
{
    struct cw_plan_exec *share = cw_plan_exec_of(work->plan);
    work->trace = NULL;
    cw_mutex_lock(&share->mutex);
    work->next_idle = share->idle;
    share->idle = work;
    cw_mutex_unlock(&share->mutex);
}
