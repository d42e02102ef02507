/* SPDX-License-Identifier: Apache-2.0 */
/* Reads frames that cannot be mapped into memory, before they are needed if they were announced.
 * frame_fetch.c explains how. */
#ifndef CW_CACHE_RECORD_FRAME_FETCH_H
#define CW_CACHE_RECORD_FRAME_FETCH_H

#include "cache/record/cached_chunk.h"

/* Announces that a get of each of these frames will come: they are queued. The numbers ascend, and
 * a number may occur several times. The caller holds a reference to the chunk's handle. */
void cw_frame_fetch_enqueue(struct cw_cache_chunk *chunk, const uint32_t *frames, size_t n);
/* Returns a reference to a span with the frame, whose read is under way or done. */
struct cw_span *cw_frame_fetch_now(struct cw_cache_chunk *chunk, uint32_t frame);
/* Begins reads that are queued, as far as the limits allow. No lock may be held. */
void cw_frame_fetch_pump(struct cw_cache *cache);

#endif
