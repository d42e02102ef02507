/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/job/telemetry.h"

#include <string.h>

#define LONG_WINDOWS 5 /* times the usual length: then it ends with whatever was measured */

struct cw_watch *cw_watch_of(struct cw_job *job)
{
    if (!job->watch) {
        job->watch = CW_NEW(struct cw_watch);
        job->watch->begin_ms = cw_clock_ms();
    }
    return job->watch;
}

void cw_watch_free(struct cw_job *job)
{
    if (job->watch)
        cw_measure_fini(&job->watch->nodes);
    cw_mem_free(cw_steal(&job->watch));
}

/* ---- trainers ---- */

void cw_watch_measured(struct cw_job *job, const Cachew__V1__Ack *ack)
{
    if (!ack->measure)
        return;
    struct cw_watch *watch = cw_watch_of(job);
    cw_trainer_add(&watch->all, ack->measure, ack->ready);
    cw_trainer_add(&watch->now, ack->measure, ack->ready);
}

static void begin(struct cw_watch *watch, const struct cw_scale_window *workers, int64_t now)
{
    watch->now = (struct cw_trainer_sums){0};
    watch->begin_ms = now;
    watch->workers = workers->remote;
    watch->locals = workers->local;
}

void cw_watch_tick(struct cw_job *job, int64_t now)
{
    struct cw_watch *watch = cw_watch_of(job);
    const struct cw_scale_window w = cw_trainer_window(job, &watch->now, watch->begin_ms, now);
    cw_watch_share(job, now);
    int64_t age = now - watch->begin_ms, usual = job->d->options.scale_window_ms;
    bool runs = job->status == CW_JOB_RUNNING && cw_job_has_clients(job) &&
                w.remote == watch->workers && w.local == watch->locals;
    if (!runs) {
        begin(watch, &w, now);
        return;
    }
    if (age < usual || (watch->now.batches == 0 && age < LONG_WINDOWS * usual))
        return;
    if (watch->now.ns > 0)
        watch->windows[watch->windows_n++ % CW_WINDOWS_KEPT] = w;
    begin(watch, &w, now);
}

const struct cw_scale_window *cw_watch_window(const struct cw_job *job, size_t i)
{
    size_t n = job->watch ? job->watch->windows_n : 0;
    size_t first = n > CW_WINDOWS_KEPT ? n - CW_WINDOWS_KEPT : 0;
    return i < n - first ? &job->watch->windows[(first + i) % CW_WINDOWS_KEPT] : NULL;
}

const struct cw_scale_window *cw_watch_last_window(const struct cw_job *job)
{
    size_t n = job->watch ? job->watch->windows_n : 0;
    return n > 0 ? &job->watch->windows[(n - 1) % CW_WINDOWS_KEPT] : NULL;
}

/* ---- nodes ---- */

void cw_watch_heard(struct cw_worker *worker, const Cachew__V1__Progress *progress)
{
    size_t near = 0;
    for (size_t i = 0; i < progress->n_counts; i++) {
        const Cachew__V1__NodeCounts *counts = progress->counts[i];
        struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, counts->job_id);
        if (!job || !job->info || job->info->n_cacheable == 0)
            continue;
        struct cw_watch *watch = cw_watch_of(job);
        if (watch->nodes.n != job->info->n_cacheable) {
            cw_measure_fini(&watch->nodes);
            cw_measure_init(&watch->nodes, job->info->n_cacheable);
        }
        size_t node = cw_watch_node(job, counts->node, near);
        if (node == watch->nodes.n)
            continue;
        if (watch->restored && worker->counted_before &&
            !cw_measure_knows(&watch->nodes, worker->id, node))
            /* it told the dispatcher before this one of them */
            cw_measure_begin_at(&watch->nodes, worker->id, node, counts);
        cw_measure_add(&watch->nodes, worker->id, node, counts);
        near = node + 1;
    }
}

const struct cw_measured *cw_watch_most_hits(const struct cw_job *job)
{
    const struct cw_measured *best = NULL;
    for (size_t i = 0; job->watch && i < job->watch->nodes.n; i++) {
        const struct cw_measured *m = &job->watch->nodes.nodes[i];
        if (m->hits > 0 && (!best || m->hits > best->hits))
            best = m;
    }
    return best;
}
