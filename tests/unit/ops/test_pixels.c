/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels promise besides being equal at all levels (test_kernels.c). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "ops/kernels/exact_math.h"
#include "ops/kernels/normalize.h"
#include "ops/kernels/pixels.h"
#include "ops/kernels/resample.h"

static uint8_t *noise(size_t n, uint64_t seed)
{
    struct cw_rng rng;
    cw_rng_init(&rng, seed, 0, 0, 0, 0);
    uint8_t *p =
        malloc(n ? n : 1); /* its own block, so that a sanitizer sees what is read beside it */
    assert_non_null(p);
    for (size_t i = 0; i < n; i++)
        /* many samples at the ends of the range, where sums are clipped */
        p[i] = (uint8_t)(cw_rng_u64(&rng, (uint32_t)i) % 3 ? cw_rng_u64(&rng, (uint32_t)i) >> 8
                                                           : (i / 7 % 2 ? 255 : 0));
    return p;
}

/* Constants for which the fast loop is wrong must be found out. */
static void test_normalize_odd(void **state)
{
    (void)state;
    const float odd[] = {1e-39f, 1e38f, 3e-38f, 7.77f, 1e-30f};
    for (size_t i = 0; i < CW_ARRAY_LEN(odd); i++)
        for (size_t k = 0; k < CW_ARRAY_LEN(odd); k++) {
            struct cw_normalize normalize;
            uint8_t src[256];
            float a[256], b[256];
            for (size_t v = 0; v < 256; v++)
                src[v] = (uint8_t)v;
            cw_normalize_init(&normalize, odd[k], &odd[k], &odd[i], 1);
            cw_normalize_u8_plain(&normalize, a, src, 256, 256);
            cw_normalize_u8(&normalize, b, src, 256, 256);
            assert_memory_equal(a, b, sizeof(a));
            cw_normalize_fini(&normalize);
        }
}

/* Rows of pixels of any size are turned round, each by itself. */
static void test_mirror(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 4, 6, 12, 24};
    (void)state;
    for (size_t s = 0; s < CW_ARRAY_LEN(sizes); s++)
        for (size_t n = 1; n <= 40; n++) {
            const size_t bytes = sizes[s], row = n * bytes, rows = 3;
            uint8_t *src = noise(rows * row, n), *dst = noise(rows * row, n + 1);
            cw_pixels_mirror(dst, src, rows, n, bytes);
            for (size_t y = 0; y < rows; y++)
                for (size_t x = 0; x < n; x++)
                    assert_memory_equal(dst + y * row + x * bytes,
                                        src + y * row + (n - 1 - x) * bytes, bytes);
            free(src);
            free(dst);
        }
}

/* A part of a resized image, made of what is needed of the image, is that part of all of it. */
static void compare_part(const struct cw_resample_job *whole, struct cw_rng *rng)
{
    struct cw_resample resample = {0};
    struct cw_err err = {0};
    const size_t channels = (size_t)whole->channels;
    struct cw_resample_job job = *whole;
    struct cw_resample_part *part = &job.dst_part;
    part->y = (int32_t)cw_rng_below(rng, 10, (uint64_t)job.dst_h);
    part->x = (int32_t)cw_rng_below(rng, 11, (uint64_t)job.dst_w);
    part->h = 1 + (int32_t)cw_rng_below(rng, 12, (uint64_t)(job.dst_h - part->y));
    part->w = 1 + (int32_t)cw_rng_below(rng, 13, (uint64_t)(job.dst_w - part->x));
    assert_int_equal(cw_resample_needs(&resample, &job, &job.src_part, &err), 0);
    assert_true(job.src_part.y >= 0 && job.src_part.y + job.src_part.h <= job.src_h);
    assert_true(job.src_part.x >= 0 && job.src_part.x + job.src_part.w <= job.src_w);
    /* memory of its own, so that a sanitizer sees what is read beyond it */
    const size_t row = (size_t)job.src_part.w * channels, dst_row = (size_t)part->w * channels;
    uint8_t *src = malloc(row * (size_t)job.src_part.h), *dst = malloc(dst_row * (size_t)part->h);
    assert_true(src && dst);
    for (int32_t y = 0; y < job.src_part.h; y++)
        memcpy(src + (size_t)y * row,
               whole->src + (size_t)(job.src_part.y + y) * whole->src_stride +
                   (size_t)job.src_part.x * channels,
               row);
    job.src = src;
    job.src_stride = row;
    job.dst = dst;
    assert_int_equal(cw_resample(&resample, &job, &err), 0);
    for (int32_t y = 0; y < part->h; y++)
        assert_memory_equal(
            dst + (size_t)y * dst_row,
            whole->dst + ((size_t)(part->y + y) * (size_t)job.dst_w + (size_t)part->x) * channels,
            dst_row);
    cw_resample_fini(&resample);
    free(src);
    free(dst);
}

static void test_resample_part(void **state)
{
    (void)state;
    struct cw_resample resample = {0};
    for (uint64_t i = 0; i < 300; i++) {
        struct cw_rng rng;
        struct cw_err err = {0};
        cw_rng_init(&rng, 5, 5, 5, 5, i);
        struct cw_resample_job job = {.src_h = 1 + (int32_t)cw_rng_below(&rng, 0, 60),
                                      .src_w = 1 + (int32_t)cw_rng_below(&rng, 1, 90),
                                      .channels = i % 5 ? 3 : 1,
                                      .filter = (enum cw_filter)(i % CW_FILTERS)};
        job.dst_h = i % 7 ? 1 + (int32_t)cw_rng_below(&rng, 2, 60) : job.src_h;
        job.dst_w = i % 11 ? 1 + (int32_t)cw_rng_below(&rng, 3, 90) : job.src_w;
        job.src_part = (struct cw_resample_part){.h = job.src_h, .w = job.src_w};
        job.dst_part = (struct cw_resample_part){.h = job.dst_h, .w = job.dst_w};
        job.src_stride = (size_t)job.src_w * (size_t)job.channels;
        uint8_t *src = noise(job.src_stride * (size_t)job.src_h, i);
        uint8_t *dst = malloc((size_t)job.dst_h * (size_t)job.dst_w * (size_t)job.channels);
        assert_non_null(dst);
        job.src = src;
        job.dst = dst;
        assert_int_equal(cw_resample(&resample, &job, &err), 0);
        compare_part(&job, &rng);
        free(src);
        free(dst);
    }
    cw_resample_fini(&resample);
}

static void test_resample_same(void **state)
{
    (void)state;
    /* A table is used again only for its own geometry; equal sizes copy. */
    struct cw_resample resample = {0};
    struct cw_err err = {0};
    uint8_t *src = noise(30 * 20 * 3, 1), first[10 * 10 * 3], again[10 * 10 * 3], same[30 * 20 * 3];
    struct cw_resample_job job = {.src = src,
                                  .src_stride = 30 * 3,
                                  .src_h = 20,
                                  .src_w = 30,
                                  .channels = 3,
                                  .src_part = {.h = 20, .w = 30},
                                  .dst = first,
                                  .dst_h = 10,
                                  .dst_w = 10,
                                  .dst_part = {.h = 10, .w = 10},
                                  .filter = CW_FILTER_BILINEAR};
    assert_int_equal(cw_resample(&resample, &job, &err), 0);
    job.dst = same;
    job.dst_h = job.dst_part.h = 20;
    job.dst_w = job.dst_part.w = 30;
    assert_int_equal(cw_resample(&resample, &job, &err), 0);
    assert_memory_equal(same, src, sizeof(same));
    job.dst_w = job.dst_part.w = 7;
    assert_int_equal(cw_resample(&resample, &job, &err), 0);
    job.dst = again;
    job.dst_h = job.dst_w = 10;
    job.dst_part.h = job.dst_part.w = 10;
    assert_int_equal(cw_resample(&resample, &job, &err), 0);
    assert_memory_equal(first, again, sizeof(first));
    cw_resample_fini(&resample);
    free(src);
}

static void test_exact_math(void **state)
{
    (void)state;
    for (double x = 0.001; x < 1000; x *= 1.0137) {
        assert_true(fabs(cw_exact_log(x) - log(x)) <= 1e-15 * (1 + fabs(log(x))));
        assert_true(fabs(cw_exact_exp(log(x)) - x) <= 4e-15 * x);
    }
    for (double x = -400; x < 400; x += 0.0317) {
        assert_true(fabs(cw_exact_sin(x) - sin(x)) <= 4e-16);
        assert_true(fabs(cw_exact_cos(x) - cos(x)) <= 4e-16);
    }
    for (double x = 1e-300; x < 1e300; x *= 1.7e7)
        assert_true(fabs(cw_exact_log2(x) - log2(x)) <= 1e-15 * (1 + fabs(log2(x))));
    for (int e = -1060; e < 1024; e++)
        assert_true(cw_exact_log2(ldexp(1, e)) == e);
    for (double a = -3.14; a < 3.14; a += 0.00917)
        for (double r = 1e-9; r < 1e10; r *= 1e3) {
            const double y = r * sin(a), x = r * cos(a);
            assert_true(fabs(cw_exact_atan2(y, x) - atan2(y, x)) <= 5e-16);
        }
    for (double x = 0.001; x < 1000; x *= 1.0937)
        for (double y = -20; y < 20; y += 0.37)
            assert_true(fabs(cw_exact_pow(x, y) - pow(x, y)) <= 3e-13 * pow(x, y));
    assert_true(cw_exact_sin(0.0) == 0.0 && cw_exact_cos(0.0) == 1.0);
    assert_true(cw_exact_log(1.0) == 0.0 && cw_exact_exp(0.0) == 1.0);
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

/* What is neither finite nor normal: the results are those of the C library. */
static void test_exact_special(void **state)
{
    (void)state;
    static const double v[] = {(double)NAN,
                               (double)INFINITY,
                               (double)-INFINITY,
                               0.0,
                               -0.0,
                               1.0,
                               -1.0,
                               5e-324,
                               1e308,
                               -1e308,
                               0.5,
                               3.0,
                               -2.5};
    for (size_t i = 0; i < CW_ARRAY_LEN(v); i++) {
        assert_true(same(cw_exact_exp(v[i]), exp(v[i])) || (v[i] > -3 && v[i] < 4));
        assert_true(same(cw_exact_log(v[i]), log(v[i])) || (v[i] > 0 && !isinf(v[i])));
        assert_true(same(cw_exact_log2(v[i]), log2(v[i])) || (v[i] > 0 && !isinf(v[i])));
        for (size_t j = 0; j < CW_ARRAY_LEN(v); j++) {
            const double theirs = atan2(v[i], v[j]), mine = cw_exact_atan2(v[i], v[j]);
            assert_true(same(mine, theirs) || fabs(mine - theirs) <= 5e-16);
        }
    }
    assert_true(isnan(cw_exact_sin((double)INFINITY)) && isnan(cw_exact_cos((double)NAN)));
    assert_true(isnan(cw_exact_pow(-2.0, 0.25)) && cw_exact_pow(-2.0, 3.0) == -8.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mirror),        cmocka_unit_test(test_normalize_odd),
        cmocka_unit_test(test_resample_same), cmocka_unit_test(test_resample_part),
        cmocka_unit_test(test_exact_math),    cmocka_unit_test(test_exact_special)};
    return cmocka_run_group_tests_name("pixels", tests, NULL, NULL);
}
