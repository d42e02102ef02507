/* SPDX-License-Identifier: Apache-2.0 */
/* Sums up what trainers and workers measured of a job, and ends the demand windows that are shown
 * to people. */
#include "dispatcher/job/telemetry.h"

#include <string.h>

/* A demand window that is this many times as long as usual ends with whatever was measured. */
#define LONG_WINDOWS 5

struct cw_telemetry *cw_telemetry_of(struct cw_job *job)
{
    if (!job->telemetry) {
        uint32_t n = job->layout.consumers;
        job->telemetry = CW_NEW(struct cw_telemetry);
        job->telemetry->begin_ms = cw_clock_ms();
        job->telemetry->consumers = n;
        job->telemetry->waits = CW_NEW_ARRAY(struct cw_wait_sums, n);
        job->telemetry->last_waits = CW_NEW_ARRAY(float, n);
    }
    return job->telemetry;
}

void cw_telemetry_free(struct cw_job *job)
{
    if (job->telemetry) {
        cw_bad_report_fini(&job->telemetry->bad);
        cw_mem_free(job->telemetry->waits);
        cw_mem_free(job->telemetry->last_waits);
    }
    cw_mem_free(cw_steal(&job->telemetry));
    cw_job_measured_free(job);
}

/* ---- trainers ---- */

void cw_telemetry_measured(struct cw_job *job, uint32_t consumer, const Cachew__V1__Ack *ack)
{
    const Cachew__V1__Measure *m = ack->measure;
    if (!m)
        return;
    struct cw_telemetry *telemetry = cw_telemetry_of(job);
    if (consumer < telemetry->consumers) {
        telemetry->waits[consumer].ns += m->ns;
        telemetry->waits[consumer].wait_ns += CW_MIN(m->wait_ns, m->ns);
    }
    cw_demand_add(&telemetry->all, m, ack->ready);
    cw_demand_add(&telemetry->now, m, ack->ready);
}

void cw_telemetry_take_bad(struct cw_job *job, uint32_t consumer, uint64_t client_id,
                           uint64_t bad_n, Cachew__V1__BadElement *const *bad, size_t n)
{
    if (bad_n == 0)
        return;
    struct cw_bad_report *report = &cw_telemetry_of(job)->bad;
    cw_bad_report_make_room(report, job->layout.consumers);
    cw_bad_report_told(report, consumer, client_id, bad_n, bad, n);
}

uint64_t cw_telemetry_skipped(const struct cw_job *job)
{
    if (job->skipped_untold)
        return job->skipped;
    return job->telemetry ? cw_bad_report_n(&job->telemetry->bad) : 0;
}

static void end_waits(struct cw_telemetry *telemetry)
{
    for (uint32_t c = 0; c < telemetry->consumers; c++) {
        const struct cw_wait_sums *sums = &telemetry->waits[c];
        telemetry->last_waits[c] =
            sums->ns > 0 ? (float)((double)sums->wait_ns / (double)sums->ns) : -1;
    }
}

float *cw_telemetry_waits(const struct cw_job *job, size_t *ret_n)
{
    const struct cw_telemetry *telemetry = job->telemetry;
    bool is_known = telemetry && telemetry->consumers > 1 && telemetry->windows_n > 0;
    *ret_n = is_known ? telemetry->consumers : 0;
    return is_known ? telemetry->last_waits : NULL;
}

static void begin(const struct cw_job *job, const struct cw_scale_window *workers, int64_t now)
{
    struct cw_telemetry *telemetry = job->telemetry;
    if (telemetry->now.ns > 0)
        memset(telemetry->waits, 0, telemetry->consumers * sizeof(telemetry->waits[0]));
    cw_demand_begin(job, &telemetry->now);
    telemetry->begin_ms = now;
    telemetry->workers = workers->remote;
    telemetry->locals = workers->local;
    telemetry->plan = job->plan.number;
}

void cw_telemetry_tick(struct cw_job *job, int64_t now)
{
    struct cw_telemetry *telemetry = cw_telemetry_of(job);
    const struct cw_scale_window w =
        cw_demand_window(job, &telemetry->now, telemetry->begin_ms, now);
    cw_too_few_workers_tick(job, now);
    int64_t age = now - telemetry->begin_ms, usual = job->d->options.scale_window_ms;
    bool runs = job->status == CW_JOB_RUNNING && cw_job_has_clients(job) &&
                w.remote == telemetry->workers && w.local == telemetry->locals &&
                telemetry->plan == job->plan.number;
    if (!runs) {
        begin(job, &w, now);
        return;
    }
    if (age < usual || (telemetry->now.batches == 0 && age < LONG_WINDOWS * usual))
        return;
    if (telemetry->now.ns > 0) {
        telemetry->windows[telemetry->windows_n++ % CW_WINDOWS_KEPT] = w;
        end_waits(telemetry);
    }
    begin(job, &w, now);
}

const struct cw_scale_window *cw_telemetry_window(const struct cw_job *job, size_t i)
{
    size_t n = job->telemetry ? job->telemetry->windows_n : 0;
    size_t first = n > CW_WINDOWS_KEPT ? n - CW_WINDOWS_KEPT : 0;
    return i < n - first ? &job->telemetry->windows[(first + i) % CW_WINDOWS_KEPT] : NULL;
}

const struct cw_scale_window *cw_telemetry_last_window(const struct cw_job *job)
{
    size_t n = job->telemetry ? job->telemetry->windows_n : 0;
    return n > 0 ? &job->telemetry->windows[(n - 1) % CW_WINDOWS_KEPT] : NULL;
}

/* ---- nodes ---- */

void cw_telemetry_take_counts(struct cw_worker *worker, const Cachew__V1__Progress *progress)
{
    size_t near = 0;
    for (size_t i = 0; i < progress->n_counts; i++) {
        const Cachew__V1__NodeCounts *counts = progress->counts[i];
        struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, counts->job_id);
        if (!job || !job->info || job->info->n_cacheable == 0)
            continue;
        struct cw_node_counters *measured = cw_job_measured(job);
        size_t node = cw_job_node(job, counts->node, near);
        if (node == measured->n)
            continue;
        if (cw_telemetry_of(job)->restored && worker->counted_before &&
            !cw_node_counters_has(measured, worker->id, node))
            /* The worker has reported these counts to an earlier dispatcher. */
            cw_node_counters_add_counted(measured, worker->id, node, counts);
        else
            cw_node_counters_add(measured, worker->id, node, counts);
        near = node + 1;
    }
    for (size_t i = 0; i < progress->n_filters; i++) {
        const Cachew__V1__FilterCounts *counts = progress->filters[i];
        struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, counts->job_id);
        if (job && job->info && job->info->n_cacheable > 0 && cw_share_find(job, worker))
            cw_node_counters_add_filters(cw_job_measured(job), worker->id, counts);
    }
}

const struct cw_node_sums *cw_telemetry_most_hits(const struct cw_job *job)
{
    const struct cw_node_sums *best = NULL;
    for (size_t i = 0; job->measured && i < job->measured->n; i++) {
        const struct cw_node_sums *m = &job->measured->total[i];
        if (m->hits > 0 && (!best || m->hits > best->hits))
            best = m;
    }
    return best;
}
