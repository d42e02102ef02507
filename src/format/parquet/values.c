/* SPDX-License-Identifier: Apache-2.0 */
/* PLAIN, RLE of bools and BYTE_STREAM_SPLIT; delta.c has the others. */
#include "format/parquet/values.h"

#include <string.h>

#include "base/mem.h"
#include "format/parquet/rle.h"

static const char few[] = "there are fewer bytes than its values need";

size_t cw_pq_value_bytes(enum cw_pq_physical physical, uint32_t type_bytes)
{
    static const uint8_t bytes[CW_PQ_PHYSICAL_N] = {1, 4, 8, 12, 4, 8, 0, 0};
    return physical == CW_PQ_FIXED ? type_bytes : bytes[physical];
}

static const char *get_bools(const struct cw_pq_values *v, uint8_t *dst)
{
    if ((v->n + 7) / 8 > (size_t)(v->end - v->p))
        return few;
    for (size_t i = 0; i < v->n; i++)
        dst[i] = (v->p[i / 8] >> (i % 8)) & 1;
    return NULL;
}

static const char *get_rle_bools(const struct cw_pq_values *v, uint8_t *dst)
{
    uint32_t some[256], bytes;
    if (v->end - v->p < 4)
        return few;
    memcpy(&bytes, v->p, sizeof(bytes));
    if (bytes > (size_t)(v->end - v->p) - 4)
        return few;
    struct cw_pq_rle r = cw_pq_rle_begin(v->p + 4, bytes, 1);
    for (size_t at = 0; at < v->n; at += CW_ARRAY_LEN(some)) {
        size_t n = CW_MIN(v->n - at, CW_ARRAY_LEN(some));
        const char *fault = cw_pq_rle_get(&r, some, n);
        if (fault)
            return fault;
        for (size_t i = 0; i < n; i++)
            dst[at + i] = (uint8_t)some[i];
    }
    return NULL;
}

static const char *get_plain_strings(const struct cw_pq_values *v, struct cw_byte_strings *s)
{
    const uint8_t *p = v->p;
    const char *fault = cw_byte_strings_room(s, (uint64_t)(v->end - v->p));
    if (fault)
        return fault;
    for (size_t i = 0; i < v->n; i++) {
        uint32_t n;
        if (v->end - p < 4)
            return few;
        memcpy(&n, p, sizeof(n));
        p += 4;
        if (n > (size_t)(v->end - p))
            return few;
        if (n > 0)
            memcpy(s->bytes + s->used, p, n);
        s->v[s->n++] = (struct cw_byte_ref){s->used, n};
        s->used += n;
        p += n;
    }
    return NULL;
}

static const char *get_plain(const struct cw_pq_values *v, uint8_t *dst, struct cw_byte_strings *s)
{
    size_t bytes = cw_pq_value_bytes(v->physical, v->type_bytes);
    if (v->physical == CW_PQ_BYTE_ARRAY)
        return get_plain_strings(v, s);
    if (v->physical == CW_PQ_BOOLEAN)
        return get_bools(v, dst);
    if (bytes > 0 && v->n > (size_t)(v->end - v->p) / bytes)
        return few;
    if (bytes > 0 && v->n > 0)
        memcpy(dst, v->p, v->n * bytes);
    return NULL;
}

static const char *get_split(const struct cw_pq_values *v, uint8_t *dst)
{
    size_t bytes = cw_pq_value_bytes(v->physical, v->type_bytes);
    if (v->n > (size_t)(v->end - v->p) / CW_MAX(bytes, 1))
        return few;
    for (size_t i = 0; i < v->n; i++) {
        for (size_t k = 0; k < bytes; k++)
            dst[i * bytes + k] = v->p[k * v->n + i];
    }
    return NULL;
}

/* DELTA_BYTE_ARRAY of values that all have the same length. */
static const char *get_delta_fixed(struct cw_pq_values *v, uint8_t *dst, size_t max)
{
    struct cw_byte_strings s = {.max = max, .v = cw_mem_try(CW_MAX(v->n, 1) * sizeof(*s.v))};
    const char *fault = s.v ? cw_pq_delta_strings_get(v, true, &s) : "no memory for its values";
    for (size_t i = 0; !fault && i < v->n; i++) {
        if (s.v[i].n != v->type_bytes)
            fault = "a value has another length than the column's";
        else if (v->type_bytes > 0)
            memcpy(dst + i * v->type_bytes, s.bytes + s.v[i].at, v->type_bytes);
    }
    cw_byte_strings_fini(&s);
    return fault;
}

const char *cw_pq_values_get(struct cw_pq_values *v, int encoding, uint8_t *dst,
                             struct cw_byte_strings *s)
{
    bool is_bytes = v->physical == CW_PQ_BYTE_ARRAY;
    bool is_int = v->physical == CW_PQ_INT32 || v->physical == CW_PQ_INT64;
    if (encoding == CW_PQ_PLAIN)
        return get_plain(v, dst, s);
    if (encoding == CW_PQ_RLE && v->physical == CW_PQ_BOOLEAN)
        return get_rle_bools(v, dst);
    if (encoding == CW_PQ_DELTA_BINARY_PACKED && is_int)
        return cw_pq_delta_get(&v->p, v->end, v->n, v->physical == CW_PQ_INT32 ? 4 : 8, dst);
    if (encoding == CW_PQ_DELTA_LENGTH_BYTE_ARRAY && is_bytes)
        return cw_pq_delta_strings_get(v, false, s);
    if (encoding == CW_PQ_DELTA_BYTE_ARRAY && is_bytes)
        return cw_pq_delta_strings_get(v, true, s);
    if (encoding == CW_PQ_DELTA_BYTE_ARRAY && v->physical == CW_PQ_FIXED)
        return get_delta_fixed(v, dst, v->n * v->type_bytes + 64);
    if (encoding == CW_PQ_BYTE_STREAM_SPLIT && !is_bytes && v->physical != CW_PQ_BOOLEAN)
        return get_split(v, dst);
    return "its encoding is unknown, or not one for this type";
}
