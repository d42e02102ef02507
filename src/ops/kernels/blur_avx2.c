/* SPDX-License-Identifier: Apache-2.0 */
/* The two passes of a blur with AVX2: sixteen samples at a time, two taps in a multiplication. Sums of
 * integers are the same in any order. */
#include "ops/kernels/cpu.h"
#include "ops/kernels/neighbours.h"

#if CW_CPU_X86

#include <immintrin.h>

#define INLINE_AVX2 static inline CW_CPU_AVX2 __attribute__((always_inline))
#define AT_ONCE 16

/* Sums of sixteen samples; the order of those in `low` and `high` is that which packing undoes. */
struct sums {
    __m256i low, high;
};

/* Whether each weight can be a factor of 16 bits with a sign; otherwise one weight is 1, all others are 0. */
static bool have_signs(const struct cw_blur_axis *axis)
{
    return axis->weight[axis->taps / 2] < 1u << CW_BLUR_BITS;
}

/* Both weights of a pair of taps; what lies behind the last tap has none. */
INLINE_AVX2 uint32_t pair_of(const struct cw_blur_axis *axis, size_t i)
{
    return axis->weight[i] | (i + 1 < axis->taps ? (uint32_t)axis->weight[i + 1] << 16 : 0);
}

/* Adds weight * a + weight * b of each sample. */
INLINE_AVX2 void add_pair(struct sums *sums, __m256i a, __m256i b, uint32_t weights)
{
    const __m256i both = _mm256_set1_epi32((int)weights);
    sums->low = _mm256_add_epi32(sums->low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), both));
    sums->high = _mm256_add_epi32(sums->high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), both));
}

/* (sum + half) >> shift as sixteen words */
INLINE_AVX2 __m256i words_of(const struct sums *sums, int half, int shift)
{
    const __m256i halves = _mm256_set1_epi32(half);
    return _mm256_packus_epi32(_mm256_srli_epi32(_mm256_add_epi32(sums->low, halves), shift),
                               _mm256_srli_epi32(_mm256_add_epi32(sums->high, halves), shift));
}

INLINE_AVX2 __m256i load_bytes(const uint8_t *src)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)src));
}

/* Sixteen words less 2^15, which makes them signed. */
INLINE_AVX2 __m256i load_words(const uint16_t *src)
{
    return _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)src),
                            _mm256_set1_epi16(INT16_MIN));
}

CW_CPU_AVX2 void cw_blur_y_avx2(const struct cw_blur_y *pass)
{
    struct cw_blur_y rest = *pass;
    for (; have_signs(pass->axis) && rest.from + AT_ONCE <= pass->n; rest.from += AT_ONCE) {
        struct sums sums = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        for (size_t i = 0; i < pass->axis->taps; i += 2) {
            const uint32_t weights = pair_of(pass->axis, i);
            if (weights == 0)
                continue;
            const bool is_last = i + 1 == pass->axis->taps;
            add_pair(&sums, load_bytes(pass->rows[i] + rest.from),
                     load_bytes(pass->rows[is_last ? i : i + 1] + rest.from), weights);
        }
        _mm256_storeu_si256((__m256i *)(void *)(pass->dst + rest.from),
                            words_of(&sums, 1 << (CW_BLUR_BITS - 9), CW_BLUR_BITS - 8));
    }
    cw_blur_y_plain(&rest);
}

CW_CPU_AVX2 void cw_blur_x_avx2(const struct cw_blur_x *pass)
{
    struct cw_blur_x rest = *pass;
    for (; have_signs(pass->axis) && rest.from + AT_ONCE <= pass->n; rest.from += AT_ONCE) {
        const uint16_t *src = pass->src + rest.from;
        struct sums sums = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        for (size_t i = 0; i < pass->axis->taps; i += 2) {
            const uint32_t weights = pair_of(pass->axis, i);
            if (weights == 0)
                continue;
            const bool is_last = i + 1 == pass->axis->taps;
            add_pair(&sums, load_words(src + i * pass->step),
                     load_words(src + (is_last ? i : i + 1) * pass->step), weights);
        }
        /* the weights' sum times the 2^15 that every sample lacks */
        const int missing = 1 << (2 * CW_BLUR_BITS);
        const __m256i words =
            words_of(&sums, missing + (1 << (CW_BLUR_BITS + 7)), CW_BLUR_BITS + 8);
        const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(words, words), 0x08);
        _mm_storeu_si128((__m128i *)(void *)(pass->dst + rest.from), _mm256_castsi256_si128(bytes));
    }
    cw_blur_x_plain(&rest);
}

#else

void cw_blur_y_avx2(const struct cw_blur_y *pass)
{
    cw_blur_y_plain(pass);
}

void cw_blur_x_avx2(const struct cw_blur_x *pass)
{
    cw_blur_x_plain(pass);
}

#endif
