/* SPDX-License-Identifier: Apache-2.0 */
/* A worker: its stream, and what it said of itself. Its shares say what it has of each job. */
#ifndef CW_DISPATCHER_MODEL_WORKER_H
#define CW_DISPATCHER_MODEL_WORKER_H

#include "cachew/v1/fleet.pb-c.h"
#include "dispatcher/model/config.h"

struct cw_catalogue_key; /* cache/catalogue.h */
struct cw_dispatcher;
struct cw_job;
struct cw_share;
struct cw_stream;

struct cw_worker {
    uint32_t magic;
    struct cw_dispatcher *d;
    struct cw_worker *next;
    struct cw_stream *stream;
    bool said_hello; /* said, and it counts; else the rest is unset */
    bool failed;     /* its stream is being ended */
    bool draining;
    bool retiring; /* was told to drain: it is not needed */
    uint64_t id;
    char *address, *host_id, *version, *only_job;
    uint32_t threads, pid;
    uint64_t budget_bytes, budget_used, done_n;
    double cpu_share, cpu_cores;
    uint32_t host_cpus; /* 0 = the two below are not known */
    double host_cpu_share, host_load;
    Cachew__V1__SourceTier **source_tiers; /* tiers of its source cache, as last told */
    size_t source_tiers_n;
    int64_t last_heard_ms, since_ms;
    struct cw_share *shares;
    /* cache */
    bool counted_before; /* its totals of the cache began under an earlier dispatcher */
    struct cw_catalogue_key **cache_keys; /* of which it was told the chunks */
    size_t cache_keys_n, cache_keys_cap;
    Cachew__V1__StoreState *store_state; /* what it said last, or NULL */
};

bool cw_worker_is_usable(const struct cw_worker *worker);      /* attached, and to stay */
bool cw_worker_serves_any_job(const struct cw_worker *worker); /* and for any job */
/* may get leases of it */
bool cw_worker_serves(const struct cw_worker *worker, const struct cw_job *job);
/* Keeps what it reported of the tiers of its source cache, or forgets it. */
void cw_worker_set_source_tiers(struct cw_worker *worker, const Cachew__V1__Progress *progress);
void cw_worker_clear_source_tiers(struct cw_worker *worker);

#endif
