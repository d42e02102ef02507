/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions of jobs, and what was measured of pipelines. */
#include "dispatcher/state_int.h"

void cw_state_put_decision(struct cw_state *state, const struct cw_state_decision *row, uint64_t kept)
{
    sqlite3_stmt *stmt = cw_state_begin(state, CW_STATE_PUT_DECISION);
    if (!stmt)
        return;
    const char *const texts[] = {row->job, row->kind, row->policy, row->choice, row->reason, row->candidates, row->inputs};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++)
        cw_state_bind_text(stmt, (int)i + 1, texts[i]);
    cw_state_bind_u64(stmt, 8, (uint64_t)row->time_ms);
    cw_state_bind_u64(stmt, 9, row->epoch);
    sqlite3_bind_double(stmt, 10, row->predicted_ns);
    cw_state_finish(state, stmt, "storing a decision");
    stmt = cw_state_begin(state, CW_STATE_DROP_DECISIONS);
    if (!stmt)
        return;
    cw_state_bind_text(stmt, 1, row->job);
    cw_state_bind_u64(stmt, 2, kept);
    cw_state_finish(state, stmt, "dropping old decisions");
}

void cw_state_put_profile(struct cw_state *state, const char *key, const char *job, int64_t time_ms, const char *inputs, uint64_t kept)
{
    sqlite3_stmt *stmt = cw_state_begin(state, CW_STATE_PUT_PROFILE);
    if (!stmt)
        return;
    cw_state_bind_text(stmt, 1, key);
    cw_state_bind_text(stmt, 2, job);
    cw_state_bind_u64(stmt, 3, (uint64_t)time_ms);
    cw_state_bind_text(stmt, 4, inputs);
    cw_state_finish(state, stmt, "storing what was measured of a pipeline");
    stmt = cw_state_begin(state, CW_STATE_DROP_PROFILES);
    if (!stmt)
        return;
    cw_state_bind_u64(stmt, 1, kept);
    cw_state_finish(state, stmt, "dropping what was measured of old pipelines");
}

static const char *text_at(sqlite3_stmt *stmt, int i)
{
    const char *s = (const char *)sqlite3_column_text(stmt, i);
    return s ? s : "";
}

static int read_decision(sqlite3_stmt *stmt, cw_state_decision_fn *fn, void *arg, struct cw_err *err)
{
    const struct cw_state_decision row = {
        .job = text_at(stmt, 0),
        .kind = text_at(stmt, 1),
        .policy = text_at(stmt, 2),
        .choice = text_at(stmt, 3),
        .reason = text_at(stmt, 4),
        .candidates = text_at(stmt, 5),
        .inputs = text_at(stmt, 6),
        .time_ms = sqlite3_column_int64(stmt, 7),
        .epoch = (uint64_t)sqlite3_column_int64(stmt, 8),
        .predicted_ns = sqlite3_column_double(stmt, 9),
    };
    return fn(arg, &row, err);
}

int cw_state_load_decisions(struct cw_state *state, cw_state_profile_fn *profile, cw_state_decision_fn *decision, void *arg, struct cw_err *err)
{
    static const char *const sql[] = {"SELECT key, job, inputs FROM profiles ORDER BY time_ms",
                                      "SELECT job, kind, policy, choice, reason, candidates, inputs, time_ms, epoch, predicted_ns FROM decisions ORDER BY id"};
    for (size_t i = 0; i < CW_ARRAY_LEN(sql); i++) {
        sqlite3_stmt *stmt = NULL;
        if (sqlite3_prepare_v2(state->db, sql[i], -1, &stmt, NULL) != SQLITE_OK)
            return cw_state_db_error(state->db, state->dir, "reading decisions", err);
        int rc = 0, step;
        while (rc == 0 && (step = sqlite3_step(stmt)) != SQLITE_DONE) {
            if (step != SQLITE_ROW)
                rc = cw_state_db_error(state->db, state->dir, "reading decisions", err);
            else if (i == 0)
                rc = profile(arg, text_at(stmt, 0), text_at(stmt, 1), text_at(stmt, 2), err);
            else
                rc = read_decision(stmt, decision, arg, err);
        }
        sqlite3_finalize(stmt);
        if (rc != 0)
            return rc;
    }
    return 0;
}
