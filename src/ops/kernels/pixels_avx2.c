/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/kernels/cpu.h"
#include "ops/kernels/pixels.h"

#if CW_CPU_X86

#include <immintrin.h>

/* Five pixels a step: 16 bytes are read and written, of which 15 count. */
CW_CPU_AVX2 void cw_pixels_mirror3_avx2(void *dst, const void *src, size_t rows, size_t n)
{
    const __m128i order = _mm_setr_epi8(13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, -1);
    uint8_t *to = dst;
    const uint8_t *from = src;
    for (size_t y = 0; y < rows; y++, to += 3 * n, from += 3 * n) {
        size_t i = 0;
        for (; i + 6 <= n; i += 5) { /* a byte before the five is read, one behind them is written: both are of this row */
            const __m128i five = _mm_loadu_si128((const __m128i *)(const void *)(from + 3 * (n - i) - 16));
            _mm_storeu_si128((__m128i *)(void *)(to + 3 * i), _mm_shuffle_epi8(five, order));
        }
        for (; i < n; i++)
            for (size_t c = 0; c < 3; c++)
                to[3 * i + c] = from[3 * (n - 1 - i) + c];
    }
}

/* 24 samples a step: a whole number of pixels and of vectors, so each vector has its channels fixed. */
CW_CPU_AVX2 void cw_pixels_map_avx2(float *dst, const uint8_t *src, size_t n, const float *table, size_t channels)
{
    __m256i channel[3];
    for (size_t v = 0; v < 3; v++) {
        int32_t lane[8];
        for (size_t i = 0; i < 8; i++)
            lane[i] = (int32_t)(256 * ((8 * v + i) % channels));
        channel[v] = _mm256_loadu_si256((const __m256i *)(const void *)lane);
    }
    size_t i = 0;
    for (; i + 24 <= n; i += 24)
        for (size_t v = 0; v < 3; v++) {
            const __m128i eight = _mm_loadl_epi64((const __m128i *)(const void *)(src + i + 8 * v));
            const __m256i index = _mm256_add_epi32(_mm256_cvtepu8_epi32(eight), channel[v]);
            _mm256_storeu_ps(dst + i + 8 * v, _mm256_i32gather_ps(table, index, 4));
        }
    for (; i < n; i++)
        dst[i] = table[256 * (i % channels) + src[i]];
}

#else

void cw_pixels_mirror3_avx2(void *dst, const void *src, size_t rows, size_t n)
{
    cw_pixels_mirror_plain(dst, src, rows, n, 3);
}

void cw_pixels_map_avx2(float *dst, const uint8_t *src, size_t n, const float *table, size_t channels)
{
    cw_pixels_map_plain(dst, src, n, table, channels);
}

#endif
