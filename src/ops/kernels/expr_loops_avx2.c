/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over values of expressions with AVX2: four at once, the rest by the plain loops. */
#include "ops/kernels/cpu.h"
#include "ops/kernels/expr_loops.h"

#if CW_CPU_X86

#include <immintrin.h>
#include <math.h>

CW_CPU_AVX2 void cw_expr_loop_load_avx2(double *dst, const float *src, size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        _mm256_storeu_pd(dst + i, _mm256_cvtps_pd(_mm_loadu_ps(src + i)));
    cw_expr_loop_load_plain(dst + i, src + i, n - i);
}

CW_CPU_AVX2 void cw_expr_loop_store_avx2(float *dst, const double *src, size_t n)
{
    const __m128 nan = _mm_set1_ps(NAN);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const __m128 v = _mm256_cvtpd_ps(_mm256_loadu_pd(src + i));
        _mm_storeu_ps(dst + i, _mm_blendv_ps(v, nan, _mm_cmpunord_ps(v, v)));
    }
    cw_expr_loop_store_plain(dst + i, src + i, n - i);
}

CW_CPU_AVX2 void cw_expr_loop_round_avx2(double *v, size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        _mm256_storeu_pd(v + i, _mm256_cvtps_pd(_mm256_cvtpd_ps(_mm256_loadu_pd(v + i))));
    cw_expr_loop_round_plain(v + i, n - i);
}

/* The operations of cw_exact_log in its order, for normal numbers above 0. */
static inline CW_CPU_AVX2 __attribute__((always_inline)) __m256d normal_log(__m256d x)
{
    const __m256d one = _mm256_set1_pd(1.0), magic = _mm256_set1_pd(0x1p52);
    const __m256i bits = _mm256_castpd_si256(x);
    const __m256i fraction = _mm256_and_si256(bits, _mm256_set1_epi64x(0x000fffffffffffff));
    /* m in [1/2, 1), and its exponent: an integer in the low bits of 2^52 is that many more */
    __m256d m =
        _mm256_castsi256_pd(_mm256_or_si256(fraction, _mm256_set1_epi64x(0x3fe0000000000000)));
    const __m256i biased = _mm256_srli_epi64(bits, 52);
    __m256d e =
        _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(biased, _mm256_castpd_si256(magic))),
                      _mm256_add_pd(magic, _mm256_set1_pd(1022)));
    const __m256d is_small = _mm256_cmp_pd(m, _mm256_set1_pd(0.70710678118654752440), _CMP_LT_OQ);
    m = _mm256_add_pd(m, _mm256_and_pd(is_small, m));
    e = _mm256_sub_pd(e, _mm256_and_pd(is_small, one));
    const __m256d t = _mm256_div_pd(_mm256_sub_pd(m, one), _mm256_add_pd(m, one));
    const __m256d t2 = _mm256_mul_pd(t, t);
    __m256d sum = _mm256_setzero_pd();
#pragma GCC unroll 11
    for (int n = 21; n >= 1; n -= 2)
        sum = _mm256_add_pd(_mm256_mul_pd(sum, t2), _mm256_set1_pd(1.0 / n));
    const __m256d log_m = _mm256_mul_pd(_mm256_mul_pd(_mm256_set1_pd(2.0), t), sum);
    const __m256d low = _mm256_mul_pd(e, _mm256_set1_pd(1.90821492927058770002e-10));
    const __m256d high = _mm256_mul_pd(e, _mm256_set1_pd(6.93147180369123816490e-01));
    return _mm256_add_pd(_mm256_add_pd(log_m, low), high);
}

CW_CPU_AVX2 void cw_expr_loop_log_avx2(double *v, size_t n)
{
    const __m256d least = _mm256_set1_pd(0x1p-1022), most = _mm256_set1_pd(0x1.fffffffffffffp1023);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const __m256d x = _mm256_loadu_pd(v + i);
        const __m256d is_normal =
            _mm256_and_pd(_mm256_cmp_pd(x, least, _CMP_GE_OQ), _mm256_cmp_pd(x, most, _CMP_LE_OQ));
        if (CW_LIKELY(_mm256_movemask_pd(is_normal) == 15))
            _mm256_storeu_pd(v + i, normal_log(x));
        else
            cw_expr_loop_log_plain(v + i, 4);
    }
    cw_expr_loop_log_plain(v + i, n - i);
}

CW_CPU_AVX2 void cw_expr_loop_arith_avx2(double *dst, struct cw_expr_loop_operand a,
                                         struct cw_expr_loop_operand b, size_t n,
                                         enum cw_expr_loop_sign sign)
{
    const double first_a = n ? a.v[0] : 0, first_b = n ? b.v[0] : 0;
    const __m256d all_a = _mm256_set1_pd(first_a), all_b = _mm256_set1_pd(first_b);
    size_t i = 0;
#define EACH(operation)                                                                            \
    for (; i + 4 <= n; i += 4)                                                                     \
        _mm256_storeu_pd(dst + i, operation(a.step ? _mm256_loadu_pd(a.v + i) : all_a,             \
                                            b.step ? _mm256_loadu_pd(b.v + i) : all_b));           \
    break
    switch (sign) {
    case CW_EXPR_LOOP_ADD:
        EACH(_mm256_add_pd);
    case CW_EXPR_LOOP_SUB:
        EACH(_mm256_sub_pd);
    case CW_EXPR_LOOP_MUL:
        EACH(_mm256_mul_pd);
    case CW_EXPR_LOOP_DIV:
        EACH(_mm256_div_pd);
    }
#undef EACH
    a.v = a.step ? a.v + i : &first_a;
    b.v = b.step ? b.v + i : &first_b;
    cw_expr_loop_arith_plain(dst + i, a, b, n - i, sign);
}

#else

void cw_expr_loop_load_avx2(double *dst, const float *src, size_t n)
{
    cw_expr_loop_load_plain(dst, src, n);
}

void cw_expr_loop_store_avx2(float *dst, const double *src, size_t n)
{
    cw_expr_loop_store_plain(dst, src, n);
}

void cw_expr_loop_round_avx2(double *v, size_t n)
{
    cw_expr_loop_round_plain(v, n);
}

void cw_expr_loop_log_avx2(double *v, size_t n)
{
    cw_expr_loop_log_plain(v, n);
}

void cw_expr_loop_arith_avx2(double *dst, struct cw_expr_loop_operand a,
                             struct cw_expr_loop_operand b, size_t n, enum cw_expr_loop_sign sign)
{
    cw_expr_loop_arith_plain(dst, a, b, n, sign);
}

#endif
