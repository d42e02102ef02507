/* SPDX-License-Identifier: Apache-2.0 */
/* Builds Huffman tables, and decodes or skips blocks with them. */
#include "ops/kernels/jpeg_huff.h"

#include <string.h>

#define FAST CW_JPEG_FAST_BITS
#define END 100 /* the step of an end-of-block code: so large that it cannot be the sum of runs */
#define AC_SIZE_MAX 10
#define DC_SIZE_MAX 11

#define KNOWN_MASK ((1u << FAST) - 1)
/* Below this coefficient one code never fills the block, so a second one may be taken together with
 * it. */
#define PAIRS_BELOW 48

/* Maps zigzag order to natural order. Runs that lead out of the block, and the end of the block,
 * are mapped to a place behind it. */
static const uint8_t natural[64 + END] = {
    0,   1,   8,   16,  9,   2,   3,   10,  17,  24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41,  34,  27,  20,  13,  6,   7,   14,  21,  28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30,  37,  44,  51,  58,  59,  52,  45,  38,  31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
#define TEN 64, 64, 64, 64, 64, 64, 64, 64, 64, 64
    TEN, TEN, TEN, TEN, TEN, TEN, TEN, TEN, TEN, TEN
#undef TEN
};

static inline int32_t extend(uint32_t bits, unsigned size)
{
    return bits >> (size - 1) ? (int32_t)bits : (int32_t)bits - (int32_t)(1u << size) + 1;
}

/* Makes the table entry of a symbol whose code is followed by `rest_n` known bits. */
static uint32_t entry_of(unsigned symbol, unsigned code_n, uint32_t rest, unsigned rest_n,
                         bool is_dc)
{
    const unsigned size = is_dc ? symbol : symbol & 15, run = is_dc ? 0 : symbol >> 4;
    const unsigned step = !is_dc && symbol == 0 ? END : run + 1;
    uint32_t value = 0;
    if (size > 0 && size <= rest_n)
        value = (uint32_t)(uint16_t)extend(rest >> (rest_n - size), size);
    return value << 16 | code_n << 12 | step << 5 | (code_n + size);
}

static bool is_known(unsigned symbol, bool is_dc)
{
    if (is_dc)
        return symbol <= DC_SIZE_MAX;
    return (symbol & 15) <= AC_SIZE_MAX && ((symbol & 15) != 0 || symbol == 0 || symbol == 0xf0);
}

static unsigned bits_of(uint32_t one)
{
    return one & 31;
}

static unsigned code_of(uint32_t one)
{
    return one >> 12 & 15;
}

static unsigned step_of(uint32_t one)
{
    return one >> 5 & 127;
}

static int32_t value_of(uint32_t one)
{
    return (int16_t)(one >> 16);
}

/* Whether code and value lie within `known` bits, and the value fits into its place in a pair. */
static bool is_short(uint32_t one, unsigned known)
{
    const bool has_value = bits_of(one) == code_of(one) || value_of(one) != 0;
    return one != 0 && bits_of(one) <= known && has_value && value_of(one) >= -64 &&
           value_of(one) < 64;
}

static uint32_t pair_of(const uint32_t *one, uint32_t known)
{
    const uint32_t a = one[known];
    if (!is_short(a, FAST))
        return 0;
    const uint32_t b = one[known << bits_of(a) & KNOWN_MASK];
    const uint32_t va = (uint32_t)value_of(a) & 127;
    if (step_of(a) == END || !is_short(b, FAST - bits_of(a)))
        return va << 25 | va << 18 | step_of(a) << 4 | bits_of(a);
    return ((uint32_t)value_of(b) & 127) << 25 | va << 18 | step_of(b) << 11 | step_of(a) << 4 |
           (bits_of(a) + bits_of(b));
}

static uint16_t pass_of(const uint32_t *one, uint32_t known)
{
    const uint32_t a = one[known];
    if (a == 0 || step_of(a) == END || bits_of(a) >= FAST)
        return (uint16_t)(step_of(a) << 5 | bits_of(a));
    const uint32_t b = one[known << bits_of(a) & KNOWN_MASK];
    if (b == 0 || code_of(b) > FAST - bits_of(a) || bits_of(a) + bits_of(b) > 26)
        return (uint16_t)(step_of(a) << 5 | bits_of(a));
    return (uint16_t)((step_of(a) + step_of(b)) << 5 | (bits_of(a) + bits_of(b)));
}

static bool build(struct cw_jpeg_huff *huff, bool is_dc)
{
    memset(huff->one, 0, sizeof(huff->one));
    uint32_t code = 0;
    int32_t k = 0;
    for (unsigned len = 1; len <= 16; len++, code <<= 1) {
        huff->first[len] = k - (int32_t)code;
        for (unsigned i = 0; i < huff->bits[len]; i++, k++, code++) {
            if (k >= 256 || code >= 1u << len || !is_known(huff->vals[k], is_dc))
                return false;
            const unsigned rest_n = FAST - len;
            if (len <= FAST)
                for (uint32_t rest = 0; rest < 1u << rest_n; rest++)
                    huff->one[code << rest_n | rest] =
                        entry_of(huff->vals[k], len, rest, rest_n, is_dc);
        }
        huff->limit[len] = code << (16 - len);
    }
    for (uint32_t known = 0; known <= KNOWN_MASK && !is_dc; known++) {
        huff->two[known] = pair_of(huff->one, known);
        huff->pass[known] = pass_of(huff->one, known);
    }
    return true;
}

bool cw_jpeg_huff_set(struct cw_jpeg_huff *huff, const uint8_t bits[17], const uint8_t vals[256],
                      bool is_dc)
{
    size_t n = 0;
    for (size_t i = 1; i <= 16; i++)
        n += bits[i];
    if (n > 256)
        return false;
    if (huff->is_set && memcmp(huff->bits + 1, bits + 1, 16) == 0 &&
        memcmp(huff->vals, vals, n) == 0)
        return true;
    memcpy(huff->bits, bits, sizeof(huff->bits));
    memcpy(huff->vals, vals, sizeof(huff->vals));
    huff->is_set = build(huff, is_dc);
    return huff->is_set;
}

/* Fills the buffer so that it has at least 56 valid bits. */
static inline void refill(struct cw_jpeg_bits *bits)
{
    uint64_t next;
    memcpy(&next, bits->at, sizeof(next));
    bits->buf |= __builtin_bswap64(next) >> bits->n;
    bits->at += (63 - bits->n) >> 3;
    bits->n |= 56;
}

static inline void drop(struct cw_jpeg_bits *bits, unsigned n)
{
    bits->buf <<= n;
    bits->n -= n;
}

/* Returns the entry, without its value, of a code that is too long for the table; 0 if there is no
 * such code. */
static uint32_t long_entry(const struct cw_jpeg_huff *huff, uint64_t buf, bool is_dc)
{
    const uint32_t next = (uint32_t)(buf >> 48);
    for (unsigned len = FAST + 1; len <= 16; len++)
        if (next < huff->limit[len]) {
            const unsigned symbol = huff->vals[(int32_t)(next >> (16 - len)) + huff->first[len]];
            const unsigned size = is_dc ? symbol : symbol & 15, step = is_dc ? 1
                                                                       : symbol == 0
                                                                           ? END
                                                                           : (symbol >> 4) + 1;
            /* A code length of 16 does not fit into its place; nobody reads it, since total and
             * size say the same. */
            return size << 16 | step << 5 | (len + size);
        }
    return 0;
}

/* Takes `total` bits, of which the last `size` bits are a value; returns 0 if size is 0. */
static inline int32_t take(struct cw_jpeg_bits *bits, unsigned total, unsigned size)
{
    if (size == 0) {
        drop(bits, total);
        return 0;
    }
    const uint32_t value = (uint32_t)(bits->buf << (total - size) >> (64 - size));
    drop(bits, total);
    return extend(value, size);
}

/* Decodes the difference of the first coefficient. Returns false if the data are damaged. */
static inline bool take_dc(struct cw_jpeg_bits *bits, const struct cw_jpeg_huff *huff, int32_t *dc)
{
    refill(bits);
    uint32_t e = huff->one[bits->buf >> (64 - FAST)];
    if (CW_LIKELY(e)) {
        *dc += take(bits, e & 31, (e & 31) - (e >> 12 & 15));
    } else {
        e = long_entry(huff, bits->buf, true);
        if (e == 0)
            return false;
        *dc += take(bits, e & 31, e >> 16);
    }
    return *dc >= INT16_MIN && *dc <= INT16_MAX;
}

/* Whether a run ends behind the block, and is not that of an end-of-block code. */
static inline bool is_beyond(unsigned k)
{
    return k > 64 && k < END;
}

/* Decodes one code of any length behind coefficient *k. Returns false if the data are damaged. */
static inline bool take_ac(struct cw_jpeg_bits *bits, const struct cw_jpeg_huff *huff, unsigned *k,
                           int16_t *block)
{
    uint32_t e = huff->one[bits->buf >> (64 - FAST)];
    unsigned size = bits_of(e) - code_of(e);
    if (CW_UNLIKELY(e == 0)) {
        e = long_entry(huff, bits->buf, false);
        if (e == 0)
            return false;
        size = e >> 16;
    }
    const int32_t value = take(bits, bits_of(e), size);
    *k += step_of(e);
    block[natural[*k - 1]] = (int16_t)value; /* codes without a value write 0, where 0 is already */
    return true;
}

int cw_jpeg_huff_block(struct cw_jpeg_bits *bits_arg, const struct cw_jpeg_huff *dc_huff,
                       const struct cw_jpeg_huff *ac_huff, int32_t *dc,
                       int16_t block[CW_JPEG_BLOCK])
{
    struct cw_jpeg_bits bits = *bits_arg; /* a copy, so that it is kept in registers */
    if (!take_dc(&bits, dc_huff, dc))
        return -1;
    block[0] = (int16_t)*dc;
    unsigned k = 1;
    while (k < PAIRS_BELOW) {
        refill(&bits); /* 56 bits are enough for two codes of at most 26 bits */
        for (int twice = 0; twice < 2 && k < PAIRS_BELOW; twice++) {
            const uint32_t e = ac_huff->two[bits.buf >> (64 - FAST)];
            if (CW_LIKELY(e)) {
                k += e >> 4 & 127;
                block[natural[k - 1]] = (int16_t)((int32_t)(e << 7) >> 25);
                /* adds 0 if the entry is one code: the same value is written once more */
                k += e >> 11 & 127;
                block[natural[k - 1]] = (int16_t)((int32_t)e >> 25);
                drop(&bits, e & 15);
            } else if (!take_ac(&bits, ac_huff, &k, block)) {
                return -1;
            }
        }
    }
    while (k < 64) {
        refill(&bits);
        if (!take_ac(&bits, ac_huff, &k, block))
            return -1;
    }
    *bits_arg = bits;
    return is_beyond(k) ? -1 : k != 1 + END;
}

bool cw_jpeg_huff_skip(struct cw_jpeg_bits *bits_arg, const struct cw_jpeg_huff *dc_huff,
                       const struct cw_jpeg_huff *ac_huff, int32_t *dc)
{
    struct cw_jpeg_bits bits = *bits_arg;
    int16_t nowhere[CW_JPEG_BLOCK];
    if (!take_dc(&bits, dc_huff, dc))
        return false;
    unsigned k = 1;
    while (k < PAIRS_BELOW) {
        refill(&bits);
        for (int twice = 0; twice < 2 && k < PAIRS_BELOW; twice++) {
            const uint32_t e = ac_huff->pass[bits.buf >> (64 - FAST)];
            if (CW_LIKELY(e)) {
                k += e >> 5;
                drop(&bits, e & 31);
            } else if (!take_ac(&bits, ac_huff, &k, nowhere)) {
                return false;
            }
        }
    }
    while (k < 64) {
        refill(&bits);
        if (!take_ac(&bits, ac_huff, &k, nowhere))
            return false;
    }
    *bits_arg = bits;
    return !is_beyond(k);
}

bool cw_jpeg_unstuff(uint8_t *dst, const uint8_t *src, size_t n, size_t *ret_n, size_t *ret_used)
{
    const uint8_t *at = src, *end = src + n;
    uint8_t *to = dst;
    for (;;) {
        const uint8_t *ff = memchr(at, 0xff, (size_t)(end - at));
        if (!ff || ff + 1 >= end)
            return false;
        const bool stuffed = ff[1] == 0;
        const size_t len = (size_t)(ff - at) + stuffed;
        memcpy(to, at, len);
        to += len;
        if (!stuffed) {
            memset(to, 0, CW_JPEG_PAD);
            *ret_n = (size_t)(to - dst);
            *ret_used = (size_t)(ff - src);
            return true;
        }
        at = ff + 2;
    }
}
