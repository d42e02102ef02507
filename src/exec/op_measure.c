/* SPDX-License-Identifier: Apache-2.0 */
/* Measures some calls of an operator, which stand for the others. */
#include "exec/op_measure.h"

#include "base/clock.h"
#include <math.h>

/* An operator works so many times as long as it takes to read the clock for it, which is from 0.2 us to more than 1 us:
 * so measuring costs about half a percent. */
#define WORK_PER_READING 200
#define READINGS 2 /* of a call: before it and behind it */
#define STRIDE_MAX (1 << 17)

struct cw_op_measure cw_op_measure_read(struct cw_node_context *node, const struct cw_element *in,
                                        const struct cw_field_set *reads)
{
    const uint64_t in_bytes = in ? cw_element_bytes_of(in, reads) : 0;
    node->elsewhere_ns = 0;
    const int64_t wall_ns = cw_clock_ns();
    return (struct cw_op_measure){cw_clock_thread_cpu_ns(), wall_ns, in_bytes};
}

void cw_op_measure_add(struct cw_sum_tally *sums, double calls, double in_bytes, double out_bytes,
                       double cpu_ns, double wall_ns)
{
    cw_tally_add_real(&sums->timed, 1);
    cw_tally_add_real(&sums->calls, calls);
    cw_tally_add_real(&sums->in_bytes, calls * in_bytes);
    cw_tally_add_real(&sums->in_bytes_squared, calls * in_bytes * in_bytes);
    cw_tally_add_real(&sums->out_bytes, calls * out_bytes);
    cw_tally_add_real(&sums->cpu_ns_bytes, calls * in_bytes * cpu_ns);
    cw_tally_add_real(&sums->wall_ns_bytes, calls * in_bytes * wall_ns);
}

static void add_batch(struct cw_sum_tally *sums, double elements, double in_bytes, double out_bytes,
                      double cpu_ns, double wall_ns)
{
    cw_tally_add_real(&sums->timed, 1);
    cw_tally_add_real(&sums->batch_calls, elements);
    cw_tally_add_real(&sums->batch_in_bytes, elements * in_bytes);
    cw_tally_add_real(&sums->batch_out_bytes, elements * out_bytes);
    cw_tally_add_real(&sums->batch_cpu_ns, elements * cpu_ns);
    cw_tally_add_real(&sums->batch_wall_ns, elements * wall_ns);
}

/* Returns a number of 1 to 2 * stride - 1. With equal gaps elements that take turns, a large and a small
 * one, would not all be measured. */
static uint32_t draw_gap(struct cw_node_context *node)
{
    node->draw = node->draw * 1664525 + 1013904223;
    return 1 + (node->draw >> 8) % (2 * node->stride - 1);
}

static void take(struct cw_node_context *node, int64_t cpu_ns, int64_t wall_ns, uint64_t in_bytes,
                 uint64_t out_bytes, size_t elements, bool by_batch)
{
    const double n = (double)elements, all = (double)node->since;
    const double all_cpu_ns = floor((double)cpu_ns * all / n),
                 all_wall_ns = floor((double)wall_ns * all / n);
    cw_tally_add(&node->count.cpu_ns, (uint64_t)all_cpu_ns);
    cw_tally_add(&node->count.wall_ns, (uint64_t)all_wall_ns);
    (by_batch ? add_batch : cw_op_measure_add)(&node->count.sums, all, (double)in_bytes / n,
                                               (double)out_bytes / n, all_cpu_ns / all,
                                               all_wall_ns / all);
    node->since = 0;
}

void cw_op_measure_take(struct cw_node_context *node, int64_t cpu_ns, int64_t wall_ns,
                        uint64_t in_bytes, uint64_t out_bytes, size_t elements)
{
    take(node, cpu_ns, wall_ns, in_bytes, out_bytes, elements, false);
}

void cw_op_measure_extra(struct cw_node_context *node, struct cw_op_measure begin, int64_t clock_ns,
                         uint64_t out_bytes, size_t elements, bool by_batch)
{
    const int64_t cpu_ns = CW_MAX(cw_clock_thread_cpu_ns() - begin.cpu_ns - clock_ns, 1);
    const int64_t wall_ns = CW_MAX(cw_clock_ns() - begin.wall_ns - 2 * clock_ns, cpu_ns);
    const double n = (double)elements;
    cw_tally_add(&node->count.cpu_ns, (uint64_t)cpu_ns);
    cw_tally_add(&node->count.wall_ns, (uint64_t)wall_ns);
    (by_batch ? add_batch : cw_op_measure_add)(&node->count.sums, n, (double)begin.in_bytes / n,
                                               (double)out_bytes / n, (double)cpu_ns / n,
                                               (double)wall_ns / n);
}

void cw_op_measure_next(struct cw_node_context *node, int64_t ns, int64_t clock_ns)
{
    const int64_t wanted = CW_MAX(WORK_PER_READING * READINGS * clock_ns / ns, 1);
    /* The stride grows slowly, since the first calls are not typical. */
    const int64_t next = CW_MIN(wanted, CW_MIN(STRIDE_MAX, 2 * (int64_t)CW_MAX(node->stride, 1)));
    node->stride = (uint32_t)next;
    node->left = draw_gap(node);
}

static void end(struct cw_node_context *node, struct cw_op_measure begin, int64_t clock_ns,
                uint64_t out_bytes, size_t elements, bool by_batch)
{
    int64_t ns = CW_MAX(cw_clock_thread_cpu_ns() - begin.cpu_ns - clock_ns, 1);
    int64_t wall_ns = CW_MAX(cw_clock_ns() - begin.wall_ns - 2 * clock_ns, ns);
    ns += CW_MIN(node->elsewhere_ns, wall_ns - ns); /* the thread has waited for it */
    take(node, ns, wall_ns, begin.in_bytes, out_bytes, elements, by_batch);
    cw_op_measure_next(node, ns, clock_ns);
}

void cw_op_measure_end(struct cw_node_context *node, struct cw_op_measure begin, int64_t clock_ns,
                       uint64_t out_bytes, size_t elements)
{
    end(node, begin, clock_ns, out_bytes, elements, false);
}

void cw_op_measure_end_batch(struct cw_node_context *node, struct cw_op_measure begin,
                             int64_t clock_ns, uint64_t out_bytes, size_t elements)
{
    end(node, begin, clock_ns, out_bytes, elements, true);
}
