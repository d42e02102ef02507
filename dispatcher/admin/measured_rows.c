/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the measurements of a job, its nodes and its workers into messages for tools. */
#include <math.h>

#include "dispatcher/admin/admin_int.h"
#include "dispatcher/autocache/autocache.h"
#include "dispatcher/scaling/scaling.h"

static char *text(const char *s) /* The strings of protobuf-c messages are not const. */
{
    return (char *)(uintptr_t)(s ? s : "");
}

void cw_svc_window_row(const struct cw_scale_window *window, Cachew__V1__TrainerWindow *ret_row)
{
    cachew__v1__trainer_window__init(ret_row);
    ret_row->at_s = window->at_s;
    ret_row->seconds = window->seconds;
    ret_row->batches = window->batches;
    ret_row->wait_share = window->wait_share;
    ret_row->queue = window->queue;
    ret_row->step_s = window->step_s;
    ret_row->rate = window->rate;
    ret_row->cpu = window->cpu;
    ret_row->remote = window->remote;
    ret_row->local = window->local;
#define SET(field, words) ret_row->threads_##field = window->threads.field;
    CW_THREAD_USES(SET)
#undef SET
}

static bool works(const struct cw_job *job)
{
    return (job->status == CW_JOB_RUNNING || job->status == CW_JOB_PREPARING) &&
           cw_job_has_clients(job);
}

static void fill_workers(const struct cw_job *job, Cachew__V1__JobRow *row)
{
    const char *own = job->options->autoscale;
    row->autoscale = text(!job->scaling ? "off" : own && own[0] ? own : job->d->options.autoscale);
    bool places = job->scaling && job->scaling->policy->places;
    row->autoplace = text(places ? cw_placement_policy(job) : "off");
    row->wanted_local = places ? job->scaling->local_target : 0;
    row->wanted = job->scaling ? job->scaling->target : 0;
    row->granted = job->granted;
    row->identity = text(cw_identity_name((enum cw_identity)job->graph->identity));
    const char *others = cw_other_files_text(job, &row->other_files_n);
    row->other_files = text(others ? others : "");
    const bool is_served = works(job);
    struct cw_serving serving = {.job = job};
    if (is_served && cw_job_uses_all_workers(job) && job->barred_n == 0 &&
        job->d->common_n == job->d->workers_n) { /* They need not be looked at. */
        row->assigned = (uint32_t)job->d->workers_n;
        return;
    }
    for (const struct cw_worker *w; is_served && (w = cw_serving_next(&serving));) {
        row->assigned++;
        row->local += w->only_job[0] != '\0';
    }
}

static void fill_measured(const struct cw_job *job, Cachew__V1__JobRow *row)
{
    const struct cw_node_sums *hits = cw_telemetry_most_hits(job);
    if (hits) {
        row->hits = (uint64_t)hits->hits;
        row->hit_share = hits->hits / (hits->hits + hits->elements);
    }
    if (!job->telemetry)
        return;
    row->batches = job->telemetry->all.batches;
    row->taken_bytes = job->telemetry->all.bytes;
    row->copies = job->telemetry->all.copies;
    row->trainer_s = (double)job->telemetry->all.ns / 1e9;
    row->wait_s = (double)job->telemetry->all.wait_ns / 1e9;
    row->consumer_waits = cw_telemetry_waits(job, &row->n_consumer_waits);
}

void cw_svc_telemetry_row(const struct cw_job *job, Cachew__V1__TrainerWindow *window,
                          Cachew__V1__JobRow *row)
{
    const struct cw_scale_window *last = cw_telemetry_last_window(job);
    if (last) {
        cw_svc_window_row(last, window);
        row->window = window;
    }
    fill_workers(job, row);
    fill_measured(job, row);
    row->autocache = text(job->autocache ? job->autocache->option : "");
    row->cached_node = text(job->cached_node);
    row->items_s = job->status == CW_JOB_RUNNING && cw_job_has_clients(job) ? job->consume_rate : 0;
    row->epoch_done = job->items > 0 ? (double)row->consumed / (double)job->items : 0;
}

/* Lists those that the worker is assigned to, and those that use every worker. */
static void list_jobs(const struct cw_worker *worker, Cachew__V1__WorkerRow *row)
{
    size_t cap = 0;
    const bool all = worker->only_job[0] == '\0';
    for (const struct cw_share *share = worker->shares; all && share;
         share = share->next_of_worker) {
        if (cw_job_uses_all_workers(share->job) || !works(share->job) || !cw_share_serves(share))
            continue;
        CW_GROW(row->jobs, row->n_jobs, cap);
        row->jobs[row->n_jobs++] = share->job->id;
    }
    for (const struct cw_job *job = worker->d->jobs; job; job = job->next) {
        if ((all && !cw_job_uses_all_workers(job)) || !works(job) || !cw_worker_serves(worker, job))
            continue;
        CW_GROW(row->jobs, row->n_jobs, cap);
        row->jobs[row->n_jobs++] = job->id;
    }
}

void cw_svc_worker_row(const struct cw_worker *worker, int64_t now, Cachew__V1__WorkerRow *row)
{
    row->host_cpus = worker->host_cpus;
    row->host_cpu_share = worker->host_cpu_share;
    row->host_load = worker->host_load;
    row->cpu_cores = worker->cpu_cores;
    row->only_job = worker->only_job;
    for (const struct cw_share *share = worker->shares; share && row->other_files[0] == '\0';
         share = share->next_of_worker) {
        if (!share->other_files)
            continue;
        row->other_files = share->other_files;
        row->other_files_job = share->job->id;
    }
    for (const struct cw_share *share = worker->shares; share && row->unreachable[0] == '\0';
         share = share->next_of_worker) {
        const struct cw_unreachable *report = cw_unreachable_any(share, now);
        if (!report)
            continue;
        row->unreachable = report->why[0] != '\0' ? report->why : text("no reason was given");
        row->unreachable_job = share->job->id;
    }
    row->age_ms = (uint64_t)(now - worker->since_ms);
    list_jobs(worker, row);
}
