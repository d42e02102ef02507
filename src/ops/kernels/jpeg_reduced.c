/* SPDX-License-Identifier: Apache-2.0 */
/* Inverse DCTs whose results have 4 x 4, 2 x 2 or 1 x 1 samples instead of 8 x 8, with the integers of
 * libjpeg's jidctred.c: the even coefficients that a smaller result cannot show are left out. */
#include "ops/kernels/jpeg_pixels.h"

#include <stdlib.h>
#include "ops/kernels/cpu.h"

#define CONST_BITS 13
#define PASS1_BITS 2
/* Coefficients, and sums of the first pass, of real images are smaller. */
#define COEFFICIENT_MAX 4096
#define SUM_MAX 8191

/* Only the fast decoder comes here, which needs AVX2. */
#if CW_CPU_X86
#define REDUCED CW_CPU_AVX2
#else
#define REDUCED
#endif
#define INLINE_REDUCED static inline REDUCED __attribute__((always_inline))

/* Four samples of seven coefficients, which lie `step` apart. */
INLINE_REDUCED void to_four(const int32_t *x, size_t step, int shift, int32_t *out, size_t out_step)
{
    const int32_t half = 1 << (shift - 1);
    const int32_t even = x[0] * (1 << (CONST_BITS + 1)),
                  turned = 15137 * x[2 * step] - 6270 * x[6 * step];
    const int32_t z1 = x[step], z3 = x[3 * step], z5 = x[5 * step], z7 = x[7 * step];
    const int32_t inner = -1730 * z7 + 11893 * z5 - 17799 * z3 + 8697 * z1,
                  outer = -4176 * z7 - 4926 * z5 + 7373 * z3 + 20995 * z1;
    out[0] = (even + turned + outer + half) >> shift;
    out[out_step] = (even - turned + inner + half) >> shift;
    out[2 * out_step] = (even - turned - inner + half) >> shift;
    out[3 * out_step] = (even + turned - outer + half) >> shift;
}

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
        is_usual = is_usual && v >= -512 && v < 512;
        block->dst[i / side * block->stride + i % side] =
            (uint8_t)(CW_MAX(CW_MIN(v, 127), -128) + 128);
    }
    return is_usual;
}

REDUCED bool cw_jpeg_idct_four(const struct cw_jpeg_block *block)
{
    int32_t x[64], sums[4 * 8], samples[4 * 4];
    if (!dequantize(block, x))
        return false;
    for (size_t c = 0; c < 8; c++)
        to_four(x + c, 8, CONST_BITS - PASS1_BITS + 1, sums + c, 8);
    if (!are_small(sums, CW_ARRAY_LEN(sums)))
        return false;
    for (size_t r = 0; r < 4; r++)
        to_four(sums + 8 * r, 1, CONST_BITS + PASS1_BITS + 3 + 1, samples + 4 * r, 1);
    return store(block, samples, 4);
}

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

REDUCED bool cw_jpeg_idct_one(int32_t dc, const struct cw_jpeg_block *block)
{
    const int32_t product = dc * block->quant[0], sample = (product + 4) >> 3;
    return abs(product) <= COEFFICIENT_MAX && store(block, &sample, 1);
}
