/* SPDX-License-Identifier: Apache-2.0 */
/* Converts SQLite's errors to the dispatcher's, and runs statements without results. */
#include "dispatcher/state/state_int.h"

int cw_state_db_error(sqlite3 *db, const char *dir, const char *doing, struct cw_err *err)
{
    int code = sqlite3_errcode(db);
    const char *text = sqlite3_errmsg(db);
    switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return cw_err_set(err, CW_E_CORRUPT,
                          "%s/state.db is damaged (%s: %s): restore it from a copy, or remove the "
                          "directory to begin anew (jobs are lost then; "
                          "trainers can go on with their resume tokens)",
                          dir, doing, text);
    case SQLITE_FULL:
        return cw_err_set(err, CW_E_IO, "%s: no space left (%s)", dir, doing);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
        return cw_err_set(err, CW_E_DENIED, "%s/state.db cannot be written (%s: %s)", dir, doing,
                          text);
    default:
        return cw_err_set(err, CW_E_IO, "%s/state.db: %s: %s", dir, doing, text);
    }
}

int cw_state_exec(sqlite3 *db, const char *dir, const char *sql, const char *doing,
                  struct cw_err *err)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    int rc = cw_state_db_error(db, dir, doing, err);
    if (!sqlite3_get_autocommit(db))
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}
