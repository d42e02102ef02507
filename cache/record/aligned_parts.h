/* SPDX-License-Identifier: Apache-2.0 */
/* What of a chunk can be written from where it lies (why: aligned_parts.c). */
#ifndef CW_CACHE_RECORD_ALIGNED_PARTS_H
#define CW_CACHE_RECORD_ALIGNED_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

struct cw_write_buffer;

/* Changes the list of n parts of a chunk in place: parts that follow one another in a segment of
 * the buffer become one, which begins at a page both in memory and in the file. Returns how many
 * are left. is_held: of each that is left, whether it lies in a segment. */
size_t cw_aligned_parts(const struct cw_write_buffer *buffer, struct iovec *parts, bool *is_held,
                        size_t n);

#endif
