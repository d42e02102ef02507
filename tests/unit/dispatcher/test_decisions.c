/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions in state.db: what is kept of them, how they are found, and those of an older schema. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"
#include "dispatcher/state/state_int.h"
#include "support/cm.h"

static char *dir;

static int setup(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    dir = cw_mem_printf("%s/cachew-decisions-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    static const char *const names[] = {"state.db", "state.db-wal", "state.db-shm", "lock", ""};
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        cw_autofree char *path = cw_mem_printf("%s/%s", dir, names[i]);
        (void)(names[i][0] ? unlink(path) : rmdir(path));
    }
    cw_mem_free(dir);
    return 0;
}

static struct cw_state *open_ok(void)
{
    struct cw_state *state = NULL;
    struct cw_err err = {0};
    if (cw_state_open(dir, 0, &state, &err) != 0)
        fail_msg("%s", err.msg);
    return state;
}

static void commit_ok(struct cw_state *state)
{
    struct cw_err err = {0};
    if (cw_state_commit(state, &err) != 0)
        fail_msg("%s", err.msg);
}

static void put_job(struct cw_state *state, const char *id)
{
    const struct cw_state_job job = {.id = id, .name = "", .error = ""};
    cw_state_put_job(state, &job);
}

static void put_many(struct cw_state *state, const char *job, const char *kind, int n,
                     uint64_t kept, uint64_t kept_in_all)
{
    for (int i = 0; i < n; i++) {
        cw_autofree char *reason = cw_mem_printf("%s %s %d", job, kind, i);
        const struct cw_state_decision row = {.job = job,
                                              .name = "a name",
                                              .kind = kind,
                                              .policy = "auto",
                                              .reason = reason,
                                              .inputs = "{}",
                                              .time_ms = i};
        cw_state_put_decision(state, &row, kept, kept_in_all);
    }
}

struct found { /* what was told, one line each: reasons */
    struct cw_str text;
    uint64_t last_id;
    int n, stop_after;
    double remote, local; /* of the last */
};

static int on_decision(void *arg, const struct cw_state_decision *row, struct cw_err *err)
{
    (void)err;
    struct found *found = arg;
    cw_str_addf(&found->text, "%s\n", row->reason);
    found->last_id = row->id;
    found->remote = row->remote;
    found->local = row->local;
    return ++found->n == found->stop_after;
}

static int on_profile(void *arg, const char *key, const char *job, const char *inputs,
                      struct cw_err *err)
{
    (void)err;
    cw_str_addf(&((struct found *)arg)->text, "%s %s %s\n", key, job, inputs);
    return 0;
}

static int find(struct cw_state *state, struct cw_state_decision_query query, struct found *found)
{
    struct cw_err err = {0};
    query.limit = query.limit > 0 ? query.limit : 1000;
    cw_str_clear(&found->text);
    found->n = 0;
    assert_int_equal(cw_state_find_decisions(state, &query, on_decision, found, &err), 0);
    return found->n;
}

/* The latest of each job and kind; newest first, or on from one that is known. */
static void are_kept_by_job_and_kind(void **unused)
{
    (void)unused;
    struct cw_state *state = open_ok();
    struct found found = {0};
    put_many(state, "j1", "autoscale", 5, 2, 1000);
    put_many(state, "j1", "autocache", 1, 2, 1000);
    put_many(state, "j2", "autoscale", 1, 2, 1000);
    put_many(state, "", "provision", 3, 2, 1000);
    commit_ok(state);
    cw_state_close(state);
    state = open_ok();
    assert_int_equal(find(state, (struct cw_state_decision_query){0}, &found), 6);
    assert_string_equal(cw_str_text(&found.text), " provision 2\n provision 1\nj2 autoscale 0\nj1 "
                                                  "autocache 0\nj1 autoscale 4\nj1 autoscale 3\n");
    uint64_t first = found.last_id;
    assert_int_equal(
        find(state, (struct cw_state_decision_query){.after_id = first, .limit = 2}, &found), 2);
    assert_string_equal(cw_str_text(&found.text), "j1 autoscale 4\nj1 autocache 0\n");
    assert_int_equal(
        find(state, (struct cw_state_decision_query){.after_id = found.last_id}, &found), 3);
    assert_int_equal(find(state, (struct cw_state_decision_query){.job = "j1"}, &found), 3);
    assert_int_equal(find(state, (struct cw_state_decision_query){.kind = "autoscale"}, &found), 3);
    assert_int_equal(
        find(state,
             (struct cw_state_decision_query){.job = "j1", .kind = "autoscale", .after_id = first},
             &found),
        1);
    found.stop_after = 1;
    assert_int_equal(find(state, (struct cw_state_decision_query){0}, &found), 1);
    cw_str_fini(&found.text);
    cw_state_close(state);
}

/* They stay when their job is removed, and are found by its name; ids are not used again; what
 * is to be forgotten is. */
static void outlive_their_job(void **unused)
{
    (void)unused;
    struct cw_state *state = open_ok();
    struct cw_err err = {0};
    struct found found = {0};
    CW_STR_AUTO id = {0};
    put_job(state, "j1");
    put_many(state, "j1", "autoscale", 1, 9, 1000);
    cw_state_remove_job(state, "j1");
    commit_ok(state);
    assert_int_equal(find(state, (struct cw_state_decision_query){.job = "j1"}, &found), 1);
    uint64_t first = found.last_id;
    assert_int_equal(cw_state_find_decided(state, "a name", &id, &err), 0);
    assert_string_equal(cw_str_text(&id), "j1");
    cw_str_clear(&id);
    assert_int_equal(cw_state_find_decided(state, "j1", &id, &err), 0);
    cw_str_clear(&id);
    assert_int_equal(cw_state_find_decided(state, "j2", &id, &err), CW_E_NOT_FOUND);
    cw_state_forget_decisions(state, "j1");
    commit_ok(state);
    assert_int_equal(find(state, (struct cw_state_decision_query){0}, &found), 0);
    cw_state_close(state);
    state = open_ok();
    put_many(state, "j2", "autoscale", 1, 9, 1000);
    commit_ok(state);
    assert_int_equal(find(state, (struct cw_state_decision_query){0}, &found), 1);
    assert_true(found.last_id > first);
    cw_str_fini(&found.text);
    cw_state_close(state);
}

/* About so many in all; but the last one of each kind of a job that there is stays, however old. */
static void are_bounded_in_all(void **unused)
{
    (void)unused;
    struct cw_state *state = open_ok();
    struct cw_err err = {0};
    struct found found = {0};
    put_job(state, "j1");
    put_many(state, "j1", "autocache", 3, 100, 10);
    put_many(state, "gone", "autocache", 3, 100, 10);
    put_many(state, "", "provision", 300, 1000, 10);
    commit_ok(state);
    int n = find(state, (struct cw_state_decision_query){0}, &found);
    assert_in_range(n, 11, 10 + 1 + 64);
    assert_int_equal(find(state, (struct cw_state_decision_query){.job = "gone"}, &found), 0);
    assert_int_equal(find(state, (struct cw_state_decision_query){.job = "j1"}, &found), 1);
    assert_string_equal(cw_str_text(&found.text), "j1 autocache 2\n");
    cw_state_put_profile(state, "t/a", "j1", 1, "old", 2);
    cw_state_put_profile(state, "t/b", "j1", 2, "b", 2);
    cw_state_put_profile(state, "t/c", "j1", 3, "c", 2);
    put_many(state, "j1", "autoscale", 1, 100, 1000);
    commit_ok(state);
    cw_str_clear(&found.text);
    found.n = 0;
    assert_int_equal(
        cw_state_load_decisions(state, "autocache", on_profile, on_decision, &found, &err), 0);
    assert_string_equal(cw_str_text(&found.text), "t/b j1 b\nt/c j1 c\nj1 autocache 2\n");
    cw_str_fini(&found.text);
    cw_state_close(state);
}

static int no_job(void *arg, const struct cw_state_job *job, struct cw_err *err)
{
    (void)arg, (void)job, (void)err;
    return 0;
}

static int no_worker(void *arg, uint64_t worker_id, const char *address, struct cw_err *err)
{
    (void)arg, (void)worker_id, (void)address, (void)err;
    return 0;
}

/* A key of the time before there were named caches is the default cache's. */
static int on_key(void *arg, const struct cw_state_cache_key *row, struct cw_err *err)
{
    (void)err;
    assert_true(row->cache == 0 && row->ids == 1 && row->used_ms == 8 && row->pinned);
    assert_string_equal(row->op, "op");
    *(bool *)arg = true;
    return 0;
}

/* As they were stored before they had a name and the fleet had some. */
static void come_from_the_older_schema(void **unused)
{
    (void)unused;
    struct cw_state *state = open_ok();
    struct found found = {0};
    put_job(state, "j1");
    commit_ok(state);
    cw_state_close(state);
    cw_autofree char *path = cw_mem_printf("%s/state.db", dir);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    static const char old[] =
        "ALTER TABLE jobs DROP COLUMN secrets;"
        "DROP TABLE decisions; DROP TABLE usage; DROP TABLE tenants; DROP TABLE counts;"
        "DROP TABLE caches; DROP TABLE cache_sources; DROP TABLE cache_keys; DROP TABLE plans;"
        "CREATE TABLE cache_keys(tenant TEXT NOT NULL, key TEXT NOT NULL, pipeline TEXT NOT NULL, "
        "node TEXT NOT NULL, op TEXT NOT NULL, ids INTEGER NOT NULL, hits INTEGER NOT NULL,"
        " misses INTEGER NOT NULL, saved_ns INTEGER NOT NULL, cost_ns INTEGER NOT NULL, "
        "cost_records INTEGER NOT NULL, created_ms INTEGER NOT NULL, used_ms INTEGER NOT NULL,"
        " pinned INTEGER NOT NULL, PRIMARY KEY(tenant, key)) WITHOUT ROWID;"
        "INSERT INTO cache_keys VALUES('t', 'k', 'p', 'n', 'op', 1, 2, 3, 4, 5, 6, 7, 8, 1);"
        "CREATE TABLE decisions(id INTEGER PRIMARY KEY, job TEXT NOT NULL REFERENCES jobs(id) ON "
        "DELETE CASCADE, kind TEXT NOT NULL, policy TEXT NOT NULL,"
        " choice TEXT NOT NULL, reason TEXT NOT NULL, candidates TEXT NOT NULL, inputs TEXT NOT "
        "NULL, time_ms INTEGER NOT NULL, epoch INTEGER NOT NULL,"
        " predicted_ns REAL NOT NULL);"
        "CREATE INDEX decisions_of_job ON decisions(job, id);"
        "INSERT INTO decisions VALUES(5, 'j1', 'autoplace', 'auto', '12 remote, 3 local', 'so', "
        "'', '{}', 5, 6, 0);"
        "INSERT INTO decisions VALUES(6, 'j1', 'autoscale', 'auto', '4 workers', 'thus', '', '{}', "
        "5, 6, 0);"
        "INSERT INTO decisions VALUES(7, 'j1', 'autocache', 'auto', 'decode', 'because', 'a', "
        "'{}', 5, 6, 7.5);"
        "PRAGMA user_version=4;";
    assert_int_equal(sqlite3_exec(db, old, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    state = open_ok();
    assert_int_equal(
        find(state, (struct cw_state_decision_query){.job = "j1", .kind = "autoscale"}, &found), 1);
    assert_true(found.remote == 4 && found.local == 0);
    assert_int_equal(
        find(state, (struct cw_state_decision_query){.job = "j1", .kind = "autoplace"}, &found), 1);
    assert_true(found.remote == 12 && found.local == 3);
    assert_int_equal(
        find(state, (struct cw_state_decision_query){.job = "j1", .kind = "autocache"}, &found), 1);
    assert_true(found.remote == 0 && found.local == 0);
    assert_string_equal(cw_str_text(&found.text), "because\n");
    assert_int_equal(found.last_id, 7);
    put_many(state, "", "provision", 1, 9, 1000);
    commit_ok(state);
    assert_int_equal(find(state, (struct cw_state_decision_query){.after_id = 7}, &found), 1);
    assert_int_equal(found.last_id, 8);
    const struct cw_state_reader reader = {.job = no_job, .worker = no_worker, .cache_key = on_key};
    struct cw_err err = {0};
    bool has_key = false;
    assert_int_equal(cw_state_load(state, &reader, &has_key, &err), 0);
    assert_true(has_key);
    cw_str_fini(&found.text);
    cw_state_close(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(are_kept_by_job_and_kind, setup, teardown),
        cmocka_unit_test_setup_teardown(outlive_their_job, setup, teardown),
        cmocka_unit_test_setup_teardown(are_bounded_in_all, setup, teardown),
        cmocka_unit_test_setup_teardown(come_from_the_older_schema, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
