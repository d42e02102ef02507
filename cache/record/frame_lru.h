/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which frames stay in memory (frame_lru.c explains the rule). All functions but
 * cw_frame_lru_used are called with the budget's lock held. */
#ifndef CW_CACHE_RECORD_FRAME_LRU_H
#define CW_CACHE_RECORD_FRAME_LRU_H

#include "cache/record/memory_budget.h"

/* Moves the span from the list that it is in to the end of another. */
void cw_frame_lru_put(struct cw_memory_budget *budget, struct cw_span *span,
                      enum cw_frame_list list_no);
/* Takes a span that no thread uses out of its list and its chunk's table; the caller owns it then.
 * Returns NULL if there is none. all: a span for which announced gets have not come yet may be
 * taken as well. */
struct cw_span *cw_frame_lru_evict(struct cw_memory_budget *budget, bool all);
/* Does the same, but only for spans in the list CW_FRAMES_DUPLICATE. */
struct cw_span *cw_frame_lru_evict_duplicate(struct cw_memory_budget *budget);
/* Stops keeping spans for their announced gets if these did not come within five seconds. */
void cw_frame_lru_expire(struct cw_memory_budget *budget);
/* Records that a get has come for the frame. Takes the budget's lock. Returns true if reads that
 * wait for memory may begin now (the caller calls cw_frame_fetch_pump). */
bool cw_frame_lru_used(struct cw_span *span, uint32_t frame);

#endif
