/* SPDX-License-Identifier: Apache-2.0 */
/* Mirroring of RGB rows with AVX2. */
#include "ops/kernels/cpu.h"
#include "ops/kernels/pixels.h"

#if CW_CPU_X86

#include <immintrin.h>

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

#else

void cw_pixels_mirror3_avx2(void *dst, const void *src, size_t rows, size_t n)
{
    cw_pixels_mirror3_plain(dst, src, rows, n);
}

#endif
