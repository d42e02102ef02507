/* SPDX-License-Identifier: Apache-2.0 */
/* What epochs cost when elements are cached at a node: shared by the policies, pure. */
#ifndef CW_POLICIES_AUTOCACHE_MODEL_H
#define CW_POLICIES_AUTOCACHE_MODEL_H

#include "policies/policy.h"

struct cw_plan_cost {
    bool known;      /* false: it needs nodes of which nothing was measured */
    double epoch_ns; /* of an epoch when the cache is as full as it gets */
    double total_ns; /* of all epochs left, the filling ones included */
    double cpu_ns;   /* CPU time of all of them */
    double bytes;    /* what the cache takes when it is as full as it gets */
    double share;    /* of the records that it can hold, 0 to 1 */
    double cached;   /* share that is there now */
    double first_ns; /* of a whole epoch as things are now: nothing cached that is not there yet */
    bool by_trainer; /* an epoch takes as long as the trainer needs */
    bool by_store;   /* an epoch takes as long as the store needs */
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
