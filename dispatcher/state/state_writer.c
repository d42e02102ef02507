/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that writes. It alone uses the connection once the state is open: it is handed a batch
 * of operations, runs them in one transaction, and reports the result. The loop never waits for the
 * disk. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "dispatcher/state/generation_folders.h"
#include "dispatcher/state/state_int.h"

#define SLOW_NS 200000000 /* for tests */
#define LOOK_AGAIN_NS 100000000

static void bind(sqlite3_stmt *stmt, int i, const struct cw_state_value *value, const char *bytes)
{
    switch (value->type) {
    case CW_STATE_REAL:
        sqlite3_bind_double(stmt, i, value->real);
        break;
    case CW_STATE_TEXT:
        sqlite3_bind_text64(stmt, i, bytes + value->at, value->n, SQLITE_STATIC, SQLITE_UTF8);
        break;
    case CW_STATE_BLOB:
        bytes = value->buf ? value->buf->data : bytes + value->at;
        sqlite3_bind_blob64(stmt, i, value->n > 0 ? bytes : "", value->n, SQLITE_STATIC);
        break;
    case CW_STATE_INT:
    default:
        sqlite3_bind_int64(stmt, i, (sqlite3_int64)value->number);
        break;
    }
}

static int run_op(struct cw_state *state, const struct cw_state_op *op, struct cw_err *err)
{
    sqlite3_stmt **stmt = &state->stmts[op->which];
    if (!*stmt && sqlite3_prepare_v3(state->db, cw_state_sql[op->which].text, -1,
                                     SQLITE_PREPARE_PERSISTENT, stmt, NULL) != SQLITE_OK)
        return cw_state_db_error(state->db, state->dir, "preparing a statement", err);
    for (int i = 0; i < op->n; i++)
        bind(*stmt, i + 1, &op->v[i], cw_str_text(&op->bytes));
    int rc = sqlite3_step(*stmt) == SQLITE_DONE
                 ? 0
                 : cw_state_db_error(state->db, state->dir, op->doing, err);
    sqlite3_reset(*stmt);
    sqlite3_clear_bindings(*stmt);
    return rc;
}

static int run_batch(struct cw_state *state, const struct cw_state_queue *batch, struct cw_err *err)
{
    int rc =
        cw_state_exec(state->db, state->dir, "BEGIN IMMEDIATE", "beginning a transaction", err);
    if (rc != 0)
        return rc;
    if (cw_fault_rare("state.slow"))
        cw_clock_sleep_ns(SLOW_NS);
    for (const struct cw_state_op *op = batch->first; rc == 0 && op; op = op->next)
        rc = run_op(state, op, err);
    if (rc == 0 && cw_fault_rare("state.fails"))
        rc = cw_err_set(err, CW_E_IO, "the disk has failed, in a test");
    cw_fault_point("state.in_transaction");
    if (rc == 0)
        rc = cw_state_exec(state->db, state->dir, "COMMIT", "committing", err);
    if (rc != 0 && !sqlite3_get_autocommit(state->db))
        (void)sqlite3_exec(state->db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

/* With a lease: looks whether another dispatcher has taken over. As long as that cannot be known,
 * nothing may be answered, so it is asked again. Returns whether it has, with err; w->mutex is not
 * held. */
static bool look_over(struct cw_state *state, struct cw_err *err)
{
    struct cw_err why = {0};
    enum cw_generation_look look = CW_GENERATION_OWN;
    if (!state->root)
        return false;
    cw_fault_point("state.before_look");
    while ((look = cw_generation_look(state->root, state->folder, &why)) == CW_GENERATION_UNKNOWN) {
        cw_log_error(CW_LOG_MOD, "%s", why.msg);
        cw_clock_sleep_ns(LOOK_AGAIN_NS);
    }
    if (look == CW_GENERATION_OVER)
        *err = why;
    return look == CW_GENERATION_OVER;
}

static bool run_and_look(struct cw_state *state, struct cw_err *err)
{
    cw_state_share_begin(state);
    if (run_batch(state, &state->writer.batch, err) == 0)
        cw_state_shrink(state);
    cw_state_share_end(state);
    return look_over(state, err);
}

static void writer(void *arg)
{
    struct cw_state *state = arg;
    struct cw_state_writer *w = &state->writer;
    cw_mutex_lock(&w->mutex);
    for (;;) {
        while (w->phase != CW_STATE_HANDED && !w->stop)
            cw_cond_wait(&w->cond, &w->mutex);
        if (w->phase != CW_STATE_HANDED)
            break;
        cw_mutex_unlock(&w->mutex);
        struct cw_err err = {0};
        bool is_over = run_and_look(state, &err);
        cw_mutex_lock(&w->mutex);
        w->err = err;
        w->is_over = is_over;
        w->phase = CW_STATE_RAN;
        cw_state_notify_fn *notify = w->notify;
        void *notify_arg = w->notify_arg;
        cw_cond_broadcast(&w->cond);
        if (notify)
            /* The call is made under the lock, so nobody closes the state meanwhile. */
            notify(notify_arg);
    }
    cw_mutex_unlock(&w->mutex);
}

void cw_state_writer_start(struct cw_state *state)
{
    cw_mutex_init(&state->writer.mutex);
    cw_cond_init(&state->writer.cond);
    cw_thread_start(&state->writer.thread, "cachew-state", writer, state);
}

void cw_state_writer_stop(struct cw_state *state)
{
    struct cw_state_writer *w = &state->writer;
    if (!w->thread.started)
        return;
    cw_mutex_lock(&w->mutex);
    w->stop = true;
    cw_cond_broadcast(&w->cond);
    cw_mutex_unlock(&w->mutex);
    cw_thread_join(&w->thread);
    cw_cond_fini(&w->cond);
    cw_mutex_fini(&w->mutex);
    cw_state_queue_clear(&w->batch);
}

void cw_state_on_written(struct cw_state *state, cw_state_notify_fn *fn, void *arg)
{
    cw_mutex_lock(&state->writer.mutex);
    state->writer.notify = fn;
    state->writer.notify_arg = arg;
    cw_mutex_unlock(&state->writer.mutex);
}

bool cw_state_is_dirty(const struct cw_state *state)
{
    return state->pending.first || state->busy;
}

size_t cw_state_waiting_n(const struct cw_state *state)
{
    return state->pending.n;
}

bool cw_state_is_waiting(const struct cw_state *state)
{
    return state && state->pending.first;
}

bool cw_state_is_over(const struct cw_state *state)
{
    return state && state->is_over;
}

uint64_t cw_state_seq(const struct cw_state *state)
{
    return state ? state->seq : 0;
}

bool cw_state_is_stored(const struct cw_state *state, uint64_t seq)
{
    return !state || seq <= state->stored_seq;
}

bool cw_state_is_overloaded(const struct cw_state *state)
{
    return state &&
           state->pending.bytes + (state->busy ? state->batch_bytes : 0) > CW_STATE_OVERLOAD_BYTES;
}

bool cw_state_submit(struct cw_state *state)
{
    struct cw_state_writer *w = &state->writer;
    if (state->busy || !state->pending.first)
        return false;
    state->busy = true;
    state->batch_seq = state->seq;
    state->batch_bytes = state->pending.bytes;
    cw_mutex_lock(&w->mutex);
    w->batch = state->pending;
    state->pending = (struct cw_state_queue){0};
    w->phase = CW_STATE_HANDED;
    cw_cond_broadcast(&w->cond);
    cw_mutex_unlock(&w->mutex);
    return true;
}

static enum cw_state_result take_result(struct cw_state *state, struct cw_err *err)
{
    struct cw_state_writer *w = &state->writer;
    w->phase = CW_STATE_IDLE;
    state->busy = false;
    state->is_over = state->is_over || w->is_over;
    if (w->err.code == 0) {
        cw_state_queue_clear(&w->batch);
        state->stored_seq = state->batch_seq;
        return CW_STATE_STORED;
    }
    cw_state_queue_prepend(&state->pending, &w->batch);
    cw_state_queue_clear(&w->batch);
    cw_err_set(err, w->err.code, "%s", w->err.msg);
    return CW_STATE_NOT_STORED;
}

enum cw_state_result cw_state_collect(struct cw_state *state, struct cw_err *err)
{
    struct cw_state_writer *w = &state->writer;
    if (!state->busy)
        return CW_STATE_NOTHING;
    cw_mutex_lock(&w->mutex);
    enum cw_state_result result =
        w->phase == CW_STATE_RAN ? take_result(state, err) : CW_STATE_NOTHING;
    cw_mutex_unlock(&w->mutex);
    return result;
}

static enum cw_state_result wait_result(struct cw_state *state, struct cw_err *err)
{
    struct cw_state_writer *w = &state->writer;
    cw_mutex_lock(&w->mutex);
    while (w->phase != CW_STATE_RAN)
        cw_cond_wait(&w->cond, &w->mutex);
    enum cw_state_result result = take_result(state, err);
    cw_mutex_unlock(&w->mutex);
    return result;
}

int cw_state_commit(struct cw_state *state, struct cw_err *err)
{
    struct cw_err ignored = {0};
    if (state->busy)
        (void)wait_result(state, &ignored);
    if (!cw_state_submit(state))
        return 0;
    struct cw_err own = {0};
    if (wait_result(state, &own) == CW_STATE_STORED)
        return 0;
    return cw_err_set(err, own.code, "%s", own.msg);
}
