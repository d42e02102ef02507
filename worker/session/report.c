/* SPDX-License-Identifier: Apache-2.0 */
/* Progress messages. Finished items are reported together: the more work is pending, the less
 * often, since the dispatcher needs to know only when it is time to lease more; and at once if
 * nothing is left to compute. A worker without a job only sends heartbeats. */
#include "worker/session/report.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "wire/wire.h"
#include "worker/cache/cache_report.h"
#include "worker/cache/cache_store.h"
#include "worker/cache/source.h"
#include "worker/cache/worker_cache.h"
#include "worker/compute/memory_short.h"
#include "worker/compute/tasks.h"
#include "worker/compute/thread_use_count.h"
#include "worker/job/plan_loader.h"
#include "worker/message/report_timer.h"
#include "worker/message/to_dispatcher.h"
#include "worker/model/budget.h"
#include "worker/serve/client_streams.h"
#include "worker/serve/shm_transport.h"

#define REPORT_MIN_MS 10 /* least time between two reports */
#define COUNTS_MS 1000
/* least time between two reports of counters, if nothing is left to compute: they may be the last
 * ones of a job */
#define COUNTS_IDLE_MS 100
#define BEAT_MAX_MS 1000 /* longest time between two looks at what must not be forgotten */
#define DONE_MAX 4096    /* the most epochs in one message */

static bool is_idle(const struct cw_worker_state *w)
{
    return w->jobs.n == 0 && w->tasks_n == 0 && !w->drain.active;
}

static void measure_cpu(struct cw_worker_state *w, int64_t now_ms)
{
    int64_t cpu = cw_clock_process_cpu_ns();
    if (now_ms - w->report.cpu_at_ms < 200)
        return;
    double wall_ns = (double)(now_ms - w->report.cpu_at_ms) * 1e6;
    w->report.cpu_cores = (double)(cpu - w->report.cpu_ns) / wall_ns;
    w->report.cpu_share = CW_MIN(w->report.cpu_cores / (double)w->threads, 1.0);
    w->report.cpu_at_ms = now_ms;
    w->report.cpu_ns = cpu;
}

static void add_done(Cachew__V1__Progress *progress, struct cw_wjob *job)
{
    for (size_t i = 0; i < job->epochs_n && progress->n_done < DONE_MAX; i++) {
        struct cw_wepoch *e = &job->epochs[i];
        if (e->done.n == 0)
            continue;
        Cachew__V1__Progress__Done *d = CW_NEW(Cachew__V1__Progress__Done);
        cachew__v1__progress__done__init(d);
        d->job_id = job->id;
        d->epoch = e->epoch;
        d->items = cw_wire_set_to(&e->done, &d->n_items);
        d->cpu_ns = e->cpu_ns;
        d->wall_ns = e->wall_ns;
        d->busy_ns = e->busy_ns;
        d->bytes = e->bytes;
        d->elements = e->elements;
        d->skipped = e->skipped;
        d->shared = e->shared;
        progress->done[progress->n_done++] = d;
        cw_set_clear(&e->done);
        e->cpu_ns = e->wall_ns = e->busy_ns = e->bytes = e->elements = e->skipped = e->shared = 0;
    }
}

static void add_counts(Cachew__V1__Progress *progress, const struct cw_wjob *job)
{
    if (!job->written)
        return;
    struct cw_exec_count *counts = CW_NEW_ARRAY(struct cw_exec_count, job->graph->n);
    cw_exec_counts(job->written, counts);
    progress->counts = cw_mem_grow(progress->counts, progress->n_counts + job->graph->n,
                                   sizeof(*progress->counts));
    for (size_t i = 0; i < job->graph->n; i++) {
        Cachew__V1__NodeCounts *c = CW_NEW(Cachew__V1__NodeCounts);
        cachew__v1__node_counts__init(c);
        c->job_id = job->id;
        c->node = job->graph->nodes[i].name;
        c->elements = counts[i].elements;
        c->cpu_ns = counts[i].cpu_ns;
        c->bytes_out = counts[i].bytes_out;
        c->wall_ns = counts[i].wall_ns;
        c->element_bytes = counts[i].element_bytes;
        c->hits = counts[i].hits;
        c->waits = counts[i].waits;
#define SET(name) c->name = counts[i].sums.name;
        CW_COST_SUMS(SET)
#undef SET
        progress->counts[progress->n_counts++] = c;
    }
    cw_mem_free(counts);
}

/* Sets of filters, if there are several. */
static void add_filters(Cachew__V1__Progress *progress, const struct cw_wjob *job)
{
    struct cw_exec_filters counts;
    size_t n = 0;
    if (!job->written)
        return;
    cw_exec_filter_counts(job->written, &counts);
    while (n < CW_FILTERS_MAX && counts.node[n] != SIZE_MAX)
        n++;
    if (n < 2)
        return;
    Cachew__V1__FilterCounts *filters = CW_NEW(Cachew__V1__FilterCounts);
    cachew__v1__filter_counts__init(filters);
    filters->job_id = job->id;
    filters->n_filters = n;
    filters->filters = CW_NEW_ARRAY(char *, n);
    for (size_t i = 0; i < n; i++)
        filters->filters[i] = job->graph->nodes[counts.node[i]].name;
    filters->n_shown = filters->n_passed = (size_t)1 << n;
    filters->shown = cw_mem_dup(counts.shown, filters->n_shown * sizeof(uint64_t));
    filters->passed = cw_mem_dup(counts.passed, filters->n_passed * sizeof(uint64_t));
    progress->filters[progress->n_filters++] = filters;
}

static void filters_fini(Cachew__V1__Progress *progress)
{
    for (size_t i = 0; i < progress->n_filters; i++) {
        cw_mem_free(progress->filters[i]->filters);
        cw_mem_free(progress->filters[i]->shown);
        cw_mem_free(progress->filters[i]->passed);
        cw_mem_free(progress->filters[i]);
    }
    cw_mem_free(progress->filters);
}

static uint64_t ns(double n)
{
    return n > 0 ? (uint64_t)n : 0;
}

static void add_threads(Cachew__V1__Progress *progress, const struct cw_wjob *job)
{
    const struct cw_thread_use *total = &job->threads.total;
    Cachew__V1__ThreadUse *use = CW_NEW(Cachew__V1__ThreadUse);
    cachew__v1__thread_use__init(use);
    use->job_id = job->id;
#define SET(field, words) use->field = ns(total->field);
    CW_THREAD_USES(SET)
#undef SET
    use->busy = job->threads.plan.busy_ns;
    use->active = job->threads.plan.active_ns;
    progress->threads[progress->n_threads++] = use;
}

static void add_all_counts(struct cw_worker_state *w, Cachew__V1__Progress *progress)
{
    cw_wthread_use_count(w);
    progress->threads = CW_NEW_ARRAY(Cachew__V1__ThreadUse *, w->jobs.n + 1);
    progress->filters = CW_NEW_ARRAY(Cachew__V1__FilterCounts *, w->jobs.n + 1);
    for (size_t i = 0; i < w->jobs.n; i++) {
        add_counts(progress, w->jobs.list[i]);
        add_filters(progress, w->jobs.list[i]);
        add_threads(progress, w->jobs.list[i]);
    }
}

static void progress_fini(Cachew__V1__Progress *progress)
{
    filters_fini(progress);
    for (size_t i = 0; i < progress->n_done; i++) {
        cw_mem_free(progress->done[i]->items);
        cw_mem_free(progress->done[i]);
    }
    for (size_t i = 0; i < progress->n_counts; i++)
        cw_mem_free(progress->counts[i]);
    for (size_t i = 0; i < progress->n_threads; i++)
        cw_mem_free(progress->threads[i]);
    cw_mem_free(progress->done);
    cw_mem_free(progress->counts);
    cw_mem_free(progress->threads);
    cw_wsource_report_free(progress);
    cw_wcache_report_free(progress);
    cw_loader_report_free(progress);
}

/* Of each job the item that was begun first, if that was long ago. */
static void add_slow(Cachew__V1__Progress *progress, struct cw_wjob *job, int64_t now_ms)
{
    const struct cw_wtask *first = job->tasks;
    for (const struct cw_wtask *task = first; task; task = task->next)
        first = task->began_ms < first->began_ms ? task : first;
    if (!first || now_ms - first->began_ms < CW_REPORT_SLOW_MS)
        return;
    Cachew__V1__Progress__Slow *slow = CW_NEW(Cachew__V1__Progress__Slow);
    cachew__v1__progress__slow__init(slow);
    slow->job_id = job->id;
    slow->epoch = first->exec.epoch;
    slow->item = first->exec.item;
    slow->ms = (uint64_t)(now_ms - first->began_ms);
    progress->slow = cw_mem_grow(progress->slow, progress->n_slow + 1, sizeof(*progress->slow));
    progress->slow[progress->n_slow++] = slow;
}

static size_t epochs_of_all(const struct cw_worker_state *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->jobs.n; i++)
        n += w->jobs.list[i]->epochs_n;
    return CW_MIN(n, (size_t)DONE_MAX);
}

void cw_report_now(struct cw_worker_state *w)
{
    if (!w->session.attached)
        return;
    int64_t now = cw_clock_ms();
    if (now - w->report.reported_ms < REPORT_MIN_MS || cw_fault_rare("worker.report_late")) {
        cw_report_within(w, REPORT_MIN_MS);
        return;
    }
    cw_fault_point("worker.report");
    cw_timer_stop(w->report.soon);
    w->report.reported_ms = now;
    measure_cpu(w, now);
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    progress.budget_used =
        w->memory.bytes + w->dedup.bytes + cw_budget_stream_bytes(w) + cw_wcache_used(w);
    progress.cpu_share = w->report.cpu_share;
    progress.cpu_cores = w->report.cpu_cores;
    progress.done = CW_NEW_ARRAY(Cachew__V1__Progress__Done *, epochs_of_all(w));
    bool with_counts = w->report.counts_due ||
                       now - w->report.counts_ms >=
                           (w->report.computed && w->tasks_n == 0 ? COUNTS_IDLE_MS : COUNTS_MS);
    if (with_counts) {
        w->report.counts_due = false;
        w->report.counts_ms = now;
        w->report.computed = false;
        cw_wsource_report(w, &progress);
        (void)cw_hostload_look(&w->report.host);
    }
    progress.host_cpus = w->report.host.cpus;
    progress.host_cpu_share = w->report.host.cpu_share;
    progress.host_load = w->report.host.load;
    cw_wcache_report(w, &progress, with_counts);
    cw_loader_report(w, &progress);
    for (size_t i = 0; i < w->jobs.n; i++) {
        add_done(&progress, w->jobs.list[i]);
        add_slow(&progress, w->jobs.list[i], now);
    }
    if (with_counts)
        add_all_counts(w, &progress);
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PROGRESS;
    m.progress = &progress;
    cw_dispatcher_send(w, &m);
    progress_fini(&progress);
    if (!cw_wcache_is_reported(w))
        cw_report_soon(w);
}

static void on_soon(void *arg)
{
    cw_report_now(arg);
}

/* The heartbeat also does what must not be forgotten: it notifies clients of slots that are gone,
 * and serves clients that have not answered. */
static void on_beat(void *arg)
{
    struct cw_worker_state *w = arg;
    int64_t beat_ms = is_idle(w) ? w->report.idle_beat_ms : w->report.beat_ms;
    cw_shm_transport_notify_freed(w);
    cw_wclients_pump_all(w);
    cw_wcache_beat(w);
    if (cw_memory_beat(w))
        cw_tasks_pump(w);
    /* A report that was sent meanwhile is a heartbeat, too. */
    if (cw_clock_ms() - w->report.reported_ms >= beat_ms / 4 * 3)
        cw_report_now(w);
    cw_timer_start(w->report.beat, CW_MIN(beat_ms, BEAT_MAX_MS), 0);
}

void cw_report_start(struct cw_worker_state *w)
{
    w->report.beat_ms = w->report.idle_beat_ms = 250;
    cw_report_gather(w, 0);
    w->report.soon = cw_timer_new(w->loop, on_soon, w);
    w->report.beat = cw_timer_new(w->loop, on_beat, w);
}

void cw_report_stop(struct cw_worker_state *w)
{
    cw_timer_free(w->report.soon);
    cw_timer_free(w->report.beat);
    w->report.soon = w->report.beat = NULL;
}

void cw_report_attached(struct cw_worker_state *w)
{
    w->report.counts_ms = 0;
    cw_timer_start(w->report.beat, w->report.beat_ms, 0);
    cw_report_soon(w);
}

void cw_report_detached(struct cw_worker_state *w)
{
    if (w->report.soon)
        cw_timer_stop(w->report.soon);
    /* The heartbeat continues, since clients are served without a dispatcher, too. */
}
