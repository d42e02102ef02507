/* SPDX-License-Identifier: Apache-2.0 */
/* Looking samples up in a table, 32 at a time: each of the 16 rows of the table is asked, and answers
 * 0 to samples that are not in it. */
#include "ops/kernels/cpu.h"
#include "ops/kernels/tone.h"

#if CW_CPU_X86

#include <immintrin.h>

#define ROWS 16

CW_CPU_AVX2 void cw_tone_map_avx2(uint8_t *dst, const uint8_t *src, size_t n,
                                  const uint8_t table[256])
{
    const __m256i beyond = _mm256_set1_epi8(0x70);
    __m256i rows[ROWS];
    for (size_t k = 0; k < ROWS; k++)
        rows[k] = _mm256_broadcastsi128_si256(
            _mm_loadu_si128((const __m128i *)(const void *)(table + 16 * k)));
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(src + i));
        __m256i y = _mm256_setzero_si256();
        for (size_t k = 0; k < ROWS; k++) {
            /* A sample of row k gets the index 0x70 to 0x7f, all others one from 0x80 on. */
            const __m256i row = _mm256_xor_si256(x, _mm256_set1_epi8((char)(16 * k)));
            y = _mm256_or_si256(y, _mm256_shuffle_epi8(rows[k], _mm256_adds_epu8(row, beyond)));
        }
        _mm256_storeu_si256((__m256i *)(void *)(dst + i), y);
    }
    cw_tone_map_plain(dst + i, src + i, n - i, table);
}

#else

void cw_tone_map_avx2(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t table[256])
{
    cw_tone_map_plain(dst, src, n, table);
}

#endif
