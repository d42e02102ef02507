/* SPDX-License-Identifier: Apache-2.0 */
/* The policies of --optimize: each plans a problem (optimize.h) in its way, as a pure function.
 * docs/optimizing.md says what each does. */
#ifndef CW_POLICIES_OPTIMIZER_H
#define CW_POLICIES_OPTIMIZER_H

#include "policies/optimize.h"

/* What an operator does to the dtypes and shapes of elements, as Pecan sees it. */
enum cw_pecan_class {
    CW_PECAN_BARRIER,      /* fields, ranks, or dtypes that have no rank change */
    CW_PECAN_NEUTRAL,      /* neither changes */
    CW_PECAN_CHEAPER_CAST, /* only dtypes change, one of them to a cheaper one */
    CW_PECAN_DEARER_CAST,  /* only dtypes change, none to a cheaper one */
    CW_PECAN_SMALLER,      /* dimensions change, and fewer values come out */
    CW_PECAN_LARGER,
    CW_PECAN_AS_LARGE, /* dimensions change, and by the sample about as many values come out */
};
struct cw_pecan_op {
    enum cw_pecan_class what;
    bool is_map;     /* it makes one element of one; others are neither moved nor passed */
    bool keeps_dims; /* fields and dimensions stay: it may be passed */
    bool stays;      /* keep_position */
};

/* A policy's plan. */
struct cw_optimizer_plan {
    struct cw_optimize_plan plan;
    /* Moves that the policy would have made and that the problem does not allow: places of the written
     * order, `up` would have been done before `down`. */
    struct cw_optimizer_pair {
        size_t down, up;
    } left_out[CW_OPTIMIZE_NODES_MAX];
    size_t left_out_n;
};
struct cw_optimizer {
    const char *name, *summary;
    bool needs_profile; /* it goes by costs */
    bool needs_classes; /* it goes by what operators do to dtypes and shapes */
    /* classes: one for each node of the problem; NULL unless they are needed. */
    void (*plan)(const struct cw_optimize_problem *problem, const struct cw_pecan_op *classes,
                 struct cw_optimizer_plan *ret_plan);
};
/* Finds a policy by its name; NULL: there is none. */
const struct cw_optimizer *cw_optimizer_find(const char *name);
/* Returns the names of all policies in one line, for --help and errors: "auto, cedar, off, pecan". */
const char *cw_optimizer_names(void);

/* The written order with all workers and no cache, priced. */
void cw_optimizer_as_written(const struct cw_optimize_problem *problem,
                             struct cw_optimize_plan *ret_plan);
/* Prices the plan, and says how much better another could be at most. */
void cw_optimizer_finish(const struct cw_optimize_problem *problem, struct cw_optimize_plan *plan);

#endif
