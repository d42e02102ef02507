/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over tables with AVX2. Whole vectors are computed here, the rest by the plain loops. */
#include "ops/kernels/columns.h"
#include "ops/kernels/cpu.h"

#if CW_CPU_X86

#include <immintrin.h>

/* With more boundaries a search by halves is faster than to compare with each. */
#define BOUNDS_MAX 48

/* Runs `body` for each whole vector of x, whose numbers are at p. */
#define EACH(body)                                                                                 \
    size_t i = 0, p = 0;                                                                           \
    for (; i + CW_COLUMNS_VECTOR <= n; i += CW_COLUMNS_VECTOR) {                                   \
        const __m256 x = _mm256_loadu_ps(src + i);                                                 \
        body;                                                                                      \
        p = p + CW_COLUMNS_VECTOR == period ? 0 : p + CW_COLUMNS_VECTOR;                           \
    }
/* The last values, fewer than a vector: they do not reach the end of the period. */
#define REST(numbers) ((numbers) + p)

CW_CPU_AVX2 void cw_columns_fill_avx2(float *dst, const float *src, size_t n, const float *value,
                                      size_t period)
{
    EACH(const __m256 v = _mm256_loadu_ps(value + p);
         const __m256 is_nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
         _mm256_storeu_ps(dst + i, _mm256_blendv_ps(x, v, is_nan)))
    cw_columns_fill_plain(dst + i, src + i, n - i, REST(value), period);
}

CW_CPU_AVX2 void cw_columns_clip_avx2(float *dst, const float *src, size_t n, const float *low,
                                      const float *high, size_t period)
{
    /* of equal numbers and of NaNs these instructions give the second */
    EACH(const __m256 v = _mm256_max_ps(_mm256_loadu_ps(low + p), x);
         _mm256_storeu_ps(dst + i, _mm256_min_ps(_mm256_loadu_ps(high + p), v)))
    cw_columns_clip_plain(dst + i, src + i, n - i, REST(low), REST(high), period);
}

CW_CPU_AVX2 void cw_columns_scale_avx2(float *dst, const float *src, size_t n, const float *mean,
                                       const float *std, size_t period)
{
    EACH(const __m256 v = _mm256_sub_ps(x, _mm256_loadu_ps(mean + p));
         _mm256_storeu_ps(dst + i, _mm256_div_ps(v, _mm256_loadu_ps(std + p))))
    cw_columns_scale_plain(dst + i, src + i, n - i, REST(mean), REST(std), period);
}

/* Counts the boundaries that are passed by each of eight values. */
static inline CW_CPU_AVX2 __attribute__((always_inline)) __m256i
count_passed(__m256 x, const struct cw_columns_bounds *b, size_t p, bool right)
{
    __m256i count = _mm256_setzero_si256();
    for (size_t k = 0; k < b->n; k++) {
        const __m256 bound = _mm256_loadu_ps(b->bounds + k * b->period + p);
        const __m256 is_passed =
            right ? _mm256_cmp_ps(x, bound, _CMP_NLE_UQ) : _mm256_cmp_ps(x, bound, _CMP_NLT_UQ);
        count = _mm256_sub_epi32(count, _mm256_castps_si256(is_passed));
    }
    const __m256i limit = _mm256_loadu_si256((const __m256i *)(const void *)(b->limit + p));
    return _mm256_min_epi32(count, limit);
}

static inline CW_CPU_AVX2 __attribute__((always_inline)) size_t
bucket(int64_t *dst, const float *src, size_t n, const struct cw_columns_bounds *b, bool right,
       size_t *ret_p)
{
    const size_t period = b->period;
    EACH(const __m256i count = count_passed(x, b, p, right);
         const __m128i low = _mm256_castsi256_si128(count);
         const __m128i high = _mm256_extracti128_si256(count, 1);
         _mm256_storeu_si256((__m256i *)(void *)(dst + i), _mm256_cvtepi32_epi64(low));
         _mm256_storeu_si256((__m256i *)(void *)(dst + i + 4), _mm256_cvtepi32_epi64(high)))
    *ret_p = p;
    return i;
}

CW_CPU_AVX2 void cw_columns_bucket_avx2(int64_t *dst, const float *src, size_t n,
                                        const struct cw_columns_bounds *bounds)
{
    size_t i = 0, p = 0;
    struct cw_columns_bounds rest = *bounds;
    if (bounds->n <= BOUNDS_MAX)
        i = bounds->right ? bucket(dst, src, n, bounds, true, &p)
                          : bucket(dst, src, n, bounds, false, &p);
    rest.bounds = REST(rest.bounds);
    rest.limit = REST(rest.limit);
    cw_columns_bucket_plain(dst + i, src + i, n - i, &rest);
}

#else

void cw_columns_fill_avx2(float *dst, const float *src, size_t n, const float *value, size_t period)
{
    cw_columns_fill_plain(dst, src, n, value, period);
}

void cw_columns_clip_avx2(float *dst, const float *src, size_t n, const float *low,
                          const float *high, size_t period)
{
    cw_columns_clip_plain(dst, src, n, low, high, period);
}

void cw_columns_scale_avx2(float *dst, const float *src, size_t n, const float *mean,
                           const float *std, size_t period)
{
    cw_columns_scale_plain(dst, src, n, mean, std, period);
}

void cw_columns_bucket_avx2(int64_t *dst, const float *src, size_t n,
                            const struct cw_columns_bounds *bounds)
{
    cw_columns_bucket_plain(dst, src, n, bounds);
}

#endif
