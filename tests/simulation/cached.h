/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds with a cache. Whether one has it, and what for, follows from its seed alone and takes no
 * number from the world's chance, so that worlds without a cache are as they would be. */
#ifndef SIM_CACHED_H
#define SIM_CACHED_H

#include "cluster.h"

/* A third of the worlds. */
bool sim_is_cached(uint64_t seed);
/* Gives jobs of such a world pipelines whose elements may be cached. */
void sim_cached_jobs(uint64_t seed, struct sim_job *jobs, int n);
/* The same in any world. */
void sim_cached_give(uint64_t seed, struct sim_job *jobs, int n);
/* In the new world: its store, what the dispatcher is told about it, and whether its disk fills. */
void sim_cached_begin(uint64_t seed, struct sim_cluster *cluster);

/* When all jobs have ended and nothing fails any more. What dead writers have left must be gone
 * after a listing, as must be what is evicted, and the dispatcher must know the chunks that are
 * there, and no others. */
struct sim_cache_total {
    uint64_t worlds, written, chunks; /* chunks: at the end */
    uint64_t left;                    /* files that dead writers had left by then */
    uint64_t hits;                    /* as the last dispatcher knows them */
};
void sim_cached_print(const struct sim_cache_total *total);

void sim_cached_settle(struct sim_cluster *cluster, struct sim_cache_total *total);

#endif
