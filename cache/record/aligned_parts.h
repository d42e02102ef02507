/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the parts of a chunk that can be written straight from the segments of a write buffer, in
 * whole pages. The reason is explained in aligned_parts.c. */
#ifndef CW_CACHE_RECORD_ALIGNED_PARTS_H
#define CW_CACHE_RECORD_ALIGNED_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

struct cw_write_buffer;

/* Changes the list of n parts of a chunk in place: parts that follow one another in a segment of
 * the buffer become one part, which begins at a page both in memory and in the file. Returns the
 * number of parts that are left. is_held receives for each of them whether it lies in a segment. */
size_t cw_aligned_parts(const struct cw_write_buffer *buffer, struct iovec *parts, bool *is_held,
                        size_t n);

#endif
