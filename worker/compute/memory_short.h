/* SPDX-License-Identifier: Apache-2.0 */
/* The reaction of the worker if the system gives less memory than the budget promises. Loop
 * thread. */
#ifndef CW_WORKER_COMPUTE_MEMORY_SHORT_H
#define CW_WORKER_COMPUTE_MEMORY_SHORT_H

#include "worker/model/state.h"

/* Handles a task that failed for lack of memory. Returns true if other items have the memory: some
 * of it is freed, and the item is pending again (or handed back, if the worker drains). Returns
 * false if nothing can be freed: then the item has failed. */
bool cw_memory_retry(struct cw_wjob *job, struct cw_wtask *task);
/* Notes that an output of so many bytes was made, so the budget in use grows again. */
void cw_memory_made(struct cw_worker_state *w, size_t bytes);
/* Called at each heartbeat. Returns true if items that were held back may begin now. */
bool cw_memory_beat(struct cw_worker_state *w);

#endif
