/* SPDX-License-Identifier: Apache-2.0 */
/* What the worker tells the dispatcher. Finished items are told together: the more work is in
 * hand the fewer times a second, since nobody needs to know before it is time for more; and at
 * once when there is nothing left to compute. While there is no job a heartbeat now and then is
 * all. */
#include "worker/model/state.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "wire/wire.h"
#include "worker/cache/source.h"

#define SOON_MS 100
#define SOON_MAX_MS 250
#define DRY_MS 10 /* dry again so shortly after a report: wait a little */
#define COUNTS_MS 1000
#define COUNTS_DRY_MS 100 /* with nothing left to compute: they may be the last of a job */
#define DONE_MAX 4096     /* epochs in one message */

static bool is_idle(const struct cw_worker *w)
{
    return w->turn_n == 0 && w->tasks_n == 0 && !w->draining;
}

static void measure_cpu(struct cw_worker *w, int64_t now_ms)
{
    int64_t cpu = cw_clock_process_cpu_ns();
    if (now_ms - w->cpu_at_ms < 200)
        return;
    double wall_ns = (double)(now_ms - w->cpu_at_ms) * 1e6;
    w->cpu_cores = (double)(cpu - w->cpu_ns) / wall_ns;
    w->cpu_share = CW_MIN(w->cpu_cores / (double)w->threads, 1.0);
    w->cpu_at_ms = now_ms;
    w->cpu_ns = cpu;
}

static void add_done(Cachew__V1__Progress *progress, struct cw_wjob *job)
{
    for (size_t i = 0; i < job->epochs_n && progress->n_done < DONE_MAX; i++) {
        struct cw_epoch *e = &job->epochs[i];
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
    if (!job->plan)
        return;
    struct cw_exec_count *counts = CW_NEW_ARRAY(struct cw_exec_count, job->graph->n);
    cw_exec_counts(job->plan, counts);
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
        progress->counts[progress->n_counts++] = c;
    }
    cw_mem_free(counts);
}

static size_t epochs_of_all(const struct cw_worker *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->turn_n; i++)
        n += w->turn[i]->epochs_n;
    return CW_MIN(n, (size_t)DONE_MAX);
}

static void report_within(struct cw_worker *w, int64_t ms)
{
    int64_t at = cw_clock_ms() + ms;
    if (!w->welcomed || (cw_timer_is_active(w->soon) && w->soon_ms <= at))
        return;
    w->soon_ms = at;
    cw_timer_start(w->soon, ms, 0);
}

void cw_report_now(struct cw_worker *w)
{
    if (!w->welcomed)
        return;
    int64_t now = cw_clock_ms();
    if (now - w->reported_ms < DRY_MS) {
        report_within(w, DRY_MS);
        return;
    }
    cw_fault_point("worker.report");
    cw_timer_stop(w->soon);
    w->reported_ms = now;
    measure_cpu(w, now);
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    progress.budget_used =
        w->bytes + w->shared_items.bytes + cw_tasks_stream_bytes(w) + cw_wcache_used(w);
    progress.cpu_share = w->cpu_share;
    progress.cpu_cores = w->cpu_cores;
    progress.done = CW_NEW_ARRAY(Cachew__V1__Progress__Done *, epochs_of_all(w));
    bool with_counts =
        now - w->counts_ms >= (w->computed && w->tasks_n == 0 ? COUNTS_DRY_MS : COUNTS_MS);
    if (with_counts) {
        w->counts_ms = now;
        w->computed = false;
        cw_wsource_report(w, &progress);
        (void)cw_hostload_look(&w->host);
    }
    progress.host_cpus = w->host.cpus;
    progress.host_cpu_share = w->host.cpu_share;
    progress.host_load = w->host.load;
    cw_wcache_report(w, &progress, with_counts);
    cw_open_report(w, &progress);
    for (size_t i = 0; i < w->turn_n; i++) {
        add_done(&progress, w->turn[i]);
        if (with_counts)
            add_counts(&progress, w->turn[i]);
    }
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PROGRESS;
    m.progress = &progress;
    cw_attend_send(w, &m);
    for (size_t i = 0; i < progress.n_done; i++) {
        cw_mem_free(progress.done[i]->items);
        cw_mem_free(progress.done[i]);
    }
    for (size_t i = 0; i < progress.n_counts; i++)
        cw_mem_free(progress.counts[i]);
    cw_mem_free(progress.done);
    cw_mem_free(progress.counts);
    cw_wsource_report_free(&progress);
    cw_wcache_report_free(&progress);
    cw_open_report_free(&progress);
    if (!cw_wcache_is_told(w))
        cw_report_soon(w);
}

void cw_report_soon(struct cw_worker *w)
{
    report_within(w, SOON_MS);
}

/* When half of what is in hand will be done, so that the dispatcher gives more before the rest
 * is; but soon, since leases follow from the pace that it sees. */
static int64_t half_done_ms(const struct cw_worker *w)
{
    double ns = 0;
    for (size_t i = 0; i < w->turn_n; i++) {
        const struct cw_wjob *job = w->turn[i];
        uint64_t items = 0;
        for (size_t k = 0; k < job->leases_n; k++)
            items += cw_set_count(&job->leases[k].pending);
        ns += (double)items * (double)job->item_ns / (double)w->threads;
    }
    return (int64_t)CW_MAX(CW_MIN(ns / 2e6, SOON_MAX_MS), SOON_MS);
}

void cw_report_done(struct cw_worker *w, struct cw_epoch *epoch, const struct cw_task *task)
{
    cw_set_add(&epoch->done, task->exec.item, task->exec.item + 1);
    epoch->cpu_ns += (uint64_t)CW_MAX(task->exec.cpu_ns, (int64_t)0);
    epoch->wall_ns += (uint64_t)CW_MAX(task->exec.wall_ns, (int64_t)0);
    epoch->busy_ns += (uint64_t)CW_MAX(task->exec.busy_ns, (int64_t)0);
    epoch->bytes += task->batch->buf ? task->batch->buf->len : 0;
    epoch->elements += task->batch->elements;
    epoch->skipped += task->batch->skipped;
    epoch->shared += task->shared;
    if (!cw_timer_is_active(w->soon))
        report_within(w, half_done_ms(w));
}

static void on_soon(void *arg)
{
    cw_report_now(arg);
}

/* The same clock serves what must not be forgotten: slots that went, clients that do not answer. */
static void on_beat(void *arg)
{
    struct cw_worker *w = arg;
    cw_handover_tell_gone(w);
    for (struct cw_client *c = w->clients; c; c = c->next)
        cw_serve_pump(c);
    cw_wcache_beat(w);
    cw_short_beat(w);
    cw_report_now(w);
    cw_timer_start(w->beat, is_idle(w) ? w->idle_beat_ms : w->beat_ms, 0);
}

void cw_report_start(struct cw_worker *w)
{
    w->beat_ms = w->idle_beat_ms = 250;
    w->soon = cw_timer_new(w->loop, on_soon, w);
    w->beat = cw_timer_new(w->loop, on_beat, w);
}

void cw_report_stop(struct cw_worker *w)
{
    cw_timer_free(w->soon);
    cw_timer_free(w->beat);
    w->soon = w->beat = NULL;
}

void cw_report_welcome(struct cw_worker *w)
{
    w->counts_ms = 0;
    cw_timer_start(w->beat, w->beat_ms, 0);
    cw_report_soon(w);
}

void cw_report_away(struct cw_worker *w)
{
    if (w->soon)
        cw_timer_stop(w->soon);
    /* The beat goes on: clients are served without a dispatcher too. */
}

void cw_report_failed(struct cw_worker *w, const struct cw_wjob *job, struct cw_lease_id lease,
                      uint64_t epoch, uint64_t item, const struct cw_err *error)
{
    Cachew__V1__LeaseId id = CACHEW__V1__LEASE_ID__INIT;
    id.generation = lease.generation;
    id.counter = lease.counter;
    char *msg = cw_mem_strdup(error->msg); /* protobuf-c's strings are not const */
    Cachew__V1__ItemFailed failed = CACHEW__V1__ITEM_FAILED__INIT;
    failed.lease = &id;
    failed.job_id = job->id;
    failed.epoch = epoch;
    failed.item = item;
    failed.code = error->code;
    failed.error = msg;
    failed.element = job->state == CW_WJOB_READY && cw_err_is_of_data(error->code);
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_FAILED;
    m.failed = &failed;
    cw_attend_send(w, &m);
    cw_mem_free(msg);
}

void cw_report_hand_back(struct cw_worker *w, const char *job_id, uint64_t epoch,
                         const struct cw_set *items)
{
    if (items->n == 0)
        return;
    char *id = cw_mem_strdup(job_id);
    Cachew__V1__HandBack back = CACHEW__V1__HAND_BACK__INIT;
    back.job_id = id;
    back.epoch = epoch;
    back.items = cw_wire_set_to(items, &back.n_items);
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_HAND_BACK;
    m.hand_back = &back;
    cw_attend_send(w, &m);
    cw_mem_free(back.items);
    cw_mem_free(id);
}

static void add_cacheable(Cachew__V1__PlanInfo *info, const struct cw_graph *graph,
                          const struct cw_plan *plan)
{
    struct cw_plan_cacheable *nodes = CW_NEW_ARRAY(struct cw_plan_cacheable, graph->n);
    for (size_t i = 0; i < graph->n; i++)
        cw_plan_cacheable(plan, i, &nodes[i]);
    cw_wire_cacheable_to(graph, nodes, info);
    cw_mem_free(nodes);
}

void cw_report_prepared(struct cw_worker *w, const char *job_id, const struct cw_graph *graph,
                        const struct cw_plan *plan, struct cw_buf *manifest,
                        const struct cw_err *error)
{
    char *id = cw_mem_strdup(job_id), *msg = cw_mem_strdup(plan ? "" : error->msg);
    Cachew__V1__Prepared prepared = CACHEW__V1__PREPARED__INIT;
    prepared.job_id = id;
    prepared.error = msg;
    prepared.code = plan ? 0 : error->code;
    prepared.info = plan ? cw_wire_info_to(cw_plan_info(plan)) : NULL;
    if (plan) {
        add_cacheable(prepared.info, graph, plan);
        prepared.manifest = (ProtobufCBinaryData){manifest->len, manifest->data};
    }
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PREPARED;
    m.prepared = &prepared;
    cw_attend_send(w, &m);
    cw_wire_info_free(prepared.info);
    cw_mem_free(id);
    cw_mem_free(msg);
}
