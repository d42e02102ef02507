/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes JPEG files with libjpeg, and with the fast decoder where that can do it. */
#include "ops/kernels/jpeg.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <jpeglib.h>
#include <jerror.h>
#include "base/mem.h"
#include "ops/kernels/jpeg_fast.h"
#include "ops/kernels/pixels.h"

/* Pixels that are decoded on each side in addition to the part that is wanted, because the
 * upsampling of chroma reads neighbours. */
#define MARGIN_X 2
#define MARGIN_Y 2
#define ROWS_AT_ONCE 16
/* a file with more scans is an attack, since each scan costs a pass over the whole image */
#define SCANS_MAX 500

struct cw_jpeg {
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf fail;
    char damage[JMSG_LENGTH_MAX]; /* the first warning that means lost data; "": none */
    struct cw_rect part;
    /* Number of rows of pixels from the top whose data are needed: damage behind them does not
     * count. */
    int64_t rows;
    bool ends; /* the file has an end marker, so nothing was cut off */
    int channels;
    struct cw_jpeg_fast *fast;
    bool is_fast; /* the fast decoder is tried for this image */
    bool plain;   /* the fast decoder is never used (cw_jpeg_set_plain) */
};

CW_NORETURN static void on_error(j_common_ptr common)
{
    struct cw_jpeg *jpeg = common->client_data;
    (*common->err->format_message)(common, jpeg->damage);
    longjmp(jpeg->fail, 1);
}

static bool loses_data(int msg_code)
{
    switch (msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
        return true;
    default:
        return false;
    }
}

/* Whether all data that were read are needed: in a file of several scans each part of the image
 * needs all of them. */
static bool is_needed(const struct cw_jpeg *jpeg)
{
    const struct jpeg_decompress_struct *d = &jpeg->d;
    return d->progress || (int64_t)d->input_iMCU_row * d->max_v_samp_factor * DCTSIZE < jpeg->rows;
}

static void on_message(j_common_ptr common, int level)
{
    struct cw_jpeg *jpeg = common->client_data;
    if (level < 0 && !jpeg->damage[0] && loses_data(common->err->msg_code) && is_needed(jpeg))
        (*common->err->format_message)(common, jpeg->damage);
}

static void on_output(j_common_ptr common)
{
    (void)common; /* libjpeg's own function would write to stderr */
}

static void on_progress(j_common_ptr common)
{
    struct cw_jpeg *jpeg = common->client_data;
    if (jpeg->d.input_scan_number > SCANS_MAX) {
        snprintf(jpeg->damage, sizeof(jpeg->damage), "more than %d scans", SCANS_MAX);
        longjmp(jpeg->fail, 1);
    }
}

struct cw_jpeg *cw_jpeg_new(void)
{
    struct cw_jpeg *jpeg = CW_NEW(struct cw_jpeg);
    jpeg->d.err = jpeg_std_error(&jpeg->errors);
    jpeg->errors.error_exit = on_error;
    jpeg->errors.emit_message = on_message;
    jpeg->errors.output_message = on_output;
    jpeg->d.client_data = jpeg;
    if (setjmp(jpeg->fail)) {
        cw_mem_free(jpeg);
        return NULL;
    }
    jpeg_create_decompress(&jpeg->d);
    jpeg->fast = cw_jpeg_fast_new();
    return jpeg;
}

void cw_jpeg_free(struct cw_jpeg *jpeg)
{
    if (!jpeg)
        return;
    jpeg_destroy_decompress(&jpeg->d);
    cw_jpeg_fast_free(jpeg->fast);
    cw_mem_free(jpeg);
}

void cw_jpeg_set_plain(struct cw_jpeg *jpeg, bool plain)
{
    jpeg->plain = plain;
}

void cw_jpeg_abort(struct cw_jpeg *jpeg)
{
    jpeg_abort_decompress(&jpeg->d);
}

bool cw_jpeg_is(const void *bytes, size_t n)
{
    return n >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0;
}

static int damaged(struct cw_jpeg *jpeg, struct cw_err *err)
{
    cw_jpeg_abort(jpeg);
    if (jpeg->errors.msg_code == JERR_OUT_OF_MEMORY)
        return cw_err_set(err, CW_E_NOMEM, "no memory to decode a JPEG image");
    return cw_err_set(err, CW_E_CORRUPT, "damaged JPEG image: %s", jpeg->damage);
}

/* Chooses the colour space in which libjpeg gives the image, and how the rest is converted. */
static void choose_colours(struct cw_jpeg *jpeg, int channels)
{
    struct jpeg_decompress_struct *d = &jpeg->d;
    jpeg->channels = channels ? channels : d->num_components == 1 ? 1 : 3;
    if (d->jpeg_color_space == JCS_CMYK || d->jpeg_color_space == JCS_YCCK)
        d->out_color_space = JCS_CMYK; /* libjpeg does not convert further; rows_from_cmyk does */
    else
        d->out_color_space = jpeg->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
}

int cw_jpeg_begin(struct cw_jpeg *jpeg, const void *bytes, size_t n, int channels,
                  struct cw_err *err)
{
    struct jpeg_decompress_struct *d = &jpeg->d;
    jpeg->damage[0] = 0;
    jpeg->rows = INT64_MAX;
    jpeg->errors.msg_code = 0;
    const uint8_t *p = bytes;
    jpeg->ends = n >= 4 && p[n - 2] == 0xff && p[n - 1] == 0xd9;
    if (setjmp(jpeg->fail))
        return damaged(jpeg, err);
    /* The decoder is made anew, because libjpeg would decode a file without tables by those of the
     * file before it. */
    jpeg_destroy_decompress(d);
    jpeg_create_decompress(d);
    jpeg_mem_src(d, bytes, n);
    jpeg_read_header(d, TRUE);
    d->progress = NULL;
    if (jpeg_has_multiple_scans(d)) {
        jpeg->progress.progress_monitor = on_progress;
        d->progress = &jpeg->progress;
    }
    choose_colours(jpeg, channels);
    return 0;
}

/* The pixels of a side when the image is decoded. */
static int64_t shrunk(const struct jpeg_decompress_struct *d, int64_t side)
{
    return (side + d->scale_denom - 1) / d->scale_denom;
}

void cw_jpeg_size(const struct cw_jpeg *jpeg, int64_t *ret_h, int64_t *ret_w, int64_t *ret_channels)
{
    *ret_h = shrunk(&jpeg->d, jpeg->d.image_height);
    *ret_w = shrunk(&jpeg->d, jpeg->d.image_width);
    *ret_channels = jpeg->channels;
}

bool cw_jpeg_shrink(struct cw_jpeg *jpeg, int64_t least)
{
    const int64_t side = CW_MIN(jpeg->d.image_height, jpeg->d.image_width);
    for (jpeg->d.scale_denom = DCTSIZE; jpeg->d.scale_denom > 1; jpeg->d.scale_denom /= 2)
        if (side / jpeg->d.scale_denom >= least)
            return true;
    return false;
}

static void crop(struct cw_jpeg *jpeg, const struct cw_rect *want)
{
    struct jpeg_decompress_struct *d = &jpeg->d;
    struct cw_rect *part = &jpeg->part;
    /* A part must have three samples of each component, if the image has them: with fewer, libjpeg
     * upsamples differently. */
    const int64_t narrowest = 2 * d->max_h_samp_factor + 1;
    const int64_t left = CW_MAX(CW_MIN(want->x - MARGIN_X, part->w - narrowest), 0);
    const int64_t right = CW_MIN(CW_MAX(want->x + want->w + MARGIN_X, left + narrowest), part->w);
    const int64_t bottom = CW_MIN(want->y + want->h + MARGIN_Y, part->h);
    if (left > 0 || right < part->w) {
        JDIMENSION x = (JDIMENSION)left, w = (JDIMENSION)(right - left);
        jpeg_crop_scanline(d, &x, &w);
        part->x = x;
        part->w = w;
    }
    part->y = CW_MAX(want->y - MARGIN_Y, 0);
    part->h = bottom - part->y;
}

/* Returns the number of rows of pixels whose data are needed for a part: whole rows of MCUs,
 * including those that the chroma samples below the part need. This decides which damage counts, so
 * it depends on the file and the part alone, never on which decoder is used. */
static int64_t rows_needed(const struct jpeg_decompress_struct *d, const struct cw_rect *want)
{
    const int64_t mcu_h = (int64_t)d->max_v_samp_factor * DCTSIZE,
                  bottom = want->y + want->h + MARGIN_Y;
    return CW_MIN((bottom + mcu_h - 1) / mcu_h * mcu_h, (int64_t)d->image_height);
}

/* Whether scans of a progressive file are missing. Then libjpeg smooths what there is, and smooths
 * a part differently from the whole image. */
static bool is_smoothed(const struct jpeg_decompress_struct *d)
{
    for (int i = 0; d->coef_bits && i < d->num_components; i++)
        for (int k = 0; k < DCTSIZE2; k++)
            if (d->coef_bits[i][k] != 0)
                return true;
    return false;
}

/* Begins decoding with libjpeg, and sets the part that it will decode. */
static int start(struct cw_jpeg *jpeg, const struct cw_rect *want, struct cw_err *err)
{
    struct jpeg_decompress_struct *d = &jpeg->d;
    if (setjmp(jpeg->fail))
        return damaged(jpeg, err);
    jpeg_start_decompress(d);
    jpeg->part = (struct cw_rect){.h = d->output_height, .w = d->output_width};
    /* Without an end marker the file may have been cut off anywhere, which only a full decode finds
     * out. */
    if (want && d->scale_denom == 1 && jpeg->ends && d->out_color_space != JCS_CMYK &&
        !is_smoothed(d)) {
        jpeg->rows = rows_needed(d, want);
        crop(jpeg, want);
    }
    return 0;
}

int cw_jpeg_part(struct cw_jpeg *jpeg, const struct cw_rect *want, struct cw_rect *ret_part,
                 struct cw_err *err)
{
    int rc = 0;
    jpeg->is_fast = !jpeg->plain && jpeg->ends && cw_jpeg_fast_can(&jpeg->d, jpeg->channels);
    if (jpeg->is_fast && jpeg->d.scale_denom > 1) {
        jpeg->part = (struct cw_rect){.h = shrunk(&jpeg->d, jpeg->d.image_height),
                                      .w = shrunk(&jpeg->d, jpeg->d.image_width)};
        jpeg->rows = jpeg->d.image_height;
    } else if (jpeg->is_fast) {
        jpeg->part =
            want ? *want : (struct cw_rect){.h = jpeg->d.image_height, .w = jpeg->d.image_width};
        jpeg->rows = rows_needed(&jpeg->d, &jpeg->part);
    } else {
        rc = start(jpeg, want, err);
    }
    if (rc == 0)
        *ret_part = jpeg->part;
    return rc;
}

/* Converts inks to light. Files made by Adobe hold the inks inverted. */
static void rows_from_cmyk(struct cw_jpeg *jpeg, uint8_t *dst)
{
    struct jpeg_decompress_struct *d = &jpeg->d;
    const size_t w = d->output_width;
    JSAMPARRAY row = (*d->mem->alloc_sarray)((j_common_ptr)d, JPOOL_IMAGE, (JDIMENSION)(w * 4), 1);
    const uint8_t flip = d->saw_Adobe_marker ? 0 : 255;
    while (d->output_scanline < d->output_height) {
        jpeg_read_scanlines(d, row, 1);
        for (size_t x = 0; x < w; x++) {
            uint8_t rgb[3];
            for (size_t c = 0; c < 3; c++) {
                const unsigned v =
                    (unsigned)(row[0][4 * x + c] ^ flip) * (unsigned)(row[0][4 * x + 3] ^ flip) +
                    128;
                rgb[c] = (uint8_t)((v + (v >> 8)) >> 8); /* v / 255, rounded */
            }
            if (jpeg->channels == 3)
                memcpy(dst + 3 * x, rgb, 3);
            else
                cw_pixels_grey(dst + x, rgb, 1);
        }
        dst += w * (size_t)jpeg->channels;
    }
}

static void read_rows(struct cw_jpeg *jpeg, uint8_t *dst)
{
    struct jpeg_decompress_struct *d = &jpeg->d;
    const size_t stride = (size_t)d->output_width * (size_t)jpeg->channels;
    const JDIMENSION first = (JDIMENSION)jpeg->part.y, end = first + (JDIMENSION)jpeg->part.h;
    if (first > 0)
        jpeg_skip_scanlines(d, first);
    while (d->output_scanline < end) {
        JSAMPROW rows[ROWS_AT_ONCE];
        JDIMENSION n = CW_MIN(end - d->output_scanline, ROWS_AT_ONCE);
        for (JDIMENSION i = 0; i < n; i++)
            rows[i] = dst + (size_t)(d->output_scanline - first + i) * stride;
        jpeg_read_scanlines(d, rows, n);
    }
}

static int finish(struct cw_jpeg *jpeg, uint8_t *dst, struct cw_err *err)
{
    struct jpeg_decompress_struct *d = &jpeg->d;
    if (setjmp(jpeg->fail))
        return damaged(jpeg, err);
    if (d->out_color_space == JCS_CMYK)
        rows_from_cmyk(jpeg, dst);
    else
        read_rows(jpeg, dst);
    if (!jpeg->ends)
        jpeg_finish_decompress(d); /* this looks for the end marker */
    return jpeg->damage[0] ? damaged(jpeg, err) : 0;
}

/* Decodes the part with libjpeg after the fast decoder gave up: with its margins, to other
 * memory. */
static int decode_again(struct cw_jpeg *jpeg, uint8_t *dst, struct cw_err *err)
{
    const struct cw_rect want = jpeg->part;
    int rc = start(jpeg, &want, err);
    if (rc < 0)
        return rc;
    const size_t pixel = (size_t)jpeg->channels, stride = (size_t)jpeg->part.w * pixel,
                 row_bytes = (size_t)want.w * pixel;
    cw_autofree uint8_t *pixels = cw_mem_try(stride * (size_t)jpeg->part.h);
    if (!pixels)
        return cw_err_set(err, CW_E_NOMEM, "no memory to decode a JPEG image");
    rc = finish(jpeg, pixels, err);
    const uint8_t *from =
        pixels + (size_t)(want.y - jpeg->part.y) * stride + (size_t)(want.x - jpeg->part.x) * pixel;
    for (int64_t y = 0; y < want.h && rc == 0; y++)
        memcpy(dst + (size_t)y * row_bytes, from + (size_t)y * stride, row_bytes);
    return rc;
}

int cw_jpeg_finish(struct cw_jpeg *jpeg, uint8_t *dst, struct cw_err *err)
{
    int rc = 0;
    if (!jpeg->is_fast)
        rc = finish(jpeg, dst, err);
    else if (!cw_jpeg_fast_decode(jpeg->fast, &jpeg->d, jpeg->channels, &jpeg->part, jpeg->rows,
                                  dst))
        rc = decode_again(jpeg, dst, err);
    cw_jpeg_abort(jpeg);
    return rc;
}
