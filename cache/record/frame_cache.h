/* SPDX-License-Identifier: Apache-2.0 */
/* Frames in memory, for gets: mapped, as they were read, or unpacked. */
#ifndef CW_CACHE_RECORD_FRAME_CACHE_H
#define CW_CACHE_RECORD_FRAME_CACHE_H

#include "cache/record/cached_chunk.h"

/* The plain bytes of a frame that is not simply mapped; pins what they lie in. NULL: they cannot be
 * had now, or are damaged. Waits for a read under way, and adds the time to *wait_ns. */
const unsigned char *cw_frame_cache_get(struct cw_cache_chunk *chunk, uint32_t frame,
                                        struct cw_cache_pins *pins, int64_t *wait_ns);
bool cw_frame_cache_has(struct cw_cache_chunk *chunk, uint32_t frame);
/* Of a mapped chunk: the page cache has it. */
bool cw_frame_cache_is_resident(const struct cw_cache_chunk *chunk, uint32_t frame);
void cw_frame_cache_drop_all(struct cw_cache_chunk *chunk); /* no frame is pinned */

#endif
