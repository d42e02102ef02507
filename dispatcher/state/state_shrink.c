/* SPDX-License-Identifier: Apache-2.0 */
/* Gives back the room that removed jobs leave in state.db. Free pages are used again first; only
 * when more than half of the file is free, pages are given back, some after each transaction, on
 * the thread that writes. */
#include "base/log.h"
#include "dispatcher/state/state_int.h"

#define PAGES_LEAST 256 /* pages of 4 KiB that may always be free */
#define STEP "16384"    /* pages that are given back after one transaction */
#define MODE_INCREMENTAL 2

static int64_t ask(sqlite3 *db, const char *pragma)
{
    sqlite3_stmt *stmt = NULL;
    int64_t value = -1;
    if (sqlite3_prepare_v2(db, pragma, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

void cw_state_shrink_prepare(struct cw_state *state)
{
    if (ask(state->db, "PRAGMA auto_vacuum") == MODE_INCREMENTAL)
        return;
    /* A file of an earlier version is written anew once. If that fails it stays as it was. */
    struct cw_err err = {0};
    if (cw_state_exec(state->db, state->dir, "PRAGMA auto_vacuum=INCREMENTAL; VACUUM",
                      "making it smaller", &err) != 0)
        cw_log_warn(CW_LOG_MOD, "%s", err.msg);
}

void cw_state_shrink(struct cw_state *state)
{
    int64_t unused = ask(state->db, "PRAGMA freelist_count");
    if (unused > PAGES_LEAST && 2 * unused > ask(state->db, "PRAGMA page_count"))
        (void)sqlite3_exec(state->db, "PRAGMA incremental_vacuum(" STEP ")", NULL, NULL, NULL);
}
