/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the optimizer (optimize.h) share. */
#ifndef CW_POLICIES_OPTIMIZE_INT_H
#define CW_POLICIES_OPTIMIZE_INT_H

#include "policies/optimize.h"

/* Times of one element of the source. */
struct cw_optimize_sums {
    double thread_ns, cpu_ns;
};
/* What comes out of a set of operators for one element of the source. */
struct cw_optimize_flow {
    double share;                         /* of an element that passes */
    double bytes[CW_OPTIMIZE_FIELDS_MAX]; /* of an element that passes, by field */
    bool is_whole;                        /* images are made whole, since they are cached so */
    uint64_t whole;                       /* operators, as bits, of whose images none was cropped */
    unsigned passed; /* filters, as bits of their numbers (cw_optimize_filters) */
};
void cw_optimize_begin(const struct cw_optimize_problem *problem, bool is_whole,
                       struct cw_optimize_flow *ret_flow);
void cw_optimize_pass(const struct cw_optimize_problem *problem, size_t node,
                      struct cw_optimize_flow *flow);
/* Returns the least part that a filter lets pass behind any others. */
double cw_optimize_least_keep(const struct cw_optimize_problem *problem, size_t node);
/* What comes out of a set of nodes, as bits. */
void cw_optimize_flow_behind(const struct cw_optimize_problem *problem, bool is_whole, uint64_t set,
                             struct cw_optimize_flow *ret_flow);
/* Whether each node stands behind earlier ones only. */
bool cw_optimize_is_sorted(const struct cw_optimize_problem *problem);
/* Brings the nodes into an order in which each does: ret_order[i] is where node i of it stood. */
void cw_optimize_sort(const struct cw_optimize_problem *problem,
                      struct cw_optimize_problem *ret_sorted, size_t *ret_order);
/* What a node costs that is called; by_batch: for many elements at once. */
struct cw_optimize_sums cw_optimize_call_cost(const struct cw_optimize_problem *problem,
                                              size_t node, const struct cw_optimize_flow *flow,
                                              bool by_batch);
/* What it costs; one that has no effect is not called. */
struct cw_optimize_sums cw_optimize_cost(const struct cw_optimize_problem *problem, size_t node,
                                         const struct cw_optimize_flow *flow, bool by_batch);
/* Whether a node has no effect: it is never called, and its neighbours stand as if it were not there. */
bool cw_optimize_is_idle(const struct cw_optimize_problem *problem, size_t node);
/* Whether node a is not called if node b is the next one behind it that has an effect; of one node alone: whether it has
 * none. */
bool cw_optimize_folds(const struct cw_optimize_problem *problem, size_t a, size_t b);

/* ---- many elements at once (optimize_walk.c) ---- */

/* Whether operators that come to an end here may work on many elements at once: before what makes batches, or at the
 * end of a chain without. node: what comes next, SIZE_MAX at the end; flow: what comes to it. */
bool cw_optimize_begins_block(const struct cw_optimize_problem *problem, size_t node,
                              const struct cw_optimize_flow *flow);
/* Whether an operator that stands before such ones is one of them. */
bool cw_optimize_is_in_block(const struct cw_optimize_problem *problem, size_t node,
                             const struct cw_optimize_flow *flow);

/* Goes along a plan's order. */
struct cw_optimize_walk {
    const struct cw_optimize_problem *problem;
    const struct cw_optimize_plan *plan;
    size_t i;                             /* the place that comes next */
    struct cw_optimize_flow flow, before; /* what comes to it; and to the last one with an effect */
    bool is_left;    /* that one is not called: the next one with an effect does its work */
    uint64_t blocks; /* places, as bits, whose operators work on many elements at once */
};
void cw_optimize_walk_begin(const struct cw_optimize_problem *problem,
                            const struct cw_optimize_plan *plan, struct cw_optimize_walk *ret_walk);
/* Returns what the operator at the next place costs, and goes behind it. */
struct cw_optimize_sums cw_optimize_walk_next(struct cw_optimize_walk *walk);

double cw_optimize_bytes(const struct cw_optimize_problem *problem,
                         const struct cw_optimize_flow *flow);

/* Whether a cache behind this set gets images of which otherwise only a part would be made. */
bool cw_optimize_is_whole(const struct cw_optimize_problem *problem, uint64_t set);
/* Returns the part of the elements behind a set that is in the cache already. */
double cw_optimize_is_there(const struct cw_optimize_problem *problem, uint64_t set);

/* The same of a plan. */
bool cw_optimize_makes_whole(const struct cw_optimize_problem *problem,
                             const struct cw_optimize_plan *plan);

/* A plan's sums, from which its times follow. */
struct cw_optimize_parts {
    struct cw_optimize_sums before, behind; /* of the cache, which has_cache says is there */
    bool has_cache;
    size_t cache_after;                /* as of the plan, where there is one */
    double cached_share, cached_bytes; /* elements that are cached, and their bytes */
    double is_there;                   /* the part of them that is in the cache already */
    double output_bytes;               /* of an element of the source */
};
/* Sets those of a cache at branches[k]; `all`: what all operators cost. */
void cw_optimize_set_branch(const struct cw_optimize_problem *problem, size_t k,
                            struct cw_optimize_sums all, struct cw_optimize_parts *parts);
/* Returns the number of the branch at which the plan has a cache; branches_n: at none. */
size_t cw_optimize_branch_of(const struct cw_optimize_problem *problem,
                             const struct cw_optimize_plan *plan);
/* Sets first_ns, epoch_ns, total_ns, money and bound for the plan's workers. */
void cw_optimize_times(const struct cw_optimize_problem *problem,
                       const struct cw_optimize_parts *parts, struct cw_optimize_plan *plan);
/* Returns at most by what part of its time a plan could be better, 0 to 1; for a plan that was found
 * without looking at all of them. */
double cw_optimize_gap(const struct cw_optimize_problem *problem,
                       const struct cw_optimize_plan *plan);

#endif
