/* SPDX-License-Identifier: Apache-2.0 */
/* How long operators take: some calls are measured, and stand for those since the last one. The clock is
 * read as often as is cheap for the operator. */
#ifndef CW_EXEC_OP_MEASURE_H
#define CW_EXEC_OP_MEASURE_H

#include "exec/thread_context.h"

struct cw_op_measure {
    int64_t cpu_ns; /* 0: this call is not measured */
    int64_t wall_ns;
    uint64_t in_bytes;
};

/* Reads the clocks for a call that is measured. */
struct cw_op_measure cw_op_measure_read(struct cw_node_context *node, const struct cw_element *in,
                                        const struct cw_field_set *reads);
/* Begins a call for so many elements. in: the element that comes in, of which the operator reads some
 * fields; NULL for a source. */
static inline struct cw_op_measure cw_op_measure_begin(struct cw_node_context *node,
                                                       const struct cw_element *in,
                                                       const struct cw_field_set *reads,
                                                       size_t elements)
{
    node->since += elements;
    if (node->left <= 1)
        return cw_op_measure_read(node, in, reads);
    node->left--;
    return (struct cw_op_measure){0};
}
/* Ends a call that is measured. It was for so many elements, of which the bytes are. It stands for all
 * since the last one that was measured. */
void cw_op_measure_end(struct cw_node_context *node, struct cw_op_measure begin, int64_t clock_ns,
                       uint64_t out_bytes, size_t elements);
/* The same of a call of an operator that has worked on all of these elements at once. */
void cw_op_measure_end_batch(struct cw_node_context *node, struct cw_op_measure begin,
                             int64_t clock_ns, uint64_t out_bytes, size_t elements);
/* Ends a measurement of calls that are made only for it; they stand for themselves. */
void cw_op_measure_extra(struct cw_node_context *node, struct cw_op_measure begin, int64_t clock_ns,
                         uint64_t out_bytes, size_t elements, bool by_batch);
/* Counts a call that took so long, by a measurement of the caller's. It stands for all since the last one
 * that was measured. */
void cw_op_measure_take(struct cw_node_context *node, int64_t cpu_ns, int64_t wall_ns,
                        uint64_t in_bytes, uint64_t out_bytes, size_t elements);
/* Chooses the next call that is measured, by how long this one took, and how long it takes to read the clock. */
void cw_op_measure_next(struct cw_node_context *node, int64_t ns, int64_t clock_ns);
/* Adds to the sums of the line of costs (policies/cost_line.h); the call stands for so many. */
void cw_op_measure_add(struct cw_sum_tally *sums, double calls, double in_bytes, double out_bytes,
                       double cpu_ns, double wall_ns);

#endif
