/* SPDX-License-Identifier: Apache-2.0 */
/* Caches of whole batches: at the node whose element is the item's batch, or at an operator behind
 * it. */
#ifndef CW_EXEC_BATCH_CACHE_H
#define CW_EXEC_BATCH_CACHE_H

#include "exec/task.h"

/* Finds the caches on the way from the output to the item's batch, and looks the batch up in
 * them, topmost first. Returns 1 if one has it: task->batch is set, and only the operators above
 * that cache (cut.above_n) are left to apply. Returns 0 if none has it. Errors: no memory for
 * the batch. */
int cw_batch_cache_find(struct cw_exec_task *task, struct cw_err *err);
/* Puts a complete element into those caches that have above_n operators above them. */
void cw_batch_cache_put(const struct cw_exec_task *task, size_t above_n,
                        const struct cw_element *element);
/* Whether some cache with above_n operators above it is to be filled. */
bool cw_batch_cache_wants(const struct cw_exec_task *task, size_t above_n);

#endif
