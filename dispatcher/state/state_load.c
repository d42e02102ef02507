/* SPDX-License-Identifier: Apache-2.0 */
/* Reads everything back when the dispatcher starts. */
#include "dispatcher/state/state_int.h"

typedef int row_fn(sqlite3_stmt *stmt, const struct cw_state_reader *reader, void *arg,
                   struct cw_err *err);

static const char *text_at(sqlite3_stmt *stmt, int i)
{
    const char *s = (const char *)sqlite3_column_text(stmt, i);
    return s ? s : "";
}

static uint64_t u64_at(sqlite3_stmt *stmt, int i)
{
    return (uint64_t)sqlite3_column_int64(stmt, i);
}

static struct cw_state_blob blob_at(sqlite3_stmt *stmt, int i)
{
    const void *p = sqlite3_column_blob(stmt, i);
    return (struct cw_state_blob){p, (size_t)sqlite3_column_bytes(stmt, i)};
}

static int set_at(sqlite3_stmt *stmt, int i, struct cw_set *set, struct cw_err *err)
{
    struct cw_state_blob blob = blob_at(stmt, i);
    return cw_state_set_read(blob.p, blob.n, set, err);
}

static int on_job(sqlite3_stmt *stmt, const struct cw_state_reader *reader, void *arg,
                  struct cw_err *err)
{
    int status = sqlite3_column_int(stmt, 2);
    if (status < CW_JOB_PREPARING || status > CW_JOB_FAILED)
        return cw_err_set(err, CW_E_CORRUPT, "job %s has the state %d", text_at(stmt, 0), status);
    const struct cw_state_job job = {
        .id = text_at(stmt, 0),
        .name = text_at(stmt, 1),
        .status = (enum cw_job_status)status,
        .options = blob_at(stmt, 3),
        .graph = blob_at(stmt, 4),
        .manifest = blob_at(stmt, 5),
        .info = blob_at(stmt, 6),
        .first_epoch = u64_at(stmt, 7),
        .error_code = sqlite3_column_int(stmt, 8),
        .error = text_at(stmt, 9),
        .created_ms = sqlite3_column_int64(stmt, 10),
        .secrets = blob_at(stmt, 11),
    };
    return reader->job(arg, &job, err);
}

static int on_progress(sqlite3_stmt *stmt, const struct cw_state_reader *reader, void *arg,
                       struct cw_err *err)
{
    struct cw_set set = {0};
    int rc = set_at(stmt, 3, &set, err);
    if (rc == 0)
        rc = reader->progress(arg, text_at(stmt, 0), u64_at(stmt, 1), sqlite3_column_int(stmt, 2),
                              &set, err);
    cw_set_fini(&set);
    return rc;
}

static int on_skipped(sqlite3_stmt *stmt, const struct cw_state_reader *reader, void *arg,
                      struct cw_err *err)
{
    struct cw_set set = {0};
    int rc = set_at(stmt, 2, &set, err);
    if (rc == 0)
        rc = reader->skipped(arg, text_at(stmt, 0), u64_at(stmt, 1), &set, err);
    cw_set_fini(&set);
    return rc;
}

static int on_left_out(sqlite3_stmt *stmt, const struct cw_state_reader *reader, void *arg,
                       struct cw_err *err)
{
    struct cw_set set = {0};
    int rc = set_at(stmt, 2, &set, err);
    if (rc == 0)
        rc = reader->left_out(arg, text_at(stmt, 0), u64_at(stmt, 1), &set, err);
    cw_set_fini(&set);
    return rc;
}

static int on_position(sqlite3_stmt *stmt, const struct cw_state_reader *reader, void *arg,
                       struct cw_err *err)
{
    const struct cw_state_position position = {u64_at(stmt, 3), u64_at(stmt, 4), u64_at(stmt, 5),
                                               u64_at(stmt, 6), u64_at(stmt, 7)};
    return reader->position(arg, text_at(stmt, 0), (uint32_t)u64_at(stmt, 1), u64_at(stmt, 2),
                            &position, err);
}

static int on_worker(sqlite3_stmt *stmt, const struct cw_state_reader *reader, void *arg,
                     struct cw_err *err)
{
    return reader->worker(arg, u64_at(stmt, 0), text_at(stmt, 1), err);
}

static int on_cache_key(sqlite3_stmt *stmt, const struct cw_state_reader *reader, void *arg,
                        struct cw_err *err)
{
    const struct cw_state_cache_key row = {
        .cache = u64_at(stmt, 0),
        .tenant = text_at(stmt, 1),
        .key = text_at(stmt, 2),
        .pipeline = text_at(stmt, 3),
        .node = text_at(stmt, 4),
        .op = text_at(stmt, 5),
        .ids = u64_at(stmt, 6),
        .hits = u64_at(stmt, 7),
        .misses = u64_at(stmt, 8),
        .saved_ns = u64_at(stmt, 9),
        .cost_ns = u64_at(stmt, 10),
        .cost_records = u64_at(stmt, 11),
        .created_ms = sqlite3_column_int64(stmt, 12),
        .used_ms = sqlite3_column_int64(stmt, 13),
        .pinned = sqlite3_column_int(stmt, 14) != 0,
    };
    return reader->cache_key ? reader->cache_key(arg, &row, err) : 0;
}

static int on_usage(sqlite3_stmt *stmt, const struct cw_state_reader *reader, void *arg,
                    struct cw_err *err)
{
    const struct cw_usage usage = cw_state_usage_at(stmt);
    return reader->usage ? reader->usage(arg, text_at(stmt, 0), &usage, err) : 0;
}

static int on_tenant(sqlite3_stmt *stmt, const struct cw_state_reader *reader, void *arg,
                     struct cw_err *err)
{
    const struct cw_usage usage = cw_state_usage_at(stmt);
    return reader->tenant ? reader->tenant(arg, text_at(stmt, 0), &usage, err) : 0;
}

static int on_counts(sqlite3_stmt *stmt, const struct cw_state_reader *reader, void *arg,
                     struct cw_err *err)
{
    uint64_t counts[CW_STATE_COUNTS_MAX];
    struct cw_state_blob blob = blob_at(stmt, 1);
    size_t n = cw_state_counts_read(blob.p, blob.n, counts, CW_ARRAY_LEN(counts));
    return reader->counts ? reader->counts(arg, text_at(stmt, 0), counts, n, err) : 0;
}

static int on_cache(sqlite3_stmt *stmt, const struct cw_state_reader *reader, void *arg,
                    struct cw_err *err)
{
    const struct cw_state_cache row = {
        .id = u64_at(stmt, 0),
        .name = text_at(stmt, 1),
        .url = text_at(stmt, 2),
        .tenant = text_at(stmt, 3),
        .quota = u64_at(stmt, 4),
        .source_quota = u64_at(stmt, 5),
        .high = sqlite3_column_double(stmt, 6),
        .low = sqlite3_column_double(stmt, 7),
        .leaving = sqlite3_column_int(stmt, 8) == 1,
        .gone = sqlite3_column_int(stmt, 8) == 2,
        .created_ms = sqlite3_column_int64(stmt, 9),
        .used_ms = sqlite3_column_int64(stmt, 10),
    };
    return reader->cache ? reader->cache(arg, &row, err) : 0;
}

static int on_cache_source(sqlite3_stmt *stmt, const struct cw_state_reader *reader, void *arg,
                           struct cw_err *err)
{
    const struct cw_state_cache_source row = {
        .cache = u64_at(stmt, 0),
        .source = text_at(stmt, 1),
        .bytes = u64_at(stmt, 2),
        .files = u64_at(stmt, 3),
        .cached_bytes = u64_at(stmt, 4),
        .time_ms = sqlite3_column_int64(stmt, 5),
    };
    return reader->cache_source ? reader->cache_source(arg, &row, err) : 0;
}

static int on_plan(sqlite3_stmt *stmt, const struct cw_state_reader *reader, void *arg,
                   struct cw_err *err)
{
    const struct cw_state_blob graph = blob_at(stmt, 2);
    return reader->plan ? reader->plan(arg, text_at(stmt, 0), u64_at(stmt, 1), &graph, err) : 0;
}

static const struct {
    const char *sql;
    row_fn *fn;
} tables[] = {
    {"SELECT * FROM caches ORDER BY id", on_cache},
    {"SELECT * FROM cache_sources", on_cache_source},
    {"SELECT * FROM jobs ORDER BY created_ms, id", on_job},
    {"SELECT * FROM progress", on_progress},
    {"SELECT * FROM skipped", on_skipped},
    {"SELECT * FROM positions", on_position},
    {"SELECT * FROM workers", on_worker},
    {"SELECT * FROM left_out", on_left_out},
    {"SELECT * FROM cache_keys", on_cache_key},
    {"SELECT * FROM usage", on_usage},
    {"SELECT * FROM tenants", on_tenant},
    {"SELECT * FROM counts", on_counts},
    {"SELECT * FROM plans", on_plan},
};

static int load_tables(struct cw_state *state, const struct cw_state_reader *reader, void *arg,
                       struct cw_err *err)
{
    for (size_t i = 0; i < CW_ARRAY_LEN(tables); i++) {
        sqlite3_stmt *stmt = NULL;
        if (sqlite3_prepare_v2(state->reader, tables[i].sql, -1, &stmt, NULL) != SQLITE_OK)
            return cw_state_db_error(state->reader, state->dir, "reading it", err);
        int rc = 0, step;
        while (rc == 0 && (step = sqlite3_step(stmt)) != SQLITE_DONE) {
            if (step == SQLITE_ROW)
                rc = tables[i].fn(stmt, reader, arg, err);
            else
                rc = cw_state_db_error(state->reader, state->dir, "reading it", err);
        }
        sqlite3_finalize(stmt);
        if (rc != 0)
            return cw_err_wrap(err, "while loading %s/state.db", state->dir);
    }
    return 0;
}

int cw_state_load(struct cw_state *state, const struct cw_state_reader *reader, void *arg,
                  struct cw_err *err)
{
    cw_state_share_begin(state);
    int rc = load_tables(state, reader, arg, err);
    cw_state_share_end(state);
    return rc;
}
