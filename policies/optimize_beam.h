/* SPDX-License-Identifier: Apache-2.0 */
/* The sets of operators that promise most, where there are too many to look at all: a beam search. With each operator
 * that is added those sets are kept whose orders could take threads the least, by a bound that no order stays below
 * (optimize_bound.h). Of those that were left out the least bound is kept: so it is known how much better a plan could
 * be, and often that none is. */
#ifndef CW_POLICIES_OPTIMIZE_BEAM_H
#define CW_POLICIES_OPTIMIZE_BEAM_H

#include "policies/optimize_sets.h"

/* Sets the list, of so many sets or a few more. Those of the written order are always in it. */
void cw_optimize_beam(const struct cw_optimize_problem *problem, size_t sets,
                      struct cw_optimize_masks *ret_masks);

#endif
