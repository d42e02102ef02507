/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <string.h>
#include "base/log.h"
#include "client/session/session_int.h"
#include "wire/wire.h"

static void on_welcome(struct cw_session *session, const Cachew__V1__ClientWelcome *welcome)
{
    struct cw_err err = {0};
    bool first = !session->begun;
    session->backoff_ms = CW_SESSION_BACKOFF_MIN_MS;
    bool again = session->restarting;
    if ((first && cw_session_begin(session, welcome, &err) != 0) ||
        (again && cw_session_restart(session, welcome, &err) != 0)) {
        cw_client_job_fail(session->job, &err);
        return;
    }
    session->secret.n = CW_MIN(welcome->secret.len, sizeof(session->secret.bytes));
    if (session->secret.n > 0)
        memcpy(session->secret.bytes, welcome->secret.data, session->secret.n);
    if (first)
        cw_session_note_acked(session, true);
    session->welcome = true;
    cw_session_set_window(session, welcome->window, welcome->ack_ms);
    if (again)
        cw_session_send_ack(session);
    if (!first)
        atomic_fetch_add_explicit(&session->job->counts.reconnects, 1, memory_order_relaxed);
    for (size_t i = 0; i < session->streams_n; i++)
        cw_worker_stream_report(session->streams[i]);
    cw_session_advance(session, true);
    cw_session_note_welcome(session);
    cw_mutex_lock(&session->job->mutex);
    session->job->started = true;
    cw_mutex_unlock(&session->job->mutex);
    cw_cond_broadcast(&session->job->cond);
}

static int skip_set(struct cw_session *session, const Cachew__V1__EpochSet *said, bool batches,
                    bool lost, struct cw_err *err)
{
    struct cw_set set = {0};
    int rc = cw_wire_set_from(said->items, said->n_items, &set, err);
    if (rc == 0 && batches)
        rc = cw_ledger_skip_batches(&session->ledger, said->epoch, &set, err);
    else if (rc == 0)
        cw_ledger_skip(&session->ledger, said->epoch, &set, lost);
    cw_set_fini(&set);
    return rc;
}

static void on_skipped(struct cw_session *session, const Cachew__V1__Skipped *skipped)
{
    bool lost = skipped->why != CACHEW__V1__SKIPPED__WHY__TAKEN;
    if (!session->begun)
        return;
    struct cw_err err = {0};
    int rc = 0;
    for (size_t i = 0; i < skipped->n_items && rc == 0; i++)
        rc = skip_set(session, skipped->items[i], false, lost, &err);
    for (size_t i = 0; i < skipped->n_batches && rc == 0; i++)
        rc = skip_set(session, skipped->batches[i], true, lost, &err);
    if (rc == 0) {
        cw_session_advance(session, false);
        return;
    }
    cw_err_wrap(&err, "what dispatcher %s leaves out", session->job->client->address);
    cw_client_job_fail(session->job, &err);
}

static void on_local_failed(void *arg, const struct cw_err *err)
{
    struct cw_session *session = arg;
    session->conf.local.max = 0;
    cw_log_warn("client", "job=%s %s", session->job->id ? session->job->id : "-", err->msg);
    cw_session_send_local_failed(session, err->msg);
}

static void on_local_workers(struct cw_session *session, const Cachew__V1__LocalWorkers *local)
{
    if (session->closed || session->conf.local.max == 0)
        return;
    if (!session->local)
        session->local = cw_local_workers_new(session->job->client, local->job_id,
                                              &session->conf.local, on_local_failed, session);
    cw_local_workers_set(session->local, local->workers, local->credential);
}

static void on_error(struct cw_session *session, const Cachew__V1__JobError *error)
{
    struct cw_err err = {0};
    int code = cw_answer_code(error->code);
    switch (cw_answer_to_error(code, cw_session_can_restart(session))) {
    case CW_ANSWER_RETRY:
        cw_session_note_refused(session, error->error);
        break;
    case CW_ANSWER_RESTART:
        if (cw_session_forget_job(session, error->error, &err) != 0)
            cw_client_job_fail(session->job, &err);
        break;
    case CW_ANSWER_FAIL:
    default:
        cw_err_set(&err, code, "%s", *error->error ? error->error : cw_err_text(code));
        cw_client_job_fail(session->job, &err);
    }
}

void cw_session_recv(void *arg, struct cw_rpc_msg *msg)
{
    struct cw_session *session = arg;
    struct cw_err err = {0};
    ProtobufCMessage *base = cw_wire_unpack(&cachew__v1__client_command__descriptor, msg, &err);
    if (!base) {
        cw_log_warn("client", "message from dispatcher %s: %s", session->job->client->address,
                    err.msg);
        return;
    }
    const Cachew__V1__ClientCommand *command = (const Cachew__V1__ClientCommand *)(void *)base;
    /* Messages of a dispatcher that was replaced are ignored. */
    if (command->generation >= session->generation) {
        session->generation = command->generation;
        switch (command->kind_case) {
        case CACHEW__V1__CLIENT_COMMAND__KIND_WELCOME:
            on_welcome(session, command->welcome);
            break;
        case CACHEW__V1__CLIENT_COMMAND__KIND_WORKERS:
            if (session->begun)
                cw_session_set_workers(session, command->workers);
            break;
        case CACHEW__V1__CLIENT_COMMAND__KIND_ERROR:
            on_error(session, command->error);
            break;
        case CACHEW__V1__CLIENT_COMMAND__KIND_WAITING:
            cw_session_hear_waiting(session, command->waiting);
            break;
        case CACHEW__V1__CLIENT_COMMAND__KIND_SKIPPED:
            on_skipped(session, command->skipped);
            break;
        case CACHEW__V1__CLIENT_COMMAND__KIND_WINDOW:
            cw_session_set_window(session, command->window->items, command->window->ack_ms);
            break;
        case CACHEW__V1__CLIENT_COMMAND__KIND_LOCAL_WORKERS:
            on_local_workers(session, command->local_workers);
            break;
        case CACHEW__V1__CLIENT_COMMAND__KIND__NOT_SET:
        default:
            break; /* A later version may send messages that this one does not know. */
        }
    }
    protobuf_c_message_free_unpacked(base, NULL);
}
