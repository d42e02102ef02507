/* SPDX-License-Identifier: Apache-2.0 */
/* A worker: its stream, and what it has reported of itself. Its shares say what it has of each
 * job. */
#ifndef CW_DISPATCHER_MODEL_WORKER_H
#define CW_DISPATCHER_MODEL_WORKER_H

#include "cachew/v1/fleet.pb-c.h"
#include "dispatcher/model/config.h"
#include "dispatcher/model/operators.h"

struct cw_catalogue_key; /* The struct is defined in cache/catalogue.h. */
struct cw_dispatcher;
struct cw_forget_turns;
struct cw_inbox;
struct cw_job;
struct cw_share;
struct cw_stream;

struct cw_worker {
    uint32_t magic;
    struct cw_dispatcher *d;
    struct cw_worker *next, *prev;
    struct cw_stream *stream;
    struct cw_inbox *inbox; /* What came and is not handled yet (session/inbox.h). */
    /* Unknown jobs that it is still to be told to drop (session/forget_turns.h), and how many it was. */
    struct cw_forget_turns *forget_turns;
    size_t forgets_n;
    /* Who this is (access/access.h); NULL: there are no tokens. The stream owns it. */
    const struct cw_caller *caller;
    bool said_hello; /* A valid hello was received. The fields below are unset without it. */
    bool failed;     /* The dispatcher is ending the worker's stream. */
    bool draining;
    bool retiring; /* The dispatcher has told the worker to drain, because no job needs it. */
    /* Its pod goes, or is to go: it gets no leases, and may get some again if the pod stays. */
    bool leaving;
    uint64_t id;
    char *address, *host_id, *version, *only_job;
    char *pod_name, *pod_namespace, *pod_uid, *node_name; /* "": it said none */
    uint32_t threads, pid;
    uint64_t budget_bytes, budget_used, done_n;
    double cpu_share, cpu_cores;
    /* The number of CPUs of the worker's host; 0 if the two fields below are not known. */
    uint32_t host_cpus;
    double host_cpu_share, host_load;
    /* The tiers of its source cache, as the worker reported last. */
    Cachew__V1__SourceTier **source_tiers;
    size_t source_tiers_n;
    /* The tiers in stores of named caches. */
    Cachew__V1__SourceTier **named_tiers;
    size_t named_tiers_n;
    int64_t last_heard_ms, since_ms;
    uint32_t
        heartbeat_ms; /* How often the worker was told to be heard of (model/message_pace.h). */
    struct cw_share *shares;
    size_t preparing_n;   /* The number of jobs that the worker prepares. */
    size_t index_helps_n; /* The number of indices of which it makes parts, or may. */
    bool counted;         /* The worker is counted in the dispatcher's common_n. */
    /* ---- cache ---- */
    /* The worker's counters of the cache include counts that an earlier dispatcher has seen
     * already. */
    bool counted_before;
    /* The keys of the cache whose chunks the worker is notified of. */
    struct cw_catalogue_key **cache_keys;
    size_t cache_keys_n, cache_keys_cap;
    bool index_parts;              /* It makes parts of indices; an older one is not offered. */
    struct cw_operators operators; /* Those of its plugins. */
    bool job_plans;    /* It knows JobPlan; an older one computes in the written order. */
    bool named_caches; /* It knows named caches; an older one gets their jobs without a cache. */
    /* What the worker last reported of the default cache's store; NULL if it has not. */
    Cachew__V1__StoreState *store_state;
    /* ---- scaling ---- */
    bool has_price; /* `price` is what it costs an hour, and not --worker-price. */
    double price;
    size_t load_place; /* During an assignment: its place in the heap (scaling/least_loaded.h). */
};

/* Returns whether the worker is attached and is not about to leave. */
bool cw_worker_is_usable(const struct cw_worker *worker);
/* Returns whether the worker is usable, and not reserved for one job. */
bool cw_worker_serves_any_job(const struct cw_worker *worker);
/* Must be called after each change of what cw_worker_serves_any_job() looks at: updates the
 * dispatcher's common_n. */
void cw_worker_recount(struct cw_worker *worker);
/* Returns whether the worker may be leased items of the job. */
bool cw_worker_serves(const struct cw_worker *worker, const struct cw_job *job);
/* Returns whether the worker may prepare the job; a local worker only its own. */
bool cw_job_may_prepare(const struct cw_worker *worker, const struct cw_job *job);
/* Stores what the worker reported of the tiers of its source cache, or removes it. */
void cw_worker_set_source_tiers(struct cw_worker *worker, const Cachew__V1__Progress *progress);
void cw_worker_clear_source_tiers(struct cw_worker *worker);

#endif
