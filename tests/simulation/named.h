/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds with named caches, which an operator attaches, closes and detaches all the time while jobs
 * that name them run. Whether a world is one follows from its seed alone, and what the operator does
 * takes no number from the world's chance. */
#ifndef SIM_NAMED_H
#define SIM_NAMED_H

#include "cluster.h"

/* One in six. None of them is of cached.h. */
bool sim_is_named(uint64_t seed);
/* Gives jobs of such a world pipelines whose elements may be cached, and the name of a cache. */
void sim_named_jobs(uint64_t seed, struct sim_job *jobs, int n);
/* In the new world: the store, and the operator. It attaches what jobs need when nothing fails any
 * more, and does nothing else then. */
void sim_named_begin(uint64_t seed, struct sim_cluster *cluster);

/* Names one of the caches for the command, in such a world. */
void sim_named_choose(struct sim_admin *admin, uint64_t which);

struct sim_named_total {
    uint64_t worlds, attached, detached, kept, closed,
        users;        /* users: of caches that were detached */
    uint64_t written; /* chunks */
};
void sim_named_print(const struct sim_named_total *total);
/* When all jobs have ended and nothing fails any more: a worker closes the stores that no job uses;
 * all caches are detached, and nothing of any of them is left: in its store, or in a process. */
void sim_named_settle(struct sim_cluster *cluster, struct sim_named_total *total);

#endif
