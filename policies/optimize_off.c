/* SPDX-License-Identifier: Apache-2.0 */
/* Policy `off`: the pipeline as it is written. */
#include "policies/optimizer.h"

static void plan(const struct cw_optimize_problem *problem, const struct cw_pecan_op *classes,
                 struct cw_optimizer_plan *ret_plan)
{
    (void)classes;
    ret_plan->left_out_n = 0;
    cw_optimizer_as_written(problem, &ret_plan->plan);
}

const struct cw_optimizer cw_optimizer_off = {
    .name = "off",
    .summary = "as written, with all workers",
    .plan = plan,
};
