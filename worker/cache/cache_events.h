/* SPDX-License-Identifier: Apache-2.0 */
/* Events that threads of the cache raise: a chunk was written, is damaged or gone, records were
 * lost, the store became unavailable or available. */
#ifndef CW_WORKER_CACHE_CACHE_EVENTS_H
#define CW_WORKER_CACHE_CACHE_EVENTS_H

#include "worker/model/state.h"

/* The cache's event callback; arg is a cw_wcache_store. Any thread may call it. */
cw_cache_event_fn cw_wcache_on_event;
/* Takes the events that were raised since the last call. Loop thread. */
void cw_wcache_take_events(void *worker);
/* Drops the events of the cache, because its store was replaced or is not to be used any more. Loop
 * thread. */
void cw_wcache_drop_events(struct cw_worker_state *w, uint64_t cache_id);
/* Accepts NULL. */
void cw_wcache_event_free(struct cw_wcache_event *event);

#endif
