/* SPDX-License-Identifier: Apache-2.0 */
/* Mirroring of RGB rows, and channels put side by side, with AVX2. */
#include "ops/kernels/cpu.h"
#include "ops/kernels/pixels.h"

#if CW_CPU_X86

#include <immintrin.h>
#include <string.h>

/* Mirrors rows of pixels of 3 bytes, five pixels at a time: 16 bytes are read and written, of which
 * 15 count. */
CW_CPU_AVX2 void cw_pixels_mirror3_avx2(void *dst, const void *src, size_t rows, size_t n)
{
    const __m128i order = _mm_setr_epi8(13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, -1);
    uint8_t *to = dst;
    const uint8_t *from = src;
    for (size_t y = 0; y < rows; y++, to += 3 * n, from += 3 * n) {
        size_t i = 0;
        /* One byte before the five pixels is read, and one behind them is written; both belong to
         * this row. */
        for (; i + 6 <= n; i += 5) {
            const __m128i five =
                _mm_loadu_si128((const __m128i *)(const void *)(from + 3 * (n - i) - 16));
            _mm_storeu_si128((__m128i *)(void *)(to + 3 * i), _mm_shuffle_epi8(five, order));
        }
        for (; i < n; i++)
            for (size_t c = 0; c < 3; c++)
                to[3 * i + c] = from[3 * (n - 1 - i) + c];
    }
}

/* Places of 16 samples of a channel in three vectors of 16 bytes; -1: in another of them. */
struct places {
    __m128i in[3];
};

/* Gathers 16 samples of a channel. */
static inline CW_CPU_AVX2 __m128i gather(const __m128i from[3], const struct places *places)
{
    return _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(from[0], places->in[0]),
                                     _mm_shuffle_epi8(from[1], places->in[1])),
                        _mm_shuffle_epi8(from[2], places->in[2]));
}

CW_CPU_AVX2 void cw_pixels_split3_u8_avx2(void *dst, const void *src, size_t pixels, size_t plane)
{
    const struct places places[3] = {
        {{_mm_setr_epi8(0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1),
          _mm_setr_epi8(-1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1, -1, -1),
          _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10, 13)}},
        {{_mm_setr_epi8(1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1),
          _mm_setr_epi8(-1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1),
          _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14)}},
        {{_mm_setr_epi8(2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1),
          _mm_setr_epi8(-1, -1, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1),
          _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15)}}};
    uint8_t *to = dst;
    const uint8_t *at = src;
    size_t i = 0;
    for (; i + 16 <= pixels; i += 16, at += 48) {
        __m128i from[3];
        for (size_t v = 0; v < 3; v++)
            from[v] = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * v));
        for (size_t c = 0; c < 3; c++)
            _mm_storeu_si128((__m128i *)(void *)(to + c * plane + i), gather(from, &places[c]));
    }
    for (; i < pixels; i++, at += 3)
        for (size_t c = 0; c < 3; c++)
            to[c * plane + i] = at[c];
}

CW_CPU_AVX2 void cw_pixels_split3_f32_avx2(void *dst, const void *src, size_t pixels, size_t plane)
{
    uint8_t *to = dst;
    const uint8_t *at = src;
    size_t i = 0;
    for (; i + 4 <= pixels; i += 4, at += 48) {
        /* x0 y0 z0 x1, y1 z1 x2 y2, z2 x3 y3 z3 */
        const __m128 a = _mm_loadu_ps((const float *)(const void *)at),
                     b = _mm_loadu_ps((const float *)(const void *)(at + 16)),
                     c = _mm_loadu_ps((const float *)(const void *)(at + 32));
        const __m128 x2y2x3y3 = _mm_shuffle_ps(b, c, _MM_SHUFFLE(2, 1, 3, 2)),
                     y0z0y1z1 = _mm_shuffle_ps(a, b, _MM_SHUFFLE(1, 0, 2, 1));
        float *x = (float *)(void *)(to + 4 * i), *y = (float *)(void *)(to + 4 * (plane + i)),
              *z = (float *)(void *)(to + 4 * (2 * plane + i));
        _mm_storeu_ps(x, _mm_shuffle_ps(a, x2y2x3y3, _MM_SHUFFLE(2, 0, 3, 0)));
        _mm_storeu_ps(y, _mm_shuffle_ps(y0z0y1z1, x2y2x3y3, _MM_SHUFFLE(3, 1, 2, 0)));
        _mm_storeu_ps(z, _mm_shuffle_ps(y0z0y1z1, c, _MM_SHUFFLE(3, 0, 3, 1)));
    }
    for (; i < pixels; i++, at += 12)
        for (size_t c = 0; c < 3; c++)
            memcpy(to + 4 * (c * plane + i), at + 4 * c, 4);
}

#else

void cw_pixels_mirror3_avx2(void *dst, const void *src, size_t rows, size_t n)
{
    cw_pixels_mirror3_plain(dst, src, rows, n);
}

void cw_pixels_split3_u8_avx2(void *dst, const void *src, size_t pixels, size_t plane)
{
    cw_pixels_split3_u8_plain(dst, src, pixels, plane);
}

void cw_pixels_split3_f32_avx2(void *dst, const void *src, size_t pixels, size_t plane)
{
    cw_pixels_split3_f32_plain(dst, src, pixels, plane);
}

#endif
