/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of state/ share. */
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
    CW_STATE_PUT_META,
    CW_STATE_PUT_CACHE_KEY,
    CW_STATE_REMOVE_CACHE_KEY,
    CW_STATE_PUT_CACHE,
    CW_STATE_REMOVE_CACHE,
    CW_STATE_FORGET_CACHE_KEYS,
    CW_STATE_PUT_CACHE_SOURCE,
    CW_STATE_FORGET_CACHE_SOURCES,
    CW_STATE_PUT_USAGE,
    CW_STATE_PUT_PLAN,
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
    /* The letter of the table; with the first key_n values it names the row that is written. A
     * later write of the same row replaces an earlier one that still waits. 0: nothing replaces
     * it. */
    char row;
    int key_n;
};
extern const struct cw_state_sql cw_state_sql[CW_STATE_STATEMENTS_N];

/* ---- state_queue.c: writes that wait for their transaction ---- */
#define CW_STATE_VALUES_MAX 15
enum cw_state_type { CW_STATE_INT, CW_STATE_REAL, CW_STATE_TEXT, CW_STATE_BLOB };
struct cw_state_value {
    enum cw_state_type type;
    uint64_t number;
    double real;
    size_t at, n;       /* The place of a text or blob in the operation's bytes. */
    struct cw_buf *buf; /* A blob that has a buffer of its own; NULL: it is there. */
};
struct cw_state_op {
    struct cw_state_op *prev, *next;
    enum cw_state_statement which;
    const char *doing; /* A constant text that says in error messages what was being done. */
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
/* An operation is created, given its values in the order of the statement's parameters, and added
 * to a queue. */
struct cw_state_op *cw_state_op_new(enum cw_state_statement which, const char *doing);
void cw_state_op_free(struct cw_state_op *op);
void cw_state_add_u64(struct cw_state_op *op, uint64_t v);
void cw_state_add_f64(struct cw_state_op *op, double v);
/* Adds a text to the operation's values. NULL counts as "". */
void cw_state_add_text(struct cw_state_op *op, const char *s);
void cw_state_add_blob(struct cw_state_op *op, const void *p, size_t n);
/* A blob that is kept by its buffer, and not copied, if it has one. */
void cw_state_add_buf(struct cw_state_op *op, const struct cw_state_blob *blob, struct cw_buf *buf);
void cw_state_add_set(struct cw_state_op *op, const struct cw_set *set);
/* Adds the operation to the queue. It takes the operation from the caller. */
void cw_state_queue_add(struct cw_state_queue *queue, struct cw_state_op *op);
/* Puts the operations of `older` before those of `queue`, except those that a later write has
 * replaced. `older` is empty afterwards. */
void cw_state_queue_prepend(struct cw_state_queue *queue, struct cw_state_queue *older);
void cw_state_queue_clear(struct cw_state_queue *queue);

/* ---- state_writer.c: the thread that runs transactions ---- */
#define CW_STATE_OVERLOAD_BYTES ((size_t)64 << 20)
enum cw_state_phase { CW_STATE_IDLE, CW_STATE_HANDED, CW_STATE_RAN };
struct cw_state_writer {
    struct cw_thread thread;
    /* The mutex guards the other fields. But while a batch is handed over, the batch belongs to the
     * thread. */
    struct cw_mutex mutex;
    struct cw_cond cond;
    enum cw_state_phase phase;
    bool stop;
    struct cw_state_queue batch;
    struct cw_err err; /* The error of the last batch of operations. */
    bool is_over;      /* Another dispatcher has taken over; err says so. */
    cw_state_notify_fn *notify;
    void *notify_arg;
};
void cw_state_writer_start(struct cw_state *state);
/* A writer that was never started is accepted. */
void cw_state_writer_stop(struct cw_state *state);

struct cw_state {
    char *dir;       /* The folder of state.db. */
    char *root;      /* With a lease: the state directory, in which dir is. NULL: dir is that. */
    uint64_t folder; /* With a lease: the number in the name of dir. */
    int lock_fd;
    /* With a lease there is one connection, and whoever uses it holds this mutex. */
    struct cw_mutex shared;
    bool is_over;    /* Another dispatcher has taken over, as the result of a transaction says. */
    sqlite3 *db;     /* The connection of the writer, which owns it from its start on. */
    sqlite3 *reader; /* This connection belongs to the loop thread, and sees what is committed. */
    uint64_t generation;
    uint64_t decisions_put;
    struct cw_state_queue pending; /* Operations that are not handed to the thread yet. */
    bool busy; /* The thread has a batch of operations that it has not finished. */
    /* Numbers of writes: all of them, those up to the end of the batch, and those that are
     * committed. */
    uint64_t seq, batch_seq, stored_seq;
    size_t batch_bytes;
    struct cw_state_writer writer;
    /* The prepared statements belong to the writer, and are prepared when first used. */
    sqlite3_stmt *stmts[CW_STATE_STATEMENTS_N];
};

/* ---- shared_connection.c ---- */
/* The part of SQLite that takes no locks on files. */
#define CW_STATE_WITHOUT_LOCKS "unix-none"
/* Around each use of a connection from the writer's start on. */
void cw_state_share_begin(struct cw_state *state);
void cw_state_share_end(struct cw_state *state);

/* ---- state.c: writes ---- */
/* Queues the operation for the thread. It takes the operation from the caller. */
void cw_state_add(struct cw_state *state, struct cw_state_op *op);

/* ---- state_shrink.c ---- */
/* Makes the open database one that can be made smaller. */
void cw_state_shrink_prepare(struct cw_state *state);
/* Gives back some pages if most are free; called after a transaction, by whoever writes. */
void cw_state_shrink(struct cw_state *state);

/* ---- state_schema.c ---- */
/* Brings an open database to the present schema. `used`: the directory was in use before. */
int cw_state_migrate(sqlite3 *db, const char *dir, bool used, struct cw_err *err);

/* ---- sqlite_errors.c ---- */
int cw_state_db_error(sqlite3 *db, const char *dir, const char *doing, struct cw_err *err);
int cw_state_exec(sqlite3 *db, const char *dir, const char *sql, const char *doing,
                  struct cw_err *err);

/* ---- state_usage.c ---- */
/* Reads the counters of use from a row whose first column is a name. */
struct cw_usage cw_state_usage_at(sqlite3_stmt *stmt);
/* Reads counters as they are stored, as little-endian 64-bit numbers. Returns how many there
 * are. */
size_t cw_state_counts_read(const void *p, size_t n, uint64_t *ret_counts, size_t max);

/* ---- state_backup.c ---- */
/* Returns the path at which a copy is made. A file that is found there was left by a dispatcher
 * that died. */
char *cw_state_backup_path(const char *dir);

/* ---- statements.c ---- */
/* Converts sets of numbers to and from their stored form: pairs of little-endian 64-bit numbers. */
void cw_state_set_bytes(const struct cw_set *set, struct cw_str *out);
int cw_state_set_read(const void *p, size_t n, struct cw_set *set, struct cw_err *err);

#endif
