/* SPDX-License-Identifier: Apache-2.0 */
/* Writes. Each becomes an operation in memory that waits for the next transaction
 * (state_queue.c, state_writer.c). */
#include <string.h>
#include "base/mem.h"
#include "dispatcher/state/state_int.h"

/* Text; the letter of the table whose row it is about, and how many values name that row
 * (state_queue.c). */
const struct cw_state_sql cw_state_sql[CW_STATE_STATEMENTS_N] = {
    [CW_STATE_PUT_JOB] =
        {"INSERT INTO jobs VALUES(?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET "
         "name=excluded.name,"
         " status=excluded.status, options=excluded.options, graph=excluded.graph,"
         " manifest=excluded.manifest, info=excluded.info, first_epoch=excluded.first_epoch,"
         " error_code=excluded.error_code, error=excluded.error, created_ms=excluded.created_ms",
         'J', 1},
    [CW_STATE_SET_JOB] =
        {"UPDATE jobs SET status=?2, first_epoch=?3, error_code=?4, error=?5 WHERE id=?1", 's', 1},
    [CW_STATE_SET_OPTIONS] = {"UPDATE jobs SET options=?2 WHERE id=?1", 'o', 1},
    [CW_STATE_DROP_PROGRESS] = {"DELETE FROM progress WHERE job=?1 AND epoch<?2", 'd', 2},
    [CW_STATE_DROP_SKIPPED] = {"DELETE FROM skipped WHERE job=?1 AND epoch<?2", 'e', 2},
    [CW_STATE_REMOVE_JOB] = {"DELETE FROM jobs WHERE id=?1", 'J', 1},
    [CW_STATE_PUT_PROGRESS] = {"INSERT OR REPLACE INTO progress SELECT ?1,?2,?3,?4 WHERE "
                               "EXISTS(SELECT 1 FROM jobs WHERE id=?1)",
                               'p', 3},
    [CW_STATE_CLEAR_PROGRESS] = {"DELETE FROM progress WHERE job=?1", 'c', 1},
    [CW_STATE_CLEAR_SKIPPED] = {"DELETE FROM skipped WHERE job=?1", 'm', 1},
    [CW_STATE_PUT_SKIPPED] = {"INSERT OR REPLACE INTO skipped SELECT ?1,?2,?3 WHERE EXISTS(SELECT "
                              "1 FROM jobs WHERE id=?1)",
                              'k', 2},
    [CW_STATE_PUT_LEFT_OUT] = {"INSERT OR REPLACE INTO left_out SELECT ?1,?2,?3 WHERE "
                               "EXISTS(SELECT 1 FROM jobs WHERE id=?1)",
                               'l', 2},
    [CW_STATE_PUT_POSITION] = {"INSERT OR REPLACE INTO positions SELECT ?1,?2,?3,?4,?5,?6,?7,?8 "
                               "WHERE EXISTS(SELECT 1 FROM jobs WHERE id=?1)",
                               'q', 2},
    [CW_STATE_PUT_WORKER] = {"INSERT OR REPLACE INTO workers VALUES(?,?)", 'w', 1},
    [CW_STATE_REMOVE_WORKER] = {"DELETE FROM workers WHERE id=?", 'w', 1},
    [CW_STATE_PUT_CACHE_KEY] =
        {"INSERT OR REPLACE INTO cache_keys VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)", 'h', 2},
    [CW_STATE_REMOVE_CACHE_KEY] = {"DELETE FROM cache_keys WHERE tenant=? AND key=?", 'h', 2},
    [CW_STATE_PUT_USAGE] = {"INSERT OR REPLACE INTO usage SELECT ?1,?2,?3,?4,?5,?6,?7,?8 WHERE "
                            "EXISTS(SELECT 1 FROM jobs WHERE id=?1)",
                            'u', 1},
    [CW_STATE_PUT_COUNTS] =
        {"INSERT OR REPLACE INTO counts SELECT ?1,?2 WHERE EXISTS(SELECT 1 FROM jobs WHERE id=?1)",
         'n', 1},
    [CW_STATE_PUT_TENANT] = {"INSERT OR REPLACE INTO tenants VALUES(?,?,?,?,?,?,?,?)", 't', 1},
    [CW_STATE_PUT_DECISION] = {"INSERT INTO "
                               "decisions(job,name,kind,policy,choice,reason,candidates,inputs,"
                               "time_ms,epoch,predicted_ns,remote,local)"
                               " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
                               0, 0},
    [CW_STATE_DROP_DECISIONS] =
        {"DELETE FROM decisions WHERE job=?1 AND kind=?2 AND id <="
         " (SELECT id FROM decisions WHERE job=?1 AND kind=?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)",
         'x', 2},
    [CW_STATE_DROP_ALL_DECISIONS] = {"DELETE FROM decisions WHERE id <= (SELECT id FROM decisions "
                                     "ORDER BY id DESC LIMIT 1 OFFSET ?1)"
                                     " AND id NOT IN (SELECT max(id) FROM decisions WHERE job IN "
                                     "(SELECT id FROM jobs) GROUP BY job, kind)",
                                     'y', 0},
    [CW_STATE_FORGET_DECISIONS] = {"DELETE FROM decisions WHERE job=?1", 'f', 1},
    [CW_STATE_PUT_PROFILE] = {"INSERT OR REPLACE INTO profiles VALUES(?,?,?,?)", 'r', 1},
    [CW_STATE_DROP_PROFILES] = {"DELETE FROM profiles WHERE time_ms <= (SELECT time_ms FROM "
                                "profiles ORDER BY time_ms DESC LIMIT 1 OFFSET ?1)",
                                'z', 0},
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

void cw_state_add(struct cw_state *state, struct cw_state_op *op)
{
    state->seq++;
    cw_state_queue_add(&state->pending, op);
}

void cw_state_put_job(struct cw_state *state, const struct cw_state_job *job)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_PUT_JOB, "storing a job");
    cw_state_add_text(op, job->id);
    cw_state_add_text(op, job->name);
    cw_state_add_u64(op, (uint64_t)(int)job->status);
    cw_state_add_blob(op, job->options.p, job->options.n);
    cw_state_add_blob(op, job->graph.p, job->graph.n);
    cw_state_add_blob(op, job->manifest.p, job->manifest.n);
    cw_state_add_blob(op, job->info.p, job->info.n);
    cw_state_add_u64(op, job->first_epoch);
    cw_state_add_u64(op, (uint64_t)job->error_code);
    cw_state_add_text(op, job->error);
    cw_state_add_u64(op, (uint64_t)job->created_ms);
    cw_state_add(state, op);
}

void cw_state_set_options(struct cw_state *state, const char *id,
                          const struct cw_state_blob *options)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_SET_OPTIONS, "storing a job's options");
    cw_state_add_text(op, id);
    cw_state_add_blob(op, options->p, options->n);
    cw_state_add(state, op);
}

static void drop_below(struct cw_state *state, enum cw_state_statement which, const char *id,
                       uint64_t epoch)
{
    struct cw_state_op *op = cw_state_op_new(which, "dropping the progress of past epochs");
    cw_state_add_text(op, id);
    cw_state_add_u64(op, epoch);
    cw_state_add(state, op);
}

void cw_state_set_job(struct cw_state *state, const char *id, enum cw_job_status status,
                      uint64_t first_epoch, int error_code, const char *error)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_SET_JOB, "storing a job's state");
    cw_state_add_text(op, id);
    cw_state_add_u64(op, (uint64_t)(int)status);
    cw_state_add_u64(op, first_epoch);
    cw_state_add_u64(op, (uint64_t)error_code);
    cw_state_add_text(op, error);
    cw_state_add(state, op);
    drop_below(state, CW_STATE_DROP_PROGRESS, id, first_epoch);
    drop_below(state, CW_STATE_DROP_SKIPPED, id, first_epoch);
}

static void one_text(struct cw_state *state, enum cw_state_statement which, const char *id,
                     const char *doing)
{
    struct cw_state_op *op = cw_state_op_new(which, doing);
    cw_state_add_text(op, id);
    cw_state_add(state, op);
}

void cw_state_remove_job(struct cw_state *state, const char *id)
{
    one_text(state, CW_STATE_REMOVE_JOB, id, "removing a job");
}

void cw_state_clear_progress(struct cw_state *state, const char *id)
{
    one_text(state, CW_STATE_CLEAR_PROGRESS, id, "clearing a job's progress");
    one_text(state, CW_STATE_CLEAR_SKIPPED, id, "clearing a job's skipped items");
}

void cw_state_put_progress(struct cw_state *state, const char *id, uint64_t epoch, int consumer,
                           const struct cw_set *consumed)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_PUT_PROGRESS, "storing progress");
    cw_state_add_text(op, id);
    cw_state_add_u64(op, epoch);
    cw_state_add_u64(op, (uint64_t)consumer);
    cw_state_add_set(op, consumed);
    cw_state_add(state, op);
}

static void put_items(struct cw_state *state, enum cw_state_statement which, const char *id,
                      uint64_t epoch, const struct cw_set *items)
{
    struct cw_state_op *op = cw_state_op_new(which, "storing skipped items");
    cw_state_add_text(op, id);
    cw_state_add_u64(op, epoch);
    cw_state_add_set(op, items);
    cw_state_add(state, op);
}

void cw_state_put_skipped(struct cw_state *state, const char *id, uint64_t epoch,
                          const struct cw_set *skipped)
{
    put_items(state, CW_STATE_PUT_SKIPPED, id, epoch, skipped);
}

void cw_state_put_left_out(struct cw_state *state, const char *id, uint64_t epoch,
                           const struct cw_set *items)
{
    put_items(state, CW_STATE_PUT_LEFT_OUT, id, epoch, items);
}

void cw_state_put_position(struct cw_state *state, const char *id, uint32_t consumer,
                           uint64_t client_id, const struct cw_state_position *position)
{
    struct cw_state_op *op =
        cw_state_op_new(CW_STATE_PUT_POSITION, "storing a consumer's position");
    cw_state_add_text(op, id);
    const uint64_t v[] = {consumer,      client_id,      position->epoch,  position->item,
                          position->row, position->rows, position->batches};
    for (size_t i = 0; i < CW_ARRAY_LEN(v); i++)
        cw_state_add_u64(op, v[i]);
    cw_state_add(state, op);
}

void cw_state_put_worker(struct cw_state *state, uint64_t worker_id, const char *address)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_PUT_WORKER, "storing a worker");
    cw_state_add_u64(op, worker_id);
    cw_state_add_text(op, address);
    cw_state_add(state, op);
}

void cw_state_remove_worker(struct cw_state *state, uint64_t worker_id)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_REMOVE_WORKER, "removing a worker");
    cw_state_add_u64(op, worker_id);
    cw_state_add(state, op);
}

void cw_state_put_cache_key(struct cw_state *state, const struct cw_state_cache_key *row)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_PUT_CACHE_KEY, "storing a key of the cache");
    const char *const texts[] = {row->tenant, row->key, row->pipeline, row->node, row->op};
    const uint64_t numbers[] = {row->ids,
                                row->hits,
                                row->misses,
                                row->saved_ns,
                                row->cost_ns,
                                row->cost_records,
                                (uint64_t)row->created_ms,
                                (uint64_t)row->used_ms,
                                row->pinned};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++)
        cw_state_add_text(op, texts[i]);
    for (size_t i = 0; i < CW_ARRAY_LEN(numbers); i++)
        cw_state_add_u64(op, numbers[i]);
    cw_state_add(state, op);
}

void cw_state_remove_cache_key(struct cw_state *state, const char *tenant, const char *key)
{
    struct cw_state_op *op =
        cw_state_op_new(CW_STATE_REMOVE_CACHE_KEY, "removing a key of the cache");
    cw_state_add_text(op, tenant);
    cw_state_add_text(op, key);
    cw_state_add(state, op);
}
