/* SPDX-License-Identifier: Apache-2.0 */
/* exp and log of arrays of f32 against those of the C library in double precision. */
#include "support/cm.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include "ops/kernels/exact_f32.h"

/* The distance of a result from the right one, in units of its last place; 0 for equal special values. */
static double ulps(float got, double right)
{
    if (isnan(right))
        return isnan(got) ? 0 : (double)INFINITY;
    const float near = (float)right;
    if (isinf(near))
        return isinf(got) && (got > 0) == (near > 0) ? 0 : (double)INFINITY;
    const double place =
        ldexp(1, CW_MAX(ilogb((double)near), FLT_MIN_EXP - 1) - (FLT_MANT_DIG - 1));
    return fabs((double)got - right) / (near == 0.0f ? (double)FLT_TRUE_MIN : place);
}

static float from_bits(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

#define N 1000

/* Numbers of all sizes, and all special ones: every 9,973rd of all there are. */
static void test_all_sizes(void **state)
{
    (void)state;
    static float src[N], e[N], l[N];
    for (uint64_t bits = 0; bits < UINT32_MAX;) {
        size_t n = 0;
        for (; n < N && bits < UINT32_MAX; bits += 9973)
            src[n++] = from_bits((uint32_t)bits);
        cw_exact_exp_f32(e, src, n);
        cw_exact_log_f32(l, src, n);
        for (size_t i = 0; i < n; i++) {
            assert_true(ulps(e[i], exp((double)src[i])) <= 2);
            assert_true(ulps(l[i], log((double)src[i])) <= 1);
        }
    }
}

static void test_special(void **state)
{
    (void)state;
    const float src[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, FLT_TRUE_MIN, FLT_MAX};
    float v[CW_ARRAY_LEN(src)];
    cw_exact_log_f32(v, src, CW_ARRAY_LEN(src));
    assert_true(isinf(v[0]) && v[0] < 0 && isinf(v[1]) && v[1] < 0 && v[2] == 0.0f);
    assert_true(isnan(v[3]) && isinf(v[4]) && v[4] > 0 && isnan(v[5]) && isnan(v[6]));
    assert_true(ulps(v[7], log((double)FLT_TRUE_MIN)) <= 1);
    cw_exact_exp_f32(v, src, CW_ARRAY_LEN(src));
    assert_true(v[0] == 1.0f && v[1] == 1.0f && isinf(v[4]) && v[5] == 0.0f && isnan(v[6]));
    assert_true(v[7] == 1.0f && isinf(v[8]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_sizes),
                                       cmocka_unit_test(test_special)};
    return cmocka_run_group_tests_name("exact_f32", tests, NULL, NULL);
}
