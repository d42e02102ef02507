/* SPDX-License-Identifier: Apache-2.0 */
/* The AVX2 loops give the bytes of the plain ones, for any size, and touch nothing beside. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "ops/kernels/cpu.h"
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

static void test_mirror(void **state)
{
    (void)state;
    if (!cw_cpu_has_avx2())
        skip();
    for (size_t w = 1; w < 70; w++) {
        const size_t h = 1 + w % 3, n = w * h * 3;
        uint8_t *src = noise(n, w), *a = malloc(n), *b = malloc(n);
        assert_true(a && b);
        cw_pixels_mirror_plain(a, src, h, w, 3);
        cw_pixels_mirror3_avx2(b, src, h, w);
        assert_memory_equal(a, b, n);
        assert_memory_equal(a, src + 3 * (w - 1), 3);
        free(src);
        free(a);
        free(b);
    }
}

static void test_normalize(void **state)
{
    (void)state;
    const float mean[4] = {0.485f, 0.456f, 0.406f, 0.5f}, std[4] = {0.229f, 0.224f, 0.225f, 0.25f};
    bool any_fast = false;
    for (size_t channels = 1; channels <= 4; channels++) {
        struct cw_normalize normalize;
        cw_normalize_init(&normalize, 255.0f, mean, std, channels);
        any_fast |= normalize.fast;
        for (size_t i = 0; i < 202; i++) {
            const size_t n =
                channels * (i < 200 ? i : 15000 + i); /* large ones are written in another way */
            uint8_t *src = noise(n, n);
            float *a = aligned_alloc(32, (n * sizeof(float) + 32) / 32 * 32),
                  *b = aligned_alloc(32, (n * sizeof(float) + 32) / 32 * 32);
            assert_true(a && b);
            cw_normalize_u8_plain(&normalize, a, src, n);
            cw_normalize_u8(&normalize, b, src, n);
            assert_memory_equal(a, b, n * sizeof(float));
            free(src);
            free(a);
            free(b);
        }
        cw_normalize_fini(&normalize);
    }
    assert_int_equal(any_fast, cw_cpu_has_avx2_fma());
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
            cw_normalize_u8_plain(&normalize, a, src, 256);
            cw_normalize_u8(&normalize, b, src, 256);
            assert_memory_equal(a, b, sizeof(a));
            cw_normalize_fini(&normalize);
        }
}

/* Both ways through one pass of each kind. */
static void compare_passes(int32_t in_h, int32_t in_w, int32_t out_h, int32_t out_w,
                           enum cw_filter filter, int32_t channels)
{
    struct cw_err err = {0};
    struct cw_filter_axis x = {0}, y = {0};
    assert_int_equal(cw_filter_prepare(&x, in_w, out_w, filter, &err), 0);
    assert_int_equal(cw_filter_prepare(&y, in_h, out_h, filter, &err), 0);
    const size_t in_row = (size_t)in_w * (size_t)channels,
                 out_row = (size_t)out_w * (size_t)channels;
    const size_t middle_n = out_row * (size_t)in_h, out_n = out_row * (size_t)out_h;
    uint8_t *src = noise(in_row * (size_t)in_h, (uint64_t)(in_h * 1000 + in_w));
    uint8_t *a = malloc(middle_n), *b = malloc(middle_n), *c = malloc(out_n), *d = malloc(out_n);
    assert_true(a && b && c && d);
    struct cw_resample_x pass_x = {.src = src,
                                   .src_stride = in_row,
                                   .src_bytes = in_row,
                                   .dst = a,
                                   .dst_stride = out_row,
                                   .rows = in_h,
                                   .channels = channels,
                                   .axis = &x};
    cw_resample_x_plain(&pass_x);
    if (channels == 3) {
        pass_x.dst = b;
        cw_resample_x_avx2(&pass_x);
        assert_memory_equal(a, b, middle_n);
    }
    struct cw_resample_y pass_y = {
        .src = a, .src_stride = out_row, .dst = c, .row_bytes = out_row, .axis = &y};
    cw_resample_y_plain(&pass_y);
    pass_y.dst = d;
    cw_resample_y_avx2(&pass_y);
    assert_memory_equal(c, d, out_n);
    free(src);
    free(a);
    free(b);
    free(c);
    free(d);
    cw_filter_fini(&x);
    cw_filter_fini(&y);
}

static void test_resample(void **state)
{
    (void)state;
    if (!cw_cpu_has_avx2())
        skip();
    struct cw_rng rng;
    cw_rng_init(&rng, 4, 4, 4, 4, 4);
    for (uint32_t i = 0; i < 400; i++) {
        const uint64_t most = i % 4 ? 40 : 400;
        const int32_t in_h = 1 + (int32_t)cw_rng_below(&rng, 8 * i, 60),
                      in_w = 1 + (int32_t)cw_rng_below(&rng, 8 * i + 1, most);
        const int32_t out_h = 1 + (int32_t)cw_rng_below(&rng, 8 * i + 2, 60),
                      out_w = 1 + (int32_t)cw_rng_below(&rng, 8 * i + 3, 90);
        const enum cw_filter filter = (enum cw_filter)(i % 4);
        compare_passes(in_h, in_w, out_h, out_w, filter, i % 5 == 0 ? 1 : 3);
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
                                      .filter = (enum cw_filter)(i % 4)};
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
    assert_true(cw_exact_log(1.0) == 0.0 && cw_exact_exp(0.0) == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mirror),        cmocka_unit_test(test_normalize),
        cmocka_unit_test(test_normalize_odd), cmocka_unit_test(test_resample),
        cmocka_unit_test(test_resample_same), cmocka_unit_test(test_resample_part),
        cmocka_unit_test(test_exact_math)};
    return cmocka_run_group_tests_name("pixels", tests, NULL, NULL);
}
