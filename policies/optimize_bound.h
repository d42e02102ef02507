/* SPDX-License-Identifier: Apache-2.0 */
/* What no order stays below. */
#ifndef CW_POLICIES_OPTIMIZE_BOUND_H
#define CW_POLICIES_OPTIMIZE_BOUND_H

#include "policies/optimize_sequence.h"

struct cw_optimize_least {
    size_t n;
    /* Of an operator, for an element that comes to it: what it costs where it costs the least, and what it lets pass
     * where it lets the least pass. */
    struct cw_optimize_sums cost[CW_OPTIMIZE_NODES_MAX];
    double keep[CW_OPTIMIZE_NODES_MAX];
    /* The orders that would be the best if costs and shares were these wherever operators stand, and if they could
     * change sides between any two that nothing passes: by what they cost over the share that they leave out. */
    uint8_t by_thread[CW_OPTIMIZE_NODES_MAX], by_cpu[CW_OPTIMIZE_NODES_MAX];
    /* What they cost at least, each kind of cost by itself: often more, since what makes a field smaller has to be paid
     * for before the others gain by it. Owned. */
    struct cw_optimize_sequence *thread, *cpu;
};
void cw_optimize_least_init(const struct cw_optimize_problem *problem,
                            struct cw_optimize_least *ret_least);
void cw_optimize_least_fini(struct cw_optimize_least *least);
/* Returns what the operators that are not in a set cost at least, if this comes out of it, or more. */
struct cw_optimize_sums cw_optimize_least_rest(const struct cw_optimize_least *least, uint64_t set,
                                               const struct cw_optimize_flow *flow);
/* The same of thread time alone. */
double cw_optimize_least_rest_ns(const struct cw_optimize_least *least, uint64_t set,
                                 const struct cw_optimize_flow *flow);
/* Returns what an operator costs at least if this comes to it. */
struct cw_optimize_sums cw_optimize_least_step(const struct cw_optimize_problem *problem,
                                               const struct cw_optimize_least *least, size_t op,
                                               const struct cw_optimize_flow *flow);
/* Operators, as bits, that no cache can stand behind. */
uint64_t cw_optimize_uncacheable(const struct cw_optimize_problem *problem);
/* Returns at most by what part of its time a plan could be better, 0 to 1, if every other order takes threads at least
 * this long for an element. */
double cw_optimize_gap_above(const struct cw_optimize_problem *problem,
                             const struct cw_optimize_plan *plan, double least_thread_ns);

#endif
