/* SPDX-License-Identifier: Apache-2.0 */
/* Goes through validity bitmaps and lists of a column. */
#include "format/arrow/items.h"

#include <endian.h>
#include <string.h>

#include "base/mem.h"

void cw_arrow_items_fini(struct cw_arrow_items *items)
{
    cw_mem_free(items->null);
    cw_mem_free(items->no_lists);
}

static int no_memory(const struct cw_arrow_items *items, struct cw_err *err)
{
    return cw_arrow_buffers_fail(items->buffers, "no memory for its nulls", err);
}

int cw_arrow_items_validity(struct cw_arrow_items *items, const struct cw_arrow_node *node,
                            struct cw_err *err)
{
    struct cw_arrow_buffers *b = items->buffers;
    const size_t number = cw_arrow_buffer_of(b->places, node, 0), n = items->n;
    const uint64_t first = items->first / 8, skip = items->first % 8;
    struct cw_arrow_bytes bits;
    if (cw_arrow_buffer_is_empty(b, number) || n == 0)
        return 0;
    int rc = cw_arrow_buffer_get(b, number, first, (skip + n + 7) / 8, &bits, err);
    if (rc < 0)
        return rc;
    if (!items->null && n <= b->bytes_max) {
        items->null = cw_mem_try(n);
        if (items->null)
            memset(items->null, 0, n);
    }
    for (size_t i = 0; items->null && i < n; i++)
        if (!(bits.p[(skip + i) / 8] >> ((skip + i) % 8) & 1))
            items->null[i] = 1;
    cw_mem_free(bits.p);
    return items->null ? 0 : no_memory(items, err);
}

int cw_arrow_items_enter_fixed(struct cw_arrow_items *items, const struct cw_arrow_node *node,
                               struct cw_err *err)
{
    const size_t size = (size_t)node->size, rows = items->n;
    items->in_fixed_lists = true;
    if (__builtin_mul_overflow(items->n, size, &items->n) ||
        __builtin_mul_overflow(items->first, size, &items->first) ||
        __builtin_mul_overflow(items->per_entry, size, &items->per_entry) ||
        items->n > items->buffers->bytes_max)
        return cw_arrow_buffers_fail(items->buffers, "it has more values than the limit", err);
    if (!items->null)
        return 0;
    uint8_t *wide = cw_mem_try(CW_MAX(items->n, 1));
    if (!wide)
        return no_memory(items, err);
    for (size_t i = 0; i < rows; i++)
        memset(wide + i * size, items->null[i], size);
    cw_mem_free(items->null);
    items->null = wide;
    return 0;
}

/* Reads n + 1 offsets. Returns where entries begin; *ret_entry: n + 1 offsets from there on. */
static const char *read_offsets(const uint8_t *p, size_t n, size_t width, uint64_t *ret_first,
                                uint64_t *entry)
{
    for (size_t i = 0; i <= n; i++) {
        uint64_t v;
        uint32_t half;
        if (width == 8) {
            memcpy(&v, p + 8 * i, 8);
            v = le64toh(v);
        } else {
            memcpy(&half, p + 4 * i, 4);
            v = le32toh(half);
        }
        if (i == 0)
            *ret_first = v;
        if (v > INT64_MAX || v < *ret_first || (i > 0 && v - *ret_first < entry[i - 1]))
            return "offsets of its lists are damaged";
        entry[i] = v - *ret_first;
    }
    return NULL;
}

/* What becomes of rows whose list is null: an empty list if nulls are filled, else they are marked. */
static const char *settle_null_lists(struct cw_arrow_items *items, bool fills,
                                     struct cw_arrow_slab *slab)
{
    const char *fault = NULL;
    if (!items->null)
        return NULL;
    if (!fills)
        fault = cw_arrow_null_rows(slab);
    for (size_t i = 0; !fault && !fills && i < slab->rows; i++)
        if (items->null[i])
            slab->null[i] = 1;
    cw_mem_free(items->no_lists);
    items->no_lists = items->null;
    items->null = NULL;
    return fault;
}

int cw_arrow_items_enter(struct cw_arrow_items *items, const struct cw_arrow_node *node, bool fills,
                         struct cw_arrow_slab *slab, struct cw_err *err)
{
    struct cw_arrow_buffers *b = items->buffers;
    const size_t n = items->n, width = node->width;
    struct cw_arrow_bytes offsets;
    if (slab->entry || n != slab->rows || n > b->bytes_max / sizeof(*slab->entry))
        return cw_arrow_buffers_fail(b, "it has more lists than the limit", err);
    int rc = cw_arrow_buffer_get(b, cw_arrow_buffer_of(b->places, node, 1), items->first * width,
                                 (n + 1) * width, &offsets, err);
    if (rc < 0)
        return rc;
    slab->entry = cw_mem_try((n + 1) * sizeof(*slab->entry));
    const char *fault = slab->entry ? read_offsets(offsets.p, n, width, &items->first, slab->entry)
                                    : "no memory for its lists";
    cw_mem_free(offsets.p);
    if (!fault)
        fault = settle_null_lists(items, fills, slab);
    if (!fault && slab->entry[n] > b->bytes_max)
        fault = "it has more values than the limit";
    if (fault)
        return cw_arrow_buffers_fail(b, fault, err);
    items->n = (size_t)slab->entry[n];
    items->per_entry = 1;
    return 0;
}

void cw_arrow_drop_null_lists(const struct cw_arrow_items *items, struct cw_arrow_slab *slab)
{
    const size_t each = items->per_entry * (slab->width ? slab->width : sizeof(struct cw_byte_ref));
    uint8_t *values = slab->width ? slab->fixed : (uint8_t *)slab->strings.v;
    uint64_t begin = 0, to = 0;
    if (!items->no_lists)
        return;
    for (size_t row = 0; row < slab->rows; row++) {
        const uint64_t end = slab->entry[row + 1], keep = items->no_lists[row] ? 0 : end - begin;
        if (keep > 0 && to < begin)
            memmove(values + to * each, values + begin * each, keep * each);
        slab->entry[row] = to;
        to += keep;
        begin = end;
    }
    slab->entry[slab->rows] = to;
}

const char *cw_arrow_null_rows(struct cw_arrow_slab *slab)
{
    if (slab->null)
        return NULL;
    slab->null = cw_mem_try(CW_MAX(slab->rows, 1));
    if (!slab->null)
        return "no memory for its nulls";
    memset(slab->null, 0, slab->rows);
    return NULL;
}
