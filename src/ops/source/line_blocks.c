/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/source/line_blocks.h"

#include "base/mem.h"

/* Returns the first record from `from` on that begins at a byte, or behind it. */
static uint64_t first_from(const struct cw_line_index *index, uint64_t from, uint64_t byte)
{
    uint64_t lo = from, hi = cw_line_index_n(index);
    while (lo < hi) {
        const uint64_t mid = lo + (hi - lo) / 2;
        if (cw_line_index_at(index, mid) >= byte)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

void cw_line_blocks(const struct cw_line_index *index, const struct cw_access_points *points,
                    int64_t first, struct cw_blocks *blocks)
{
    const uint64_t n = cw_line_index_n(index), size = cw_line_index_at(index, n),
                   stretches = points ? points->n : size / CW_PLAIN_BLOCK_BYTES + 1;
    uint64_t record = 0;
    for (uint64_t k = 0; k < stretches && record < n; k++) {
        record = first_from(index, record, points ? points->v[k].at : k * CW_PLAIN_BLOCK_BYTES);
        if (record < n)
            cw_blocks_add(blocks, first + (int64_t)record);
    }
}

void cw_sample_blocks(const struct cw_wds_index *index, const struct cw_access_points *points,
                      size_t fields_n, int64_t first, struct cw_blocks *blocks)
{
    cw_autofree struct cw_wds_part *parts = CW_NEW_ARRAY(struct cw_wds_part, fields_n);
    uint64_t end = 0, offset, bytes;
    for (uint64_t k = 0; points && k < index->n; k++) {
        cw_wds_find(index, k, parts, fields_n);
        (void)cw_wds_span(parts, fields_n, &offset, &bytes);
        if (offset < end)
            continue;
        cw_blocks_add(blocks, first + (int64_t)k);
        end = cw_access_points_end(points, cw_access_points_find(points, offset));
    }
}

void cw_fixed_blocks(const struct cw_access_points *points, uint64_t offset, uint64_t step,
                     uint64_t n, int64_t first, struct cw_blocks *blocks)
{
    const uint64_t size = offset + n * step,
                   stretches = points ? points->n : size / CW_PLAIN_BLOCK_BYTES + 1;
    for (uint64_t k = 0; k < stretches; k++) {
        const uint64_t at = points ? points->v[k].at : k * CW_PLAIN_BLOCK_BYTES,
                       from = CW_MAX(at, offset) - offset, record = from / step + (from % step > 0);
        if (record < n)
            cw_blocks_add(blocks, first + (int64_t)record);
    }
}
