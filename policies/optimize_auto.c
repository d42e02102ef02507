/* SPDX-License-Identifier: Apache-2.0 */
/* Policy `auto`: the best of all plans (optimize_search.c). */
#include "policies/optimizer.h"

static void plan(const struct cw_optimize_problem *problem, const struct cw_pecan_op *classes,
                 struct cw_optimizer_plan *ret_plan)
{
    (void)classes;
    ret_plan->left_out_n = 0;
    cw_optimize(problem, &ret_plan->plan);
}

const struct cw_optimizer cw_optimizer_auto = {
    .name = "auto",
    .summary = "the best order, cache and number of workers by the profile",
    .needs_profile = true,
    .plan = plan,
};
