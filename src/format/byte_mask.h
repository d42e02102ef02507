/* SPDX-License-Identifier: Apache-2.0 */
/* Which of 64 bytes are equal to a byte, as bits of a word: bit i stands for byte i. Scanners of
 * text look at 64 bytes at a time like this. Each function has a plain form, which gives the same
 * bits on every processor. */
#ifndef CW_FORMAT_BYTE_MASK_H
#define CW_FORMAT_BYTE_MASK_H

#include <string.h>

#include "base/compiler.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static inline uint64_t cw_mask64_plain(const char *p, char c)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < 64; i++)
        mask |= (uint64_t)(p[i] == c) << i;
    return mask;
}
/* Bytes above the space, which is what a line with text in it has. */
static inline uint64_t cw_mask64_text_plain(const char *p)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < 64; i++)
        mask |= (uint64_t)((unsigned char)p[i] > ' ') << i;
    return mask;
}

#if defined(__SSE2__)
static inline uint64_t cw_mask64(const char *p, char c)
{
    const __m128i want = _mm_set1_epi8(c);
    uint64_t mask = 0;
    for (unsigned i = 0; i < 4; i++) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, want)) << (16 * i);
    }
    return mask;
}
static inline uint64_t cw_mask64_text(const char *p)
{
    const __m128i space = _mm_set1_epi8(' ');
    uint64_t mask = 0;
    for (unsigned i = 0; i < 4; i++) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
        __m128i none = _mm_cmpeq_epi8(_mm_max_epu8(v, space), space);
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(none) << (16 * i);
    }
    return ~mask;
}
#else
static inline uint64_t cw_mask64(const char *p, char c)
{
    return cw_mask64_plain(p, c);
}
static inline uint64_t cw_mask64_text(const char *p)
{
    return cw_mask64_text_plain(p);
}
#endif

/* Bit i becomes the parity of the bits 0 to i: of quotes, what lies inside of them. */
static inline uint64_t cw_prefix_xor(uint64_t bits)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

#endif
