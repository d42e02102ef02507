/* SPDX-License-Identifier: Apache-2.0 */
/* What the worker does when the system gives less memory than the budget says. Loop thread. */
#ifndef CW_WORKER_COMPUTE_MEMORY_SHORT_H
#define CW_WORKER_COMPUTE_MEMORY_SHORT_H

#include "worker/model/state.h"

/* The task failed for lack of memory. Returns true if other items have the memory: some of it is
 * given back, and the item is pending again (or handed back, while draining). Returns false if
 * there is nothing to give back: the item has failed. */
bool cw_memory_retry(struct cw_wjob *job, struct cw_wtask *task);
/* An output of so many bytes was made: the budget in use grows again. */
void cw_memory_made(struct cw_worker_state *w, size_t bytes);
/* At each heartbeat. Returns true if items that were held back may begin now. */
bool cw_memory_beat(struct cw_worker_state *w);

#endif
