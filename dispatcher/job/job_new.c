/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and frees a job, takes over what its preparation found, and notes whether it has
 * clients. */
#include "dispatcher/autocache/autocache.h"
#include "dispatcher/cache/cache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/optimize/job_optimizer.h"
#include "dispatcher/optimize/plan_change.h"
#include "dispatcher/lease/lease.h"
#include "dispatcher/scaling/scaling.h"

#include <string.h>

static void read_layout(struct cw_job *job)
{
    const Cachew__V1__JobOptions *options = job->options;
    job->layout.consumers =
        options->mode == CACHEW__V1__CONSUMER_MODE__SINGLE ? 1 : CW_MAX(options->consumers, 1);
    job->layout.mode = (enum cw_mode)options->mode;
    job->consumers = CW_NEW_ARRAY(struct cw_consumer, job->layout.consumers);
}

struct cw_job *cw_job_new(struct cw_dispatcher *d, const char *id, Cachew__V1__JobOptions *options,
                          Cachew__V1__Graph *graph, struct cw_buf *packed)
{
    struct cw_job *job = CW_NEW(struct cw_job);
    job->d = d;
    job->next_same_function = job;
    job->id = cw_mem_strdup(id);
    job->name = cw_mem_strdup(options->name);
    job->options = options;
    job->graph = graph;
    job->graph_packed = packed;
    job->tenant = cw_tenant_get(d, options->tenant);
    job->cache = cw_cache_of_job(job);
    job->seed = options->seed;
    job->epochs_n = options->epochs;
    job->error = cw_mem_strdup("");
    job->created_ms = cw_clock_wall_ms();
    cw_secret_make(job->data_secret, sizeof(job->data_secret));
    cw_secret_make(job->worker_secret, sizeof(job->worker_secret));
    job->rate_ms = job->no_client_ms = cw_clock_ms();
    read_layout(job);
    cw_scaling_begin(job);
    struct cw_job **at = &d->jobs;
    while (*at)
        at = &(*at)->next;
    *at = job;
    d->jobs_n++;
    cw_strmap_set(&d->jobs_by_id, job->id, job);
    return job;
}

void cw_job_free(struct cw_job *job)
{
    struct cw_dispatcher *d = job->d;
    cw_same_function_leave(job);
    while (job->index_helps)
        cw_job_drop_index_help(job, &job->index_helps);
    while (job->shares)
        cw_share_remove(job->shares);
    cw_map_fini(&job->shares_by_worker);
    for (struct cw_job **at = &d->jobs; *at; at = &(*at)->next) {
        if (*at == job) {
            *at = job->next;
            break;
        }
    }
    if (job->due.is_listed)
        cw_jobs_drop_due(d, job);
    d->jobs_n--;
    d->due.assignment = true;
    cw_strmap_remove(&d->jobs_by_id, job->id);
    for (size_t i = 0; i < job->epochs_open; i++) {
        cw_epoch_fini(job->epochs[i]);
        cw_mem_free(job->epochs[i]);
    }
    cw_mem_free(job->epochs);
    cw_job_skips_free(job);
    cw_autocache_free(job);
    cw_job_cache_fini(job);
    cw_scaling_free(job);
    cw_telemetry_free(job);
    cw_job_elements_free(job);
    cw_job_optimizer_free(job);
    cw_job_plan_free(job);
    cw_thread_use_sums_fini(&job->threads);
    cw_mem_free(job->consumers);
    cw_item_faults_free(job);
    cachew__v1__job_options__free_unpacked(job->options, NULL);
    cachew__v1__graph__free_unpacked(job->graph, NULL);
    cw_buf_unref(job->graph_packed);
    cw_buf_unref(job->completed_packed);
    cw_buf_unref(job->written_packed);
    if (job->info)
        cachew__v1__plan_info__free_unpacked(job->info, NULL);
    cw_buf_unref(job->manifest);
    cw_mem_free(job->error);
    cw_mem_free(job->preparing_at);
    cw_operators_free(&job->operators);
    cw_lacking_fini(&job->lacking);
    cw_mem_free(job->prepare_why);
    cw_mem_free(job->name);
    cw_mem_free(job->id);
    cw_mem_free(job);
}

void cw_job_clients_changed(struct cw_job *job)
{
    cw_accounting_job(job, cw_clock_ms());
    job->d->due.assignment = true;
    if (cw_job_has_clients(job))
        job->no_client_ms = 0;
    else if (job->no_client_ms == 0)
        job->no_client_ms = cw_clock_ms();
    cw_job_leases_due(job);
}

/* A sparse job has batches that are cut from the rows of all items before them. So no consumer has
 * items of its own, and consumers must not disagree on which items are left out. */
static int check_sparse(const struct cw_job *job, struct cw_err *err)
{
    static const char what[] =
        "is not possible for a pipeline whose number of elements depends on the data (filter)";
    if (job->layout.mode == CW_MODE_SHARED)
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "consumers=shared %s: use coordinated, or say survey: true there", what);
    if (job->layout.consumers > 1 && job->options->at_most_once)
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "at_most_once with several consumers %s: leave it out, and each batch "
                          "comes exactly once",
                          what);
    return 0;
}

/* A completed pipeline has the nodes of the one that was sent. */
static int check_completed(const struct cw_job *job, const Cachew__V1__Graph *completed,
                           struct cw_err *err)
{
    bool same = completed->n_nodes == job->graph->n_nodes;
    for (size_t i = 0; same && i < completed->n_nodes; i++)
        same = cw_str_eq(completed->nodes[i]->name, job->graph->nodes[i]->name) &&
               cw_str_eq(completed->nodes[i]->op, job->graph->nodes[i]->op);
    return same ? 0
                : cw_err_set(err, CW_E_INTERNAL,
                             "the worker that prepared the job completed another pipeline");
}

static void take_completed(struct cw_job *job, Cachew__V1__PlanInfo *info)
{
    cw_buf_unref(job->completed_packed);
    job->completed_packed = NULL;
    if (!info->completed)
        return;
    job->completed_packed = cw_wire_pack(&info->completed->base);
    cachew__v1__graph__free_unpacked(cw_steal(&info->completed), NULL);
}

int cw_job_set_info(struct cw_job *job, Cachew__V1__PlanInfo *info, struct cw_err *err)
{
    int rc = info->sparse ? check_sparse(job, err) : 0;
    if (rc == 0 && info->completed)
        rc = check_completed(job, info->completed, err);
    if (rc != 0)
        return rc;
    cw_job_set_operators(job, info->completed);
    take_completed(job, info);
    if (job->info)
        cachew__v1__plan_info__free_unpacked(job->info, NULL);
    job->info = info;
    job->items = info->items;
    job->fingerprint = (struct cw_hash){info->fingerprint_hi, info->fingerprint_lo};
    job->layout.to_all =
        info->sparse && job->layout.mode == CW_MODE_COORDINATED && job->layout.consumers > 1;
    job->item_bytes = info->item_bytes > 0 ? (double)info->item_bytes : 0;
    job->window = cw_window_items(job, 1);
    cw_same_function_join(job);
    cw_job_cache_changed(job);
    return 0;
}
