/* SPDX-License-Identifier: Apache-2.0 */
/* How much better a plan could be than one that was found without looking at all of them. */
#include "policies/optimize_int.h"

#include <math.h>

static bool is_before(const struct cw_optimize_problem *problem, size_t a, size_t b)
{
    return problem->nodes[b].behind >> a & 1;
}

/* The least part that a filter lets pass behind any others. */
static double least_keep(const struct cw_optimize_problem *problem, size_t node)
{
    const struct cw_optimize_filters *filters = &problem->filters;
    double least = problem->nodes[node].keep;

    for (size_t i = 0; i < filters->n; i++)
        for (unsigned set = 0; filters->place[i] == node && set < 1u << filters->n; set++)
            if (!(set >> i & 1) && filters->share[set] > 0)
                least = fmin(least, filters->share[set | 1u << i] / filters->share[set]);
    return least;
}

/* Of one element, or of one of many at once. */
static struct cw_optimize_sums least_cost(const struct cw_optimize_problem *problem, size_t node,
                                          const struct cw_optimize_flow *flow)
{
    const struct cw_optimize_sums a = cw_optimize_cost(problem, node, flow, false),
                                  b = cw_optimize_cost(problem, node, flow, true);

    return (struct cw_optimize_sums){fmin(a.thread_ns, b.thread_ns), fmin(a.cpu_ns, b.cpu_ns)};
}

/* No order brings less to an operator: all that may leave out elements or make them smaller stands before
 * it, and what makes them larger only where it has to. */
static struct cw_optimize_flow least_flow(const struct cw_optimize_problem *problem, size_t op)
{
    struct cw_optimize_flow flow;

    cw_optimize_begin(problem, false, &flow);
    for (size_t i = 0; i < problem->n; i++) {
        if (i == op || is_before(problem, op, i) || cw_optimize_folds(problem, i, op))
            continue;
        if (is_before(problem, i, op)) {
            cw_optimize_pass(problem, i, &flow);
            continue;
        }
        flow.share *= least_keep(problem, i);
        for (size_t f = 0; f < problem->fields_n; f++)
            flow.bytes[f] *= fmin(problem->nodes[i].ratio[f], 1);
    }
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

static double least_output(const struct cw_optimize_problem *problem)
{
    struct cw_optimize_flow flow;

    cw_optimize_begin(problem, false, &flow);
    for (size_t i = 0; i < problem->n; i++)
        cw_optimize_pass(problem, i, &flow);
    return flow.share * cw_optimize_bytes(problem, &flow);
}

double cw_optimize_gap(const struct cw_optimize_problem *problem,
                       const struct cw_optimize_plan *plan)
{
    struct cw_optimize_parts parts = {.output_bytes = least_output(problem)};
    struct cw_optimize_plan least = {.remote = problem->remote_max, .local = problem->local_max};

    if (least.local > 0) /* so that nothing need travel */
        parts.output_bytes = 0;
    if (problem->has_store && problem->cached_n > 0)
        parts.is_there = 1; /* some of it need not be computed even in the first epoch: say none */
    for (size_t i = 0; i < problem->n; i++) {
        if (may_be_folded(problem, i))
            continue;
        struct cw_optimize_flow flow = least_flow(problem, i);
        struct cw_optimize_sums cost = least_cost(problem, i, &flow);
        parts.before.thread_ns += cost.thread_ns;
        parts.before.cpu_ns += cost.cpu_ns;
    }
    cw_optimize_times(problem, &parts, &least);
    /* with a cache later epochs might cost next to nothing */
    double least_ns = problem->has_store ? least.first_ns : least.total_ns;
    return plan->total_ns > 0 ? fmax(0, 1 - least_ns / plan->total_ns) : 0;
}
