/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the positions of rows that are read together. */
#include "ops/source/table_rows_int.h"

/* Sorts by 8 bits. Returns false if all are equal there. */
static bool sort_by(const uint64_t *from, uint64_t *to, size_t n, unsigned shift)
{
    uint16_t at[256] = {0};
    for (size_t i = 0; i < n; i++)
        at[from[i] >> shift & 255]++;
    if (at[from[0] >> shift & 255] == n)
        return false;
    for (size_t k = 0, sum = 0; k < 256; k++) {
        const size_t of_k = at[k];
        at[k] = (uint16_t)sum;
        sum += of_k;
    }
    for (size_t i = 0; i < n; i++)
        to[at[from[i] >> shift & 255]++] = from[i];
    return true;
}

/* Fills in the positions, and returns the bits that any of them has. */
static uint64_t fill(struct cw_table_order *order, const int64_t *positions, size_t n)
{
    uint64_t *to = order->memory[0], any = 0;
    order->n = n;
    order->first = positions[0];
    order->is_as_asked = true;
    for (size_t i = 1; i < n; i++) {
        order->first = CW_MIN(order->first, positions[i]);
        order->is_as_asked = order->is_as_asked && positions[i] >= positions[i - 1];
    }
    for (size_t i = 0; i < n; i++) {
        to[i] = (uint64_t)(positions[i] - order->first) << CW_TABLE_ORDER_BITS | i;
        any |= to[i];
    }
    return any;
}

void cw_table_order_sort(struct cw_table_order *order, const int64_t *positions, size_t n)
{
    uint64_t *from = order->memory[0], *to = order->memory[1], *other;
    const uint64_t any = fill(order, positions, n);
    for (unsigned shift = CW_TABLE_ORDER_BITS; !order->is_as_asked && shift < 64 && any >> shift;
         shift += 8)
        if (sort_by(from, to, n, shift)) {
            other = from;
            from = to;
            to = other;
        }
    order->sorted = from;
}

size_t cw_table_order_end(const struct cw_table_order *order, const struct cw_table_slab *slab,
                          size_t i)
{
    const uint64_t end = (uint64_t)(slab->end - order->first) << CW_TABLE_ORDER_BITS;
    size_t lo = i + 1, hi = order->n;
    while (lo < hi) {
        const size_t middle = lo + (hi - lo) / 2;
        if (order->sorted[middle] < end)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}
