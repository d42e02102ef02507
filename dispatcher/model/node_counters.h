/* SPDX-License-Identifier: Apache-2.0 */
/* What workers have measured of the nodes of a job. A worker sends totals since the job was given
 * to it. Differences of totals are added up here, once for everyone who asks (policies, tools, metrics),
 * so workers may come, go and begin again at zero. Loop thread. */
#ifndef CW_DISPATCHER_MODEL_NODE_COUNTERS_H
#define CW_DISPATCHER_MODEL_NODE_COUNTERS_H

#include <stdbool.h>
#include "base/map.h"
#include "cachew/v1/fleet.pb-c.h"
#include "policies/cost_line.h"
#include "policies/policy.h"

struct cw_job;

/* Returns by how much a total has grown since *last, and stores it there. If it is smaller than
 * before, it began again at zero. */
double cw_counter_delta(uint64_t *last, uint64_t now);

/* Sums over all workers. */
struct cw_node_sums {
    double elements, hits, cpu_ns, wall_ns, bytes, waits;
};
/* What passes sets of filters (FilterCounts in fleet.proto); it ages as `recent` does. */
struct cw_filter_shares {
    size_t n;
    char *names[CW_FILTERS_MAX];
    double shown[CW_FILTER_SETS], passed[CW_FILTER_SETS];
};
struct cw_node_counters {
    size_t n; /* The number of nodes, which are in the graph's order. */
    /* For people and metrics: all since the job began, also before the dispatcher's restart. */
    struct cw_node_sums *total;
    /* For decisions: older measurements weigh less (cw_node_counters_halve), and it may begin with what
     * another job has measured. */
    struct cw_node_sums *recent;
    /* What calls cost by their bytes; it ages as `recent` does, and has no other job's measurements. */
    struct cw_cost_measured *costs;
    /* The part of `costs` that was measured before the job came to its present plan; it ages alike. */
    struct cw_cost_measured *costs_before;
    /* The elements that each node computed while nothing was read from a cache. They are never
     * halved. */
    double *computed;
    struct cw_filter_shares filters;
    /* The outputs that were computed meanwhile; both together say how many elements an output
     * needs. */
    double outputs;
    /* The number of all outputs, computed or read from a cache; it is never halved. */
    double all_outputs;
    double all_hits; /* The elements that came from a cache, at any node. They are never halved. */
    struct cw_map workers; /* Worker id -> the totals that the worker sent last (struct seen). */
};
void cw_node_counters_init(struct cw_node_counters *measure, size_t nodes_n);
/* Returns the counters of a job, which are made if there are none. The job must be prepared. */
struct cw_node_counters *cw_job_measured(struct cw_job *job);
/* Frees the counters of a job, if there are any. */
void cw_job_measured_free(struct cw_job *job);
/* Frees what the counters own. A zeroed struct is accepted. */
void cw_node_counters_fini(struct cw_node_counters *measure);
/* Adds the counts that one worker sent of one node. */
void cw_node_counters_add(struct cw_node_counters *measure, uint64_t worker_id, size_t node,
                          const Cachew__V1__NodeCounts *counts);
/* Does the same with counts of a worker's node that an earlier dispatcher has counted: they are part of
 * the restored `total` already. */
void cw_node_counters_add_counted(struct cw_node_counters *measure, uint64_t worker_id, size_t node,
                                  const Cachew__V1__NodeCounts *counts);
/* Adds what one worker sent of sets of filters. What does not fit to what others sent is left out. */
void cw_node_counters_add_filters(struct cw_node_counters *measure, uint64_t worker_id,
                                  const Cachew__V1__FilterCounts *counts);
bool cw_node_counters_has(const struct cw_node_counters *measure, uint64_t worker_id, size_t node);
/* Halves the weight of what was measured so far: an epoch is over. NULL: nothing was. */
void cw_node_counters_halve(struct cw_node_counters *measure);
/* The job goes over to another plan: what nodes have cost so far says little about it. NULL: nothing
 * was measured. */
void cw_node_counters_begin_plan(struct cw_node_counters *measure);
/* Returns what a node has cost under the present plan. */
struct cw_cost_measured cw_node_counters_of_plan(const struct cw_node_counters *measure,
                                                 size_t node);
/* From now on nothing was read from a cache: the job has another one. */
void cw_node_counters_forget_hits(struct cw_node_counters *measure);
/* Starts from what another job of the same pipeline has measured. `snapshot` has as many nodes, and
 * nothing was measured yet. */
void cw_node_counters_set_prior(struct cw_node_counters *measure,
                                const struct cw_autocache_snapshot *snapshot);

#endif
