/* SPDX-License-Identifier: Apache-2.0 */
/* The part that a crop needs has the samples of a full decode; damage is found. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "ops/kernels/cpu.h"
#include "ops/kernels/jpeg.h"
#include "ops/kernels/jpeg_fast.h"
#include "support/jpegs.h"

static void check_rect_once(struct cw_jpeg *jpeg, const struct cw_test_jpeg *file,
                            const struct cw_test_jpeg_shape *shape, int channels,
                            const uint8_t *full, const struct cw_rect *want)
{
    struct cw_err err = {0};
    struct cw_rect part;
    assert_int_equal(cw_jpeg_begin(jpeg, file->bytes, file->n, channels, &err), 0);
    assert_int_equal(cw_jpeg_part(jpeg, want, &part, &err), 0);
    assert_true(part.y <= want->y && part.y + part.h >= want->y + want->h);
    assert_true(part.x <= want->x && part.x + part.w >= want->x + want->w);
    assert_true(part.y >= 0 && part.x >= 0 && part.y + part.h <= shape->h &&
                part.x + part.w <= shape->w);
    uint8_t *pixels = malloc((size_t)(part.h * part.w * channels));
    assert_non_null(pixels);
    assert_int_equal(cw_jpeg_finish(jpeg, pixels, &err), 0);
    for (int64_t y = want->y; y < want->y + want->h; y++) {
        const uint8_t *a = full + (y * shape->w + want->x) * channels;
        const uint8_t *b = pixels + ((y - part.y) * part.w + want->x - part.x) * channels;
        if (memcmp(a, b, (size_t)(want->w * channels)) != 0)
            fail_msg("row %d of %dx%d at %d,%d of %dx%d %dx%d%s differs from a full decode", (int)y,
                     (int)want->w, (int)want->h, (int)want->x, (int)want->y, shape->w, shape->h,
                     shape->h_samp, shape->v_samp, shape->progressive ? " progressive" : "");
    }
    free(pixels);
}

/* By the fast decoder where it can, and by libjpeg alone. */
static void check_rect(struct cw_jpeg *jpeg, const struct cw_test_jpeg *file,
                       const struct cw_test_jpeg_shape *shape, int channels, const uint8_t *full,
                       const struct cw_rect *want)
{
    for (int plain = 0; plain < 2; plain++) {
        cw_jpeg_set_plain(jpeg, plain != 0);
        check_rect_once(jpeg, file, shape, channels, full, want);
    }
}

static void check_shape(struct cw_jpeg *jpeg, const struct cw_test_jpeg_shape *shape,
                        uint32_t rects)
{
    const struct cw_test_jpeg file = cw_test_jpeg_encode(shape);
    struct cw_rng rng;
    cw_rng_init(&rng, (uint64_t)shape->w, (uint64_t)shape->h, (uint64_t)shape->h_samp, 0, 0);
    for (int channels = 1; channels <= 3; channels += 2) {
        uint8_t *full = cw_test_jpeg_decode(&file, channels, 1);
        for (uint32_t i = 0; i < rects; i++) {
            struct cw_rect want;
            want.h = 1 + (int64_t)cw_rng_below(&rng, 4 * i, (uint64_t)shape->h);
            want.w = 1 + (int64_t)cw_rng_below(&rng, 4 * i + 1, (uint64_t)shape->w);
            want.y = (int64_t)cw_rng_below(&rng, 4 * i + 2, (uint64_t)(shape->h - want.h + 1));
            want.x = (int64_t)cw_rng_below(&rng, 4 * i + 3, (uint64_t)(shape->w - want.w + 1));
            check_rect(jpeg, &file, shape, channels, full, &want);
        }
        check_rect(jpeg, &file, shape, channels, full,
                   &(struct cw_rect){.h = shape->h, .w = shape->w});
        free(full);
    }
    free(file.bytes);
}

static void test_parts(void **state)
{
    static const int sampling[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {4, 2}};
    static const int sizes[][2] = {{149, 131}, {64, 48}, {33, 97},  {8, 8},
                                   {1, 1},     {17, 16}, {200, 161}};
    (void)state;
    struct cw_jpeg *jpeg = cw_jpeg_new();
    assert_non_null(jpeg);
    for (size_t s = 0; s < CW_ARRAY_LEN(sizes); s++) {
        for (size_t i = 0; i < CW_ARRAY_LEN(sampling); i++)
            for (int kind = 0; kind < 3; kind++)
                check_shape(jpeg,
                            &(struct cw_test_jpeg_shape){.w = sizes[s][0],
                                                         .h = sizes[s][1],
                                                         .components = 3,
                                                         .h_samp = sampling[i][0],
                                                         .v_samp = sampling[i][1],
                                                         .progressive = kind == 1,
                                                         .restart = kind == 2 ? 5 : 0},
                            40);
        check_shape(
            jpeg,
            &(struct cw_test_jpeg_shape){
                .w = sizes[s][0], .h = sizes[s][1], .components = 1, .h_samp = 1, .v_samp = 1},
            40);
    }
    cw_jpeg_free(jpeg);
}

/* Parts with a sample or two of some component, which libjpeg upsamples in another way than more
 * of them. */
static void test_narrow(void **state)
{
    static const int sampling[][3] = {{1, 2, 4}, {2, 1, 4}, {4, 2, 1}, {4, 4, 2}, {2, 1, 1}};
    static const int widths[] = {1, 4, 5, 8, 9, 10, 17, 36};
    (void)state;
    struct cw_jpeg *jpeg = cw_jpeg_new();
    assert_non_null(jpeg);
    for (size_t i = 0; i < CW_ARRAY_LEN(sampling) * CW_ARRAY_LEN(widths) * 4; i++) {
        const int *s = sampling[i % 5];
        const struct cw_test_jpeg_shape shape = {.w = widths[i / 5 % 8],
                                                 .h = 11,
                                                 .components = 3,
                                                 .h_samp = s[0],
                                                 .v_samp = s[0] < 4 && i / 40 % 2 ? 2 : 1,
                                                 .progressive = i >= 80,
                                                 .chroma = {s[1], s[2]}};
        const struct cw_test_jpeg file = cw_test_jpeg_encode(&shape);
        uint8_t *full = cw_test_jpeg_decode(&file, 3, 1);
        for (int w = 1; w <= CW_MIN(shape.w, 3); w++)
            for (int x = 0; x + w <= shape.w; x++)
                check_rect(jpeg, &file, &shape, 3, full,
                           &(struct cw_rect){.y = x % 9, .x = x, .h = 2, .w = w});
        free(full);
        free(file.bytes);
    }
    cw_jpeg_free(jpeg);
}

/* The fast decoder does the usual files by itself, whole and in parts. */
static void check_fast(struct cw_jpeg_fast *fast, const struct cw_test_jpeg_shape *shape)
{
    const struct cw_test_jpeg file = cw_test_jpeg_encode(shape);
    const int channels = shape->components;
    uint8_t *full = cw_test_jpeg_decode(&file, channels, 1),
            *part = malloc((size_t)(shape->w * shape->h * channels));
    assert_non_null(part);
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    d.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, file.bytes, file.n);
    jpeg_read_header(&d, TRUE);
    assert_true(cw_jpeg_fast_can(&d, channels));
    for (int i = 0; i < 4; i++) {
        const struct cw_rect rect = {.y = i * shape->h / 5,
                                     .x = i * shape->w / 7,
                                     .h = shape->h - i * shape->h / 4,
                                     .w = shape->w - i * shape->w / 5};
        assert_true(cw_jpeg_fast_decode(fast, &d, channels, &rect, shape->h, part));
        for (int64_t y = 0; y < rect.h; y++)
            assert_memory_equal(part + y * rect.w * channels,
                                full + ((rect.y + y) * shape->w + rect.x) * channels,
                                (size_t)(rect.w * channels));
    }
    jpeg_destroy_decompress(&d);
    free(part);
    free(full);
    free(file.bytes);
}

static void test_fast(void **state)
{
    static const int sampling[][3] = {{1, 1, 3}, {2, 1, 3}, {2, 2, 3}, {1, 1, 1}};
    static const int sizes[][2] = {{16, 1}, {17, 31}, {151, 67}, {96, 80}, {253, 118}};
    static const int qualities[] = {5, 50, 75, 90, 100};
    (void)state;
    if (cw_cpu_level() < CW_CPU_LEVEL_AVX2)
        skip();
    struct cw_jpeg_fast *fast = cw_jpeg_fast_new();
    for (size_t i = 0;
         i < CW_ARRAY_LEN(sampling) * CW_ARRAY_LEN(sizes) * CW_ARRAY_LEN(qualities) * 4; i++) {
        const int *s = sampling[i % 4], *size = sizes[i / 4 % 5];
        check_fast(fast, &(struct cw_test_jpeg_shape){.w = size[0],
                                                      .h = size[1],
                                                      .components = s[2],
                                                      .h_samp = s[0],
                                                      .v_samp = s[1],
                                                      .quality = qualities[i / 20 % 5],
                                                      .restart = i / 100 % 2 ? 3 : 0,
                                                      .optimize = i / 200 != 0});
    }
    cw_jpeg_fast_free(fast);
}

/* Decodes all or a part; the code, and the message in err. */
static int decode(struct cw_jpeg *jpeg, const void *bytes, size_t n, const struct cw_rect *want,
                  struct cw_err *err)
{
    struct cw_rect part;
    int rc = cw_jpeg_begin(jpeg, bytes, n, 3, err);
    if (rc == 0)
        rc = cw_jpeg_part(jpeg, want, &part, err);
    if (rc == 0) {
        uint8_t *pixels = malloc((size_t)(part.h * part.w * 3));
        assert_non_null(pixels);
        rc = cw_jpeg_finish(jpeg, pixels, err);
        free(pixels);
    }
    return rc;
}

static void test_damage(void **state)
{
    (void)state;
    const struct cw_test_jpeg_shape shape = {
        .w = 120, .h = 90, .components = 3, .h_samp = 2, .v_samp = 2};
    const struct cw_test_jpeg file = cw_test_jpeg_encode(&shape);
    const struct cw_rect top = {.h = 8, .w = 8};
    struct cw_jpeg *jpeg = cw_jpeg_new();
    assert_non_null(jpeg);
    /* Cut off anywhere, even where a crop would not look. */
    for (size_t n = 4; n < file.n; n++) {
        struct cw_err err = {0};
        uint8_t *cut = malloc(n); /* exactly as long, so that a sanitizer sees reads behind it */
        assert_non_null(cut);
        memcpy(cut, file.bytes, n);
        assert_int_equal(decode(jpeg, cut, n, &top, &err), CW_E_CORRUPT);
        assert_non_null(strstr(err.msg, "damaged JPEG image: "));
        free(cut);
    }
    /* Bytes that are not what was written: an error or an image, never worse; and the decoder
     * works on. */
    struct cw_rng rng;
    cw_rng_init(&rng, 9, 9, 9, 9, 9);
    uint8_t *bad = malloc(file.n);
    assert_non_null(bad);
    for (uint32_t i = 0; i < 400; i++) {
        struct cw_err err = {0};
        memcpy(bad, file.bytes, file.n);
        for (uint32_t k = 0; k < 1 + i % 4; k++)
            bad[2 + cw_rng_below(&rng, 16 * i + 2 * k, file.n - 2)] =
                (uint8_t)cw_rng_u64(&rng, 16 * i + 2 * k + 1);
        const int rc = decode(jpeg, bad, file.n, i % 2 ? &top : NULL, &err);
        assert_true(rc == 0 || (rc == CW_E_CORRUPT && err.msg[0]) || rc == CW_E_NOMEM);
    }
    free(bad);
    struct cw_err err = {0};
    assert_int_equal(decode(jpeg, file.bytes, file.n, NULL, &err), 0);
    assert_int_equal(decode(jpeg, file.bytes, file.n, &top, &err), 0);
    cw_jpeg_free(jpeg);
    free(file.bytes);
}

/* What one decoding of a part gives. */
struct outcome {
    int rc;
    uint8_t *pixels; /* of `want` */
};

static struct outcome decode_want(struct cw_jpeg *jpeg, const struct cw_test_jpeg *file,
                                  const struct cw_rect *want)
{
    struct cw_err err = {0};
    struct cw_rect part;
    struct outcome out = {.pixels = calloc((size_t)(want->h * want->w), 3)};
    assert_non_null(out.pixels);
    out.rc = cw_jpeg_begin(jpeg, file->bytes, file->n, 3, &err);
    if (out.rc == 0)
        out.rc = cw_jpeg_part(jpeg, want, &part, &err);
    if (out.rc < 0)
        return out;
    uint8_t *pixels = malloc((size_t)(part.h * part.w * 3));
    assert_non_null(pixels);
    out.rc = cw_jpeg_finish(jpeg, pixels, &err);
    for (int64_t y = 0; y < want->h && out.rc == 0; y++)
        memcpy(out.pixels + y * want->w * 3,
               pixels + ((want->y - part.y + y) * part.w + want->x - part.x) * 3,
               (size_t)want->w * 3);
    free(pixels);
    return out;
}

/* A damaged file: whoever decodes a part, with which decoder, finds the same damage and the same
 * samples; and whoever finds a whole image sound finds each part of it sound. Returns whether
 * the part is sound although the whole is not. */
static bool check_damaged(struct cw_jpeg *fast, struct cw_jpeg *plain,
                          const struct cw_test_jpeg *file, const struct cw_rect *all,
                          const struct cw_rect *want)
{
    const struct outcome whole = decode_want(plain, file, all);
    const struct outcome a = decode_want(fast, file, want), b = decode_want(plain, file, want);
    assert_int_equal(a.rc, b.rc);
    assert_true(whole.rc < 0 || a.rc == 0);
    if (a.rc == 0)
        assert_memory_equal(a.pixels, b.pixels, (size_t)(want->h * want->w * 3));
    free(whole.pixels);
    free(a.pixels);
    free(b.pixels);
    return whole.rc < 0 && a.rc == 0;
}

/* Damage of three kinds at every tenth of the file: an end marker, noise, a restart marker out
 * of order. */
static void damage(struct cw_test_jpeg *bad, const struct cw_test_jpeg *good, int tenth, int kind,
                   const struct cw_rng *rng)
{
    const size_t at = good->n * (size_t)tenth / 10;
    memcpy(bad->bytes, good->bytes, good->n);
    bad->bytes[at] = 0xff;
    bad->bytes[at + 1] = kind == 0 ? 0xd9 : 0xd6;
    for (uint32_t k = 0; kind == 1 && k < 8; k++)
        bad->bytes[at + k] = (uint8_t)cw_rng_u64(rng, (uint32_t)tenth * 8 + k);
}

static size_t check_all_damage(struct cw_jpeg *fast, struct cw_jpeg *plain,
                               const struct cw_test_jpeg_shape *shape)
{
    const struct cw_test_jpeg good = cw_test_jpeg_encode(shape);
    struct cw_test_jpeg bad = {.bytes = malloc(good.n), .n = good.n};
    const struct cw_rect all = {.h = shape->h, .w = shape->w};
    struct cw_rng rng;
    size_t partly = 0;
    assert_non_null(bad.bytes);
    cw_rng_init(&rng, 5, 6, 7, 8, (uint64_t)shape->w);
    for (int i = 0; i < 10 * 3; i++) {
        damage(&bad, &good, i % 10, i / 10, &rng);
        /* the part's last row: around each row of MCUs */
        for (int64_t edge = 0; edge < shape->h; edge += 5) {
            const struct cw_rect want = {.y = edge / 2, .x = 9, .h = edge - edge / 2 + 1, .w = 21};
            partly += check_damaged(fast, plain, &bad, &all, &want);
        }
    }
    free(bad.bytes);
    free(good.bytes);
    return partly;
}

static void test_same_damage(void **state)
{
    static const struct cw_test_jpeg_shape shapes[] = {
        {.w = 101, .h = 90, .components = 3, .h_samp = 2, .v_samp = 2},
        {.w = 101, .h = 90, .components = 3, .h_samp = 2, .v_samp = 1, .restart = 5},
        {.w = 101, .h = 90, .components = 3, .h_samp = 1, .v_samp = 1},
        {.w = 101, .h = 90, .components = 3, .h_samp = 1, .v_samp = 2},
        {.w = 101, .h = 90, .components = 1, .h_samp = 1, .v_samp = 1},
        {.w = 101, .h = 90, .components = 1, .h_samp = 2, .v_samp = 2},
        {.w = 101, .h = 90, .components = 3, .h_samp = 2, .v_samp = 2, .progressive = true},
    };
    (void)state;
    struct cw_jpeg *fast = cw_jpeg_new(), *plain = cw_jpeg_new();
    cw_jpeg_set_plain(plain, true);
    for (size_t i = 0; i < CW_ARRAY_LEN(shapes); i++) {
        const size_t partly = check_all_damage(fast, plain, &shapes[i]);
        assert_true(shapes[i].progressive ? partly == 0 : partly > 10);
    }
    cw_jpeg_free(fast);
    cw_jpeg_free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts), cmocka_unit_test(test_narrow),
                                       cmocka_unit_test(test_fast), cmocka_unit_test(test_damage),
                                       cmocka_unit_test(test_same_damage)};
    return cmocka_run_group_tests_name("jpeg", tests, NULL, NULL);
}
