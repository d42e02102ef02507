/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of frames that cannot be mapped (why so: frame_fetch.c). */
#ifndef CW_CACHE_RECORD_FRAME_FETCH_H
#define CW_CACHE_RECORD_FRAME_FETCH_H

#include "cache/record/cached_chunk.h"

/* A get of each of these frames will come: they are queued. They ascend, and may be there several
 * times. The caller has a reference of the chunk's handle. */
void cw_frame_fetch_enqueue(struct cw_cache_chunk *chunk, const uint32_t *frames, size_t n);
/* A reference to a span with the frame, whose read is under way or done. */
struct cw_span *cw_frame_fetch_now(struct cw_cache_chunk *chunk, uint32_t frame);
/* Begins reads that are queued, as far as the limits allow. No lock may be held. */
void cw_frame_fetch_pump(struct cw_cache *cache);

#endif
