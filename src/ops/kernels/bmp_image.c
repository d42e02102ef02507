/* SPDX-License-Identifier: Apache-2.0 */
/* BMP files: 1, 4 and 8 bits with a palette, 16 bits (5-5-5 and 5-6-5), 24 and 32 bits; not compressed. */
#include <string.h>
#include "base/mem.h"
#include "ops/kernels/pixels.h"
#include "ops/kernels/still.h"

#define FILE_HEADER 14
#define CORE_HEADER 12
#define INFO_HEADER 40
#define SIDE_MAX 65535

enum { PLAIN = 0, BITFIELDS = 3 };

struct bmp {
    int bits;
    bool is_565, is_down; /* rows begin at the top */
    size_t pixels;        /* where they begin */
    size_t stride;
    uint8_t at[3]; /* of 32 bits: the bytes of red, green and blue */
    bool is_grey;
    struct cw_still_palette palette;
};

static uint32_t u16(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t u32(const uint8_t *p)
{
    return u16(p) | u16(p + 2) << 16;
}

static int damaged(const char *what, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "damaged BMP image: %s", what);
}

static bool is(const uint8_t *bytes, size_t n)
{
    return n >= 2 && memcmp(bytes, "BM", 2) == 0;
}

static int read_palette(struct bmp *bmp, const struct cw_still *still, size_t at, size_t each,
                        uint32_t used, struct cw_err *err)
{
    const size_t all = (size_t)1 << bmp->bits, n = used ? CW_MIN(used, all) : all;
    if (at > still->n || still->n - at < n * each)
        return damaged("its palette is cut off", err);
    bmp->palette.n = (int)n;
    bmp->is_grey = true;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *bgr = still->bytes + at + i * each;
        uint8_t *rgb = bmp->palette.rgb[i];
        rgb[0] = bgr[2];
        rgb[1] = bgr[1];
        rgb[2] = bgr[0];
        bmp->is_grey = bmp->is_grey && rgb[0] == rgb[1] && rgb[1] == rgb[2];
    }
    return 0;
}

/* The byte that a mask of 32 bits stands for; -1: no byte. */
static int byte_of(uint32_t mask)
{
    for (int i = 0; i < 4; i++)
        if (mask == (uint32_t)0xff << 8 * i)
            return i;
    return -1;
}

static int read_masks(struct bmp *bmp, const struct cw_still *still, struct cw_err *err)
{
    const uint8_t *masks = still->bytes + FILE_HEADER + INFO_HEADER;
    if (still->n < FILE_HEADER + INFO_HEADER + 12)
        return damaged("its header is cut off", err);
    if (bmp->bits == 16) {
        bmp->is_565 = u32(masks) == 0xf800 && u32(masks + 4) == 0x7e0 && u32(masks + 8) == 0x1f;
        return bmp->is_565 ||
                       (u32(masks) == 0x7c00 && u32(masks + 4) == 0x3e0 && u32(masks + 8) == 0x1f)
                   ? 0
                   : cw_err_set(err, CW_E_UNSUPPORTED, "a BMP image with unusual 16 bits");
    }
    for (int c = 0; c < 3; c++) {
        const int at = byte_of(u32(masks + 4 * c));
        if (at < 0)
            return cw_err_set(err, CW_E_UNSUPPORTED, "a BMP image with unusual 32 bits");
        bmp->at[c] = (uint8_t)at;
    }
    return 0;
}

static int check_format(const struct bmp *bmp, uint32_t compression, struct cw_err *err)
{
    const bool has_masks = bmp->bits == 16 || bmp->bits == 32;
    if (compression != PLAIN && !(compression == BITFIELDS && has_masks))
        return cw_err_set(err, CW_E_UNSUPPORTED, "a BMP image with compression %u", compression);
    if (bmp->bits != 1 && bmp->bits != 4 && bmp->bits != 8 && bmp->bits != 24 && !has_masks)
        return cw_err_set(err, CW_E_CORRUPT, "damaged BMP image: %d bits", bmp->bits);
    return 0;
}

/* Takes size, bits and palette from the header behind that of the file. */
static int read_header(struct bmp *bmp, struct cw_still *still, struct cw_err *err)
{
    const uint8_t *head = still->bytes + FILE_HEADER;
    const uint32_t bytes = still->n >= FILE_HEADER + 4 ? u32(head) : 0;
    if ((bytes != CORE_HEADER && bytes < INFO_HEADER) || bytes > 4096 ||
        still->n < FILE_HEADER + bytes)
        return damaged("its header", err);
    const bool is_core = bytes == CORE_HEADER;
    const int32_t h = is_core ? (int32_t)u16(head + 6) : (int32_t)u32(head + 8);
    const uint32_t compression = is_core ? (uint32_t)PLAIN : u32(head + 16);
    still->w = is_core ? (int32_t)u16(head + 4) : (int32_t)u32(head + 4);
    still->h = h < 0 ? -(int64_t)h : h;
    bmp->is_down = h < 0;
    bmp->bits = (int)u16(head + (is_core ? 10 : 14));
    const uint32_t used = is_core ? 0u : u32(head + 32);
    int rc = check_format(bmp, compression, err);
    if (rc == 0 && compression == BITFIELDS)
        rc = read_masks(bmp, still, err);
    if (rc == 0 && bmp->bits <= 8)
        rc = read_palette(bmp, still, FILE_HEADER + bytes, is_core ? 3 : 4, used, err);
    return rc;
}

static int open_file(struct cw_still *still, struct cw_err *err)
{
    struct bmp *bmp = CW_NEW(struct bmp);
    still->of = bmp;
    *bmp = (struct bmp){.at = {2, 1, 0}};
    int rc = read_header(bmp, still, err);
    if (rc < 0)
        return rc;
    if (still->is_index && bmp->bits > 8)
        return cw_still_no_index(still, err);
    if (still->h < 1 || still->w < 1 || still->h > SIDE_MAX || still->w > SIDE_MAX)
        return cw_err_set(err, CW_E_CORRUPT, "damaged BMP image: %lld x %lld pixels",
                          (long long)still->h, (long long)still->w);
    bmp->pixels = u32(still->bytes + 10);
    bmp->stride = ((size_t)still->w * (size_t)bmp->bits + 31) / 32 * 4;
    if (bmp->pixels > still->n || (still->n - bmp->pixels) / bmp->stride < (size_t)still->h)
        return damaged("the file ends too early", err);
    const bool is_grey = bmp->bits <= 8 && bmp->is_grey;
    still->channels = still->is_index ? 1 : still->asked ? still->asked : is_grey ? 1 : 3;
    return 0;
}

static void unpack_indices(const struct bmp *bmp, const uint8_t *row, size_t n, uint8_t *ret_index)
{
    const int bits = bmp->bits, each = 8 / bits;
    for (size_t i = 0; i < n; i++) {
        const int shift = 8 - bits * (int)(i % (size_t)each + 1);
        ret_index[i] = (uint8_t)(row[i / (size_t)each] >> shift & ((1 << bits) - 1));
    }
}

static void read_rgb(const struct bmp *bmp, const uint8_t *row, size_t n, uint8_t *dst)
{
    const size_t each = (size_t)bmp->bits / 8;
    const int green_bits = bmp->is_565 ? 6 : 5, green_max = (1 << green_bits) - 1;
    for (size_t i = 0; i < n; i++, row += each, dst += 3) {
        const int v = bmp->bits == 16 ? (int)u16(row) : 0;
        if (bmp->bits == 16) {
            dst[0] = (uint8_t)((v >> (5 + green_bits) & 31) * 255 / 31);
            dst[1] = (uint8_t)((v >> 5 & green_max) * 255 / green_max);
            dst[2] = (uint8_t)((v & 31) * 255 / 31);
        } else {
            for (int c = 0; c < 3; c++)
                dst[c] = row[bmp->at[c]];
        }
    }
}

static int read_row(const struct cw_still *still, const uint8_t *row, uint8_t *work, uint8_t *dst,
                    struct cw_err *err)
{
    const struct bmp *bmp = still->of;
    const size_t w = (size_t)still->w;
    if (bmp->bits <= 8) {
        unpack_indices(bmp, row, w, work);
        return cw_still_colours(still, &bmp->palette, work, w, dst, err);
    }
    read_rgb(bmp, row, w, still->channels == 3 ? dst : work);
    if (still->channels == 1)
        cw_pixels_grey(dst, work, w);
    return 0;
}

static int read_file(struct cw_still *still, uint8_t *dst, struct cw_err *err)
{
    const struct bmp *bmp = still->of;
    cw_autofree uint8_t *work = cw_mem_new(3 * (size_t)still->w);
    int rc = 0;
    for (int64_t y = 0; y < still->h && rc == 0; y++) {
        const int64_t from = bmp->is_down ? y : still->h - 1 - y;
        rc = read_row(still, still->bytes + bmp->pixels + (size_t)from * bmp->stride, work,
                      dst + y * still->w * still->channels, err);
    }
    return rc;
}

static void close_file(struct cw_still *still)
{
    cw_mem_free(still->of);
}

const struct cw_still_format cw_still_bmp = {
    .name = "BMP", .is = is, .open = open_file, .read = read_file, .close = close_file};
