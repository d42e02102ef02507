/* SPDX-License-Identifier: Apache-2.0 */
/* What stands before a chain: nodes of a zip's branches, behind which a cache may stand as well. */
#ifndef CW_REWRITE_PROBLEM_BRANCHES_H
#define CW_REWRITE_PROBLEM_BRANCHES_H

#include "policies/optimize.h"
#include "rewrite/chain.h"
#include "rewrite/profile.h"

/* Sets the problem's branches: nodes before the chain that can be cached, do some work, and to which one way leads from a
 * source, without a filter; those next to the chain, if they are too many. ret_bytes: of each field that comes out of the
 * chain's first node, as far as it is known (0: it is not). */
void cw_problem_set_branches(const struct cw_chain *chain, const struct cw_cost_profile *profile,
                             struct cw_optimize_problem *problem, double *ret_bytes);

#endif
