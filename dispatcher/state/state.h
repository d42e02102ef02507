/* SPDX-License-Identifier: Apache-2.0 */
/* What must outlive the dispatcher: an SQLite database (WAL, synchronous FULL) in the state
 * directory. A write becomes an operation in memory, which waits for the next transaction. A thread
 * runs transactions, one after the other; everything that waits goes into one, in order. If a
 * transaction fails, its operations are kept and go into the next one, so a write that was accepted
 * here is stored sooner or later, deletes included. Nothing may be answered or told to a peer as
 * done before cw_state_is_stored says so.
 *
 * The directory is locked (flock on `lock`) while the state is open, so there is only one
 * dispatcher; a standby waits for the lock. With a lease (option --lease) the lock decides nothing:
 * each dispatcher works in a folder of its own (generation_folders.h). All functions are for one thread, the
 * loop's.
 *
 *   state_open.c           locks the directory, opens and checks its database, sets the next generation
 *   generation_folders.c   folders of dispatchers with a lease · state_copy.c: copies of files
 *   network_file_system.c  where locks cannot be believed · shared_connection.c: who uses it now
 *   state_schema.c         the tables, and how an older database is brought up to date
 *   state.c                writes of jobs, workers and keys of the cache
 *   state_plans.c          writes of the plans of jobs
 *   state_caches.c         writes of named caches · fleet_held.c: whether the fleet is held
 *   state_epoch.c          writes of an epoch's progress · state_usage.c: of use and counters
 *   state_decisions.c      decisions and profiles, written and looked up
 *   record_decision.c      records a decision in the log and in the database
 *   statements.c           the SQL of all operations, and sets of numbers as bytes
 *   state_queue.c          operations that wait for their transaction
 *   state_writer.c         the thread that runs transactions
 *   when_stored.c          callers that wait until something is stored
 *   state_load.c           reads everything back at the start
 *   state_backup.c         a copy that is made while the dispatcher goes on
 *   sqlite_errors.c        SQLite's errors as the dispatcher's */
#ifndef CW_DISPATCHER_STATE_STATE_H
#define CW_DISPATCHER_STATE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include "base/err.h"
#include "base/interval.h"
#include "dispatcher/model/model.h"
#include "base/str.h"
#include "policies/policy_decision.h"

struct cw_state;

#define CW_GENERATION_MAX ((uint64_t)1 << 62)

/* ---- state_open.c ---- */
/* AGAIN: another dispatcher holds the directory. UNSUPPORTED: its file system is one of the network. The messages of other errors say what to do. Each
 * open raises the generation: the new one is higher than `above` and than all that the directory
 * was opened with before, and not below the time of day in milliseconds. */
int cw_state_open(const char *dir, uint64_t above, struct cw_state **ret_state, struct cw_err *err);
/* The same for a dispatcher that holds a lease: it takes over from whoever worked there, and works in a
 * folder of its own. It copies files, so it is for a thread that may wait. STATE: another one has taken
 * over meanwhile. */
int cw_state_open_generation(const char *dir, uint64_t above, struct cw_state **ret_state,
                             struct cw_err *err);
void cw_state_close(struct cw_state *state); /* Tries once to store what waits. It accepts NULL. */
uint64_t cw_state_generation(const struct cw_state *state);
/* Returns the number of the folder generation-N; 0 without a lease, and for NULL. */
uint64_t cw_state_folder(const struct cw_state *state);
/* Returns the least number that is higher than the three, and not below the time of day. */
uint64_t cw_state_next_generation(uint64_t stored, uint64_t locked, int64_t wall_ms,
                                  uint64_t above);

/* ---- state.c: writes ---- */
struct cw_state_blob {
    const void *p;
    size_t n;
};
struct cw_state_job {
    const char *id, *name; /* The job's name is "" if the job is anonymous. */
    enum cw_job_status status;
    /* Packed messages of proto/cachew/v1; the options are without the graph. */
    struct cw_state_blob options, graph, manifest, info;
    /* For writing: the buffers of two of these, which are not copied; NULL: they are. */
    struct cw_buf *graph_buf, *manifest_buf;
    uint64_t first_epoch; /* All epochs below this one are consumed completely. */
    int error_code;
    const char *error;
    int64_t created_ms; /* The wall time at which the job was made. */
    /* The secret of its data and that of its own workers; empty: an older dispatcher wrote it. */
    struct cw_state_blob secrets;
};
void cw_state_put_job(struct cw_state *state, const struct cw_state_job *job);
void cw_state_set_job(struct cw_state *state, const char *id, enum cw_job_status status,
                      uint64_t first_epoch, int error_code, const char *error);
void cw_state_set_options(struct cw_state *state, const char *id,
                          const struct cw_state_blob *options);
/* Removes the job, and everything that belongs to the job, from state.db. */
void cw_state_remove_job(struct cw_state *state, const char *id);
/* Writes the consumed items of an epoch: those of one consumer, or of all together (consumer -1).
 * cw_state_set_job drops epochs below the job's first_epoch. */
void cw_state_put_progress(struct cw_state *state, const char *id, uint64_t epoch, int consumer,
                           const struct cw_set *consumed);
/* Removes the consumed and skipped items of all epochs. */
void cw_state_clear_progress(struct cw_state *state, const char *id);
void cw_state_put_skipped(struct cw_state *state, const char *id, uint64_t epoch,
                          const struct cw_set *skipped);
/* Writes the items of an epoch that were skipped by request. They are kept as long as the job. */
void cw_state_put_left_out(struct cw_state *state, const char *id, uint64_t epoch,
                           const struct cw_set *items);
/* client_id: the client that holds the slot now; 0 if nobody does. */
void cw_state_put_position(struct cw_state *state, const char *id, uint32_t consumer,
                           uint64_t client_id, const struct cw_state_position *position);
/* Workers that are attached, so that a restarted dispatcher knows which to wait for. */
void cw_state_put_worker(struct cw_state *state, uint64_t worker_id, const char *address);
void cw_state_remove_worker(struct cw_state *state, uint64_t worker_id);
/* What is remembered of a key of the cache. The store itself says which chunks exist. */
struct cw_state_cache_key {
    uint64_t cache;           /* The id of the named cache; 0: the default one. */
    const char *tenant, *key; /* The tenant and the key, which is in hexadecimal. */
    const char *pipeline, *node, *op;
    uint64_t ids, hits, misses, saved_ns, cost_ns, cost_records;
    int64_t created_ms, used_ms; /* The wall times of the first chunk and of the last use. */
    bool pinned;
};
void cw_state_put_cache_key(struct cw_state *state, const struct cw_state_cache_key *row);
void cw_state_remove_cache_key(struct cw_state *state, uint64_t cache, const char *tenant,
                               const char *key);

/* ---- state_caches.c ---- */
struct cw_state_cache { /* A named cache. */
    uint64_t id;
    const char *name, *url, *tenant;
    uint64_t quota, source_quota;
    double high, low;
    bool leaving; /* It was detached, and its files are being deleted. */
    bool gone;    /* They were: the row is for workers that were lost and come back. */
    int64_t created_ms, used_ms;
};
struct cw_state_cache_source { /* A source that was warmed into a cache. */
    uint64_t cache;
    const char *source;
    uint64_t bytes, files, cached_bytes;
    int64_t time_ms;
};
void cw_state_put_cache(struct cw_state *state, const struct cw_state_cache *row);
/* Removes the cache and all that is remembered of it. */
void cw_state_remove_cache(struct cw_state *state, uint64_t id);
/* Forgets the keys and the sources of the cache. */
void cw_state_forget_cache(struct cw_state *state, uint64_t id);
void cw_state_put_cache_source(struct cw_state *state, const struct cw_state_cache_source *row);

/* ---- fleet_held.c ---- */
/* Whether an operator has stopped all changes of the fleet. It is read as it was committed last. */
void cw_state_put_fleet_held(struct cw_state *state, bool held);
bool cw_state_fleet_is_held(const struct cw_state *state);

/* ---- state_plans.c ---- */
/* Writes the plan of a job; graph is packed, or NULL: the written order. It is kept as long as the job. */
void cw_state_put_plan(struct cw_state *state, const char *id, uint64_t number,
                       struct cw_buf *graph);

/* ---- state_epoch.c ---- */
/* In table `progress`, rows with consumer -1 hold what is consumed of all, and rows with consumer
 * >= CW_OWNED_BASE the items that are *owned* by consumer (value - CW_OWNED_BASE). */
#define CW_OWNED_BASE (1 << 30)
/* Writes everything of an epoch: its consumed items, also by consumer, their owners, and the
 * skipped items. */
void cw_state_put_epoch(struct cw_state *state, const char *job, const struct cw_epoch *epoch);

/* ---- state_decisions.c ---- */
/* A decision (record_decision.c), which may be about a job that was removed. Profiles are stored in
 * the same way: what was measured of a pipeline, by key, the latest `kept` of them. */
struct cw_state_decision {
    uint64_t id; /* Ids rise and are never used again. The id is set when the decision is stored. */
    int64_t time_ms; /* The wall time of the decision. */
    uint64_t epoch;
    double predicted_ns;    /* Autocache only: the predicted time of an epoch. */
    double remote, local;   /* Autoscale and autoplace only: numbers of workers. */
    const char *job, *name; /* The job's id and name; "" if the decision is about the fleet. */
    const char *kind, *policy, *choice, *reason, *candidates, *inputs;
};
/* Writes a decision. For each job and kind the latest `kept` are kept. In all about kept_in_all are
 * kept; these include the last one of each kind of each existing job. */
void cw_state_put_decision(struct cw_state *state, const struct cw_state_decision *row,
                           uint64_t kept, uint64_t kept_in_all);
void cw_state_forget_decisions(struct cw_state *state, const char *job);
void cw_state_put_profile(struct cw_state *state, const char *key, const char *job, int64_t time_ms,
                          const char *inputs, uint64_t kept);
typedef int cw_state_decision_fn(void *arg, const struct cw_state_decision *row,
                                 struct cw_err *err);
typedef int cw_state_profile_fn(void *arg, const char *key, const char *job, const char *inputs,
                                struct cw_err *err);
/* Reads all profiles, and then the last decision of this kind of each existing job. */
int cw_state_load_decisions(struct cw_state *state, const char *kind, cw_state_profile_fn *profile,
                            cw_state_decision_fn *decision, void *arg, struct cw_err *err);
struct cw_state_decision_query {
    const char *job, *kind; /* Only decisions of this job and kind are wanted; NULL means any. */
    /* 0: the newest decisions, newest first; otherwise those after it, oldest first. */
    uint64_t after_id;
    uint64_t limit;
};
/* A callback that returns more than 0 ends the search. */
int cw_state_find_decisions(struct cw_state *state, const struct cw_state_decision_query *query,
                            cw_state_decision_fn *fn, void *arg, struct cw_err *err);
/* Finds the id of the latest job with this id or name about which a decision is kept. */
int cw_state_find_decided(struct cw_state *state, const char *id_or_name, struct cw_str *ret_job,
                          struct cw_err *err);

/* ---- state_usage.c ---- */
/* Writes what a job has used (it is kept as long as the job), or what a tenant's removed jobs have
 * used. */
void cw_state_put_usage(struct cw_state *state, const char *id, const struct cw_usage *usage);
void cw_state_put_tenant(struct cw_state *state, const char *name, const struct cw_usage *usage);
/* Writes counters of a job that are shown to people. The order of the numbers never changes; new
 * ones are added at the end. */
#define CW_STATE_COUNTS_MAX 256
void cw_state_put_counts(struct cw_state *state, const char *id, const uint64_t *counts, size_t n);

/* ---- state_writer.c: storing what was written ---- */
/* Returns whether something waits or is being stored. */
bool cw_state_is_dirty(const struct cw_state *state);
/* Returns the number of writes that have not reached the disk. */
size_t cw_state_waiting_n(const struct cw_state *state);
/* Returns whether something waits; false for NULL. */
bool cw_state_is_waiting(const struct cw_state *state);
/* Returns the number of the latest write; 0 for NULL. */
uint64_t cw_state_seq(const struct cw_state *state);
/* Returns whether all writes up to seq are stored. A NULL state counts as stored. */
bool cw_state_is_stored(const struct cw_state *state, uint64_t seq);
/* Returns whether so many writes wait, because the disk has failed for a long time, that nothing
 * large should be added. Decisions and profiles are then dropped. */
bool cw_state_is_overloaded(const struct cw_state *state);
/* Hands what waits to the thread, unless the thread is busy. Returns whether it did. */
bool cw_state_submit(struct cw_state *state);
enum cw_state_result { CW_STATE_NOTHING, CW_STATE_STORED, CW_STATE_NOT_STORED };
/* Returns whether the transaction that was handed over is stored; if not, err says why. NOTHING:
 * there is none, or its result is not known yet. */
enum cw_state_result cw_state_collect(struct cw_state *state, struct cw_err *err);
/* fn is called by the thread when there is a result to collect. */
/* Whether another dispatcher has taken over: what was stored since then is nobody's, and nothing that
 * rests on it may be answered. It is known when the result of a transaction is collected. */
bool cw_state_is_over(const struct cw_state *state);
typedef void cw_state_notify_fn(void *arg);
void cw_state_on_written(struct cw_state *state, cw_state_notify_fn *fn, void *arg);
/* Stores everything and waits for it. It is used at the end, and by tests. */
int cw_state_commit(struct cw_state *state, struct cw_err *err);

/* ---- state_backup.c ---- */
/* Makes a copy of everything that is stored, beside state.db, and returns it as an open file without a
 * name. Any thread may call it while the state is open. It ends with an error soon after *stop is
 * set. */
int cw_state_backup(struct cw_state *state, atomic_int *stop, int *ret_fd, struct cw_err *err);

/* ---- state_load.c ---- */
/* Callbacks for reading everything back at the start; kinds without a callback are passed over.
 * Strings and blobs are valid during the callback only. A callback's non-zero result stops the
 * reading and is returned. */
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
    /* Named caches come first of all. */
    int (*cache)(void *arg, const struct cw_state_cache *row, struct cw_err *err);
    int (*cache_source)(void *arg, const struct cw_state_cache_source *row, struct cw_err *err);
    int (*plan)(void *arg, const char *id, uint64_t number, const struct cw_state_blob *graph,
                struct cw_err *err);
};
int cw_state_load(struct cw_state *state, const struct cw_state_reader *reader, void *arg,
                  struct cw_err *err);

/* ---- when_stored.c ---- */
/* Calls fn once all that was written so far is stored (err is NULL), or as soon as the first
 * attempt to store it fails (err says why; the writes are kept and tried again). If nothing has to
 * be waited for, fn is called at once. */
typedef void cw_stored_fn(void *arg, const struct cw_err *err);
void cw_when_stored(struct cw_dispatcher *d, cw_stored_fn *fn, void *arg);
/* Calls the waiters whose writes are stored by now. With err it calls all waiters, since their
 * writes are not stored and may not be for long. */
void cw_stored_waiters_answer(struct cw_dispatcher *d, const struct cw_err *err);

/* ---- record_decision.c ---- */
/* Every decision is recorded here, with its policy, its inputs and its reason, in the log and in
 * state.db. The kinds are:
 *
 *   autocache  the node at which a job's elements are cached; the choice is the node, "" = none
 *   autoscale  how many workers a job should have
 *   autoplace  how many of them run on the trainer's host
 *   optimize   in which order a job's operators are computed
 *   share      a job gets fewer workers than it wants, since there are no more
 *   provision  workers that are started or drained; it is about the fleet
 *   evict      chunks that are removed from the cache; it is about the fleet
 *
 * Giving a lease is no decision: there are thousands a second, and only speed depends on them. Loop
 * thread. */
/* The number of decisions that are kept for each job (or the fleet) and kind. */
#define CW_DECISIONS_KEPT 100
/* The approximate number of decisions that are kept in all, including the last one of each kind of
 * each existing job. */
#define CW_DECISIONS_IN_ALL 5000
/* The largest number of bytes of decisions in one answer. */
#define CW_DECISIONS_BYTES ((size_t)2 << 20)

#define CW_DECISION_KINDS 7
extern const char *const cw_decision_kinds[CW_DECISION_KINDS];

/* What a policy has decided, as a row; texts are borrowed. choice: for people; inputs: what it was shown. */
struct cw_state_decision cw_decision_row(const char *kind, const char *policy, const char *choice,
                                         const struct cw_policy_decision *decided,
                                         const char *inputs);
/* Records a decision; job is NULL if it is about the fleet. The id, the time, the epoch and the
 * job's id and name are set here, and NULL texts count as "". reason is one sentence; inputs is
 * JSON with everything that was known; candidates are lines. */
void cw_decision_record(struct cw_dispatcher *d, const struct cw_job *job,
                        const struct cw_state_decision *decision);

#endif
