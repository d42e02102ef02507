/* SPDX-License-Identifier: Apache-2.0 */
/* The state of this worker's cache, and of what its jobs do with it (docs/cache.md). Everything
 * belongs to the loop thread, except the fields that name another owner. No call waits for a store:
 * one is opened and closed on threads. */
#ifndef CW_WORKER_MODEL_CACHE_STATE_H
#define CW_WORKER_MODEL_CACHE_STATE_H

#include <stdatomic.h>

#include "base/interval.h"
#include "base/map.h"
#include "base/thread.h"
#include "cache/record/record_cache.h"
#include "loop/loop.h"

struct cw_worker_state;
struct cw_wcache_prefetch;

/* A cache with its store. */
struct cw_wcache_store {
    struct cw_worker_state *worker;
    struct cw_wcache_store *next; /* in the list cw_wcache.named, .retired or .closing */
    uint64_t id;                  /* of the named cache; 0: the default one */
    char *name;                   /* of the cache, for people */
    char *url;
    uint64_t chunk_bytes, source_bytes;
    int level;
    size_t memory; /* bytes */
    bool retired;  /* another store replaced it, or no job uses it any more */
    /* Retired: how long what waits is still written; a thread that closes it looks at it. */
    _Atomic int64_t write_ms;
    int64_t unused_ms; /* since when no job names it; 0: one does */
    uint64_t lost;     /* number of records that were not cached */
    char *lost_why;
    char *unavailable_why; /* why the store is unavailable; NULL: it answers */
    bool opening;          /* its thread runs, to open or to close it */
    _Atomic size_t refs; /* changed by any thread: number of tasks and prefetches that may use it */
    struct cw_cache *cache; /* NULL: it is not open yet, or could not be opened */
    struct cw_err error;
    struct cw_thread thread;
    struct cw_loop_node node;
};

/* The dispatcher waits until this worker has no store of the cache open (cw_wcache.left). */
struct cw_wcache_leave {
    uint64_t cache_id;
    char
        *url; /* nor any other store there, since its files are deleted; "": that does not matter */
};

/* A node at which the dispatcher wants a job to be cached. */
struct cw_wcache_use {
    char *node;
    bool read, write;
    struct cw_hash key;
};
/* The records that a tenant has of one key of a cache. */
struct cw_wcache_key {
    char *name; /* "TENANT/KEY", of a named cache "ID:TENANT/KEY" */
    uint64_t cache_id;
    char *tenant;
    struct cw_hash key;
    struct cw_strmap chunks;          /* names of the chunks that exist */
    struct cw_cache_dataset *dataset; /* its dataset in the cache; NULL while nobody uses it */
    size_t jobs_n;                    /* number of jobs that use it */
    int64_t unused_ms;                /* when jobs_n became 0 */
    struct cw_cache_counts before;    /* sum of the counters of datasets that were released */
    struct cw_cache_counts reported;  /* the counters that the dispatcher was sent last */
    char *job_id, *job_node;          /* the last job, and its node, that wrote records of it */
};
/* What a node of a job's plan uses at present. */
struct cw_wcache_engaged {
    struct cw_wcache_key *key; /* NULL: nothing is cached at this node */
    bool read, write;
};
struct cw_wcache_job {
    char *tenant;
    uint64_t cache_id;          /* of its cache; CW_SOURCE_NO_STORE: it has none */
    struct cw_wcache_use *uses; /* the last choice that the dispatcher sent */
    size_t uses_n;
    /* one for each node of the graph; NULL before the plan is open */
    struct cw_wcache_engaged *nodes;
    bool reads;             /* some node reads from the cache */
    int64_t waits_ms;       /* since when items wait for indices to be loaded; 0: they do not */
    bool has_unflushed;     /* items were finished since the last flush */
    int64_t idle_ms;        /* since when the job has nothing to do; 0: it has something */
    int64_t idle_limit_ms;  /* how long the job must be idle before the next flush */
    uint64_t epoch;         /* the highest epoch that was begun */
    bool has_earlier_epoch; /* items of an earlier epoch are still being computed */
    struct cw_set ahead;    /* items of ahead_epoch that were prefetched */
    uint64_t ahead_epoch;
};

/* An event that a thread of the cache has raised. */
struct cw_wcache_event {
    struct cw_wcache_event *next;
    struct cw_wcache_store *store;
    uint64_t cache_id;
    enum cw_cache_event_kind kind;
    char *name, *tenant, *why;
    struct cw_hash key;
    uint64_t records, bytes, cost_ns;
    char *job_id, *node; /* set on the loop thread */
    int64_t sent_ms;     /* when it was reported to the dispatcher; 0: it was not */
};

struct cw_wcache {
    size_t memory; /* bytes of the budget that belong to the default cache while it has a store */
    struct cw_wcache_store *store;   /* the present one of the default cache, or NULL */
    struct cw_wcache_store *named;   /* list of those of named caches */
    struct cw_wcache_store *retired; /* list of stores that were replaced, or are not used */
    struct cw_wcache_store *closing; /* list of stores that a thread closes */
    struct cw_wcache_leave *leaves;
    size_t leaves_n, leaves_cap;
    uint64_t *left; /* ids of caches that this worker has left as it was told, to be reported */
    size_t left_n, left_cap;
    size_t threads_n;       /* number of stores that are being opened or closed */
    struct cw_strmap keys;  /* maps the name of a cw_wcache_key to it */
    struct cw_timer *timer; /* runs while items wait for indices */
    cw_loop_fn *may_begin;  /* called with the worker when items that waited may begin */
    struct cw_wcache_prefetch *prefetch;        /* NULL until something is prefetched */
    _Atomic(struct cw_wcache_event *) happened; /* pushed by any thread; newest first */
    struct cw_loop_node happened_node;
    /* Events to be reported, oldest first; [0, sent_n) were sent on the present stream. */
    struct cw_wcache_event **events;
    size_t events_n, events_cap, sent_n;
};

#endif
