/* SPDX-License-Identifier: Apache-2.0 */
/* Inverse DCTs whose results have 4 x 4, 2 x 2 or 1 x 1 samples instead of 8 x 8, with the integers of
 * libjpeg's jidctred.c: the even coefficients that a smaller result cannot show are left out. */
#include "ops/kernels/jpeg_pixels.h"

#include <stdlib.h>
#include <string.h>
#include "ops/kernels/cpu.h"

#define CONST_BITS 13
#define PASS1_BITS 2
/* Coefficients, and sums of the first pass, of real images are smaller. */
#define COEFFICIENT_MAX 4096
#define SUM_MAX 8191
/* libjpeg cuts samples off as we do up to here */
#define SAMPLE_MAX 511

/* Only the fast decoder comes here, which needs AVX2. */
#if CW_CPU_X86
#include <immintrin.h>
#define REDUCED CW_CPU_AVX2
#else
#define REDUCED
#endif
#define INLINE_REDUCED static inline REDUCED __attribute__((always_inline))

/* Two samples of five coefficients. */
INLINE_REDUCED void to_two(const int32_t *x, size_t step, int shift, int32_t *out, size_t out_step)
{
    const int32_t half = 1 << (shift - 1), even = x[0] * (1 << (CONST_BITS + 2));
    const int32_t odd =
        29692 * x[step] - 10426 * x[3 * step] + 6967 * x[5 * step] - 5906 * x[7 * step];
    out[0] = (even + odd + half) >> shift;
    out[out_step] = (even - odd + half) >> shift;
}

/* Multiplies; returns whether all products are those of a real image. */
INLINE_REDUCED bool dequantize(const struct cw_jpeg_block *block, int32_t x[64])
{
    int32_t beyond = 0;
    for (size_t i = 0; i < 64; i++) {
        x[i] = block->coef[i] * block->quant[i];
        beyond |= (abs(x[i]) > COEFFICIENT_MAX);
    }
    return !beyond;
}

INLINE_REDUCED bool are_small(const int32_t *sums, size_t n)
{
    int32_t beyond = 0;
    for (size_t i = 0; i < n; i++)
        beyond |= (abs(sums[i]) > SUM_MAX);
    return !beyond;
}

/* Stores samples around 0; returns whether libjpeg would cut them off as we do. */
INLINE_REDUCED bool store(const struct cw_jpeg_block *block, const int32_t *samples, size_t side)
{
    bool is_usual = true;
    for (size_t i = 0; i < side * side; i++) {
        const int32_t v = samples[i];
        is_usual = is_usual && v >= -SAMPLE_MAX && v <= SAMPLE_MAX;
        block->dst[i / side * block->stride + i % side] =
            (uint8_t)(CW_MAX(CW_MIN(v, 127), -128) + 128);
    }
    return is_usual;
}

#if CW_CPU_X86

/* A row of coefficients times their factors, 32 bits each. */
INLINE_REDUCED __m256i row_of(const struct cw_jpeg_block *block, size_t i)
{
    return _mm256_mullo_epi32(
        _mm256_cvtepi16_epi32(_mm_load_si128((const __m128i *)(const void *)(block->coef + 8 * i))),
        _mm256_cvtepu16_epi32(
            _mm_load_si128((const __m128i *)(const void *)(block->quant + 8 * i))));
}

/* Whether all of n vectors are from -most to most. */
INLINE_REDUCED bool are_within(const __m256i *v, size_t n, int32_t most)
{
    __m256i greatest = _mm256_setzero_si256();
    for (size_t i = 0; i < n; i++)
        greatest = _mm256_max_epi32(greatest, _mm256_abs_epi32(v[i]));
    return _mm256_testz_si256(_mm256_cmpgt_epi32(greatest, _mm256_set1_epi32(most)),
                              _mm256_set1_epi32(-1));
}

INLINE_REDUCED __m256i times(__m256i x, int factor)
{
    return _mm256_mullo_epi32(x, _mm256_set1_epi32(factor));
}

INLINE_REDUCED __m256i sum4(__m256i a, __m256i b, __m256i c, __m256i d)
{
    return _mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_add_epi32(c, d));
}

/* Four samples of the coefficients 0, 1, 2, 3, 5, 6 and 7, lane by lane. */
INLINE_REDUCED void to_four(const __m256i x[7], int shift, __m256i out[4])
{
    const __m256i half = _mm256_set1_epi32(1 << (shift - 1));
    const __m256i even = _mm256_add_epi32(_mm256_slli_epi32(x[0], CONST_BITS + 1), half),
                  turned = _mm256_sub_epi32(times(x[2], 15137), times(x[5], 6270));
    const __m256i inner =
        sum4(times(x[6], -1730), times(x[4], 11893), times(x[3], -17799), times(x[1], 8697));
    const __m256i outer =
        sum4(times(x[6], -4176), times(x[4], -4926), times(x[3], 7373), times(x[1], 20995));
    const __m256i more = _mm256_add_epi32(even, turned), less = _mm256_sub_epi32(even, turned);
    out[0] = _mm256_srai_epi32(_mm256_add_epi32(more, outer), shift);
    out[1] = _mm256_srai_epi32(_mm256_add_epi32(less, inner), shift);
    out[2] = _mm256_srai_epi32(_mm256_sub_epi32(less, inner), shift);
    out[3] = _mm256_srai_epi32(_mm256_sub_epi32(more, outer), shift);
}

INLINE_REDUCED __m256i high_half(__m256i x)
{
    return _mm256_castsi128_si256(_mm256_extracti128_si256(x, 1));
}

/* The columns 0, 1, 2, 3, 5, 6 and 7 of four rows, each in the lower half of a vector. */
INLINE_REDUCED void turn(const __m256i rows[4], __m256i columns[7])
{
    const __m256i a = _mm256_unpacklo_epi32(rows[0], rows[1]),
                  b = _mm256_unpackhi_epi32(rows[0], rows[1]),
                  c = _mm256_unpacklo_epi32(rows[2], rows[3]),
                  d = _mm256_unpackhi_epi32(rows[2], rows[3]);
    columns[0] = _mm256_unpacklo_epi64(a, c);
    columns[1] = _mm256_unpackhi_epi64(a, c);
    columns[2] = _mm256_unpacklo_epi64(b, d);
    columns[3] = _mm256_unpackhi_epi64(b, d);
    for (size_t i = 1; i < 4; i++)
        columns[i + 3] = high_half(columns[i]);
}

/* Stores four columns of four samples around 0. */
INLINE_REDUCED void store_columns(const struct cw_jpeg_block *block, const __m256i columns[4])
{
    const __m128i left = _mm_packs_epi32(_mm256_castsi256_si128(columns[0]),
                                         _mm256_castsi256_si128(columns[1])),
                  right = _mm_packs_epi32(_mm256_castsi256_si128(columns[2]),
                                          _mm256_castsi256_si128(columns[3]));
    const __m128i rows =
        _mm_shuffle_epi8(_mm_add_epi8(_mm_packs_epi16(left, right), _mm_set1_epi8((char)-128)),
                         _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    uint8_t samples[16];
    _mm_storeu_si128((__m128i *)(void *)samples, rows);
    for (size_t i = 0; i < 4; i++)
        memcpy(block->dst + i * block->stride, samples + 4 * i, 4);
}

REDUCED bool cw_jpeg_idct_four(const struct cw_jpeg_block *block)
{
    __m256i x[7], sums[4], columns[7], samples[4];
    for (size_t i = 0; i < 7; i++)
        x[i] = row_of(block, i < 4 ? i : i + 1);
    to_four(x, CONST_BITS - PASS1_BITS + 1, sums);
    if (!are_within(x, 7, COEFFICIENT_MAX) || !are_within(sums, 4, SUM_MAX))
        return false;
    turn(sums, columns);
    to_four(columns, CONST_BITS + PASS1_BITS + 3 + 1, samples);
    for (size_t i = 0; i < 4; i++) /* the upper half is of nothing */
        samples[i] = _mm256_zextsi128_si256(_mm256_castsi256_si128(samples[i]));
    store_columns(block, samples);
    return are_within(samples, 4, SAMPLE_MAX);
}

#else

bool cw_jpeg_idct_four(const struct cw_jpeg_block *block)
{
    (void)block;
    return false;
}

#endif

REDUCED bool cw_jpeg_idct_two(const struct cw_jpeg_block *block)
{
    int32_t x[64], sums[2 * 8], samples[2 * 2];
    if (!dequantize(block, x))
        return false;
    for (size_t c = 0; c < 8; c++)
        to_two(x + c, 8, CONST_BITS - PASS1_BITS + 2, sums + c, 8);
    if (!are_small(sums, CW_ARRAY_LEN(sums)))
        return false;
    for (size_t r = 0; r < 2; r++)
        to_two(sums + 8 * r, 1, CONST_BITS + PASS1_BITS + 3 + 2, samples + 2 * r, 1);
    return store(block, samples, 2);
}

bool cw_jpeg_idct_one(int32_t dc, const struct cw_jpeg_block *block, size_t side)
{
    const int32_t product = dc * block->quant[0], v = (product + 4) >> 3;
    for (size_t i = 0; i < side; i++)
        memset(block->dst + i * block->stride, CW_MAX(CW_MIN(v, 127), -128) + 128, side);
    return abs(product) <= COEFFICIENT_MAX;
}
