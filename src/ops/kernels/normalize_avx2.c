/* SPDX-License-Identifier: Apache-2.0 */
/* The AVX2 loop of normalize. */
#include "ops/kernels/cpu.h"
#include "ops/kernels/normalize.h"

#if CW_CPU_X86

#include <immintrin.h>

/* 24 samples are converted at once, so that in each vector the channels have fixed places */
#define VECTORS 3

/* Returns a / b: the product with the reciprocal, and one step of correction. */
static inline CW_CPU_AVX2_FMA __m256 divide(__m256 a, __m256 b, __m256 inverse_b)
{
    const __m256 q = _mm256_mul_ps(a, inverse_b);
    return _mm256_fmadd_ps(_mm256_fnmadd_ps(q, b, a), inverse_b, q);
}

/* Converts all whole steps; returns the number of samples that were in them. */
static inline CW_CPU_AVX2_FMA __attribute__((always_inline)) size_t
run(const struct cw_normalize *normalize, float *dst, const uint8_t *src, size_t n, bool stream)
{
    const __m256 scale = _mm256_set1_ps(normalize->scale),
                 inverse_scale = _mm256_set1_ps(normalize->inverse_scale);
    __m256 mean[VECTORS], std[VECTORS], inverse_std[VECTORS];
    for (size_t v = 0; v < VECTORS; v++) {
        mean[v] = _mm256_loadu_ps(normalize->mean + 8 * v);
        std[v] = _mm256_loadu_ps(normalize->std + 8 * v);
        inverse_std[v] = _mm256_loadu_ps(normalize->inverse_std + 8 * v);
    }
    size_t i = 0;
    for (; i + 8 * VECTORS <= n; i += 8 * VECTORS)
        for (size_t v = 0; v < VECTORS; v++) {
            const __m128i eight = _mm_loadl_epi64((const __m128i *)(const void *)(src + i + 8 * v));
            const __m256 x = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(eight));
            const __m256 centred = _mm256_sub_ps(divide(x, scale, inverse_scale), mean[v]);
            const __m256 y = divide(centred, std[v], inverse_std[v]);
            if (stream)
                _mm256_stream_ps(dst + i + 8 * v, y);
            else
                _mm256_storeu_ps(dst + i + 8 * v, y);
        }
    return i;
}

/* A result with at least so many samples lies in a batch of many megabytes, which another process
 * will read. Written past the caches it takes a third of the time (28 us instead of 75 for 600 KB),
 * because the old contents need not be fetched first. */
#define STREAM_SAMPLES ((size_t)32 * 1024)

CW_CPU_AVX2_FMA void cw_normalize_u8_avx2(const struct cw_normalize *normalize, float *dst,
                                          const uint8_t *src, size_t n, size_t whole)
{
    size_t i = 0;
    if (!normalize->fast) {
        cw_normalize_u8_plain(normalize, dst, src, n, whole);
        return;
    }
    if (whole >= STREAM_SAMPLES && (uintptr_t)dst % sizeof(__m256) == 0) {
        i = run(normalize, dst, src, n, true);
        /* The stores must be visible before anyone learns that the batch is complete. Whoever makes a
         * result in parts sees to it at their end (ops/strip.h). */
        if (n == whole)
            _mm_sfence();
    } else {
        i = run(normalize, dst, src, n, false);
    }
    for (; i < n; i++)
        dst[i] = normalize->table[256 * (i % normalize->channels) + src[i]];
}

#else

void cw_normalize_u8_avx2(const struct cw_normalize *normalize, float *dst, const uint8_t *src,
                          size_t n, size_t whole)
{
    cw_normalize_u8_plain(normalize, dst, src, n, whole);
}

#endif
