/* SPDX-License-Identifier: Apache-2.0 */
/* How much better a plan could be than one that was found without looking at all of them. */
#include "policies/optimize_bound.h"

#include <math.h>
#include <stdlib.h>

static bool is_before(const struct cw_optimize_problem *problem, size_t a, size_t b)
{
    return problem->nodes[b].behind >> a & 1;
}

static struct cw_optimize_sums least_of_two(struct cw_optimize_sums a, struct cw_optimize_sums b)
{
    return (struct cw_optimize_sums){fmin(a.thread_ns, b.thread_ns), fmin(a.cpu_ns, b.cpu_ns)};
}

/* Of one element, or of one of many at once, of a part of an image, or of the whole. */
static struct cw_optimize_sums least_cost(const struct cw_optimize_problem *problem, size_t node,
                                          const struct cw_optimize_flow *flow)
{
    struct cw_optimize_flow whole = *flow;

    whole.is_whole = true;
    return least_of_two(cw_optimize_cost(problem, node, &whole, false),
                        least_of_two(cw_optimize_cost(problem, node, flow, false),
                                     cw_optimize_cost(problem, node, flow, true)));
}

/* No order brings fewer bytes to an operator, of an element that comes to it: all that may make them fewer stands before
 * it, and what makes them more only where it has to. */
static struct cw_optimize_flow least_flow(const struct cw_optimize_problem *problem, size_t op)
{
    struct cw_optimize_flow flow;

    cw_optimize_begin(problem, false, &flow);
    for (size_t i = 0; i < problem->n; i++) {
        if (i == op || is_before(problem, op, i))
            continue;
        /* (one whose work it can do may stand further before it, or be left to it) */
        if (is_before(problem, i, op) && !cw_optimize_folds(problem, i, op) &&
            !cw_optimize_is_idle(problem, i)) {
            cw_optimize_pass(problem, i, &flow);
            continue;
        }
        for (size_t f = 0; f < problem->fields_n; f++)
            flow.bytes[f] *= fmin(problem->nodes[i].ratio[f], 1);
    }
    flow.share = 1;
    return flow;
}

/* Whether it is not called in some order. */
static bool may_be_folded(const struct cw_optimize_problem *problem, size_t op)
{
    for (size_t i = 0; i < problem->n; i++)
        if (cw_optimize_folds(problem, op, i))
            return true;
    return false;
}

static bool may_fold(const struct cw_optimize_problem *problem, size_t op)
{
    return problem->nodes[op].folds != 0;
}

struct cw_optimize_sums cw_optimize_least_step(const struct cw_optimize_problem *problem,
                                               const struct cw_optimize_least *least, size_t op,
                                               const struct cw_optimize_flow *flow)
{
    if (may_be_folded(problem, op) || may_fold(problem, op))
        return (struct cw_optimize_sums){flow->share * least->cost[op].thread_ns,
                                         flow->share * least->cost[op].cpu_ns};
    return least_cost(problem, op, flow);
}

/* ---- orders ---- */

/* Operators, as bits, that stand before each in all orders: written ones stand behind these. */
static void list_before(const struct cw_optimize_problem *problem, uint64_t *ret_before)
{
    for (size_t b = 0; b < problem->n; b++) {
        ret_before[b] = 0;
        for (size_t a = 0; a < b; a++)
            if (is_before(problem, a, b))
                ret_before[b] |= ret_before[a] | UINT64_C(1) << a;
    }
}

/* Whether every other operator stands on one side of it in all orders. */
static bool is_wall(const struct cw_optimize_problem *problem, const uint64_t *before, size_t op)
{
    for (size_t i = 0; i < problem->n; i++)
        if (i != op && !(before[op] >> i & 1) && !(before[i] >> op & 1))
            return false;
    return true;
}

struct ranked {
    size_t op, walls; /* walls: that stand before it, itself among them */
    double rank;      /* what it costs over the share that it leaves out */
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->walls != y->walls)
        return x->walls < y->walls ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static double rank_of(double cost, double keep)
{
    return keep < 1 ? cost / (1 - keep) : HUGE_VAL;
}

static void sort(struct ranked *ops, size_t n, uint8_t *ret_order)
{
    qsort(ops, n, sizeof(*ops), compare_ranked);
    for (size_t i = 0; i < n; i++)
        ret_order[i] = (uint8_t)ops[i].op;
}

/* Counts the walls before each operator; a wall counts for two, so that it stands alone. */
static void list_fixed(const struct cw_optimize_problem *problem,
                       struct cw_optimize_fixed *ret_fixed)
{
    const uint64_t *before = ret_fixed->before;

    list_before(problem, ret_fixed->before);
    for (size_t i = 0; i < problem->n; i++)
        ret_fixed->walls[i] = 0;
    for (size_t wall = 0; wall < problem->n; wall++) {
        if (!is_wall(problem, before, wall))
            continue;
        ret_fixed->walls[wall]++;
        for (size_t i = 0; i < problem->n; i++)
            ret_fixed->walls[i] += before[i] >> wall & 1 ? 2 : 0;
    }
}

void cw_optimize_least_init(const struct cw_optimize_problem *problem,
                            struct cw_optimize_least *ret_least)
{
    const size_t n = problem->n;
    struct ranked thread[CW_OPTIMIZE_NODES_MAX], cpu[CW_OPTIMIZE_NODES_MAX];
    struct cw_optimize_fixed fixed;

    ret_least->n = n;
    list_fixed(problem, &fixed);
    for (size_t i = 0; i < n; i++) {
        const struct cw_optimize_flow flow = least_flow(problem, i);
        const double keep = fmin(cw_optimize_least_keep(problem, i), 1);
        const struct cw_optimize_sums cost = may_be_folded(problem, i)
                                                 ? (struct cw_optimize_sums){0}
                                                 : least_cost(problem, i, &flow);
        ret_least->cost[i] = cost;
        ret_least->keep[i] = keep;
        thread[i] = (struct ranked){i, fixed.walls[i], rank_of(cost.thread_ns, keep)};
        cpu[i] = (struct ranked){i, fixed.walls[i], rank_of(cost.cpu_ns, keep)};
    }
    sort(thread, n, ret_least->by_thread);
    sort(cpu, n, ret_least->by_cpu);
    ret_least->thread = cw_optimize_sequence_new(problem, &fixed, false);
    ret_least->cpu = cw_optimize_sequence_new(problem, &fixed, true);
}

void cw_optimize_least_fini(struct cw_optimize_least *least)
{
    cw_optimize_sequence_free(least->thread);
    cw_optimize_sequence_free(least->cpu);
}

double cw_optimize_least_rest_ns(const struct cw_optimize_least *least, uint64_t set,
                                 const struct cw_optimize_flow *flow)
{
    double sum = 0, share = flow->share;

    for (size_t i = 0; i < least->n; i++) {
        const size_t op = least->by_thread[i];
        if (set >> op & 1)
            continue;
        sum += share * least->cost[op].thread_ns;
        share *= least->keep[op];
    }
    return fmax(sum, cw_optimize_sequence_rest(least->thread, set, flow));
}

struct cw_optimize_sums cw_optimize_least_rest(const struct cw_optimize_least *least, uint64_t set,
                                               const struct cw_optimize_flow *flow)
{
    struct cw_optimize_sums sums = {.thread_ns = cw_optimize_least_rest_ns(least, set, flow)};
    double share = flow->share;

    for (size_t i = 0; i < least->n; i++) {
        const size_t op = least->by_cpu[i];
        if (set >> op & 1)
            continue;
        sums.cpu_ns += share * least->cost[op].cpu_ns;
        share *= least->keep[op];
    }
    sums.cpu_ns = fmax(sums.cpu_ns, cw_optimize_sequence_rest(least->cpu, set, flow));
    return sums;
}

/* ---- the gap ---- */

static double least_output(const struct cw_optimize_problem *problem)
{
    struct cw_optimize_flow flow;

    cw_optimize_begin(problem, false, &flow);
    for (size_t i = 0; i < problem->n; i++)
        cw_optimize_pass(problem, i, &flow);
    return flow.share * cw_optimize_bytes(problem, &flow);
}

uint64_t cw_optimize_uncacheable(const struct cw_optimize_problem *problem)
{
    uint64_t set = 0;

    for (size_t i = 0; i < problem->n; i++)
        if (problem->nodes[i].uncacheable || (problem->nodes[i].behind & set))
            set |= UINT64_C(1) << i;
    return set;
}

/* What an epoch takes at least if what it computes costs this. A cached one need not read the source. */
static double least_epoch(const struct cw_optimize_problem *problem, struct cw_optimize_sums sums,
                          bool is_cached)
{
    const struct cw_optimize_parts parts = {
        .behind = sums,
        .is_there = is_cached,
        .output_bytes =
            problem->local_max > 0 ? 0 : least_output(problem), /* so none need travel */
    };
    struct cw_optimize_plan least = {.remote = problem->remote_max, .local = problem->local_max};

    cw_optimize_times(problem, &parts, &least);
    return least.first_ns;
}

static bool is_added(const struct cw_optimize_problem *problem, size_t field)
{
    for (size_t i = 0; i < problem->n; i++)
        if (problem->nodes[i].adds >> field & 1)
            return true;
    return false;
}

/* What comes out of these operators at least, wherever they stand. */
static struct cw_optimize_flow least_behind(const struct cw_optimize_problem *problem,
                                            const struct cw_optimize_least *least, uint64_t set)
{
    struct cw_optimize_flow flow = {.share = 1};

    for (size_t f = 0; f < problem->fields_n; f++)
        flow.bytes[f] = problem->bytes[f];
    for (size_t i = 0; i < problem->n; i++) {
        const struct cw_optimize_node *node = &problem->nodes[i];
        if (!(set >> i & 1))
            continue;
        flow.share *= least->keep[i];
        for (size_t f = 0; f < problem->fields_n; f++)
            flow.bytes[f] *= fmin(node->adds >> f & 1 ? 1 : node->ratio[f], 1) *
                             (node->whole_fields >> f & 1 ? fmin(node->whole.grows, 1) : 1);
    }
    return flow;
}

/* The first node may cost less where something within it is cached. */
static struct cw_optimize_sums less_branches(const struct cw_optimize_problem *problem,
                                             struct cw_optimize_sums sums)
{
    double ns = 0, cpu_ns = 0;

    for (size_t k = 0; k < problem->branches_n; k++) {
        ns = fmax(ns, problem->branches[k].ns);
        cpu_ns = fmax(cpu_ns, problem->branches[k].cpu_ns);
    }
    return (struct cw_optimize_sums){fmax(sums.thread_ns - ns, 0), fmax(sums.cpu_ns - cpu_ns, 0)};
}

static bool has_records(const struct cw_optimize_problem *problem)
{
    for (size_t k = 0; k < problem->branches_n; k++)
        if (problem->branches[k].share > 0)
            return problem->has_store;
    return problem->has_store && problem->cached_n > 0;
}

/* What a later epoch computes at least: all of it; or what stands behind any cache, and then the rest is read. Elements
 * of which a part is cached are between the two. */
static struct cw_optimize_sums least_later(const struct cw_optimize_problem *problem,
                                           const struct cw_optimize_least *least,
                                           struct cw_optimize_sums all)
{
    const struct cw_optimize_store *store = &problem->store;
    const uint64_t cacheable = ~cw_optimize_uncacheable(problem);

    if (!problem->has_store)
        return all;
    const struct cw_optimize_flow flow = least_behind(problem, least, cacheable);
    struct cw_optimize_sums cached = cw_optimize_least_rest(least, cacheable, &flow);
    double bytes = 0; /* of fields that may be cached before they are added: none */
    for (size_t f = 0; f < problem->fields_n; f++)
        bytes += is_added(problem, f) ? 0 : flow.bytes[f];
    if (problem->branches_n == 0)
        cached.thread_ns += flow.share * (store->read_ns + store->read_byte_ns * bytes);
    cached = less_branches(problem, cached);
    return least_of_two(all, cached);
}

double cw_optimize_gap_above(const struct cw_optimize_problem *problem,
                             const struct cw_optimize_plan *plan, double least_thread_ns)
{
    struct cw_optimize_least least;
    struct cw_optimize_flow begin;

    cw_optimize_least_init(problem, &least);
    cw_optimize_begin(problem, false, &begin);
    struct cw_optimize_sums first = cw_optimize_least_rest(&least, 0, &begin);
    first.thread_ns = fmax(first.thread_ns, least_thread_ns);
    const struct cw_optimize_sums later = least_later(problem, &least, first);
    const bool is_filled = has_records(problem);
    const double least_ns = least_epoch(problem, is_filled ? later : first, is_filled) +
                            (problem->epochs - 1) * least_epoch(problem, later, problem->has_store);
    cw_optimize_least_fini(&least);
    return plan->total_ns > 0 ? fmax(0, 1 - least_ns / plan->total_ns) : 0;
}

double cw_optimize_gap(const struct cw_optimize_problem *problem,
                       const struct cw_optimize_plan *plan)
{
    return cw_optimize_gap_above(problem, plan, 0);
}
