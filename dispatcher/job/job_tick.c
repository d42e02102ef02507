/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a job as time passes: its clients are told what it waits for, its rates are
 * measured, its state is flushed, and it is over when nobody uses it. */
#include "dispatcher/autocache/autocache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/job/waits_for.h"
#include "dispatcher/optimize/job_optimizer.h"
#include "dispatcher/optimize/plan_change.h"

#include <string.h>

/* Notes since when the job cannot begin, or has no worker. */
static void note_no_worker(struct cw_job *job, int64_t now)
{
    struct cw_serving serving = {.job = job};
    bool stands = job->status == CW_JOB_PREPARING;
    for (const struct cw_client *client = job->clients; client; client = client->next_of_job)
        stands = stands || (job->status == CW_JOB_RUNNING && client->due.welcome);
    if (!stands)
        stands = job->status == CW_JOB_RUNNING && !cw_serving_next(&serving);
    if (!stands)
        job->no_worker_ms = 0;
    else if (job->no_worker_ms == 0)
        job->no_worker_ms = now;
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
        note_no_worker(job, now);
        cw_job_tell_waits(job, now);
        /* Items may be late by now, and there may be workers that can be tried again. */
        cw_job_leases_due(job);
        cw_job_warn_no_lease(job, now);
        cw_job_look_for_mistake(job, now);
    }
    if (job->status == CW_JOB_PREPARING && !job->preparing)
        cw_job_prepare(job);
    else if (job->preparing)
        cw_job_index_offer(job); /* there may be new workers */
    if (job->status == CW_JOB_RUNNING) {
        cw_other_files_tick(job, now);
        cw_job_judge_files(job, now);
    }
    cw_job_plan_tick(job);
    cw_job_optimizer_tick(job, now);
    release_workers(job, now);
    cw_job_decide_cache(job, now);
    cw_telemetry_tick(job, now);
    cw_job_elements_tick(job, now);
    if (job->due.progress || job->due.row || cw_job_usage_is_due(job, now))
        cw_job_flush(job);
}
