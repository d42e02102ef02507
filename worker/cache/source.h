/* SPDX-License-Identifier: Apache-2.0 */
/* The source cache of this worker (cache/source/block_cache.h), and where it keeps indices of source
 * files (cache/index/index_home.h). Loop thread. */
#ifndef CW_WORKER_CACHE_SOURCE_H
#define CW_WORKER_CACHE_SOURCE_H

#include "cachew/v1/fleet.pb-c.h"
#include "worker/model/state.h"

/* Starts the source cache if an option asks for it. memory, dir_bytes: bytes, 0 means none or a
 * default; dir NULL: no tier on a local disk. */
int cw_wsource_start(struct cw_worker_state *w, uint64_t memory, const char *dir,
                     uint64_t dir_bytes, struct cw_err *err);
/* Sets the store of a cache that the dispatcher names, which may have space for source blocks; NULL:
 * the default cache has none. */
void cw_wsource_set_store(struct cw_worker_state *w, const Cachew__V1__CacheStore *store);
/* Closes the store of a named cache. It waits for the store. Any thread. */
void cw_wsource_drop_store(struct cw_worker_state *w, uint64_t cache_id);
/* Frees the cache. No plan may be open. */
void cw_wsource_stop(struct cw_worker_state *w);
/* Adds the counters of each tier, and of what is read ahead, to a Progress message. */
void cw_wsource_report(struct cw_worker_state *w, Cachew__V1__Progress *progress);
/* Frees what cw_wsource_report has added. */
void cw_wsource_report_free(Cachew__V1__Progress *progress);

#endif
