/* SPDX-License-Identifier: Apache-2.0 */
/* A plan operator by operator. */
#include "policies/optimize_int.h"
#include "policies/optimize_view.h"

static double part(double of, double all)
{
    return all > 0 ? of / all : 0;
}

void cw_optimize_rows(const struct cw_optimize_problem *problem,
                      const struct cw_optimize_plan *plan, struct cw_optimize_row *ret_rows)
{
    struct cw_optimize_walk walk;
    double all_ns = 0;

    cw_optimize_walk_begin(problem, plan, &walk);
    for (size_t i = 0; i < problem->n; i++) {
        struct cw_optimize_row *row = &ret_rows[i];
        const bool by_batch = walk.blocks >> i & 1;
        const double in = walk.flow.share;
        const struct cw_optimize_sums call =
            cw_optimize_call_cost(problem, plan->order[i], &walk.flow, false);
        const struct cw_optimize_sums cost = cw_optimize_walk_next(&walk);
        *row = (struct cw_optimize_row){
            .rows_in = problem->elements * in,
            .rows = problem->elements * walk.flow.share,
            .bytes = cw_optimize_bytes(problem, &walk.flow),
            .ns = part(cost.thread_ns, in),
            .cpu_ns = part(cost.cpu_ns, in),
            .call_ns = part(call.thread_ns, in),
            .share = cost.thread_ns,
            .is_folded = cw_optimize_is_folded(problem, plan, i),
            .by_batch = by_batch,
        };
        all_ns += cost.thread_ns;
    }
    for (size_t i = 0; i < problem->n; i++)
        ret_rows[i].share = part(ret_rows[i].share, all_ns);
}
