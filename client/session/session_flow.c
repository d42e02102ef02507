/* SPDX-License-Identifier: Apache-2.0 */
/* The flow of a job: from what has arrived to the trainer's queue; and from what the trainer has
 * consumed back to credit for workers and acknowledgements for the dispatcher. */
#include <stdatomic.h>
#include "base/clock.h"
#include "base/fault.h"
#include "client/session/session_int.h"

#define STARVED_TICKS 40
#define STREAM_BYTES_MIN (64ull << 10)

uint64_t cw_session_share(const struct cw_session *session, size_t workers)
{
    return CW_MAX(session->conf.buffer_bytes / CW_MAX(workers, 1), STREAM_BYTES_MIN);
}

/* Connections end, workers go and come, and their shares change; so that none of it makes the buffer
 * larger, what the trainer has not been given counts, whoever has sent it, and all that any worker
 * may still send. The batch that is being filled does not count: it may be larger than the
 * buffer. */
uint64_t cw_session_room(const struct cw_session *session)
{
    const struct cw_ledger *ledger = &session->ledger;
    uint64_t used = cw_ledger_bytes(ledger) - ledger->rebatch.filling.bytes,
             all = cw_session_share(session, session->streams_n) * session->streams_n;
    for (size_t i = 0; i < session->streams_n; i++)
        used += cw_worker_stream_promised(session->streams[i]);
    return all - CW_MIN(all, used);
}

/* Whether the trainer has been given everything that was ready. */
static bool is_empty(const struct cw_session *session)
{
    return session->ledger.serial ==
           atomic_load_explicit(&session->job->given, memory_order_relaxed);
}

void cw_session_advance(struct cw_session *session, bool all)
{
    struct cw_err err = {0};
    if (!session->begun)
        return;
    cw_ledger_settle(&session->ledger);
    if (session->ledger.err.code == 0 && cw_ledger_drain(&session->ledger, &err) != 0)
        cw_client_job_fail(session->job, &err);
    /* A failed job stays until it is closed. What arrives is not given out any more, so workers get
     * no more credit. */
    uint64_t room = cw_session_room(session);
    for (size_t i = 0; session->ledger.err.code == 0 && i < session->streams_n; i++) {
        uint64_t before = cw_worker_stream_promised(session->streams[i]);
        cw_worker_stream_flush(session->streams[i], room, all);
        room -= CW_MIN(room, cw_worker_stream_promised(session->streams[i]) - before);
    }
    cw_session_send_ack_when_due(session);
}

void cw_session_kicked(struct cw_session *session)
{
    cw_session_advance(session, false);
}

/* The trainer has no batch, nothing has arrived for a while, and later items are in the reorder
 * buffer. If these used up all credit, the missing item could never be sent. Workers send items
 * that come before the last one that they sent without credit, so this is a last resort. It acts
 * slowly, so that a long computation does not fill the memory. */
void cw_session_help_starving(struct cw_session *session)
{
    bool empty = is_empty(session);
    for (size_t i = 0; empty && i < session->streams_n; i++)
        cw_worker_stream_let_one(session->streams[i]);
    if (!empty || session->ledger.reorder.held == 0 ||
        session->messages != session->starved_messages) {
        session->starved_ticks = 0;
        session->starved_messages = session->messages;
        return;
    }
    if (++session->starved_ticks % STARVED_TICKS == 0 || cw_fault_rare("client.starved"))
        for (size_t i = 0; i < session->streams_n; i++)
            cw_worker_stream_overdraw(session->streams[i]);
}

/* The trainer wakes the loop when it was given a quarter of the window or an eighth of the
 * buffer. */
void cw_session_set_kicks(struct cw_session *session)
{
    uint64_t n = session->ack.window / 4;
    n = n < 1 ? 1 : n > 256 ? 256 : n;
    atomic_store_explicit(&session->job->kick_n, n, memory_order_relaxed);
    atomic_store_explicit(&session->job->kick_bytes, session->conf.buffer_bytes / 8,
                          memory_order_relaxed);
}

void cw_session_set_window(struct cw_session *session, uint64_t items, uint32_t ack_ms)
{
    session->ack.window = items ? items : session->ack.window;
    session->ack.interval_ns = ack_ms ? (int64_t)ack_ms * 1000000 : session->ack.interval_ns;
    cw_session_set_kicks(session);
}

void cw_session_limit_start(struct cw_session *session, uint64_t still_ms)
{
    struct cachew_job *job = session->job;
    cw_mutex_lock(&job->mutex);
    job->start_by_ns =
        cw_answer_start_limit(job->start_by_ns, cw_clock_ns(), job->client->timeout_ms, still_ms);
    cw_mutex_unlock(&job->mutex);
    cw_cond_broadcast(&job->cond);
}
