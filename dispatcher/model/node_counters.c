/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/model/model.h"

#include <string.h>
#include "base/mem.h"

/* Measurements that come from another job count at most like this many elements. */
#define PRIOR_SAMPLES 64

struct totals {
    uint64_t elements, hits, cpu_ns, wall_ns, bytes;
};
struct seen { /* The totals that a worker sent last; the next ones are compared with them. */
    size_t n;
    struct totals nodes[];
};

void cw_node_counters_init(struct cw_node_counters *measure, size_t nodes_n)
{
    *measure = (struct cw_node_counters){.n = nodes_n,
                                         .nodes = CW_NEW_ARRAY(struct cw_node_sums, nodes_n),
                                         .computed = CW_NEW_ARRAY(double, nodes_n)};
}

void cw_node_counters_fini(struct cw_node_counters *measure)
{
    cw_map_fini_free(&measure->workers);
    cw_mem_free(measure->nodes);
    cw_mem_free(measure->computed);
    *measure = (struct cw_node_counters){0};
}

double cw_counter_delta(uint64_t *last, uint64_t now)
{
    uint64_t d = now >= *last ? now - *last : now;
    *last = now;
    return (double)d;
}

static struct seen *seen_of(struct cw_node_counters *measure, uint64_t worker_id)
{
    struct seen *seen = cw_map_get(&measure->workers, worker_id);
    if (!seen) {
        seen = cw_mem_new(sizeof(*seen) + measure->n * sizeof(seen->nodes[0]));
        seen->n = measure->n;
        (void)cw_map_set(&measure->workers, worker_id, seen);
    }
    return seen;
}

bool cw_node_counters_has(const struct cw_node_counters *measure, uint64_t worker_id, size_t node)
{
    const struct seen *seen = cw_map_get(&measure->workers, worker_id);
    return seen && (seen->nodes[node].elements > 0 || seen->nodes[node].hits > 0);
}

void cw_node_counters_set_base(struct cw_node_counters *measure, uint64_t worker_id, size_t node,
                               const Cachew__V1__NodeCounts *counts)
{
    seen_of(measure, worker_id)->nodes[node] = (struct totals){
        counts->elements, counts->hits, counts->cpu_ns, counts->wall_ns, counts->element_bytes};
}

void cw_node_counters_add(struct cw_node_counters *measure, uint64_t worker_id, size_t node,
                          const Cachew__V1__NodeCounts *counts)
{
    struct totals *last = &seen_of(measure, worker_id)->nodes[node];
    struct cw_node_sums *sum = &measure->nodes[node];
    double elements = cw_counter_delta(&last->elements, counts->elements),
           hits = cw_counter_delta(&last->hits, counts->hits);
    sum->elements += elements;
    sum->hits += hits;
    sum->cpu_ns += cw_counter_delta(&last->cpu_ns, counts->cpu_ns);
    sum->wall_ns += cw_counter_delta(&last->wall_ns, counts->wall_ns);
    sum->bytes += cw_counter_delta(&last->bytes, counts->element_bytes);
    measure->all_hits += hits;
    if (node + 1 == measure->n)
        measure->all_outputs += elements + hits;
    double read = 0;
    for (size_t i = 0; i < measure->n; i++)
        read += measure->nodes[i].hits;
    if (read > 0)
        return;
    measure->computed[node] += elements;
    if (node + 1 == measure->n)
        measure->outputs += elements;
}

void cw_node_counters_halve(struct cw_node_counters *measure)
{
    for (size_t i = 0; i < measure->n; i++) {
        struct cw_node_sums *m = &measure->nodes[i];
        m->elements /= 2;
        m->hits /= 2;
        m->cpu_ns /= 2;
        m->wall_ns /= 2;
        m->bytes /= 2;
    }
}

void cw_node_counters_set_prior(struct cw_node_counters *measure,
                                const struct cw_autocache_snapshot *snapshot)
{
    for (size_t i = 0; i < measure->n; i++) {
        const struct cw_autocache_node *node = &snapshot->nodes[i];
        double n = CW_MIN(node->samples, PRIOR_SAMPLES);
        measure->nodes[i] = (struct cw_node_sums){.elements = n,
                                                  .cpu_ns = n * node->cpu_ns,
                                                  .wall_ns = n * node->wall_ns,
                                                  .bytes = n * node->bytes};
        measure->computed[i] = node->per_output * snapshot->elements_measured;
    }
    measure->outputs = measure->all_outputs = snapshot->elements_measured;
}
