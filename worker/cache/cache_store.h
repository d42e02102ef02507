/* SPDX-License-Identifier: Apache-2.0 */
/* The store that the worker uses at present: references to it, its memory, and whether something
 * must still be written. Loop thread, unless a comment says otherwise. */
#ifndef CW_WORKER_CACHE_CACHE_STORE_H
#define CW_WORKER_CACHE_CACHE_STORE_H

#include "worker/model/state.h"

/* Returns the open cache of the present store, or NULL while there is none. */
struct cw_cache *cw_wcache_open_one(const struct cw_worker_state *w);
/* Takes a reference to the present store for a task or a prefetch; returns NULL while none is
 * open. */
struct cw_wcache_store *cw_wcache_use(struct cw_worker_state *w);
/* Gives up the reference. Any thread; accepts NULL. */
void cw_wcache_release(struct cw_wcache_store *store);
/* Returns the bytes of memory that the cache uses. */
size_t cw_wcache_used(const struct cw_worker_state *w);
/* Writes all records that wait for a full chunk. */
void cw_wcache_flush(struct cw_worker_state *w);
/* Whether records wait to be written, even if the store is unavailable. */
bool cw_wcache_is_writing(const struct cw_worker_state *w);
/* Whether a worker that leaves should wait: records are being written, or the dispatcher does not
 * know yet of some that were. */
bool cw_wcache_is_busy(const struct cw_worker_state *w);
/* Whether every event was sent to the dispatcher. */
bool cw_wcache_is_reported(const struct cw_worker_state *w);
/* Logs which records are lost if the worker leaves now. */
void cw_wcache_log_lost(const struct cw_worker_state *w);

#endif
