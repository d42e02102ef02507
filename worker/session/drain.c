/* SPDX-License-Identifier: Apache-2.0 */
/* Drains the worker: it takes no new leases, hands back what has not begun, and finishes and serves
 * what has begun until clients are known to have received it. What cannot be computed or served in
 * time is handed back, for other workers to compute. Records that wait for the cache's store are
 * written if the store answers. */
#include "worker/session/drain.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "worker/cache/cache_store.h"
#include "worker/cache/worker_cache.h"
#include "worker/compute/outputs.h"
#include "worker/compute/tasks.h"
#include "worker/job/job_life.h"
#include "worker/job/plan_loader.h"
#include "worker/message/to_dispatcher.h"
#include "worker/model/budget.h"
#include "worker/session/report.h"

/* How long a drain that is over waits for stores that are being closed. */
#define CLOSE_LIMIT_MS 1000
#define CHECK_MS 50
/* How long to wait for a consumer that has no stream: it may be connecting at this moment. */
#define NO_STREAM_MS 2000
/* How long to wait for reports of what was received once streams have accepted everything: there
 * may be no dispatcher, or the client may have died. */
#define NO_REPORT_MS 3000

static bool is_unreceived(const struct cw_wclient *c)
{
    for (size_t i = 0; i < c->sent_n; i++)
        if (c->sent[i].items.n > 0)
            return true;
    return false;
}

static bool drop_output(void *arg, struct cw_output *output)
{
    struct cw_wjob *job = arg;
    cw_report_hand_back_item(job->worker, job->id, output->epoch, output->item);
    cw_output_release(job, output);
    return true;
}

/* Hands back the outputs of consumers that have no stream, or all outputs. */
static void drop_unserved(struct cw_wjob *job, bool all)
{
    for (uint32_t i = 0; i < job->consumers; i++)
        if (all || !job->clients[i])
            cw_outq_filter(&job->queues[i], drop_output, job);
}

/* Whether everything is computed and was accepted by streams or clients. */
static bool is_served(const struct cw_worker_state *w)
{
    if (w->drain.abandoned)
        return true;
    if (w->tasks_n > 0)
        return false;
    for (size_t i = 0; i < w->jobs.n; i++)
        if (w->jobs.list[i]->queued_n > 0)
            return false;
    return cw_budget_stream_bytes(w) == 0;
}

static bool is_received(const struct cw_worker_state *w)
{
    for (const struct cw_wclient *c = w->clients; c; c = c->next)
        if (is_unreceived(c))
            return false;
    return true;
}

/* Ends the drain at the time limit. What threads still compute, which may be a read that never
 * ends, is handed back for other workers to compute. */
static void give_up(struct cw_worker_state *w, int64_t waited_ms)
{
    size_t items = 0;
    w->drain.over = true;
    cw_wcache_hurry(w);
    for (size_t i = 0; i < w->jobs.n; i++) {
        struct cw_wjob *job = w->jobs.list[i];
        drop_unserved(job, true);
        for (const struct cw_wtask *t = job->tasks; t; t = t->next) {
            if (t->revoked)
                continue;
            items++;
            cw_report_hand_back_item(w, job->id, t->exec.epoch, t->exec.item);
        }
        (void)cw_tasks_cancel_all(job);
    }
    cw_log_warn("worker",
                "drained for %lld ms (--drain-limit): leaving; %zu items are still being computed, "
                "and handed back",
                (long long)waited_ms, items);
}

static void finish(struct cw_worker_state *w)
{
    cw_fault_point("worker.drained");
    cw_timer_stop(w->drain.timer);
    cw_wcache_log_lost(w);
    cw_report_now(w);
    w->drain.done = true;
    if (w->drain.fn)
        w->drain.fn(w->drain.arg);
}

static void on_check(void *arg)
{
    struct cw_worker_state *w = arg;
    int64_t waited_ms = cw_clock_ms() - w->drain.began_ms;
    bool was_over = w->drain.over;
    if (!was_over && (waited_ms >= w->drain.limit_ms || cw_fault_rare("worker.drain_over")))
        give_up(w, waited_ms);
    else if (waited_ms >= NO_STREAM_MS)
        for (size_t i = 0; i < w->jobs.n; i++)
            drop_unserved(w->jobs.list[i], false);
    cw_log_debug("worker", "draining for %lld ms: items=%zu stream_bytes=%zu served=%d received=%d",
                 (long long)waited_ms, w->tasks_n, cw_budget_stream_bytes(w), is_served(w),
                 is_received(w));
    if (!is_served(w))
        w->drain.served_ms = 0;
    else if (w->drain.served_ms == 0)
        w->drain.served_ms = cw_clock_ms();
    if (w->tasks_n == 0 || w->drain.abandoned)
        cw_wcache_flush(w);
    bool is_written = !cw_wcache_is_busy(w);
    /* If the drain was over before, what was handed back at that check is sent by now. */
    bool is_closed =
        !(w->cache.retired || w->cache.closing) || waited_ms >= w->drain.limit_ms + CLOSE_LIMIT_MS;
    if ((was_over && is_closed) ||
        (is_written && w->drain.served_ms > 0 &&
         (is_received(w) || cw_clock_ms() - w->drain.served_ms >= NO_REPORT_MS)))
        finish(w);
}

void cw_drain_announce(struct cw_worker_state *w)
{
    cw_report_draining(w);
    for (size_t i = 0; i < w->jobs.n; i++)
        cw_wjob_hand_back(w->jobs.list[i]);
}

void cw_drain_start(struct cw_worker_state *w, cw_loop_fn *fn, void *arg)
{
    if (fn) {
        w->drain.fn = fn;
        w->drain.arg = arg;
    }
    if (w->drain.active)
        return;
    w->drain.active = true;
    w->drain.began_ms = cw_clock_ms();
    cw_log_info("worker", "draining");
    cw_server_set_serving(w->server, false);
    cw_loader_forget(w, NULL);
    cw_drain_announce(w);
    w->drain.timer = cw_timer_new(w->loop, on_check, w);
    cw_timer_start(w->drain.timer, 1, CHECK_MS);
}

void cw_drain_abandon(struct cw_worker_state *w, cw_loop_fn *fn, void *arg)
{
    w->drain.abandoned = true;
    while (w->jobs.n > 0)
        cw_wjob_forget(w->jobs.list[0], "nobody wants it any more");
    cw_drain_start(w, fn, arg);
}
