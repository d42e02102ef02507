/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/rng.h"
#include "dispatcher/state/state_int.h"

static char *dir;

static char *path_of(const char *name)
{
    return cw_mem_printf("%s/%s", dir, name);
}

static void remove_files(void)
{
    static const char *const names[] = {"state.db", "state.db-wal", "state.db-shm", "lock"};
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        cw_autofree char *path = path_of(names[i]);
        (void)unlink(path);
    }
}

static int setup(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    dir = cw_mem_printf("%s/cachew-state-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    remove_files();
    (void)rmdir(dir);
    cw_mem_free(dir);
    return 0;
}

static struct cw_state *open_ok(void)
{
    struct cw_state *state = NULL;
    struct cw_err err = {0};
    int rc = cw_state_open(dir, 0, &state, &err);
    if (rc != 0)
        fail_msg("%s", err.msg);
    return state;
}

static void put(struct cw_state *state, const char *id)
{
    const struct cw_state_job job = {.id = id,
                                     .name = "n",
                                     .status = CW_JOB_RUNNING,
                                     .options = {"opt", 3},
                                     .graph = {"graph", 5},
                                     .manifest = {"", 0},
                                     .info = {"i", 1},
                                     .error = "",
                                     .created_ms = 7};
    cw_state_put_job(state, &job);
}

struct seen {
    int usages, tenants;
    struct cw_usage usage, past;
    int cache_keys;
    struct cw_state_cache_key cache_key; /* without its texts */
    int jobs, progress, positions, workers, skipped;
    uint64_t first_epoch, client_id, count, left_out;
    struct cw_state_position position;
    size_t counts_n;
    uint64_t count_1;
    size_t caches, cache_sources, plans;
    struct cw_state_cache cache;
};

static int on_job(void *arg, const struct cw_state_job *job, struct cw_err *err)
{
    (void)err;
    struct seen *seen = arg;
    seen->jobs++;
    seen->first_epoch = job->first_epoch;
    assert_string_equal(job->name, "n");
    assert_int_equal(job->graph.n, 5);
    assert_memory_equal(job->graph.p, "graph", 5);
    assert_int_equal(job->manifest.n, 0);
    return 0;
}

static int on_progress(void *arg, const char *id, uint64_t epoch, int consumer,
                       const struct cw_set *consumed, struct cw_err *err)
{
    (void)id, (void)epoch, (void)consumer, (void)err;
    struct seen *seen = arg;
    seen->progress++;
    seen->count += cw_set_count(consumed);
    return 0;
}

static int on_skipped(void *arg, const char *id, uint64_t epoch, const struct cw_set *skipped,
                      struct cw_err *err)
{
    (void)id, (void)epoch, (void)skipped, (void)err;
    ((struct seen *)arg)->skipped++;
    return 0;
}

static int on_left_out(void *arg, const char *id, uint64_t epoch, const struct cw_set *items,
                       struct cw_err *err)
{
    (void)id, (void)err;
    ((struct seen *)arg)->left_out += epoch + cw_set_count(items);
    return 0;
}

static int on_position(void *arg, const char *id, uint32_t consumer, uint64_t client_id,
                       const struct cw_state_position *position, struct cw_err *err)
{
    (void)id, (void)consumer, (void)err;
    struct seen *seen = arg;
    seen->positions++;
    seen->client_id = client_id;
    seen->position = *position;
    return 0;
}

static int on_worker(void *arg, uint64_t worker_id, const char *address, struct cw_err *err)
{
    (void)worker_id, (void)address, (void)err;
    ((struct seen *)arg)->workers++;
    return 0;
}

static int on_usage(void *arg, const char *id, const struct cw_usage *usage, struct cw_err *err)
{
    (void)id, (void)err;
    struct seen *seen = arg;
    seen->usages++;
    seen->usage = *usage;
    return 0;
}

static int on_tenant(void *arg, const char *name, const struct cw_usage *usage, struct cw_err *err)
{
    (void)err;
    struct seen *seen = arg;
    assert_string_equal(name, "t");
    seen->tenants++;
    seen->past = *usage;
    return 0;
}

static int on_cache_key(void *arg, const struct cw_state_cache_key *row, struct cw_err *err)
{
    (void)err;
    struct seen *seen = arg;
    assert_string_equal(row->tenant, "t");
    assert_string_equal(row->pipeline, "p");
    assert_string_equal(row->node, "n");
    assert_string_equal(row->op, "decode");
    seen->cache_keys++;
    seen->cache_key = *row;
    return 0;
}

static int on_counts(void *arg, const char *id, const uint64_t *counts, size_t n,
                     struct cw_err *err)
{
    (void)id, (void)err;
    struct seen *seen = arg;
    seen->counts_n = n;
    seen->count_1 = counts[1];
    return 0;
}

static int on_cache(void *arg, const struct cw_state_cache *row, struct cw_err *err)
{
    (void)err;
    struct seen *seen = arg;
    assert_string_equal(row->name, "team/photos");
    assert_string_equal(row->url, "dir:/x");
    assert_string_equal(row->tenant, "t");
    seen->caches++;
    seen->cache = *row;
    return 0;
}

static int on_cache_source(void *arg, const struct cw_state_cache_source *row, struct cw_err *err)
{
    (void)err;
    struct seen *seen = arg;
    assert_string_equal(row->source, "/data/*.tfrecord");
    assert_true(row->cache == 7 && row->bytes == 1 && row->files == 2 && row->cached_bytes == 3 &&
                row->time_ms == 4);
    seen->cache_sources++;
    return 0;
}

static int on_plan(void *arg, const char *id, uint64_t number, const struct cw_state_blob *graph,
                   struct cw_err *err)
{
    (void)err;
    struct seen *seen = arg;
    assert_string_equal(id, "j1");
    assert_true(number == 3 && graph->n == 5 && memcmp(graph->p, "graph", 5) == 0);
    seen->plans++;
    return 0;
}

static struct seen load(struct cw_state *state)
{
    static const struct cw_state_reader reader = {
        on_job,   on_progress, on_skipped, on_position, on_worker,       on_left_out, on_cache_key,
        on_usage, on_tenant,   on_counts,  on_cache,    on_cache_source, on_plan};
    struct seen seen = {0};
    struct cw_err err = {0};
    if (cw_state_load(state, &reader, &seen, &err) != 0)
        fail_msg("%s", err.msg);
    return seen;
}

static void commit_ok(struct cw_state *state)
{
    struct cw_err err = {0};
    if (cw_state_commit(state, &err) != 0)
        fail_msg("%s", err.msg);
}

static void what_is_committed_comes_back(void **unused)
{
    (void)unused;
    struct cw_state *state = open_ok();
    uint64_t generation = cw_state_generation(state);
    struct cw_set set = {0};
    cw_set_add(&set, 0, 5);
    cw_set_add(&set, 9, UINT64_MAX);
    put(state, "a");
    cw_state_put_progress(state, "a", 0, -1, &set);
    cw_state_put_progress(state, "a", 1, -1, &set);
    cw_state_put_skipped(state, "a", 1, &set);
    cw_set_clear(&set);
    cw_set_add(&set, 3, 6);
    cw_state_put_left_out(state, "a", 0, &set);
    cw_state_put_left_out(state, "gone", 0, &set);
    cw_state_put_progress(state, "gone", 0, -1, &set); /* of no job: not kept */
    const struct cw_state_position position = {1, 2, 3, 4, 5};
    cw_state_put_position(state, "a", 0, UINT64_MAX - 1, &position);
    cw_state_put_worker(state, UINT64_MAX, "unix:/x");
    assert_true(cw_state_is_dirty(state));
    commit_ok(state);
    cw_state_close(state);

    state = open_ok();
    assert_true(cw_state_generation(state) > generation);
    struct seen seen = load(state);
    assert_int_equal(seen.jobs, 1);
    assert_int_equal(seen.progress, 2);
    assert_int_equal(seen.skipped, 1);
    assert_int_equal(seen.workers, 1);
    assert_true(seen.client_id == UINT64_MAX - 1);
    assert_memory_equal(&seen.position, &position, sizeof(position));
    assert_int_equal(seen.left_out, 3);
    cw_state_set_job(state, "a", CW_JOB_RUNNING, 1, 0, "");
    cw_state_remove_worker(state, UINT64_MAX);
    commit_ok(state);
    seen = load(state);
    assert_int_equal(seen.first_epoch, 1);
    assert_int_equal(seen.progress, 1);
    assert_int_equal(seen.left_out, 3); /* of a past epoch, too */
    assert_int_equal(seen.workers, 0);
    cw_state_remove_job(state, "a");
    commit_ok(state);
    seen = load(state);
    assert_int_equal(seen.jobs + seen.progress + seen.positions + seen.skipped + (int)seen.left_out,
                     0);
    cw_set_fini(&set);
    cw_state_close(state);
}

static void keys_of_the_cache_come_back(void **unused)
{
    (void)unused;
    remove_files();
    struct cw_state *state = open_ok();
    struct cw_state_cache_key row = {.tenant = "t",
                                     .key = "k1",
                                     .pipeline = "p",
                                     .node = "n",
                                     .op = "decode",
                                     .ids = 1,
                                     .hits = 2,
                                     .misses = 3,
                                     .saved_ns = UINT64_MAX,
                                     .cost_ns = 4,
                                     .cost_records = 5,
                                     .created_ms = 6,
                                     .used_ms = 7,
                                     .pinned = true};
    cw_state_put_cache_key(state, &row);
    row.hits = 20; /* replaces */
    cw_state_put_cache_key(state, &row);
    commit_ok(state);
    cw_state_close(state);

    state = open_ok();
    struct seen seen = load(state);
    assert_int_equal(seen.cache_keys, 1);
    const struct cw_state_cache_key *key = &seen.cache_key;
    assert_true(key->ids == 1 && key->hits == 20 && key->misses == 3 &&
                key->saved_ns == UINT64_MAX && key->cost_ns == 4);
    assert_true(key->cost_records == 5 && key->created_ms == 6 && key->used_ms == 7 && key->pinned);
    row.key = "k2";
    cw_state_put_cache_key(state, &row);
    cw_state_remove_cache_key(state, 0, "t", "k1");
    cw_state_remove_cache_key(state, 0, "other", "k2");
    commit_ok(state);
    assert_int_equal(load(state).cache_keys, 1);
    cw_state_remove_cache_key(state, 0, "t", "k2");
    commit_ok(state);
    assert_int_equal(load(state).cache_keys, 0);
    cw_state_close(state);
}

/* A named cache, its keys and what was warmed into it go together; the keys of others stay. */
static void named_caches(void **unused)
{
    (void)unused;
    struct cw_state *state = open_ok();
    const struct cw_state_cache row = {.id = 7,
                                       .name = "team/photos",
                                       .url = "dir:/x",
                                       .tenant = "t",
                                       .quota = 100,
                                       .source_quota = 200,
                                       .high = 90,
                                       .low = 50,
                                       .leaving = true,
                                       .created_ms = 11,
                                       .used_ms = 12};
    const struct cw_state_cache_source source = {7, "/data/*.tfrecord", 1, 2, 3, 4};
    struct cw_state_cache_key key = {
        .cache = 7, .tenant = "t", .key = "k", .pipeline = "p", .node = "n", .op = "decode"};
    cw_state_put_cache(state, &row);
    cw_state_put_cache_source(state, &source);
    cw_state_put_cache_key(state, &key);
    key.cache = 0;
    cw_state_put_cache_key(state, &key);
    commit_ok(state);
    struct seen seen = load(state);
    assert_true(seen.caches == 1 && seen.cache_sources == 1 && seen.cache_keys == 2);
    assert_true(seen.cache.id == 7 && seen.cache.quota == 100 && seen.cache.source_quota == 200);
    assert_true(seen.cache.high == 90 && seen.cache.low == 50 && seen.cache.leaving);
    assert_true(seen.cache.created_ms == 11 && seen.cache.used_ms == 12);
    cw_state_remove_cache(state, 8);
    cw_state_remove_cache(state, 7);
    commit_ok(state);
    seen = load(state);
    assert_true(seen.caches == 0 && seen.cache_sources == 0 && seen.cache_keys == 1);
    assert_int_equal(seen.cache_key.cache, 0);
    cw_state_close(state);
}

/* A job's goes with it, a tenant's stays; what no job is there for is not written. */
static void what_was_used_comes_back(void **unused)
{
    (void)unused;
    remove_files();
    struct cw_state *state = open_ok();
    const struct cw_usage usage = {1, UINT64_MAX / 4, 3, 4.25, 5.5, 6.125, 0.75};
    put(state, "j1");
    cw_state_put_usage(state, "j1", &(struct cw_usage){.cost = 9});
    cw_state_put_usage(state, "j1", &usage);
    cw_state_put_usage(state, "nobody", &usage);
    cw_state_put_counts(state, "j1", (const uint64_t[]){5, UINT64_MAX - 7, 6}, 3);
    struct cw_buf *graph = cw_buf_copy("graph", 5);
    cw_state_put_plan(state, "j1", 2, NULL);
    cw_state_put_plan(state, "j1", 3, graph);
    cw_state_put_plan(state, "nobody", 3, graph);
    cw_buf_unref(graph);
    commit_ok(state);
    cw_state_close(state);
    state = open_ok();
    struct seen seen = load(state);
    assert_int_equal(seen.usages, 1);
    assert_int_equal(seen.counts_n, 3);
    assert_int_equal(seen.plans, 1);
    assert_true(seen.count_1 == UINT64_MAX - 7);
    assert_memory_equal(&seen.usage, &usage, sizeof(usage));
    cw_state_put_tenant(state, "t", &usage);
    cw_state_remove_job(state, "j1");
    commit_ok(state);
    seen = load(state);
    assert_true(seen.usages == 0 && seen.tenants == 1 && seen.counts_n == 0 && seen.plans == 0);
    assert_memory_equal(&seen.past, &usage, sizeof(usage));
    cw_state_close(state);
}

static void kill_loses_nothing_that_was_committed(void **unused)
{
    (void)unused;
    remove_files();
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct cw_state *state = NULL;
        if (cw_state_open(dir, 0, &state, NULL) != 0)
            _exit(1);
        put(state, "kept");
        if (cw_state_commit(state, NULL) != 0)
            _exit(1);
        put(state, "lost");
        (void)kill(getpid(), SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    struct cw_state *state = open_ok();
    assert_int_equal(load(state).jobs, 1);
    cw_state_close(state);
}

static int open_code(char *ret_msg, size_t cap)
{
    struct cw_state *state = NULL;
    struct cw_err err = {0};
    int rc = cw_state_open(dir, 0, &state, &err);
    snprintf(ret_msg, cap, "%.*s", (int)cap - 1, err.msg);
    cw_state_close(state);
    return rc;
}

static void two_dispatchers_do_not_share(void **unused)
{
    (void)unused;
    char msg[512];
    struct cw_state *state = open_ok();
    assert_int_equal(open_code(msg, sizeof(msg)), CW_E_AGAIN);
    assert_non_null(strstr(msg, "--standby"));
    cw_state_close(state);
    assert_int_equal(open_code(msg, sizeof(msg)), 0);
}

static void a_newer_schema_is_refused(void **unused)
{
    (void)unused;
    char msg[512];
    cw_state_close(open_ok());
    cw_autofree char *path = path_of("state.db");
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=99", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(open_code(msg, sizeof(msg)), CW_E_UNSUPPORTED);
    assert_non_null(strstr(msg, "99"));
    remove_files();
}

/* Version 11 had the same tables, but refuses the texts of profiles that are written now. */
static void who_cannot_read_profiles_refuses_the_state(void **unused)
{
    (void)unused;
    cw_state_close(open_ok());
    cw_autofree char *path = path_of("state.db");
    for (int i = 0; i < 2; i++) {
        sqlite3 *db = NULL;
        sqlite3_stmt *stmt = NULL;
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &stmt, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        assert_in_range(sqlite3_column_int(stmt, 0), 12, 98);
        sqlite3_finalize(stmt);
        /* one of version 11 is brought up to date */
        assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=11", NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        cw_state_close(open_ok());
    }
    remove_files();
}

static void torn_and_missing_files_are_refused(void **unused)
{
    (void)unused;
    char msg[512];
    cw_autofree char *path = path_of("state.db");
    remove_files();
    cw_state_close(open_ok());
    assert_int_equal(truncate(path, 3000), 0);
    assert_int_equal(open_code(msg, sizeof(msg)), CW_E_CORRUPT);
    assert_non_null(strstr(msg, "restore"));
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(open_code(msg, sizeof(msg)), CW_E_CORRUPT);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(open_code(msg, sizeof(msg)), CW_E_CORRUPT);
    assert_non_null(strstr(msg, "missing"));
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 1000; i++)
        fputs("this is no database ", f);
    fclose(f);
    assert_int_equal(open_code(msg, sizeof(msg)), CW_E_CORRUPT);
    remove_files();
}

/* ---- its size ---- */

static int64_t file_bytes(void)
{
    cw_autofree char *path = path_of("state.db");
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

/* Large pipelines leave when their jobs do. `old`: the file was made by a version that kept them. */
static void shrinks(bool old)
{
    struct cw_err err = {0};
    struct cw_state *state = open_ok();
    cw_autofree char *large = cw_mem_new(8u << 20);
    memset(large, 'x', 8u << 20);
    put(state, "stays");
    cw_state_put_job(state, &(const struct cw_state_job){.id = "large",
                                                         .name = "",
                                                         .options = {"", 0},
                                                         .graph = {large, 8u << 20},
                                                         .manifest = {"", 0},
                                                         .info = {"", 0},
                                                         .error = ""});
    assert_int_equal(cw_state_commit(state, &err), 0);
    cw_state_close(state);
    assert_true(file_bytes() > 8 << 20);
    if (old) {
        cw_autofree char *path = path_of("state.db");
        sqlite3 *db = NULL;
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        const char *sql = "PRAGMA auto_vacuum=NONE; VACUUM";
        assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
    }
    state = open_ok();
    cw_state_remove_job(state, "large");
    assert_int_equal(cw_state_commit(state, &err), 0);
    cw_state_close(state);
    assert_true(file_bytes() < 1 << 20);
    state = open_ok();
    cw_state_close(state);
    remove_files();
}

static void the_room_of_removed_jobs_is_given_back(void **unused)
{
    (void)unused;
    shrinks(false);
    shrinks(true);
}

/* The database of an open state, as somebody else sees it. */
static void elsewhere(const char *sql)
{
    cw_autofree char *path = path_of("state.db");
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA synchronous=OFF", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}
static void break_it(void)
{
    elsewhere("ALTER TABLE workers RENAME TO elsewhere");
}
static void mend_it(void)
{
    elsewhere("ALTER TABLE elsewhere RENAME TO workers");
}

static void commit_fails(struct cw_state *state)
{
    struct cw_err err = {0};
    assert_int_not_equal(cw_state_commit(state, &err), 0);
    assert_true(err.msg[0] != '\0');
}

static void what_failed_is_stored_with_the_next(void **unused)
{
    (void)unused;
    remove_files();
    struct cw_state *state = open_ok();
    put(state, "a");
    commit_ok(state);
    break_it();
    put(state, "b");
    uint64_t seq = cw_state_seq(state);
    cw_state_put_worker(state, 1, "x"); /* fails: no such table */
    commit_fails(state);
    assert_false(cw_state_is_stored(state, seq));
    assert_true(cw_state_is_dirty(state));
    mend_it();
    assert_int_equal(load(state).jobs, 1); /* all or nothing */
    commit_ok(state);
    assert_true(cw_state_is_stored(state, seq));
    struct seen seen = load(state);
    assert_true(seen.jobs == 2 && seen.workers == 1);
    cw_state_close(state);
}

/* Deletes too: a job that was removed while the disk failed does not come back. */
static void deletes_are_kept(void **unused)
{
    (void)unused;
    remove_files();
    struct cw_state *state = open_ok();
    struct cw_set set = {0};
    cw_set_add(&set, 0, 5);
    put(state, "a");
    put(state, "b");
    cw_state_put_progress(state, "b", 3, -1, &set);
    cw_state_put_worker(state, 1, "x");
    cw_state_put_usage(state, "a", &(struct cw_usage){.elements = 5});
    commit_ok(state);
    break_it();
    cw_state_remove_job(state, "a");
    /* what it used is counted once: there or here */
    cw_state_put_tenant(state, "t", &(struct cw_usage){.elements = 5});
    cw_state_clear_progress(state, "b");
    cw_state_remove_worker(state, 1);
    commit_fails(state);
    mend_it();
    cw_state_put_worker(state, 2, "y");
    commit_ok(state);
    struct seen seen = load(state);
    assert_true(seen.jobs == 1 && seen.progress == 0 && seen.workers == 1);
    assert_true(seen.usages == 0 && seen.tenants == 1 && seen.past.elements == 5);
    cw_set_fini(&set);
    cw_state_close(state);
}

static int count_decision(void *arg, const struct cw_state_decision *row, struct cw_err *err)
{
    (void)row, (void)err;
    ++*(int *)arg;
    return 0;
}

/* What was decided about a job that was removed by hand, while the disk failed. */
static void decisions_that_are_forgotten_do_not_come_back(void **unused)
{
    (void)unused;
    remove_files();
    struct cw_state *state = open_ok();
    const struct cw_state_decision decision = {
        .job = "a", .kind = "autoscale", .choice = "1 worker"};
    const struct cw_state_decision_query query = {.job = "a", .limit = 10};
    int n = 0;
    put(state, "a");
    cw_state_put_decision(state, &decision, 10, 10);
    commit_ok(state);
    assert_int_equal(cw_state_find_decisions(state, &query, count_decision, &n, NULL), 0);
    assert_int_equal(n, 1);
    break_it();
    cw_state_put_decision(state, &decision, 10, 10);
    cw_state_forget_decisions(state, "a");
    cw_state_remove_job(state, "a");
    cw_state_put_worker(state, 1, "x");
    commit_fails(state);
    mend_it();
    commit_ok(state);
    n = 0;
    assert_int_equal(cw_state_find_decisions(state, &query, count_decision, &n, NULL), 0);
    assert_int_equal(n, 0);
    cw_state_close(state);
}

/* It is removed while the thread writes it, and the thread fails. */
static void a_job_that_is_removed_while_it_is_written_is_not_stored(void **unused)
{
    (void)unused;
    remove_files();
    struct cw_state *state = open_ok();
    break_it();
    put(state, "a");
    cw_state_put_worker(state, 1, "x");
    assert_true(cw_state_submit(state));
    cw_state_remove_job(state, "a");
    put(state, "b"); /* of the same name */
    commit_fails(state);
    mend_it();
    commit_ok(state);
    assert_int_equal(load(state).jobs, 1);
    cw_state_close(state);
}

/* A trainer that goes back meets what was left out only because a worker was lost: also after a
 * restart. */
static void going_back_clears_what_was_skipped(void **unused)
{
    (void)unused;
    remove_files();
    struct cw_state *state = open_ok();
    struct cw_set set = {0};
    cw_set_add(&set, 0, 5);
    put(state, "a");
    cw_state_put_skipped(state, "a", 3, &set);
    cw_state_put_left_out(state, "a", 3, &set); /* by hand: for good */
    commit_ok(state);
    cw_state_put_skipped(state, "a", 4, &set);
    cw_state_clear_progress(state, "a");
    commit_ok(state);
    struct seen seen = load(state);
    assert_true(seen.skipped == 0 && seen.left_out == 8);
    cw_state_put_skipped(state, "a", 3, &set);
    commit_ok(state);
    assert_int_equal(load(state).skipped, 1);
    cw_set_fini(&set);
    cw_state_close(state);
}

/* In one transaction, before the job was ever stored. */
static void a_job_that_is_removed_at_once_is_not_stored(void **unused)
{
    (void)unused;
    remove_files();
    struct cw_state *state = open_ok();
    put(state, "a");
    cw_state_remove_job(state, "a");
    commit_ok(state);
    assert_int_equal(load(state).jobs, 0);
    cw_state_close(state);
}

static void a_job_that_is_stored_again_keeps_what_belongs_to_it(void **unused)
{
    (void)unused;
    remove_files();
    struct cw_state *state = open_ok();
    struct cw_set set = {0};
    cw_set_add(&set, 0, 5);
    put(state, "a");
    cw_state_put_progress(state, "a", 0, -1, &set);
    cw_state_put_skipped(state, "a", 0, &set);
    commit_ok(state);
    put(state, "a");
    commit_ok(state);
    struct seen seen = load(state);
    assert_true(seen.jobs == 1 && seen.progress == 1 && seen.skipped == 1);
    cw_set_fini(&set);
    cw_state_close(state);
}

/* However long a disk fails: of each row the last is kept. */
static void what_waits_is_bounded(void **unused)
{
    (void)unused;
    remove_files();
    struct cw_state *state = open_ok();
    struct cw_set set = {0};
    put(state, "a");
    commit_ok(state);
    break_it();
    size_t least = 0;
    for (uint64_t i = 0; i < 300; i++) {
        cw_set_clear(&set);
        cw_set_add(&set, i, i + 7);
        cw_state_put_progress(state, "a", 0, -1, &set);
        cw_state_set_job(state, "a", CW_JOB_RUNNING, 0, 0, "");
        if (i % 2 == 0)
            cw_state_put_worker(state, 1, "x");
        else
            cw_state_remove_worker(state, 1);
        if (i % 100 == 50)
            assert_true(cw_state_submit(state)); /* the next ones are written meanwhile */
        if (i % 100 == 52)
            commit_fails(state);
        least = i == 0 ? cw_state_waiting_n(state) : least;
    }
    assert_int_equal(cw_state_waiting_n(state), least);
    mend_it();
    commit_ok(state);
    struct seen seen = load(state);
    assert_true(seen.progress == 1 && seen.count == 7 && seen.workers == 0);
    cw_set_fini(&set);
    cw_state_close(state);
}

/* When the disk has failed for long, what is only told of gives way to what must not be lost. */
static void a_crowd_drops_decisions(void **unused)
{
    (void)unused;
    remove_files();
    struct cw_state *state = open_ok();
    const struct cw_state_decision decision = {.kind = "autoscale", .choice = "1 worker"};
    char *graph = cw_mem_new(1 << 20);
    cw_state_put_decision(state, &decision, 10, 10);
    size_t before = cw_state_waiting_n(state);
    assert_true(before > 0);
    for (int i = 0; i < 65; i++) {
        cw_autofree char *id = cw_mem_printf("j%d", i);
        const struct cw_state_job job = {.id = id,
                                         .name = "n",
                                         .status = CW_JOB_RUNNING,
                                         .graph = {graph, 1 << 20},
                                         .error = ""};
        assert_false(cw_state_is_overloaded(state));
        cw_state_put_job(state, &job);
        i += cw_state_is_overloaded(state) ? 65 : 0;
    }
    assert_true(cw_state_is_overloaded(state));
    before = cw_state_waiting_n(state);
    cw_state_put_decision(state, &decision, 10, 10);
    assert_int_equal(cw_state_waiting_n(state), before);
    commit_ok(state);
    assert_false(cw_state_is_overloaded(state));
    cw_mem_free(graph);
    cw_state_close(state);
}

/* What is cleared in between is not brought back by what came before, and what comes after it is
 * kept. */
static void order_is_kept(void **unused)
{
    (void)unused;
    remove_files();
    struct cw_state *state = open_ok();
    struct cw_set set = {0};
    cw_set_add(&set, 0, 5);
    put(state, "a");
    cw_state_put_progress(state, "a", 4, -1, &set);
    cw_state_put_progress(state, "a", 5, -1, &set);
    cw_state_clear_progress(state, "a");
    cw_set_add(&set, 7, 8);
    cw_state_put_progress(state, "a", 5, -1, &set);
    commit_ok(state);
    struct seen seen = load(state);
    assert_true(seen.progress == 1 && seen.count == 6);
    cw_set_fini(&set);
    cw_state_close(state);
}

/* ---- any writes, on a disk that fails at any time ---- */

static const char *const ids[] = {"a", "b", "c"};

static void write_one(struct cw_state *state, const struct cw_rng *rng, bool removed[])
{
    static uint64_t made;
    size_t which = cw_rng_below(rng, 0, CW_ARRAY_LEN(ids));
    const char *id = ids[which];
    uint64_t epoch = cw_rng_below(rng, 1, 4), n = cw_rng_below(rng, 2, 50);
    struct cw_set set = {0};
    cw_set_add(&set, n, n + 7);
    const struct cw_state_position position = {.epoch = epoch, .item = n};
    const struct cw_usage usage = {.elements = n};
    const struct cw_state_cache_key key = {.tenant = "t", .key = id, .ids = n};
    const struct cw_state_decision decision = {.job = id, .kind = "k", .epoch = n};
    switch (cw_rng_below(rng, 3, 20)) {
    case 0:
        if (n >= 10) /* rarely */
            break;
        cw_state_remove_job(state, id);
        cw_state_put_tenant(state, "t", &usage);
        removed[which] = true;
        break;
    case 1:
        cw_state_clear_progress(state, id);
        cw_state_set_job(state, id, CW_JOB_RUNNING, epoch, 0, "");
        break;
    case 2:
        cw_state_set_job(state, id, CW_JOB_FAILED, epoch, (int)n, "because");
        break;
    case 3:
        cw_state_set_options(state, id, &(const struct cw_state_blob){&"other"[epoch], 1});
        break;
    case 4:
        cw_state_put_skipped(state, id, epoch, &set);
        break;
    case 5:
        cw_state_put_left_out(state, id, epoch, &set);
        break;
    case 6:
        cw_state_put_position(state, id, (uint32_t)epoch, n, &position);
        break;
    case 7:
        cw_state_put_worker(state, epoch, id);
        break;
    case 8:
        cw_state_remove_worker(state, epoch);
        break;
    case 9:
        cw_state_put_cache_key(state, &key);
        break;
    case 10:
        cw_state_remove_cache_key(state, 0, "t", id);
        break;
    case 11:
        cw_state_put_usage(state, id, &usage);
        break;
    case 12:
        cw_state_put_counts(state, id, &n, 1);
        break;
    case 13:
        cw_state_put_decision(state, &decision, 3, 1000);
        break;
    case 14:
        cw_state_forget_decisions(state, id);
        break;
    case 15:
        cw_state_put_profile(state, ids[epoch % 3], id, (int64_t)++made, "", 2);
        break;
    case 16:
    case 17:
        if (!removed[which]) /* an id is never used again */
            put(state, id);
        break;
    default:
        cw_state_put_progress(state, id, epoch, (int)(n % 2) - 1, &set);
    }
    cw_set_fini(&set);
}

static int add_row(void *arg, int n, char **values, char **names)
{
    (void)names;
    for (int i = 0; i < n; i++)
        cw_str_addf(arg, "%s%s", i == 0 ? "\n" : " ", values[i] ? values[i] : "-");
    return 0;
}

/* All that is stored, as text. */
static void dump(struct cw_str *out)
{
    static const char *const queries[] = {
        "SELECT id, status, hex(options), first_epoch, error_code, error FROM jobs",
        "SELECT job, epoch, consumer, hex(consumed) FROM progress",
        "SELECT job, epoch, hex(items) FROM skipped",
        "SELECT job, epoch, hex(items) FROM left_out",
        "SELECT * FROM positions",
        "SELECT * FROM workers",
        "SELECT * FROM cache_keys",
        "SELECT * FROM usage",
        "SELECT job, hex(numbers) FROM counts",
        "SELECT * FROM tenants",
        "SELECT job, epoch FROM decisions ORDER BY id",
        "SELECT key, job FROM profiles",
    };
    cw_autofree char *path = path_of("state.db");
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (size_t i = 0; i < CW_ARRAY_LEN(queries); i++) {
        cw_str_addf(out, "\n-- %s", queries[i]);
        assert_int_equal(sqlite3_exec(db, queries[i], add_row, out, NULL), SQLITE_OK);
    }
    sqlite3_close(db);
}

enum fate { WELL, FAILS, UNDER_WAY, FATES_N };

/* The same writes each time; those of a round are stored together (well), in vain (fails), or
 * while others are written behind them. */
static void write_rounds(struct cw_state *state, uint64_t seed, bool disk_fails)
{
    bool removed[CW_ARRAY_LEN(ids)] = {false};
    for (size_t i = 0; i < CW_ARRAY_LEN(ids); i++)
        put(state, ids[i]);
    for (uint64_t round = 0; round < 8; round++) {
        struct cw_rng rng;
        cw_rng_init(&rng, seed, 1, round, 0, 0);
        enum fate fate = disk_fails ? (enum fate)cw_rng_below(&rng, 0, FATES_N) : WELL;
        if (fate != WELL)
            break_it();
        for (uint64_t i = 0; i < 6; i++) {
            cw_rng_init(&rng, seed, 2, round, 0, i);
            write_one(state, &rng, removed);
            cw_state_put_worker(state, 9, "it fails here");
            if (!disk_fails)
                commit_ok(state);
            if (fate == UNDER_WAY && i == 2)
                (void)cw_state_submit(state);
        }
        if (fate == WELL)
            commit_ok(state);
        else
            commit_fails(state);
        if (fate != WELL)
            mend_it();
    }
    commit_ok(state);
}

static void a_disk_that_fails_changes_nothing_in_the_end(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 15; seed++) {
        CW_STR_AUTO right = {0};
        CW_STR_AUTO found = {0};
        for (int disk_fails = 0; disk_fails < 2; disk_fails++) {
            remove_files();
            struct cw_state *state = open_ok();
            /* it would only take time */
            assert_int_equal(sqlite3_exec(state->db, "PRAGMA synchronous=OFF", NULL, NULL, NULL),
                             SQLITE_OK);
            write_rounds(state, seed, disk_fails);
            dump(disk_fails ? &found : &right);
            cw_state_close(state);
        }
        if (!cw_str_eq(cw_str_text(&right), cw_str_text(&found)))
            fail_msg("seed %llu: on a well disk%s\n\non one that fails%s", (unsigned long long)seed,
                     cw_str_text(&right), cw_str_text(&found));
    }
}

static void generations_rise(void **unused)
{
    (void)unused;
    assert_int_equal(cw_state_next_generation(7, 0, 0, 0), 8);
    /* the copy is older than the directory */
    assert_int_equal(cw_state_next_generation(7, 9, 0, 0), 10);
    assert_int_equal(cw_state_next_generation(7, 9, 1000, 0), 1000); /* the time of day */
    assert_int_equal(cw_state_next_generation(7, 9, 1000, 2000), 2001);
    assert_int_equal(cw_state_next_generation(5000, 9, 1000, 2000), 5001); /* the clock is behind */
    remove_files();
    struct cw_state *state = open_ok();
    uint64_t first = cw_state_generation(state);
    cw_state_close(state);
    elsewhere("UPDATE meta SET value = 17 WHERE key = 'generation'"); /* an older copy */
    state = open_ok();
    assert_true(cw_state_generation(state) > first);
    cw_state_close(state);
    struct cw_err err = {0};
    assert_int_equal(cw_state_open(dir, CW_GENERATION_MAX / 2, &state, &err), 0);
    assert_true(cw_state_generation(state) == CW_GENERATION_MAX / 2 + 1);
    cw_state_close(state);
}

static void the_files_are_private(void **unused)
{
    (void)unused;
    remove_files();
    struct cw_state *state = open_ok();
    put(state, "a");
    commit_ok(state);
    static const char *const names[] = {"state.db", "state.db-wal", "state.db-shm", "lock"};
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        cw_autofree char *path = path_of(names[i]);
        struct stat st;
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
    cw_state_close(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_committed_comes_back),
        cmocka_unit_test(keys_of_the_cache_come_back),
        cmocka_unit_test(named_caches),
        cmocka_unit_test(what_was_used_comes_back),
        cmocka_unit_test(kill_loses_nothing_that_was_committed),
        cmocka_unit_test(two_dispatchers_do_not_share),
        cmocka_unit_test(a_newer_schema_is_refused),
        cmocka_unit_test(who_cannot_read_profiles_refuses_the_state),
        cmocka_unit_test(torn_and_missing_files_are_refused),
        cmocka_unit_test(what_failed_is_stored_with_the_next),
        cmocka_unit_test(deletes_are_kept),
        cmocka_unit_test(decisions_that_are_forgotten_do_not_come_back),
        cmocka_unit_test(a_job_that_is_removed_while_it_is_written_is_not_stored),
        cmocka_unit_test(going_back_clears_what_was_skipped),
        cmocka_unit_test(a_job_that_is_removed_at_once_is_not_stored),
        cmocka_unit_test(a_job_that_is_stored_again_keeps_what_belongs_to_it),
        cmocka_unit_test(what_waits_is_bounded),
        cmocka_unit_test(a_crowd_drops_decisions),
        cmocka_unit_test(order_is_kept),
        cmocka_unit_test(a_disk_that_fails_changes_nothing_in_the_end),
        cmocka_unit_test(generations_rise),
        cmocka_unit_test(the_room_of_removed_jobs_is_given_back),
        cmocka_unit_test(the_files_are_private),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
