/* SPDX-License-Identifier: Apache-2.0 */
/* Restarts an anonymous job that the dispatcher does not know any more, because the trainer was
 * away for longer than jobs are kept (in a debugger, on a sleeping laptop), or because the state
 * was lost. The client starts the job anew with a token of its own position. What it has received
 * stays, and is reported as after a reconnect; duplicates are dropped as always. So each batch is
 * given out once, and the trainer notices nothing. */
#include "client/session/session_int.h"

#include "base/log.h"
#include "base/mem.h"
#include "client/delivery/epoch_sets.h"
#include "wire/wire.h"

#define TOKEN_BYTES 256
#define GAP_BYTES 20

bool cw_session_can_restart(const struct cw_session *session)
{
    return session->begun && !session->welcome && !session->conf.name && session->conf.mode == 0;
}

static void fill_token(const struct cw_session *session, struct cw_token *token)
{
    const struct cachew_job *job = session->job;
    const struct cw_ledger *ledger = &session->ledger;
    const struct cw_pos *pos = &ledger->pos;
    *token = (struct cw_token){.fingerprint = job->fingerprint,
                               .seed = job->seed,
                               .epoch = pos->epoch,
                               .item = pos->item,
                               .row = pos->row,
                               .rows = pos->rows,
                               .batches = pos->batches,
                               .mode = job->mode,
                               .consumers = job->consumers};
    const struct cw_set *consumed = cw_map_get(&ledger->all_consumed, pos->epoch);
    if (!ledger->reorder.conf.unordered)
        return;
    token->item = token->batches = consumed ? cw_set_first_absent(consumed, 0) : 0;
    if (consumed)
        cw_set_copy(&token->beyond, consumed);
    cw_set_remove(&token->beyond, 0, token->item);
}

/* Encodes the position of the trainer as the token of the next hello. */
static int take_token(struct cw_session *session, struct cw_err *err)
{
    struct cw_token token;
    fill_token(session, &token);
    size_t cap = TOKEN_BYTES + GAP_BYTES * token.beyond.n, n = 0;
    void *bytes = cw_mem_new(cap);
    int rc = cw_token_encode(&token, bytes, cap, &n, err);
    cw_token_fini(&token);
    cw_mem_free(session->conf.token_bytes);
    session->conf.token_bytes = bytes;
    session->conf.token_n = n;
    return rc;
}

int cw_session_forget_job(struct cw_session *session, const char *why, struct cw_err *err)
{
    size_t n = session->streams_n;
    session->streams_n = 0;
    for (size_t i = 0; i < n; i++)
        cw_worker_stream_close(session->streams[i]);
    cw_session_count_workers(session);
    cw_local_workers_end(session->local);
    session->local = NULL;
    cw_ledger_settle(&session->ledger);
    /* All items have come, so nothing is left to ask for. */
    session->over = cw_reorder_is_over(&session->ledger.reorder);
    session->restarting = !session->over;
    session->restart_epoch = session->ledger.pos.epoch;
    session->backoff_ms = CW_SESSION_BACKOFF_MIN_MS;
    cw_log_info("client", "job=%s %s: %s", session->job->id,
                session->over ? "all batches were received"
                              : "it is started again where the trainer stands",
                why);
    return session->restarting ? take_token(session, err) : 0;
}

static void add_whole(struct cw_map *sets, const struct cw_reorder_buffer *order, uint64_t from,
                      uint64_t to)
{
    for (uint64_t epoch = from; order->mine > 0 && epoch < to; epoch++)
        cw_set_add(cw_epoch_sets_get(sets, epoch), 0, order->mine);
}

static void copy_set(struct cw_map *sets, uint64_t epoch, const struct cw_set *set)
{
    for (size_t i = 0; set && i < set->n; i++)
        cw_set_add(cw_epoch_sets_get(sets, epoch), set->v[i].lo, set->v[i].hi);
}

/* The new job knows nothing of what this consumer has received and consumed since its token, so all
 * of that counts as new. */
static void mark_all_new(struct cw_session *session)
{
    struct cw_ledger *ledger = &session->ledger;
    const struct cw_reorder_buffer *order = &ledger->reorder;
    uint64_t epoch;
    void *state;
    cw_ledger_settle(ledger);
    cw_epoch_sets_clear(&ledger->received);
    cw_epoch_sets_clear(&ledger->consumed);
    add_whole(&ledger->received, order, session->restart_epoch, order->epoch);
    for (size_t i = 0; cw_map_next(&order->epochs, &i, &epoch, &state);)
        copy_set(&ledger->received, epoch, cw_reorder_received(order, epoch));
    add_whole(&ledger->consumed, order, session->restart_epoch, ledger->pos.epoch);
    copy_set(&ledger->consumed, ledger->pos.epoch,
             cw_map_get(&ledger->all_consumed, ledger->pos.epoch));
}

int cw_session_restart(struct cw_session *session, const Cachew__V1__ClientWelcome *welcome,
                       struct cw_err *err)
{
    struct cachew_job *job = session->job;
    struct cw_plan_info info = {0};
    if (!welcome->info)
        return cw_err_set(err, CW_E_CORRUPT,
                          "the dispatcher's welcome does not say what the job is");
    int rc = cw_wire_info_from(welcome->info, &info, err);
    if (rc != 0)
        return rc;
    cw_wire_info_fini(&info);
    if (!cw_hash_eq(info.fingerprint, job->fingerprint) || info.items != job->items)
        return cw_err_set(err, CW_E_STATE,
                          "job %s was removed while the trainer was away, and its source files are "
                          "others by now: resume with the files "
                          "that it was started with, or start anew",
                          job->id);
    session->restarting = false;
    cw_client_job_set_id(job, welcome->job_id);
    mark_all_new(session);
    return 0;
}
