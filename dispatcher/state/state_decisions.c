/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions of all kinds, and profiles of pipelines. Decisions outlive their job, so their number
 * is limited. */
#include "dispatcher/state/state_int.h"

/* The limit for all decisions together is enforced once per this number of new decisions. */
#define DROP_EVERY 64
#define COLUMNS                                                                                    \
    "id, time_ms, epoch, predicted_ns, job, name, kind, policy, choice, reason, candidates, "      \
    "inputs, remote, local"

static void drop_old(struct cw_state *state, const struct cw_state_decision *row, uint64_t kept,
                     uint64_t kept_in_all)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_DROP_DECISIONS, "dropping old decisions");
    cw_state_add_text(op, row->job);
    cw_state_add_text(op, row->kind);
    cw_state_add_u64(op, kept);
    cw_state_add(state, op);
    if (state->decisions_put++ % DROP_EVERY != 0)
        return;
    op = cw_state_op_new(CW_STATE_DROP_ALL_DECISIONS, "dropping old decisions");
    cw_state_add_u64(op, kept_in_all);
    cw_state_add(state, op);
}

void cw_state_put_decision(struct cw_state *state, const struct cw_state_decision *row,
                           uint64_t kept, uint64_t kept_in_all)
{
    /* While the disk fails, what may be lost makes way for what may not. */
    if (cw_state_is_overloaded(state))
        return;
    struct cw_state_op *op = cw_state_op_new(CW_STATE_PUT_DECISION, "storing a decision");
    const char *const texts[] = {row->job,    row->name,   row->kind,       row->policy,
                                 row->choice, row->reason, row->candidates, row->inputs};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++)
        cw_state_add_text(op, texts[i]);
    cw_state_add_u64(op, (uint64_t)row->time_ms);
    cw_state_add_u64(op, row->epoch);
    cw_state_add_f64(op, row->predicted_ns);
    cw_state_add_f64(op, row->remote);
    cw_state_add_f64(op, row->local);
    cw_state_add(state, op);
    drop_old(state, row, kept, kept_in_all);
}

void cw_state_forget_decisions(struct cw_state *state, const char *job)
{
    struct cw_state_op *op =
        cw_state_op_new(CW_STATE_FORGET_DECISIONS, "removing a job's decisions");
    cw_state_add_text(op, job);
    cw_state_add(state, op);
}

void cw_state_put_profile(struct cw_state *state, const char *key, const char *job, int64_t time_ms,
                          const char *inputs, uint64_t kept)
{
    if (cw_state_is_overloaded(state))
        return;
    struct cw_state_op *op =
        cw_state_op_new(CW_STATE_PUT_PROFILE, "storing what was measured of a pipeline");
    cw_state_add_text(op, key);
    cw_state_add_text(op, job);
    cw_state_add_u64(op, (uint64_t)time_ms);
    cw_state_add_text(op, inputs);
    cw_state_add(state, op);
    op = cw_state_op_new(CW_STATE_DROP_PROFILES, "dropping what was measured of old pipelines");
    cw_state_add_u64(op, kept);
    cw_state_add(state, op);
}

/* ---- reading ---- */

static void bind_text(sqlite3_stmt *stmt, int i, const char *s)
{
    sqlite3_bind_text(stmt, i, s ? s : "", -1, SQLITE_TRANSIENT);
}

static const char *text_at(sqlite3_stmt *stmt, int i)
{
    const char *s = (const char *)sqlite3_column_text(stmt, i);
    return s ? s : "";
}

struct target {
    cw_state_decision_fn *decision;
    cw_state_profile_fn *profile;
    void *arg;
};

static int on_decision(sqlite3_stmt *stmt, const struct target *target, struct cw_err *err)
{
    const struct cw_state_decision row = {
        .id = (uint64_t)sqlite3_column_int64(stmt, 0),
        .time_ms = sqlite3_column_int64(stmt, 1),
        .epoch = (uint64_t)sqlite3_column_int64(stmt, 2),
        .predicted_ns = sqlite3_column_double(stmt, 3),
        .job = text_at(stmt, 4),
        .name = text_at(stmt, 5),
        .kind = text_at(stmt, 6),
        .policy = text_at(stmt, 7),
        .choice = text_at(stmt, 8),
        .reason = text_at(stmt, 9),
        .candidates = text_at(stmt, 10),
        .inputs = text_at(stmt, 11),
        .remote = sqlite3_column_double(stmt, 12),
        .local = sqlite3_column_double(stmt, 13),
    };
    return target->decision(target->arg, &row, err);
}

static int on_profile(sqlite3_stmt *stmt, const struct target *target, struct cw_err *err)
{
    return target->profile(target->arg, text_at(stmt, 0), text_at(stmt, 1), text_at(stmt, 2), err);
}

/* Reads all rows of a statement that is ready, and frees it. A callback that returns more than 0
 * ends the reading. */
static int read_rows(struct cw_state *state, sqlite3_stmt *stmt,
                     int (*fn)(sqlite3_stmt *, const struct target *, struct cw_err *),
                     const struct target *target, struct cw_err *err)
{
    int rc = 0, step;
    while (rc == 0 && (step = sqlite3_step(stmt)) != SQLITE_DONE) {
        if (step == SQLITE_ROW)
            rc = fn(stmt, target, err);
        else
            rc = cw_state_db_error(state->reader, state->dir, "reading decisions", err);
    }
    sqlite3_finalize(stmt);
    return CW_MIN(rc, 0);
}

static int prepare(struct cw_state *state, const char *sql, sqlite3_stmt **ret_stmt,
                   struct cw_err *err)
{
    *ret_stmt = NULL;
    if (sqlite3_prepare_v2(state->reader, sql, -1, ret_stmt, NULL) == SQLITE_OK)
        return 0;
    return cw_state_db_error(state->reader, state->dir, "reading decisions", err);
}

int cw_state_find_decisions(struct cw_state *state, const struct cw_state_decision_query *query,
                            cw_state_decision_fn *fn, void *arg, struct cw_err *err)
{
    CW_STR_AUTO sql = {0};
    sqlite3_stmt *stmt;
    cw_str_addf(&sql, "SELECT " COLUMNS " FROM decisions WHERE id>?3%s%s ORDER BY id %s LIMIT ?4",
                query->job ? " AND job=?1" : "", query->kind ? " AND kind=?2" : "",
                query->after_id == 0 ? "DESC" : "ASC");
    cw_state_share_begin(state);
    int rc = prepare(state, cw_str_text(&sql), &stmt, err);
    if (rc == 0) {
        bind_text(stmt, 1, query->job);
        bind_text(stmt, 2, query->kind);
        sqlite3_bind_int64(stmt, 3, (sqlite3_int64)query->after_id);
        sqlite3_bind_int64(stmt, 4, (sqlite3_int64)query->limit);
        rc = read_rows(state, stmt, on_decision, &(const struct target){.decision = fn, .arg = arg},
                       err);
    }
    cw_state_share_end(state);
    return rc;
}

int cw_state_find_decided(struct cw_state *state, const char *id_or_name, struct cw_str *ret_job,
                          struct cw_err *err)
{
    sqlite3_stmt *stmt;
    cw_state_share_begin(state);
    int rc = prepare(
        state,
        "SELECT job FROM decisions WHERE job<>'' AND (job=?1 OR name=?1) ORDER BY id DESC LIMIT 1",
        &stmt, err);
    bind_text(stmt, 1, id_or_name);
    if (rc == 0 && sqlite3_step(stmt) == SQLITE_ROW)
        cw_str_add(ret_job, text_at(stmt, 0));
    sqlite3_finalize(stmt);
    cw_state_share_end(state);
    if (rc != 0)
        return rc;
    return ret_job->len > 0
               ? 0
               : cw_err_set(err, CW_E_NOT_FOUND,
                            "there is no job \"%s\", and nothing is kept of one", id_or_name);
}

static int load_decisions(struct cw_state *state, const char *kind, const struct target *target,
                          struct cw_err *err)
{
    sqlite3_stmt *stmt;
    int rc = prepare(state, "SELECT key, job, inputs FROM profiles ORDER BY time_ms", &stmt, err);
    if (rc == 0)
        rc = read_rows(state, stmt, on_profile, target, err);
    if (rc == 0)
        rc = prepare(state,
                     "SELECT " COLUMNS " FROM decisions WHERE id IN"
                     " (SELECT max(id) FROM decisions WHERE kind=?1 AND job IN (SELECT id FROM "
                     "jobs) GROUP BY job) ORDER BY id",
                     &stmt, err);
    if (rc != 0)
        return rc;
    bind_text(stmt, 1, kind);
    return read_rows(state, stmt, on_decision, target, err);
}

int cw_state_load_decisions(struct cw_state *state, const char *kind, cw_state_profile_fn *profile,
                            cw_state_decision_fn *decision, void *arg, struct cw_err *err)
{
    cw_state_share_begin(state);
    int rc = load_decisions(state, kind, &(const struct target){decision, profile, arg}, err);
    cw_state_share_end(state);
    return rc;
}
