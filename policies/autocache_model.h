/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts what epochs cost if elements are cached at a node. The functions are pure; several
 * policies share them.
 *
 * It is not the optimizer's model (optimize_price.c), although both end in the longest of threads, store and
 * trainer: that one prices a chain of operators in any order, with lines of cost over bytes, an epoch that fills
 * the cache and later ones. Here the pipeline is any graph as it is written, by mean costs; several elements of
 * an epoch may be one record; caches that the pipeline asks for fill as well; what a slow store does not take is
 * lost, so that it fills over many epochs; and epochs that were measured replace the model. It decides where the
 * optimizer does not: before it has a plan, and for pipelines of which nothing may move. */
#ifndef CW_POLICIES_AUTOCACHE_MODEL_H
#define CW_POLICIES_AUTOCACHE_MODEL_H

#include "policies/policy.h"

struct cw_plan_cost {
    /* false: the cost depends on nodes that were not measured yet; the other members are not set */
    bool known;
    double epoch_ns; /* length of an epoch once the cache is as full as it can get */
    double total_ns; /* length of all epochs left, including those that fill the cache */
    double cpu_ns;   /* CPU time of all these epochs */
    double bytes;    /* bytes of the cache once it is as full as it can get */
    double share;    /* part of the records that the cache can hold, 0 to 1 */
    double cached;   /* part of the records that the cache holds now */
    double first_ns; /* length of an epoch with those records that are cached now, and no more */
    bool by_trainer; /* the trainer limits the speed of an epoch */
    bool by_store;   /* the store limits the speed of an epoch */
};
/* Predicts the cost of caching at a node. node CW_POLICY_NONE: only at the nodes that the pipeline
 * asks for. overhead_ns is added to each epoch. */
void cw_autocache_cost(const struct cw_autocache_snapshot *snapshot, size_t node,
                       double overhead_ns, struct cw_plan_cost *ret_cost);
/* Returns the time of the trainer itself for an epoch; 0 if it is not known. Its steps leave out
 * what it does between them, and the last whole epoch, without what it waited, does not. */
double cw_autocache_trainer_time(const struct cw_autocache_snapshot *snapshot);
double cw_autocache_records(const struct cw_autocache_node *node);
/* Interpolates linearly between the points, and extrapolates with the first or last two; the result
 * is at least 0. points_n >= 1. */
double cw_autocache_interpolate(const struct cw_autocache_point *points, size_t points_n,
                                double bytes);

#endif
