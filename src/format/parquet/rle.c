/* SPDX-License-Identifier: Apache-2.0 */
/* The hybrid of runs and packed numbers. */
#include "format/parquet/rle.h"

#include <string.h>

#include "base/compiler.h"

bool cw_pq_varint(const uint8_t **p, const uint8_t *end, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && *p < end; shift += 7) {
        uint8_t byte = *(*p)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

/* Up to 8 bytes, as a number; those behind the end are 0. */
static uint64_t load(const uint8_t *p, const uint8_t *end)
{
    uint64_t value = 0;
    size_t n = end - p >= 8 ? 8 : p < end ? (size_t)(end - p) : 0;
    memcpy(&value, p, n);
    return value;
}

uint64_t cw_pq_bits_one(const uint8_t *p, const uint8_t *end, uint64_t bit, unsigned width)
{
    unsigned shift = bit & 7;
    p += bit >> 3;
    uint64_t value = load(p, end) >> shift;
    if (shift + width > 64 && end - p > 8)
        value |= (uint64_t)p[8] << (64 - shift);
    return width == 64 ? value : value & ((UINT64_C(1) << width) - 1);
}

void cw_pq_bits_get(const uint8_t *p, const uint8_t *end, uint64_t bit, unsigned width,
                    uint32_t *dst, size_t n)
{
    uint64_t mask = (UINT64_C(1) << width) - 1;
    size_t i = 0;
    const uint8_t *safe = end - p >= 8 ? end - 8 : p;
    for (; i < n && end - p >= 8 && p + (bit >> 3) <= safe; i++, bit += width) {
        uint64_t word;
        memcpy(&word, p + (bit >> 3), sizeof(word));
        dst[i] = (uint32_t)((word >> (bit & 7)) & mask);
    }
    for (; i < n; i++, bit += width)
        dst[i] = (uint32_t)cw_pq_bits_one(p, end, bit, width);
}

struct cw_pq_rle cw_pq_rle_begin(const void *p, size_t n, unsigned width)
{
    const uint8_t *begin = p;
    return (struct cw_pq_rle){.p = begin, .end = begin + n, .width = width};
}

static const char *next_run(struct cw_pq_rle *r)
{
    uint64_t head = 0;
    if (!cw_pq_varint(&r->p, r->end, &head))
        return "there are fewer levels, indices or bools than values";
    r->packed = head & 1;
    uint64_t room = (uint64_t)(r->end - r->p);
    if (r->packed) {
        /* the last run may lack the bytes of its padding */
        uint64_t groups = head >> 1, bytes = CW_MIN(groups, room + 1) * r->width;
        bytes = CW_MIN(bytes, room);
        r->left = r->width == 0 ? CW_MIN(groups, UINT64_MAX / 8) * 8 : bytes * 8 / r->width;
        r->run = r->p;
        r->bit = 0;
        r->p += bytes;
    } else {
        size_t bytes = (r->width + 7) / 8;
        if (room < bytes)
            return "a run ends in the middle of its value";
        r->left = head >> 1;
        r->value = 0;
        memcpy(&r->value, r->p, bytes);
        r->p += bytes;
        if (r->width < 32 && r->value >> r->width)
            return "a run has a value of too many bits";
    }
    return NULL;
}

const char *cw_pq_rle_get(struct cw_pq_rle *r, uint32_t *dst, size_t n)
{
    while (n > 0) {
        const char *fault = r->left == 0 ? next_run(r) : NULL;
        if (fault)
            return fault;
        size_t some = (size_t)CW_MIN((uint64_t)n, r->left);
        if (r->packed) {
            cw_pq_bits_get(r->run, r->p, r->bit, r->width, dst, some);
            r->bit += (uint64_t)some * r->width;
        } else {
            for (size_t i = 0; i < some; i++)
                dst[i] = r->value;
        }
        r->left -= some;
        dst += some;
        n -= some;
    }
    return NULL;
}

/* Eight numbers of one bit, or of two, as the bytes of one number. */
static uint64_t spread_1(const uint8_t *p)
{
    const uint64_t bits = UINT64_C(0x8040201008040201), ones = UINT64_C(0x0101010101010101);
    return (((*p * ones) & bits) + (128 * ones - bits)) >> 7 & ones;
}

static uint64_t spread_2(const uint8_t *p)
{
    uint64_t x = (uint64_t)p[1] << 32 | p[0];
    x = (x | x << 12) & UINT64_C(0x000f000f000f000f);
    return (x | x << 6) & UINT64_C(0x0303030303030303);
}

/* Reads packed numbers of the run: those of one or two bits eight at a time. */
static void get_packed_bytes(const struct cw_pq_rle *r, uint8_t *dst, size_t n)
{
    size_t i = 0;
    const uint8_t *p = r->run + (r->bit >> 3);
    if ((r->bit & 7) == 0 && (r->width == 1 || r->width == 2))
        for (; i + 8 <= n; i += 8, p += r->width) {
            const uint64_t eight = r->width == 1 ? spread_1(p) : spread_2(p);
            for (unsigned k = 0; k < 8; k++)
                dst[i + k] = (uint8_t)(eight >> 8 * k);
        }
    for (; i < n; i++)
        dst[i] = (uint8_t)cw_pq_bits_one(r->run, r->p, r->bit + i * r->width, r->width);
}

const char *cw_pq_rle_get_bytes(struct cw_pq_rle *r, uint8_t *dst, size_t n)
{
    while (n > 0) {
        const char *fault = r->left == 0 ? next_run(r) : NULL;
        if (fault)
            return fault;
        const size_t some = (size_t)CW_MIN((uint64_t)n, r->left);
        if (r->packed)
            get_packed_bytes(r, dst, some);
        else
            memset(dst, (int)r->value, some);
        r->bit += (uint64_t)some * r->width;
        r->left -= some;
        dst += some;
        n -= some;
    }
    return NULL;
}

bool cw_pq_rle_is_all(struct cw_pq_rle *r, size_t n, uint32_t value)
{
    if (r->left == 0 && next_run(r))
        return false;
    return !r->packed && r->left >= n && r->value == value;
}
