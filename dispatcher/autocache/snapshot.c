/* SPDX-License-Identifier: Apache-2.0 */
/* What an autocache policy is shown of a job: its nodes with their measurements, the store, and
 * what the cache holds of it already (struct cw_autocache_snapshot). */
#include <float.h>
#include <math.h>
#include <string.h>
#include "dispatcher/autocache/autocache_int.h"
#include "ops/op.h"

/* A source needs no inputs, even if it is in a chain. */
static bool is_source(const char *name)
{
    const struct cw_op *op = cw_op_find(name);
    return op && op->kind == CW_OP_SOURCE;
}

static bool works(const char *name)
{
    const struct cw_op *op = cw_op_find(name);
    return (!op || op->kind != CW_OP_INDEX) && strcmp(name, "mark") != 0 &&
           strcmp(name, "cache") != 0;
}

static struct cw_catalogue_key *key_of(const struct cw_job *job, size_t node)
{
    struct cw_hash hash;
    const Cachew__V1__Cacheable *c = job->info->cacheable[node];
    if (c->why_not[0] != '\0' || !cw_wire_hash_from(c->key, &hash))
        return NULL;
    return job->cache ? cw_catalogue_find(job->cache->catalogue, cw_job_tenant(job), hash) : NULL;
}

double cw_autocache_cached_records(const struct cw_job *job, size_t node)
{
    const struct cw_catalogue_key *key = key_of(job, node);
    return key ? (double)key->records : 0;
}

/* ---- numbers of elements ---- */

/* In a dense pipeline the elements of a node are rows if it comes before the node that makes
 * batches, and batches if it comes behind it. */
static double dense_elements(const struct cw_job *job, size_t node)
{
    return job->info->cacheable[node]->whole ? (double)job->items
                                             : (double)CW_MAX(job->info->elements, 0);
}

/* An operator inside items may make any number of elements. */
static bool makes_any_number(const char *name)
{
    const struct cw_op *op = cw_op_find(name);
    return op && op->inside;
}

/* In a sparse pipeline a node has as many elements as were counted. The first node has all
 * positions of the epoch, and none before an operator inside items has more. */
static double sparse_elements(const struct cw_autocache_job *decider, size_t node)
{
    const struct cw_node_counters *m = decider->job->measured;
    double most = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (makes_any_number(decider->job->info->cacheable[i]->op))
            break;
        most = fmax(most, m->computed[i]);
    }
    return most > 0 ? m->computed[node] / most * (double)decider->job->info->chunk *
                          (double)decider->job->items
                    : 0;
}

/* Returns the node whose elements count as outputs: the last one that workers compute. (In a sparse
 * pipeline the client cuts the batches.) */
static size_t output_of(const struct cw_autocache_job *decider)
{
    size_t last = decider->job->measured->n - 1;
    if (!decider->job->info->sparse)
        return last;
    while (last > 0 && decider->job->measured->recent[last].elements +
                               decider->job->measured->recent[last].hits <=
                           0)
        last--;
    return last;
}

/* ---- images of which a part is made ---- */

/* How many times the bytes an operator makes if it makes whole images, which a cache would keep; 1 if it is not
 * known, or makes them already. */
static double grows(const struct cw_job *job, size_t node)
{
    const struct cw_cost_sums *sums = &job->measured->costs[node].sums;
    if (sums->whole_timed <= 0 || sums->calls <= 0 || sums->out_bytes <= 0)
        return 1;
    double whole = sums->whole_out_bytes / sums->whole_timed;
    return fmax(whole / (sums->out_bytes / sums->calls), 1);
}

/* The same of a node behind it that comes before the crop. */
static double grows_up_to(const struct cw_job *job, size_t node)
{
    double times = 1;
    for (;;) {
        const Cachew__V1__Node *at = job->graph->nodes[node];
        const struct cw_op *op = cw_op_find(at->op);
        if (!op || op->want || at->n_inputs != 1 || at->inputs[0] >= node)
            return times;
        times = fmax(times, grows(job, node));
        node = at->inputs[0];
    }
}

/* ---- nodes ---- */

static void fill_measured(const struct cw_autocache_job *decider, size_t i, double outputs,
                          struct cw_autocache_node *node)
{
    const struct cw_node_sums *m = &decider->job->measured->recent[i];
    double hits = 0;
    for (size_t k = 0; k < decider->job->measured->n; k++)
        hits += decider->job->measured->recent[k].hits;
    node->samples = m->elements;
    if (m->elements > 0) {
        node->cpu_ns = m->cpu_ns / m->elements;
        node->wall_ns = fmax(m->wall_ns, m->cpu_ns) / m->elements;
        node->bytes = m->bytes / m->elements * grows_up_to(decider->job, i);
    } else if (hits <= 0 || !works(node->op)) {
        node->samples = outputs; /* Whatever the node does, workers do not do it. */
    }
}

static void fill_node(const struct cw_autocache_job *decider, size_t i, size_t output,
                      struct cw_autocache_node *node)
{
    const struct cw_job *job = decider->job;
    const Cachew__V1__Cacheable *c = job->info->cacheable[i];
    node->name = c->node;
    node->op = c->op;
    node->why_not = c->why_not[0] != '\0' ? c->why_not : NULL;
    node->mark = c->mark[0] != '\0' ? c->mark : NULL;
    node->asked = c->asked && !node->why_not;
    bool sparse = job->info->sparse;
    double outputs = sparse ? sparse_elements(decider, output) : dense_elements(job, output);
    node->elements_n = sparse ? sparse_elements(decider, i) : dense_elements(job, i);
    node->per_output = outputs > 0 ? node->elements_n / outputs : 0;
    node->records =
        c->ids > 0 && !c->whole ? fmin((double)c->ids, node->elements_n) : node->elements_n;
    node->cached = node->why_not ? 0 : cw_autocache_cached_records(job, i);
    node->epoch_ns = decider->node_ns[i];
    fill_measured(decider, i, decider->job->measured->all_outputs, node);
}

static void fill_inputs(const struct cw_job *job, struct cw_autocache_view *view)
{
    size_t all = 0;
    for (size_t i = 0; i < view->s.n; i++)
        all += job->graph->nodes[i]->n_inputs;
    view->inputs = CW_NEW_ARRAY(size_t, all + 1);
    size_t at = 0;
    for (size_t i = 0; i < view->s.n; i++) {
        const Cachew__V1__Node *node = job->graph->nodes[i];
        view->nodes[i].inputs = view->inputs + at;
        if (is_source(node->op))
            continue;
        for (size_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] < i)
                view->inputs[at + view->nodes[i].inputs_n++] = node->inputs[k];
        }
        at += view->nodes[i].inputs_n;
    }
}

/* ---- the store ---- */

/* Returns the free bytes, including those of keys that nobody reads, which would be evicted. */
static double free_bytes(const struct cw_job *job)
{
    struct cw_cache_service *cache = job->cache;
    uint64_t limit = cw_cache_limit(cache);
    const struct cw_catalogue *catalogue = cache->catalogue;
    const struct cw_catalogue_tenant *tenant =
        cw_catalogue_tenant(cache->catalogue, cw_job_tenant(job));
    if (limit == UINT64_MAX && tenant->quota == 0)
        return -1;
    double idle = 0, idle_tenant = 0;
    const char *name;
    void *value;
    cw_cache_count_readers(cache);
    for (size_t i = 0; cw_strmap_next(&catalogue->keys, &i, &name, &value);) {
        const struct cw_catalogue_key *key = value;
        bool mine = false;
        for (size_t k = 0; k < job->info->n_cacheable; k++)
            mine = mine || key_of(job, k) == key;
        if (key->readers > 0 || key->pinned || mine)
            continue;
        idle += (double)key->bytes;
        idle_tenant += key->tenant == tenant ? (double)key->bytes : 0;
    }
    double room = limit == UINT64_MAX ? DBL_MAX : (double)limit - (double)catalogue->bytes + idle;
    if (tenant->quota > 0)
        room = fmin(room, (double)tenant->quota - (double)tenant->bytes + idle_tenant);
    return fmax(0, room);
}

/* Nothing is known of a store that was detached since the job was last looked at (cw_autocache_of). */
static void fill_store(const struct cw_autocache_job *decider, struct cw_autocache_snapshot *s)
{
    if (!decider->job->cache)
        return;
    const struct cw_autocache_store_speed *speed = cw_store_speed_of(decider->job->cache);
    const struct cw_store_benchmark_result *benchmark = cw_store_benchmark_result(speed->benchmark);
    cw_cache_rates_read(&speed->rates, s->workers, benchmark ? benchmark->read_bytes_s : 0,
                        &s->store);
    s->store.free_bytes = free_bytes(decider->job);
    if (benchmark && benchmark->points_n > 0) {
        s->store.points = benchmark->points;
        s->store.points_n = benchmark->points_n;
    }
}

void cw_autocache_view_init(struct cw_autocache_job *decider, struct cw_autocache_view *view)
{
    const struct cw_job *job = decider->job;
    *view = (struct cw_autocache_view){0};
    struct cw_autocache_snapshot *s = &view->s;
    s->n = decider->job->measured->n;
    view->nodes = CW_NEW_ARRAY(struct cw_autocache_node, s->n);
    s->nodes = view->nodes;
    size_t output = output_of(decider);
    for (size_t i = 0; i < s->n; i++)
        fill_node(decider, i, output, &view->nodes[i]);
    fill_inputs(job, view);
    struct cw_serving serving = {.job = job};
    for (const struct cw_worker *worker; (worker = cw_serving_next(&serving));) {
        s->workers++;
        s->threads += worker->threads;
    }
    s->inside = cw_thread_use_inside(&job->threads);
    fill_store(decider, s);
    s->epochs_left = cw_job_epochs_left(job);
    s->elements_measured = decider->job->measured->all_outputs;
    s->epoch_ns = decider->epoch_ns;
    s->wait_share = -1;
    for (uint32_t c = 0; c < job->layout.consumers; c++) {
        if (job->consumers[c].client)
            s->wait_share = s->wait_share < 0 ? job->consumers[c].wait_share
                                              : fmin(s->wait_share, job->consumers[c].wait_share);
    }
    s->current = decider->current;
    s->predicted_ns = decider->predicted_ns;
    s->standing = decider->has_decision;
    s->compute_ns = decider->compute_ns;
    /* Each of several trainers gets its part of the batches. */
    if (decider->trainer_batches > 0 && !job->info->sparse)
        s->trainer_ns = decider->trainer_ns / decider->trainer_batches * (double)job->items /
                        (double)job->layout.consumers;
}

void cw_autocache_view_fini(struct cw_autocache_view *view)
{
    cw_mem_free(view->nodes);
    cw_mem_free(view->inputs);
}
