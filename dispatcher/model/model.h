/* SPDX-License-Identifier: Apache-2.0 */
/* The control state of the dispatcher as plain structs, and questions and changes on it that need no
 * message, no disk and no clock but as an argument. This is the face of model/: it includes the rest.
 *
 *   config.h         what the dispatcher was told at its start
 *   worker.h         workers · client.h: trainers · job.h: jobs · share.h: what a worker has of a job
 *   epoch.h          the items of one epoch as sets of numbers
 *   window.h         how far ahead, and how much at a time
 *   item_faults.h    items that fail or kill · same_function.h: jobs that share outputs
 *   other_files.h    workers that see other files than the job was prepared with
 *   tenants.h        whose jobs are whose, and what each may have
 *   demand_window.h  what trainers measured · node_counters.h: what workers measured
 *
 *   who_serves.c     which worker serves which job: questions about two objects
 *   window_end.c     up to where items of a job are leased (window.h)
 *   worker_source.c  what workers tell of their source caches (worker.h)
 *   check_derived.c  what is kept twice for speed, compared with its source
 *
 * One loop thread owns all of it, so there are no locks. Handlers change the model, write what must
 * outlive the process (state/state.h), and mark what is due; the end of the loop's iteration
 * (cycle.c) does what is due. */
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
#include "dispatcher/model/same_function.h"
#include "dispatcher/model/share.h"
#include "dispatcher/model/tenants.h"
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

struct cw_backup;            /* admin/backup.c */
struct cw_cache_service;     /* cache/cache.h */
struct cw_autocache_service; /* autocache/autocache.h */
struct cw_http;              /* src/daemon */
struct cw_parent_watch;      /* src/loop */
struct cw_state;             /* state/state.h */
struct cw_stored_waiter;     /* state/when_stored.c */

struct cw_provision { /* provisioner.h */
    const struct cw_provisioner *kind;
    void *state;
    double wanted;      /* workers, within the limits */
    int64_t surplus_ms; /* since when there are too many; 0 = there are not */
};

struct cw_counts { /* since this dispatcher began */
    uint64_t workers_joined, workers_lost, commits_failed;
    uint64_t decisions[6]; /* by kind, in the order of decision_record.c */
};

/* What handlers found to be due for all jobs together. cycle.c does it at the end of the loop's iteration:
 * one function a bit, which clears it. What is due for one job, client or for the cache stands there
 * (struct cw_job_due, struct cw_client_due, struct cw_cache_due). */
struct cw_due {
    bool failed_jobs; /* jobs have failed: their clients are sent the error */
    bool left_out;    /* epochs have items that are left out: clients are sent which */
    bool assignment;  /* who has which workers may have changed */
    bool slices;      /* or how much of each worker's time */
    bool
        worker_lists; /* there are other workers, or jobs have others: clients are sent new lists */
};
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
    int64_t charged_ms;                  /* time is charged up to here */
    size_t workers_n, clients_n, jobs_n; /* workers that said hello; all clients; all jobs */
    struct cw_map expected_workers;      /* by id: attached before the restart */
    struct cw_provision provision;
    struct cw_parent_watch *parent_watch;
    struct cw_cache_service *cache;         /* NULL = it has no cache */
    struct cw_autocache_service *autocache; /* NULL: the same */
    struct cw_timer *tick;
    int64_t tick_ms;      /* its period now; 0 = stopped */
    int64_t last_tick_ms; /* the last time, or when it was started */
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
    struct cw_due due;
    bool stopping, exited;
    unsigned signals; /* that told it to stop */
    char address[512];
};

/* Stops the process if what is kept twice differs from its source (builds with fault points only). */
void cw_check_derived(const struct cw_dispatcher *d);

#endif
