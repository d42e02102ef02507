/* SPDX-License-Identifier: Apache-2.0 */
/* What policies of --optimize have in common. */
#include "policies/optimizer.h"

#include "policies/optimize_int.h"

void cw_optimizer_as_written(const struct cw_optimize_problem *problem,
                             struct cw_optimize_plan *ret_plan)
{
    *ret_plan = (struct cw_optimize_plan){.cache_after = CW_OPTIMIZE_NO_CACHE,
                                          .remote = problem->remote_max,
                                          .local = problem->local_max,
                                          .is_best = true};
    for (size_t i = 0; i < problem->n; i++)
        ret_plan->order[i] = i;
    cw_optimizer_finish(problem, ret_plan);
}

void cw_optimizer_finish(const struct cw_optimize_problem *problem, struct cw_optimize_plan *plan)
{
    cw_optimize_price(problem, plan);
    plan->gap = cw_optimize_gap(problem, plan);
}
