/* SPDX-License-Identifier: Apache-2.0 */
/* The stores that the worker uses at present, one for each cache: references to them, their memory,
 * and whether something must still be written. Loop thread, unless a comment says otherwise. */
#ifndef CW_WORKER_CACHE_CACHE_STORE_H
#define CW_WORKER_CACHE_CACHE_STORE_H

#include "worker/model/state.h"

/* Returns the present store of the cache, which may not be open; NULL: it has none here. */
struct cw_wcache_store *cw_wcache_store_of(const struct cw_worker_state *w, uint64_t cache_id);
/* Iterates over the present stores of all caches: begins with NULL. */
struct cw_wcache_store *cw_wcache_next(const struct cw_worker_state *w,
                                       const struct cw_wcache_store *store);
/* Returns the open cache of a store (NULL is accepted), or NULL while there is none. */
struct cw_cache *cw_wcache_open_one(const struct cw_wcache_store *store);
/* Takes a reference to the job's store for a task or a prefetch; returns NULL while none is open. */
struct cw_wcache_store *cw_wcache_use(const struct cw_wjob *job);
/* Gives up the reference. Any thread; accepts NULL. */
void cw_wcache_release(struct cw_wcache_store *store);
/* Returns the bytes of memory that the caches use. */
size_t cw_wcache_used(const struct cw_worker_state *w);
/* Writes all records that wait for a full chunk. */
void cw_wcache_flush(struct cw_worker_state *w);
/* Whether records wait to be written, even if their store is unavailable. */
bool cw_wcache_is_writing(const struct cw_worker_state *w);
/* Whether records wait to be written to this store, and it answers. */
bool cw_wcache_can_write(const struct cw_wcache_store *store);
/* Whether a worker that leaves should wait: records are being written, a store is being closed, or the
 * dispatcher does not know yet of some records that were written. */
bool cw_wcache_is_busy(const struct cw_worker_state *w);
/* Whether every event was sent to the dispatcher. */
bool cw_wcache_is_reported(const struct cw_worker_state *w);
/* Logs which records are lost if the worker leaves now. */
void cw_wcache_log_lost(const struct cw_worker_state *w);
/* The store is unavailable; NULL: it answers. */
void cw_wcache_set_away(struct cw_wcache_store *store, const char *why);

#endif
