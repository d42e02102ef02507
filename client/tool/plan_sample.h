/* SPDX-License-Identifier: Apache-2.0 */
/* The sample of the policy `pecan`: how many values come out of operators whose shapes are not known
 * before the data are read. */
#ifndef CW_CLIENT_TOOL_PLAN_SAMPLE_H
#define CW_CLIENT_TOOL_PLAN_SAMPLE_H

#include "rewrite/problem.h"

/* Computes the first 100 elements of the sources (5 % of them, if that is less; seed 0, epoch 0, not
 * shuffled) if an operator asks for it. growth: one for each place of the map, 0 where nothing was
 * sampled. */
int tool_plan_sample(const struct cw_checked *checked, const struct cw_problem_map *map,
                     double *ret_growth, struct cw_err *err);

#endif
