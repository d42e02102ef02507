/* SPDX-License-Identifier: Apache-2.0 */
/* What may change sides if only fields, dtypes and shapes have to stay: the constraints of cedar's
 * optimizer, and that operators can still be applied. */
#ifndef CW_REWRITE_RELAXED_H
#define CW_REWRITE_RELAXED_H

#include "rewrite/problem.h"

/* Why two neighbours may not change sides even so; NULL: they may. For places of the chain, a < b. What
 * leaves elements out goes by the exact rules. */
const char *cw_relaxed_why_not(const struct cw_chain *chain, size_t a, size_t b);
/* Gives the problem these constraints in place of the exact ones. */
void cw_problem_relax(const struct cw_chain *chain, struct cw_optimize_problem *problem);
/* Infers the pipeline in this order of places. INVALID if an operator cannot be applied, or if something
 * else comes out than of the written order. */
int cw_relaxed_check(const struct cw_chain *chain, const size_t *order, struct cw_err *err);

#endif
