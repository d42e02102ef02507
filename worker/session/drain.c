/* SPDX-License-Identifier: Apache-2.0 */
/* The way out: no new leases, what is not begun goes back, what is begun is finished and served
 * until clients are known to have it. What cannot be served or computed in time is handed back,
 * and others compute it. What waits for the cache's store is written if it answers. */
#include "worker/model/state.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"

#define CHECK_MS 50
/* A consumer without a stream: it may be connecting just now. */
#define NO_STREAM_MS 2000
/* Nobody says what is received (no dispatcher, or a client that died): streams have taken all,
 * that must do. */
#define NO_WORD_MS 3000

static bool is_unreceived(const struct cw_client *c)
{
    for (size_t i = 0; i < c->sent_n; i++)
        if (c->sent[i].items.n > 0)
            return true;
    return false;
}

static bool drop_output(void *arg, struct cw_output *output)
{
    struct cw_wjob *job = arg;
    struct cw_set one = {0};
    cw_set_add(&one, output->item, output->item + 1);
    cw_report_hand_back(job->worker, job->id, output->epoch, &one);
    cw_set_fini(&one);
    cw_outq_left(job, output);
    return true;
}

/* What waits for consumers that have no stream. */
static void drop_unserved(struct cw_wjob *job, bool all)
{
    for (uint32_t i = 0; i < job->consumers; i++)
        if (all || !job->clients[i])
            cw_outq_filter(&job->queues[i], drop_output, job);
}

/* All is computed and in the hands of gRPC or of clients. */
static bool is_served(const struct cw_worker *w)
{
    if (w->abandoned)
        return true;
    if (w->tasks_n > 0)
        return false;
    for (size_t i = 0; i < w->turn_n; i++)
        if (w->turn[i]->queued_n > 0)
            return false;
    return cw_tasks_stream_bytes(w) == 0;
}

static bool is_received(const struct cw_worker *w)
{
    for (const struct cw_client *c = w->clients; c; c = c->next)
        if (is_unreceived(c))
            return false;
    return true;
}

/* The time is over. What threads are at, which may be a read that never ends, is others' to
 * compute. */
static void give_up(struct cw_worker *w, int64_t waited_ms)
{
    size_t items = 0;
    w->drain_over = true;
    for (size_t i = 0; i < w->turn_n; i++) {
        struct cw_wjob *job = w->turn[i];
        drop_unserved(job, true);
        for (const struct cw_task *t = job->tasks; t; t = t->next) {
            struct cw_set one = {0};
            if (t->revoked)
                continue;
            items++;
            cw_set_add(&one, t->exec.item, t->exec.item + 1);
            cw_report_hand_back(w, job->id, t->exec.epoch, &one);
            cw_set_fini(&one);
        }
        (void)cw_tasks_cancel_all(job);
    }
    cw_log_warn("worker",
                "drained for %lld ms (--drain-limit): leaving; %zu items are still being computed, "
                "and handed back",
                (long long)waited_ms, items);
}

static void finish(struct cw_worker *w)
{
    cw_fault_point("worker.drained");
    cw_timer_stop(w->drain_timer);
    cw_wcache_say_lost(w);
    cw_report_now(w);
    w->drained = true;
    if (w->drained_fn)
        w->drained_fn(w->drained_arg);
}

static void on_check(void *arg)
{
    struct cw_worker *w = arg;
    int64_t waited_ms = cw_clock_ms() - w->drain_began_ms;
    bool was_over = w->drain_over;
    if (!was_over && waited_ms >= w->drain_limit_ms)
        give_up(w, waited_ms);
    else if (waited_ms >= NO_STREAM_MS)
        for (size_t i = 0; i < w->turn_n; i++)
            drop_unserved(w->turn[i], false);
    cw_log_debug("worker", "draining for %lld ms: items=%zu stream_bytes=%zu served=%d received=%d",
                 (long long)waited_ms, w->tasks_n, cw_tasks_stream_bytes(w), is_served(w),
                 is_received(w));
    if (!is_served(w))
        w->served_ms = 0;
    else if (w->served_ms == 0)
        w->served_ms = cw_clock_ms();
    if (w->tasks_n == 0 || w->abandoned)
        cw_wcache_flush(w);
    bool is_written = !cw_wcache_is_busy(w);
    if (was_over /* what was handed back then is sent by now */ ||
        (is_written && w->served_ms > 0 &&
         (is_received(w) || cw_clock_ms() - w->served_ms >= NO_WORD_MS)))
        finish(w);
}

void cw_drain_begin(struct cw_worker *w)
{
    Cachew__V1__Draining draining = CACHEW__V1__DRAINING__INIT;
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_DRAINING;
    m.draining = &draining;
    cw_attend_send(w, &m);
    for (size_t i = 0; i < w->turn_n; i++)
        cw_wjob_hand_back(w->turn[i]);
}

void cw_worker_on_drained(struct cw_worker *w, cw_loop_fn *fn, void *arg)
{
    w->drained_fn = fn;
    w->drained_arg = arg;
}

void cw_worker_abandon(struct cw_worker *w, cw_loop_fn *fn, void *arg)
{
    w->abandoned = true;
    while (w->turn_n > 0)
        cw_wjob_forget(w->turn[0], "nobody wants it any more");
    cw_worker_drain(w, fn, arg);
}

void cw_worker_drain(struct cw_worker *w, cw_loop_fn *fn, void *arg)
{
    if (fn) {
        w->drained_fn = fn;
        w->drained_arg = arg;
    }
    if (w->draining)
        return;
    w->draining = true;
    w->drain_began_ms = cw_clock_ms();
    cw_log_info("worker", "draining");
    cw_server_set_serving(w->server, false);
    cw_open_forget(w, NULL);
    cw_drain_begin(w);
    w->drain_timer = cw_timer_new(w->loop, on_check, w);
    cw_timer_start(w->drain_timer, 1, CHECK_MS);
}
