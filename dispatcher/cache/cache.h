/* SPDX-License-Identifier: Apache-2.0 */
/* The cache as the dispatcher runs it: which chunks exist, how jobs use them, which workers are
 * notified of them, and which are evicted. This is the face of cache/. A failure of the store fails
 * no job, since a job that has no cache computes.
 *
 *   catalogue.c       tenants, keys, chunks, and their sums · catalogue_evict.c: which chunks go
 *                     first
 *   cache_service.c   opens and closes the cache; its timer, its rows in state.db, results of store
 *                     I/O
 *   named_caches.c    which cache a job has, and who uses a cache
 *   attach_cache.c    caches are attached and detached while the dispatcher runs
 *   detached_files.c  deletes the files of caches that were detached
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
struct cw_cache_source { /* A source that was warmed into the cache. */
    struct cw_cache_source *next;
    char *source;
    uint64_t bytes, files, cached_bytes;
    int64_t time_ms;
};
struct cw_cache_service { /* One cache: `default`, or a named one. */
    struct cw_dispatcher *d;
    struct cw_cache_service *next;
    uint64_t id; /* It is never used again for another cache; 0: the default one. */
    char *name, *url;
    char *tenant;          /* The only tenant that may use it; "": all. */
    uint64_t source_quota; /* The bytes that blocks of source files may have; 0: none are kept. */
    int64_t created_ms;    /* wall time */
    /* The wall time at which a job used it last, and its value in state.db; 0: never. */
    int64_t used_ms, used_stored_ms;
    uint64_t row_seq;        /* Its row is stored when all writes up to this are (cw_state_seq). */
    bool due_to_jobs;        /* It was attached, and jobs get it when that is stored. */
    int64_t closed_until_ms; /* No new job may use it until then (cw_clock_ms); 0: it is open. */
    struct cw_cache_source *sources;
    struct cw_map away; /* Worker id -> why it cannot reach the store. */
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
    /* Why it is, if evicting cannot help: the store is too small; "" otherwise. */
    char full_why[128];
    int64_t quota_ms; /* If little could be evicted, the time at which quotas are checked again. */
    /* ---- records that workers lost ---- */
    uint64_t lost, lost_logged;
    char lost_why[200];
    int64_t lost_logged_ms;
};

/* ---- cache_service.c ---- */
/* Creates the default cache if the options name a store. It is called before the state is loaded,
 * which has the named ones. */
void cw_cache_service_open(struct cw_dispatcher *d);
/* Begins listings and timers. It is called after the state is loaded. */
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
/* Creates a named cache, and puts it into the list; cw_cache_begin makes it work. */
struct cw_cache_service *cw_cache_new_named(struct cw_dispatcher *d,
                                            const struct cw_state_cache *row);
void cw_cache_begin(struct cw_cache_service *cache);
/* Takes the cache out of the list, answers who waits for it, ends its threads and frees it, while
 * the dispatcher goes on. No job may use it any more. */
void cw_cache_end(struct cw_cache_service *cache, const char *why);
/* Does what is due for the caches. It is called at the end of a loop iteration, before the
 * commit. */
void cw_cache_cycle_end(struct cw_dispatcher *d);
void cw_cache_store_key(struct cw_cache_service *cache, const struct cw_catalogue_key *key);
/* Starts a listing of the store unless one is going on. */
void cw_cache_list(struct cw_cache_service *cache);

/* ---- named_caches.c ---- */
/* Returns the cache of this name (""  means "default"); NULL: there is none. */
struct cw_cache_service *cw_cache_find(const struct cw_dispatcher *d, const char *name);
struct cw_cache_service *cw_cache_by_id(const struct cw_dispatcher *d, uint64_t id);
/* Returns the cache that the job's options name and its tenant may use; NULL: there is none, or that it
 * was attached is not stored yet (then the job gets it later). */
struct cw_cache_service *cw_cache_of_job(const struct cw_job *job);
/* Checks that a new job of this tenant may use the cache. NULL: the default one need not exist. */
int cw_cache_admits(const struct cw_dispatcher *d, const char *name, const char *tenant,
                    struct cw_err *err);
/* A client of the job is back: a cache that was closed meanwhile has a user, and is open. */
void cw_cache_used_again(struct cw_job *job);
/* Whether the job uses the cache: it is not over, and has a client or had one a minute ago. */
bool cw_cache_is_user(const struct cw_cache_service *cache, const struct cw_job *job,
                      int64_t now_ms);
/* Returns the wall time of the last use; now, if there is a user. */
int64_t cw_cache_last_use(struct cw_cache_service *cache);
bool cw_cache_is_closed(const struct cw_cache_service *cache);
#define CW_CACHE_CLOSED_MS                                                                         \
    60000 /* A closed cache that was not detached is open again after this. */
/* Stores the time of the last use, if it is much later than what is stored; with `now` at once. */
void cw_cache_store_use(struct cw_cache_service *cache, bool now);

/* ---- attach_cache.c ---- */
/* More was stored in state.db: jobs that name a cache whose row is stored now begin to use it. Before,
 * the next dispatcher might know nothing of what they wrote. */
void cw_cache_attached_stored(struct cw_dispatcher *d);
/* Attaches a cache, or gives one of this name and URL other limits. */
int cw_cache_attach(struct cw_dispatcher *d, const struct cw_state_cache *row,
                    struct cw_cache_service **ret_cache, struct cw_err *err);
/* Detaches a named cache: its jobs go on without one, and its files are deleted in the background
 * unless they are to be kept. Returns the number of its jobs. */
size_t cw_cache_detach(struct cw_cache_service *cache, bool keep);
/* Loads a row of state.db. */
void cw_cache_load(struct cw_dispatcher *d, const struct cw_state_cache *row);
void cw_cache_load_source(struct cw_dispatcher *d, const struct cw_state_cache_source *row);
void cw_cache_set_source(struct cw_cache_service *cache, const struct cw_state_cache_source *row);

/* ---- detached_files.c ---- */
/* A cache was detached, also before a restart: begins to delete its files, or, where row->gone says
 * that this was done, only remembers it. */
void cw_leaving_begin(struct cw_dispatcher *d, const struct cw_state_cache *row);
/* Tells the workers, or one that has just come, to close the store. */
void cw_leaving_tell(struct cw_dispatcher *d, uint64_t id, bool keep);
void cw_leaving_hello(struct cw_worker *worker, const uint64_t *open, size_t n);
void cw_leaving_confirmed(struct cw_worker *worker, uint64_t id);
void cw_leaving_worker_gone(struct cw_worker *worker);
/* Begins the work of caches that were loaded; ends it at the end of the dispatcher. */
void cw_leaving_start(struct cw_dispatcher *d);
/* A cache is attached there: what workers that were lost wrote there before is part of it. */
void cw_leaving_forget(struct cw_dispatcher *d, const char *url);
/* More was stored in state.db: files of caches whose end is stored may be deleted. */
void cw_leaving_stored(struct cw_dispatcher *d);
void cw_leaving_close(struct cw_dispatcher *d);
void cw_leaving_free(struct cw_dispatcher *d);
/* Iterates over the caches whose files are being deleted: begins with NULL. */
struct cw_leaving_cache *cw_leaving_next(const struct cw_dispatcher *d,
                                         const struct cw_leaving_cache *leaving);
struct cw_leaving_facts {
    uint64_t id;
    const char *name, *url, *tenant, *why; /* why: "": the store answers */
    int64_t created_ms, used_ms;
    uint64_t files_left;
};
struct cw_leaving_facts cw_leaving_facts(const struct cw_leaving_cache *leaving);

/* ---- cache_plans.c ---- */
/* The job uses another cache from now on, or none: tells its workers. */
void cw_job_set_cache(struct cw_job *job, struct cw_cache_service *cache);
/* Fills in the job's cache for a message, which borrows; NULL: it is the default one. */
Cachew__V1__CacheStore *cw_job_cache_store(const struct cw_job *job, Cachew__V1__CacheStore *store);
/* From now on the job's elements are cached at this node, and at each operator `cache`. NULL: at no
 * other node. */
void cw_job_set_cached_node(struct cw_job *job, const char *node);
/* The job's plan, or what may be written, has changed: computes how the job uses the cache and
 * tells its workers. */
void cw_job_cache_changed(struct cw_job *job);
void cw_job_cache_fini(struct cw_job *job);
/* Returns the job's use of the cache for a message to the worker. Pointers, uses and keys are in one allocation,
 * which cw_mem_free frees. */
Cachew__V1__CacheUse **cw_job_cache_uses(const struct cw_job *job, const struct cw_worker *worker,
                                         size_t *ret_n) CW_MUST_CHECK;
/* Computes the member `readers` of each key of the catalogue. */
void cw_cache_count_readers(struct cw_cache_service *cache);

/* ---- cache_notify.c ---- */
/* Whether the worker can be told of the cache; NULL counts as known. */
bool cw_cache_is_known_to(const struct cw_cache_service *cache, const struct cw_worker *worker);
/* Sends the worker the chunks of the keys that the job reads. It is called before the worker is
 * sent the job or its plan. */
void cw_cache_subscribe(struct cw_share *share);
/* Stops notifying the worker of keys that none of its jobs reads any more. */
void cw_cache_unsubscribe(struct cw_worker *worker);
/* Stops notifying workers of any key of the cache. */
void cw_cache_unsubscribe_all(struct cw_cache_service *cache);
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
