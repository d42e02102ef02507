/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/session_int.h"

#include <stdatomic.h>
#include <stdio.h>
#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/short_reason.h"

#define TICK_MS 50
#define BYE_MS 1000
#define BUFFER_BYTES (256ull << 20)

static void on_close(void *arg, int code, const char *msg);

static void session_tick(void *arg)
{
    struct cw_session *session = arg;
    cw_session_drop_streams(session);
    cw_session_note_unfetched(session, cw_clock_ms());
    cw_session_send_alive(session);
    cw_session_advance(session, true);
    cw_session_note_waits(session);
    if (session->stream && cw_fault_rare("client.leaves"))
        on_close(session, CW_E_UNAVAILABLE, "left, in a test");
    if (session->begun && session->ledger.err.code == 0)
        cw_session_help_starving(session);
}

static void session_free(struct cw_session *session)
{
    cw_loop_fn *closed = session->closed;
    void *arg = session->closed_arg;
    cw_stream_free(session->stream);
    cw_timer_free(session->retry);
    cw_timer_free(session->tick);
    cw_timer_free(session->bye);
    size_t n = session->streams_n;
    session->streams_n = 0;
    for (size_t i = 0; i < n; i++)
        cw_worker_stream_close(session->streams[i]);
    cw_mem_free(session->streams);
    cw_mem_free(session->unfetched);
    cw_local_workers_end(session->local);
    cw_ledger_fini(&session->ledger);
    cw_graph_unref(session->conf.graph);
    cw_mem_free(session->conf.name);
    cw_mem_free(session->conf.autocache);
    cw_mem_free(session->conf.autoscale);
    cw_mem_free(session->conf.autoplace);
    cw_mem_free(session->conf.optimize);
    cw_mem_free(session->conf.plan);
    cw_mem_free(session->conf.profile);
    cw_mem_free(session->conf.tenant);
    cw_mem_free(session->conf.cache);
    cw_mem_free(session->conf.token_bytes);
    cw_token_fini(&session->conf.token);
    cw_mem_free(session);
    closed(arg);
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
    /* A token that was rotated away while the hello was under way says nothing: the next stream
     * shows the new one. */
    bool asked = cw_channel_was_asked(session->job->client->channel);
    if (!asked && cw_answer_to_close(code, session->begun) == CW_ANSWER_FAIL) {
        struct cw_err err = {0};
        cw_err_set(&err, code, "dispatcher %s: %s", address, msg && *msg ? msg : cw_err_text(code));
        cw_client_job_fail(session->job, &err);
        return;
    }
    if (session->over)
        return;
    char reason[512], why[256];
    cw_short_reason(address, msg && *msg ? msg : "it ended the stream", why, sizeof(why));
    snprintf(reason, sizeof(reason), "no connection to the dispatcher at %s (%s)", address, why);
    cw_session_note_away(session, reason);
    cw_timer_start(session->retry, session->backoff_ms, 0);
    session->backoff_ms = CW_MIN(2 * session->backoff_ms, CW_SESSION_BACKOFF_MAX_MS);
}

static void session_open(void *arg)
{
    static const struct cw_stream_cb callbacks = {cw_session_recv, NULL, on_close};
    struct cw_session *session = arg;
    session->stream = cw_channel_stream(session->job->client->channel, "/cachew.v1.Jobs/Attach",
                                        &callbacks, session);
    cw_session_send_hello(session);
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
    session->began_ns = cw_clock_ns();
    session->backoff_ms = CW_SESSION_BACKOFF_MIN_MS;
    session->retry = cw_timer_new(job->client->loop, session_open, session);
    session->tick = cw_timer_new(job->client->loop, session_tick, session);
    cw_timer_start(session->tick, TICK_MS, TICK_MS);
    cw_session_set_kicks(session);
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
        cw_ledger_settle(&session->ledger);
    cw_session_send_ack(session);
    cw_session_send_bye(session);
    cw_stream_finish(session->stream, 0, NULL);
    session->bye = cw_timer_new(session->job->client->loop, on_bye_timeout, session);
    cw_timer_start(session->bye, BYE_MS, 0);
}
