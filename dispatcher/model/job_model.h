/* SPDX-License-Identifier: Apache-2.0 */
/* A job: its options, what its preparation found, its consumers, its open epochs and its
 * progress. */
#ifndef CW_DISPATCHER_MODEL_JOB_MODEL_H
#define CW_DISPATCHER_MODEL_JOB_MODEL_H

#include "auth/secret.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/map.h"
#include "cachew/v1/job.pb-c.h"
#include "dispatcher/model/operators.h"
#include "dispatcher/model/config.h"
#include "dispatcher/model/epoch.h"
#include "dispatcher/model/item_faults.h"
#include "dispatcher/model/job_plan.h"
#include "dispatcher/model/thread_use_sums.h"
#include "dispatcher/model/usage.h"

struct cw_cache_service; /* The struct is defined in cache/cache.h. */
struct cw_catalogue_key; /* The struct is defined in cache/catalogue.h. */
struct cw_client;
struct cw_autocache_job; /* The struct is defined in autocache/autocache.h. */
struct cw_dispatcher;
struct cw_elements_shown; /* The struct is defined in job/show_elements.c. */
struct cw_job_optimizer;  /* The struct is defined in optimize/job_optimizer.c. */
struct cw_scaling;        /* The struct is defined in scaling/scaling.h. */
struct cw_share;
struct cw_tenant;
struct cw_telemetry; /* The struct is defined in job/telemetry.h. */
struct cw_worker;

/* The states of a job. The numbers are stored in state.db, so they never change. */
enum cw_job_status {
    CW_JOB_PREPARING = 0,
    CW_JOB_RUNNING = 1,
    CW_JOB_FINISHED = 2,
    CW_JOB_FAILED = 3
};

/* The position of a consumer: the next batch that it will get. */
struct cw_state_position {
    uint64_t epoch, item, row, rows, batches;
};

/* How the job uses the cache at one node of its pipeline. */
struct cw_cache_use {
    char *node;
    struct cw_catalogue_key *key;
    bool read, write;
};

struct cw_consumer {
    struct cw_client *client; /* The client that holds the consumer slot; NULL if nobody does. */
    uint64_t client_id; /* The id of the client that held the slot last; 0 if none ever did. */
    /* After a restart of the dispatcher: the slot was held before, and its client may come back. */
    bool expected;
    bool bye;
    bool position_dirty;
    struct cw_state_position position;
    double wait_share;
    /* The number of finished batches that wait for the trainer, as its client reported last; 0 if
     * there are none or the number is not known. */
    uint64_t ready;
    int64_t gone_ms; /* The time since which nobody holds the slot. */
    /* The time at which its client last received or consumed something, or came. */
    int64_t moved_ms;
};

struct cw_job_skip {
    uint64_t epoch;
    struct cw_set items; /* In a sparse job these are numbers of batches, not of items. */
};

struct cw_job_due {
    /* Some items may be leasable that were not before (cw_job_leases_due). */
    bool leases;
    /* Its clients must be sent a new list of workers (cw_job_worker_list_due). */
    bool worker_list;
    bool is_listed; /* The job is in the dispatcher's list of jobs of which something is due. */
    /* The sets of items or the positions have changed since they were written to state.db. */
    bool progress;
    /* The status, the first epoch or the error has changed since it was written to state.db. */
    bool row;
};
struct cw_job {
    struct cw_dispatcher *d;
    struct cw_job *next, *next_due;
    char *id, *name;
    enum cw_job_status status;
    /* What the job's clients show to workers, and what workers of this job alone show to the
     * dispatcher (access/access.h). */
    unsigned char data_secret[CW_SECRET_BYTES], worker_secret[CW_SECRET_BYTES];
    bool secrets_unstored; /* An older dispatcher wrote the job's row, without them. */
    bool row_written;      /* The row of the job was written, but is not necessarily stored yet. */
    bool stored;           /* The row of the job is stored, so peers may be told of the job. */
    /* The job is over, and its workers were told to forget it. */
    bool forgotten;
    /* The job's row is stored when all writes up to this number are stored (cw_state_seq). */
    uint64_t row_seq;
    /* ---- what the client asked for ---- */
    Cachew__V1__JobOptions *options;  /* The options as they were received, without the graph. */
    Cachew__V1__Graph *graph;         /* The pipeline, without the values of its options. */
    struct cw_buf *graph_packed;      /* The whole pipeline, packed. */
    struct cw_hash graph_fingerprint; /* of `graph_packed` */
    /* As it was written, if that is a relaxed order of it which nobody has tried yet; else NULL. */
    struct cw_buf *written_packed;
    struct cw_hash written_fingerprint;
    /* It came before any worker, and names operators of plugins: it is checked when one has them. */
    bool is_unchecked;
    uint64_t seed, epochs_n;
    struct cw_layout layout;
    /* ---- what the preparation found ---- */
    Cachew__V1__PlanInfo *info; /* without `completed` */
    /* The pipeline with what the files say of it, packed; NULL: graph_packed says all. */
    struct cw_buf *completed_packed;
    struct cw_hash fingerprint;
    uint64_t items;
    struct cw_buf *manifest;
    struct cw_worker *preparing;
    /* The worker that prepares the job reports how far it is. (Older workers do not.) */
    bool preparing_reports;
    uint64_t preparing_steps; /* The number of steps that the worker has reported. */
    /* The time when the number of reported steps last grew. */
    int64_t preparing_ms;
    char *preparing_at; /* The pattern or file that the worker is at; NULL if it is not known. */
    struct cw_deaths prepare_dead;
    /* Workers that were offered to the preparing one, and make parts of the job's index (job/index_help.c). */
    struct cw_index_help *index_helps;
    size_t index_helps_n;
    char *
        prepare_why; /* What workers died of that prepared or opened it; NULL if it is not known. */
    struct cw_operators operators; /* Those of plugins that it was prepared with. */
    struct cw_lacking lacking;     /* Of which versions workers could not prepare it. */
    uint64_t prepared_by; /* The id of the worker that prepared the job; 0 if it is not known. */
    uint32_t barred_n;    /* The number of shares that are barred (model/other_files.h). */
    /* The time since which all workers of the job see other files; 0 if one does not. */
    int64_t no_files_ms;
    int error_code;
    char *error;
    struct cw_job_plan plan;
    struct cw_job_optimizer *optimizer; /* Who plans; NULL: nobody, or not yet. */
    /* ---- progress ---- */
    /* The open epochs, numbered first_epoch, first_epoch + 1, and so on. */
    struct cw_epoch **epochs;
    size_t epochs_open, epochs_cap;
    uint64_t first_epoch;
    /* The consumers of the job; there are layout.consumers of them. */
    struct cw_consumer *consumers;
    struct cw_share *shares;
    struct cw_map shares_by_worker; /* the same, by the worker's id */
    struct cw_client *clients;      /* attached to it, admitted or not */
    bool lists_all;                 /* Their list of workers was last that of all workers. */
    struct cw_tenant *tenant;
    double granted; /* The job's fair share, as a number of workers. */
    /* The number of workers that are assigned to the job (scaling/assign.c), without local ones. */
    uint32_t assigned_n;
    double worker_time; /* The part of each assigned worker's time that the job needs, about. */
    /* The job is assigned one worker more than its fair share says, because the workers that it has
     * are short of time. */
    bool has_extra;
    struct cw_scaling *scaling; /* NULL if no policy decides about the job's workers. */
    /* What workers measured of its nodes; NULL if nothing was measured yet (model/node_counters.h). */
    struct cw_node_counters *measured;
    struct cw_telemetry *telemetry; /* NULL if nothing was measured yet (job/telemetry.h). */
    struct cw_elements_shown *elements_shown; /* NULL: nobody looks at its elements. */
    /* Jobs of one function form a ring; a job without any other points to itself. */
    struct cw_job *next_same_function;
    struct cw_item_fault *faults, *faults_last;
    struct cw_map faults_by_item; /* By a hash of epoch and item. */
    size_t faults_n;
    /* The items that were skipped by request; also those of epochs that are not open. */
    struct cw_job_skip *skips;
    size_t skips_n, skips_cap;
    uint64_t window, window_sent;
    uint32_t
        ack_ms_sent; /* How often its clients were last told to acknowledge (model/message_pace.h). */
    /* During a fill: items below this one may be leased. It is counted from the beginning of the
     * first open epoch. */
    uint64_t window_end;
    size_t workers_n; /* The number of workers that served the job at the last fill. */
    /* At the last fill: no further epoch follows, and workers are given more work than those of a
     * small fleet; and then the number of items that were neither leased nor received. */
    bool is_ending;
    uint64_t left;
    /* The time since which nothing is leased although a trainer waits; 0 if that is not so, and
     * INT64_MAX once it was logged (job/no_lease_warning.c). */
    int64_t no_lease_ms;
    /* The time since which nothing explains why a trainer waits; 0 if that is not so, and INT64_MAX
     * once it was counted (job/waits_for.c). */
    int64_t mistake_ms;
    struct cw_job_due due;
    /* Shared jobs: some leases are not sent yet, because their items' owners are not stored. */
    bool has_unsent_leases;
    /* After a restart of the dispatcher no items are leased before this time. */
    int64_t hold_until_ms;
    /* ---- measurements ---- */
    double item_bytes, item_ns, item_busy_ns, consume_rate;
    double fastest_s; /* During a fill: the fastest worker's time for one item; 0: not known. */
    struct cw_thread_use_sums threads; /* What the threads of its workers did. */
    uint64_t consumed_since, skipped, recomputed, hedged, hedges_out, skipped_items, leased_n,
        shared;
    /* Some trainer of the job does not tell how many bad elements were left out. */
    bool skipped_untold;
    struct cw_usage usage, usage_stored;
    int64_t usage_stored_ms;
    int64_t charged_ms; /* The time up to which it was charged for its clients; 0: not yet. */
    int64_t rate_ms;
    int64_t created_ms;   /* The wall time at which the job was made. */
    int64_t no_client_ms; /* The time since which the job has no client; 0 if it has one. */
    int64_t no_worker_ms; /* The time since which the job waits for a worker; 0 if it does not. */
    /* ---- cache ---- */
    /* The cache that its options name, as long as it is attached; NULL: it has none. */
    struct cw_cache_service *cache;
    struct cw_cache_use *cache_uses;
    size_t cache_uses_n;
    /* NULL if nothing is to be decided about caching, or not yet. */
    struct cw_autocache_job *autocache;
    /* The node at which a policy has the job cached (cw_job_set_cached_node); NULL if there is
     * none. */
    char *cached_node;
};

/* ---- job_lookup.c ---- */
/* Finds a job by id or name, also one that is over. Of several with one name it returns the
 * latest. */
struct cw_job *cw_job_find(struct cw_dispatcher *d, const char *id_or_name);
/* Finds a job of this name that a client can join. */
struct cw_job *cw_job_find_named(struct cw_dispatcher *d, const char *name);
/* The pipeline that workers and tools get: with the options that its preparation has found. Borrowed. */
struct cw_buf *cw_job_graph(const struct cw_job *job);
/* Refuses (CW_E_LIMIT) so many bytes more of pipelines and manifests than all jobs together may have
 * (--max-jobs-bytes). */
int cw_jobs_room(const struct cw_dispatcher *d, size_t more, struct cw_err *err);
bool cw_job_has_clients(const struct cw_job *job);
/* Returns whether a trainer is attached that has no finished batch. */
bool cw_job_trainer_waits(const struct cw_job *job);
/* Returns whether a client ever held a consumer slot, so that somebody may have received items. */
bool cw_job_had_clients(const struct cw_job *job);
const char *cw_job_tenant(const struct cw_job *job);
/* Returns an open epoch; NULL if it is over or not open yet. */
struct cw_epoch *cw_job_epoch(struct cw_job *job, uint64_t number);
double cw_job_epochs_left(const struct cw_job *job);
/* Returns the consumed fraction of the first open epoch. */
double cw_job_epoch_done(const struct cw_job *job);
/* Returns the index of a node of a prepared job by its name; info->n_cacheable if there is no such
 * node. The search begins at `near`, since workers report nodes in order. */
size_t cw_job_node(const struct cw_job *job, const char *name, size_t near);
/* ---- job_links.c ---- */
/* At the end of the iteration the job is to be given leases, or its clients a list of workers. */
void cw_job_leases_due(struct cw_job *job);
void cw_job_worker_list_due(struct cw_job *job);
/* Takes out of the dispatcher's list of jobs of which something is due those of which nothing is, or, with
 * `gone`, that one. */
void cw_jobs_drop_due(struct cw_dispatcher *d, const struct cw_job *gone);
/* Attaches a client that has no job to this one, or detaches it from its job. */
void cw_job_add_client(struct cw_job *job, struct cw_client *client);
void cw_job_remove_client(struct cw_client *client);
/* A worker that makes parts of an index, or may. */
struct cw_index_help {
    struct cw_index_help *next;
    uint64_t number; /* of the lease; no other has it */
    struct cw_worker *worker;
    bool leased; /* it was given parts */
};
struct cw_index_help *cw_job_add_index_help(struct cw_job *job, struct cw_worker *worker);
/* Returns where the help of that number is linked; NULL: there is none. */
struct cw_index_help **cw_job_find_index_help(struct cw_job *job, uint64_t number);
void cw_job_drop_index_help(struct cw_job *job, struct cw_index_help **at);
/* Has the worker prepare the job from now on; NULL: none does. Counts the jobs of each worker. The job
 * has no help any more. */
void cw_job_set_preparing(struct cw_job *job, struct cw_worker *worker);
/* ---- worker_for_job.c ---- */
/* Returns whether clients of the job must keep a stream to the worker: it is assigned to the job or
 * holds a lease of it. A job that uses all workers fetches from all but those that serve another
 * job alone. */
bool cw_job_fetches_from(const struct cw_job *job, const struct cw_worker *worker);
bool cw_job_wants_workers(const struct cw_job *job);
/* Returns the lower of the limits of the job and its tenant; CW_NO_LIMIT if there is none. */
uint64_t cw_job_max_workers(const struct cw_job *job);
/* Returns whether neither a policy nor a limit decides about the job's workers: it uses a part of
 * the time of each. */
bool cw_job_uses_all_workers(const struct cw_job *job);
/* Iterates over the workers that serve the job: begins at {.job = job}; cw_serving_next() returns
 * NULL after the last one. For a job that is assigned its workers it looks at these alone, not at
 * the whole fleet. No share may be removed meanwhile. */
struct cw_serving {
    const struct cw_job *job;
    const struct cw_worker *worker;
    const struct cw_share *share;
};
const struct cw_worker *cw_serving_next(struct cw_serving *serving);
/* Returns whether the worker is one of those that the job uses. */
bool cw_job_uses_worker(const struct cw_job *job, const struct cw_worker *worker);
/* Returns the most workers that there could be. */
double cw_workers_possible(const struct cw_dispatcher *d);
/* ---- job_epochs.c ---- */
/* Opens the epoch and those before it. Returns NULL if it is over or too far ahead. */
struct cw_epoch *cw_job_open_epoch(struct cw_job *job, uint64_t number);
/* Shared jobs: makes the consumer the owner of the items. A lease of them is sent only when that is
 * stored. */
void cw_job_set_owner(struct cw_job *job, struct cw_epoch *epoch, uint32_t consumer,
                      const struct cw_set *items);
/* Epochs that are over are open again from that one on, and all of them is consumed. False: so many
 * cannot be open. */
bool cw_job_reopen_epochs(struct cw_job *job, uint64_t number);
/* Returns the set of items of an epoch that were skipped by request. It is created if there is
 * none. */
struct cw_set *cw_job_skips_of(struct cw_job *job, uint64_t epoch);
/* Returns whether no more may be left out of the epoch: there are too many epochs or runs. */
bool cw_job_skips_full(const struct cw_job *job, uint64_t epoch);
/* Skips the requested items in an epoch that was just opened or set back (NULL is accepted).
 * Clients must then be told of epoch->skipped_unsent (cw_clients_send_left_out). */
void cw_job_skips_apply(struct cw_job *job, struct cw_epoch *epoch);
void cw_job_skips_load(struct cw_job *job, uint64_t epoch, const struct cw_set *items);
void cw_job_skips_free(struct cw_job *job);

#endif
