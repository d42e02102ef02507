/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of operators that are closed downwards: whatever must stand before one of its operators is in a set. They are
 * listed in the order in which sets of words stand in a dictionary, with the first operator first: of two sets the one
 * that has the first operator in which they differ comes later. So a set comes before all that it is a part of, and
 * sets to which the same operator is added keep their order: who goes through the list finds each of them by going on,
 * and nothing is looked up. */
#ifndef CW_POLICIES_OPTIMIZE_SETS_H
#define CW_POLICIES_OPTIMIZE_SETS_H

#include "policies/optimize_int.h"

static inline uint64_t cw_optimize_bit(size_t i)
{
    return UINT64_C(1) << i;
}
/* Whether a set stands before another one in the list. */
static inline bool cw_optimize_comes_before(uint64_t a, uint64_t b)
{
    const uint64_t differ = a ^ b;

    return (b & differ & -differ) != 0;
}
/* Whether an operator may be the next one behind a set. */
static inline bool cw_optimize_may_follow(const struct cw_optimize_problem *problem, uint64_t mask,
                                          size_t op)
{
    return !(mask & cw_optimize_bit(op)) && (problem->nodes[op].behind & ~mask) == 0;
}

struct cw_optimize_masks {
    uint64_t *masks; /* in the list's order; owned */
    size_t n, cap;
    bool is_all;       /* else only the most promising ones */
    double dropped_ns; /* what every order that goes through another set takes threads, at least */
};
/* Lists all sets, and if there are more than at_most, about so many of those that promise most. */
void cw_optimize_masks_init(const struct cw_optimize_problem *problem, size_t at_most,
                            size_t most_promising, struct cw_optimize_masks *ret_masks);
void cw_optimize_masks_fini(struct cw_optimize_masks *masks);

/* Goes through sets in the list's order, in either direction, with what comes out of them: what the first operators of
 * a set make of an element is worked out once for all that have these in common. */
struct cw_optimize_flows {
    const struct cw_optimize_problem *problem;
    uint64_t mask;
    struct cw_optimize_flow
        at[CW_OPTIMIZE_NODES_MAX + 1]; /* behind those of the first i that are in the set */
};
void cw_optimize_flows_begin(const struct cw_optimize_problem *problem, bool is_whole,
                             struct cw_optimize_flows *ret_flows);
/* Borrowed, until the next call. */
const struct cw_optimize_flow *cw_optimize_flows_behind(struct cw_optimize_flows *flows,
                                                        uint64_t mask);
#endif
