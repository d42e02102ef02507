/* SPDX-License-Identifier: Apache-2.0 */
/* A worker prepares a job: it opens and indexes the sources, and reports what it found. */
#include "dispatcher/cache/cache.h"
#include "graph/check.h"
#include "dispatcher/job/job.h"
#include "dispatcher/message/message.h"

#include <string.h>

#define AT_BYTES_MAX 300

/* The worker that prepares the fewest jobs; NULL = none may prepare this one. */
static struct cw_worker *least_preparing(const struct cw_job *job)
{
    struct cw_worker *best = NULL;
    for (struct cw_worker *worker = job->d->workers; worker; worker = worker->next)
        if (cw_job_may_prepare(worker, job) && (!best || worker->preparing_n < best->preparing_n))
            best = worker;
    return best;
}

/* The check that was due when the job came (session/client_pipeline.c). */
static int check_late(struct cw_job *job, struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    int rc = cw_wire_graph_unpack(job->graph_packed->data, job->graph_packed->len, &graph, err);
    if (rc == 0)
        rc = cw_graph_check_without_data(graph, &checked, err);
    if (rc == 0)
        job->graph_fingerprint = checked->fingerprint;
    job->is_unchecked = false;
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return rc;
}

void cw_job_prepare(struct cw_job *job)
{
    struct cw_err err = {0};
    const bool prepares = job->status == CW_JOB_PREPARING && !job->preparing;
    if (!prepares && !job->is_unchecked)
        return;
    struct cw_worker *best = least_preparing(job);
    if (!best)
        return;
    int rc = job->is_unchecked ? check_late(job, &err) : 0;
    if (!prepares) /* a job of an earlier dispatcher, which goes on */
        return;
    if (rc != 0) {
        cw_job_fail(job, err.code, err.msg);
        return;
    }
    cw_job_set_preparing(job, best);
    job->preparing_reports = false;
    job->no_worker_ms = 0;
    Cachew__V1__Prepare prepare = CACHEW__V1__PREPARE__INIT;
    prepare.job_id = job->id;
    prepare.seed = job->seed;
    prepare.tenant = job->tenant->name;
    prepare.skip_bad = job->options->skip_bad;
    Cachew__V1__CacheStore store;
    prepare.store = cw_job_cache_store(job, &store);
    const struct cw_wire_part parts[] = {{"graph", job->graph_packed},
                                         {"written", job->written_packed}};
    cw_worker_send_parts(best, CACHEW__V1__WORKER_COMMAND__KIND_PREPARE, &prepare.base, parts,
                         job->written_packed ? 2 : 1);
    cw_job_index_offer(job);
    cw_fault_point("dispatcher.prepare");
}

void cw_job_note_preparing(struct cw_worker *worker, const Cachew__V1__Progress *progress,
                           int64_t now)
{
    for (size_t i = 0; i < progress->n_preparing; i++) {
        struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, progress->preparing[i]->job_id);
        if (!job || job->preparing != worker)
            continue;
        if (!job->preparing_reports || progress->preparing[i]->steps > job->preparing_steps)
            job->preparing_ms = now;
        cw_mem_free(job->preparing_at);
        job->preparing_at = progress->preparing[i]->at[0] == '\0'
                                ? NULL
                                : cw_mem_printf("%.*s", AT_BYTES_MAX, progress->preparing[i]->at);
        job->preparing_steps = progress->preparing[i]->steps;
        job->preparing_reports = true;
    }
}

/* Of an earlier dispatcher's jobs there may be reports, too. */
static struct cw_share *share_of(const struct cw_worker *worker, const char *job_id)
{
    struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, job_id);
    return job ? cw_share_find(job, worker) : NULL;
}

void cw_job_note_slow(const struct cw_worker *worker, const Cachew__V1__Progress *progress,
                      int64_t now)
{
    for (size_t i = 0; i < progress->n_slow; i++) {
        const Cachew__V1__Progress__Slow *slow = progress->slow[i];
        struct cw_share *share = share_of(worker, slow->job_id);
        if (!share)
            continue;
        share->slow_epoch = slow->epoch;
        share->slow_item = slow->item;
        share->slow_heard_ms = now;
        share->slow_since_ms = now - (int64_t)CW_MIN(slow->ms, (uint64_t)now);
        cw_mem_free(share->slow_at);
        share->slow_at = slow->at[0] == '\0' ? NULL : cw_mem_printf("%.*s", AT_BYTES_MAX, slow->at);
    }
}

static Cachew__V1__PlanInfo *copy_info(const Cachew__V1__PlanInfo *info)
{
    struct cw_buf *buf = cw_wire_pack(&info->base);
    Cachew__V1__PlanInfo *copy = cachew__v1__plan_info__unpack(NULL, buf->len, buf->data);
    cw_buf_unref(buf);
    return copy;
}

/* Takes over the facts that the worker has sent. */
static int take_info(struct cw_job *job, const Cachew__V1__PlanInfo *sent, struct cw_err *err)
{
    struct cw_plan_info checked = {0};
    struct cw_err why = {0};
    if (cw_wire_info_from(sent, &checked, &why) != 0)
        return cw_err_set(err, CW_E_INTERNAL,
                          "the worker that prepared the job sent nothing valid: %s", why.msg);
    cw_wire_info_fini(&checked);
    Cachew__V1__PlanInfo *info = copy_info(sent);
    if (!info)
        return cw_err_set(err, CW_E_NOMEM, "out of memory for the job's facts");
    int rc = cw_job_set_info(job, info, err);
    if (rc != 0) {
        cachew__v1__plan_info__free_unpacked(info, NULL);
        return rc;
    }
    if (job->items == 0 && job->epochs_n == 0)
        return cw_err_set(err, CW_E_INVALID,
                          "the pipeline has no elements, and the job no last epoch: it would end "
                          "one empty epoch after the other");
    return 0;
}

/* What the completed pipeline will take, which the facts may have. */
static size_t completed_bytes(const Cachew__V1__Prepared *prepared)
{
    const Cachew__V1__Graph *graph = prepared->info ? prepared->info->completed : NULL;
    return graph ? protobuf_c_message_get_packed_size(&graph->base) : 0;
}

static void free_manifest(void *arg, struct cw_buf *buf)
{
    (void)arg;
    cw_mem_free(buf->data);
}

/* protobuf-c takes memory from malloc, and stores an absent field as NULL. */
static struct cw_buf *take_manifest(Cachew__V1__Prepared *prepared)
{
    ProtobufCBinaryData bytes = prepared->manifest;
    prepared->manifest = (ProtobufCBinaryData){0, NULL};
    return cw_buf_wrap(bytes.data, bytes.len, free_manifest, NULL);
}

/* While a fleet is upgraded a worker may not know an operator that others know. Returns whether one of
 * another version is asked. */
static bool ask_another_version(struct cw_job *job, const Cachew__V1__Prepared *prepared)
{
    const struct cw_worker *worker = job->preparing;
    /* (A file that is not there has the same code, and is no matter of the version.) */
    if (prepared->code != CW_E_NOT_FOUND || !worker ||
        !strstr(prepared->error, "there is no such operator") ||
        !cw_lacking_add(&job->lacking, worker))
        return false;
    if (!least_preparing(job))
        return false;
    cw_log_warn(
        CW_LOG_MOD,
        "job=%s worker=%s of version %s cannot prepare it, one of another version is asked: "
        "%s",
        job->id, worker->address, worker->version, prepared->error);
    cw_job_set_preparing(job, NULL);
    cw_job_prepare(job);
    return true;
}

/* ---- relaxed orders ---- */

/* The job is that of the pipeline as it was written. */
static void take_written(struct cw_job *job)
{
    Cachew__V1__Graph *written =
        cachew__v1__graph__unpack(NULL, job->written_packed->len, job->written_packed->data);
    if (!written)
        return;
    cachew__v1__graph__free_unpacked(job->graph, NULL);
    job->graph = written;
    cw_wire_graph_strip(job->graph);
    cw_buf_unref(job->graph_packed);
    job->graph_packed = cw_steal(&job->written_packed);
    job->graph_fingerprint = job->written_fingerprint;
    job->options->relaxed = false;
}

/* What was seen of a few elements: how they differ, or that the order is not to be used. */
static void take_trial(struct cw_job *job, const Cachew__V1__Prepared *prepared)
{
    const bool is_refused = prepared->relaxed_refused;
    if (!job->written_packed || prepared->relaxed[0] == '\0')
        return;
    if (is_refused) {
        cw_log_warn(CW_LOG_MOD, "job=%s name=%s: %s", job->id, job->name, prepared->relaxed);
        take_written(job);
    }
    cw_decision_record(
        job->d, job,
        &(const struct cw_state_decision){
            .kind = "optimize",
            .policy = job->options->optimize[0] ? job->options->optimize : "relaxed",
            .choice = is_refused ? "the written order" : "the relaxed order",
            .reason = is_refused ? "The relaxed order was tried on 16 elements, and is not used."
                                 : "The relaxed order was tried on 16 elements.",
            .candidates = prepared->relaxed});
}

void cw_job_prepared(struct cw_job *job, Cachew__V1__Prepared *prepared)
{
    struct cw_err err = {0};
    CW_STR_AUTO who = {0};
    if (ask_another_version(job, prepared))
        return;
    /* Of several workers one may be of another build, without an operator that the others have. */
    if (job->preparing && job->d->workers_n > 1)
        cw_str_addf(&who, " (worker %s says so, of version %s)", job->preparing->address,
                    job->preparing->version ? job->preparing->version : "?");
    job->prepared_by = job->preparing ? job->preparing->id : 0;
    cw_job_set_preparing(job, NULL);
    if (prepared->code != 0)
        cw_err_set(&err, prepared->code < 0 ? prepared->code : CW_E_INTERNAL, "%s%s",
                   prepared->error, cw_str_text(&who));
    else if (prepared->manifest.len > CW_MANIFEST_MAX)
        cw_err_set(&err, CW_E_LIMIT, "a list of files of %zu bytes, the limit is %zu",
                   prepared->manifest.len, CW_MANIFEST_MAX);
    else if (cw_jobs_room(job->d, prepared->manifest.len + completed_bytes(prepared), &err) == 0) {
        take_trial(job, prepared);
        (void)take_info(job, prepared->info, &err);
    }
    cw_buf_unref(cw_steal(&job->written_packed));
    if (err.code != 0) {
        cw_job_fail(job, err.code, err.msg);
        return;
    }
    job->manifest = take_manifest(prepared);
    job->status = CW_JOB_RUNNING;
    job->d->due.assignment = true;
    cw_job_leases_due(job);
    cw_log_info(CW_LOG_MOD, "job=%s name=%s prepared: items=%llu sparse=%d", job->id, job->name,
                (unsigned long long)job->items, (int)job->info->sparse);
    CW_STR_AUTO lacking = {0};
    if (cw_operators_lacking(job, &lacking))
        cw_log_warn(CW_LOG_MOD, "job=%s some workers get nothing of it: %s", job->id,
                    cw_str_text(&lacking));
    cw_job_store(job);
    cw_job_advance(job);
}
