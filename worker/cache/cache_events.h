/* SPDX-License-Identifier: Apache-2.0 */
/* Events that threads of the store raise: chunks written, damaged or gone, records lost, the store
 * unavailable or back. */
#ifndef CW_WORKER_CACHE_CACHE_EVENTS_H
#define CW_WORKER_CACHE_CACHE_EVENTS_H

#include "worker/model/state.h"

/* The cache's event callback; arg: a cw_wcache_store. Any thread. */
cw_cache_event_fn cw_wcache_on_event;
/* Takes in what has happened. Loop thread. */
void cw_wcache_take_events(void *worker);
/* Drops the events that were not reported yet: the store was replaced. Loop thread. */
void cw_wcache_drop_events(struct cw_worker_state *w);
/* Accepts NULL. */
void cw_wcache_event_free(struct cw_wcache_event *event);

#endif
