/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the contents of the state directory when the dispatcher starts: jobs and their progress,
 * workers that may come back, keys of the cache, the use of tenants. */
#include "dispatcher/cache/cache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/optimize/plan_change.h"
#include "dispatcher/scaling/scaling.h"
#include "graph/check.h"

#include <string.h>

static void find_fingerprint(struct cw_job *job)
{
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_err err = {0};
    if (cw_wire_graph_from(job->graph, &graph, &err) == 0 &&
        cw_graph_check_without_data(graph, &checked, &err) == 0)
        job->graph_fingerprint = checked->fingerprint;
    else if (err.code ==
             CW_E_NOT_FOUND) {    /* an operator of a plugin, which no worker has told of yet */
        job->is_unchecked = true; /* until one has (job_prepare.c) */
        job->graph_fingerprint = cw_hash_bytes(job->graph_packed->data, job->graph_packed->len);
    } else
        cw_log_warn(CW_LOG_MOD, "job=%s name=%s: its pipeline is not valid any more: %s", job->id,
                    job->name, err.msg);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    cw_wire_graph_strip(job->graph);
}

/* If the stored state of a job cannot be used, only that job fails. Its error says what to do, and
 * its row stays as it is. */
static void load_failed(struct cw_job *job, const struct cw_err *err)
{
    job->status = CW_JOB_FAILED;
    job->error_code = err->code;
    cw_mem_free(job->error);
    job->error = cw_mem_printf("its stored state cannot be used (%s): remove the job (cachew "
                               "remove) and start it again; its trainer can resume with its "
                               "token",
                               err->msg);
    cw_log_error(CW_LOG_MOD, "job=%s name=%s: %s", job->id, job->name, job->error);
}

static bool are_valid(const Cachew__V1__JobOptions *options)
{
    return options && options->consumers <= CW_CONSUMERS_MAX &&
           (unsigned)options->mode <= CACHEW__V1__CONSUMER_MODE__SHARED;
}

/* Creates a job in any case. If there is an error, only its name is known. */
static int read_job(struct cw_dispatcher *d, const struct cw_state_job *row,
                    struct cw_job **ret_job, struct cw_err *err)
{
    Cachew__V1__JobOptions *options =
        cachew__v1__job_options__unpack(NULL, row->options.n, row->options.p);
    Cachew__V1__Graph *graph = cachew__v1__graph__unpack(NULL, row->graph.n, row->graph.p);
    int rc = 0;
    if (!are_valid(options))
        rc = cw_err_set(err, CW_E_CORRUPT, "its options cannot be read");
    else if (!graph)
        rc = cw_err_set(err, CW_E_CORRUPT, "its pipeline cannot be read");
    if (rc != 0 && options)
        cachew__v1__job_options__free_unpacked(cw_steal(&options), NULL);
    options = options ? options : cachew__v1__job_options__unpack(NULL, 0, NULL);
    struct cw_job *job =
        cw_job_new(d, row->id, options, graph ? graph : cachew__v1__graph__unpack(NULL, 0, NULL),
                   cw_buf_copy(row->graph.p, row->graph.n));
    cw_mem_free(job->name);
    job->name = cw_mem_strdup(row->name);
    *ret_job = job;
    return rc;
}

/* Checks the stored facts like those of a worker that has just prepared the job. */
static int read_info(struct cw_job *job, const struct cw_state_job *row, struct cw_err *err)
{
    struct cw_plan_info checked = {0};
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, row->info.n, row->info.p);
    int rc = cw_wire_info_from(info, &checked, err);
    cw_wire_info_fini(&checked);
    if (rc == 0)
        rc = cw_job_set_info(job, info, err);
    if (rc != 0 && info)
        cachew__v1__plan_info__free_unpacked(info, NULL);
    return rc;
}

static bool has_secrets(const struct cw_state_job *row)
{
    return row->secrets.n == 2 * CW_SECRET_BYTES;
}

/* Clients and workers may still know the secrets that were stored. */
static void restore_secrets(struct cw_job *job, const struct cw_state_job *row)
{
    const unsigned char *secrets = row->secrets.p;
    if (!has_secrets(row)) /* An older dispatcher wrote the row, and nobody knows a secret. */
        return;
    memcpy(job->data_secret, secrets, CW_SECRET_BYTES);
    memcpy(job->worker_secret, &secrets[CW_SECRET_BYTES], CW_SECRET_BYTES);
}

int cw_restore_job(struct cw_dispatcher *d, const struct cw_state_job *row, struct cw_err *err)
{
    struct cw_err unusable = {0};
    struct cw_job *job = NULL;
    int rc = read_job(d, row, &job, &unusable);
    job->manifest = cw_buf_copy(row->manifest.p, row->manifest.n);
    /* Without the manifest workers could not see that their files are different. */
    if (!job->manifest || !job->graph_packed)
        return cw_err_set(err, CW_E_NOMEM,
                          "job %s: there is no memory for its pipeline and its list of files, %zu "
                          "bytes",
                          row->id, row->graph.n + row->manifest.n);
    job->status = row->status;
    job->first_epoch = row->first_epoch;
    job->error_code = row->error_code;
    cw_mem_free(job->error);
    job->error = cw_mem_strdup(row->error);
    job->created_ms = row->created_ms;
    restore_secrets(job, row);
    job->row_written = job->stored = true;
    cw_job_leases_due(job);
    job->hold_until_ms = d->started_ms + d->options.grace_ms;
    d->due.held_jobs = true;
    if (rc == 0)
        rc = read_info(job, row, &unusable);
    if (rc != 0)
        load_failed(job, &unusable);
    else
        find_fingerprint(job);
    job->secrets_unstored = rc == 0 && !has_secrets(row);
    return 0;
}

static int on_job(void *arg, const struct cw_state_job *row, struct cw_err *err)
{
    return cw_restore_job(arg, row, err);
}

static int on_progress(void *arg, const char *id, uint64_t number, int consumer,
                       const struct cw_set *consumed, struct cw_err *err)
{
    (void)err;
    struct cw_job *job = cw_strmap_get(&((struct cw_dispatcher *)arg)->jobs_by_id, id);
    struct cw_epoch *epoch = job ? cw_job_open_epoch(job, number) : NULL;
    if (!epoch)
        return 0;
    if (consumer >= CW_OWNED_BASE) {
        if (epoch->layout.mode == CW_MODE_SHARED &&
            (uint32_t)(consumer - CW_OWNED_BASE) < epoch->layout.consumers)
            cw_set_add_all(&epoch->parts[consumer - CW_OWNED_BASE].owned, consumed);
    } else if (consumer < 0) {
        cw_set_add_all(&epoch->consumed, consumed);
        cw_set_add_all(&epoch->received, consumed);
    } else if (epoch->layout.to_all && (uint32_t)consumer < epoch->layout.consumers) {
        cw_set_add_all(&epoch->parts[consumer].consumed, consumed);
        cw_set_add_all(&epoch->parts[consumer].received, consumed);
    }
    return 0;
}

static int on_skipped(void *arg, const char *id, uint64_t number, const struct cw_set *skipped,
                      struct cw_err *err)
{
    (void)err;
    struct cw_job *job = cw_strmap_get(&((struct cw_dispatcher *)arg)->jobs_by_id, id);
    struct cw_epoch *epoch = job ? cw_job_open_epoch(job, number) : NULL;
    if (epoch)
        cw_set_add_all(&epoch->skipped, skipped);
    return 0;
}

static int on_position(void *arg, const char *id, uint32_t consumer, uint64_t client_id,
                       const struct cw_state_position *position, struct cw_err *err)
{
    (void)err;
    struct cw_job *job = cw_strmap_get(&((struct cw_dispatcher *)arg)->jobs_by_id, id);
    if (!job || consumer >= job->layout.consumers)
        return 0;
    job->consumers[consumer].client_id = client_id;
    job->consumers[consumer].expected = client_id != 0;
    job->consumers[consumer].position = *position;
    return 0;
}

static int on_worker(void *arg, uint64_t worker_id, const char *address, struct cw_err *err)
{
    (void)err;
    (void)address;
    struct cw_dispatcher *d = arg;
    cw_map_set(&d->expected_workers, worker_id, d);
    return 0;
}

static int on_left_out(void *arg, const char *id, uint64_t number, const struct cw_set *items,
                       struct cw_err *err)
{
    (void)err;
    struct cw_job *job = cw_strmap_get(&((struct cw_dispatcher *)arg)->jobs_by_id, id);
    if (job)
        cw_job_skips_load(job, number, items);
    return 0;
}

static int on_cache_key(void *arg, const struct cw_state_cache_key *row, struct cw_err *err)
{
    (void)err;
    struct cw_cache_service *cache = cw_cache_by_id(arg, row->cache);
    if (cache)
        cw_catalogue_load_row(cache->catalogue, row);
    return 0;
}

static int on_cache(void *arg, const struct cw_state_cache *row, struct cw_err *err)
{
    (void)err;
    cw_cache_load(arg, row);
    return 0;
}

static int on_cache_source(void *arg, const struct cw_state_cache_source *row, struct cw_err *err)
{
    (void)err;
    cw_cache_load_source(arg, row);
    return 0;
}

static int on_usage(void *arg, const char *id, const struct cw_usage *usage, struct cw_err *err)
{
    (void)err;
    struct cw_job *job = cw_strmap_get(&((struct cw_dispatcher *)arg)->jobs_by_id, id);
    if (job)
        job->usage = job->usage_stored = *usage;
    return 0;
}

static int on_tenant(void *arg, const char *name, const struct cw_usage *usage, struct cw_err *err)
{
    (void)err;
    cw_tenant_get(arg, name)->past = *usage;
    return 0;
}

static int on_counts(void *arg, const char *id, const uint64_t *counts, size_t n,
                     struct cw_err *err)
{
    (void)err;
    struct cw_job *job = cw_strmap_get(&((struct cw_dispatcher *)arg)->jobs_by_id, id);
    if (job)
        cw_telemetry_restore(job, counts, n);
    return 0;
}

static int on_plan(void *arg, const char *id, uint64_t number, const struct cw_state_blob *graph,
                   struct cw_err *err)
{
    (void)err;
    struct cw_job *job = cw_strmap_get(&((struct cw_dispatcher *)arg)->jobs_by_id, id);
    if (job)
        cw_job_plan_restore(job, number, graph->p, graph->n);
    return 0;
}

/* Items that were consumed after their owner was stored belong to nobody. */
static void disown_consumed(struct cw_job *job)
{
    for (size_t i = 0; i < job->epochs_open; i++) {
        struct cw_epoch *epoch = job->epochs[i];
        for (uint32_t c = 0; epoch->layout.mode == CW_MODE_SHARED && c < epoch->layout.consumers;
             c++) {
            for (size_t k = 0; k < epoch->consumed.n; k++)
                cw_set_remove(&epoch->parts[c].owned, epoch->consumed.v[k].lo,
                              epoch->consumed.v[k].hi);
        }
    }
}

int cw_restore_all(struct cw_dispatcher *d, struct cw_err *err)
{
    static const struct cw_state_reader reader = {
        on_job,   on_progress, on_skipped, on_position, on_worker,       on_left_out, on_cache_key,
        on_usage, on_tenant,   on_counts,  on_cache,    on_cache_source, on_plan};
    int rc = cw_state_load(d->state, &reader, d, err);
    for (struct cw_job *job = d->jobs; rc == 0 && job; job = job->next)
        disown_consumed(job);
    for (struct cw_job *job = d->jobs; rc == 0 && job; job = job->next) {
        cw_scaling_restore(job);
        if (job->secrets_unstored)
            cw_job_store(job);
        job->secrets_unstored = false;
    }
    if (rc == 0 && d->jobs_n > 0)
        cw_log_info(CW_LOG_MOD, "%zu job%s loaded from %s", d->jobs_n, d->jobs_n == 1 ? "" : "s",
                    d->options.state_dir);
    return rc;
}
