/* SPDX-License-Identifier: Apache-2.0 */
/* What must outlive the dispatcher: SQLite (WAL, synchronous FULL) in the state directory. A write
 * is an operation in memory, which waits for the next transaction. A thread carries transactions
 * out, one after the other: all that waited goes into one, in order. What a transaction that failed
 * was to write is kept and goes into the next, so a write that was made here is stored sooner or
 * later, deletes included. Nothing may be answered or told to a peer as done before
 * cw_state_is_stored says so.
 *
 * The directory is locked (flock on `lock`) for as long as the state is open, so there is one
 * dispatcher; a standby waits for the lock. All functions are for one thread, the loop's.
 *
 *   state_open.c       the directory is locked, its database opened and checked; the next generation
 *   state_schema.c     its tables, and how an older database becomes a present one
 *   state.c            writes of jobs, workers and keys of the cache become operations
 *   state_epoch.c      the same of an epoch's progress · state_usage.c: of what was used
 *   state_decisions.c  decisions and profiles, written and looked up
 *   decision_record.c  a decision goes into the log and into the database
 *   statements.c       the SQL of all operations, and sets of numbers as bytes
 *   state_queue.c      operations that wait for their transaction
 *   state_writer.c     the thread that carries transactions out
 *   when_stored.c      who waits until something is stored
 *   state_load.c       everything is read back at the start
 *   state_backup.c     a copy while the dispatcher goes on
 *   sql.c              errors of SQLite as those of the dispatcher */
#ifndef CW_DISPATCHER_STATE_STATE_H
#define CW_DISPATCHER_STATE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include "base/err.h"
#include "base/interval.h"
#include "dispatcher/model/model.h"
#include "base/str.h"

struct cw_state;

#define CW_GENERATION_MAX ((uint64_t)1 << 62)

/* ---- state_open.c ---- */
/* AGAIN: another dispatcher holds the directory. The other errors say what to do. Each open
 * raises the generation: it is above `above`, above all that the directory was opened with
 * before, and not below the time of day in milliseconds. */
int cw_state_open(const char *dir, uint64_t above, struct cw_state **ret_state, struct cw_err *err);
void cw_state_close(struct cw_state *state); /* tries once to store what waits; accepts NULL */
uint64_t cw_state_generation(const struct cw_state *state);
/* The least that is above all three, and not below the time of day. */
uint64_t cw_state_next_generation(uint64_t stored, uint64_t locked, int64_t wall_ms,
                                  uint64_t above);

/* ---- state.c: writes ---- */
struct cw_state_blob {
    const void *p;
    size_t n;
};
struct cw_state_job {
    const char *id, *name; /* name "" = anonymous */
    enum cw_job_status status;
    /* packed messages of proto/cachew/v1; options without the graph */
    struct cw_state_blob options, graph, manifest, info;
    uint64_t first_epoch; /* all epochs below it are consumed */
    int error_code;
    const char *error;
    int64_t created_ms; /* wall */
};
void cw_state_put_job(struct cw_state *state, const struct cw_state_job *job);
void cw_state_set_job(struct cw_state *state, const char *id, enum cw_job_status status,
                      uint64_t first_epoch, int error_code, const char *error);
void cw_state_set_options(struct cw_state *state, const char *id,
                          const struct cw_state_blob *options);
void cw_state_remove_job(struct cw_state *state, const char *id); /* and all that belongs to it */
/* Progress of an epoch: consumed items; of consumer -1: of all together. Epochs below
 * first_epoch of the job are dropped by set_job. */
void cw_state_put_progress(struct cw_state *state, const char *id, uint64_t epoch, int consumer,
                           const struct cw_set *consumed);
/* of all epochs, and what was skipped in them */
void cw_state_clear_progress(struct cw_state *state, const char *id);
void cw_state_put_skipped(struct cw_state *state, const char *id, uint64_t epoch,
                          const struct cw_set *skipped);
/* Items that were asked to be left out, of any epoch: kept as long as the job. */
void cw_state_put_left_out(struct cw_state *state, const char *id, uint64_t epoch,
                           const struct cw_set *items);
/* client_id: who holds the place now; 0 = nobody. */
void cw_state_put_position(struct cw_state *state, const char *id, uint32_t consumer,
                           uint64_t client_id, const struct cw_state_position *position);
/* Workers that are attached, so that a restart knows whom to wait for. */
void cw_state_put_worker(struct cw_state *state, uint64_t worker_id, const char *address);
void cw_state_remove_worker(struct cw_state *state, uint64_t worker_id);
/* What is remembered of a key of the cache. Which chunks there are is asked of the store. */
struct cw_state_cache_key {
    const char *tenant, *key; /* key in hex */
    const char *pipeline, *node, *op;
    uint64_t ids, hits, misses, saved_ns, cost_ns, cost_records;
    int64_t created_ms, used_ms; /* wall */
    bool pinned;
};
void cw_state_put_cache_key(struct cw_state *state, const struct cw_state_cache_key *row);
void cw_state_remove_cache_key(struct cw_state *state, const char *tenant, const char *key);

/* ---- state_epoch.c ---- */
/* In table `progress`, rows with consumer -1 hold what is consumed of all, and rows with
 * consumer >= CW_OWNED_BASE the items that are *owned* by consumer (value - CW_OWNED_BASE). */
#define CW_OWNED_BASE (1 << 30)
/* All of an epoch: what is consumed, by whom, whose its items are, and what is left out. */
void cw_state_put_epoch(struct cw_state *state, const char *job, const struct cw_epoch *epoch);

/* ---- state_decisions.c ---- */
/* What was decided (decision_record.c), also about jobs that are removed; and what was measured of a
 * pipeline (by key; the latest `kept`). */
struct cw_state_decision {
    uint64_t id;     /* rising, never used again; set when it is stored */
    int64_t time_ms; /* wall */
    uint64_t epoch;
    double predicted_ns;    /* autocache */
    double remote, local;   /* autoscale, autoplace: workers */
    const char *job, *name; /* id and name; "" = about the fleet */
    const char *kind, *policy, *choice, *reason, *candidates, *inputs;
};
/* The latest `kept` of a job and kind are kept; and about kept_in_all, the last of each kind of
 * each job that there is among them. */
void cw_state_put_decision(struct cw_state *state, const struct cw_state_decision *row,
                           uint64_t kept, uint64_t kept_in_all);
void cw_state_forget_decisions(struct cw_state *state, const char *job);
void cw_state_put_profile(struct cw_state *state, const char *key, const char *job, int64_t time_ms,
                          const char *inputs, uint64_t kept);
typedef int cw_state_decision_fn(void *arg, const struct cw_state_decision *row,
                                 struct cw_err *err);
typedef int cw_state_profile_fn(void *arg, const char *key, const char *job, const char *inputs,
                                struct cw_err *err);
/* Profiles, then of every job that there is its last decision of this kind. */
int cw_state_load_decisions(struct cw_state *state, const char *kind, cw_state_profile_fn *profile,
                            cw_state_decision_fn *decision, void *arg, struct cw_err *err);
struct cw_state_decision_query {
    const char *job, *kind; /* id; NULL = any */
    uint64_t after_id;      /* 0: the newest, newest first; else those behind it, oldest first */
    uint64_t limit;
};
/* A callback that returns more than 0 ends it. */
int cw_state_find_decisions(struct cw_state *state, const struct cw_state_decision_query *query,
                            cw_state_decision_fn *fn, void *arg, struct cw_err *err);
/* The id of the latest job of this id or name about which a decision is kept. */
int cw_state_find_decided(struct cw_state *state, const char *id_or_name, struct cw_str *ret_job,
                          struct cw_err *err);

/* ---- state_usage.c ---- */
/* What a job has used (kept as long as it), and a tenant by jobs that were removed. */
void cw_state_put_usage(struct cw_state *state, const char *id, const struct cw_usage *usage);
void cw_state_put_tenant(struct cw_state *state, const char *name, const struct cw_usage *usage);
/* What was counted of a job, for people: numbers whose order never changes (new ones come last). */
#define CW_STATE_COUNTS_MAX 256
void cw_state_put_counts(struct cw_state *state, const char *id, const uint64_t *counts, size_t n);

/* ---- state_writer.c: storing what was written ---- */
bool cw_state_is_dirty(const struct cw_state *state);    /* something waits, or is being stored */
size_t cw_state_waiting_n(const struct cw_state *state); /* writes that wait */
bool cw_state_is_waiting(const struct cw_state *state);  /* something waits; NULL: nothing */
uint64_t cw_state_seq(const struct cw_state *state); /* of all that was written so far; NULL: 0 */
bool cw_state_is_stored(const struct cw_state *state, uint64_t seq); /* NULL: it is */
/* So much waits that nothing large should be added: the disk has failed for long. Decisions and
 * profiles are dropped then. */
bool cw_state_is_overloaded(const struct cw_state *state);
/* Hands what waits to the thread, unless that has something to do already; returns whether it
 * did. */
bool cw_state_submit(struct cw_state *state);
enum cw_state_result { CW_STATE_NOTHING, CW_STATE_STORED, CW_STATE_NOT_STORED };
/* Whether what was handed over is stored; of what is not, err says why. NOTHING: not known yet,
 * or nothing was handed over. */
enum cw_state_result cw_state_collect(struct cw_state *state, struct cw_err *err);
/* fn is called by the thread when there is something to collect. */
typedef void cw_state_notify_fn(void *arg);
void cw_state_on_written(struct cw_state *state, cw_state_notify_fn *fn, void *arg);
/* submits all, and waits: for the end, and for tests */
int cw_state_commit(struct cw_state *state, struct cw_err *err);

/* ---- state_backup.c ---- */
/* A copy of all that is stored, as an open file that has no name; it is made in the directory.
 * For any thread, while the state is open; soon after *stop is set it ends with an error. */
int cw_state_backup(const char *dir, atomic_int *stop, int *ret_fd, struct cw_err *err);

/* ---- state_load.c ---- */
/* Reading back at start; what has no callback is passed over. Strings and blobs are valid in the
 * callback only. A non-zero return stops and is returned. */
struct cw_state_reader {
    int (*job)(void *arg, const struct cw_state_job *job, struct cw_err *err);
    int (*progress)(void *arg, const char *id, uint64_t epoch, int consumer,
                    const struct cw_set *consumed, struct cw_err *err);
    int (*skipped)(void *arg, const char *id, uint64_t epoch, const struct cw_set *skipped,
                   struct cw_err *err);
    int (*position)(void *arg, const char *id, uint32_t consumer, uint64_t client_id,
                    const struct cw_state_position *position, struct cw_err *err);
    int (*worker)(void *arg, uint64_t worker_id, const char *address, struct cw_err *err);
    int (*left_out)(void *arg, const char *id, uint64_t epoch, const struct cw_set *items,
                    struct cw_err *err);
    int (*cache_key)(void *arg, const struct cw_state_cache_key *row, struct cw_err *err);
    int (*usage)(void *arg, const char *id, const struct cw_usage *usage, struct cw_err *err);
    int (*tenant)(void *arg, const char *name, const struct cw_usage *usage, struct cw_err *err);
    int (*counts)(void *arg, const char *id, const uint64_t *counts, size_t n, struct cw_err *err);
};
int cw_state_load(struct cw_state *state, const struct cw_state_reader *reader, void *arg,
                  struct cw_err *err);

/* ---- when_stored.c ---- */
/* Calls fn when all that was written so far is stored (err NULL), or could not be at the first
 * attempt (err says why; the writes are kept, and tried again until they are stored). At once,
 * if there is nothing to wait for. */
typedef void cw_stored_fn(void *arg, const struct cw_err *err);
void cw_when_stored(struct cw_dispatcher *d, cw_stored_fn *fn, void *arg);
/* Calls those whose writes are stored by now; err: all of them, since what they wait for is not
 * stored, and may not be for long. */
void cw_stored_waiters_answer(struct cw_dispatcher *d, const struct cw_err *err);

/* ---- decision_record.c ---- */
/* What was decided, by whom, of what, and why: every decision goes through here, into the log
 * and into state.db. Kinds:
 *
 *   autocache   at which node a job's elements are cached: choice is the node, "" = nothing
 *   autoscale   how many workers a job should have
 *   autoplace   how many of them run beside its trainer
 *   share       that it gets fewer workers than it wants, since there are no more
 *   provision   workers that are started or drained; of the fleet
 *   evict       chunks that leave the cache; of the fleet
 *
 * Which worker gets which lease is none: there are thousands a second, and they change nothing
 * but speed. Loop thread. */
#define CW_DECISIONS_KEPT 100 /* of a job (or of the fleet) and a kind */
/* about; the last of each kind of each job that there is is among them */
#define CW_DECISIONS_IN_ALL 5000
#define CW_DECISIONS_BYTES ((size_t)2 << 20) /* of one answer */

#define CW_DECISION_KINDS 6
extern const char *const cw_decision_kinds[CW_DECISION_KINDS];

/* Sets id, time, epoch and the job's id and name; NULL texts are "". reason is one sentence;
 * inputs is JSON of all that was known; candidates are lines. job: NULL = about the fleet. */
void cw_decision_record(struct cw_dispatcher *d, const struct cw_job *job,
                        const struct cw_state_decision *decision);

#endif
