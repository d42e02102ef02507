/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline and its profile as numbers: the problem that the optimizer (policies/optimize.h) solves.
 * The operators of it are those of the chain that ends in the output, back to the source or to where
 * inputs meet; everything before that is one fixed operator. */
#ifndef CW_REWRITE_PROBLEM_H
#define CW_REWRITE_PROBLEM_H

#include "policies/optimize.h"
#include "rewrite/chain.h"
#include "rewrite/profile.h"

struct cw_problem_map {
    size_t nodes[CW_OPTIMIZE_NODES_MAX]; /* the graph's node at each place */
    size_t n;
};
/* Makes the problem. A node that does work and is not in the profile is an error that names it, and so
 * is a profile of another pipeline. The numbers of workers, threads, epochs and prices are the
 * caller's. */
int cw_problem_from(const struct cw_chain *chain, const struct cw_cost_profile *profile,
                    struct cw_optimize_problem *ret_problem, struct cw_problem_map *ret_map,
                    struct cw_err *err);

#endif
