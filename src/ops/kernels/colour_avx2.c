/* SPDX-License-Identifier: Apache-2.0 */
/* Saturation with AVX2: eight pixels at a time, each channel in a vector of its own, with the float
 * operations of the plain loop. */
#include "ops/kernels/colour.h"
#include "ops/kernels/cpu.h"

#if CW_CPU_X86

#include <immintrin.h>

#define INLINE_AVX2 static inline CW_CPU_AVX2 __attribute__((always_inline))

/* grey + factor (x - grey), cut to 0..255 */
INLINE_AVX2 __m256i blend(__m256i grey, __m256i x, __m256 factor)
{
    const __m256 way = _mm256_cvtepi32_ps(_mm256_sub_epi32(x, grey));
    const __m256 v = _mm256_add_ps(_mm256_cvtepi32_ps(grey), _mm256_mul_ps(factor, way));
    return _mm256_cvttps_epi32(
        _mm256_min_ps(_mm256_max_ps(v, _mm256_setzero_ps()), _mm256_set1_ps(255.0f)));
}

/* Reads eight pixels as one lane of 32 bits each: r, g, b and a byte that does not count. 28 bytes
 * are read. */
INLINE_AVX2 __m256i load_pixels(const uint8_t *src)
{
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1));
    const __m128i lo = _mm_loadu_si128((const __m128i *)(const void *)src);
    const __m128i hi = _mm_loadu_si128((const __m128i *)(const void *)(src + 12));
    return _mm256_shuffle_epi8(_mm256_inserti128_si256(_mm256_castsi128_si256(lo), hi, 1), order);
}

/* Writes eight pixels; 28 bytes are written, of which the last four are 0. */
INLINE_AVX2 void store_pixels(uint8_t *dst, __m256i pixels)
{
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m256i packed = _mm256_shuffle_epi8(pixels, order);
    _mm_storeu_si128((__m128i *)(void *)dst, _mm256_castsi256_si128(packed));
    _mm_storeu_si128((__m128i *)(void *)(dst + 12), _mm256_extracti128_si256(packed, 1));
}

INLINE_AVX2 __m256i saturate8(__m256i pixels, __m256 factor)
{
    const __m256i byte = _mm256_set1_epi32(255);
    const __m256i r = _mm256_and_si256(pixels, byte),
                  g = _mm256_and_si256(_mm256_srli_epi32(pixels, 8), byte),
                  b = _mm256_srli_epi32(pixels, 16);
    __m256i grey = _mm256_add_epi32(_mm256_mullo_epi32(r, _mm256_set1_epi32(19595)),
                                    _mm256_mullo_epi32(g, _mm256_set1_epi32(38470)));
    grey = _mm256_add_epi32(grey, _mm256_mullo_epi32(b, _mm256_set1_epi32(7471)));
    grey = _mm256_srli_epi32(_mm256_add_epi32(grey, _mm256_set1_epi32(0x8000)), 16);
    const __m256i g8 = _mm256_slli_epi32(blend(grey, g, factor), 8),
                  b16 = _mm256_slli_epi32(blend(grey, b, factor), 16);
    return _mm256_or_si256(blend(grey, r, factor), _mm256_or_si256(g8, b16));
}

CW_CPU_AVX2 void cw_colour_saturate_avx2(uint8_t *dst, const uint8_t *src, size_t pixels,
                                         float factor)
{
    const __m256 factors = _mm256_set1_ps(factor);
    size_t i = 0;
    /* The 4 bytes beyond the eight pixels belong to the next two. When dst is src, those are read
     * before they are written. */
    if (pixels >= 10) {
        __m256i next = load_pixels(src);
        for (; i + 18 <= pixels; i += 8) {
            const __m256i now = next;
            next = load_pixels(src + 3 * (i + 8));
            store_pixels(dst + 3 * i, saturate8(now, factors));
        }
        uint8_t last[28];
        store_pixels(last, saturate8(next, factors));
        for (size_t k = 0; k < 24; k++)
            dst[3 * i + k] = last[k];
        i += 8;
    }
    cw_colour_saturate_plain(dst + 3 * i, src + 3 * i, pixels - i, factor);
}

#else

void cw_colour_saturate_avx2(uint8_t *dst, const uint8_t *src, size_t pixels, float factor)
{
    cw_colour_saturate_plain(dst, src, pixels, factor);
}

#endif
