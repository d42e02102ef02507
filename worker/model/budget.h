/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory the worker may use for items, and how much of it one job may use. Loop thread. */
#ifndef CW_WORKER_MODEL_BUDGET_H
#define CW_WORKER_MODEL_BUDGET_H

#include <stddef.h>

struct cw_worker_state;
struct cw_wjob;

#define CW_AHEAD_SHARE 4 /* this part of the budget is for bytes that are read ahead */

/* Returns the bytes for items in progress and queued outputs: the budget without what is reserved
 * for the cache, and what sources take: indices, inflated files, decoded tables; lowered while the
 * system is short of memory. */
/* Indices of source files take at most an eighth of the budget; what was not used for longest is
 * dropped, and loaded again when it is needed. */
#define CW_BUDGET_INDICES_PART 8
/* What sources have decoded of tables takes at most half of it, or what is not in use is dropped. */
#define CW_BUDGET_HELD_PART 2
/* The index of one file that was kept takes at most a quarter, or it is made anew. */
#define CW_BUDGET_INDEX_PART 4
/* What one source has inflated of compressed files takes at most a quarter. */
#define CW_BUDGET_INFLATED_PART 4
/* Scratch memory that threads keep between elements takes at most an eighth of the
 * budget, beside it. */
#define CW_BUDGET_SCRATCH_PART 8
size_t cw_budget(const struct cw_worker_state *w);
/* Returns the job's share of these bytes, by weight among the jobs that have leases or memory. */
size_t cw_budget_of(const struct cw_wjob *job);
/* Returns the bytes that have left the queues but still occupy memory: they were accepted by
 * streams and not sent yet, or are in shared-memory slots lent to clients. */
size_t cw_budget_stream_bytes(const struct cw_worker_state *w);
/* Notes that memory was freed, so items that were held back by a shortage may begin. */
void cw_memory_freed(struct cw_worker_state *w);

#endif
