/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of this worker: made by a JobSpec, ended by Forget. A job that is forgotten leaves the
 * maps at once and is freed when exec has given back the last of its items. */
#include "worker/model/state.h"

#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "wire/wire.h"

struct cw_wjob *cw_wjob_get(const struct cw_worker *w, const char *id)
{
    return cw_strmap_get(&w->jobs, id);
}

uint32_t cw_wjob_consumer(const struct cw_wjob *job, uint64_t item)
{
    return job->consumers > 1 && !job->to_all ? (uint32_t)(item % job->consumers) : 0;
}

static bool is_same(const struct cw_wjob *job, const Cachew__V1__JobSpec *spec)
{
    return job->manifest && job->seed == spec->seed && job->skip_bad == spec->skip_bad &&
           job->to_all == spec->each_item_to_all && job->shared == spec->shared &&
           cw_str_eq(job->cache.tenant, spec->tenant) &&
           job->consumers == CW_MAX(spec->consumers, 1u) &&
           job->manifest->len == spec->manifest.len &&
           (spec->manifest.len == 0 ||
            memcmp(job->manifest->data, spec->manifest.data, spec->manifest.len) == 0);
}

static struct cw_wjob *job_new(struct cw_worker *w, const Cachew__V1__JobSpec *spec)
{
    struct cw_wjob *job = CW_NEW(struct cw_wjob);
    job->magic = CW_WJOB_MAGIC;
    job->worker = w;
    job->id = cw_mem_strdup(spec->job_id);
    job->seed = spec->seed;
    job->skip_bad = spec->skip_bad;
    job->to_all = spec->each_item_to_all;
    job->shared = spec->shared;
    job->consumers = CW_MAX(spec->consumers, 1u);
    job->cache.tenant = cw_mem_strdup(spec->tenant);
    job->queues = CW_NEW_ARRAY(struct cw_outq, job->consumers);
    job->clients = CW_NEW_ARRAY(struct cw_client *, job->consumers);
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

void cw_wjob_weigh(struct cw_wjob *job, double part)
{
    job->part = part > 0 && part < 1e9 ? part : 1;
    if (job->plan)
        cw_exec_weigh(job->worker->exec, job->plan, job->part);
}

void cw_wjob_add(struct cw_worker *w, const Cachew__V1__JobSpec *spec)
{
    if (spec->job_id[0] == '\0' || strlen(spec->job_id) > CW_JOB_ID_MAX ||
        spec->consumers > CW_CONSUMERS_MAX) {
        cw_attend_leave(w, "it sent a job with an impossible id or number of consumers");
        return;
    }
    struct cw_wjob *job = cw_wjob_get(w, spec->job_id);
    if (job && is_same(job, spec)) {
        cw_wcache_job_told(job, spec->cache, spec->n_cache);
        cw_wjob_weigh(job, spec->part);
        return;
    }
    if (job) {
        cw_wjob_hand_back(job);
        cw_wjob_forget(job, "given anew with other options");
    }
    if (w->turn_n >= CW_JOBS_MAX) {
        cw_log_error("worker", "job=%s not taken: %d jobs are here", spec->job_id, CW_JOBS_MAX);
        return;
    }
    job = job_new(w, spec);
    cw_wjob_weigh(job, spec->part);
    cw_strmap_set(&w->jobs, job->id, job);
    CW_GROW(w->turn, w->turn_n, w->turn_cap);
    w->turn[w->turn_n++] = job;
    cw_wcache_job_told(job, spec->cache, spec->n_cache);
    struct cw_plan *plan = job->graph ? cw_open_take_prepared(w, job) : NULL;
    if (plan)
        cw_wjob_opened(job, plan, NULL);
    else if (job->graph)
        cw_open_job(job);
    cw_serve_bind(job);
}

/* One item tells the error, the rest of each lease may go elsewhere: the dispatcher counts
 * attempts. */
static void fail_leases(struct cw_wjob *job)
{
    for (size_t i = 0; i < job->leases_n; i++) {
        struct cw_lease *lease = &job->leases[i];
        uint64_t item = lease->pending.v[0].lo;
        cw_report_failed(job->worker, job, lease->id, lease->epoch, item, job->error);
        cw_set_remove(&lease->pending, item, item + 1);
        cw_report_hand_back(job->worker, job->id, lease->epoch, &lease->pending);
    }
    cw_lease_clear(job);
    for (size_t i = 0; i < job->epochs_n; i++)
        cw_set_clear(&job->epochs[i].held);
}

void cw_wjob_leased(struct cw_wjob *job, const Cachew__V1__Lease *lease)
{
    cw_lease_add(job, lease);
    if (job->state == CW_WJOB_FAILED && job->graph)
        cw_open_job(job); /* the reason may be gone */
    else if (job->state == CW_WJOB_FAILED)
        fail_leases(job);
}

/* What decides the bytes of an item, and which elements are in it. */
static void join_function(struct cw_wjob *job, const struct cw_plan_info *info)
{
    const uint64_t key[] = {info->fingerprint.hi, info->fingerprint.lo, job->seed,
                            job->skip_bad,        info->items,          info->chunk};
    job->function =
        cw_shared_join(&job->worker->shared_items, cw_hash_bytes(key, sizeof(key)), &job->member);
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
    job->plan = plan;
    job->state = CW_WJOB_READY;
    cw_wjob_weigh(job, job->part);
    join_function(job, info);
    cw_wcache_job_engage(job);
    job->item_bytes = info->item_bytes > 0 ? (size_t)info->item_bytes : (size_t)1 << 20;
    cw_log_info("worker", "job=%s is ready: %llu items an epoch", job->id,
                (unsigned long long)info->items);
    /* what was leased before the number was known here */
    for (size_t i = 0; i < job->epochs_n; i++)
        cw_lease_revoke(job, job->epochs[i].epoch, info->items, UINT64_MAX);
    cw_tasks_pump(job->worker);
}

struct cw_epoch *cw_wjob_epoch(struct cw_wjob *job, uint64_t epoch)
{
    size_t i = job->epochs_n;
    while (i > 0 && job->epochs[i - 1].epoch >= epoch) {
        if (job->epochs[i - 1].epoch == epoch)
            return &job->epochs[i - 1];
        i--;
    }
    /* Epochs that nothing is left of make room. */
    for (size_t k = 0; k < job->epochs_n;) {
        struct cw_epoch *e = &job->epochs[k];
        if (e->held.n > 0 || e->done.n > 0) {
            k++;
            continue;
        }
        cw_set_fini(&e->held);
        cw_set_fini(&e->done);
        memmove(e, e + 1, (--job->epochs_n - k) * sizeof(*e));
        if (k < i)
            i--;
    }
    CW_GROW(job->epochs, job->epochs_n, job->epochs_cap);
    memmove(&job->epochs[i + 1], &job->epochs[i], (job->epochs_n++ - i) * sizeof(job->epochs[0]));
    job->epochs[i] = (struct cw_epoch){.epoch = epoch};
    return &job->epochs[i];
}

void cw_wjob_let_go(struct cw_wjob *job, uint64_t epoch, uint64_t item)
{
    cw_set_remove(&cw_wjob_epoch(job, epoch)->held, item, item + 1);
}

void cw_wjob_hand_back(struct cw_wjob *job)
{
    for (size_t i = 0; i < job->leases_n; i++) {
        struct cw_lease *lease = &job->leases[i];
        struct cw_epoch *e = cw_wjob_epoch(job, lease->epoch);
        cw_report_hand_back(job->worker, job->id, lease->epoch, &lease->pending);
        for (size_t k = 0; k < lease->pending.n; k++)
            cw_set_remove(&e->held, lease->pending.v[k].lo, lease->pending.v[k].hi);
    }
    cw_lease_clear(job);
}

void cw_wjob_forget(struct cw_wjob *job, const char *reason)
{
    struct cw_worker *w = job->worker;
    cw_log_info("worker", "job=%s is forgotten%s%s", job->id, reason && reason[0] ? ": " : "",
                reason ? reason : "");
    cw_strmap_remove(&w->jobs, job->id);
    for (size_t i = 0; i < w->turn_n; i++)
        if (w->turn[i] == job) {
            memmove(&w->turn[i], &w->turn[i + 1], (--w->turn_n - i) * sizeof(struct cw_wjob *));
            break;
        }
    job->forgotten = true;
    if (job->function)
        cw_shared_leave(&w->shared_items, job->function, &job->member);
    cw_open_forget(w, job->id);
    cw_serve_unbind(job);
    cw_lease_clear(job);
    cw_outq_clear(job);
    if (cw_tasks_cancel_all(job) && job->plan)
        cw_plan_stop(job->plan); /* what a thread waits for in a source is not waited for */
    cw_wcache_job_flush(job);
    if (w->turn_n == 0)
        cw_shm_pool_trim(w->pool, 0);
    cw_wjob_free_if_idle(job);
}

void cw_wjob_free_if_idle(struct cw_wjob *job)
{
    if (!job->forgotten || job->tasks_n > 0)
        return;
    for (size_t i = 0; i < job->epochs_n; i++) {
        cw_set_fini(&job->epochs[i].held);
        cw_set_fini(&job->epochs[i].done);
    }
    cw_wcache_job_flush(job); /* what its last items made */
    cw_wcache_job_fini(job);
    cw_mem_free(job->epochs);
    cw_mem_free(job->queues);
    cw_mem_free(job->clients);
    cw_shared_unref(&job->worker->shared_items, job->function);
    cw_plan_unref(job->plan);
    cw_graph_unref(job->graph);
    cw_buf_unref(job->manifest);
    cw_mem_free(job->error);
    cw_mem_free(job->id);
    cw_mem_free(job);
}
