/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a consistent copy of what is stored while the dispatcher goes on. It is for a thread that may wait. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>
#include "base/mem.h"
#include "dispatcher/state/state_int.h"

/* The number of SQLite's steps after which it checks whether the copy is to stop. */
#define STEPS 1000
#define PAGES 256 /* that are copied at a time with the connection that others use */

static int is_stopped(void *arg)
{
    return atomic_load((atomic_int *)arg);
}

static int copy_into(sqlite3 *db, const char *dir, const char *path, struct cw_err *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = 0;
    if (sqlite3_prepare_v2(db, "VACUUM INTO ?", -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_bind_text(stmt, 1, path, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_DONE)
        rc = cw_state_db_error(db, dir, "copying it", err);
    sqlite3_finalize(stmt);
    return rc;
}

char *cw_state_backup_path(const char *dir)
{
    return cw_mem_printf("%s/backup.tmp", dir);
}

/* With a connection of its own. */
static int copy_beside(struct cw_state *state, const char *copy, atomic_int *stop,
                       struct cw_err *err)
{
    cw_autofree char *path = cw_mem_printf("%s/state.db", state->dir);
    sqlite3 *db = NULL;
    int rc = 0;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        rc = cw_state_db_error(db, state->dir, "opening it", err);
    sqlite3_busy_timeout(db, 2000);
    sqlite3_progress_handler(db, STEPS, is_stopped, stop);
    if (rc == 0)
        rc = copy_into(db, state->dir, copy, err);
    sqlite3_close(db);
    return rc;
}

/* With the one connection that there is, some pages at a time, so that others get their turn. SQLite
 * does again in the copy what is changed meanwhile. */
static int copy_steps(struct cw_state *state, sqlite3_backup *backup, atomic_int *stop)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && atomic_load(stop) == 0) {
        cw_state_share_begin(state);
        rc = sqlite3_backup_step(backup, PAGES);
        cw_state_share_end(state);
    }
    return rc == SQLITE_OK ? SQLITE_INTERRUPT : rc;
}

static int copy_shared(struct cw_state *state, const char *copy, atomic_int *stop,
                       struct cw_err *err)
{
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(copy, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                        CW_STATE_WITHOUT_LOCKS) != SQLITE_OK) {
        int failed = cw_state_db_error(db, state->dir, "copying it", err);
        sqlite3_close(db);
        return failed;
    }
    cw_state_share_begin(state);
    sqlite3_backup *backup = sqlite3_backup_init(db, "main", state->db, "main");
    cw_state_share_end(state);
    int step = backup ? copy_steps(state, backup, stop) : SQLITE_ERROR;
    cw_state_share_begin(state);
    sqlite3_backup_finish(backup);
    cw_state_share_end(state);
    int rc = step == SQLITE_DONE ? 0
                                 : cw_err_set(err, CW_E_IO, "%s/state.db cannot be copied: %s",
                                              state->dir, sqlite3_errstr(step));
    sqlite3_close(db);
    return rc;
}

int cw_state_backup(struct cw_state *state, atomic_int *stop, int *ret_fd, struct cw_err *err)
{
    cw_autofree char *copy = cw_state_backup_path(state->dir);
    (void)unlink(copy);
    /* Only the owner may read the copy, as it is with state.db. */
    int fd = open(copy, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return cw_err_errno(err, errno, "cannot make %s", copy);
    int rc =
        state->root ? copy_shared(state, copy, stop, err) : copy_beside(state, copy, stop, err);
    (void)unlink(copy); /* The file disappears when its descriptor is closed. */
    if (rc != 0)
        close(fd);
    else
        *ret_fd = fd;
    return rc;
}
