/* SPDX-License-Identifier: Apache-2.0 */
/* What a call of an operator costs, as a line: ns + ns_byte * bytes, with the bytes of the fields that
 * it reads. The calls are timed now and then, and each timed one stands for those since the one before
 * it. What is kept are sums, which may be added up over threads, workers and time. */
#ifndef CW_POLICIES_COST_LINE_H
#define CW_POLICIES_COST_LINE_H

#include <stdbool.h>

/* The sums, as X(name): they have the same names in NodeCounts (fleet.proto) and NodeRow (admin.proto).
 *   timed            calls that were timed
 *   calls            calls for which these stand; the other sums are of `calls` calls
 *   in_bytes         bytes of the fields that the operator reads
 *   in_bytes_squared these, squared
 *   out_bytes        bytes of the fields that it writes
 *   cpu_ns_bytes     CPU time times in_bytes
 *   wall_ns_bytes    wall time times in_bytes
 *   dropped          elements that it left out, of all its calls
 *   folded           calls that were not made, since the next operator did the work or there was none
 *   batch_*          of the calls for many elements at once (of which the sums above have none but `timed`): the
 *                    elements for which those that were timed stand, their bytes and times; cpu_ns and wall_ns of
 *                    struct cw_cost_measured have these, too
 *   whole_*          of an operator that else makes the part of an image that a crop needs: calls that made
 *                    the whole image and were timed, and their bytes and times */
#define CW_COST_SUMS(X)                                                                            \
    X(timed)                                                                                       \
    X(calls)                                                                                       \
    X(in_bytes)                                                                                    \
    X(in_bytes_squared)                                                                            \
    X(out_bytes)                                                                                   \
    X(cpu_ns_bytes)                                                                                \
    X(wall_ns_bytes)                                                                               \
    X(dropped)                                                                                     \
    X(folded)                                                                                      \
    X(batch_calls)                                                                                 \
    X(batch_in_bytes)                                                                              \
    X(batch_out_bytes)                                                                             \
    X(batch_cpu_ns)                                                                                \
    X(batch_wall_ns)                                                                               \
    X(whole_timed)                                                                                 \
    X(whole_in_bytes)                                                                              \
    X(whole_out_bytes)                                                                             \
    X(whole_cpu_ns)                                                                                \
    X(whole_wall_ns)

/* What passes sets of filters is counted for so many of them. */
#define CW_FILTERS_MAX 6
#define CW_FILTER_SETS (1 << CW_FILTERS_MAX)

struct cw_cost_sums {
#define FIELD(name) double name;
    CW_COST_SUMS(FIELD)
#undef FIELD
};
/* What was measured of an operator. */
struct cw_cost_measured {
    double elements; /* all that it was called for */
    double cpu_ns,
        wall_ns; /* of sums.calls and sums.batch_calls; wall time is never less than CPU time */
    struct cw_cost_sums sums;
};
/* Costs of a call in ns: ns + ns_byte * bytes of a thread, cpu_ns + cpu_ns_byte * bytes of a CPU. */
struct cw_cost_line {
    double ns, ns_byte, cpu_ns, cpu_ns_byte;
    double in_bytes, out_bytes; /* of a call, on average */
    double keep;                /* share of the elements that it lets pass */
    struct cw_cost_whole { /* the same of whole images, where parts are made; all 0: not known */
        double ns, ns_byte, cpu_ns, cpu_ns_byte, out_bytes;
    } whole;
    struct
        cw_cost_batch { /* the same of an element where many are worked on at once; all 0: not known */
        double ns, ns_byte, cpu_ns, cpu_ns_byte;
    } batch;
    /* The sizes differ too little to tell what a byte costs, so that is what the kind of the operator
     * says: everything is for its bytes, or nothing. */
    bool assumed;
};

/* Adds what was measured elsewhere. */
void cw_cost_sums_add(struct cw_cost_sums *sums, const struct cw_cost_sums *other);
/* Returns for how much more was done than cpu_ns and wall_ns are of: elements for which it was called, of those that
 * are measured. 0: nothing is measured. */
double cw_cost_made(const struct cw_cost_measured *measured);
/* Returns the bytes that a call writes. */
double cw_cost_out_bytes(const struct cw_cost_measured *measured);
/* Returns what a call for one element costs a thread, in ns; if there was none, an element of many at once. */
double cw_cost_call_ns(const struct cw_cost_measured *measured);
/* Fits the line. The mean cost stays what was measured; neither part of it is less than 0.
 * proportional: whether an operator of this kind takes its time for bytes, where that cannot be told. */
void cw_cost_line_fit(const struct cw_cost_measured *measured, bool proportional,
                      struct cw_cost_line *ret_line);

#endif
