/* SPDX-License-Identifier: Apache-2.0 */
/* Caches at the batch that an item is, or behind it: their elements are whole batches. */
#ifndef CW_EXEC_BATCH_CACHE_H
#define CW_EXEC_BATCH_CACHE_H

#include "exec/task.h"

/* Finds the caches on the way from the output to the item's batch, and asks them, topmost first. 1
 * = task->batch is what one of them has; only what stands above it (cut.above_n) is left to do. 0 =
 * nothing. Errors: no memory for it. */
int cw_batch_cache_find(struct cw_exec_task *task, struct cw_err *err);
/* The element of the caches that have above_n operators above them is complete: keeps it there. */
void cw_batch_cache_put(const struct cw_exec_task *task, size_t above_n,
                        const struct cw_element *element);
bool cw_batch_cache_wants(const struct cw_exec_task *task, size_t above_n);

#endif
