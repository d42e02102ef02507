/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the state: the lock of its directory, or a generation of its own with a lease; its database,
 * the checks, and the number of the generation that peers are told. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "dispatcher/state/generation_folders.h"
#include "dispatcher/state/network_file_system.h"
#include "dispatcher/state/state_copy.h"
#include "dispatcher/state/state_int.h"

static int make_dirs(const char *dir, struct cw_err *err)
{
    cw_autofree char *path = cw_mem_strdup(dir);
    for (char *p = path + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return cw_err_errno(err, errno, "state directory %s: cannot make %s", dir, path);
        *p = '/';
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return cw_err_errno(err, errno, "cannot make state directory %s", dir);
    return 0;
}

/* Once the directory has been in use, the lock file contains "generation N". So it is noticed if
 * state.db has vanished or was replaced by an older copy. *ret_locked is that generation; 0 if the
 * directory is new. */
static int take_lock(struct cw_state *state, uint64_t *ret_locked, struct cw_err *err)
{
    cw_autofree char *path = cw_mem_printf("%s/lock", state->dir);
    state->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (state->lock_fd < 0)
        return cw_err_errno(err, errno, "cannot open %s", path);
    if (flock(state->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return cw_err_set(err, CW_E_AGAIN,
                              "state directory %s is in use by another dispatcher: stop that one, "
                              "give another --state-dir, or wait for it "
                              "with --standby",
                              state->dir);
        return cw_err_errno(err, errno, "cannot lock %s", path);
    }
    return cw_state_read_generation_file(state->dir, "lock", ret_locked, err);
}

static int check_whole(struct cw_state *state, struct cw_err *err)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(state->db, "PRAGMA quick_check(1)", -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW) {
        sqlite3_finalize(stmt);
        return cw_state_db_error(state->db, state->dir, "checking it", err);
    }
    const char *text = (const char *)sqlite3_column_text(stmt, 0);
    int rc = 0;
    if (!cw_str_eq(text, "ok"))
        rc = cw_err_set(err, CW_E_CORRUPT,
                        "%s/state.db is damaged (%s): restore it from a copy, or remove the "
                        "directory to begin anew (jobs are lost then; "
                        "trainers can go on with their resume tokens)",
                        state->dir, text ? text : "check failed");
    sqlite3_finalize(stmt);
    return rc;
}

static int read_generation(struct cw_state *state, uint64_t *ret_generation, struct cw_err *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = 0;
    if (sqlite3_prepare_v2(state->db, "SELECT value FROM meta WHERE key = 'generation'", -1, &stmt,
                           NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        *ret_generation = (uint64_t)sqlite3_column_int64(stmt, 0);
    else
        rc = cw_err_set(err, CW_E_CORRUPT,
                        "%s/state.db has no generation: it was not written by cachew-dispatcher",
                        state->dir);
    sqlite3_finalize(stmt);
    return rc;
}

uint64_t cw_state_next_generation(uint64_t stored, uint64_t locked, int64_t wall_ms, uint64_t above)
{
    uint64_t next = CW_MAX(stored, CW_MAX(locked, above)) + 1;
    return wall_ms > 0 ? CW_MAX(next, (uint64_t)wall_ms) : next;
}

static int raise_generation(struct cw_state *state, uint64_t locked, uint64_t above,
                            struct cw_err *err)
{
    uint64_t stored = 0;
    int rc = read_generation(state, &stored, err);
    if (rc != 0)
        return rc;
    state->generation = cw_state_next_generation(stored, locked, cw_clock_wall_ms(), above);
    CW_STR_AUTO sql = {0};
    cw_str_addf(&sql, "UPDATE meta SET value = %llu WHERE key = 'generation'",
                (unsigned long long)state->generation);
    return cw_state_exec(state->db, state->dir, cw_str_text(&sql), "raising the generation", err);
}

/* SQLite gives its other files the permissions of this file. */
static int make_private(const char *path, struct cw_err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int rc = fd < 0 || fchmod(fd, 0600) != 0 ? cw_err_errno(err, errno, "cannot open %s", path) : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

/* A database without locks has one connection. */
static int open_reader(struct cw_state *state, const char *path, struct cw_err *err)
{
    if (state->root) {
        state->reader = state->db;
        return 0;
    }
    if (sqlite3_open_v2(path, &state->reader, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        return cw_state_db_error(state->reader, state->dir, "opening it", err);
    return cw_state_exec(state->reader, state->dir, "PRAGMA query_only=ON", "setting it up", err);
}

static int open_db(struct cw_state *state, uint64_t locked, uint64_t above, struct cw_err *err)
{
    cw_autofree char *path = cw_mem_printf("%s/state.db", state->dir);
    if (locked > 0 && access(path, F_OK) != 0 && errno == ENOENT)
        return cw_err_set(err, CW_E_CORRUPT,
                          "%s was in use, but its state.db is missing: restore it from a copy, or "
                          "remove the directory to begin anew (jobs are "
                          "lost then; trainers can go on with their resume tokens)",
                          state->dir);
    int rc = make_private(path, err);
    if (rc != 0)
        return rc;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &state->db, flags, state->root ? CW_STATE_WITHOUT_LOCKS : NULL) !=
        SQLITE_OK)
        return cw_state_db_error(state->db, state->dir, "opening it", err);
    /* Somebody may be looking at the database with sqlite3(1). */
    sqlite3_busy_timeout(state->db, 2000);
    static const char setup[] = "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA "
                                "synchronous=FULL; PRAGMA foreign_keys=ON;";
    if (state->root) /* No memory is shared with other processes, which may be on other hosts. */
        rc = cw_state_exec(state->db, state->dir, "PRAGMA locking_mode=EXCLUSIVE", "setting it up",
                           err);
    if (rc == 0)
        rc = cw_state_exec(state->db, state->dir, setup, "setting it up", err);
    if (rc == 0)
        rc = check_whole(state, err);
    if (rc == 0)
        rc = cw_state_migrate(state->db, state->dir, locked > 0, err);
    if (rc == 0)
        cw_state_shrink_prepare(state);
    if (rc == 0)
        rc = raise_generation(state, locked, above, err);
    return rc == 0 ? open_reader(state, path, err) : rc;
}

/* ---- without a lease ---- */

static int check_no_generations(const char *dir, struct cw_err *err)
{
    uint64_t highest;
    int rc = cw_generation_highest(dir, &highest, err);
    if (rc != 0 || highest == 0)
        return rc;
    return cw_err_set(
        err, CW_E_STATE,
        "%s is the state of dispatchers with --lease, the last one in generation-%llu: "
        "start this one with --lease, too, or see docs/backup.md",
        dir, (unsigned long long)highest);
}

static int open_locked(struct cw_state *state, uint64_t above, struct cw_err *err)
{
    uint64_t locked = 0;
    int rc = cw_state_check_file_system(state->dir, err);
    if (rc == 0)
        rc = check_no_generations(state->dir, err);
    if (rc == 0)
        rc = take_lock(state, &locked, err);
    if (rc == 0) {
        cw_autofree char *copy = cw_state_backup_path(state->dir);
        (void)unlink(copy);
    }
    if (rc == 0)
        rc = open_db(state, locked, above, err);
    if (rc == 0)
        rc = cw_state_write_generation_file(state->dir, "lock", state->generation, err);
    return rc;
}

/* ---- with a lease ---- */

static int open_generation(struct cw_state *state, uint64_t above, struct cw_err *err)
{
    struct cw_generation generation = {0};
    state->root = cw_steal(&state->dir);
    int rc = cw_generation_begin(state->root, &generation, err);
    state->dir = generation.dir ? generation.dir : cw_mem_strdup(state->root);
    state->folder = generation.number;
    if (rc == 0)
        rc = open_db(state, generation.locked, above, err);
    if (rc == 0)
        rc = cw_generation_complete(state->root, &generation, state->generation, err);
    return rc;
}

static int open_state(const char *dir, uint64_t above,
                      int (*open_it)(struct cw_state *, uint64_t, struct cw_err *),
                      struct cw_state **ret_state, struct cw_err *err)
{
    int rc = make_dirs(dir, err);
    if (rc != 0)
        return rc;
    struct cw_state *state = CW_NEW(struct cw_state);
    cw_mutex_init(&state->shared);
    state->dir = cw_mem_strdup(dir);
    state->lock_fd = -1;
    rc = open_it(state, above, err);
    if (rc != 0) {
        cw_state_close(state);
        return rc;
    }
    cw_state_writer_start(state);
    *ret_state = state;
    return 0;
}

int cw_state_open(const char *dir, uint64_t above, struct cw_state **ret_state, struct cw_err *err)
{
    return open_state(dir, above, open_locked, ret_state, err);
}

int cw_state_open_generation(const char *dir, uint64_t above, struct cw_state **ret_state,
                             struct cw_err *err)
{
    return open_state(dir, above, open_generation, ret_state, err);
}

void cw_state_close(struct cw_state *state)
{
    if (!state)
        return;
    if (state->writer.thread.started)
        (void)cw_state_commit(state, NULL);
    cw_state_writer_stop(state);
    cw_state_queue_clear(&state->pending);
    for (size_t i = 0; i < CW_ARRAY_LEN(state->stmts); i++)
        sqlite3_finalize(state->stmts[i]);
    if (state->reader != state->db)
        sqlite3_close(state->reader);
    sqlite3_close(state->db);
    if (state->lock_fd >= 0)
        close(state->lock_fd);
    cw_mutex_fini(&state->shared);
    cw_mem_free(state->root);
    cw_mem_free(state->dir);
    cw_mem_free(state);
}

uint64_t cw_state_generation(const struct cw_state *state)
{
    return state->generation;
}

uint64_t cw_state_folder(const struct cw_state *state)
{
    return state ? state->folder : 0;
}
