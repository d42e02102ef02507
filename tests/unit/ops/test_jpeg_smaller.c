/* SPDX-License-Identifier: Apache-2.0 */
/* Images that are decoded smaller are those of libjpeg with the same denominator, by both decoders; the
 * fast one does the usual files by itself. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "ops/kernels/cpu.h"
#include "ops/kernels/jpeg.h"
#include "ops/kernels/jpeg_fast.h"
#include "support/jpegs.h"

/* Decodes the file so that the shorter side keeps `least` pixels, and compares with libjpeg. */
static void check_least(struct cw_jpeg *jpeg, const struct cw_test_jpeg *file,
                        const struct cw_test_jpeg_shape *shape, int channels, int denominator)
{
    struct cw_err err = {0};
    struct cw_rect part;
    const struct cw_rect corner = {.h = 1, .w = 1};
    int64_t h, w, c;
    const int least = CW_MIN(shape->w, shape->h) / denominator;
    assert_int_equal(cw_jpeg_begin(jpeg, file->bytes, file->n, channels, &err), 0);
    assert_int_equal(cw_jpeg_shrink(jpeg, least), denominator > 1);
    cw_jpeg_size(jpeg, &h, &w, &c);
    assert_int_equal(h, (shape->h + denominator - 1) / denominator);
    assert_int_equal(w, (shape->w + denominator - 1) / denominator);
    /* who asks for a part of a smaller image gets all of it */
    assert_int_equal(cw_jpeg_part(jpeg, denominator > 1 ? &corner : NULL, &part, &err), 0);
    assert_true(part.y == 0 && part.x == 0 && part.h == h && part.w == w);
    uint8_t *expected = cw_test_jpeg_decode(file, channels, (unsigned)denominator),
            *pixels = malloc((size_t)(h * w * channels));
    assert_non_null(pixels);
    assert_int_equal(cw_jpeg_finish(jpeg, pixels, &err), 0);
    for (int64_t i = 0; i < h * w * channels; i++)
        if (pixels[i] != expected[i])
            fail_msg("%dx%d %dx%d, quality %d, by %d: sample %d is %d, not %d", shape->w, shape->h,
                     shape->h_samp, shape->v_samp, shape->quality, denominator, (int)i, pixels[i],
                     expected[i]);
    free(pixels);
    free(expected);
}

static void test_smaller(void **state)
{
    static const int sampling[][3] = {{1, 1, 3}, {2, 1, 3}, {2, 2, 3}, {1, 2, 3}, {1, 1, 1}};
    static const int sizes[][2] = {{16, 16}, {17, 31}, {151, 67}, {96, 80}, {253, 118}};
    static const int qualities[] = {5, 50, 90, 100};
    (void)state;
    struct cw_jpeg *jpeg = cw_jpeg_new();
    assert_non_null(jpeg);
    for (size_t i = 0; i < CW_ARRAY_LEN(sampling) * CW_ARRAY_LEN(sizes) * 4 * 3; i++) {
        const int *s = sampling[i % 5], *size = sizes[i / 5 % 5];
        const struct cw_test_jpeg_shape shape = {.w = size[0],
                                                 .h = size[1],
                                                 .components = s[2],
                                                 .h_samp = s[0],
                                                 .v_samp = s[1],
                                                 .quality = qualities[i / 25 % 4],
                                                 .restart = i / 100 == 1 ? 3 : 0,
                                                 .progressive = i / 100 == 2};
        const struct cw_test_jpeg file = cw_test_jpeg_encode(&shape);
        for (int denominator = 1; denominator <= 8; denominator *= 2)
            for (int plain = 0; plain < 2; plain++) {
                cw_jpeg_set_plain(jpeg, plain != 0);
                check_least(jpeg, &file, &shape, s[2], denominator);
            }
        free(file.bytes);
    }
    cw_jpeg_free(jpeg);
}

/* The fast decoder itself: it gives up no file that cameras write. */
static void test_fast(void **state)
{
    static const int sampling[][3] = {{1, 1, 3}, {2, 2, 3}, {1, 1, 1}};
    (void)state;
    if (cw_cpu_level() < CW_CPU_LEVEL_AVX2)
        skip();
    struct cw_jpeg_fast *fast = cw_jpeg_fast_new();
    for (size_t i = 0; i < CW_ARRAY_LEN(sampling) * 4; i++) {
        const int *s = sampling[i % 3];
        const struct cw_test_jpeg_shape shape = {
            .w = 151, .h = 118, .components = s[2], .h_samp = s[0], .v_samp = s[1]};
        const struct cw_test_jpeg file = cw_test_jpeg_encode(&shape);
        struct jpeg_decompress_struct d;
        struct jpeg_error_mgr errors;
        d.err = jpeg_std_error(&errors);
        jpeg_create_decompress(&d);
        jpeg_mem_src(&d, file.bytes, file.n);
        jpeg_read_header(&d, TRUE);
        d.scale_denom = 1u << i / 3;
        const struct cw_rect all = {.h = (118 + d.scale_denom - 1) / d.scale_denom,
                                    .w = (151 + d.scale_denom - 1) / d.scale_denom};
        uint8_t *expected = cw_test_jpeg_decode(&file, s[2], d.scale_denom),
                *pixels = malloc((size_t)(all.h * all.w * s[2]));
        assert_non_null(pixels);
        assert_true(cw_jpeg_fast_can(&d, s[2]));
        assert_true(cw_jpeg_fast_decode(fast, &d, s[2], &all, 118, pixels));
        assert_memory_equal(pixels, expected, (size_t)(all.h * all.w * s[2]));
        jpeg_destroy_decompress(&d);
        free(pixels);
        free(expected);
        free(file.bytes);
    }
    cw_jpeg_fast_free(fast);
}

/* Damage anywhere is found by both decoders, and nothing of it reaches the next image. */
static void test_damage(void **state)
{
    const struct cw_test_jpeg_shape shape = {
        .w = 120, .h = 90, .components = 3, .h_samp = 2, .v_samp = 2};
    const struct cw_test_jpeg file = cw_test_jpeg_encode(&shape);
    struct cw_jpeg *jpeg = cw_jpeg_new();
    struct cw_rng rng;
    size_t bad_n = 0;
    (void)state;
    assert_non_null(jpeg);
    cw_rng_init(&rng, 4, 5, 6, 7, 8);
    uint8_t *bad = malloc(file.n), *pixels[2] = {malloc(120 * 90 * 3), malloc(120 * 90 * 3)};
    assert_true(bad && pixels[0] && pixels[1]);
    for (uint32_t i = 0; i < 600; i++) {
        struct cw_rect part[2];
        int rc[2];
        memcpy(bad, file.bytes, file.n);
        /* noise, of which libjpeg sees little, or a marker */
        const size_t at = 600 + cw_rng_below(&rng, 3 * i, file.n - 602);
        bad[at] = i % 2 ? 0xff : (uint8_t)cw_rng_u64(&rng, 3 * i + 1);
        bad[at + 1] = (uint8_t)cw_rng_u64(&rng, 3 * i + 2);
        for (int plain = 0; plain < 2; plain++) {
            struct cw_err err = {0};
            cw_jpeg_set_plain(jpeg, plain != 0);
            rc[plain] = cw_jpeg_begin(jpeg, bad, file.n, 3, &err);
            if (rc[plain] < 0)
                continue;
            cw_jpeg_shrink(jpeg, 11 << i % 3);
            rc[plain] = cw_jpeg_part(jpeg, NULL, &part[plain], &err);
            if (rc[plain] == 0)
                rc[plain] = cw_jpeg_finish(jpeg, pixels[plain], &err);
        }
        assert_int_equal(rc[0], rc[1]);
        bad_n += rc[0] < 0;
        if (rc[0] == 0)
            assert_memory_equal(pixels[0], pixels[1], (size_t)(part[0].h * part[0].w * 3));
    }
    assert_true(bad_n > 100 && bad_n < 600);
    free(bad);
    free(pixels[0]);
    free(pixels[1]);
    cw_jpeg_free(jpeg);
    free(file.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_smaller), cmocka_unit_test(test_fast),
                                       cmocka_unit_test(test_damage)};
    return cmocka_run_group_tests_name("jpeg_smaller", tests, NULL, NULL);
}
