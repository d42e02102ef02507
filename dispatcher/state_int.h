/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the state*.c files. */
#ifndef CW_DISPATCHER_STATE_INT_H
#define CW_DISPATCHER_STATE_INT_H

#include <sqlite3.h>
#include "base/str.h"
#include "dispatcher/state.h"

enum cw_state_statement {
    CW_STATE_PUT_JOB,
    CW_STATE_SET_JOB,
    CW_STATE_DROP_PROGRESS,
    CW_STATE_DROP_SKIPPED,
    CW_STATE_REMOVE_JOB,
    CW_STATE_PUT_PROGRESS,
    CW_STATE_CLEAR_PROGRESS,
    CW_STATE_PUT_SKIPPED,
    CW_STATE_PUT_LEFT_OUT,
    CW_STATE_PUT_POSITION,
    CW_STATE_PUT_WORKER,
    CW_STATE_REMOVE_WORKER,
    CW_STATE_PUT_CACHE_KEY,
    CW_STATE_REMOVE_CACHE_KEY,
    CW_STATE_PUT_USAGE,
    CW_STATE_PUT_TENANT,
    CW_STATE_PUT_DECISION,
    CW_STATE_DROP_DECISIONS,
    CW_STATE_DROP_ALL_DECISIONS,
    CW_STATE_FORGET_DECISIONS,
    CW_STATE_PUT_PROFILE,
    CW_STATE_DROP_PROFILES,
    CW_STATE_STATEMENTS_N
};
struct cw_state {
    char *dir;
    int lock_fd;
    sqlite3 *db;
    uint64_t generation;
    bool open_tx;
    uint64_t decisions_put;
    struct cw_err failed; /* first failed write of the transaction */
    sqlite3_stmt *stmts[CW_STATE_STATEMENTS_N]; /* prepared when first used */
};

/* Brings an open database to the present schema (state_schema.c). used: the directory was in use before. */
int cw_state_migrate(sqlite3 *db, const char *dir, bool used, struct cw_err *err);
int cw_state_db_error(sqlite3 *db, const char *dir, const char *doing, struct cw_err *err);
int cw_state_exec(sqlite3 *db, const char *dir, const char *sql, const char *doing, struct cw_err *err);

/* One write: the statement ready for binding (NULL when the transaction has failed already), its parameters, and its end. */
sqlite3_stmt *cw_state_begin(struct cw_state *state, enum cw_state_statement which);
void cw_state_bind_text(sqlite3_stmt *stmt, int i, const char *s);
void cw_state_bind_u64(sqlite3_stmt *stmt, int i, uint64_t v);
void cw_state_bind_blob(sqlite3_stmt *stmt, int i, const void *p, size_t n);
void cw_state_finish(struct cw_state *state, sqlite3_stmt *stmt, const char *doing);

struct cw_usage cw_state_usage_at(sqlite3_stmt *stmt); /* of a row that begins with a name */

/* Sets of numbers as stored: pairs of little-endian 64-bit numbers. */
void cw_state_set_bytes(const struct cw_set *set, struct cw_str *out);
int cw_state_set_read(const void *p, size_t n, struct cw_set *set, struct cw_err *err);

#endif
