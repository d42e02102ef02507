/* SPDX-License-Identifier: Apache-2.0 */
/* The dispatcher's objects: workers, clients, jobs, and between worker and job a share with its
 * leases. All of it belongs to one loop thread, so there are no locks. Who calls whom:
 *
 *   worker_session.c (workers' streams) ----\                        /--> lease.c (who computes what)
 *   client_session.c (consumers' streams) --> job_life.c (life of a job) --> epoch.c (sets of items)
 *   svc_admin.c (tools) -----------/                        \--> state.c (what is stored)
 *
 * Handlers change state, write what must outlive it (state.h), and mark what is to be done
 * (job->want_fill); at the end of the loop's turn loop_turn.c leases, and hands what was written to
 * the thread that stores it. What may be said only when it is stored waits for that. */
#ifndef CW_DISPATCHER_DISPATCHER_H
#define CW_DISPATCHER_DISPATCHER_H

#include "base/args.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "cachew/v1/fleet.pb-c.h"
#include "cachew/v1/job.pb-c.h"
#include "dispatcher/model/epoch.h"
#include "dispatcher/state/state.h"
#include "dispatcher/scaling/accounting.h"
#include "format/chunk.h"
#include "loop/loop.h"
#include "plan/plan.h"
#include "policies/policy.h"
#include "rpc/rpc.h"
#include "wire/token.h"
#include "wire/wire.h"

#define CW_LOG_MOD "dispatcher"
#define CW_EPOCHS_AHEAD 64 /* epochs begun and not done */
#define CW_CONSUMERS_MAX 4096
/* stored sets of consumer c that are what it owns: number CW_OWNED_BASE + c */
#define CW_OWNED_BASE (1 << 30)
#define CW_GIVEN_EPOCHS 2                       /* of which it is known who computed what */
#define CW_BUFFER_DEFAULT ((uint64_t)256 << 20) /* of a client that says nothing */
#define CW_LEASE_MAX 1024                       /* items of one lease, about */
#define CW_ATTEMPTS_MAX 3 /* failures of an item on workers before its job fails */
#define CW_WORKER_TAG 0x574b5231u
#define CW_CLIENT_TAG 0x434c5431u

struct cw_options {
    const char *listen, *state_dir;
    /* the generation is above this one, whatever the state directory says */
    uint64_t generation_above;
    int64_t silence_ms;      /* of a worker, until it is taken for lost */
    int64_t grace_ms;        /* after a start: how long known workers and clients are waited for */
    int64_t client_grace_ms; /* an anonymous job's, without its client */
    int64_t job_idle_ms;     /* a finished or failed job, or one without clients, is kept so long */
    int64_t lease_ms;        /* work that a worker holds */
    int64_t takeover_ms;     /* a second client of a place waits so long for the first to go */
    uint64_t max_jobs;
    struct cw_arg_list tenants; /* "NAME:KEY=VALUE,..." (tenants.h) */
    uint64_t deaths_max;        /* workers that an item may kill */
    const char *cache_store;    /* NULL = no cache */
    uint64_t cache_quota;       /* 0 = what the store has */
    const struct cw_evict_policy *cache_evict;
    const char *autocache;       /* of jobs that ask for nothing else */
    uint64_t cache_chunk_bytes;  /* 0 = the worker's default */
    uint64_t source_cache_quota; /* bytes of the store for blocks of source files; 0 = none */
    int cache_level;             /* of compression: src/format/chunk.h */
    const char *autoscale; /* policy of jobs that do not say; "off" = each uses every worker */
    /* likewise, of those whose clients start local workers; "off" = none are asked for */
    const char *autoplace;
    double worker_price, client_price; /* an hour */
    const struct cw_provisioner *provisioner;
    uint64_t min_workers, max_workers;
    double max_stall;               /* share of its time that a trainer may wait */
    int64_t scale_window_ms;        /* shortest measurement */
    const char *metrics_listen;     /* by HTTP; NULL = not */
    int64_t scale_in_ms;            /* workers that nobody needs are kept so long */
    struct cw_arg_list worker_args; /* of started workers */
    bool standby, exit_with_stdin;
};
/* enum cw_args_result or a code */
int cw_options_parse(int argc, char **argv, struct cw_options *ret_options, struct cw_err *err);

struct cw_job;
struct cw_worker;
struct cw_client;
struct cw_tenant; /* tenants.h */

struct cw_caching;  /* cache.h */
struct cw_decider;  /* autocache.h */
struct cw_deciding; /* autocache.h */
struct cw_watch;    /* telemetry.h */
struct cw_catalogue_key;
struct cw_backup; /* backup.c */

struct cw_lease {
    struct cw_lease *next; /* of the share, oldest first */
    uint64_t counter;
    uint64_t epoch;
    struct cw_set items; /* not received, not handed back */
    struct cw_set todo;  /* of these: not reported as computed */
    int64_t given_ms;
    bool hedge;        /* the items are leased to another worker too */
    bool full;         /* no more items join it */
    uint32_t consumer; /* shared jobs: whose they are */
    /* shared jobs: it is sent when all that was written up to here is stored; 0 = it is sent */
    uint64_t after_seq;
};
/* what a worker was leased of an epoch, received or not: of this it may have the results for
 * another job */
struct cw_given {
    uint64_t epoch;
    struct cw_set items;
};
struct cw_share { /* of a worker in a job */
    struct cw_share *next_of_job, *next_of_worker;
    struct cw_job *job;
    struct cw_worker *worker;
    struct cw_lease *leases;
    bool spec_sent;
    uint64_t todo_n;         /* items, over all leases */
    uint64_t target;         /* items it should have to do */
    uint64_t room;           /* of the fill under way: what it may still get */
    bool mended;             /* of the fill under way: it got more, for a hole */
    struct cw_lease *unsent; /* of the fill under way */
    bool full;               /* the last fill reached the target */
    bool assigned;           /* scaling.h: the worker is one of the job's */
    double time;             /* of the worker's, as much as its share needs */
    /* of the worker's time and memory, of those jobs that use it; 0 = not known yet */
    double part;
    double part_told;
    uint64_t assigned_done_n; /* done_n then */
    double rate;              /* items per second, 0 = unknown */
    int64_t done_ms;          /* when it last reported something */
    int64_t shut_until_ms;    /* a client cannot reach the worker: no leases until then */
    bool barred;              /* other_files.h: the worker sees other files: no leases */
    char *other_files;        /* what it said of that, last; NULL = nothing */
    int64_t barred_ms;        /* when */
    uint64_t done_n;
    struct cw_given given[CW_GIVEN_EPOCHS]; /* the latest epochs */
};
struct cw_worker {
    uint32_t magic;
    struct cw_dispatcher *d;
    struct cw_worker *next;
    struct cw_stream *stream;
    bool hello;  /* said, and it counts; else the rest is unset */
    bool failed; /* its stream is being ended */
    bool draining;
    bool retiring; /* was told to drain: it is not needed */
    uint64_t id;
    char *address, *host_id, *version, *only_job;
    uint32_t threads, pid;
    uint64_t budget_bytes, budget_used, done_n;
    double cpu_share, cpu_cores;
    uint32_t host_cpus; /* 0 = the two below are not known */
    double host_cpu_share, host_load;
    Cachew__V1__SourceTier **source; /* tiers of its source cache, as last told */
    size_t source_n;
    int64_t heard_ms, since_ms;
    struct cw_share *shares;
    /* cache */
    bool counted_before; /* its totals of the cache began under an earlier dispatcher */
    struct cw_catalogue_key **cache_keys; /* of which it was told the chunks */
    size_t cache_keys_n, cache_keys_cap;
    Cachew__V1__StoreState *store; /* what it said last, or NULL */
};

/* What a job's plan does with the cache at a node. */
struct cw_cache_use {
    char *node;
    struct cw_catalogue_key *key;
    bool read, write;
};
struct cw_provision { /* provisioner.h */
    const struct cw_provisioner *kind;
    void *state;
    double wanted;      /* workers, within the limits */
    int64_t surplus_ms; /* since when there are too many; 0 = there are not */
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
/* ids of workers that died at something: each once, and forgotten if it was only cut off */
struct cw_deaths {
    uint64_t *v;
    size_t n, cap;
};
struct cw_trouble { /* of an item that failed */
    uint64_t epoch, item;
    uint32_t failures;
    uint64_t worker_id;    /* the last that failed */
    struct cw_deaths dead; /* fewer than options.deaths_max */
};
struct cw_job_skip {
    uint64_t epoch;
    struct cw_set items; /* of a sparse job: its batches, by their numbers */
};
struct cw_job {
    struct cw_dispatcher *d;
    struct cw_job *next;
    char *id, *name;
    enum cw_job_status status;
    bool put;         /* its row is written, maybe not stored yet */
    bool stored;      /* its row is stored: it may be told of */
    uint64_t put_seq; /* of state.h: what must be stored for that */
    bool row_dirty;
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
    bool preparing_told;      /* by its worker (an older one does not): */
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
    double slot; /* of each of these, about */
    /* it gets one worker more, since it finds too little time on those that make up its share */
    bool has_extra;
    struct cw_scaling *scaling; /* NULL: it uses every worker */
    struct cw_watch *watch;     /* telemetry.h; NULL: nothing was measured yet */
    /* ring of the jobs of the same function; itself when there is no other */
    struct cw_job *sibling;
    struct cw_trouble *troubles;
    size_t troubles_n, troubles_cap;
    struct cw_job_skip *skips; /* asked for, whichever epochs are open */
    size_t skips_n, skips_cap;
    uint64_t window, window_told;
    /* of the fill under way: items are leased below it, counted from the beginning of the first
     * open epoch */
    uint64_t window_end;
    size_t workers_n; /* that serve it, when it was last looked */
    /* idle_watch.c: since when nothing is leased though somebody waits; 0 = that is not so,
     * INT64_MAX: it was told */
    int64_t still_ms;
    bool want_fill, progress_dirty;
    bool unsent;           /* shared jobs: there are leases that wait until they may be sent */
    int64_t hold_until_ms; /* after a restart: nothing is leased before */
    /* measured */
    double item_bytes, item_ns, item_busy_ns, consume_rate;
    uint64_t consumed_since, skipped, recomputed, hedged, hedges_out, skipped_items, leased_n,
        shared;
    struct cw_usage usage, usage_stored;
    int64_t usage_stored_ms;
    int64_t rate_ms;
    int64_t created_ms; /* wall */
    int64_t alone_ms;   /* since when there is no client; 0 = there is one */
    int64_t starved_ms; /* since when it waits for a worker; 0 = it does not */
    int64_t waiting_told_ms;
    /* cache */
    struct cw_cache_use *uses;
    size_t uses_n;
    struct cw_decider *decider; /* NULL: nothing is to be decided, or not yet */
    char *cached_node;          /* what a policy chose (cw_job_set_cached_node); NULL = none */
};

struct cw_client {
    uint32_t magic;
    struct cw_dispatcher *d;
    struct cw_client *next;
    struct cw_stream *stream;
    int64_t since_ms;
    Cachew__V1__ClientMessage *hello; /* kept until it is admitted; NULL before and after */
    uint64_t id;
    struct cw_job *job; /* NULL before hello */
    uint32_t consumer;
    uint64_t at_epoch;    /* where it stood when it said hello */
    bool admitted;        /* holds its place in the job */
    bool welcome_due;     /* to be told when what it rests on is stored ... */
    uint64_t welcome_seq; /* ... which is all up to here */
    bool welcomed;
    bool failed; /* was told so; nothing it says counts */
    char *host_id;
    uint32_t max_local;    /* workers that it would start beside itself */
    uint32_t local_asked;  /* was asked for */
    uint32_t local_share;  /* of those that its job wants (placement.c) */
    uint64_t workers_told; /* sum over the list of workers that it has */
    int64_t place_ms;      /* since when it waits for its place; 0 = it does not */
};

struct cw_counts { /* since this dispatcher began */
    uint64_t workers_joined, workers_lost, commits_failed;
    uint64_t decisions[6]; /* by kind, in the order of decision_log.h */
};
struct cw_stored_waiter; /* loop_turn.c */
struct cw_dispatcher {
    struct cw_loop *loop;
    struct cw_rpc *rpc;
    struct cw_server *server;
    struct cw_state *state;
    struct cw_options options;
    uint64_t generation;
    uint64_t lease_counter;
    struct cw_worker *workers;
    struct cw_client *clients;
    struct cw_job *jobs;
    struct cw_strmap jobs_by_id;
    /* of jobs that were removed by request, the last ones: their trainers do not begin them
     * again */
    struct cw_strmap removed_ids;
    struct cw_strmap tenants;            /* by name */
    int64_t usage_ms;                    /* time is charged up to here */
    size_t workers_n, clients_n, jobs_n; /* workers that said hello; all clients; all jobs */
    struct cw_map expected_workers;      /* by id: attached before the restart */
    struct cw_provision provision;
    struct cw_parent_watch *parent;
    struct cw_caching *caching;   /* NULL = it has no cache */
    struct cw_deciding *deciding; /* NULL: the same */
    struct cw_timer *tick;
    int64_t tick_ms;   /* its period now; 0 = stopped */
    int64_t ticked_ms; /* the last time, or when it was started */
    int64_t started_ms;
    /* after a transaction that failed: none is begun before */
    int64_t commit_retry_ms, commit_pause_ms;
    struct cw_timer *retry; /* at that time */
    bool unwritten;         /* the last transaction failed */
    char unwritten_why[256];
    struct cw_stored_waiter *waiters, **waiters_end; /* by what they wait for, lowest first */
    struct cw_backup *backup;                        /* under way; NULL: none is */
    uint64_t generation_seen; /* by a peer; more than this dispatcher's own */
    struct cw_counts counts;
    struct cw_http *http; /* NULL = no metrics by HTTP */
    /* there are others, or jobs have others: clients may have to be told */
    bool workers_changed;
    bool stopping, exited;
    unsigned signals; /* that told it to stop */
    /* who has which workers, and how much of them, may change (scaling.h) */
    bool assign_due, parts_due;
    char address[512];
};

/* ---- worker_session.c ---- */
void cw_fleet_open(void *dispatcher, struct cw_stream *stream); /* method /cachew.v1.Fleet/Attach */
void cw_fleet_tick(struct cw_dispatcher *d, int64_t now);
void cw_fleet_close_all(struct cw_dispatcher *d);
/* sets the generation */
void cw_worker_send(struct cw_worker *worker, Cachew__V1__WorkerCommand *command);
/* what it tells of its source cache (worker_source.c) */
void cw_worker_keep_source(struct cw_worker *worker, const Cachew__V1__Progress *progress);
void cw_worker_drop_source(struct cw_worker *worker);
bool cw_worker_is_usable(const struct cw_worker *worker); /* attached, and to stay */
bool cw_worker_is_common(const struct cw_worker *worker); /* and for any job */
void cw_worker_retire(struct cw_worker *worker);          /* it is told to drain, and leaves */
/* may get leases of it */
bool cw_worker_serves(const struct cw_worker *worker, const struct cw_job *job);

/* ---- client_session.c, client_admission.c ---- */
/* method /cachew.v1.Jobs/Attach */
void cw_clients_open(void *dispatcher, struct cw_stream *stream);
void cw_clients_tick(struct cw_dispatcher *d, int64_t now);
void cw_clients_close_all(struct cw_dispatcher *d);
void cw_client_send(struct cw_client *client, Cachew__V1__ClientCommand *command);
/* tells, and ends the stream */
void cw_client_fail(struct cw_client *client, int code, const char *msg);
/* It does not come back: its place is free, and with it whatever of a shared job was only its
 * own. One that had no place gives up none. */
void cw_client_leave(struct cw_client *client);
/* its place, if it has one, is free for others; the job goes on without it */
void cw_client_detach(struct cw_client *client);
void cw_client_replace(struct cw_client *old); /* its own next connection takes its place */
/* client->hello is there: find or make its job */
int cw_client_hello(struct cw_client *client, struct cw_err *err);
/* give it its place, if it is free */
void cw_client_admit(struct cw_client *client);
void cw_client_welcome(struct cw_client *client);
/* Whether the worker computes for the job or has something of it. Of one that uses every worker:
 * all but those that serve another job alone. */
bool cw_job_fetches_from(const struct cw_job *job, const struct cw_worker *worker);
/* The workers that it may have to fetch from; again: also if it was told the same before. */
void cw_client_send_workers(struct cw_client *client, bool again);
/* To all clients of the job: nobody gets these; or to all but the one at this place: it has
 * received them (shared jobs). */
void cw_job_tell_skipped(struct cw_job *job, uint64_t epoch, const struct cw_set *items,
                         const char *reason);
void cw_job_tell_taken(struct cw_job *job, uint64_t epoch, const struct cw_set *items,
                       uint32_t consumer);
void cw_job_tell_skipped_batches(struct cw_job *job, uint64_t epoch, const struct cw_set *batches);

/* ---- job_life.c ---- */
/* also one that is over: the latest of that name */
struct cw_job *cw_job_find(struct cw_dispatcher *d, const char *id_or_name);
/* one that can be joined */
struct cw_job *cw_job_find_named(struct cw_dispatcher *d, const char *name);
/* Takes options, graph. */
struct cw_job *cw_job_new(struct cw_dispatcher *d, const char *id, Cachew__V1__JobOptions *options,
                          Cachew__V1__Graph *graph);
void cw_job_free(struct cw_job *job);
/* also from state and workers; its clients are failed; frees it */
void cw_job_remove(struct cw_job *job, const char *reason);
void cw_job_fail(struct cw_job *job, int code, const char *msg);
int cw_job_set_info(struct cw_job *job, Cachew__V1__PlanInfo *info /* taken on success */,
                    struct cw_err *err);
int cw_job_load_all(struct cw_dispatcher *d, struct cw_err *err);
/* One of them. What is stored of it cannot be used: it fails, and the dispatcher goes on. An
 * error: there is no memory for it. */
int cw_job_load(struct cw_dispatcher *d, const struct cw_state_job *row, struct cw_err *err);
void cw_job_store(struct cw_job *job);             /* its row */
void cw_job_store_options(struct cw_job *job);     /* these have changed */
void cw_job_tick(struct cw_job *job, int64_t now); /* may free it */
void cw_job_clients_changed(struct cw_job *job);
bool cw_job_has_clients(const struct cw_job *job);
/* Looks for a worker to prepare it. */
void cw_job_prepare(struct cw_job *job);
/* whether what it prepares comes on */
void cw_job_preparing(struct cw_worker *worker, const Cachew__V1__Progress *progress, int64_t now);
void cw_job_prepared(struct cw_job *job, const Cachew__V1__Prepared *prepared);

/* ---- model/job.c ---- */
const char *cw_job_tenant(const struct cw_job *job);
/* The place of a node of a job that is prepared; n_cacheable when there is none. It is looked
 * for from `near` on, since workers tell of them in order. */
size_t cw_watch_node(const struct cw_job *job, const char *name, size_t near);
double cw_decide_epochs_left(const struct cw_job *job);
double cw_decide_epoch_done(const struct cw_job *job); /* share of the current one */

/* ---- progress.c ---- */
/* NULL: done, or too far ahead */
struct cw_epoch *cw_job_epoch(struct cw_job *job, uint64_t number);
/* begins it, and those before */
struct cw_epoch *cw_job_open_epoch(struct cw_job *job, uint64_t number);
void cw_job_ack(struct cw_job *job, uint32_t consumer, Cachew__V1__EpochSet *const *sets, size_t n,
                bool consumed);
void cw_job_advance(struct cw_job *job); /* closes epochs that are done; finishes the job */
void cw_job_flush(struct cw_job *job);   /* writes what has changed (state.h) */
void cw_job_resume_at(struct cw_job *job, uint32_t consumer, const struct cw_token *token);
/* Shared: from now on the items are this consumer's, and a lease of them waits until that is
 * stored. */
void cw_job_own(struct cw_job *job, struct cw_epoch *epoch, uint32_t consumer,
                const struct cw_set *items);
/* Whoever held the place will not come back: what he had received and not consumed goes to
 * others, or to the next. */
void cw_job_release_consumer(struct cw_job *job, uint32_t consumer);
uint64_t cw_job_skip(struct cw_job *job, uint64_t epoch, uint64_t lo, uint64_t hi,
                     const char *reason);

/* ---- skip.c ---- */
/* Leaves items out of an epoch, past ones too: for when the trainer goes back. Returns how many
 * of them it has consumed. The job is running and dense; lo < hi, at most its items. */
uint64_t cw_job_skip_for_good(struct cw_job *job, uint64_t epoch, uint64_t lo, uint64_t hi);
/* Sparse: batches [lo, hi) instead, and how many batches an epoch can have. */
uint64_t cw_job_skip_batches(struct cw_job *job, uint64_t number, uint64_t lo, uint64_t hi);
uint64_t cw_job_batches_most(const struct cw_job *job);
/* to an epoch that was opened or set back; NULL is accepted */
void cw_job_skips_apply(struct cw_job *job, struct cw_epoch *epoch);
void cw_job_skips_load(struct cw_job *job, uint64_t epoch, const struct cw_set *items);
void cw_job_skips_free(struct cw_job *job);

/* ---- lease.c ---- */
void cw_lease_fill_all(struct cw_dispatcher *d);
/* leases of shared jobs whose items' owners are stored by now */
void cw_lease_send_stored(struct cw_dispatcher *d);
void cw_lease_received(struct cw_job *job, uint64_t epoch, const struct cw_set *items);
void cw_lease_done(struct cw_share *share, const Cachew__V1__Progress__Done *done);
/* Takes items away from a share (NULL = all it holds of the job), so that they are free again;
 * the worker is told if tell. */
void cw_lease_free(struct cw_share *share, uint64_t epoch, const struct cw_set *items, bool tell);
void cw_lease_free_all(struct cw_share *share, bool tell);
void cw_lease_free_job(struct cw_job *job); /* of all workers, and tells them */
void cw_lease_held(struct cw_worker *worker, const Cachew__V1__HeldLease *held);
void cw_lease_revoke(struct cw_worker *worker, const struct cw_job *job, uint64_t epoch,
                     const struct cw_set *items);
struct cw_share *cw_share_get(struct cw_job *job, struct cw_worker *worker);
struct cw_share *cw_share_find(const struct cw_job *job, const struct cw_worker *worker);
void cw_share_remove(struct cw_share *share);
bool cw_share_serves(const struct cw_share *share);  /* the worker is one of the job's */
bool cw_share_is_used(const struct cw_share *share); /* and the job wants workers now */
double cw_share_part(const struct cw_share *share);
/* Items that it should have to do, of the part of the worker's time that is the job's. */
uint64_t cw_share_target(const struct cw_share *share);

/* ---- window.c: how far ahead, and how much at a time ---- */
uint64_t cw_window_items(const struct cw_job *job, size_t threads);
/* idle_watch.c: each tick; says once in the log that nothing is leased, when that lasts. */
void cw_job_watch_still(struct cw_job *job, int64_t now);

/* ---- item_faults.c: items that fail or kill ---- */
struct cw_trouble *cw_trouble_find(const struct cw_job *job, uint64_t epoch, uint64_t item);
void cw_trouble_failed(struct cw_job *job, const struct cw_worker *worker,
                       const Cachew__V1__ItemFailed *failed);
/* its worker is gone: blames what it was computing. May fail the job. */
void cw_trouble_died(struct cw_share *share);
/* it was only its connection that died */
void cw_trouble_alive(struct cw_dispatcher *d, uint64_t worker_id);
void cw_trouble_forget(struct cw_job *job, uint64_t below_epoch);
void cw_trouble_free_all(struct cw_job *job);
bool cw_deaths_add(struct cw_deaths *deaths, uint64_t worker_id); /* false: it is known */

/* ---- loop_turn.c ---- */
void cw_turn_end(void *dispatcher);
/* Calls fn when all that was written so far is stored (err NULL), or could not be at the first
 * attempt (err says why; the writes are kept, and tried again until they are stored). At once,
 * if there is nothing to wait for. */
typedef void cw_stored_fn(void *arg, const struct cw_err *err);
void cw_turn_when_stored(struct cw_dispatcher *d, cw_stored_fn *fn, void *arg);
/* Calls those whose writes are stored by now; err: all of them, since what they wait for is not
 * stored, and may not be for long. */
void cw_turn_answer_waiters(struct cw_dispatcher *d, const struct cw_err *err);
/* stores what there is, and waits for it: the dispatcher stops */
void cw_turn_last(struct cw_dispatcher *d);
/* Of the time since the last tick, what the dispatcher itself stood (stopped by a signal, or
 * without a CPU): nobody else is to blame for it. */
int64_t cw_turn_lost_ms(int64_t passed_ms, int64_t period_ms);
/* A peer has seen a higher generation than this dispatcher's: says so in the log, once for each. */
void cw_turn_note_generation(struct cw_dispatcher *d, uint64_t seen, const char *who,
                             const char *address);
void cw_turn_wake(struct cw_dispatcher *d); /* starts or stops the tick as needed */

/* ---- backup.c ---- */
void cw_backup_add(struct cw_dispatcher *d);
void cw_backup_close(struct cw_dispatcher *d); /* waits for its thread, which is told to stop */

/* ---- svc_admin.c ---- */
void cw_svc_admin_add(struct cw_dispatcher *d);

#endif
