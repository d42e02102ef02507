/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a job when a JobSpec comes, and removes it when a Forget comes. A job that is forgotten is
 * removed from the table at once, and freed when exec has given back the last of its items. */
#include "worker/job/job_life.h"

#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "wire/wire.h"
#include "worker/cache/cache_job.h"
#include "worker/cache/worker_cache.h"
#include "worker/compute/outputs.h"
#include "worker/compute/read_ahead.h"
#include "worker/compute/tasks.h"
#include "worker/job/job_plan.h"
#include "worker/job/plan_loader.h"
#include "worker/message/to_dispatcher.h"
#include "worker/serve/client_streams.h"

static bool is_same(const struct cw_wjob *job, const Cachew__V1__JobSpec *spec)
{
    return job->manifest && job->seed == spec->seed && job->skip_bad == spec->skip_bad &&
           job->apart == spec->apart && job->to_all == spec->each_item_to_all &&
           job->shared == spec->shared && cw_str_eq(job->cache.tenant, spec->tenant) &&
           job->consumers == CW_MAX(spec->consumers, 1u) &&
           job->manifest->len == spec->manifest.len &&
           (spec->manifest.len == 0 ||
            memcmp(job->manifest->data, spec->manifest.data, spec->manifest.len) == 0);
}

static void job_free(struct cw_wjob *job)
{
    for (size_t i = 0; i < job->epochs_n; i++) {
        cw_set_fini(&job->epochs[i].held);
        cw_set_fini(&job->epochs[i].done);
    }
    cw_wcache_job_flush(job); /* writes the records of its last items */
    cw_wcache_job_fini(job);
    cw_mem_free(job->epochs);
    cw_mem_free(job->queues);
    cw_mem_free(job->clients);
    cw_dedup_unref(&job->worker->dedup, job->function);
    cw_wjob_plan_free(job);
    cw_graph_unref(job->graph);
    cw_buf_unref(job->manifest);
    cw_mem_free(job->error);
    cw_mem_free(job->id);
    cw_mem_free(job);
}

static struct cw_wjob *job_new(struct cw_worker_state *w, const Cachew__V1__JobSpec *spec)
{
    struct cw_wjob *job = CW_NEW(struct cw_wjob);
    job->worker = w;
    job->release = job_free;
    job->id = cw_mem_strdup(spec->job_id);
    job->seed = spec->seed;
    job->skip_bad = spec->skip_bad;
    job->apart = spec->apart;
    job->to_all = spec->each_item_to_all;
    job->shared = spec->shared;
    job->consumers = CW_MAX(spec->consumers, 1u);
    job->cache.tenant = cw_mem_strdup(spec->tenant);
    job->queues = CW_NEW_ARRAY(struct cw_outq, job->consumers);
    job->clients = CW_NEW_ARRAY(struct cw_wclient *, job->consumers);
    job->manifest = cw_buf_copy(spec->manifest.data, spec->manifest.len);
    struct cw_err err = {0};
    int rc;
    if (!job->manifest)
        rc = cw_err_set(&err, CW_E_NOMEM, "no memory for the job's manifest");
    else if (!spec->graph)
        rc = cw_err_set(&err, CW_E_INVALID, "the job came without a pipeline");
    else
        rc = cw_wire_graph_from(spec->graph, &job->graph, &err);
    if (rc != 0) {
        job->state = CW_WJOB_FAILED;
        job->error = cw_mem_dup(&err, sizeof(err));
        cw_log_error("worker", "job=%s cannot be opened: %s", job->id, err.msg);
    }
    return job;
}

void cw_wjob_set_weight(struct cw_wjob *job, double part)
{
    job->part = part > 0 && part < 1e9 ? part : 1;
    if (job->written)
        cw_exec_weigh(job->worker->exec, job->written, job->part);
}

static void set_secret(struct cw_wjob *job, const Cachew__V1__JobSpec *spec)
{
    job->secret_required = spec->secret_required;
    job->secret_n = spec->secret.len == CW_SECRET_BYTES ? CW_SECRET_BYTES : 0;
    if (job->secret_n > 0)
        memcpy(job->secret, spec->secret.data, CW_SECRET_BYTES);
}

const char *cw_wjob_add(struct cw_worker_state *w, const Cachew__V1__JobSpec *spec)
{
    if (spec->job_id[0] == '\0' || strlen(spec->job_id) > CW_JOB_ID_MAX ||
        spec->consumers > CW_CONSUMERS_MAX || (spec->shared && spec->each_item_to_all))
        return "it sent a job with an impossible id or number of consumers";
    struct cw_wjob *job = cw_wjob_get(w, spec->job_id);
    if (job && is_same(job, spec)) {
        set_secret(job, spec);
        cw_wcache_job_given(job, spec->store, spec->cache, spec->n_cache);
        cw_wjob_set_weight(job, spec->part);
        return NULL;
    }
    if (job) {
        cw_wjob_hand_back(job);
        cw_wjob_forget(job, "given anew with other options");
    }
    if (w->jobs.n >= CW_JOBS_MAX) {
        cw_log_error("worker", "job=%s is refused: this worker has %d jobs already", spec->job_id,
                     CW_JOBS_MAX);
        return NULL;
    }
    job = job_new(w, spec);
    set_secret(job, spec);
    cw_wjob_set_weight(job, spec->part);
    cw_strmap_set(&w->jobs.by_id, job->id, job);
    CW_GROW(w->jobs.list, w->jobs.n, w->jobs.cap);
    w->jobs.list[w->jobs.n++] = job;
    cw_wcache_job_given(job, spec->store, spec->cache, spec->n_cache);
    struct cw_plan *plan = job->graph ? cw_loader_take_prepared(w, job) : NULL;
    if (plan)
        cw_wjob_opened(job, plan, NULL);
    else if (job->graph)
        cw_loader_open(job);
    cw_wclients_bind(job);
    return NULL;
}

/* Reports the error for one item of each lease, and hands the others back, so that they may go to
 * other workers: the dispatcher counts failed attempts. */
static void fail_leases(struct cw_wjob *job)
{
    for (size_t i = 0; i < job->leases_n; i++) {
        struct cw_wlease *lease = &job->leases[i];
        uint64_t item = lease->pending.v[0].lo;
        cw_report_failed(job->worker, job, lease->id, lease->epoch, item, job->error);
        cw_set_remove(&lease->pending, item, item + 1);
        cw_report_hand_back(job->worker, job->id, lease->epoch, &lease->pending);
    }
    cw_wlease_clear(job);
    cw_wahead_clear(job);
    for (size_t i = 0; i < job->epochs_n; i++)
        cw_set_clear(&job->epochs[i].held);
}

void cw_wjob_leased(struct cw_wjob *job, const Cachew__V1__Lease *lease, const struct cw_set *items)
{
    cw_wlease_add(job, lease, items);
    if (job->state == CW_WJOB_FAILED && job->graph)
        cw_loader_open(job); /* the reason of its failure may have been removed */
    else if (job->state == CW_WJOB_FAILED)
        fail_leases(job);
}

/* Adds the job to its function, for sharing batches. The key covers everything that decides the
 * bytes of an item, and which elements are in it. */
static void join_function(struct cw_wjob *job, const struct cw_plan_info *info)
{
    const uint64_t key[] = {info->fingerprint.hi, info->fingerprint.lo, job->seed,
                            job->skip_bad,        info->items,          info->chunk};
    job->function =
        cw_dedup_join(&job->worker->dedup, cw_hash_bytes(key, sizeof(key)), &job->member);
}

void cw_wjob_opened(struct cw_wjob *job, struct cw_plan *plan, const struct cw_err *error)
{
    cw_fault_point("worker.job_opened");
    if (!plan) {
        job->state = CW_WJOB_FAILED;
        cw_mem_free(job->error);
        job->error = cw_mem_dup(error, sizeof(*error));
        cw_log_error("worker", "job=%s cannot be opened: %s", job->id, error->msg);
        fail_leases(job);
        return;
    }
    const struct cw_plan_info *info = cw_plan_info(plan);
    if (job->apart)
        cw_plan_set_apart(plan);
    job->written = plan;
    job->plan = cw_plan_ref(plan);
    job->state = CW_WJOB_READY;
    cw_wjob_set_weight(job, job->part);
    join_function(job, info);
    cw_wcache_job_engage(job);
    job->item_bytes = info->item_bytes > 0 ? (size_t)info->item_bytes : (size_t)1 << 20;
    cw_log_info("worker", "job=%s is ready: %llu items an epoch", job->id,
                (unsigned long long)info->items);
    /* Items that do not exist are dropped: they were leased before this worker knew the number of
     * items. */
    struct cw_set absent = {0};
    cw_set_add(&absent, info->items, UINT64_MAX);
    for (size_t i = 0; i < job->epochs_n; i++)
        cw_wlease_revoke(job, job->epochs[i].epoch, &absent);
    cw_set_fini(&absent);
    cw_wjob_plan_begin(job);
    cw_tasks_pump(job->worker);
}

void cw_wjob_hand_back(struct cw_wjob *job)
{
    for (size_t i = 0; i < job->leases_n; i++) {
        struct cw_wlease *lease = &job->leases[i];
        struct cw_wepoch *e = cw_wjob_epoch(job, lease->epoch);
        cw_report_hand_back(job->worker, job->id, lease->epoch, &lease->pending);
        cw_set_remove_all(&e->held, &lease->pending);
    }
    cw_wlease_clear(job);
    cw_wahead_clear(job);
}

void cw_wjob_forget(struct cw_wjob *job, const char *reason)
{
    struct cw_worker_state *w = job->worker;
    cw_log_info("worker", "job=%s is forgotten%s%s", job->id, reason && reason[0] ? ": " : "",
                reason ? reason : "");
    cw_strmap_remove(&w->jobs.by_id, job->id);
    for (size_t i = 0; i < w->jobs.n; i++)
        if (w->jobs.list[i] == job) {
            memmove(&w->jobs.list[i], &w->jobs.list[i + 1],
                    (--w->jobs.n - i) * sizeof(struct cw_wjob *));
            break;
        }
    job->forgotten = true;
    if (job->function)
        cw_dedup_leave(&w->dedup, job->function, &job->member);
    cw_loader_forget(w, job->id);
    cw_wclients_unbind(job);
    cw_wlease_clear(job);
    cw_wahead_clear(job);
    cw_outputs_clear(job);
    if (cw_tasks_cancel_all(job) && job->written)
        cw_plan_stop(job->written); /* threads that wait in a source stop waiting */
    cw_wcache_job_flush(job);
    if (w->jobs.n == 0)
        cw_shm_pool_trim(w->pool, 0);
    if (job->tasks_n == 0)
        job_free(job);
}
