/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of threads: a plan keeps those that no thread has borrowed, and adds up their
 * counters. */
#include "exec/thread_context.h"

#include "base/clock.h"
#include "base/mem.h"
#include <stdatomic.h>

static void work_free(struct cw_thread_context *work)
{
    for (size_t i = 0; i < work->plan->n; i++)
        if (work->nodes[i].scratch && work->plan->nodes[i].op->scratch_free)
            work->plan->nodes[i].op->scratch_free(work->nodes[i].scratch);
    cw_str_fini(&work->trace_source);
    cw_mem_free(work->nodes);
    cw_mem_free(work->pending);
    cw_mem_free(work->puts);
    cw_mem_free(work->frames);
    cw_mem_free(work);
}

static void share_free(void *arg)
{
    struct cw_plan_exec *share = arg;
    while (share->all) {
        struct cw_thread_context *next = share->all->next_all;
        work_free(share->all);
        share->all = next;
    }
    cw_mutex_fini(&share->mutex);
    cw_mem_free(share);
}

struct cw_plan_exec *cw_plan_exec_of(struct cw_plan *plan)
{
    void *have = atomic_load_explicit(&plan->exec, memory_order_acquire);
    if (have)
        return have;
    struct cw_plan_exec *share = CW_NEW(struct cw_plan_exec);
    cw_mutex_init(&share->mutex);
    atomic_store(&plan->exec_free, share_free);
    if (atomic_compare_exchange_strong(&plan->exec, &have, share))
        return share;
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

static struct cw_thread_context *work_new(struct cw_plan *plan)
{
    struct cw_thread_context *work = CW_NEW(struct cw_thread_context);
    work->plan = plan;
    work->clock_ns = clock_cost();
    work->nodes = CW_NEW_ARRAY(struct cw_node_context, plan->n);
    work->pending = CW_NEW_ARRAY(struct cw_walk_pending, 2 * plan->n + 1);
    work->puts = CW_NEW_ARRAY(struct cw_pending_put, plan->n + 1);
    work->frames = CW_NEW_ARRAY(struct cw_walk_frame, plan->nodes[plan->n - 1].frames + 1);
    for (size_t i = 0; i < plan->n; i++) {
        const struct cw_plan_node *node = &plan->nodes[i];
        struct cw_op_ctx *ctx = &work->nodes[i].ctx;
        ctx->in = node->in;
        ctx->out = &node->out;
        ctx->fields = node->fields;
        ctx->fields_n = node->fields_n;
        if (node->op->scratch_new)
            work->nodes[i].scratch = node->op->scratch_new(node->opts, node->state);
    }
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
        work->nodes[i].ctx.arena = arena;
        work->nodes[i].ctx.stop = stop;
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

static uint64_t load(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void add_counts(const struct cw_node_tally *count, struct cw_exec_count *sum)
{
    sum->elements += load(&count->elements);
    sum->cpu_ns += load(&count->cpu_ns);
    sum->wall_ns += load(&count->wall_ns);
    sum->bytes_out += load(&count->bytes_out);
    sum->element_bytes += load(&count->element_bytes);
    sum->hits += load(&count->hits);
#define ADD(name) sum->sums.name += atomic_load_explicit(&count->sums.name, memory_order_relaxed);
    CW_COST_SUMS(ADD)
#undef ADD
}

/* Operators that are never called, and index operators, see no elements: their counters are derived
 * from those of their inputs. */
static void take_over(const struct cw_plan_node *node, const struct cw_exec_count *in,
                      struct cw_exec_count *mine)
{
    if (node->step == CW_STEP_PASS)
        mine->elements = in->elements + in->hits;
    if (in->elements)
        mine->element_bytes =
            (uint64_t)((double)in->element_bytes / (double)in->elements * (double)mine->elements);
}

void cw_exec_counts(const struct cw_plan *plan, struct cw_exec_count *ret_counts)
{
    for (size_t i = 0; i < plan->n; i++)
        ret_counts[i] = (struct cw_exec_count){0};
    struct cw_plan_exec *share = atomic_load_explicit(&plan->exec, memory_order_acquire);
    if (!share)
        return;
    cw_mutex_lock(&share->mutex);
    for (const struct cw_thread_context *work = share->all; work; work = work->next_all)
        for (size_t i = 0; i < plan->n; i++)
            add_counts(&work->nodes[i].count, &ret_counts[i]);
    cw_mutex_unlock(&share->mutex);
    for (size_t i = 0; i < plan->n; i++) {
        const struct cw_plan_node *node = &plan->nodes[i];
        if (node->step == CW_STEP_PASS || (node->step == CW_STEP_INDEX && node->inputs_n == 1))
            take_over(node, &ret_counts[node->inputs[0]], &ret_counts[i]);
    }
}

/* Adds the wall time that is no CPU time of a node to what was waited in it. */
static void add_waited(const struct cw_plan_node *node, const struct cw_node_tally *count,
                       struct cw_exec_plan_time *sum)
{
    uint64_t wall = load(&count->wall_ns), cpu = load(&count->cpu_ns);
    bool reads = node->op->kind == CW_OP_SOURCE || (node->op->traits & CW_OP_READS);
    *(reads ? &sum->source_ns : &sum->inside_ns) += wall > cpu ? wall - cpu : 0;
    sum->hits += load(&count->hits);
}

void cw_exec_plan_time(const struct cw_plan *plan, struct cw_exec_plan_time *ret_time)
{
    *ret_time = (struct cw_exec_plan_time){0};
    struct cw_plan_exec *share = atomic_load_explicit(&plan->exec, memory_order_acquire);
    if (!share)
        return;
    ret_time->busy_ns = load(&share->busy_ns);
    ret_time->cpu_ns = load(&share->cpu_ns);
    ret_time->store_ns = load(&share->store_ns);
    cw_mutex_lock(&share->mutex);
    for (const struct cw_thread_context *work = share->all; work; work = work->next_all)
        for (size_t i = 0; i < plan->n; i++)
            add_waited(&plan->nodes[i], &work->nodes[i].count, ret_time);
    cw_mutex_unlock(&share->mutex);
}
