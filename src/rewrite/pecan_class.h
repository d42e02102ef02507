/* SPDX-License-Identifier: Apache-2.0 */
/* What operators do to dtypes and shapes, as the policy `pecan` (policies/optimizer.h) sees them. */
#ifndef CW_REWRITE_PECAN_CLASS_H
#define CW_REWRITE_PECAN_CLASS_H

#include "policies/optimizer.h"
#include "rewrite/problem.h"

/* Whether the class of an operator (a place of the map) depends on the data: some dimension changes, and
 * is not known before they are read. */
bool cw_pecan_wants_sample(const struct cw_checked *checked, const struct cw_problem_map *map,
                           size_t place);
/* Classifies the operators of a chain. growth: for each place, values that came out over values that came
 * in, of the elements that were sampled; 0: none were. */
void cw_pecan_classify(const struct cw_checked *checked, const struct cw_problem_map *map,
                       const double *growth, struct cw_pecan_op *ret_ops);

#endif
