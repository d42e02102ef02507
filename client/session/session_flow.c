/* SPDX-License-Identifier: Apache-2.0 */
/* The flow of a job: from what has arrived to the trainer's queue; and from what the trainer has
 * consumed back to credit for workers and acknowledgements for the dispatcher. */
#include <stdatomic.h>
#include "base/clock.h"
#include "base/fault.h"
#include "client/session/session_int.h"

#define STARVED_TICKS 40

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
    uint64_t held = session->ledger.rebatched / CW_MAX(session->streams_n, 1);
    for (size_t i = 0; session->ledger.err.code == 0 && i < session->streams_n; i++)
        cw_worker_stream_flush(session->streams[i], held, all);
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
    struct cachew_job *job = session->job;
    bool empty = session->ledger.serial == atomic_load_explicit(&job->given, memory_order_relaxed);
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

void cw_session_set_window(struct cw_session *session, uint64_t items)
{
    session->ack.window = items ? items : session->ack.window;
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
