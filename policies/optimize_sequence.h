/* SPDX-License-Identifier: Apache-2.0 */
/* The least that operators cost in any order, each kind of cost by itself. What operators cost an element is a sum: of
 * the time that each takes whatever the size, and for each field of the time for its bytes. The part that belongs to a
 * field is multiplied, by each operator before, by what that makes of the field's bytes and of the elements. So it is
 * least in the order of (factor - 1) / cost: if the first of two neighbours has the larger one, it is never more after
 * they have changed sides. What all parts cost at least, each in an order of its own, is no more than what they cost in
 * any one order. */
#ifndef CW_POLICIES_OPTIMIZE_SEQUENCE_H
#define CW_POLICIES_OPTIMIZE_SEQUENCE_H

#include "policies/optimize_int.h"

struct cw_optimize_sequence;

/* Operators that stand before each in all orders, as bits; and by how many that nothing passes it is behind. */
struct cw_optimize_fixed {
    uint64_t before[CW_OPTIMIZE_NODES_MAX];
    size_t walls[CW_OPTIMIZE_NODES_MAX];
};
/* Of CPU time or of threads' time. The problem is not needed any more. */
struct cw_optimize_sequence *cw_optimize_sequence_new(const struct cw_optimize_problem *problem,
                                                      const struct cw_optimize_fixed *fixed,
                                                      bool of_cpu);
/* Frees it; NULL is accepted. */
void cw_optimize_sequence_free(struct cw_optimize_sequence *sequence);
/* Returns what the operators that are not in a set cost at least. flow: what comes out of the set, or less. */
double cw_optimize_sequence_rest(const struct cw_optimize_sequence *sequence, uint64_t set,
                                 const struct cw_optimize_flow *flow);

#endif
