/* SPDX-License-Identifier: Apache-2.0 */
/* What workers have measured: of a job's nodes, and of reading and writing caches. Workers send
 * totals since the job (or the key) was given to them; here differences are added up, so that
 * workers come, go and begin again without harm. */
#ifndef CW_DISPATCHER_MODEL_NODE_COUNTERS_H
#define CW_DISPATCHER_MODEL_NODE_COUNTERS_H

#include <stdbool.h>
#include "base/map.h"
#include "cachew/v1/fleet.pb-c.h"
#include "policies/policy.h"

/* What is new in a total since *last, which becomes it; one that went down began again. */
double cw_counter_delta(uint64_t *last, uint64_t now);

struct cw_node_sums { /* sums; older ones weigh less */
    double elements, hits, cpu_ns, wall_ns, bytes;
};
struct cw_node_counters {
    size_t n; /* nodes, in the graph's order */
    struct cw_node_sums *nodes;
    /* elements of each, not read and not weighed down, while nothing was read from a cache ... */
    double *computed;
    double outputs;        /* ... of that many outputs: how many elements an output needs */
    double all_outputs;    /* computed or put together from the cache: never weighed down */
    double all_hits;       /* elements that came from a cache, at any node: the same */
    struct cw_map workers; /* id -> totals that it sent last */
};
void cw_node_counters_init(struct cw_node_counters *measure, size_t nodes_n);
void cw_node_counters_fini(struct cw_node_counters *measure); /* accepts zeroed */
/* One worker's counts of one node. */
void cw_node_counters_add(struct cw_node_counters *measure, uint64_t worker_id, size_t node,
                          const Cachew__V1__NodeCounts *counts);
/* Totals that were counted elsewhere: only what comes on top of them counts. For a worker's node
 * of which nothing has come yet. */
void cw_node_counters_set_base(struct cw_node_counters *measure, uint64_t worker_id, size_t node,
                               const Cachew__V1__NodeCounts *counts);
bool cw_node_counters_has(const struct cw_node_counters *measure, uint64_t worker_id, size_t node);
void cw_node_counters_halve(
    struct cw_node_counters *measure); /* what was measured so far counts half */
/* Begins with what a job of the same pipeline has measured: `snapshot` has as many nodes. */
void cw_node_counters_set_prior(struct cw_node_counters *measure,
                                const struct cw_autocache_snapshot *snapshot);

#endif
