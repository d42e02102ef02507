/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model: what operators cost an element (optimize_walk.c goes through an order). */
#include "policies/optimize_int.h"

#include <math.h>
#include <string.h>

#include "policies/optimize_view.h"

/* ---- an element ---- */

void cw_optimize_begin(const struct cw_optimize_problem *problem, bool is_whole,
                       struct cw_optimize_flow *ret_flow)
{
    uint32_t added = 0;

    *ret_flow = (struct cw_optimize_flow){.share = 1, .is_whole = is_whole || problem->apart};
    for (size_t i = 0; i < problem->n; i++)
        added |= problem->nodes[i].adds;
    for (size_t f = 0; f < problem->fields_n; f++)
        ret_flow->bytes[f] = added >> f & 1 ? 0 : problem->bytes[f];
}

bool cw_optimize_is_whole(const struct cw_optimize_problem *problem, uint64_t set)
{
    for (size_t i = 0; i < problem->n && !problem->apart; i++)
        if ((set >> i & 1) && problem->nodes[i].crops && !(problem->nodes[i].crops & set))
            return true;
    return false;
}

static void grow(const struct cw_optimize_problem *problem, const struct cw_optimize_node *node,
                 double times, struct cw_optimize_flow *flow)
{
    for (size_t f = 0; f < problem->fields_n; f++)
        if (node->whole_fields >> f & 1)
            flow->bytes[f] *= times;
}

/* What makes whole images makes more bytes, which the first crop behind it takes away. */
static void pass_whole(const struct cw_optimize_problem *problem, size_t node,
                       struct cw_optimize_flow *flow)
{
    const struct cw_optimize_node *it = &problem->nodes[node];

    for (size_t i = 0; i < problem->n; i++)
        if ((flow->whole >> i & 1) && (problem->nodes[i].crops >> node & 1)) {
            grow(problem, &problem->nodes[i], 1 / problem->nodes[i].whole.grows, flow);
            flow->whole &= ~(UINT64_C(1) << i);
        }
    if (it->crops) {
        grow(problem, it, it->whole.grows, flow);
        flow->whole |= UINT64_C(1) << node;
    }
}

/* A filter of those that are known together lets pass what passes all of them, of what has passed the others. */
static void pass_share(const struct cw_optimize_problem *problem, size_t node,
                       struct cw_optimize_flow *flow)
{
    const struct cw_optimize_filters *filters = &problem->filters;
    double keep = problem->nodes[node].keep;

    for (size_t i = 0; i < filters->n; i++) {
        if (filters->place[i] != node)
            continue;
        const unsigned then = flow->passed | 1u << i;
        if (filters->share[flow->passed] > 0)
            keep = filters->share[then] / filters->share[flow->passed];
        flow->passed = then;
    }
    flow->share *= keep;
}

double cw_optimize_least_keep(const struct cw_optimize_problem *problem, size_t node)
{
    const struct cw_optimize_filters *filters = &problem->filters;
    double least = problem->nodes[node].keep;

    for (size_t i = 0; i < filters->n; i++)
        for (unsigned set = 0; filters->place[i] == node && set < 1u << filters->n; set++)
            if (!(set >> i & 1) && filters->share[set] > 0)
                least = fmin(least, filters->share[set | 1u << i] / filters->share[set]);
    return least;
}

void cw_optimize_pass(const struct cw_optimize_problem *problem, size_t node,
                      struct cw_optimize_flow *flow)
{
    pass_share(problem, node, flow);
    for (size_t f = 0; f < problem->fields_n; f++)
        if (problem->nodes[node].adds >> f & 1)
            flow->bytes[f] = problem->bytes[f];
        else
            flow->bytes[f] *= problem->nodes[node].ratio[f];
    if (flow->is_whole)
        pass_whole(problem, node, flow);
}

void cw_optimize_flow_behind(const struct cw_optimize_problem *problem, bool is_whole, uint64_t set,
                             struct cw_optimize_flow *ret_flow)
{
    cw_optimize_begin(problem, is_whole, ret_flow);
    for (size_t i = 0; i < problem->n; i++)
        if (set >> i & 1)
            cw_optimize_pass(problem, i, ret_flow);
}

static struct cw_optimize_sums line(double share, double bytes, double ns, double ns_byte,
                                    double cpu_ns, double cpu_ns_byte)
{
    return (struct cw_optimize_sums){.thread_ns = share * (ns + ns_byte * bytes),
                                     .cpu_ns = share * (cpu_ns + cpu_ns_byte * bytes)};
}

struct cw_optimize_sums cw_optimize_call_cost(const struct cw_optimize_problem *problem,
                                              size_t node, const struct cw_optimize_flow *flow,
                                              bool by_batch)
{
    const struct cw_optimize_node *it = &problem->nodes[node];
    const struct cw_optimize_whole *whole = &it->whole;
    const struct cw_optimize_batch *batch = &it->batch;
    const uint32_t fields = (UINT32_C(1) << problem->fields_n) - 1;
    double bytes = 0;

    for (uint32_t left = it->reads & fields; left; left &= left - 1)
        bytes += flow->bytes[__builtin_ctz(left)];
    if (flow->is_whole && it->crops)
        return line(flow->share, bytes, whole->ns, whole->ns_byte, whole->cpu_ns,
                    whole->cpu_ns_byte);
    if (by_batch && batch->is_known)
        return line(flow->share, bytes, batch->ns, batch->ns_byte, batch->cpu_ns,
                    batch->cpu_ns_byte);
    return line(flow->share, bytes, it->ns, it->ns_byte, it->cpu_ns, it->cpu_ns_byte);
}

bool cw_optimize_is_idle(const struct cw_optimize_problem *problem, size_t node)
{
    return !problem->apart && (problem->nodes[node].folds >> node & 1);
}

bool cw_optimize_folds(const struct cw_optimize_problem *problem, size_t a, size_t b)
{
    const uint64_t folds = problem->nodes[b].folds;

    if (problem->apart || !(folds >> a & 1))
        return false;
    /* one without effect is not called anywhere, so it does nobody's work, and is left to nobody */
    return a == b || (!(folds >> b & 1) && !cw_optimize_is_idle(problem, a));
}

struct cw_optimize_sums cw_optimize_cost(const struct cw_optimize_problem *problem, size_t node,
                                         const struct cw_optimize_flow *flow, bool by_batch)
{
    return cw_optimize_is_idle(problem, node)
               ? (struct cw_optimize_sums){0}
               : cw_optimize_call_cost(problem, node, flow, by_batch);
}

double cw_optimize_bytes(const struct cw_optimize_problem *problem,
                         const struct cw_optimize_flow *flow)
{
    double bytes = 0;

    for (size_t f = 0; f < problem->fields_n; f++)
        bytes += flow->bytes[f];
    return bytes;
}

bool cw_optimize_makes_whole(const struct cw_optimize_problem *problem,
                             const struct cw_optimize_plan *plan)
{
    uint64_t set = 0;

    if (plan->cache_after >= problem->n)
        return false;
    for (size_t i = 0; i <= plan->cache_after; i++)
        set |= UINT64_C(1) << plan->order[i];
    return cw_optimize_is_whole(problem, set);
}
