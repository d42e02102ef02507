/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up the counters of a plan's threads. Those of all plans of a job are counted together, by the
 * names of the nodes, also when a plan has ended. */
#include "base/mem.h"
#include "exec/thread_context.h"

static uint64_t load(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void add_tally(const struct cw_node_tally *count, struct cw_exec_count *sum)
{
    sum->elements += load(&count->elements);
    sum->cpu_ns += load(&count->cpu_ns);
    sum->wall_ns += load(&count->wall_ns);
    sum->bytes_out += load(&count->bytes_out);
    sum->element_bytes += load(&count->element_bytes);
    sum->hits += load(&count->hits);
    sum->waits += load(&count->waits);
#define ADD(name) sum->sums.name += atomic_load_explicit(&count->sums.name, memory_order_relaxed);
    CW_COST_SUMS(ADD)
#undef ADD
}

static void add_count(const struct cw_exec_count *count, struct cw_exec_count *sum)
{
    sum->elements += count->elements;
    sum->cpu_ns += count->cpu_ns;
    sum->wall_ns += count->wall_ns;
    sum->bytes_out += count->bytes_out;
    sum->element_bytes += count->element_bytes;
    sum->hits += count->hits;
    sum->waits += count->waits;
#define ADD(name) sum->sums.name += count->sums.name;
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

/* Adds up the counters of one plan. */
static void count_plan(struct cw_plan_exec *share, struct cw_exec_count *counts)
{
    const struct cw_plan *plan = share->plan;
    cw_mutex_lock(&share->mutex);
    for (const struct cw_thread_context *work = share->all; work; work = work->next_all)
        for (size_t i = 0; i < plan->n; i++)
            add_tally(&work->nodes[i].count, &counts[i]);
    cw_mutex_unlock(&share->mutex);
    for (size_t i = 0; i < plan->n; i++) {
        const struct cw_plan_node *node = &plan->nodes[i];
        if (node->step == CW_STEP_PASS ||
            (node->step == CW_STEP_INDEX && node->inputs_n == 1 && !node->parts))
            take_over(node, &counts[node->inputs[0]], &counts[i]);
    }
}

/* Adds the counters of another plan to those of the written plan's nodes. */
static void add_other(struct cw_plan_exec *share, struct cw_exec_count *sums)
{
    const struct cw_plan *plan = share->plan;
    cw_autofree struct cw_exec_count *counts = CW_NEW_ARRAY(struct cw_exec_count, plan->n);
    count_plan(share, counts);
    for (size_t i = 0; i < plan->n; i++)
        if (plan->written_node[i] != SIZE_MAX)
            add_count(&counts[i], &sums[plan->written_node[i]]);
}

/* ---- filters ---- */

static void add_sets(const uint64_t *shown, const uint64_t *passed, struct cw_exec_filters *sum)
{
    for (size_t set = 0; set < CW_FILTER_SETS; set++) {
        sum->shown[set] += shown[set];
        sum->passed[set] += passed[set];
    }
}

/* Adds those of one plan. Filters have the same numbers in all plans of a job. */
static void add_filters(struct cw_plan_exec *share, struct cw_exec_filters *sum)
{
    cw_mutex_lock(&share->mutex);
    for (const struct cw_thread_context *work = share->all; work; work = work->next_all)
        for (size_t set = 0; set < CW_FILTER_SETS; set++) {
            sum->shown[set] += load(&work->filters.shown[set]);
            sum->passed[set] += load(&work->filters.passed[set]);
        }
    cw_mutex_unlock(&share->mutex);
}

void cw_exec_filter_counts(const struct cw_plan *plan, struct cw_exec_filters *ret_filters)
{
    *ret_filters = (struct cw_exec_filters){0};
    cw_plan_filter_nodes(plan, ret_filters->node);
    struct cw_plan_exec *share = atomic_load_explicit(&plan->exec, memory_order_acquire);
    if (!share)
        return;
    add_filters(share, ret_filters);
    cw_mutex_lock(&share->mutex);
    for (struct cw_plan_exec *other = share->others; other; other = other->next_other)
        add_filters(other, ret_filters);
    add_sets(share->ended_filters.shown, share->ended_filters.passed, ret_filters);
    cw_mutex_unlock(&share->mutex);
}

/* ---- plans ---- */

void cw_plan_counts_begin(struct cw_plan_exec *all, struct cw_plan_exec *share)
{
    cw_mutex_lock(&all->mutex);
    share->next_other = all->others;
    if (share->next_other)
        share->next_other->prev_other = share;
    all->others = share;
    share->listed = true;
    cw_mutex_unlock(&all->mutex);
}

void cw_plan_counts_end(struct cw_plan_exec *all, struct cw_plan_exec *share)
{
    cw_mutex_lock(&all->mutex);
    if (share->prev_other)
        share->prev_other->next_other = share->next_other;
    else
        all->others = share->next_other;
    if (share->next_other)
        share->next_other->prev_other = share->prev_other;
    if (!all->ended)
        all->ended = CW_NEW_ARRAY(struct cw_exec_count, all->plan->n);
    add_other(share, all->ended);
    add_filters(share, &all->ended_filters);
    cw_mutex_unlock(&all->mutex);
}

void cw_exec_counts(const struct cw_plan *plan, struct cw_exec_count *ret_counts)
{
    for (size_t i = 0; i < plan->n; i++)
        ret_counts[i] = (struct cw_exec_count){0};
    struct cw_plan_exec *share = atomic_load_explicit(&plan->exec, memory_order_acquire);
    if (!share)
        return;
    count_plan(share, ret_counts);
    cw_mutex_lock(&share->mutex);
    for (struct cw_plan_exec *other = share->others; other; other = other->next_other)
        add_other(other, ret_counts);
    for (size_t i = 0; share->ended && i < plan->n; i++)
        add_count(&share->ended[i], &ret_counts[i]);
    cw_mutex_unlock(&share->mutex);
}

/* Adds the wall time that is no CPU time of a node to what was waited in it. */
static void add_waited(const struct cw_plan_node *node, const struct cw_exec_count *count,
                       struct cw_exec_plan_time *sum)
{
    bool reads = node->op->kind == CW_OP_SOURCE || (node->op->traits & CW_OP_READS);
    *(reads ? &sum->source_ns : &sum->inside_ns) +=
        count->wall_ns > count->cpu_ns ? count->wall_ns - count->cpu_ns : 0;
    sum->hits += count->hits;
}

void cw_exec_plan_time(const struct cw_plan *plan, struct cw_exec_plan_time *ret_time)
{
    *ret_time = (struct cw_exec_plan_time){0};
    struct cw_plan_exec *share = atomic_load_explicit(&plan->exec, memory_order_acquire);
    if (!share)
        return;
    ret_time->busy_ns = load(&share->busy_ns);
    ret_time->cpu_ns = load(&share->cpu_ns);
    ret_time->active_ns = load(&share->active.ns);
    ret_time->store_ns = load(&share->store_ns);
    cw_autofree struct cw_exec_count *counts = CW_NEW_ARRAY(struct cw_exec_count, plan->n);
    cw_exec_counts(plan, counts);
    for (size_t i = 0; i < plan->n; i++)
        add_waited(&plan->nodes[i], &counts[i], ret_time);
}
