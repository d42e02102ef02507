/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the measurements of a job's nodes into messages for tools. */
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
    bool works = (job->status == CW_JOB_RUNNING || job->status == CW_JOB_PREPARING) &&
                 cw_job_has_clients(job);
    struct cw_serving serving = {.job = job};
    for (const struct cw_worker *w; works && (w = cw_serving_next(&serving));) {
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
    row->age_ms = (uint64_t)(now - worker->since_ms);
    size_t cap = 0;
    for (const struct cw_job *job = worker->d->jobs; job; job = job->next) {
        bool works = (job->status == CW_JOB_RUNNING || job->status == CW_JOB_PREPARING) &&
                     cw_job_has_clients(job);
        if (!works || !cw_worker_serves(worker, job))
            continue;
        CW_GROW(row->jobs, row->n_jobs, cap);
        row->jobs[row->n_jobs++] = job->id;
    }
}

/* ---- what policies would decide now ---- */

static Cachew__V1__Decision *ask(const struct cw_job *job, const struct cw_scale_window *window)
{
    const struct cw_scaling *s = job->scaling;
    struct cw_scale_inputs inputs;
    cw_scaling_inputs(job, window, &inputs);
    struct cw_scale_state state = s->state;
    struct cw_scale_decision decision = {0};
    struct cw_err err = {0};
    CW_STR_AUTO printed = {0};
    int rc = s->policy->decide(window, &inputs.available, &inputs.options, s->argument, &state,
                               &decision, &err);
    Cachew__V1__Decision *d = CW_NEW(Cachew__V1__Decision);
    cachew__v1__decision__init(d);
    cw_scale_inputs_print(&inputs, &printed);
    d->time_ms = cw_clock_wall_ms();
    d->epoch = job->first_epoch;
    d->kind = text(cw_scaling_kind(job));
    d->policy = text(s->policy->name);
    d->choice = rc < 0 ? cw_mem_strdup("") : cw_scaling_choice(job, &decision);
    d->reason = cw_mem_strdup(rc < 0                    ? err.msg
                              : decision.reason.len > 0 ? cw_str_text(&decision.reason)
                                                        : "nothing speaks against what it has");
    d->inputs = cw_str_take(&printed);
    cw_scale_decision_fini(&decision);
    return d;
}

Cachew__V1__Decision **cw_svc_ask_policies(const struct cw_job *job, size_t *ret_n)
{
    Cachew__V1__Decision **says = CW_NEW_ARRAY(Cachew__V1__Decision *, 1);
    *ret_n = 0;
    if (job->scaling && job->scaling->last.seconds > 0 && job->status == CW_JOB_RUNNING)
        says[(*ret_n)++] = ask(job, &job->scaling->last);
    return says;
}

void cw_svc_answers_free(Cachew__V1__Decision **says, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cw_mem_free(says[i]->choice);
        cw_mem_free(says[i]->reason);
        cw_mem_free(says[i]->inputs);
        cw_mem_free(says[i]);
    }
    cw_mem_free(says);
}
