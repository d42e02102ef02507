/* SPDX-License-Identifier: Apache-2.0 */
/* Of a problem what operators are together: one does another's work, several work on many elements at once, filters
 * leave out the same elements. */
#ifndef CW_REWRITE_PROBLEM_TOGETHER_H
#define CW_REWRITE_PROBLEM_TOGETHER_H

#include "policies/optimize.h"
#include "rewrite/chain.h"
#include "rewrite/profile.h"

/* The places are those of the chain, and the problem's nodes have their names and what passes each by itself. */
void cw_problem_set_together(const struct cw_chain *chain, const struct cw_cost_profile *profile,
                             struct cw_optimize_problem *problem);

#endif
