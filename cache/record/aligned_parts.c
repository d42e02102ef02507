/* SPDX-License-Identifier: Apache-2.0 */
/* Writing without a copy. A write buffer places the first large record of each segment as far into
 * a page as it will be in the file. So the records that follow it in the segment can be written
 * from there in whole pages, also past the page cache. The page where two segments meet belongs to
 * both: its first bytes (the end of the segment before, or the chunk's head) are copied to where
 * the later segment leaves room for them. If a record was dropped meanwhile, or frames are packed,
 * offsets in memory and file do not agree any more; then nothing is moved, and the store copies
 * what it writes. */
#include <string.h>

#include "cache/record/aligned_parts.h"
#include "cache/record/record_state.h"

#define GAP_MAX 64u /* The most bytes of padding that a chunk has after a frame. */

static const struct cw_segment *segment_of(const struct cw_write_buffer *buffer, const void *p)
{
    const struct cw_segment *segment = buffer->segments;

    while (segment && ((uintptr_t)p < (uintptr_t)segment->data ||
                       (uintptr_t)p >= (uintptr_t)segment->data + segment->bytes))
        segment = segment->next;
    return segment;
}

static char *end_of(const struct iovec *part)
{
    return (char *)part->iov_base + part->iov_len;
}

/* Whether the bytes of the part (for example padding) also follow `before` in its segment, so that
 * both can be written as one. */
static bool is_behind(const struct cw_write_buffer *buffer, const struct iovec *before,
                      const struct iovec *part)
{
    const struct cw_segment *segment = segment_of(buffer, before->iov_base);

    if (!segment)
        return false;
    size_t left = (size_t)((char *)segment->data + segment->bytes - end_of(before));
    if (part->iov_len > left)
        return false;
    return part->iov_base == end_of(before) ||
           (part->iov_len < GAP_MAX && memcmp(end_of(before), part->iov_base, part->iov_len) == 0);
}

static size_t merge(const struct cw_write_buffer *buffer, struct iovec *parts, size_t n)
{
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        if (used && is_behind(buffer, &parts[used - 1], &parts[i]))
            parts[used - 1].iov_len += parts[i].iov_len;
        else
            parts[used++] = parts[i];
    }
    return used;
}

/* Makes the page in which `part` begins, in_page bytes into it, a page of the part alone. */
static void take_page(const struct cw_write_buffer *buffer, struct iovec *before,
                      struct iovec *part, size_t in_page)
{
    const struct cw_segment *segment = segment_of(buffer, part->iov_base);

    if (!segment || (unsigned char *)part->iov_base != segment->data + segment->begin ||
        segment->begin != in_page || before->iov_len < in_page)
        return;
    memcpy(segment->data, end_of(before) - in_page, in_page);
    part->iov_base = segment->data;
    part->iov_len += in_page;
    before->iov_len -= in_page;
}

size_t cw_aligned_parts(const struct cw_write_buffer *buffer, struct iovec *parts, bool *is_held,
                        size_t n)
{
    uint64_t at = 0;

    n = merge(buffer, parts, n);
    for (size_t i = 0; i < n; i++) {
        size_t in_page = (size_t)(at % CW_MEM_PAGE);

        at += parts[i].iov_len;
        if (i && in_page)
            take_page(buffer, &parts[i - 1], &parts[i], in_page);
        is_held[i] = segment_of(buffer, parts[i].iov_base) != NULL;
    }
    return n;
}
