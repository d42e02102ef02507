/* SPDX-License-Identifier: Apache-2.0 */
/* Prefetches the records of items that will be computed soon, and begins to read the bytes of sources
 * that they need, on a thread of its own. */
#ifndef CW_WORKER_CACHE_CACHE_PREFETCH_H
#define CW_WORKER_CACHE_CACHE_PREFETCH_H

#include "worker/model/state.h"

/* Queues an item of the job. If the queue is full the item is dropped; its records are then read when it is
 * computed. Loop thread. */
void cw_wcache_prefetch_add(struct cw_wjob *job, uint64_t epoch, uint64_t item);
/* Queues an item of the job whose bytes are read ahead: the thread adds them to `ahead` and begins it. `tell` is
 * called with the worker when that has begun, and when all bytes are there, by any thread. Returns
 * false if the queue is full. Loop thread. */
bool cw_wcache_prefetch_bytes(struct cw_wjob *job, uint64_t epoch, uint64_t item,
                              struct cw_ahead *ahead, void (*tell)(void *worker));
/* Ends the thread, and drops what is queued. Loop thread. */
void cw_wcache_prefetch_stop(struct cw_worker_state *w);

#endif
