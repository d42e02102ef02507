/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the values of a column: numbers, bits, strings, and those of dictionaries. */
#include <endian.h>
#include <string.h>

#include "base/mem.h"
#include "format/arrow/items.h"

/* ---- as they stand in the batch ---- */

static int read_fixed(struct cw_arrow_items *items, const struct cw_arrow_node *node, size_t width,
                      struct cw_arrow_bytes *ret_bytes, struct cw_err *err)
{
    struct cw_arrow_buffers *b = items->buffers;
    uint64_t at, bytes;
    if (__builtin_mul_overflow(items->first, width, &at) ||
        __builtin_mul_overflow((uint64_t)items->n, width, &bytes))
        return cw_arrow_buffers_fail(b, "it has more values than the limit", err);
    return cw_arrow_buffer_get(b, cw_arrow_buffer_of(b->places, node, 1), at, bytes, ret_bytes,
                               err);
}

static int read_bits(struct cw_arrow_items *items, const struct cw_arrow_node *node,
                     struct cw_arrow_slab *slab, struct cw_err *err)
{
    struct cw_arrow_buffers *b = items->buffers;
    const uint64_t first = items->first / 8, skip = items->first % 8;
    struct cw_arrow_bytes bits;
    int rc = cw_arrow_buffer_get(b, cw_arrow_buffer_of(b->places, node, 1), first,
                                 (skip + items->n + 7) / 8, &bits, err);
    if (rc < 0)
        return rc;
    slab->fixed = cw_mem_try(CW_MAX(items->n, 1));
    for (size_t i = 0; slab->fixed && i < items->n; i++)
        slab->fixed[i] = bits.p[(skip + i) / 8] >> ((skip + i) % 8) & 1;
    cw_mem_free(bits.p);
    return slab->fixed ? 0 : cw_arrow_buffers_fail(b, "no memory for its values", err);
}

static uint64_t offset_at(const uint8_t *p, size_t width, size_t i)
{
    uint32_t half;
    uint64_t v;
    if (width == 8) {
        memcpy(&v, p + 8 * i, 8);
        return le64toh(v);
    }
    memcpy(&half, p + 4 * i, 4);
    return le32toh(half);
}

static const char *set_strings(const uint8_t *offsets, size_t width, size_t n,
                               struct cw_byte_strings *strings)
{
    const uint64_t first = offset_at(offsets, width, 0);
    uint64_t at = first;
    strings->v = cw_mem_try(CW_MAX(n, 1) * sizeof(*strings->v));
    if (!strings->v)
        return "no memory for its strings";
    for (size_t i = 0; i < n; i++) {
        const uint64_t next = offset_at(offsets, width, i + 1);
        if (next < at || next > INT64_MAX)
            return "offsets of its strings are damaged";
        strings->v[i] = (struct cw_byte_ref){.at = at - first, .n = next - at};
        at = next;
    }
    strings->n = n;
    return NULL;
}

static int read_strings(struct cw_arrow_items *items, const struct cw_arrow_node *node,
                        struct cw_arrow_slab *slab, struct cw_err *err)
{
    struct cw_arrow_buffers *b = items->buffers;
    const size_t n = items->n, width = node->width;
    struct cw_arrow_bytes offsets, bytes;
    uint64_t at;
    if (n == 0) { /* there may be no offsets at all */
        slab->strings.v = cw_mem_new(sizeof(*slab->strings.v));
        return 0;
    }
    if (n > b->bytes_max / sizeof(*slab->strings.v) ||
        __builtin_mul_overflow(items->first, width, &at))
        return cw_arrow_buffers_fail(b, "it has more strings than the limit", err);
    int rc = cw_arrow_buffer_get(b, cw_arrow_buffer_of(b->places, node, 1), at, (n + 1) * width,
                                 &offsets, err);
    if (rc < 0)
        return rc;
    const char *fault = set_strings(offsets.p, width, n, &slab->strings);
    const uint64_t first = offset_at(offsets.p, width, 0), end = offset_at(offsets.p, width, n);
    cw_mem_free(offsets.p);
    if (fault)
        return cw_arrow_buffers_fail(b, fault, err);
    rc = cw_arrow_buffer_get(b, cw_arrow_buffer_of(b->places, node, 2), first, end - first, &bytes,
                             err);
    if (rc < 0)
        return rc;
    slab->strings.bytes = bytes.p;
    slab->strings.used = slab->strings.cap = bytes.n;
    return 0;
}

int cw_arrow_values_read(struct cw_arrow_items *items, const struct cw_arrow_node *node,
                         struct cw_arrow_slab *slab, struct cw_err *err)
{
    struct cw_arrow_bytes bytes;
    slab->values_n = items->n;
    if (node->layout == CW_ARROW_BITS)
        return read_bits(items, node, slab, err);
    if (node->layout == CW_ARROW_STRINGS)
        return read_strings(items, node, slab, err);
    int rc = read_fixed(items, node, node->width, &bytes, err);
    if (rc == 0)
        slab->fixed = bytes.p;
    return rc;
}

/* ---- of a dictionary ---- */

/* The number at p; a negative one is larger than any that a dictionary can have. */
static uint64_t number_at(const uint8_t *p, enum cw_dtype dtype)
{
    uint16_t v16;
    uint32_t v32;
    uint64_t v64;
    switch (cw_dtype_bytes(dtype)) {
    case 1:
        return dtype == CW_DTYPE_I8 ? (uint64_t)(int8_t)*p : *p;
    case 2:
        memcpy(&v16, p, sizeof(v16));
        return dtype == CW_DTYPE_I16 ? (uint64_t)(int16_t)le16toh(v16) : le16toh(v16);
    case 4:
        memcpy(&v32, p, sizeof(v32));
        return dtype == CW_DTYPE_I32 ? (uint64_t)(int32_t)le32toh(v32) : le32toh(v32);
    default:
        memcpy(&v64, p, sizeof(v64));
        return le64toh(v64);
    }
}

/* Reads the numbers of values. An item that is null, or whose value in the dictionary is, becomes 0. */
static const char *set_numbers(struct cw_arrow_items *items, const struct cw_arrow_node *node,
                               const uint8_t *p, const struct cw_arrow_slab *dictionary,
                               uint64_t *numbers)
{
    const size_t width = cw_dtype_bytes(node->index);
    for (size_t i = 0; i < items->n; i++) {
        const bool is_null = items->null && items->null[i];
        numbers[i] = is_null ? 0 : number_at(p + i * width, node->index);
        if (!is_null && numbers[i] >= dictionary->rows)
            return "it has a value that its dictionary lacks";
        if (is_null || !dictionary->null || !dictionary->null[numbers[i]])
            continue;
        if (!items->null) {
            items->null = cw_mem_try(items->n);
            if (!items->null)
                return "no memory for its nulls";
            memset(items->null, 0, items->n);
        }
        items->null[i] = 1;
        numbers[i] = 0;
    }
    return NULL;
}

static const char *gather_fixed(const struct cw_arrow_slab *dictionary, const uint64_t *numbers,
                                size_t n, struct cw_arrow_slab *slab)
{
    const size_t width = slab->width;
    if (n > slab->strings.max / width)
        return "it has more bytes than the limit";
    slab->fixed = cw_mem_try(CW_MAX(n * width, 1));
    if (!slab->fixed)
        return "no memory for its values";
    memset(slab->fixed, 0, n * width);
    for (size_t i = 0; i < n && dictionary->rows > 0; i++)
        memcpy(slab->fixed + i * width, dictionary->fixed + numbers[i] * width, width);
    return NULL;
}

/* Strings are copied one by one, or the dictionary as a whole where that is shorter. */
static const char *gather_strings(const struct cw_arrow_slab *dictionary, const uint64_t *numbers,
                                  size_t n, struct cw_byte_strings *strings)
{
    uint64_t bytes = 0;
    strings->v = cw_mem_try(CW_MAX(n, 1) * sizeof(*strings->v));
    if (!strings->v)
        return "no memory for its strings";
    memset(strings->v, 0, n * sizeof(*strings->v));
    for (size_t i = 0; i < n && dictionary->rows > 0; i++)
        bytes += dictionary->strings.v[numbers[i]].n;
    const bool whole = dictionary->strings.used <= bytes;
    const char *fault = cw_byte_strings_room(strings, whole ? dictionary->strings.used : bytes);
    if (fault)
        return fault;
    if (whole && dictionary->strings.used > 0)
        memcpy(strings->bytes, dictionary->strings.bytes, dictionary->strings.used);
    strings->used = whole ? dictionary->strings.used : 0;
    for (size_t i = 0; i < n && dictionary->rows > 0; i++) {
        const struct cw_byte_ref from = dictionary->strings.v[numbers[i]];
        strings->v[i] = (struct cw_byte_ref){.at = whole ? from.at : strings->used, .n = from.n};
        if (whole || from.n == 0)
            continue;
        memcpy(strings->bytes + strings->used, dictionary->strings.bytes + from.at, from.n);
        strings->used += from.n;
    }
    strings->n = n;
    return NULL;
}

int cw_arrow_values_look_up(struct cw_arrow_items *items, const struct cw_arrow_node *node,
                            const struct cw_arrow_slab *dictionary, struct cw_arrow_slab *slab,
                            struct cw_err *err)
{
    struct cw_arrow_buffers *b = items->buffers;
    const size_t n = items->n;
    struct cw_arrow_bytes bytes;
    if (!dictionary || n > b->bytes_max / sizeof(struct cw_byte_ref))
        return cw_arrow_buffers_fail(
            b, dictionary ? "it has more values than the limit" : "a dictionary is missing", err);
    int rc = read_fixed(items, node, cw_dtype_bytes(node->index), &bytes, err);
    if (rc < 0)
        return rc;
    cw_autofree uint64_t *numbers = cw_mem_try(CW_MAX(n, 1) * sizeof(*numbers));
    const char *fault = numbers ? set_numbers(items, node, bytes.p, dictionary, numbers)
                                : "no memory for its values";
    cw_mem_free(bytes.p);
    if (!fault)
        fault = slab->width > 0 ? gather_fixed(dictionary, numbers, n, slab)
                                : gather_strings(dictionary, numbers, n, &slab->strings);
    slab->values_n = n;
    return fault ? cw_arrow_buffers_fail(b, fault, err) : 0;
}

/* ---- nulls ---- */

const char *cw_arrow_fill(const struct cw_arrow_items *items, const struct cw_arrow_want *want,
                          struct cw_arrow_slab *slab)
{
    struct cw_byte_strings *strings = &slab->strings;
    const struct cw_byte_ref text = {.at = strings->used, .n = want->fill_bytes};
    if (slab->width > 0) {
        for (size_t i = 0; i < items->n; i++)
            if (items->null[i])
                memcpy(slab->fixed + i * slab->width, want->fill, slab->width);
        return NULL;
    }
    const char *fault = cw_byte_strings_room(strings, want->fill_bytes);
    if (fault)
        return fault;
    if (want->fill_bytes > 0)
        memcpy(strings->bytes + strings->used, want->fill, want->fill_bytes);
    strings->used += want->fill_bytes;
    for (size_t i = 0; i < items->n; i++)
        if (items->null[i])
            strings->v[i] = text;
    return NULL;
}
