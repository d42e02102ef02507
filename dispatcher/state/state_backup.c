/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a consistent copy of what is stored, with a connection of its own, while the dispatcher
 * goes on. It is for a thread that may wait. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>
#include "base/mem.h"
#include "dispatcher/state/state_int.h"

/* The number of SQLite's steps after which it checks whether the copy is to stop. */
#define STEPS 1000

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

int cw_state_backup(const char *dir, atomic_int *stop, int *ret_fd, struct cw_err *err)
{
    cw_autofree char *path = cw_mem_printf("%s/state.db", dir), *copy = cw_state_backup_path(dir);
    (void)unlink(copy);
    /* Only the owner may read the copy, as it is with state.db. */
    int fd = open(copy, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return cw_err_errno(err, errno, "cannot make %s", copy);
    sqlite3 *db = NULL;
    int rc = 0;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        rc = cw_state_db_error(db, dir, "opening it", err);
    sqlite3_busy_timeout(db, 2000);
    sqlite3_progress_handler(db, STEPS, is_stopped, stop);
    if (rc == 0)
        rc = copy_into(db, dir, copy, err);
    sqlite3_close(db);
    (void)unlink(copy); /* The file disappears when its descriptor is closed. */
    if (rc != 0)
        close(fd);
    else
        *ret_fd = fd;
    return rc;
}
