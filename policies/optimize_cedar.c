/* SPDX-License-Identifier: Apache-2.0 */
/* Policy `cedar`: cedar's passes, one after the other, with its cost model and its constants (cedar.h).
 * An operator's latency is its time in the written order; its bytes are those of all fields. There is
 * no backend besides the workers, so nothing is offloaded and nothing fused; copies of the pipeline are
 * workers. */
#include "policies/cedar.h"

#include <math.h>

#include "policies/optimize_int.h"
#include "policies/optimizer.h"

_Static_assert(CW_CEDAR_OPS_MAX >= CW_OPTIMIZE_NODES_MAX, "an operator for each node");

#define LEAST_BYTES 1e-9 /* cedar divides by bytes; so much has what has none */

/* Whether nothing passes a node, and it passes nothing. */
static bool is_wall(const struct cw_optimize_problem *problem, size_t i)
{
    uint64_t before = (UINT64_C(1) << i) - 1;
    bool is = (problem->nodes[i].behind & before) == before;

    for (size_t k = i + 1; is && k < problem->n; k++)
        is = problem->nodes[k].behind >> i & 1;
    return is;
}

static double flow_bytes(const struct cw_optimize_problem *problem,
                         const struct cw_optimize_flow *flow)
{
    return fmax(flow->share * cw_optimize_bytes(problem, flow), LEAST_BYTES);
}

/* The chain as cedar's profiler would describe it. */
static void make_chain(const struct cw_optimize_problem *problem, struct cw_cedar_chain *chain)
{
    struct cw_optimize_flow flow;
    double all_ns = 0;

    *chain = (struct cw_cedar_chain){.n = problem->n,
                                     .read_latency = problem->store.read_byte_ns * 1e-9};
    cw_optimize_begin(problem, false, &flow);
    for (size_t i = 0; i < problem->n; i++) {
        struct cw_cedar_op *op = &chain->ops[i];
        op->id = (int64_t)(problem->n - 1 - i);
        op->is_source = i == 0;
        op->is_fixed = is_wall(problem, i);
        op->is_random = problem->nodes[i].uncacheable;
        op->depends_on = problem->nodes[i].behind;
        op->latency = cw_optimize_call_cost(problem, i, &flow, false).thread_ns;
        op->in_bytes = flow_bytes(problem, &flow);
        cw_optimize_pass(problem, i, &flow);
        op->out_bytes = flow_bytes(problem, &flow);
        all_ns += op->latency;
    }
    chain->throughput = 1e9 / all_ns;
}

/* Whether elements may be cached at this place of the order. cedar asks only for random operators. */
static bool may_cache(const struct cw_optimize_problem *problem, const size_t *order, size_t place)
{
    uint64_t before = 0;

    for (size_t i = 0; i <= place; i++) {
        before |= UINT64_C(1) << order[i];
        if (problem->nodes[order[i]].uncacheable)
            return false;
    }
    return (problem->cache_needs & ~before) == 0;
}

static void take_over(const struct cw_optimize_problem *problem, const struct cw_cedar_plan *from,
                      struct cw_optimize_plan *plan)
{
    for (size_t i = 0; i < problem->n; i++)
        plan->order[i] = from->order[i];
    if (from->has_cache && may_cache(problem, plan->order, from->cache_after))
        plan->cache_after = from->cache_after;
    if (from->workers == 1) {
        plan->remote = problem->remote_max > 0;
        plan->local = problem->remote_max == 0;
    }
    plan->is_best = from->is_least;
    cw_optimizer_finish(problem, plan);
}

static void plan(const struct cw_optimize_problem *problem, const struct cw_pecan_op *classes,
                 struct cw_optimizer_plan *ret_plan)
{
    struct cw_cedar_options options = {
        .cpus = problem->remote_max + problem->local_max,
        .samples = problem->elements,
        .free_bytes = problem->store.free_bytes < 0 ? HUGE_VAL : problem->store.free_bytes,
        .no_offload = true,
        .no_fusion = true,
        .with_caching = problem->has_store && problem->epochs > 1,
    };
    struct cw_cedar_chain chain;
    struct cw_cedar_plan found;
    (void)classes;

    ret_plan->left_out_n = 0;
    cw_optimizer_as_written(problem, &ret_plan->plan);
    make_chain(problem, &chain);
    if (cw_cedar_check(&chain, NULL) < 0) /* it has no time to plan by */
        return;
    cw_cedar_plan(&chain, &options, &found);
    take_over(problem, &found, &ret_plan->plan);
}

const struct cw_optimizer cw_optimizer_cedar = {
    .name = "cedar",
    .summary = "order, cache and copies one after the other, as cedar's optimizer finds them",
    .needs_profile = true,
    .plan = plan,
};
