/* SPDX-License-Identifier: Apache-2.0 */
/* Eight RGB pixels in a vector, for kernels with AVX2: one lane of 32 bits each. */
#ifndef CW_OPS_KERNELS_PIXELS8_AVX2_H
#define CW_OPS_KERNELS_PIXELS8_AVX2_H

#include <immintrin.h>
#include "ops/kernels/cpu.h"

#define CW_PIXELS8_INLINE static inline CW_CPU_AVX2 __attribute__((always_inline))

/* Reads eight pixels: r, g, b and a byte that does not count. 28 bytes are read. */
CW_PIXELS8_INLINE __m256i cw_pixels8_load(const uint8_t *src)
{
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1));
    const __m128i lo = _mm_loadu_si128((const __m128i *)(const void *)src);
    const __m128i hi = _mm_loadu_si128((const __m128i *)(const void *)(src + 12));
    return _mm256_shuffle_epi8(_mm256_inserti128_si256(_mm256_castsi128_si256(lo), hi, 1), order);
}

/* Writes eight pixels; 28 bytes are written, of which the last four are 0. */
CW_PIXELS8_INLINE void cw_pixels8_store(uint8_t *dst, __m256i pixels)
{
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m256i packed = _mm256_shuffle_epi8(pixels, order);
    _mm_storeu_si128((__m128i *)(void *)dst, _mm256_castsi256_si128(packed));
    _mm_storeu_si128((__m128i *)(void *)(dst + 12), _mm256_extracti128_si256(packed, 1));
}

/* The samples of a channel, one in each lane. */
CW_PIXELS8_INLINE __m256i cw_pixels8_channel(__m256i pixels, int channel)
{
    return _mm256_and_si256(_mm256_srli_epi32(pixels, 8 * channel), _mm256_set1_epi32(255));
}

/* Pillow's luminance. */
CW_PIXELS8_INLINE __m256i cw_pixels8_luminance(__m256i r, __m256i g, __m256i b)
{
    const __m256i sum = _mm256_add_epi32(_mm256_mullo_epi32(r, _mm256_set1_epi32(19595)),
                                         _mm256_mullo_epi32(g, _mm256_set1_epi32(38470)));
    return _mm256_srli_epi32(
        _mm256_add_epi32(_mm256_add_epi32(sum, _mm256_mullo_epi32(b, _mm256_set1_epi32(7471))),
                         _mm256_set1_epi32(0x8000)),
        16);
}

/* What a kernel makes of eight pixels. */
typedef __m256i cw_pixels8_fn(__m256i pixels, __m256i argument);

/* Changes pixels eight at a time, and returns how many were changed. dst may be src. The 4 bytes beyond
 * eight pixels belong to the next two: when dst is src, those are read before they are written. */
CW_PIXELS8_INLINE size_t cw_pixels8_change(uint8_t *dst, const uint8_t *src, size_t pixels,
                                           cw_pixels8_fn *change, __m256i argument)
{
    size_t i = 0;
    if (pixels < 10)
        return 0;
    __m256i next = cw_pixels8_load(src);
    for (; i + 18 <= pixels; i += 8) {
        const __m256i now = next;
        next = cw_pixels8_load(src + 3 * (i + 8));
        cw_pixels8_store(dst + 3 * i, change(now, argument));
    }
    uint8_t last[28];
    cw_pixels8_store(last, change(next, argument));
    for (size_t k = 0; k < 24; k++)
        dst[3 * i + k] = last[k];
    return i + 8;
}

#endif
