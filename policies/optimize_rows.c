/* SPDX-License-Identifier: Apache-2.0 */
/* A plan operator by operator. */
#include "policies/optimize_int.h"
#include "policies/optimize_view.h"

void cw_optimize_rows(const struct cw_optimize_problem *problem,
                      const struct cw_optimize_plan *plan, struct cw_optimize_row *ret_rows)
{
    struct cw_optimize_flow flow;
    double all_ns = 0;

    cw_optimize_begin(problem, cw_optimize_makes_whole(problem, plan), &flow);
    for (size_t i = 0; i < problem->n; i++) {
        struct cw_optimize_sums cost = cw_optimize_cost(problem, plan->order[i], &flow);
        struct cw_optimize_row *row = &ret_rows[i];
        double in = flow.share;
        cw_optimize_pass(problem, plan->order[i], &flow);
        *row = (struct cw_optimize_row){
            .rows_in = problem->elements * in,
            .rows = problem->elements * flow.share,
            .bytes = cw_optimize_bytes(problem, &flow),
            .ns = in > 0 ? cost.thread_ns / in : 0,
            .cpu_ns = in > 0 ? cost.cpu_ns / in : 0,
            .share = cost.thread_ns,
        };
        all_ns += cost.thread_ns;
    }
    for (size_t i = 0; i < problem->n; i++)
        ret_rows[i].share /= all_ns > 0 ? all_ns : 1;
}
