/* SPDX-License-Identifier: Apache-2.0 */
/* The cache as the dispatcher runs it: which chunks exist, how jobs use them, which workers are
 * notified of them, and which are evicted. This is the face of cache/. A failure of the store fails
 * no job, since a job that has no cache computes.
 *
 *   catalogue.c       tenants, keys, chunks, and their sums · catalogue_evict.c: which chunks go
 *                     first
 *   cache_service.c   opens and closes the cache; its timer, its rows in state.db, results of store
 *                     I/O
 *   cache_plans.c     how jobs use the cache, which their workers are sent
 *   cache_notify.c    notifies workers of the chunks of the keys that their jobs read
 *   cache_reports.c   reports of workers: chunks written, damaged or gone; hits; the state of their
 *                     store
 *   cache_store_io.c  lists and deletes files, on threads of its own
 *   cache_evict.c     quotas, eviction, pending deletes */
#ifndef CW_DISPATCHER_CACHE_CACHE_H
#define CW_DISPATCHER_CACHE_CACHE_H

#include "dispatcher/cache/catalogue.h"
#include "dispatcher/model/model.h"

struct cw_cache_io; /* The struct is defined in cache_store_io.c. */

/* A dispatcher writes a file into the store, reads it to measure the store, and removes it. The
 * names of these files begin with this text. */
#define CW_BENCHMARK_FILE_PREFIX "probe-"

/* Whoever waits for a listing or for deletions embeds this struct. `done` is called on the loop
 * thread, once. */
struct cw_cache_waiter {
    struct cw_cache_waiter *next; /* The next one in the list of those that wait for a listing. */
    uint64_t scan;                /* The number of the listing that is waited for. */
    uint64_t left;                /* The number of results that are still to come. */
    uint64_t chunks, bytes;       /* What was deleted; or what the listing found. */
    /* The chunks that the listing found to be new, and those that it did not find any more. */
    uint64_t added, removed;
    int rc; /* The code of the first operation that failed. */
    char why[256];
    void (*done)(struct cw_cache_waiter *waiter);
};
struct cw_cache_due {
    bool quotas;  /* Chunks were added or limits changed, so quotas must be checked. */
    bool listing; /* The catalogue may differ from the store, which must be listed. */
};
struct cw_cache_service {
    struct cw_dispatcher *d;
    struct cw_catalogue *catalogue;
    struct cw_cache_due due;
    struct cw_timer *timer;
    /* The next time to forget silent workers, and to ask for the free space. */
    int64_t tidy_ms, space_ms;
    int64_t rows_ms;
    /* ---- the store, as the dispatcher sees it ---- */
    struct cw_cache_io *store;
    bool unavailable;
    char unavailable_why[256];
    /* The bytes that the store has in all, and that are free. The total is 0 if it is not known. */
    uint64_t store_total, store_free;
    /* ---- listings ---- */
    bool scanning;
    bool listed; /* The first listing has ended, with or without success. */
    /* Jobs that read the cache wait until this time for the first listing. */
    int64_t listing_wait_until_ms;
    /* No listing begins before this time, which is later while the store is unavailable. */
    int64_t scan_ms;
    uint64_t scan_strange, scan_added;
    uint64_t gone_since_scan;
    struct cw_cache_waiter *scan_waiters;
    /* ---- evictions ---- */
    /* Name -> struct pending_delete. An entry stays for a while when the file is deleted, since a
     * listing may still contain it, and a late report may say that it was written. */
    struct cw_strmap pending_deletes;
    /* The names of pending deletes that begin at the end of the loop iteration. */
    struct cw_catalogue_names unsent_deletes;
    size_t pending_deletes_n; /* The number of files that are not deleted yet. */
    bool full;                /* The cache is full: no worker may write. */
    int64_t quota_ms; /* If little could be evicted, the time at which quotas are checked again. */
    /* ---- records that workers lost ---- */
    uint64_t lost, lost_logged;
    char lost_why[200];
    int64_t lost_logged_ms;
};

/* ---- cache_service.c ---- */
/* Creates the cache if the options name a store. It is called before the state is loaded. */
void cw_cache_service_open(struct cw_dispatcher *d);
/* Begins listing and the timer. It is called after the state is loaded. */
void cw_cache_service_start(struct cw_dispatcher *d);
/* Answers every request that waits for the cache. It is called before the server stops. */
void cw_cache_service_stop(struct cw_dispatcher *d);
/* cw_cache_service_close ends the threads; cw_cache_service_free is called when the loop is gone.
 * Both accept that there is no cache. */
void cw_cache_service_close(struct cw_dispatcher *d);
void cw_cache_service_free(struct cw_dispatcher *d);
/* Returns whether the job must wait for the first listing. Right after the start it is not known
 * which chunks exist, so a job that reads the cache waits for it, but not for long. */
bool cw_cache_awaits_listing(const struct cw_job *job, int64_t now_ms);
/* Does what is due for the cache. It is called at the end of a loop iteration, before the
 * commit. */
void cw_cache_cycle_end(struct cw_dispatcher *d);
void cw_cache_store_key(struct cw_cache_service *cache, const struct cw_catalogue_key *key);
/* Starts a listing of the store unless one is going on. */
void cw_cache_list(struct cw_cache_service *cache);

/* ---- cache_plans.c ---- */
/* From now on the job's elements are cached at this node, and at each operator `cache`. NULL: at no
 * other node. */
void cw_job_set_cached_node(struct cw_job *job, const char *node);
/* The job's plan, or what may be written, has changed: computes how the job uses the cache and
 * tells its workers. */
void cw_job_cache_changed(struct cw_job *job);
void cw_job_cache_fini(struct cw_job *job);
/* Returns the job's use of the cache for a message. Pointers, uses and keys are in one allocation,
 * which cw_mem_free frees. */
Cachew__V1__CacheUse **cw_job_cache_uses(const struct cw_job *job, size_t *ret_n) CW_MUST_CHECK;
/* Computes the member `readers` of each key of the catalogue. */
void cw_cache_count_readers(struct cw_cache_service *cache);

/* ---- cache_notify.c ---- */
/* Sends the worker the chunks of the keys that the job reads. It is called before the worker is
 * sent the job or its plan. */
void cw_cache_subscribe(struct cw_share *share);
/* Stops notifying the worker of keys that none of its jobs reads any more. */
void cw_cache_unsubscribe(struct cw_worker *worker);
/* Forgets a worker that is gone. There need not be a cache. */
void cw_cache_worker_gone(struct cw_worker *worker);

/* ---- cache_reports.c ---- */
void cw_cache_take_report(struct cw_worker *worker, const Cachew__V1__Progress *progress);

/* ---- cache_evict.c ---- */
/* Hands one result to the waiter. The last result makes it call waiter->done. */
void cw_cache_waiter_done(struct cw_cache_waiter *waiter, int rc, const char *why);
/* Removes the chunk from the catalogue at once. Its file is deleted when workers have been
 * notified. The waiter (may be NULL) gets the result. */
void cw_cache_delete_chunk(struct cw_cache_service *cache, struct cw_catalogue_chunk *chunk,
                           struct cw_cache_waiter *waiter);
/* Returns how many bytes the cache may hold: the quota or the size of the store; UINT64_MAX if
 * neither is known. */
uint64_t cw_cache_limit(const struct cw_cache_service *cache);

#endif
