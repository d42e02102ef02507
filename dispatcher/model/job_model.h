/* SPDX-License-Identifier: Apache-2.0 */
/* A job: what was asked for, what its preparation found, its consumers, its open epochs and its progress. */
#ifndef CW_DISPATCHER_MODEL_JOB_MODEL_H
#define CW_DISPATCHER_MODEL_JOB_MODEL_H

#include "base/buf.h"
#include "base/hash.h"
#include "cachew/v1/job.pb-c.h"
#include "dispatcher/model/config.h"
#include "dispatcher/model/epoch.h"
#include "dispatcher/model/item_faults.h"
#include "dispatcher/model/usage.h"

struct cw_catalogue_key; /* cache/catalogue.h */
struct cw_client;
struct cw_autocache_job; /* autocache/autocache.h */
struct cw_dispatcher;
struct cw_scaling; /* scaling/scaling.h */
struct cw_share;
struct cw_tenant;
struct cw_telemetry; /* job/telemetry.h */
struct cw_worker;

/* Job states as stored: never renumber. */
enum cw_job_status {
    CW_JOB_PREPARING = 0,
    CW_JOB_RUNNING = 1,
    CW_JOB_FINISHED = 2,
    CW_JOB_FAILED = 3
};

/* Where a consumer stands: its next batch. */
struct cw_state_position {
    uint64_t epoch, item, row, rows, batches;
};

/* What a job's plan does with the cache at a node. */
struct cw_cache_use {
    char *node;
    struct cw_catalogue_key *key;
    bool read, write;
};

struct cw_consumer {
    struct cw_client *client; /* who holds the place; NULL = nobody now */
    uint64_t client_id;       /* who held it last; 0 = never held */
    bool expected;            /* after a restart: held it then, and may come back */
    bool bye;
    bool position_dirty;
    struct cw_state_position position;
    double wait_share;
    /* finished batches that wait for its trainer, as last told; 0 = none, or not known */
    uint64_t ready;
    int64_t gone_ms; /* since when nobody holds it */
};

struct cw_job_skip {
    uint64_t epoch;
    struct cw_set items; /* of a sparse job: its batches, by their numbers */
};

struct cw_job_due {
    bool leases;   /* items may be leased that could not be before */
    bool progress; /* sets or positions have changed since they were written */
    bool row;      /* status, first epoch or error have changed since they were written */
};
struct cw_job {
    struct cw_dispatcher *d;
    struct cw_job *next;
    char *id, *name;
    enum cw_job_status status;
    bool row_written; /* its row is written, maybe not stored yet */
    bool stored;      /* its row is stored: it may be told of */
    uint64_t row_seq; /* of state.h: what must be stored for that */
    /* what was asked for */
    Cachew__V1__JobOptions *options; /* without graph */
    Cachew__V1__Graph *graph;
    struct cw_hash graph_fingerprint;
    uint64_t seed, epochs_n;
    struct cw_layout layout;
    /* what preparing found */
    Cachew__V1__PlanInfo *info;
    struct cw_hash fingerprint;
    uint64_t items;
    struct cw_buf *manifest;
    struct cw_worker *preparing;
    bool preparing_reports;   /* by its worker (an older one does not): */
    uint64_t preparing_steps; /* how far it is */
    int64_t preparing_ms;     /* when it last came on */
    struct cw_deaths prepare_dead;
    uint64_t prepared_by; /* the worker that did it; 0 = not known (any more) */
    uint32_t barred_n;    /* shares whose workers see other files */
    int64_t no_files_ms;  /* since when all its workers do; 0 = they do not */
    int error_code;
    char *error;
    /* progress */
    struct cw_epoch **epochs; /* of numbers first_epoch, first_epoch + 1, ... */
    size_t epochs_open, epochs_cap;
    uint64_t first_epoch;
    struct cw_consumer *consumers; /* layout.consumers of them */
    struct cw_share *shares;
    struct cw_tenant *tenant;
    double granted; /* workers' time: its fair share */
    /* workers assigned to it (assign.c), those beside its trainer not counted */
    uint32_t assigned_n;
    double worker_time; /* of each of these, about */
    /* it gets one worker more, since it finds too little time on those that make up its share */
    bool has_extra;
    struct cw_scaling *scaling;     /* NULL: it uses every worker */
    struct cw_telemetry *telemetry; /* telemetry.h; NULL: nothing was measured yet */
    /* ring of the jobs of the same function; itself when there is no other */
    struct cw_job *next_same_function;
    struct cw_item_fault *faults;
    size_t faults_n, faults_cap;
    struct cw_job_skip *skips; /* asked for, whichever epochs are open */
    size_t skips_n, skips_cap;
    uint64_t window, window_sent;
    /* of the fill under way: items are leased below it, counted from the beginning of the first
     * open epoch */
    uint64_t window_end;
    size_t workers_n; /* that serve it, when it was last looked */
    /* no_lease_warning.c: since when nothing is leased though somebody waits; 0 = that is not so,
     * INT64_MAX: it was told */
    int64_t no_lease_ms;
    struct cw_job_due due;
    bool has_unsent_leases; /* shared jobs: there are leases that wait until they may be sent */
    int64_t hold_until_ms;  /* after a restart: nothing is leased before */
    /* measured */
    double item_bytes, item_ns, item_busy_ns, consume_rate;
    uint64_t consumed_since, skipped, recomputed, hedged, hedges_out, skipped_items, leased_n,
        shared;
    struct cw_usage usage, usage_stored;
    int64_t usage_stored_ms;
    int64_t rate_ms;
    int64_t created_ms;   /* wall */
    int64_t no_client_ms; /* since when there is no client; 0 = there is one */
    int64_t no_worker_ms; /* since when it waits for a worker; 0 = it does not */
    int64_t waiting_sent_ms;
    /* cache */
    struct cw_cache_use *cache_uses;
    size_t cache_uses_n;
    struct cw_autocache_job *autocache; /* NULL: nothing is to be decided, or not yet */
    char *cached_node; /* what a policy chose (cw_job_set_cached_node); NULL = none */
};

/* ---- model/job_model.c ---- */
/* also one that is over: the latest of that name */
struct cw_job *cw_job_find(struct cw_dispatcher *d, const char *id_or_name);
/* one that can be joined */
struct cw_job *cw_job_find_named(struct cw_dispatcher *d, const char *name);
bool cw_job_has_clients(const struct cw_job *job);
/* A consumer's place was taken at some time: somebody can have received something. */
bool cw_job_had_clients(const struct cw_job *job);
const char *cw_job_tenant(const struct cw_job *job);
/* ---- who_serves.c ---- */
/* Whether the worker computes for the job or has something of it. Of one that uses every worker:
 * all but those that serve another job alone. */
bool cw_job_fetches_from(const struct cw_job *job, const struct cw_worker *worker);
bool cw_job_wants_workers(const struct cw_job *job);
/* its own limit, and its tenant's; CW_NO_LIMIT = none */
uint64_t cw_job_max_workers(const struct cw_job *job);
/* no policy, no limit: it uses every worker, each for a part of its time */
bool cw_job_uses_all_workers(const struct cw_job *job);
/* Whether the worker is one of the job's. */
bool cw_job_uses_worker(const struct cw_job *job, const struct cw_worker *worker);
/* Workers that there could be. */
double cw_workers_possible(const struct cw_dispatcher *d);
/* ---- model/job_model.c: epochs ---- */
/* NULL: done, or too far ahead */
struct cw_epoch *cw_job_epoch(struct cw_job *job, uint64_t number);
/* begins it, and those before */
struct cw_epoch *cw_job_open_epoch(struct cw_job *job, uint64_t number);
/* Shared: from now on the items are this consumer's, and a lease of them waits until that is
 * stored. */
void cw_job_set_owner(struct cw_job *job, struct cw_epoch *epoch, uint32_t consumer,
                      const struct cw_set *items);
double cw_job_epochs_left(const struct cw_job *job);
double cw_job_epoch_done(const struct cw_job *job); /* share of the current one */
/* ---- model/job_model.c: left out by request ---- */
/* What is left out of an epoch; made when nothing is yet. */
struct cw_set *cw_job_skips_of(struct cw_job *job, uint64_t epoch);
/* Leaves them out of an epoch that was opened or set back (NULL is accepted): epoch->skipped_unsent has what
 * clients must be sent (cw_clients_send_left_out). */
void cw_job_skips_apply(struct cw_job *job, struct cw_epoch *epoch);
void cw_job_skips_load(struct cw_job *job, uint64_t epoch, const struct cw_set *items);
void cw_job_skips_free(struct cw_job *job);
/* ---- model/job_model.c: nodes ---- */
/* The place of a node of a job that is prepared; n_cacheable when there is none. It is looked
 * for from `near` on, since workers tell of them in order. */
size_t cw_job_node(const struct cw_job *job, const char *name, size_t near);

#endif
