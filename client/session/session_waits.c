/* SPDX-License-Identifier: Apache-2.0 */
/* What the session knows of what its job waits for, and how other threads learn of it. It is looked
 * at with each tick. As long as batches come and are taken, nothing is locked. */
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/model/public.h"
#include "client/session/session_int.h"
#include "client/session/waits_for.h"

/* A trainer that has taken nothing for so long, although something is ready, is what is waited
 * for. */
#define IDLE_NS INT64_C(1000000000)

/* Notes since when the trainer has nothing, or takes nothing. */
static void look(struct cw_session *session, int64_t now)
{
    struct cw_session_looks *l = &session->looks;
    uint64_t given = atomic_load_explicit(&session->job->given, memory_order_relaxed);
    bool moved = given != l->given || session->messages != l->messages;
    bool empty = session->ledger.serial == given;
    if (moved || empty != l->empty || l->since_ns == 0)
        l->since_ns = now;
    l->given = given;
    l->messages = session->messages;
    l->empty = empty;
}

static struct cw_waits_stream *list_streams(const struct cw_session *session)
{
    struct cw_waits_stream *list = CW_NEW_ARRAY(struct cw_waits_stream, session->streams_n + 1);
    for (size_t i = 0; i < session->streams_n; i++) {
        const struct cw_worker_stream *stream = session->streams[i];
        list[i] = (struct cw_waits_stream){.worker_id = cw_worker_stream_worker(stream),
                                           .address = cw_worker_stream_address(stream),
                                           .up = cw_worker_stream_is_up(stream),
                                           .why = cw_worker_stream_why_lost(stream)};
    }
    return list;
}

static bool is_over(const struct cw_session *session)
{
    return session->closed || session->over || session->ledger.err.code != 0 ||
           (session->begun && cw_reorder_is_over(&session->ledger.reorder));
}

static void fill_view(const struct cw_session *session, const struct cw_waits_stream *streams,
                      int64_t now, struct cw_waits_view *view)
{
    const struct cw_session_looks *l = &session->looks;
    const struct cw_reorder_buffer *order = &session->ledger.reorder;
    *view = (struct cw_waits_view){.dispatcher = session->job->client->address,
                                   .connected = session->welcome,
                                   .begun = session->begun,
                                   .over = is_over(session),
                                   .away = &session->away,
                                   .told = &session->told,
                                   .began_ns = session->began_ns,
                                   .streams = streams,
                                   .streams_n = session->streams_n};
    if (!session->begun)
        return;
    bool idle = !l->empty && now - l->since_ns >= IDLE_NS;
    uint64_t missing = cw_reorder_first_missing(order);
    view->starving_ns = l->empty ? l->since_ns : 0;
    view->idle_ns = idle ? l->since_ns : 0;
    view->ready = session->ledger.serial - l->given;
    view->ready_bytes = cw_ledger_bytes(&session->ledger);
    view->later = order->held;
    view->ordered = !order->conf.unordered && order->mine > 0;
    view->epoch = view->ordered ? missing / order->mine : 0;
    view->item = view->ordered ? cw_reorder_item(&order->conf, missing % order->mine) : 0;
}

/* Something is to be told: a trainer that has nothing, or takes nothing, or waits for the start. */
static bool may_wait(const struct cw_session *session, int64_t now)
{
    const struct cw_session_looks *l = &session->looks;
    return !session->begun || l->empty || now - l->since_ns >= IDLE_NS;
}

void cw_session_note_waits(struct cw_session *session)
{
    struct cachew_job *job = session->job;
    int64_t now = cw_clock_ns();
    struct cw_waits waits;
    if (session->begun)
        look(session, now);
    cw_waits_clear(&waits);
    if (may_wait(session, now)) {
        struct cw_waits_view view;
        cw_autofree struct cw_waits_stream *streams = list_streams(session);
        fill_view(session, streams, now, &view);
        cw_waits_for(&view, &waits);
    }
    if (cw_waits_eq(&waits, &session->noted))
        return;
    session->noted = waits;
    cw_mutex_lock(&job->mutex);
    job->waits = waits;
    cw_mutex_unlock(&job->mutex);
}

void cw_session_note_away(struct cw_session *session, const char *reason)
{
    int64_t since =
        session->away.kind != CACHEW_WAIT_NOTHING ? session->away.since_ns : cw_clock_ns();
    cw_waits_set(&session->away, CACHEW_WAIT_DISPATCHER, since, "%s", reason);
    cw_waits_clear(&session->told);
    cw_session_note_waits(session);
    cw_session_limit_start(session, CW_SESSION_STUCK);
}

/* An older dispatcher does not say of which kind its reason is. */
static int kind_of(const Cachew__V1__Waiting *waiting)
{
    if ((int)waiting->kind != CACHEW_WAIT_NOTHING || waiting->reason[0] == '\0')
        return (int)waiting->kind;
    return waiting->stuck ? CACHEW_WAIT_DISPATCHER : CACHEW_WAIT_PREPARING;
}

void cw_session_hear_waiting(struct cw_session *session, const Cachew__V1__Waiting *waiting)
{
    int kind = kind_of(waiting);
    /* The beginning of a wait that goes on is not moved by each message a little. */
    int64_t since = cw_clock_ns() - (int64_t)CW_MIN(waiting->waited_ms, 1u << 30) * 1000000;
    if (kind == session->told.kind && since - session->told.since_ns < CW_SESSION_TOLD_JITTER_NS)
        since = CW_MIN(since, session->told.since_ns);
    cw_waits_set(&session->told, kind, kind == CACHEW_WAIT_NOTHING ? 0 : since, "%s",
                 waiting->reason);
    session->told.worker_id = waiting->worker_id;
    cw_session_note_waits(session);
    cw_session_limit_start(session, waiting->stuck ? CW_SESSION_STUCK : waiting->still_ms);
}

void cw_session_note_refused(struct cw_session *session, const char *reason)
{
    cw_waits_set(&session->told, CACHEW_WAIT_DISPATCHER, cw_clock_ns(), "%s", reason);
    cw_session_note_waits(session);
    cw_session_limit_start(session, CW_SESSION_STUCK);
}

void cw_session_note_welcome(struct cw_session *session)
{
    cw_waits_clear(&session->told);
    cw_waits_clear(&session->away);
    cw_session_note_waits(session);
}
