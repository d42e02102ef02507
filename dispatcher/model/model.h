/* SPDX-License-Identifier: Apache-2.0 */
/* The control state of the dispatcher as plain structs, with questions and changes that need no
 * message and no disk, and no clock except as an argument. This header is the face of model/: it
 * includes the others.
 *
 *   config.h              options of the dispatcher and built-in limits
 *   worker.h              workers · client.h: clients · job_model.h: jobs · share.h: a worker with
 *                         regard to a job
 *   epoch.h               the items of one epoch as sets of numbers
 *   window.h              how far ahead a job is leased, and how much a worker is given at a time
 *   pace.h                how often the peers of a large fleet speak
 *   item_faults.h         items that fail or kill workers · same_function.h: jobs that share outputs
 *   other_files.h         workers that see other files than the job was prepared with
 *   unreachable.h         workers that a client cannot reach
 *   tenants.h             tenants, their limits and their use
 *   demand_window.h       what trainers measured · node_counters.h: what workers measured
 *
 *   worker_for_job.c      which worker serves which job
 *   window_end.c          up to which item a job is leased (window.h)
 *   job_lookup.c          finds a job and what belongs to it · job_epochs.c: opens epochs
 *                         (job_model.h) · job_links.c: its clients, who prepares it
 *   share_target.c        how much a worker is given at a time (window.h)
 *   source_cache_tiers.c  what workers report of their source caches (worker.h)
 *   check_derived.c       compares what is kept twice for speed with its source
 *
 * One loop thread owns all of it, so there are no locks. Handlers of messages change the model,
 * write what must outlive the process (state/state.h), and mark what is due. The end of the loop
 * iteration (iteration_end.c) does what is due. */
#ifndef CW_DISPATCHER_MODEL_MODEL_H
#define CW_DISPATCHER_MODEL_MODEL_H

#include "base/args.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "cachew/v1/fleet.pb-c.h"
#include "cachew/v1/job.pb-c.h"
#include "dispatcher/model/client.h"
#include "dispatcher/model/config.h"
#include "dispatcher/model/demand_window.h"
#include "dispatcher/model/epoch.h"
#include "dispatcher/model/item_faults.h"
#include "dispatcher/model/job_model.h"
#include "dispatcher/model/node_counters.h"
#include "dispatcher/model/other_files.h"
#include "dispatcher/model/message_pace.h"
#include "dispatcher/model/same_function.h"
#include "dispatcher/model/share.h"
#include "dispatcher/model/tenants.h"
#include "dispatcher/model/unreachable.h"
#include "dispatcher/model/usage.h"
#include "dispatcher/model/window.h"
#include "dispatcher/model/worker.h"
#include "format/chunk.h"
#include "loop/loop.h"
#include "plan/plan.h"
#include "policies/policy.h"
#include "rpc/rpc.h"
#include "wire/token.h"
#include "wire/wire.h"

struct cw_access;            /* The struct is defined in access/access.c. */
struct cw_backup;            /* The struct is defined in admin/backup.c. */
struct cw_cache_service;     /* The struct is defined in cache/cache.h. */
struct cw_leaving_cache;     /* The struct is defined in cache/detached_files.c. */
struct cw_autocache_service; /* The struct is defined in autocache/autocache.h. */
struct cw_fleet_list;        /* The struct is defined in message/worker_lists.c. */
struct cw_http;              /* The struct is defined in src/daemon. */
struct cw_kube;              /* The struct is defined in src/kube. */
struct cw_leader;            /* The struct is defined in src/kube. */
struct cw_metrics_tls;       /* The struct is defined in admin/metrics_tls.c. */
struct cw_parent_watch;      /* The struct is defined in src/loop. */
struct cw_state;             /* The struct is defined in state/state_int.h. */
struct cw_web;               /* The struct is defined in web/web_int.h. */
struct cw_stored_waiter;     /* The struct is defined in state/when_stored.c. */

struct cw_provision { /* The provisioner in use (scaling/provisioner.c). */
    const struct cw_provisioner *kind;
    void *state;
    double wanted; /* The number of workers that there should be, within the limits. */
    /* The time since which there are more workers than wanted; 0 if there are not. */
    int64_t surplus_ms;
    /* There cannot be more workers than `possible`, whatever --max-workers says; only if `limits`. */
    double possible;
    bool limits;
    bool has_price; /* `price` is that of the worker that would come next, for an hour. */
    double price;
};

struct cw_counts { /* Counters since this dispatcher was started. */
    uint64_t workers_joined, workers_lost, commits_failed;
    /* Times that nothing explained for 30 s why a trainer waits (job/waits_for.c). */
    uint64_t unexplained_waits;
    /* Decisions by kind, in the order of cw_decision_kinds (state/record_decision.c). */
    uint64_t decisions[7];
};

/* Work for all jobs together that handlers have found to be due. The end of the loop iteration
 * (iteration_end.c) does it: one function for each bit, which clears the bit. What is due for one job, one
 * client or the cache is marked there (struct cw_job_due, struct cw_client_due, struct
 * cw_cache_due). */
struct cw_due {
    bool failed_jobs; /* Jobs have failed: their clients must be sent the error. */
    bool left_out;    /* Some epochs have skipped items that clients must be told of. */
    bool assignment;  /* The assignment of workers to jobs may have changed. */
    bool slices;      /* The time slices of workers may have changed. */
    bool leases;      /* Items of any job may be leasable that were not before. */
    /* Workers came or went: clients of all jobs that use all workers must be sent a new list. */
    bool worker_lists;
    bool job_lists; /* Of some jobs (struct cw_job_due). */
    bool clients;   /* Something is due for a client (struct cw_client_due). */
    /* These remain while a job waits for it: that its row is stored, its next plan, the owners of items
     * that it has leased; that the peers of before a restart are back. */
    bool stored_rows, stored_plans, stored_leases, held_jobs;
};
/* CPU time of the loop's thread for the end of an iteration, as for messages (struct cw_method_time). */
#define CW_ITERATION_END "iteration end"
struct cw_iteration_times {
    uint64_t long_n;
    int64_t longest_ns;
};
struct cw_dispatcher {
    struct cw_loop *loop;
    struct cw_rpc *rpc;
    struct cw_server *server;
    struct cw_state *state;
    /* A thread for what would hold up the loop; NULL: nothing is handed over (in tests). */
    struct cw_offload_queue *offload;
    /* A thread that plans (optimize/job_optimizer.h), and what is known of pipelines by their key, as
     * profiles in JSON. */
    struct cw_offload_queue *planner;
    struct cw_strmap plan_profiles;
    struct cw_known_operators *known_operators; /* optimize/operator_costs.h; NULL: none yet */
    struct cw_options options;
    struct cw_kube *kube; /* Talks to the API server of Kubernetes; NULL: there is no --lease. */
    struct cw_leader *leader; /* The Lease that decides who serves; NULL: there is no --lease. */
    struct cw_access *access; /* The access tokens; NULL if there are none. */
    uint64_t generation;
    uint64_t lease_counter;
    uint64_t index_helps_number;              /* the last number of a help (model/job_model.h) */
    struct cw_worker *workers, *workers_last; /* In the order in which they came. */
    struct cw_map workers_by_id;              /* Those that sent a valid hello. */
    struct cw_fleet_list *fleet_list; /* message/worker_lists.c; NULL: it is to be made anew. */
    uint32_t ack_ms_sent; /* The interval of acknowledgements that all jobs were last told. */
    struct cw_client *clients;
    struct cw_job *jobs;
    struct cw_job *due_jobs, **due_jobs_end; /* Those of which something is due, in that order. */
    struct cw_strmap jobs_by_id;
    /* The ids of the latest jobs that were removed by request. Their trainers are told so, and do
     * not start them again. */
    struct cw_strmap removed_ids;
    struct cw_strmap tenants; /* The tenants by name. */
    /* The number of workers that sent a valid hello, of all clients, and of all jobs. */
    size_t workers_n, clients_n, jobs_n;
    /* The number of workers for which cw_worker_serves_any_job() is true. */
    size_t common_n;
    /* Workers that were attached before a restart and may come back, by id. */
    struct cw_map expected_workers;
    struct cw_provision provision;
    struct cw_parent_watch *parent_watch;
    struct cw_cache_service *cache;  /* The cache `default`; NULL: there is no --cache-store. */
    struct cw_cache_service *caches; /* All caches that jobs may use, the default one first. */
    struct cw_leaving_cache *leaving_caches;
    /* Caches whose files were deleted, the last ones first. */
    struct cw_leaving_cache *gone_caches;
    uint64_t last_cache_id;                 /* No cache gets an id that is not above this one. */
    struct cw_autocache_service *autocache; /* The automatic caching. */
    struct cw_timer *tick;
    int64_t tick_ms;      /* The present period of the tick; 0 while it is stopped. */
    int64_t last_tick_ms; /* The time of the last tick, or of the timer's start. */
    int64_t started_ms;
    /* After a failed transaction: the time before which none is begun, and the pause until then. */
    int64_t commit_retry_ms, commit_pause_ms;
    struct cw_timer *retry; /* The timer that ends that pause. */
    bool unwritten;         /* The last transaction failed, so its changes are not in state.db. */
    char unwritten_why[256];
    /* Sorted by the write that they wait for, the lowest first. */
    struct cw_stored_waiter *waiters, **waiters_end;
    struct cw_backup *backup; /* The backup that is being made; NULL if there is none. */
    /* The highest generation that a peer has seen, if it is above this dispatcher's own. */
    uint64_t generation_seen;
    struct cw_counts counts;
    struct cw_http *http; /* The server for metrics; NULL if metrics are not served by HTTP. */
    struct cw_web *web;   /* The page for browsers, served by the same. */
    struct cw_metrics_tls *metrics_tls; /* Its certificate; NULL without --metrics-tls. */
    uint16_t metrics_port;
    struct cw_due due;
    struct cw_iteration_times iteration_ends;
    bool stopping, exited;
    unsigned signals; /* The number of signals to stop that have come. */
    char address[512];
};

/* Stops the process if something that is kept twice differs from its source. It does so in builds
 * with fault points only. */
void cw_check_derived(const struct cw_dispatcher *d);

#endif
