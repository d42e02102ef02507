/* SPDX-License-Identifier: Apache-2.0 */
/* The store that the worker uses at present: refs, memory, and whether something is still to be
 * written. Loop thread, unless said otherwise. */
#ifndef CW_WORKER_CACHE_CACHE_STORE_H
#define CW_WORKER_CACHE_CACHE_STORE_H

#include "worker/model/state.h"

/* The open cache of the present store; NULL while there is none. */
struct cw_cache *cw_wcache_open_one(const struct cw_worker_state *w);
/* Takes a ref on the present store for a task or a prefetch; NULL while none is open. */
struct cw_wcache_store *cw_wcache_use(struct cw_worker_state *w);
/* Gives the ref back. Any thread; accepts NULL. */
void cw_wcache_release(struct cw_wcache_store *store);
/* Bytes that the cache has in memory. */
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
/* Logs what is lost when the worker leaves now. */
void cw_wcache_log_lost(const struct cw_worker_state *w);

#endif
