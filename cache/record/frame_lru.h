/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames stay in memory (why: frame_lru.c). Lock of the budget, but for cw_frame_lru_used. */
#ifndef CW_CACHE_RECORD_FRAME_LRU_H
#define CW_CACHE_RECORD_FRAME_LRU_H

#include "cache/record/memory_budget.h"

/* Moves the span from the list that it is in to the end of another. */
void cw_frame_lru_put(struct cw_memory_budget *budget, struct cw_span *span,
                      enum cw_frame_list list_no);
/* Takes a span that nobody uses out of its list and its chunk's table; it is the caller's. NULL:
 * there is none. all: also one that gets will still come for. */
struct cw_span *cw_frame_lru_evict(struct cw_memory_budget *budget, bool all);
/* The same for CW_FRAMES_SPENT only. */
struct cw_span *cw_frame_lru_evict_spent(struct cw_memory_budget *budget);
/* Spans whose gets did not come for five seconds are not kept for them any longer. */
void cw_frame_lru_expire(struct cw_memory_budget *budget);
/* A get has come for the frame. Takes the lock. true: reads that wait for memory may begin now
 * (cw_frame_fetch_pump). */
bool cw_frame_lru_used(struct cw_span *span, uint32_t frame);

#endif
