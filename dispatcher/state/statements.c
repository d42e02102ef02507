/* SPDX-License-Identifier: Apache-2.0 */
/* The SQL of all writes, and the stored form of sets of numbers. */
#include <endian.h>

#include "dispatcher/state/state_int.h"

/* Each entry is the SQL, the letter of the table whose row it writes, and how many values name that
 * row (state_queue.c). */
const struct cw_state_sql cw_state_sql[CW_STATE_STATEMENTS_N] = {
    [CW_STATE_PUT_JOB] =
        {"INSERT INTO jobs VALUES(?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET "
         "name=excluded.name,"
         " status=excluded.status, options=excluded.options, graph=excluded.graph,"
         " manifest=excluded.manifest, info=excluded.info, first_epoch=excluded.first_epoch,"
         " error_code=excluded.error_code, error=excluded.error, created_ms=excluded.created_ms,"
         " secrets=excluded.secrets",
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
    [CW_STATE_PUT_META] = {"INSERT OR REPLACE INTO meta VALUES(?,?)", 'M', 1},
    [CW_STATE_PUT_CACHE_KEY] =
        {"INSERT OR REPLACE INTO cache_keys VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", 'h', 3},
    [CW_STATE_REMOVE_CACHE_KEY] = {"DELETE FROM cache_keys WHERE cache=? AND tenant=? AND key=?",
                                   'h', 3},
    [CW_STATE_PUT_CACHE] = {"INSERT OR REPLACE INTO caches VALUES(?,?,?,?,?,?,?,?,?,?,?)", 'a', 1},
    [CW_STATE_REMOVE_CACHE] = {"DELETE FROM caches WHERE id=?", 'a', 1},
    [CW_STATE_FORGET_CACHE_KEYS] = {"DELETE FROM cache_keys WHERE cache=?", 0, 0},
    [CW_STATE_PUT_CACHE_SOURCE] = {"INSERT OR REPLACE INTO cache_sources VALUES(?,?,?,?,?,?)", 'o',
                                   2},
    [CW_STATE_FORGET_CACHE_SOURCES] = {"DELETE FROM cache_sources WHERE cache=?", 0, 0},
    [CW_STATE_PUT_USAGE] = {"INSERT OR REPLACE INTO usage SELECT ?1,?2,?3,?4,?5,?6,?7,?8 WHERE "
                            "EXISTS(SELECT 1 FROM jobs WHERE id=?1)",
                            'u', 1},
    [CW_STATE_PUT_PLAN] =
        {"INSERT OR REPLACE INTO plans SELECT ?1,?2,?3 WHERE EXISTS(SELECT 1 FROM "
         "jobs WHERE id=?1)",
         'P', 1},
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
    for (size_t i = 0; i < set->n; i++) { /* on the loop thread, also for large sets */
        const uint64_t pair[2] = {htole64(set->v[i].lo), htole64(set->v[i].hi)};
        cw_str_add_bytes(out, (const char *)pair, sizeof(pair));
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
