/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/optimize/plan_question.h"

#include <string.h>

#include "base/mem.h"
#include "dispatcher/autocache/autocache.h"
#include "dispatcher/cache/cache.h"
#include "dispatcher/scaling/scaling.h"

#define WORKERS_MAX 64 /* more are not looked at: each number is priced for each set of operators */

/* ---- operators ---- */

struct cw_cost_measured cw_plan_cost_of(const struct cw_job *job, size_t node)
{
    struct cw_cost_measured cost = cw_node_counters_of_plan(job->measured, node);
    return job->cached_node && cost.sums.timed < CW_PLAN_TIMED_MIN ? job->measured->costs[node]
                                                                   : cost;
}

/* In a sparse pipeline the positions of all items are looked at. */
static double epoch_elements(const struct cw_job *job)
{
    double n = job->info->sparse ? (double)job->info->chunk * (double)job->items
                                 : (double)job->info->elements;
    return CW_MAX(n, 1);
}

/* What an element takes threads in all, by the items that were computed; 0: not known. What is read from
 * a cache would count as computed. */
static double busy_ns(const struct cw_job *job)
{
    double elements = epoch_elements(job) / (double)CW_MAX(job->items, 1u);
    return job->cached_node ? 0 : job->item_busy_ns / elements;
}

/* ---- workers ---- */

/* Of all workers of the job. */
static void count_workers(const struct cw_job *job, double *ret_workers, double *ret_threads)
{
    struct cw_serving serving = {.job = job};
    *ret_workers = *ret_threads = 0;
    for (const struct cw_worker *worker; (worker = cw_serving_next(&serving));) {
        *ret_workers += 1;
        *ret_threads += worker->threads;
    }
}

/* Returns the CPUs of a worker of the job, on average: those of its host, shared by the workers there; 0: those of one
 * are not known. */
static double cores_of_workers(const struct cw_job *job)
{
    struct cw_strmap on_host = {0}; /* host -> number of its usable workers */
    struct cw_serving serving = {.job = job};
    double sum = 0, n = 0;
    bool is_known = true;
    for (const struct cw_worker *worker = job->d->workers; worker; worker = worker->next)
        if (cw_worker_is_usable(worker)) {
            uintptr_t there = (uintptr_t)cw_strmap_get(&on_host, worker->host_id);
            (void)cw_strmap_set(&on_host, worker->host_id, (void *)(there + 1)); // NOLINT
        }
    for (const struct cw_worker *worker; (worker = cw_serving_next(&serving)); n++) {
        uintptr_t there = (uintptr_t)cw_strmap_get(&on_host, worker->host_id);
        sum += worker->host_cpus / (double)CW_MAX(there, (uintptr_t)1);
        is_known = is_known && worker->host_cpus > 0;
    }
    cw_strmap_fini(&on_host);
    return is_known && n > 0 ? sum / n : 0;
}

/* The trainer's own time for a batch, where its steps are known. */
static double step_ns(const struct cw_job *job)
{
    return job->scaling ? job->scaling->last.step_s * 1e9 : 0;
}

/* Whether the number of workers follows from the plan (cw_scaling_jump): it is known what the trainer takes, and
 * what elements take besides operators. */
static bool counts_workers(const struct cw_job *job)
{
    return job->scaling && cw_scaling_may_jump(job) && step_ns(job) > 0 && busy_ns(job) > 0;
}

/* Prices are asked for where money is to be least; else only with the number of workers. */
static void set_objective(const struct cw_job *job, struct cw_plan_question *q)
{
    const struct cw_options *o = &job->d->options;
    const double own = job->options->client_price;
    q->least_money = o->objective && strcmp(o->objective, "money") == 0;
    if (!q->least_money)
        return;
    const struct cw_provision *provision = &job->d->provision;
    q->store_price = o->store_price;
    q->worker_price = provision->has_price ? provision->price : o->worker_price;
    q->trainer_price = own > 0 ? own : o->client_price;
}

static void set_workers(const struct cw_job *job, struct cw_plan_question *q)
{
    const struct cw_scale_window none = {0};
    double workers, threads;
    count_workers(job, &workers, &threads);
    q->workers = CW_MAX(workers, 1);
    q->threads = CW_MAX(threads / q->workers, 1);
    q->step_ns = step_ns(job);
    set_objective(job, q);
    if (!counts_workers(job))
        return;
    struct cw_scale_inputs inputs;
    cw_scaling_inputs(job, &none, &inputs);
    double most = inputs.available.remote;
    if (inputs.options.max_workers > 0)
        most = CW_MIN(most, inputs.options.max_workers);
    q->workers_max = CW_MAX(CW_MIN(most, WORKERS_MAX), 1);
    if (inputs.options.worker_price > 0 && inputs.options.client_price > 0) {
        q->worker_price = inputs.options.worker_price;
        q->trainer_price = inputs.options.client_price;
        q->store_price = job->d->options.store_price;
    }
}

/* ---- the cache ---- */

/* Whether the job has a cache that a plan may place: its policy is `auto`, and the pipeline itself asks for
 * none. */
static bool places_cache(struct cw_job *job)
{
    const struct cw_autocache_job *decider = cw_autocache_of(job);
    if (!decider || decider->failed || strcmp(decider->policy->name, "auto") != 0)
        return false;
    for (size_t i = 0; i < job->info->n_cacheable; i++)
        if (job->info->cacheable[i]->asked)
            return false;
    return true;
}

static void add_records(struct cw_plan_question *q, const char *node, bool of_written, double n)
{
    if (n <= 0 || q->records_n == CW_OPTIMIZE_CACHED_MAX)
        return;
    q->records[q->records_n++] = (struct cw_plan_records){
        .node = cw_mem_strdup(node), .of_written = of_written, .records = n};
}

static const struct cw_catalogue_key *key_of(const struct cw_job *job, const char *why_not,
                                             ProtobufCBinaryData key)
{
    struct cw_hash hash;
    return why_not[0] == '\0' && cw_wire_hash_from(key, &hash)
               ? cw_catalogue_find(job->cache->catalogue, cw_job_tenant(job), hash)
               : NULL;
}

/* Adds what is cached behind the nodes of an order, and returns the bytes of it that would make room for
 * another node's elements. */
static double add_cached(const struct cw_job *job, const Cachew__V1__PlanInfo *info,
                         bool of_written, struct cw_plan_question *q)
{
    double bytes = 0;
    for (size_t i = 0; info && i < info->n_cacheable; i++) {
        const Cachew__V1__Cacheable *node = info->cacheable[i];
        const struct cw_catalogue_key *key = key_of(job, node->why_not, node->key);
        if (!key)
            continue;
        add_records(q, node->node, of_written, (double)key->records);
        if (of_written || key->readers > 0) /* the others count as free already */
            bytes += (double)key->bytes;
    }
    return bytes;
}

static void set_cache(struct cw_job *job, struct cw_plan_question *q)
{
    struct cw_autocache_view view;
    cw_autocache_view_init(job->autocache, &view);
    const struct cw_autocache_store *store = &view.s.store;
    q->has_store = true;
    q->store = (struct cw_optimize_store){
        store->read_ns,      store->read_byte_ns,  store->write_ns,  store->write_byte_ns,
        store->read_bytes_s, store->write_bytes_s, store->free_bytes};
    double bytes = add_cached(job, job->plan.graph ? job->plan.info : NULL, false, q);
    bytes += add_cached(job, job->info, true, q);
    if (q->store.free_bytes >= 0)
        q->store.free_bytes += bytes;
    cw_autocache_view_fini(&view);
}

/* ---- all of it ---- */

/* `auto` and its variants are one policy for the search. */
static const struct cw_optimizer *optimizer_of(const char *policy)
{
    const struct cw_optimizer *own = cw_optimizer_find(policy);
    return own ? own : cw_optimizer_find("auto");
}

struct cw_plan_search *cw_plan_question_make(struct cw_job *job, const char *policy,
                                             const char *profile, bool may_cache)
{
    struct cw_plan_search *search = CW_NEW(struct cw_plan_search);
    struct cw_plan_question *q = &search->question;
    *q = (struct cw_plan_question){.policy = optimizer_of(policy),
                                   .written = cw_buf_ref(cw_job_graph(job)),
                                   .present = job->plan.graph ? cw_buf_ref(job->plan.graph) : NULL,
                                   .profile = profile ? cw_mem_strdup(profile) : NULL,
                                   .cached =
                                       job->cached_node ? cw_mem_strdup(job->cached_node) : NULL,
                                   .cached_is_of_plan = job->plan.decides_cache,
                                   .apart = job->options->apart,
                                   .elements = epoch_elements(job),
                                   .epochs = cw_job_epochs_left(job)};
    set_workers(job, q);
    q->cores = cores_of_workers(job);
    if (may_cache && places_cache(job))
        set_cache(job, q);
    if (profile)
        return search;
    q->busy_ns = busy_ns(job);
    q->measured_n = job->graph->n_nodes;
    q->measured = CW_NEW_ARRAY(struct cw_cost_measured, q->measured_n);
    for (size_t i = 0; job->measured && i < q->measured_n; i++)
        q->measured[i] = cw_plan_cost_of(job, i);
    if (job->measured)
        q->filters = job->measured->filters;
    for (size_t i = 0; i < q->filters.n; i++)
        q->filters.names[i] = cw_mem_strdup(q->filters.names[i]);
    return search;
}

struct cw_plan_search *cw_plan_question_make_by_operators(struct cw_job *job, const char *policy,
                                                          bool may_cache)
{
    /* (as if it had a profile, so that nothing is taken from what the job itself has measured) */
    struct cw_plan_search *search = cw_plan_question_make(job, policy, "", may_cache);
    cw_mem_free(cw_steal(&search->question.profile));
    cw_operator_costs_copy(job->d, cw_job_tenant(job), &search->question.costs);
    return search;
}

void cw_plan_means(struct cw_job *job, bool may_cache, struct cw_replan_means *ret_means)
{
    struct cw_plan_question q = {0};
    set_workers(job, &q);
    *ret_means = (struct cw_replan_means){
        .workers = q.workers, .worker_price = q.worker_price, .step_ns = q.step_ns, .room = -1};
    if (may_cache && places_cache(job)) {
        set_cache(job, &q);
        ret_means->room = q.store.free_bytes;
    }
    for (size_t i = 0; i < q.records_n; i++)
        cw_mem_free(q.records[i].node);
}
