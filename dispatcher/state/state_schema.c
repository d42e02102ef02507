/* SPDX-License-Identifier: Apache-2.0 */
/* The tables, and how an older state.db is brought up to date. A step is never changed once it was
 * released; new ones are appended. */
#include "dispatcher/state/state_int.h"

static const char *const steps[] = {
    /* Step 1 makes the first tables. */
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "INSERT INTO meta VALUES('generation', CAST(strftime('%s', 'now') AS INTEGER));"
    "CREATE TABLE jobs(id TEXT PRIMARY KEY, name TEXT NOT NULL, status INTEGER NOT NULL, options "
    "BLOB NOT NULL, graph BLOB NOT NULL,"
    " manifest BLOB NOT NULL, info BLOB NOT NULL, first_epoch INTEGER NOT NULL, error_code INTEGER "
    "NOT NULL, error TEXT NOT NULL,"
    " created_ms INTEGER NOT NULL);"
    "CREATE TABLE progress(job TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE, epoch INTEGER "
    "NOT NULL, consumer INTEGER NOT NULL,"
    " consumed BLOB NOT NULL, PRIMARY KEY(job, epoch, consumer)) WITHOUT ROWID;"
    "CREATE TABLE skipped(job TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE, epoch INTEGER "
    "NOT NULL, items BLOB NOT NULL,"
    " PRIMARY KEY(job, epoch)) WITHOUT ROWID;"
    "CREATE TABLE positions(job TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE, consumer "
    "INTEGER NOT NULL, client INTEGER NOT NULL,"
    " epoch INTEGER NOT NULL, item INTEGER NOT NULL, row INTEGER NOT NULL, rows INTEGER NOT NULL, "
    "batches INTEGER NOT NULL,"
    " PRIMARY KEY(job, consumer)) WITHOUT ROWID;"
    "CREATE TABLE workers(id INTEGER PRIMARY KEY, address TEXT NOT NULL);",
    /* Step 2 adds the skipped items. */
    "CREATE TABLE left_out(job TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE, epoch INTEGER "
    "NOT NULL, items BLOB NOT NULL,"
    " PRIMARY KEY(job, epoch)) WITHOUT ROWID;",
    /* Step 3 adds the keys of the cache. */
    "CREATE TABLE cache_keys(tenant TEXT NOT NULL, key TEXT NOT NULL, pipeline TEXT NOT NULL, node "
    "TEXT NOT NULL, op TEXT NOT NULL,"
    " ids INTEGER NOT NULL, hits INTEGER NOT NULL, misses INTEGER NOT NULL, saved_ns INTEGER NOT "
    "NULL, cost_ns INTEGER NOT NULL,"
    " cost_records INTEGER NOT NULL, created_ms INTEGER NOT NULL, used_ms INTEGER NOT NULL, pinned "
    "INTEGER NOT NULL,"
    " PRIMARY KEY(tenant, key)) WITHOUT ROWID;",
    /* Step 4 adds the decisions of policies. */
    "CREATE TABLE decisions(id INTEGER PRIMARY KEY, job TEXT NOT NULL REFERENCES jobs(id) ON "
    "DELETE CASCADE, kind TEXT NOT NULL, policy TEXT NOT NULL,"
    " choice TEXT NOT NULL, reason TEXT NOT NULL, candidates TEXT NOT NULL, inputs TEXT NOT NULL, "
    "time_ms INTEGER NOT NULL, epoch INTEGER NOT NULL,"
    " predicted_ns REAL NOT NULL);"
    "CREATE INDEX decisions_of_job ON decisions(job, id);"
    "CREATE TABLE profiles(key TEXT PRIMARY KEY, job TEXT NOT NULL, time_ms INTEGER NOT NULL, "
    "inputs TEXT NOT NULL) WITHOUT ROWID;",
    /* Step 5 keeps decisions about the fleet, and about jobs that were removed. */
    "CREATE TABLE decided(id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, name TEXT NOT "
    "NULL, kind TEXT NOT NULL, policy TEXT NOT NULL,"
    " choice TEXT NOT NULL, reason TEXT NOT NULL, time_ms INTEGER NOT NULL, epoch INTEGER NOT "
    "NULL, predicted_ns REAL NOT NULL,"
    " candidates TEXT NOT NULL, inputs TEXT NOT NULL);"
    "INSERT INTO decided SELECT d.id, d.job, j.name, d.kind, d.policy, d.choice, d.reason, "
    "d.time_ms, d.epoch, d.predicted_ns, d.candidates, d.inputs"
    " FROM decisions d JOIN jobs j ON j.id = d.job;"
    "DROP TABLE decisions;"
    "ALTER TABLE decided RENAME TO decisions;"
    "CREATE INDEX decisions_of_job ON decisions(job, kind, id);",
    /* Step 6 adds what jobs and tenants have used. */
    "CREATE TABLE usage(job TEXT PRIMARY KEY REFERENCES jobs(id) ON DELETE CASCADE, elements "
    "INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    " cpu_ns INTEGER NOT NULL, remote_s REAL NOT NULL, local_s REAL NOT NULL, client_s REAL NOT "
    "NULL, cost REAL NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE tenants(name TEXT PRIMARY KEY, elements INTEGER NOT NULL, bytes INTEGER NOT "
    "NULL, cpu_ns INTEGER NOT NULL,"
    " remote_s REAL NOT NULL, local_s REAL NOT NULL, client_s REAL NOT NULL, cost REAL NOT NULL) "
    "WITHOUT ROWID;",
    /* Step 7 adds counters of a job that are shown to people. */
    "CREATE TABLE counts(job TEXT PRIMARY KEY REFERENCES jobs(id) ON DELETE CASCADE, numbers BLOB "
    "NOT NULL) WITHOUT ROWID;",
    /* Step 8 stores the numbers of workers that were decided, which until now were only part of the
     * text: "2 workers", "2 remote, 1 local". */
    "ALTER TABLE decisions ADD COLUMN remote REAL NOT NULL DEFAULT 0;"
    "ALTER TABLE decisions ADD COLUMN local REAL NOT NULL DEFAULT 0;"
    "UPDATE decisions SET remote = CAST(choice AS REAL) WHERE kind IN ('autoscale', 'autoplace');"
    "UPDATE decisions SET local = CAST(substr(choice, instr(choice, 'remote, ') + 8) AS REAL) "
    "WHERE kind = 'autoplace' AND choice LIKE '%remote, %';",
    /* Step 9 adds the secrets of jobs: of their data, and of their own workers. */
    "ALTER TABLE jobs ADD COLUMN secrets BLOB NOT NULL DEFAULT x'';",
    /* Step 10 adds named caches; keys are of a cache, those until now of the default one, 0. */
    "CREATE TABLE caches(id INTEGER PRIMARY KEY, name TEXT NOT NULL, url TEXT NOT NULL, tenant "
    "TEXT NOT NULL, quota INTEGER NOT NULL, source_quota INTEGER NOT NULL,"
    " high REAL NOT NULL, low REAL NOT NULL, leaving INTEGER NOT NULL, created_ms INTEGER NOT "
    "NULL, used_ms INTEGER NOT NULL);"
    "CREATE TABLE cache_sources(cache INTEGER NOT NULL, source TEXT NOT NULL, bytes INTEGER NOT "
    "NULL, files INTEGER NOT NULL, cached_bytes INTEGER NOT NULL,"
    " time_ms INTEGER NOT NULL, PRIMARY KEY(cache, source)) WITHOUT ROWID;"
    "CREATE TABLE keys_of_caches(cache INTEGER NOT NULL, tenant TEXT NOT NULL, key TEXT NOT NULL, "
    "pipeline TEXT NOT NULL, node TEXT NOT NULL, op TEXT NOT NULL,"
    " ids INTEGER NOT NULL, hits INTEGER NOT NULL, misses INTEGER NOT NULL, saved_ns INTEGER NOT "
    "NULL, cost_ns INTEGER NOT NULL,"
    " cost_records INTEGER NOT NULL, created_ms INTEGER NOT NULL, used_ms INTEGER NOT NULL, pinned "
    "INTEGER NOT NULL,"
    " PRIMARY KEY(cache, tenant, key)) WITHOUT ROWID;"
    "INSERT INTO keys_of_caches SELECT 0, * FROM cache_keys;"
    "DROP TABLE cache_keys;"
    "ALTER TABLE keys_of_caches RENAME TO cache_keys;",
    /* Step 11 adds the plans of jobs; an empty graph is the written order. */
    "CREATE TABLE plans(job TEXT PRIMARY KEY REFERENCES jobs(id) ON DELETE CASCADE, number INTEGER "
    "NOT NULL, graph BLOB NOT NULL) WITHOUT ROWID;",
    /* Step 12 changes no table: the texts of profiles have keys ("operator") that a version without
     * this step refuses one by one, so that it would plan nothing. It refuses the whole now. */
    "",
};
#define SCHEMA ((int)CW_ARRAY_LEN(steps))

static int read_version(sqlite3 *db, const char *dir, int *ret_version, struct cw_err *err)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW) {
        sqlite3_finalize(stmt);
        return cw_state_db_error(db, dir, "reading the schema's version", err);
    }
    *ret_version = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return 0;
}

int cw_state_migrate(sqlite3 *db, const char *dir, bool used, struct cw_err *err)
{
    int version = 0;
    int rc = read_version(db, dir, &version, err);
    if (rc != 0)
        return rc;
    if (version > SCHEMA)
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "%s/state.db has schema %d, this cachew-dispatcher knows none above %d: "
                          "run the newer version that wrote it, or give "
                          "another --state-dir",
                          dir, version, SCHEMA);
    if (version == 0 && used)
        return cw_err_set(err, CW_E_CORRUPT,
                          "%s was in use, but its state.db is missing or empty: restore it from a "
                          "copy, or remove the directory to begin anew "
                          "(jobs are lost then; trainers can go on with their resume tokens)",
                          dir);
    for (int i = version; i < SCHEMA; i++) {
        CW_STR_AUTO sql = {0};
        cw_str_addf(&sql, "BEGIN IMMEDIATE;%sPRAGMA user_version=%d;COMMIT;", steps[i], i + 1);
        rc = cw_state_exec(db, dir, cw_str_text(&sql), "bringing the schema up to date", err);
        if (rc != 0)
            return rc;
    }
    return 0;
}
