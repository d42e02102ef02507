/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a job: made, prepared by a worker, stored, running, finished or failed, removed. */
#include "dispatcher/autocache/autocache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include "dispatcher/message/message.h"
#include "dispatcher/program.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/session/session.h"

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
                          Cachew__V1__Graph *graph)
{
    struct cw_job *job = CW_NEW(struct cw_job);
    job->d = d;
    job->sibling = job;
    job->id = cw_mem_strdup(id);
    job->name = cw_mem_strdup(options->name);
    job->options = options;
    job->graph = graph;
    job->tenant = cw_tenant_get(d, options->tenant);
    job->seed = options->seed;
    job->epochs_n = options->epochs;
    job->error = cw_mem_strdup("");
    job->created_ms = cw_clock_wall_ms();
    job->rate_ms = job->alone_ms = cw_clock_ms();
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
    cw_sibling_leave(job);
    while (job->shares)
        cw_share_remove(job->shares);
    for (struct cw_job **at = &d->jobs; *at; at = &(*at)->next) {
        if (*at == job) {
            *at = job->next;
            break;
        }
    }
    d->jobs_n--;
    d->assign_due = true;
    cw_strmap_remove(&d->jobs_by_id, job->id);
    for (size_t i = 0; i < job->epochs_open; i++) {
        cw_epoch_fini(job->epochs[i]);
        cw_mem_free(job->epochs[i]);
    }
    cw_mem_free(job->epochs);
    cw_job_skips_free(job);
    cw_decide_fini(job);
    cw_job_cache_fini(job);
    cw_scaling_free(job);
    cw_watch_free(job);
    cw_mem_free(job->consumers);
    cw_trouble_free_all(job);
    cachew__v1__job_options__free_unpacked(job->options, NULL);
    cachew__v1__graph__free_unpacked(job->graph, NULL);
    if (job->info)
        cachew__v1__plan_info__free_unpacked(job->info, NULL);
    cw_buf_unref(job->manifest);
    cw_mem_free(job->error);
    cw_mem_free(job->name);
    cw_mem_free(job->id);
    cw_mem_free(job);
}

static void tell_forget(struct cw_worker *worker, struct cw_job *job, const char *reason)
{
    Cachew__V1__Forget forget = CACHEW__V1__FORGET__INIT;
    forget.job_id = job->id;
    cw_autofree char *text = cw_mem_strdup(reason);
    forget.reason = text;
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_FORGET;
    command.forget = &forget;
    cw_worker_send(worker, &command);
}

static void tell_workers_forget(struct cw_job *job, const char *reason)
{
    if (job->preparing)
        tell_forget(job->preparing, job, reason);
    job->preparing = NULL;
    for (struct cw_share *share = job->shares; share; share = share->next_of_job) {
        if (!share->spec_sent)
            continue;
        tell_forget(share->worker, job, reason);
        share->spec_sent = false;
        cw_caching_untell(share->worker);
    }
}

static void fail_clients(struct cw_job *job, int code, const char *msg)
{
    for (struct cw_client *client = job->d->clients, *next; client; client = next) {
        next = client->next;
        if (client->job == job)
            cw_client_fail(client, code, msg);
    }
}

void cw_job_remove(struct cw_job *job, const char *reason)
{
    cw_log_info(CW_LOG_MOD, "job=%s name=%s removed: %s", job->id, job->name, reason);
    tell_workers_forget(job, reason);
    cw_autofree char *msg = cw_mem_printf("job %s is removed: %s", job->id, reason);
    fail_clients(job, CW_E_NOT_FOUND, msg);
    cw_usage_retire(job);
    if (job->put)
        cw_state_remove_job(job->d->state, job->id);
    cw_job_free(job);
}

void cw_job_fail(struct cw_job *job, int code, const char *msg)
{
    if (job->status == CW_JOB_FAILED)
        return;
    job->status = CW_JOB_FAILED;
    job->d->assign_due = true;
    job->error_code = code < 0 ? code : CW_E_INTERNAL;
    cw_mem_free(job->error);
    job->error = cw_mem_strdup(msg);
    cw_log_error(CW_LOG_MOD, "job=%s name=%s failed: %s", job->id, job->name, job->error);
    cw_lease_free_job(job);
    tell_workers_forget(job, job->error);
    job->row_dirty = true;
    cw_job_flush(job);
    fail_clients(job, job->error_code, job->error);
    cw_turn_wake(job->d);
}

void cw_job_clients_changed(struct cw_job *job)
{
    cw_usage_tick(job->d, cw_clock_ms());
    job->d->assign_due = true;
    if (cw_job_has_clients(job))
        job->alone_ms = 0;
    else if (job->alone_ms == 0)
        job->alone_ms = cw_clock_ms();
    job->want_fill = true;
}

int cw_job_set_info(struct cw_job *job, Cachew__V1__PlanInfo *info, struct cw_err *err)
{
    if (info->sparse && job->layout.mode == CW_MODE_SHARED)
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "consumers=shared is not possible for a pipeline whose number of "
                          "elements depends on the data (filter): use coordinated");
    if (job->info)
        cachew__v1__plan_info__free_unpacked(job->info, NULL);
    job->info = info;
    job->items = info->items;
    job->fingerprint = (struct cw_hash){info->fingerprint_hi, info->fingerprint_lo};
    job->layout.to_all =
        info->sparse && job->layout.mode == CW_MODE_COORDINATED && job->layout.consumers > 1;
    job->item_bytes = info->item_bytes > 0 ? (double)info->item_bytes : 0;
    job->window = cw_window_items(job, 1);
    cw_sibling_join(job);
    cw_job_cache_changed(job);
    return 0;
}

/* ---- preparing ---- */

/* Its own local worker looks at its sources when there is no other. */
static bool may_prepare(const struct cw_worker *worker, const struct cw_job *job)
{
    return cw_worker_is_common(worker) ||
           (cw_worker_is_usable(worker) && strcmp(worker->only_job, job->id) == 0);
}

static size_t preparing_n(const struct cw_worker *worker)
{
    size_t n = 0;
    for (const struct cw_job *job = worker->d->jobs; job; job = job->next)
        n += job->preparing == worker;
    return n;
}

void cw_job_prepare(struct cw_job *job)
{
    struct cw_worker *best = NULL;
    for (struct cw_worker *worker = job->d->workers; worker; worker = worker->next) {
        if (may_prepare(worker, job) && (!best || preparing_n(worker) < preparing_n(best)))
            best = worker;
    }
    if (!best || job->status != CW_JOB_PREPARING || job->preparing)
        return;
    job->preparing = best;
    job->preparing_told = false;
    job->starved_ms = 0;
    Cachew__V1__Prepare prepare = CACHEW__V1__PREPARE__INIT;
    prepare.job_id = job->id;
    prepare.graph = job->graph;
    prepare.seed = job->seed;
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_PREPARE;
    command.prepare = &prepare;
    cw_worker_send(best, &command);
    cw_fault_point("dispatcher.prepare");
}

void cw_job_preparing(struct cw_worker *worker, const Cachew__V1__Progress *progress, int64_t now)
{
    for (size_t i = 0; i < progress->n_preparing; i++) {
        struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, progress->preparing[i]->job_id);
        if (!job || job->preparing != worker)
            continue;
        if (!job->preparing_told || progress->preparing[i]->steps > job->preparing_steps)
            job->preparing_ms = now;
        job->preparing_steps = progress->preparing[i]->steps;
        job->preparing_told = true;
    }
}

static Cachew__V1__PlanInfo *copy_info(const Cachew__V1__PlanInfo *info)
{
    struct cw_buf *buf = cw_wire_pack(&info->base);
    Cachew__V1__PlanInfo *copy = cachew__v1__plan_info__unpack(NULL, buf->len, buf->data);
    cw_buf_unref(buf);
    return copy;
}

void cw_job_prepared(struct cw_job *job, const Cachew__V1__Prepared *prepared)
{
    struct cw_err err = {0};
    job->prepared_by = job->preparing ? job->preparing->id : 0;
    job->preparing = NULL;
    Cachew__V1__PlanInfo *info = NULL;
    struct cw_plan_info checked;
    if (prepared->code != 0)
        cw_err_set(&err, prepared->code < 0 ? prepared->code : CW_E_INTERNAL, "%s",
                   prepared->error);
    else if (!prepared->info || cw_wire_info_from(prepared->info, &checked, &err) != 0)
        cw_err_set(&err, CW_E_INTERNAL, "the worker that prepared the job sent nothing valid: %s",
                   err.msg);
    else if (!(info = copy_info(prepared->info)) || cw_job_set_info(job, info, &err) != 0)
        cw_err_set(&err, err.code ? err.code : CW_E_INTERNAL, "%s",
                   err.code ? err.msg : "out of memory");
    else if (job->items == 0 && job->epochs_n == 0)
        cw_err_set(&err, CW_E_INVALID,
                   "the pipeline has no elements, and the job no last epoch: it would end one "
                   "empty epoch after the other");
    if (err.code != 0) {
        if (info && job->info != info)
            cachew__v1__plan_info__free_unpacked(info, NULL);
        cw_job_fail(job, err.code, err.msg);
        return;
    }
    job->manifest = cw_buf_copy(prepared->manifest.data, prepared->manifest.len);
    if (!job->manifest) {
        cw_job_fail(job, CW_E_NOMEM, "out of memory for the job's manifest");
        return;
    }
    job->status = CW_JOB_RUNNING;
    job->want_fill = job->d->assign_due = true;
    cw_log_info(CW_LOG_MOD, "job=%s name=%s prepared: items=%llu sparse=%d", job->id, job->name,
                (unsigned long long)job->items, (int)job->info->sparse);
    cw_job_store(job);
    cw_job_advance(job);
    for (struct cw_client *client = job->d->clients, *next; client; client = next) {
        next = client->next;
        if (client->job == job)
            cw_client_admit(client);
    }
    /* what another job has cached is read from the first element on */
    cw_decide_tick(job, cw_clock_ms());
    cw_fault_point("dispatcher.prepared");
}

/* ---- time ---- */

static bool has_worker(const struct cw_job *job)
{
    for (const struct cw_worker *worker = job->d->workers; worker; worker = worker->next) {
        if (job->status == CW_JOB_PREPARING ? may_prepare(worker, job)
                                            : cw_worker_serves(worker, job))
            return true;
    }
    return false;
}

/* A client is to be welcomed when what that rests on is stored. */
static bool waits_for_disk(const struct cw_job *job)
{
    for (const struct cw_client *client = job->d->clients; client; client = client->next) {
        if (client->job == job && client->welcome_due)
            return true;
    }
    return false;
}

static void tell_waiting(struct cw_job *job, int64_t now)
{
    bool preparing = job->status == CW_JOB_PREPARING, there = has_worker(job);
    bool unwritten = job->status == CW_JOB_RUNNING && waits_for_disk(job);
    if ((!preparing && job->status != CW_JOB_RUNNING) || (there && !preparing && !unwritten)) {
        job->starved_ms = 0;
        return;
    }
    if (job->starved_ms == 0)
        job->starved_ms = now;
    if (now - job->starved_ms < 1000 || now - job->waiting_told_ms < 1000)
        return;
    job->waiting_told_ms = now;
    /* Clients go on waiting for a worker's answer, however long it takes, while the worker comes
     * on; but not for a worker to come. */
    char preparation[] = "a worker prepares the job: it opens and indexes the sources";
    char nobody[] = "no worker is connected to the dispatcher: start cachew-worker --dispatcher "
                    "with its address";
    uint32_t others_n = 0;
    const char *others = cw_other_files_text(job, &others_n);
    cw_autofree char *other_files =
        others
            ? cw_mem_printf("no worker sees the files that the job was prepared with: %s", others)
            : NULL;
    cw_autofree char *storing = cw_mem_printf("the dispatcher stores the job%s%s",
                                              job->d->unwritten ? ", and tries again: " : "",
                                              job->d->unwritten ? job->d->unwritten_why : "");
    Cachew__V1__Waiting waiting = CACHEW__V1__WAITING__INIT;
    waiting.stuck = unwritten ? job->d->unwritten : !there;
    waiting.still_ms = !waiting.stuck && job->preparing && job->preparing_told
                           ? (uint64_t)CW_MAX(now - job->preparing_ms, 0)
                           : 0;
    waiting.reason = unwritten ? storing : there ? preparation : other_files ? other_files : nobody;
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_WAITING;
    command.waiting = &waiting;
    for (struct cw_client *client = job->d->clients; client; client = client->next) {
        if (client->job == job && (!unwritten || client->welcome_due))
            cw_client_send(client, &command);
    }
}

/* Why it is to be removed now, or NULL. */
static const char *is_over(const struct cw_job *job, int64_t now)
{
    if (job->alone_ms == 0)
        return NULL;
    const struct cw_options *options = &job->d->options;
    if (job->status == CW_JOB_FAILED && !job->stored)
        return "it could not be started";
    if (job->name[0] == '\0') {
        int64_t grace = CW_MAX(options->client_grace_ms,
                               job->d->started_ms + options->grace_ms - job->alone_ms);
        return now - job->alone_ms >= grace ? "its client is gone" : NULL;
    }
    return now - job->alone_ms >= options->job_idle_ms ? "nobody used it (--job-idle)" : NULL;
}

void cw_job_tick(struct cw_job *job, int64_t now)
{
    const char *over = is_over(job, now);
    if (over) {
        cw_job_remove(job, over);
        return;
    }
    if (now - job->rate_ms >= 1000) {
        double rate = (double)job->consumed_since * 1000 / (double)(now - job->rate_ms);
        job->consume_rate = job->consume_rate > 0 ? (job->consume_rate + rate) / 2 : rate;
        job->consumed_since = 0;
        job->rate_ms = now;
    }
    for (uint32_t c = 0; job->layout.mode == CW_MODE_SHARED && c < job->layout.consumers; c++) {
        struct cw_consumer *place = &job->consumers[c];
        int64_t since =
            place->gone_ms > 0 ? place->gone_ms : job->d->started_ms + job->d->options.grace_ms;
        if (!place->client && place->client_id != 0 &&
            now - since >= job->d->options.client_grace_ms) {
            cw_job_release_consumer(job, c);
            place->client_id = 0;
            place->position_dirty = true;
        }
    }
    if (job->alone_ms == 0) {
        tell_waiting(job, now);
        job->want_fill = true; /* late items, workers that may be tried again */
        cw_job_watch_still(job, now);
    }
    if (job->status == CW_JOB_PREPARING && !job->preparing)
        cw_job_prepare(job);
    if (job->status == CW_JOB_RUNNING) {
        cw_other_files_tick(job, now);
        cw_job_judge_files(job, now);
    }
    cw_decide_tick(job, now);
    cw_watch_tick(job, now);
    if (job->progress_dirty || job->row_dirty || cw_usage_is_due(job, now))
        cw_job_flush(job);
}
