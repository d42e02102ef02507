/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds with CacheBackends: cachew-controller attaches and detaches the caches that jobs name, while
 * people make and delete CacheBackends, controllers are killed, and the API server fails. Whether a
 * world is one follows from its seed alone. */
#ifndef SIM_CONTROLLED_H
#define SIM_CONTROLLED_H

#include "cluster.h"

/* One in twelve. None of them is of cached.h or named.h. */
bool sim_is_controlled(uint64_t seed);
void sim_controlled_always(void); /* every world is, but for those of references */
/* Gives jobs of such a world pipelines whose elements may be cached, and the name of a cache. */
void sim_controlled_jobs(uint64_t seed, struct sim_job *jobs, int n);
/* In the new world, behind sim_api_begin: the store, the people and the controllers. When nothing fails
 * any more they make what jobs need, and delete nothing. */
void sim_controlled_begin(uint64_t seed, struct sim_cluster *cluster);
/* The same, in which nobody does anything: two controllers, and CacheBackends that stay. */
void sim_controlled_begin_still(uint64_t seed, struct sim_cluster *cluster);
bool sim_controlled_are_ready(void); /* all CacheBackends */

struct sim_controlled_total {
    uint64_t worlds, made, deleted, expired, /* CacheBackends */
        kills,                               /* of controllers */
        written;                             /* chunks */
};
void sim_controlled_print(const struct sim_controlled_total *total);
/* When all jobs have ended and nothing fails any more: all CacheBackends are deleted, they go, and
 * nothing of them is left in the store or in a process. */
void sim_controlled_settle(struct sim_controlled_total *total);

#endif
