/* SPDX-License-Identifier: Apache-2.0 */
/* Gives gets the bytes of frames: from the mapping, as they were read from the file, or
 * unpacked. */
#ifndef CW_CACHE_RECORD_FRAME_CACHE_H
#define CW_CACHE_RECORD_FRAME_CACHE_H

#include "cache/record/cached_chunk.h"

/* Returns the plain bytes of a frame that is not simply mapped, and pins the memory in which they
 * lie. Returns NULL if they cannot be had now, or are damaged. Waits for a read under way, and adds
 * the time to *wait_ns. */
const unsigned char *cw_frame_cache_get(struct cw_cache_chunk *chunk, uint32_t frame,
                                        struct cw_cache_pins *pins, int64_t *wait_ns);
bool cw_frame_cache_has(struct cw_cache_chunk *chunk, uint32_t frame);
/* Whether the page cache has a frame of a mapped chunk. */
bool cw_frame_cache_is_resident(const struct cw_cache_chunk *chunk, uint32_t frame);
/* Drops all frames of a chunk, none of which is pinned. */
void cw_frame_cache_drop_all(struct cw_cache_chunk *chunk);

#endif
