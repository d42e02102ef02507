/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts what epochs cost when elements are cached at a node. Pure; shared by the policies. */
#ifndef CW_POLICIES_AUTOCACHE_MODEL_H
#define CW_POLICIES_AUTOCACHE_MODEL_H

#include "policies/policy.h"

struct cw_plan_cost {
    bool known;      /* false: depends on nodes that were not measured yet; the rest is unset */
    double epoch_ns; /* length of an epoch once the cache is as full as it gets */
    double total_ns; /* length of all epochs left, including those that fill the cache */
    double cpu_ns;   /* CPU time of all of them */
    double bytes;    /* size of the cache once it is as full as it gets */
    double share;    /* share of the records that it can hold, 0 to 1 */
    double cached;   /* share of the records that it holds now */
    double first_ns; /* length of an epoch with the records that are cached now, and no more */
    bool by_trainer; /* the trainer limits the speed of an epoch */
    bool by_store;   /* the store limits the speed of an epoch */
};
/* node: CW_POLICY_NONE = no node but those that are asked for. overhead_ns is added to each
 * epoch. */
void cw_autocache_cost(const struct cw_autocache_snapshot *snapshot, size_t node,
                       double overhead_ns, struct cw_plan_cost *ret_cost);
double cw_autocache_records(const struct cw_autocache_node *node);
/* Linear between the points, beyond them as the first and last two say; at least 0. points_n >=
 * 1. */
double cw_autocache_interpolate(const struct cw_autocache_point *points, size_t points_n,
                                double bytes);

#endif
