/* SPDX-License-Identifier: Apache-2.0 */
/* Luminance and saturation with AVX2: eight pixels at a time, each channel in a vector of its own, with
 * the operations of the plain loops. */
#include "ops/kernels/colour.h"
#include "ops/kernels/cpu.h"
#include "ops/kernels/pixels.h"

#if CW_CPU_X86

#include "ops/kernels/pixels8_avx2.h"

/* grey + factor (x - grey), cut to 0..255 */
CW_PIXELS8_INLINE __m256i blend(__m256i grey, __m256i x, __m256 factor)
{
    const __m256 way = _mm256_cvtepi32_ps(_mm256_sub_epi32(x, grey));
    const __m256 v = _mm256_add_ps(_mm256_cvtepi32_ps(grey), _mm256_mul_ps(factor, way));
    return _mm256_cvttps_epi32(
        _mm256_min_ps(_mm256_max_ps(v, _mm256_setzero_ps()), _mm256_set1_ps(255.0f)));
}

/* factors: floats */
CW_PIXELS8_INLINE __m256i saturate8(__m256i pixels, __m256i factors)
{
    const __m256 factor = _mm256_castsi256_ps(factors);
    const __m256i r = cw_pixels8_channel(pixels, 0), g = cw_pixels8_channel(pixels, 1),
                  b = cw_pixels8_channel(pixels, 2);
    const __m256i grey = cw_pixels8_luminance(r, g, b);
    const __m256i g8 = _mm256_slli_epi32(blend(grey, g, factor), 8),
                  b16 = _mm256_slli_epi32(blend(grey, b, factor), 16);
    return _mm256_or_si256(blend(grey, r, factor), _mm256_or_si256(g8, b16));
}

CW_CPU_AVX2 void cw_colour_saturate_avx2(uint8_t *dst, const uint8_t *src, size_t pixels,
                                         float factor)
{
    const size_t done =
        cw_pixels8_change(dst, src, pixels, saturate8, _mm256_castps_si256(_mm256_set1_ps(factor)));
    cw_colour_saturate_plain(dst + 3 * done, src + 3 * done, pixels - done, factor);
}

CW_CPU_AVX2 void cw_pixels_grey_avx2(uint8_t *dst, const uint8_t *rgb, size_t n)
{
    size_t i = 0;
    for (; i + 10 <= n; i += 8) { /* 28 bytes are read */
        const __m256i pixels = cw_pixels8_load(rgb + 3 * i);
        const __m256i grey =
            cw_pixels8_luminance(cw_pixels8_channel(pixels, 0), cw_pixels8_channel(pixels, 1),
                                 cw_pixels8_channel(pixels, 2));
        const __m128i words =
            _mm_packus_epi32(_mm256_castsi256_si128(grey), _mm256_extracti128_si256(grey, 1));
        _mm_storel_epi64((__m128i *)(void *)(dst + i), _mm_packus_epi16(words, words));
    }
    cw_pixels_grey_plain(dst + i, rgb + 3 * i, n - i);
}

#else

void cw_colour_saturate_avx2(uint8_t *dst, const uint8_t *src, size_t pixels, float factor)
{
    cw_colour_saturate_plain(dst, src, pixels, factor);
}

void cw_pixels_grey_avx2(uint8_t *dst, const uint8_t *rgb, size_t n)
{
    cw_pixels_grey_plain(dst, rgb, n);
}

#endif
