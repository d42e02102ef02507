/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a JPEG file: whole images and parts are what libjpeg gives, damage is an error
 * for both. Of a damaged file both decoders find the same parts sound, and give the same
 * samples. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jpeglib.h>
#include <jerror.h>
#include "base/hash.h"
#include "ops/kernels/jpeg.h"

#define PIXELS_MAX (256 * 256)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct oracle {
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    jmp_buf fail;
    bool is_damaged;
    uint8_t *pixels;
};

static void on_error(j_common_ptr common)
{
    longjmp(((struct oracle *)common->client_data)->fail, 1);
}

static void on_message(j_common_ptr common, int level)
{
    const int code = common->err->msg_code;
    if (level < 0 &&
        (code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_ARITH_BAD_CODE ||
         code == JWRN_JPEG_EOF || code == JWRN_MUST_RESYNC))
        ((struct oracle *)common->client_data)->is_damaged = true;
}

/* All of the image by libjpeg alone; false when it is damaged. */
static bool decode(struct oracle *oracle, const uint8_t *data, size_t n)
{
    struct jpeg_decompress_struct *d = &oracle->d;
    d->err = jpeg_std_error(&oracle->errors);
    oracle->errors.error_exit = on_error;
    oracle->errors.emit_message = on_message;
    d->client_data = oracle;
    jpeg_create_decompress(d);
    if (setjmp(oracle->fail))
        return false;
    jpeg_mem_src(d, data, n);
    jpeg_read_header(d, TRUE);
    d->out_color_space = JCS_RGB;
    jpeg_start_decompress(d);
    const size_t stride = (size_t)d->output_width * 3;
    oracle->pixels = malloc(stride * d->output_height);
    while (d->output_scanline < d->output_height) {
        JSAMPROW row = oracle->pixels + d->output_scanline * stride;
        jpeg_read_scanlines(d, &row, 1);
    }
    /* What lies between the last pixel and the end marker is nobody's business; but there must
     * be one. */
    if (memcmp(data + n - 2, "\xff\xd9", 2) != 0)
        jpeg_finish_decompress(d);
    return !oracle->is_damaged;
}

static void compare(const struct oracle *oracle, const uint8_t *pixels, const struct cw_rect *part,
                    const struct cw_rect *want)
{
    for (int64_t y = want->y; y < want->y + want->h; y++)
        if (memcmp(oracle->pixels + (y * oracle->d.output_width + want->x) * 3,
                   pixels + ((y - part->y) * part->w + want->x - part->x) * 3,
                   (size_t)want->w * 3) != 0) {
            fprintf(stderr, "row %d of %dx%d at %d,%d of %ux%u, sampling %dx%d, progressive %d\n",
                    (int)y, (int)want->w, (int)want->h, (int)want->x, (int)want->y,
                    oracle->d.output_width, oracle->d.output_height,
                    oracle->d.comp_info[0].h_samp_factor, oracle->d.comp_info[0].v_samp_factor,
                    oracle->d.progressive_mode);
            abort();
        }
}

/* One decoding of ours; all_good: libjpeg has nothing against the file. */
static void check(struct cw_jpeg *jpeg, const uint8_t *data, size_t n, const struct cw_rect *want,
                  const struct oracle *oracle, bool all_good)
{
    struct cw_err err = {0};
    struct cw_rect part;
    if (cw_jpeg_begin(jpeg, data, n, 3, &err) < 0 || cw_jpeg_part(jpeg, want, &part, &err) < 0) {
        if (all_good || !err.msg[0])
            abort();
        return;
    }
    uint8_t *pixels = malloc((size_t)(part.h * part.w * 3));
    const int rc = cw_jpeg_finish(jpeg, pixels, &err);
    if (all_good && rc < 0)
        abort();
    if (rc == 0 && !want && !all_good)
        abort();
    if (all_good)
        compare(oracle, pixels, &part, want ? want : &part);
    free(pixels);
}

/* One decoding of a part; NULL when it is damaged. */
static uint8_t *decode_part(struct cw_jpeg *jpeg, const uint8_t *data, size_t n,
                            const struct cw_rect *want)
{
    struct cw_err err = {0};
    struct cw_rect part;
    if (cw_jpeg_begin(jpeg, data, n, 3, &err) < 0 || cw_jpeg_part(jpeg, want, &part, &err) < 0)
        return NULL;
    uint8_t *pixels = malloc((size_t)(part.h * part.w * 3));
    if (cw_jpeg_finish(jpeg, pixels, &err) < 0) {
        free(pixels);
        return NULL;
    }
    for (int64_t y = 0; y < want->h; y++)
        memmove(pixels + y * want->w * 3,
                pixels + ((want->y - part.y + y) * part.w + want->x - part.x) * 3,
                (size_t)want->w * 3);
    return pixels;
}

static void check_same(struct cw_jpeg *jpeg, const uint8_t *data, size_t n,
                       const struct cw_rect *want)
{
    cw_jpeg_set_plain(jpeg, false);
    uint8_t *fast = decode_part(jpeg, data, n, want);
    cw_jpeg_set_plain(jpeg, true);
    uint8_t *plain = decode_part(jpeg, data, n, want);
    if (!fast != !plain || (fast && memcmp(fast, plain, (size_t)(want->h * want->w * 3)) != 0))
        abort();
    free(fast);
    free(plain);
}

/* The image decoded smaller: NULL when it is damaged. */
static uint8_t *decode_smaller(struct cw_jpeg *jpeg, const uint8_t *data, size_t n, int64_t least,
                               size_t *ret_bytes)
{
    struct cw_err err = {0};
    struct cw_rect part;
    if (cw_jpeg_begin(jpeg, data, n, 3, &err) < 0)
        return NULL;
    cw_jpeg_shrink(jpeg, least);
    if (cw_jpeg_part(jpeg, NULL, &part, &err) < 0)
        return NULL;
    *ret_bytes = (size_t)(part.h * part.w * 3);
    uint8_t *pixels = malloc(*ret_bytes);
    if (cw_jpeg_finish(jpeg, pixels, &err) == 0)
        return pixels;
    free(pixels);
    return NULL;
}

static void check_smaller(struct cw_jpeg *jpeg, const uint8_t *data, size_t n, int64_t least)
{
    size_t fast_n = 0, plain_n = 0;
    cw_jpeg_set_plain(jpeg, false);
    uint8_t *fast = decode_smaller(jpeg, data, n, least, &fast_n);
    cw_jpeg_set_plain(jpeg, true);
    uint8_t *plain = decode_smaller(jpeg, data, n, least, &plain_n);
    if (!fast != !plain || (fast && (fast_n != plain_n || memcmp(fast, plain, fast_n) != 0)))
        abort();
    free(fast);
    free(plain);
}

static bool is_small(const uint8_t *data, size_t n, int64_t *ret_h, int64_t *ret_w)
{
    struct cw_err err = {0};
    int64_t channels;
    struct cw_jpeg *jpeg = cw_jpeg_new();
    bool small = cw_jpeg_begin(jpeg, data, n, 3, &err) == 0;
    if (small) {
        cw_jpeg_size(jpeg, ret_h, ret_w, &channels);
        small = *ret_h * *ret_w <= PIXELS_MAX;
    }
    cw_jpeg_free(jpeg);
    return small;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    /* kept, as a thread keeps it: nothing of one file may reach the next */
    static struct cw_jpeg *jpeg;
    int64_t h, w;
    if (!cw_jpeg_is(data, n) || !is_small(data, n, &h, &w))
        return 0;
    if (!jpeg)
        jpeg = cw_jpeg_new();
    struct oracle oracle = {0};
    const bool all_good = decode(&oracle, data, n);
    if (oracle.d.num_components !=
        4) { /* inks have their own test: libjpeg does not turn them into RGB */
        const uint64_t pick = cw_hash_u64(data, n);
        struct cw_rect want = {.h = 1 + (int64_t)(pick % (uint64_t)h),
                               .w = 1 + (int64_t)(pick / 70000 % (uint64_t)w)};
        want.y = (int64_t)(pick >> 20) % (h - want.h + 1);
        want.x = (int64_t)(pick >> 40) % (w - want.w + 1);
        cw_jpeg_set_plain(jpeg, pick >> 62 == 0);
        check(jpeg, data, n, NULL, &oracle, all_good);
        check(jpeg, data, n, &want, &oracle, all_good);
        check_same(jpeg, data, n, &want);
        check_smaller(jpeg, data, n, CW_MAX(CW_MIN(h, w) >> (1 + pick % 3), 1));
    }
    jpeg_destroy_decompress(&oracle.d);
    free(oracle.pixels);
    return 0;
}
