/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of exact_f32.h (kernels/lanes.h). */
#include "ops/kernels/exact_f32.h"
#include "ops/kernels/lanes.h"

#define INFINITY_BITS 0x7f800000
#define NAN_BITS 0x7fc00000
#define EXPONENT_BITS 23

/* ln 2 as the sum of two numbers; multiples of the first are exact */
#define LN2_HIGH 0.693359375f
#define LN2_LOW (-2.12194440e-4f)

/* the least normal number, and what makes a normal one of a smaller one */
#define LEAST_NORMAL 1.17549435e-38f
#define SUBNORMAL_SCALE 8388608.0f /* 2^23 */

CW_LANES_FN void log_lanes(cw_lanes_f32 *v)
{
    const cw_lanes_f32 x = *v, zero = {0};
    const cw_lanes_i32 is_small = x < CW_LANES_SET(LEAST_NORMAL);
    const cw_lanes_i32 bits = (cw_lanes_i32)CW_LANES_CHOOSE(is_small, x * SUBNORMAL_SCALE, x);
    cw_lanes_i32 e = (bits >> EXPONENT_BITS) - 126 - (is_small & EXPONENT_BITS);
    /* x = m 2^e with m between the roots of 1/2 and of 2 */
    cw_lanes_f32 m = (cw_lanes_f32)((bits & 0x7fffff) | 0x3f000000);
    const cw_lanes_i32 is_low = m < CW_LANES_SET(0.707106781186547524f);
    e += is_low; /* -1 */
    m = CW_LANES_CHOOSE(is_low, m + m, m) - 1.0f;
    const cw_lanes_f32 ef = __builtin_convertvector(e, cw_lanes_f32), m2 = m * m;
    cw_lanes_f32 sum = m * 7.0376836292e-2f - 1.1514610310e-1f;
    sum = sum * m + 1.1676998740e-1f;
    sum = sum * m - 1.2420140846e-1f;
    sum = sum * m + 1.4249322787e-1f;
    sum = sum * m - 1.6668057665e-1f;
    sum = sum * m + 2.0000714765e-1f;
    sum = sum * m - 2.4999993993e-1f;
    sum = sum * m + 3.3333331174e-1f;
    cw_lanes_f32 y = sum * m * m2 + ef * LN2_LOW;
    y = y - m2 * 0.5f;
    y = (m + y) + ef * LN2_HIGH;
    const cw_lanes_i32 infinite = (cw_lanes_i32){0} + INFINITY_BITS;
    y = CW_LANES_CHOOSE((cw_lanes_i32)x == INFINITY_BITS, (cw_lanes_f32)infinite, y);
    y = CW_LANES_CHOOSE(x == zero, -(cw_lanes_f32)infinite, y);
    const cw_lanes_i32 nan = (cw_lanes_i32){0} + NAN_BITS;
    *v = CW_LANES_CHOOSE(x >= zero, y, (cw_lanes_f32)nan);
}

/* 2^n of -126 <= n <= 127 */
#define POWER_OF_2(n) ((cw_lanes_f32)(((n) + 127) << EXPONENT_BITS))
/* from there on the result is infinite, and below 0 */
#define EXP_MOST 88.72283935546875f
#define EXP_LEAST (-103.97208404541015625f)
#define LN2_INVERSE 1.44269504088896341f
/* x + ROUND - ROUND is x as a whole number */
#define ROUND 12582912.0f

CW_LANES_FN void exp_lanes(cw_lanes_f32 *v)
{
    const cw_lanes_f32 x = *v;
    const cw_lanes_i32 is_most = x > CW_LANES_SET(EXP_MOST), is_least = x < CW_LANES_SET(EXP_LEAST);
    const cw_lanes_i32 inside = ~(is_most | is_least) & (x == x);
    const cw_lanes_f32 a = CW_LANES_CHOOSE(inside, x, (cw_lanes_f32){0});
    const cw_lanes_f32 k = (a * LN2_INVERSE + ROUND) - ROUND;
    const cw_lanes_f32 r = (a - k * LN2_HIGH) - k * LN2_LOW, r2 = r * r;
    cw_lanes_f32 sum = r * 1.9875691500e-4f + 1.3981999507e-3f;
    sum = sum * r + 8.3334519073e-3f;
    sum = sum * r + 4.1665795894e-2f;
    sum = sum * r + 1.6666665459e-1f;
    sum = sum * r + 5.0000001201e-1f;
    cw_lanes_f32 y = (sum * r2 + r) + 1.0f;
    /* two factors: 2^k itself may be no normal number */
    const cw_lanes_i32 n = __builtin_convertvector(k, cw_lanes_i32), half = n >> 1, rest = n - half;
    y = y * POWER_OF_2(half) * POWER_OF_2(rest);
    const cw_lanes_i32 infinite = (cw_lanes_i32){0} + INFINITY_BITS;
    const cw_lanes_i32 nan = (cw_lanes_i32){0} + NAN_BITS;
    y = CW_LANES_CHOOSE(is_most, (cw_lanes_f32)infinite, y);
    y = CW_LANES_CHOOSE(is_least, (cw_lanes_f32){0}, y);
    *v = CW_LANES_CHOOSE(x == x, y, (cw_lanes_f32)nan);
}

/* Calls `lanes` for all numbers of src; the last ones are less than a vector. */
#define EACH_LANES(lanes)                                                                          \
    size_t i = 0;                                                                                  \
    cw_lanes_f32 v;                                                                                \
    for (; i + CW_LANES <= n; i += CW_LANES) {                                                     \
        CW_LANES_LOAD(v, src + i);                                                                 \
        lanes(&v);                                                                                 \
        CW_LANES_STORE(dst + i, v);                                                                \
    }                                                                                              \
    if (i == n)                                                                                    \
        return;                                                                                    \
    float rest[CW_LANES] = {0};                                                                    \
    memcpy(rest, src + i, (n - i) * sizeof(float));                                                \
    CW_LANES_LOAD(v, rest);                                                                        \
    lanes(&v);                                                                                     \
    CW_LANES_STORE(rest, v);                                                                       \
    memcpy(dst + i, rest, (n - i) * sizeof(float));

CW_LANES_TARGET void CW_LANES_NAME(cw_exact_exp_f32)(float *dst, const float *src,
                                                     size_t n){EACH_LANES(exp_lanes)}

CW_LANES_TARGET void CW_LANES_NAME(cw_exact_log_f32)(float *dst, const float *src, size_t n)
{
    EACH_LANES(log_lanes)
}
