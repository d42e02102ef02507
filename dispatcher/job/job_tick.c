/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a job as time passes: its clients are told what it waits for, its rates are
 * measured, its state is flushed, and it is over when nobody uses it. */
#include "dispatcher/autocache/autocache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/message/message.h"

#include <string.h>

static bool has_worker(const struct cw_job *job)
{
    struct cw_serving serving = {.job = job};
    if (job->status != CW_JOB_PREPARING)
        return cw_serving_next(&serving) != NULL;
    const struct cw_worker *worker = job->preparing ? NULL : job->d->workers;
    while (worker && !cw_job_may_prepare(worker, job))
        worker = worker->next;
    return job->preparing || worker;
}

/* Returns whether a client waits to be welcomed until its admission is stored. */
static bool waits_for_disk(const struct cw_job *job)
{
    const struct cw_client *client = job->clients;
    while (client && !client->due.welcome)
        client = client->next_of_job;
    return client != NULL;
}

static void send_waiting(struct cw_job *job, int64_t now)
{
    bool preparing = job->status == CW_JOB_PREPARING, there = has_worker(job);
    bool unwritten = job->status == CW_JOB_RUNNING && waits_for_disk(job);
    if ((!preparing && job->status != CW_JOB_RUNNING) || (there && !preparing && !unwritten)) {
        job->no_worker_ms = 0;
        return;
    }
    if (job->no_worker_ms == 0)
        job->no_worker_ms = now;
    if (now - job->no_worker_ms < 1000 || now - job->waiting_sent_ms < 1000)
        return;
    job->waiting_sent_ms = now;
    /* Clients wait for a worker's answer however long it takes, as long as the worker makes
     * progress. They do not wait so for a worker to come. */
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
    waiting.still_ms = !waiting.stuck && job->preparing && job->preparing_reports
                           ? (uint64_t)CW_MAX(now - job->preparing_ms, 0)
                           : 0;
    waiting.reason = unwritten ? storing : there ? preparation : other_files ? other_files : nobody;
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_WAITING;
    command.waiting = &waiting;
    for (struct cw_client *client = job->clients; client; client = client->next_of_job)
        if (!unwritten || client->due.welcome)
            cw_client_send(client, &command);
}

const char *cw_job_is_over(const struct cw_job *job, int64_t now)
{
    if (job->no_client_ms == 0)
        return NULL;
    const struct cw_options *options = &job->d->options;
    if (job->status == CW_JOB_FAILED && !job->stored)
        return "it could not be started";
    if (job->name[0] == '\0') {
        int64_t grace = CW_MAX(options->client_grace_ms,
                               job->d->started_ms + options->grace_ms - job->no_client_ms);
        return now - job->no_client_ms >= grace ? "its client is gone" : NULL;
    }
    return now - job->no_client_ms >= options->job_idle_ms ? "nobody used it (--job-idle)" : NULL;
}

/* A finished job with a name is kept for long. Its workers need not keep what they have of it, such
 * as outputs that were computed twice, for which no client will come. They have reported their last
 * counters by then, and its client would be back if it had not all. */
static void release_workers(struct cw_job *job, int64_t now)
{
    if (job->status == CW_JOB_FINISHED && !job->forgotten && job->no_client_ms != 0 &&
        now - job->no_client_ms >= job->d->options.client_grace_ms)
        cw_job_send_forget(job, "it is finished");
}

void cw_job_decide_cache(struct cw_job *job, int64_t now)
{
    struct cw_err err = {0};
    int code = cw_autocache_tick(job, now, &err);
    if (code != 0)
        cw_job_fail(job, code, err.msg);
}

void cw_job_tick(struct cw_job *job, int64_t now)
{
    if (now - job->rate_ms >= 1000) {
        double rate = (double)job->consumed_since * 1000 / (double)(now - job->rate_ms);
        job->consume_rate = job->consume_rate > 0 ? (job->consume_rate + rate) / 2 : rate;
        job->consumed_since = 0;
        job->rate_ms = now;
    }
    for (uint32_t c = 0; job->layout.mode == CW_MODE_SHARED && c < job->layout.consumers; c++) {
        struct cw_consumer *slot = &job->consumers[c];
        int64_t since =
            slot->gone_ms > 0 ? slot->gone_ms : job->d->started_ms + job->d->options.grace_ms;
        if (!slot->client && slot->client_id != 0 &&
            now - since >= job->d->options.client_grace_ms) {
            cw_job_release_consumer(job, c);
            slot->client_id = 0;
            slot->position_dirty = true;
        }
    }
    if (job->no_client_ms == 0) {
        send_waiting(job, now);
        /* Items may be late by now, and there may be workers that can be tried again. */
        job->due.leases = true;
        cw_job_warn_no_lease(job, now);
    }
    if (job->status == CW_JOB_PREPARING && !job->preparing)
        cw_job_prepare(job);
    if (job->status == CW_JOB_RUNNING) {
        cw_other_files_tick(job, now);
        cw_job_judge_files(job, now);
    }
    release_workers(job, now);
    cw_job_decide_cache(job, now);
    cw_telemetry_tick(job, now);
    if (job->due.progress || job->due.row || cw_job_usage_is_due(job, now))
        cw_job_flush(job);
}
