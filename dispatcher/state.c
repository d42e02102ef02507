/* SPDX-License-Identifier: Apache-2.0 */
/* Writes. Each binds one prepared statement; the first of a turn opens the transaction. */
#include <string.h>
#include "base/mem.h"
#include "dispatcher/state_int.h"

static const char *const sql[CW_STATE_STATEMENTS_N] = {
    [CW_STATE_PUT_JOB] = "INSERT OR REPLACE INTO jobs VALUES(?,?,?,?,?,?,?,?,?,?,?)",
    [CW_STATE_SET_JOB] = "UPDATE jobs SET status=?2, first_epoch=?3, error_code=?4, error=?5 WHERE id=?1",
    [CW_STATE_DROP_PROGRESS] = "DELETE FROM progress WHERE job=?1 AND epoch<?2",
    [CW_STATE_DROP_SKIPPED] = "DELETE FROM skipped WHERE job=?1 AND epoch<?2",
    [CW_STATE_REMOVE_JOB] = "DELETE FROM jobs WHERE id=?1",
    [CW_STATE_PUT_PROGRESS] = "INSERT OR REPLACE INTO progress SELECT ?1,?2,?3,?4 WHERE EXISTS(SELECT 1 FROM jobs WHERE id=?1)",
    [CW_STATE_CLEAR_PROGRESS] = "DELETE FROM progress WHERE job=?1",
    [CW_STATE_PUT_SKIPPED] = "INSERT OR REPLACE INTO skipped SELECT ?1,?2,?3 WHERE EXISTS(SELECT 1 FROM jobs WHERE id=?1)",
    [CW_STATE_PUT_LEFT_OUT] = "INSERT OR REPLACE INTO left_out SELECT ?1,?2,?3 WHERE EXISTS(SELECT 1 FROM jobs WHERE id=?1)",
    [CW_STATE_PUT_POSITION] =
        "INSERT OR REPLACE INTO positions SELECT ?1,?2,?3,?4,?5,?6,?7,?8 WHERE EXISTS(SELECT 1 FROM jobs WHERE id=?1)",
    [CW_STATE_PUT_WORKER] = "INSERT OR REPLACE INTO workers VALUES(?,?)",
    [CW_STATE_REMOVE_WORKER] = "DELETE FROM workers WHERE id=?",
    [CW_STATE_PUT_CACHE_KEY] = "INSERT OR REPLACE INTO cache_keys VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [CW_STATE_REMOVE_CACHE_KEY] = "DELETE FROM cache_keys WHERE tenant=? AND key=?",
    [CW_STATE_PUT_USAGE] = "INSERT OR REPLACE INTO usage SELECT ?1,?2,?3,?4,?5,?6,?7,?8 WHERE EXISTS(SELECT 1 FROM jobs WHERE id=?1)",
    [CW_STATE_PUT_TENANT] = "INSERT OR REPLACE INTO tenants VALUES(?,?,?,?,?,?,?,?)",
    [CW_STATE_PUT_DECISION] =
        "INSERT INTO decisions(job,name,kind,policy,choice,reason,candidates,inputs,time_ms,epoch,predicted_ns) VALUES(?,?,?,?,?,?,?,?,?,?,?)",
    [CW_STATE_DROP_DECISIONS] =
        ("DELETE FROM decisions WHERE job=?1 AND kind=?2 AND id <= (SELECT id FROM decisions WHERE job=?1 AND kind=?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)"),
    [CW_STATE_DROP_ALL_DECISIONS] =
        ("DELETE FROM decisions WHERE id <= (SELECT id FROM decisions ORDER BY id DESC LIMIT 1 OFFSET ?1)"
         " AND id NOT IN (SELECT max(id) FROM decisions WHERE job IN (SELECT id FROM jobs) GROUP BY job, kind)"),
    [CW_STATE_FORGET_DECISIONS] = "DELETE FROM decisions WHERE job=?1",
    [CW_STATE_PUT_PROFILE] = "INSERT OR REPLACE INTO profiles VALUES(?,?,?,?)",
    [CW_STATE_DROP_PROFILES] = "DELETE FROM profiles WHERE time_ms <= (SELECT time_ms FROM profiles ORDER BY time_ms DESC LIMIT 1 OFFSET ?1)",
};

void cw_state_set_bytes(const struct cw_set *set, struct cw_str *out)
{
    for (size_t i = 0; i < set->n; i++) {
        const uint64_t pair[2] = {set->v[i].lo, set->v[i].hi};
        for (size_t j = 0; j < 16; j++)
            cw_str_add_char(out, (char)(unsigned char)(pair[j / 8] >> (8 * (j % 8))));
    }
}

int cw_state_set_read(const void *p, size_t n, struct cw_set *set, struct cw_err *err)
{
    const unsigned char *b = p;
    if (n % 16 != 0)
        return cw_err_set(err, CW_E_CORRUPT, "a stored set has %zu bytes", n);
    for (size_t i = 0; i < n; i += 16) {
        uint64_t pair[2] = {0, 0};
        for (size_t j = 0; j < 16; j++)
            pair[j / 8] |= (uint64_t)b[i + j] << (8 * (j % 8));
        if (pair[0] >= pair[1])
            return cw_err_set(err, CW_E_CORRUPT, "a stored set is not valid");
        cw_set_add(set, pair[0], pair[1]);
    }
    return 0;
}

static void note_failure(struct cw_state *state, const char *doing)
{
    if (state->failed.code == 0)
        cw_state_db_error(state->db, state->dir, doing, &state->failed);
}

sqlite3_stmt *cw_state_begin(struct cw_state *state, enum cw_state_statement which)
{
    if (!state->open_tx) {
        state->open_tx = true;
        state->failed = (struct cw_err){0};
        if (sqlite3_exec(state->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
            note_failure(state, "beginning a transaction");
    }
    if (state->failed.code != 0)
        return NULL;
    if (!state->stmts[which] &&
        sqlite3_prepare_v3(state->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, &state->stmts[which], NULL) != SQLITE_OK) {
        note_failure(state, "preparing a statement");
        return NULL;
    }
    return state->stmts[which];
}

void cw_state_finish(struct cw_state *state, sqlite3_stmt *stmt, const char *doing)
{
    if (sqlite3_step(stmt) != SQLITE_DONE)
        note_failure(state, doing);
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
}

void cw_state_bind_text(sqlite3_stmt *stmt, int i, const char *s)
{
    sqlite3_bind_text(stmt, i, s ? s : "", -1, SQLITE_TRANSIENT);
}

void cw_state_bind_u64(sqlite3_stmt *stmt, int i, uint64_t v)
{
    sqlite3_bind_int64(stmt, i, (sqlite3_int64)v);
}

void cw_state_bind_blob(sqlite3_stmt *stmt, int i, const void *p, size_t n)
{
    sqlite3_bind_blob64(stmt, i, n > 0 ? p : "", n, SQLITE_TRANSIENT);
}

static void bind_set(sqlite3_stmt *stmt, int i, const struct cw_set *set)
{
    CW_STR_AUTO bytes = {0};
    cw_state_set_bytes(set, &bytes);
    cw_state_bind_blob(stmt, i, bytes.s, bytes.len);
}

void cw_state_put_job(struct cw_state *state, const struct cw_state_job *job)
{
    sqlite3_stmt *stmt = cw_state_begin(state, CW_STATE_PUT_JOB);
    if (!stmt)
        return;
    cw_state_bind_text(stmt, 1, job->id);
    cw_state_bind_text(stmt, 2, job->name);
    sqlite3_bind_int(stmt, 3, (int)job->status);
    cw_state_bind_blob(stmt, 4, job->options.p, job->options.n);
    cw_state_bind_blob(stmt, 5, job->graph.p, job->graph.n);
    cw_state_bind_blob(stmt, 6, job->manifest.p, job->manifest.n);
    cw_state_bind_blob(stmt, 7, job->info.p, job->info.n);
    cw_state_bind_u64(stmt, 8, job->first_epoch);
    sqlite3_bind_int(stmt, 9, job->error_code);
    cw_state_bind_text(stmt, 10, job->error);
    sqlite3_bind_int64(stmt, 11, job->created_ms);
    cw_state_finish(state, stmt, "storing a job");
}

static void drop_below(struct cw_state *state, enum cw_state_statement which, const char *id, uint64_t epoch)
{
    sqlite3_stmt *stmt = cw_state_begin(state, which);
    if (!stmt)
        return;
    cw_state_bind_text(stmt, 1, id);
    cw_state_bind_u64(stmt, 2, epoch);
    cw_state_finish(state, stmt, "dropping the progress of past epochs");
}

void cw_state_set_job(struct cw_state *state, const char *id, enum cw_job_status status, uint64_t first_epoch, int error_code, const char *error)
{
    sqlite3_stmt *stmt = cw_state_begin(state, CW_STATE_SET_JOB);
    if (!stmt)
        return;
    cw_state_bind_text(stmt, 1, id);
    sqlite3_bind_int(stmt, 2, (int)status);
    cw_state_bind_u64(stmt, 3, first_epoch);
    sqlite3_bind_int(stmt, 4, error_code);
    cw_state_bind_text(stmt, 5, error);
    cw_state_finish(state, stmt, "storing a job's state");
    drop_below(state, CW_STATE_DROP_PROGRESS, id, first_epoch);
    drop_below(state, CW_STATE_DROP_SKIPPED, id, first_epoch);
}

static void one_text(struct cw_state *state, enum cw_state_statement which, const char *id, const char *doing)
{
    sqlite3_stmt *stmt = cw_state_begin(state, which);
    if (!stmt)
        return;
    cw_state_bind_text(stmt, 1, id);
    cw_state_finish(state, stmt, doing);
}

void cw_state_remove_job(struct cw_state *state, const char *id)
{
    one_text(state, CW_STATE_REMOVE_JOB, id, "removing a job");
}

void cw_state_clear_progress(struct cw_state *state, const char *id)
{
    one_text(state, CW_STATE_CLEAR_PROGRESS, id, "clearing a job's progress");
}

void cw_state_put_progress(struct cw_state *state, const char *id, uint64_t epoch, int consumer, const struct cw_set *consumed)
{
    sqlite3_stmt *stmt = cw_state_begin(state, CW_STATE_PUT_PROGRESS);
    if (!stmt)
        return;
    cw_state_bind_text(stmt, 1, id);
    cw_state_bind_u64(stmt, 2, epoch);
    sqlite3_bind_int(stmt, 3, consumer);
    bind_set(stmt, 4, consumed);
    cw_state_finish(state, stmt, "storing progress");
}

static void put_items(struct cw_state *state, enum cw_state_statement which, const char *id, uint64_t epoch, const struct cw_set *items)
{
    sqlite3_stmt *stmt = cw_state_begin(state, which);
    if (!stmt)
        return;
    cw_state_bind_text(stmt, 1, id);
    cw_state_bind_u64(stmt, 2, epoch);
    bind_set(stmt, 3, items);
    cw_state_finish(state, stmt, "storing skipped items");
}

void cw_state_put_skipped(struct cw_state *state, const char *id, uint64_t epoch, const struct cw_set *skipped)
{
    put_items(state, CW_STATE_PUT_SKIPPED, id, epoch, skipped);
}

void cw_state_put_left_out(struct cw_state *state, const char *id, uint64_t epoch, const struct cw_set *items)
{
    put_items(state, CW_STATE_PUT_LEFT_OUT, id, epoch, items);
}

void cw_state_put_position(struct cw_state *state, const char *id, uint32_t consumer, uint64_t client_id, const struct cw_state_position *position)
{
    sqlite3_stmt *stmt = cw_state_begin(state, CW_STATE_PUT_POSITION);
    if (!stmt)
        return;
    cw_state_bind_text(stmt, 1, id);
    const uint64_t v[] = {consumer, client_id, position->epoch, position->item, position->row, position->rows, position->batches};
    for (size_t i = 0; i < CW_ARRAY_LEN(v); i++)
        cw_state_bind_u64(stmt, (int)i + 2, v[i]);
    cw_state_finish(state, stmt, "storing a consumer's position");
}

void cw_state_put_worker(struct cw_state *state, uint64_t worker_id, const char *address)
{
    sqlite3_stmt *stmt = cw_state_begin(state, CW_STATE_PUT_WORKER);
    if (!stmt)
        return;
    cw_state_bind_u64(stmt, 1, worker_id);
    cw_state_bind_text(stmt, 2, address);
    cw_state_finish(state, stmt, "storing a worker");
}

void cw_state_remove_worker(struct cw_state *state, uint64_t worker_id)
{
    sqlite3_stmt *stmt = cw_state_begin(state, CW_STATE_REMOVE_WORKER);
    if (!stmt)
        return;
    cw_state_bind_u64(stmt, 1, worker_id);
    cw_state_finish(state, stmt, "removing a worker");
}

void cw_state_put_cache_key(struct cw_state *state, const struct cw_state_cache_key *row)
{
    sqlite3_stmt *stmt = cw_state_begin(state, CW_STATE_PUT_CACHE_KEY);
    if (!stmt)
        return;
    const char *const texts[] = {row->tenant, row->key, row->pipeline, row->node, row->op};
    const uint64_t numbers[] = {row->ids,          row->hits,  row->misses, row->saved_ns, row->cost_ns, row->cost_records,
                                (uint64_t)row->created_ms, (uint64_t)row->used_ms, row->pinned};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++)
        cw_state_bind_text(stmt, (int)i + 1, texts[i]);
    for (size_t i = 0; i < CW_ARRAY_LEN(numbers); i++)
        cw_state_bind_u64(stmt, (int)(CW_ARRAY_LEN(texts) + i) + 1, numbers[i]);
    cw_state_finish(state, stmt, "storing a key of the cache");
}

void cw_state_remove_cache_key(struct cw_state *state, const char *tenant, const char *key)
{
    sqlite3_stmt *stmt = cw_state_begin(state, CW_STATE_REMOVE_CACHE_KEY);
    if (!stmt)
        return;
    cw_state_bind_text(stmt, 1, tenant);
    cw_state_bind_text(stmt, 2, key);
    cw_state_finish(state, stmt, "removing a key of the cache");
}

bool cw_state_is_dirty(const struct cw_state *state)
{
    return state->open_tx;
}

int cw_state_commit(struct cw_state *state, struct cw_err *err)
{
    if (!state->open_tx)
        return 0;
    state->open_tx = false;
    if (state->failed.code == 0 && sqlite3_exec(state->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        note_failure(state, "committing");
    if (state->failed.code == 0)
        return 0;
    if (!sqlite3_get_autocommit(state->db))
        (void)sqlite3_exec(state->db, "ROLLBACK", NULL, NULL, NULL);
    return cw_err_set(err, state->failed.code, "%s", state->failed.msg);
}
