/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of state/. */
#ifndef CW_DISPATCHER_STATE_STATE_INT_H
#define CW_DISPATCHER_STATE_STATE_INT_H

#include <sqlite3.h>
#include "base/map.h"
#include "base/str.h"
#include "base/thread.h"
#include "dispatcher/state/state.h"

enum cw_state_statement {
    CW_STATE_PUT_JOB,
    CW_STATE_SET_JOB,
    CW_STATE_SET_OPTIONS,
    CW_STATE_DROP_PROGRESS,
    CW_STATE_DROP_SKIPPED,
    CW_STATE_REMOVE_JOB,
    CW_STATE_PUT_PROGRESS,
    CW_STATE_CLEAR_PROGRESS,
    CW_STATE_CLEAR_SKIPPED,
    CW_STATE_PUT_SKIPPED,
    CW_STATE_PUT_LEFT_OUT,
    CW_STATE_PUT_POSITION,
    CW_STATE_PUT_WORKER,
    CW_STATE_REMOVE_WORKER,
    CW_STATE_PUT_CACHE_KEY,
    CW_STATE_REMOVE_CACHE_KEY,
    CW_STATE_PUT_USAGE,
    CW_STATE_PUT_COUNTS,
    CW_STATE_PUT_TENANT,
    CW_STATE_PUT_DECISION,
    CW_STATE_DROP_DECISIONS,
    CW_STATE_DROP_ALL_DECISIONS,
    CW_STATE_FORGET_DECISIONS,
    CW_STATE_PUT_PROFILE,
    CW_STATE_DROP_PROFILES,
    CW_STATE_STATEMENTS_N
};
struct cw_state_sql {
    const char *text;
    /* with the first key_n values it names what is written; a later write of the same takes its
     * place. 0 = nothing does */
    char row;
    int key_n;
};
extern const struct cw_state_sql cw_state_sql[CW_STATE_STATEMENTS_N];

/* ---- state_queue.c: writes that wait ---- */
#define CW_STATE_VALUES_MAX 14
enum cw_state_type { CW_STATE_INT, CW_STATE_REAL, CW_STATE_TEXT, CW_STATE_BLOB };
struct cw_state_value {
    enum cw_state_type type;
    uint64_t number;
    double real;
    size_t at, n; /* of texts and blobs: where they are in the operation's bytes */
};
struct cw_state_op {
    struct cw_state_op *prev, *next;
    enum cw_state_statement which;
    const char *doing; /* static: for messages */
    char *key;
    struct cw_str bytes;
    int n;
    struct cw_state_value v[CW_STATE_VALUES_MAX];
};
struct cw_state_queue {
    struct cw_state_op *first, *last;
    size_t n, bytes;
    struct cw_strmap by_key;
};
/* An operation is made, given its values in the order of the statement's parameters, and added. */
struct cw_state_op *cw_state_op_new(enum cw_state_statement which, const char *doing);
void cw_state_op_free(struct cw_state_op *op);
void cw_state_add_u64(struct cw_state_op *op, uint64_t v);
void cw_state_add_f64(struct cw_state_op *op, double v);
void cw_state_add_text(struct cw_state_op *op, const char *s); /* NULL = "" */
void cw_state_add_blob(struct cw_state_op *op, const void *p, size_t n);
void cw_state_add_set(struct cw_state_op *op, const struct cw_set *set);
void cw_state_queue_add(struct cw_state_queue *queue, struct cw_state_op *op); /* takes it */
/* What came before all of the queue, but for what later writes have taken the place of; leaves
 * `older` empty. */
void cw_state_queue_prepend(struct cw_state_queue *queue, struct cw_state_queue *older);
void cw_state_queue_clear(struct cw_state_queue *queue);

/* ---- state_writer.c: the thread ---- */
#define CW_STATE_OVERLOAD_BYTES ((size_t)64 << 20)
enum cw_state_phase { CW_STATE_IDLE, CW_STATE_HANDED, CW_STATE_RAN };
struct cw_state_writer {
    struct cw_thread thread;
    /* guards the rest, but for the batch while it is handed over: that is the thread's then */
    struct cw_mutex mutex;
    struct cw_cond cond;
    enum cw_state_phase phase;
    bool stop;
    struct cw_state_queue batch;
    struct cw_err err; /* of the batch that ran */
    cw_state_notify_fn *notify;
    void *notify_arg;
};
void cw_state_writer_start(struct cw_state *state);
void cw_state_writer_stop(struct cw_state *state); /* accepts one that was never started */

struct cw_state {
    char *dir;
    int lock_fd;
    sqlite3 *db;     /* the writer's once that is started */
    sqlite3 *reader; /* the loop's: sees what is committed */
    uint64_t generation;
    uint64_t decisions_put;
    struct cw_state_queue pending; /* written by the loop, not handed to the thread yet */
    bool busy;                     /* the thread has a batch */
    /* counts writes: all, up to the end of the batch, and those that are committed */
    uint64_t seq, batch_seq, stored_seq;
    size_t batch_bytes;
    struct cw_state_writer writer;
    sqlite3_stmt *stmts[CW_STATE_STATEMENTS_N]; /* the writer's; prepared when first used */
};

/* ---- state.c: writes ---- */
void cw_state_add(struct cw_state *state, struct cw_state_op *op); /* takes it */

/* ---- state_schema.c ---- */
/* Brings an open database to the present schema. used: the directory was in use
 * before. */
int cw_state_migrate(sqlite3 *db, const char *dir, bool used, struct cw_err *err);

/* ---- sql.c ---- */
int cw_state_db_error(sqlite3 *db, const char *dir, const char *doing, struct cw_err *err);
int cw_state_exec(sqlite3 *db, const char *dir, const char *sql, const char *doing,
                  struct cw_err *err);

/* ---- state_usage.c ---- */
struct cw_usage cw_state_usage_at(sqlite3_stmt *stmt); /* of a row that begins with a name */
/* Reads counts as they are stored, little-endian 64-bit numbers; returns how many there are. */
size_t cw_state_counts_read(const void *p, size_t n, uint64_t *ret_counts, size_t max);

/* ---- state_backup.c ---- */
/* Where a copy is made. What is found there was left by a dispatcher that died. */
char *cw_state_backup_path(const char *dir);

/* ---- statements.c ---- */
/* Sets of numbers as stored: pairs of little-endian 64-bit numbers. */
void cw_state_set_bytes(const struct cw_set *set, struct cw_str *out);
int cw_state_set_read(const void *p, size_t n, struct cw_set *set, struct cw_err *err);

#endif
