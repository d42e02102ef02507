/* SPDX-License-Identifier: Apache-2.0 */
/* The DELTA encodings: integers as distances, packed in blocks, and strings whose lengths (and
 * common prefixes) are such integers. */
#include <string.h>

#include "base/mem.h"
#include "format/parquet/rle.h"
#include "format/parquet/values.h"

enum { MINIS_MAX = 512, BLOCK_MAX = 1 << 20 };

struct delta {
    const uint8_t *p, *end;
    size_t mini_n, minis; /* numbers in a miniblock, miniblocks in a block */
    uint64_t last;
    size_t bytes;
    uint8_t *dst;
    size_t at, n;
};

static uint64_t unzigzag(uint64_t value)
{
    return (value >> 1) ^ (0 - (value & 1));
}

static void put(struct delta *d, uint64_t value)
{
    uint32_t narrow = (uint32_t)value;
    if (d->bytes == 4)
        memcpy(d->dst + 4 * d->at, &narrow, 4);
    else
        memcpy(d->dst + 8 * d->at, &value, 8);
    d->at++;
    d->last = value;
}

static const char *get_mini(struct delta *d, unsigned width, uint64_t least)
{
    size_t bytes = d->mini_n / 8 * width, n = CW_MIN(d->mini_n, d->n - d->at);
    if (width > 64)
        return "a miniblock has numbers of more than 64 bits";
    if (bytes > (size_t)(d->end - d->p))
        return "a miniblock is longer than the page";
    for (size_t i = 0; i < n; i++)
        put(d, d->last + least + cw_pq_bits_one(d->p, d->end, (uint64_t)i * width, width));
    d->p += bytes;
    return NULL;
}

static const char *get_block(struct delta *d)
{
    uint64_t least = 0;
    if (!cw_pq_varint(&d->p, d->end, &least) || (size_t)(d->end - d->p) < d->minis)
        return "a block of distances is cut";
    const uint8_t *widths = d->p;
    const char *fault = NULL;
    d->p += d->minis;
    for (size_t i = 0; !fault && i < d->minis && d->at < d->n; i++)
        fault = get_mini(d, widths[i], unzigzag(least));
    return fault;
}

const char *cw_pq_delta_get(const uint8_t **p, const uint8_t *end, size_t n, size_t bytes,
                            uint8_t *dst)
{
    uint64_t block = 0, minis = 0, total = 0, first = 0;
    if (!cw_pq_varint(p, end, &block) || !cw_pq_varint(p, end, &minis) ||
        !cw_pq_varint(p, end, &total) || !cw_pq_varint(p, end, &first))
        return "the head of its distances is cut";
    if (minis == 0 || minis > MINIS_MAX || block > BLOCK_MAX || block == 0 ||
        block % (minis * 8) != 0)
        return "the blocks of its distances have an impossible size";
    if (total != n)
        return "it has another number of distances than of values";
    struct delta d = {.p = *p, .end = end, .bytes = bytes, .dst = dst, .n = n};
    const char *fault = NULL;
    d.mini_n = (size_t)(block / minis);
    d.minis = (size_t)minis;
    if (n > 0)
        put(&d, unzigzag(first));
    while (!fault && d.at < n)
        fault = get_block(&d);
    *p = d.p;
    return fault;
}

static const char *get_lengths(struct cw_pq_values *v, uint32_t *dst)
{
    const char *fault = cw_pq_delta_get(&v->p, v->end, v->n, 4, (uint8_t *)dst);
    for (size_t i = 0; !fault && i < v->n; i++) {
        if (dst[i] > INT32_MAX)
            fault = "a length is negative";
    }
    return fault;
}

static const char *add(struct cw_pq_values *v, uint32_t prefix, uint32_t n,
                       struct cw_byte_strings *s)
{
    struct cw_byte_ref last = s->n > 0 ? s->v[s->n - 1] : (struct cw_byte_ref){0};
    if (n > (size_t)(v->end - v->p) || prefix > last.n)
        return "a string is longer than what it is made of";
    const char *fault = cw_byte_strings_room(s, (uint64_t)prefix + n);
    if (fault)
        return fault;
    if (prefix > 0) /* where all strings so far are empty there are no bytes */
        memcpy(s->bytes + s->used, s->bytes + last.at, prefix);
    if (n > 0)
        memcpy(s->bytes + s->used + prefix, v->p, n);
    s->v[s->n++] = (struct cw_byte_ref){s->used, (uint64_t)prefix + n};
    s->used += (size_t)prefix + n;
    v->p += n;
    return NULL;
}

const char *cw_pq_delta_strings_get(struct cw_pq_values *v, bool prefixes,
                                    struct cw_byte_strings *s)
{
    cw_autofree uint32_t *prefix = cw_mem_try(CW_MAX(v->n, 1) * sizeof(uint32_t));
    cw_autofree uint32_t *n = cw_mem_try(CW_MAX(v->n, 1) * sizeof(uint32_t));
    if (!prefix || !n)
        return "no memory for its lengths";
    const char *fault = prefixes ? get_lengths(v, prefix) : NULL;
    if (!fault)
        fault = get_lengths(v, n);
    if (!prefixes)
        memset(prefix, 0, v->n * sizeof(uint32_t));
    for (size_t i = 0; !fault && i < v->n; i++)
        fault = add(v, i > 0 ? prefix[i] : 0, n[i], s);
    return fault;
}
