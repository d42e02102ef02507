/* SPDX-License-Identifier: Apache-2.0 */
/* The cache as the dispatcher runs it: which chunks there are, what jobs' plans do with them, who is notified,
 * what is evicted. This is the face of cache/. A failure of the store fails no job: without its store a job
 * computes.
 *
 *   catalogue.c        tenants, keys, chunks, and their sums · catalogue_evict.c: which chunks leave first
 *   cache_service.c    opened and closed; the timer; rows of state.db; results of the store's threads
 *   cache_plans.c      what jobs' plans do with the cache, sent to workers
 *   cache_notify.c     workers subscribe to the keys that their jobs read, and are sent their chunks
 *   cache_reports.c    what workers report: chunks written, damaged, missing; hits; their view of the store
 *   cache_store_io.c   listing and deleting, on threads of its own
 *   cache_evict.c      quotas, eviction, pending deletes */
#ifndef CW_DISPATCHER_CACHE_CACHE_H
#define CW_DISPATCHER_CACHE_CACHE_H

#include "dispatcher/cache/catalogue.h"
#include "dispatcher/model/model.h"

struct cw_cache_io; /* cache_store_io.c */

/* How the names begin of files by which a dispatcher measures its store. */
#define CW_CACHE_PROBE "probe-"

/* Whoever waits for a listing or for deletions embeds one: `done` is called on the loop, once. */
struct cw_cache_waiter {
    struct cw_cache_waiter *next; /* of those that wait for a listing */
    uint64_t scan;                /* number of that listing */
    uint64_t left;                /* results that are still to come */
    uint64_t chunks, bytes;       /* deleted; or listed, and of these: */
    uint64_t added, removed;      /* new, and gone since the last listing */
    int rc;                       /* of the first that failed */
    char why[256];
    void (*done)(struct cw_cache_waiter *waiter);
};
struct cw_cache_due {
    bool quotas;  /* chunks came, or limits changed */
    bool listing; /* what is known of the store may not be true any more */
};
struct cw_cache_service {
    struct cw_dispatcher *d;
    struct cw_catalogue *catalogue;
    struct cw_cache_due due;
    struct cw_timer *timer;
    int64_t tidy_ms, space_ms; /* when next */
    int64_t rows_ms;
    /* the store, as the dispatcher sees it */
    struct cw_cache_io *store;
    bool unavailable;
    char unavailable_why[256];
    uint64_t store_total, store_free; /* total 0 = not known */
    /* listing */
    bool scanning;
    bool listed;                   /* once, well or not */
    int64_t listing_wait_until_ms; /* for so long jobs wait for the first listing */
    int64_t scan_ms;               /* not before; grows while the store is away */
    uint64_t scan_strange, scan_added;
    uint64_t gone_since_scan;
    struct cw_cache_waiter *scan_waiters;
    /* leaving */
    /* names of chunks that are deleted, until that and a listing under way are done */
    struct cw_strmap pending_deletes;
    struct cw_catalogue_names
        unsent_deletes;       /* of these: to be handed over at the end of the turn */
    size_t pending_deletes_n; /* not deleted yet */
    bool full;                /* nothing may be written by anybody */
    int64_t quota_ms;         /* next try when little could be evicted */
    /* what workers lost */
    uint64_t lost, lost_logged;
    char lost_why[200];
    int64_t lost_logged_ms;
};

/* ---- cache_service.c ---- */
/* d->options say whether there is one; before state is loaded */
void cw_cache_service_open(struct cw_dispatcher *d);
void cw_cache_service_start(struct cw_dispatcher *d); /* after it */
void cw_cache_service_stop(
    struct cw_dispatcher *d); /* answers who waits: before the server stops */
/* Ends threads; free, when the loop is gone. Accept that there is none. */
void cw_cache_service_close(struct cw_dispatcher *d);
void cw_cache_service_free(struct cw_dispatcher *d);
/* Right after the start it is not known yet what there is: a job that reads the cache waits for
 * that, but not for long. */
bool cw_cache_awaits_listing(const struct cw_job *job, int64_t now_ms);
void cw_cache_cycle_end(struct cw_dispatcher *d); /* at the end of a turn, before the commit */
void cw_cache_store_key(struct cw_cache_service *cache, const struct cw_catalogue_key *key);
void cw_cache_list(struct cw_cache_service *cache); /* unless a listing is under way */

/* ---- cache_plans.c ---- */
/* At this node the job's elements are cached from now on, besides those where an operator
 * `cache` stands; NULL: at none. */
void cw_job_set_cached_node(struct cw_job *job, const char *node);
/* its facts, or what may be written: works out its uses, tells its workers */
void cw_job_cache_changed(struct cw_job *job);
void cw_job_cache_fini(struct cw_job *job);
/* Uses for a message: pointers, uses and keys in one allocation, freed with cw_mem_free. */
Cachew__V1__CacheUse **cw_job_cache_uses(const struct cw_job *job, size_t *ret_n) CW_MUST_CHECK;
void cw_cache_count_readers(struct cw_cache_service *cache); /* key->readers */

/* ---- cache_notify.c ---- */
/* the chunks of what its job reads, before the job or its plan is told */
void cw_cache_subscribe(struct cw_share *share);
void cw_cache_unsubscribe(struct cw_worker *worker); /* keys that none of its jobs reads any more */
void cw_cache_worker_gone(struct cw_worker *worker); /* also when there is no cache */

/* ---- cache_reports.c ---- */
void cw_cache_take_report(struct cw_worker *worker, const Cachew__V1__Progress *progress);

/* ---- cache_evict.c ---- */
/* One result: the last one calls waiter->done. */
void cw_cache_waiter_done(struct cw_cache_waiter *waiter, int rc, const char *why);
/* Leaves the catalogue now, and the store once workers are told. The waiter (may be NULL) counts
 * down. */
void cw_cache_delete_chunk(struct cw_cache_service *cache, struct cw_catalogue_chunk *chunk,
                           struct cw_cache_waiter *waiter);
/* What may be held in all: the quota, or what the store has; UINT64_MAX = not known. */
uint64_t cw_cache_limit(const struct cw_cache_service *cache);

#endif
