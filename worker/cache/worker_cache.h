/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, replaces and closes the stores of the worker's caches. Loop thread. */
#ifndef CW_WORKER_CACHE_WORKER_CACHE_H
#define CW_WORKER_CACHE_WORKER_CACHE_H

#include "cachew/v1/fleet.pb-c.h"
#include "worker/model/state.h"

/* Prepares the cache. memory: bytes of the budget that the cache gets while it has a store.
 * may_begin is called with the worker when items that waited for the cache may begin. */
void cw_wcache_start(struct cw_worker_state *w, size_t memory, cw_loop_fn *may_begin);
/* Sets the store of the default cache that the dispatcher names; NULL: there is none. */
void cw_wcache_set_store(struct cw_worker_state *w, const Cachew__V1__CacheStore *store);
/* Takes what a message says of a job's cache: the store (NULL: that of the default cache), which is
 * opened if it is not open, and at which nodes elements are to be cached. */
void cw_wcache_job_given(struct cw_wjob *job, const Cachew__V1__CacheStore *store,
                         Cachew__V1__CacheUse *const *uses, size_t n);
/* Returns in which cache's store blocks of source files are kept while a job is prepared that has
 * this cache; the store is opened. */
uint64_t cw_wcache_prepared_in(struct cw_worker_state *w, const Cachew__V1__CacheStore *store);
/* Closes the store of a named cache that was detached. It is reported when that is done. */
void cw_wcache_leave(struct cw_worker_state *w, const Cachew__V1__LeaveCache *leave);
/* What waits for stores that were left is not written any more, since the worker ends. */
void cw_wcache_hurry(struct cw_worker_state *w);
/* Called at each heartbeat. */
void cw_wcache_beat(struct cw_worker_state *w);
/* Waits for the threads that open and close stores. Called before exec ends. */
void cw_wcache_stop(struct cw_worker_state *w);
/* Closes all stores. Called after exec has ended. */
void cw_wcache_free(struct cw_worker_state *w);

#endif
