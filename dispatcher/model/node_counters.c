/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/model/model.h"

#include <string.h>
#include "base/mem.h"

/* Measurements that come from another job count at most like this many elements. */
#define PRIOR_SAMPLES 64

struct totals {
    uint64_t elements, hits, cpu_ns, wall_ns, bytes, waits;
    struct cw_cost_sums sums;
};
struct seen { /* The totals that a worker sent last; the next ones are compared with them. */
    size_t n;
    uint64_t shown[CW_FILTER_SETS], passed[CW_FILTER_SETS];
    struct totals nodes[];
};

void cw_node_counters_init(struct cw_node_counters *measure, size_t nodes_n)
{
    *measure =
        (struct cw_node_counters){.n = nodes_n,
                                  .total = CW_NEW_ARRAY(struct cw_node_sums, nodes_n),
                                  .recent = CW_NEW_ARRAY(struct cw_node_sums, nodes_n),
                                  .costs = CW_NEW_ARRAY(struct cw_cost_measured, nodes_n),
                                  .costs_before = CW_NEW_ARRAY(struct cw_cost_measured, nodes_n),
                                  .computed = CW_NEW_ARRAY(double, nodes_n)};
}

void cw_node_counters_fini(struct cw_node_counters *measure)
{
    cw_map_fini_free(&measure->workers);
    cw_mem_free(measure->total);
    cw_mem_free(measure->recent);
    cw_mem_free(measure->costs);
    cw_mem_free(measure->costs_before);
    cw_mem_free(measure->computed);
    for (size_t i = 0; i < measure->filters.n; i++)
        cw_mem_free(measure->filters.names[i]);
    *measure = (struct cw_node_counters){0};
}

struct cw_node_counters *cw_job_measured(struct cw_job *job)
{
    if (job->measured && job->measured->n != job->info->n_cacheable)
        cw_job_measured_free(job);
    if (!job->measured) {
        job->measured = CW_NEW(struct cw_node_counters);
        cw_node_counters_init(job->measured, job->info->n_cacheable);
    }
    return job->measured;
}

void cw_job_measured_free(struct cw_job *job)
{
    if (job->measured)
        cw_node_counters_fini(job->measured);
    cw_mem_free(cw_steal(&job->measured));
}

double cw_counter_delta(uint64_t *last, uint64_t now)
{
    uint64_t d = now >= *last ? now - *last : now;
    *last = now;
    return (double)d;
}

static double real_delta(double *last, double now)
{
    double d = now >= *last ? now - *last : now;
    *last = now;
    return d;
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

static void add_sums(struct cw_node_sums *sums, const struct cw_node_sums *growth)
{
    sums->elements += growth->elements;
    sums->hits += growth->hits;
    sums->cpu_ns += growth->cpu_ns;
    sums->wall_ns += growth->wall_ns;
    sums->bytes += growth->bytes;
    sums->waits += growth->waits;
}

static void add_cost(struct cw_cost_measured *cost, const struct cw_node_sums *growth,
                     struct totals *last, const Cachew__V1__NodeCounts *counts)
{
    struct cw_cost_sums sums;
#define DELTA(name) sums.name = real_delta(&last->sums.name, counts->name);
    CW_COST_SUMS(DELTA)
#undef DELTA
    cost->elements += growth->elements;
    cost->cpu_ns += growth->cpu_ns;
    cost->wall_ns += growth->wall_ns;
    cw_cost_sums_add(&cost->sums, &sums);
}

/* While nothing is read from a cache it shows how many elements an output needs. */
static void add_outputs(struct cw_node_counters *measure, size_t node,
                        const struct cw_node_sums *growth)
{
    double read = 0;
    if (node + 1 == measure->n)
        measure->all_outputs += growth->elements + growth->hits;
    for (size_t i = 0; i < measure->n; i++)
        read += measure->recent[i].hits;
    if (read > 0)
        return;
    measure->computed[node] += growth->elements;
    if (node + 1 == measure->n)
        measure->outputs += growth->elements;
}

static struct cw_node_sums add_growth(struct cw_node_counters *measure, uint64_t worker_id,
                                      size_t node, const Cachew__V1__NodeCounts *counts)
{
    struct totals *last = &seen_of(measure, worker_id)->nodes[node];
    const struct cw_node_sums growth = {
        .elements = cw_counter_delta(&last->elements, counts->elements),
        .hits = cw_counter_delta(&last->hits, counts->hits),
        .cpu_ns = cw_counter_delta(&last->cpu_ns, counts->cpu_ns),
        .wall_ns = cw_counter_delta(&last->wall_ns, counts->wall_ns),
        .bytes = cw_counter_delta(&last->bytes, counts->element_bytes),
        .waits = cw_counter_delta(&last->waits, counts->waits)};
    add_sums(&measure->recent[node], &growth);
    add_cost(&measure->costs[node], &growth, last, counts);
    add_outputs(measure, node, &growth);
    return growth;
}

void cw_node_counters_add(struct cw_node_counters *measure, uint64_t worker_id, size_t node,
                          const Cachew__V1__NodeCounts *counts)
{
    const struct cw_node_sums growth = add_growth(measure, worker_id, node, counts);
    add_sums(&measure->total[node], &growth);
    measure->all_hits += growth.hits;
}

void cw_node_counters_add_counted(struct cw_node_counters *measure, uint64_t worker_id, size_t node,
                                  const Cachew__V1__NodeCounts *counts)
{
    (void)add_growth(measure, worker_id, node, counts);
}

/* Whether what a worker sent is of these filters, which are those of the first that sends any. */
static bool is_of_filters(struct cw_filter_shares *filters, const Cachew__V1__FilterCounts *counts)
{
    const size_t n = counts->n_filters;
    if (n < 2 || n > CW_FILTERS_MAX || counts->n_shown != (size_t)1 << n ||
        counts->n_passed != counts->n_shown)
        return false;
    for (bool is_first = filters->n == 0; is_first && filters->n < n; filters->n++)
        filters->names[filters->n] = cw_mem_strdup(counts->filters[filters->n]);
    for (size_t i = 0; i < n; i++)
        if (filters->n != n || strcmp(filters->names[i], counts->filters[i]) != 0)
            return false;
    return true;
}

void cw_node_counters_add_filters(struct cw_node_counters *measure, uint64_t worker_id,
                                  const Cachew__V1__FilterCounts *counts)
{
    struct cw_filter_shares *filters = &measure->filters;
    struct seen *seen = seen_of(measure, worker_id);
    if (!is_of_filters(filters, counts))
        return;
    for (size_t set = 0; set < counts->n_shown; set++) {
        filters->shown[set] += cw_counter_delta(&seen->shown[set], counts->shown[set]);
        filters->passed[set] += cw_counter_delta(&seen->passed[set], counts->passed[set]);
    }
}

static void halve_filters(struct cw_filter_shares *filters)
{
    for (size_t set = 0; set < CW_FILTER_SETS; set++) {
        filters->shown[set] /= 2;
        filters->passed[set] /= 2;
    }
}

static void halve_cost(struct cw_cost_measured *cost)
{
    cost->elements /= 2;
    cost->cpu_ns /= 2;
    cost->wall_ns /= 2;
#define HALVE(name) cost->sums.name /= 2;
    CW_COST_SUMS(HALVE)
#undef HALVE
}

void cw_node_counters_halve(struct cw_node_counters *measure)
{
    if (measure)
        halve_filters(&measure->filters);
    for (size_t i = 0; measure && i < measure->n; i++) {
        struct cw_node_sums *m = &measure->recent[i];
        m->elements /= 2;
        m->hits /= 2;
        m->cpu_ns /= 2;
        m->wall_ns /= 2;
        m->bytes /= 2;
        halve_cost(&measure->costs[i]);
        halve_cost(&measure->costs_before[i]);
    }
}

void cw_node_counters_begin_plan(struct cw_node_counters *measure)
{
    if (measure)
        memcpy(measure->costs_before, measure->costs, measure->n * sizeof(*measure->costs));
}

struct cw_cost_measured cw_node_counters_of_plan(const struct cw_node_counters *measure,
                                                 size_t node)
{
    struct cw_cost_measured cost = measure->costs[node];
    const struct cw_cost_measured *before = &measure->costs_before[node];
    cost.elements -= before->elements;
    cost.cpu_ns -= before->cpu_ns;
    cost.wall_ns -= before->wall_ns;
#define LESS(name) cost.sums.name -= before->sums.name;
    CW_COST_SUMS(LESS)
#undef LESS
    return cost;
}

void cw_node_counters_forget_hits(struct cw_node_counters *measure)
{
    for (size_t i = 0; i < measure->n; i++)
        measure->recent[i].hits = 0;
}

void cw_node_counters_set_prior(struct cw_node_counters *measure,
                                const struct cw_autocache_snapshot *snapshot)
{
    for (size_t i = 0; i < measure->n; i++) {
        const struct cw_autocache_node *node = &snapshot->nodes[i];
        double n = CW_MIN(node->samples, PRIOR_SAMPLES);
        measure->recent[i] = (struct cw_node_sums){.elements = n,
                                                   .cpu_ns = n * node->cpu_ns,
                                                   .wall_ns = n * node->wall_ns,
                                                   .bytes = n * node->bytes};
        measure->computed[i] = node->per_output * snapshot->elements_measured;
    }
    measure->outputs = measure->all_outputs = snapshot->elements_measured;
}
