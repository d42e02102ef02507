/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/session_int.h"

#include <stdatomic.h>
#include <stdio.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"

#define TICK_MS 50
#define STARVED_TICKS 40
#define BYE_MS 1000
#define BUFFER_BYTES (256ull << 20)
#define STILL_MS_MAX (24 * 3600 * 1000) /* as much as timeout_ms may be */

struct cachew_job *cw_session_job(const struct cw_session *session)
{
    return session->job;
}

uint64_t cw_session_client_id(const struct cw_session *session)
{
    return session->client_id;
}

struct cw_deliver *cw_session_deliver(struct cw_session *session)
{
    return &session->deliver;
}

/* ---- flow ---- */

void cw_session_move(struct cw_session *session, bool all)
{
    struct cw_err err = {0};
    if (!session->begun)
        return;
    cw_deliver_settle(&session->deliver);
    if (session->deliver.err.code == 0 && cw_deliver_drain(&session->deliver, &err) != 0)
        cw_job_fail(session->job, &err);
    /* A failed job stays until it is closed: what comes then would never be given out, so no
     * more is asked for. */
    uint64_t held = session->deliver.joined / CW_MAX(session->links_n, 1);
    for (size_t i = 0; session->deliver.err.code == 0 && i < session->links_n; i++)
        cw_link_flush(session->links[i], held, all);
    if (cw_session_ack_is_due(session))
        cw_session_ack(session);
}

void cw_session_kicked(struct cw_session *session)
{
    cw_session_move(session, false);
}

void cw_session_came(struct cw_session *session)
{
    session->came++;
    cw_session_move(session, false);
}

/* The trainer has nothing, nothing has come for a while, and there is something beyond the gap:
 * should all credit be out for that, what fills the gap could never come. Workers send what
 * comes before the last that they sent without credit, so this is for the worst only; slow, so
 * that a long computation does not fill the memory. */
static void help_starving(struct cw_session *session)
{
    struct cachew_job *job = session->job;
    bool empty = session->deliver.serial == atomic_load_explicit(&job->given, memory_order_relaxed);
    if (!empty || session->deliver.order.held == 0 || session->came != session->starved_came) {
        session->starved_ticks = 0;
        session->starved_came = session->came;
        return;
    }
    if (++session->starved_ticks % STARVED_TICKS == 0)
        for (size_t i = 0; i < session->links_n; i++)
            cw_link_overdraw(session->links[i]);
}

static void session_tick(void *arg)
{
    struct cw_session *session = arg;
    cw_session_drop_links(session);
    cw_session_move(session, true);
    if (session->begun && session->deliver.err.code == 0)
        help_starving(session);
}

/* The trainer wakes the loop when a quarter of the window, or an eighth of the buffer, was
 * consumed. */
static void set_kicks(struct cw_session *session)
{
    uint64_t n = session->ack.window / 4;
    n = n < 1 ? 1 : n > 256 ? 256 : n;
    atomic_store_explicit(&session->job->kick_n, n, memory_order_relaxed);
    atomic_store_explicit(&session->job->kick_bytes, session->conf.buffer_bytes / 8,
                          memory_order_relaxed);
}

void cw_session_set_window(struct cw_session *session, uint64_t items)
{
    session->ack.window = items ? items : session->ack.window;
    set_kicks(session);
}

void cw_session_set_reason(struct cw_session *session, const char *reason, uint64_t still_ms)
{
    struct cachew_job *job = session->job;
    cw_mutex_lock(&job->mutex);
    snprintf(job->reason, sizeof(job->reason), "%s", reason);
    if (still_ms < CW_SESSION_STUCK)
        job->start_by_ns =
            CW_MAX(job->start_by_ns, cw_clock_ns() + (job->client->timeout_ms -
                                                      (int64_t)CW_MIN(still_ms, STILL_MS_MAX)) *
                                                         1000000);
    cw_mutex_unlock(&job->mutex);
    cw_cond_broadcast(&job->cond);
}

/* ---- life ---- */

static void session_free(struct cw_session *session)
{
    cw_loop_fn *closed = session->closed;
    void *arg = session->closed_arg;
    cw_stream_free(session->stream);
    cw_timer_free(session->retry);
    cw_timer_free(session->tick);
    cw_timer_free(session->bye);
    size_t n = session->links_n;
    session->links_n = 0;
    for (size_t i = 0; i < n; i++)
        cw_link_close(session->links[i]);
    cw_mem_free(session->links);
    cw_local_workers_end(session->local);
    cw_deliver_fini(&session->deliver);
    cw_graph_unref(session->conf.graph);
    cw_mem_free(session->conf.name);
    cw_mem_free(session->conf.autocache);
    cw_mem_free(session->conf.autoscale);
    cw_mem_free(session->conf.autoplace);
    cw_mem_free(session->conf.tenant);
    cw_mem_free(session->conf.token_bytes);
    cw_token_fini(&session->conf.token);
    cw_mem_free(session);
    closed(arg);
}

static bool is_final(int code)
{
    return code == CW_E_INVALID || code == CW_E_DENIED || code == CW_E_UNSUPPORTED ||
           code == CW_E_LIMIT || code == CW_E_STATE || code == CW_E_OTHER_FILE ||
           code == CW_E_EXISTS || code == CW_E_NOT_FOUND;
}

static void on_close(void *arg, int code, const char *msg)
{
    struct cw_session *session = arg;
    const char *address = session->job->client->address;
    cw_stream_free(session->stream);
    session->stream = NULL;
    session->welcome = false;
    if (session->closed) {
        session_free(session);
        return;
    }
    /* Once begun only a JobError ends a job: the other end may have been a dispatcher on its way
     * out, or something between. */
    if (!session->begun && is_final(code)) {
        struct cw_err err = {0};
        cw_err_set(&err, code, "dispatcher %s: %s", address, msg && *msg ? msg : cw_err_text(code));
        cw_job_fail(session->job, &err);
        return;
    }
    if (session->over)
        return;
    char reason[256];
    snprintf(reason, sizeof(reason), "no connection to the dispatcher at %s (%s)", address,
             msg && *msg ? msg : "it ended the stream");
    cw_session_set_reason(session, reason, CW_SESSION_STUCK);
    cw_timer_start(session->retry, session->backoff_ms, 0);
    session->backoff_ms = CW_MIN(2 * session->backoff_ms, CW_SESSION_BACKOFF_MAX_MS);
}

static void session_open(void *arg)
{
    static const struct cw_stream_cb callbacks = {cw_session_hear, NULL, on_close};
    struct cw_session *session = arg;
    session->stream = cw_channel_stream(session->job->client->channel, "/cachew.v1.Jobs/Attach",
                                        &callbacks, session);
    cw_session_say_hello(session);
}

struct cw_session *cw_session_new(struct cachew_job *job, struct cw_session_conf *conf)
{
    struct cw_session *session = CW_NEW(struct cw_session);
    session->job = job;
    session->conf = *conf;
    *conf = (struct cw_session_conf){0};
    if (session->conf.buffer_bytes == 0)
        session->conf.buffer_bytes = BUFFER_BYTES;
    session->client_id = cw_rng_process_id();
    session->ack.window = session->conf.window;
    session->backoff_ms = CW_SESSION_BACKOFF_MIN_MS;
    session->retry = cw_timer_new(job->client->loop, session_open, session);
    session->tick = cw_timer_new(job->client->loop, session_tick, session);
    cw_timer_start(session->tick, TICK_MS, TICK_MS);
    set_kicks(session);
    session_open(session);
    return session;
}

static void on_bye_timeout(void *arg)
{
    session_free(arg);
}

void cw_session_close(struct cw_session *session, cw_loop_fn *done, void *arg)
{
    session->closed = done;
    session->closed_arg = arg;
    cw_timer_stop(session->tick);
    cw_timer_stop(session->retry);
    if (!session->stream) {
        session_free(session);
        return;
    }
    if (session->begun)
        cw_deliver_settle(&session->deliver);
    cw_session_ack(session);
    cw_session_say_bye(session);
    cw_stream_finish(session->stream, 0, NULL);
    session->bye = cw_timer_new(session->job->client->loop, on_bye_timeout, session);
    cw_timer_start(session->bye, BYE_MS, 0);
}
