/* SPDX-License-Identifier: Apache-2.0 */
/* The first image of TIFF files: greys, palettes and RGB of up to 16 bits, in strips or tiles, plain or packed by PackBits,
 * LZW or Deflate. It is read here and not by libtiff, which Debian builds with a library under the GPL. */
#include <string.h>
#include "base/mem.h"
#include "ops/kernels/pixels.h"
#include "ops/kernels/still.h"
#include "ops/kernels/tiff_unpack.h"

enum tag {
    WIDTH = 256,
    LENGTH = 257,
    BITS = 258,
    PACKING = 259,
    COLOURS = 262,
    FILL_ORDER = 266,
    STRIPS = 273,
    SAMPLES = 277,
    STRIP_ROWS = 278,
    STRIP_BYTES = 279,
    PLANES = 284,
    PREDICTOR = 317,
    PALETTE = 320,
    TILE_WIDTH = 322,
    TILE_LENGTH = 323,
    TILES = 324,
    TILE_BYTES = 325,
    FORMAT = 339
};
enum colours { WHITE_IS_ZERO, BLACK_IS_ZERO, RGB, OF_PALETTE };
#define SIDE_MAX 65535
#define SAMPLES_MAX 16
#define TAGS_MAX 1024
#define AREA_MAX ((int64_t)1 << 27) /* bytes of all tiles, pixels outside of the image included */

/* Numbers that stand in the file; n is 0 if the tag is not there. */
struct numbers {
    const uint8_t *at;
    unsigned bytes; /* of a number */
    uint32_t n;
};

struct tiff {
    const uint8_t *bytes;
    size_t n;
    bool is_big; /* the highest byte of a number comes first */
    int64_t h, w;
    unsigned bits, samples, packing, predictor;
    enum colours colours;
    bool is_planar;           /* each sample of a pixel has pieces of its own */
    int64_t piece_h, piece_w; /* of a strip or tile */
    bool is_tiled;
    struct numbers at, size,
        palette; /* of pieces: where they begin, and how many bytes they have */
};

/* ---- reading tags ---- */

static uint32_t number_at(const struct tiff *tiff, const uint8_t *p, unsigned bytes)
{
    uint32_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v = v << 8 | p[tiff->is_big ? i : bytes - 1 - i];
    return v;
}

static uint32_t number(const struct tiff *tiff, const struct numbers *numbers, uint32_t i)
{
    return number_at(tiff, numbers->at + (size_t)i * numbers->bytes, numbers->bytes);
}

/* Finds a tag of the first directory. Returns false if its numbers lie outside of the file. */
static bool find(const struct tiff *tiff, enum tag tag, struct numbers *ret_numbers)
{
    static const unsigned bytes_of[] = {0, 1, 1, 2, 4};
    const size_t directory = number_at(tiff, tiff->bytes + 4, 4);
    *ret_numbers = (struct numbers){0};
    if (directory > tiff->n || tiff->n - directory < 2)
        return false;
    const unsigned entries = number_at(tiff, tiff->bytes + directory, 2);
    if (entries > TAGS_MAX || (tiff->n - directory - 2) / 12 < entries)
        return false;
    for (unsigned i = 0; i < entries; i++) {
        const uint8_t *entry = tiff->bytes + directory + 2 + 12 * (size_t)i;
        const unsigned type = number_at(tiff, entry + 2, 2);
        if (number_at(tiff, entry, 2) != (unsigned)tag || type >= CW_ARRAY_LEN(bytes_of))
            continue;
        const struct numbers found = {entry + 8, bytes_of[type], number_at(tiff, entry + 4, 4)};
        const uint64_t size = (uint64_t)found.n * found.bytes;
        const size_t at = number_at(tiff, entry + 8, 4);
        *ret_numbers = found;
        if (size > 4) {
            if (at > tiff->n || size > tiff->n - at)
                return false;
            ret_numbers->at = tiff->bytes + at;
        }
        return true;
    }
    return true;
}

/* A single number, or what it is if it is not there. */
static bool get(const struct tiff *tiff, enum tag tag, uint32_t otherwise, uint32_t *ret_v)
{
    struct numbers numbers;
    const bool ok = find(tiff, tag, &numbers);
    *ret_v = ok && numbers.n > 0 ? number(tiff, &numbers, 0) : otherwise;
    return ok;
}

/* ---- the header ---- */

static int damaged(const char *what, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "damaged TIFF image: %s", what);
}

static int unsupported(const char *what, uint32_t v, struct cw_err *err)
{
    return cw_err_set(err, CW_E_UNSUPPORTED, "a TIFF image with %s %u", what, v);
}

static int read_size(struct tiff *tiff, struct cw_err *err)
{
    uint32_t h, w, rows, tile_h, tile_w;
    if (!get(tiff, LENGTH, 0, &h) || !get(tiff, WIDTH, 0, &w) ||
        !get(tiff, STRIP_ROWS, UINT32_MAX, &rows) || !get(tiff, TILE_LENGTH, 0, &tile_h) ||
        !get(tiff, TILE_WIDTH, 0, &tile_w))
        return damaged("its directory lies outside of the file", err);
    if (h == 0 || w == 0 || rows == 0 || (tile_h == 0) != (tile_w == 0))
        return damaged("it has no size", err);
    if (h > SIDE_MAX || w > SIDE_MAX || tile_h > 2 * SIDE_MAX || tile_w > 2 * SIDE_MAX)
        return cw_err_set(err, CW_E_LIMIT, "a TIFF image of %u x %u, at most %d a side", h, w,
                          SIDE_MAX);
    tiff->h = h;
    tiff->w = w;
    tiff->is_tiled = tile_h > 0;
    tiff->piece_h = tiff->is_tiled ? (int64_t)tile_h : CW_MIN((int64_t)rows, tiff->h);
    tiff->piece_w = tiff->is_tiled ? (int64_t)tile_w : tiff->w;
    return 0;
}

/* All samples of a pixel have one number of bits. */
static int read_bits(struct tiff *tiff, struct cw_err *err)
{
    struct numbers bits;
    uint32_t format;
    if (!find(tiff, BITS, &bits) || !get(tiff, FORMAT, 1, &format))
        return damaged("tags lie outside of the file", err);
    tiff->bits = bits.n > 0 ? number(tiff, &bits, 0) : 1;
    for (uint32_t i = 1; i < CW_MIN(bits.n, (uint32_t)SAMPLES_MAX); i++)
        if (number(tiff, &bits, i) != tiff->bits)
            return unsupported("samples of different numbers of bits, of", tiff->bits, err);
    if (format != 1 && format != 4)
        return unsupported("samples of format", format, err);
    const bool is_known =
        tiff->bits == 8 || tiff->bits == 16 ||
        (tiff->samples == 1 && (tiff->bits == 1 || tiff->bits == 2 || tiff->bits == 4));
    return is_known ? 0 : unsupported("samples of so many bits:", tiff->bits, err);
}

static int read_colours(struct tiff *tiff, struct cw_err *err)
{
    uint32_t colours, planes, order;
    if (!get(tiff, COLOURS, BLACK_IS_ZERO, &colours) || !get(tiff, SAMPLES, 1, &tiff->samples) ||
        !get(tiff, PLANES, 1, &planes) || !get(tiff, PACKING, CW_TIFF_PLAIN, &tiff->packing) ||
        !get(tiff, PREDICTOR, 1, &tiff->predictor) || !get(tiff, FILL_ORDER, 1, &order) ||
        !find(tiff, PALETTE, &tiff->palette))
        return damaged("tags lie outside of the file", err);
    if (colours > OF_PALETTE)
        return unsupported("colours of kind", colours, err);
    if (tiff->samples < (colours == RGB ? 3 : 1) || tiff->samples > SAMPLES_MAX)
        return unsupported("so many samples a pixel:", tiff->samples, err);
    if (planes != 1 && planes != 2)
        return unsupported("planes of kind", planes, err);
    if (order != 1)
        return unsupported("bits in order", order, err);
    tiff->colours = (enum colours)colours;
    tiff->is_planar = planes == 2 && tiff->samples > 1;
    return read_bits(tiff, err);
}

static int check_packing(const struct tiff *tiff, struct cw_err *err)
{
    switch (tiff->packing) {
    case CW_TIFF_PLAIN:
    case CW_TIFF_LZW:
    case CW_TIFF_DEFLATE:
    case CW_TIFF_PACKBITS:
    case CW_TIFF_DEFLATE_OLD:
        break;
    default:
        return unsupported("compression", tiff->packing, err);
    }
    if (tiff->predictor != 1 && (tiff->predictor != 2 || tiff->bits < 8))
        return unsupported("predictor", tiff->predictor, err);
    if (tiff->colours != OF_PALETTE)
        return 0;
    if (tiff->bits > 8)
        return unsupported("a palette and samples of so many bits:", tiff->bits, err);
    return tiff->palette.bytes == 2 && tiff->palette.n >= 3u << tiff->bits
               ? 0
               : damaged("its palette is too short", err);
}

static int64_t across(const struct tiff *tiff)
{
    return (tiff->w + tiff->piece_w - 1) / tiff->piece_w;
}

static int64_t down(const struct tiff *tiff)
{
    return (tiff->h + tiff->piece_h - 1) / tiff->piece_h;
}

static int find_pieces(struct tiff *tiff, struct cw_err *err)
{
    const int64_t pieces = across(tiff) * down(tiff), area = tiff->piece_h * tiff->piece_w,
                  n = pieces * (tiff->is_planar ? tiff->samples : 1),
                  bytes = area * (int64_t)tiff->samples * (tiff->bits > 8 ? 2 : 1);
    if (bytes > AREA_MAX / pieces && area > 4 * tiff->h * tiff->w / pieces)
        return cw_err_set(err, CW_E_LIMIT, "a TIFF image whose tiles are much larger than it is");
    if (!find(tiff, tiff->is_tiled ? TILES : STRIPS, &tiff->at) ||
        !find(tiff, tiff->is_tiled ? TILE_BYTES : STRIP_BYTES, &tiff->size) || tiff->at.n < n ||
        tiff->size.n < n)
        return damaged("it has too few strips or tiles", err);
    return 0;
}

static bool is(const uint8_t *bytes, size_t n)
{
    return n >= 8 && (memcmp(bytes, "II*\0", 4) == 0 || memcmp(bytes, "MM\0*", 4) == 0);
}

static int open_file(struct cw_still *still, struct cw_err *err)
{
    struct tiff head = {.bytes = still->bytes, .n = still->n, .is_big = still->bytes[0] == 'M'};
    int rc = read_size(&head, err);
    if (rc == 0)
        rc = read_colours(&head, err);
    if (rc == 0)
        rc = check_packing(&head, err);
    if (rc == 0)
        rc = find_pieces(&head, err);
    if (rc < 0)
        return rc;
    if (still->is_index && (head.colours == RGB || head.bits > 8))
        return cw_still_no_index(still, err);
    const bool is_grey = head.colours == WHITE_IS_ZERO || head.colours == BLACK_IS_ZERO;
    still->channels = still->is_index ? 1 : still->asked ? still->asked : is_grey ? 1 : 3;
    if (still->is_deep && still->channels == 1 && !is_grey)
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "a TIFF image in colour does not become grey with 16 bits");
    still->h = head.h;
    still->w = head.w;
    struct tiff *tiff = CW_NEW(struct tiff);
    *tiff = head;
    still->of = tiff;
    return 0;
}

static void close_file(struct cw_still *still)
{
    cw_mem_free(still->of);
}

/* ---- samples ---- */

/* An image being read. */
struct reading {
    const struct cw_still *still;
    const struct tiff *tiff;
    uint8_t *dst;   /* the result, or the image in colour */
    int channels;   /* of dst */
    uint8_t *piece; /* an unpacked strip or tile */
    uint8_t *index; /* room for a row of numbers of a palette */
    struct cw_still_palette palette;
};

/* Sample i of a row of an unpacked piece. */
static uint32_t sample(const struct tiff *tiff, const uint8_t *row, size_t i)
{
    if (tiff->bits == 8)
        return row[i];
    if (tiff->bits == 16)
        return number_at(tiff, row + 2 * i, 2);
    const size_t bit = i * tiff->bits;
    return row[bit / 8] >> (8 - tiff->bits - bit % 8) & ((1u << tiff->bits) - 1);
}

/* A sample over the whole range of what is asked for. */
static uint32_t spread(const struct reading *r, uint32_t v)
{
    const uint32_t most = (1u << r->tiff->bits) - 1;
    if (r->tiff->colours == WHITE_IS_ZERO && !r->still->is_index)
        v = most - v;
    if (r->still->is_index)
        return v;
    if (r->still->is_deep)
        return v * (65535 / most); /* each of 1, 3, 15, 255 divides it */
    return r->tiff->bits == 16 ? v >> 8 : v * (255 / most);
}

static void put(const struct reading *r, size_t at, uint32_t v)
{
    const uint16_t deep = (uint16_t)v;
    if (r->still->is_deep)
        memcpy(r->dst + 2 * at, &deep, 2);
    else
        r->dst[at] = (uint8_t)v;
}

/* Undoes the predictor in a row: numbers are differences from the pixel before. */
static void add_up(const struct tiff *tiff, uint8_t *row, size_t n, size_t step)
{
    for (size_t i = step; i < n; i++) {
        if (tiff->bits == 8) {
            row[i] = (uint8_t)(row[i] + row[i - step]);
        } else {
            const uint32_t v = sample(tiff, row, i) + sample(tiff, row, i - step);
            row[2 * i + (tiff->is_big ? 1 : 0)] = (uint8_t)v;
            row[2 * i + (tiff->is_big ? 0 : 1)] = (uint8_t)(v >> 8);
        }
    }
}

/* Writes n pixels of a row, from pixel (y, x) on. plane: which sample of them the row has; -1: all. */
static int put_row(struct reading *r, const uint8_t *row, int64_t y, int64_t x, size_t n, int plane,
                   struct cw_err *err)
{
    const struct tiff *tiff = r->tiff;
    const size_t step = plane < 0 ? tiff->samples : 1, at = (size_t)(y * tiff->w + x);
    if (tiff->colours == OF_PALETTE && !r->still->is_index) {
        for (size_t i = 0; i < n; i++)
            r->index[i] = (uint8_t)sample(tiff, row, i * step);
        if (!r->still->is_deep)
            return cw_still_colours(r->still, &r->palette, r->index, n,
                                    r->dst + at * (size_t)r->channels, err);
        for (size_t i = 0; i < 3 * n; i++)
            put(r, 3 * at + i, r->palette.rgb[r->index[i / 3]][i % 3] * 257u);
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < r->channels; c++) {
            const int from = tiff->colours == RGB ? c : 0; /* grey becomes all three */
            if (plane < 0 || plane == from)
                put(r, (at + i) * (size_t)r->channels + (size_t)c,
                    spread(r, sample(tiff, row, i * step + (size_t)(plane < 0 ? from : 0))));
        }
    return 0;
}

/* Rows of pieces take whole bytes. */
static size_t row_bytes(const struct tiff *tiff)
{
    const size_t samples = (size_t)tiff->piece_w * (tiff->is_planar ? 1 : tiff->samples);
    return (samples * tiff->bits + 7) / 8;
}

/* Unpacks a piece of so many rows, and writes what of it lies in the image. */
static int read_piece(struct reading *r, uint32_t i, int64_t y, int64_t x, int plane,
                      struct cw_err *err)
{
    const struct tiff *tiff = r->tiff;
    const size_t at = number(tiff, &tiff->at, i), n = number(tiff, &tiff->size, i),
                 stride = row_bytes(tiff);
    const int64_t inside = CW_MIN(tiff->piece_h, tiff->h - y),
                  rows = tiff->is_tiled ? tiff->piece_h : inside;
    const struct cw_tiff_piece piece = {
        .src = tiff->bytes + at, .src_n = n, .dst = r->piece, .dst_n = stride * (size_t)rows};
    if (at > tiff->n || n > tiff->n - at)
        return damaged("the file ends too early", err);
    if (!cw_tiff_may_hold((enum cw_tiff_packing)tiff->packing, n, piece.dst_n) ||
        !cw_tiff_unpack((enum cw_tiff_packing)tiff->packing, &piece))
        return damaged("a strip or tile", err);
    const size_t step = tiff->is_planar ? 1 : tiff->samples;
    int rc = 0;
    for (int64_t k = 0; rc == 0 && k < inside; k++) {
        uint8_t *row = r->piece + stride * (size_t)k;
        if (tiff->predictor == 2)
            add_up(tiff, row, (size_t)tiff->piece_w * step, step);
        rc = put_row(r, row, y + k, x, (size_t)CW_MIN(tiff->piece_w, tiff->w - x), plane, err);
    }
    return rc;
}

static void read_palette(struct reading *r)
{
    const uint32_t n = 1u << r->tiff->bits;
    if (r->tiff->colours != OF_PALETTE)
        return;
    r->palette.n = (int)n;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t c = 0; c < 3; c++)
            r->palette.rgb[i][c] = (uint8_t)(number(r->tiff, &r->tiff->palette, c * n + i) >> 8);
}

static int read_pieces(struct reading *r, struct cw_err *err)
{
    const struct tiff *tiff = r->tiff;
    const int64_t a = across(tiff), d = down(tiff), n = a * d;
    const int planes = !tiff->is_planar ? 1 : tiff->colours == RGB ? 3 : 1;
    int rc = 0;
    for (int plane = 0; plane < planes; plane++)
        for (int64_t i = 0; rc == 0 && i < n; i++)
            rc = read_piece(r, (uint32_t)(plane * n + i), i / a * tiff->piece_h,
                            i % a * tiff->piece_w, tiff->is_planar ? plane : -1, err);
    return rc;
}

/* Whether the file can have a piece as large as it says, before there is memory for it. */
static bool may_have_pieces(const struct tiff *tiff)
{
    const int64_t rows = tiff->piece_h;
    return cw_tiff_may_hold((enum cw_tiff_packing)tiff->packing, tiff->n,
                            row_bytes(tiff) * (size_t)rows);
}

static int read_file(struct cw_still *still, uint8_t *dst, struct cw_err *err)
{
    const struct tiff *tiff = still->of;
    const size_t pixels = (size_t)still->h * (size_t)still->w;
    const bool to_grey = tiff->colours == RGB && still->channels == 1;
    if (!may_have_pieces(tiff))
        return damaged("the file ends too early", err);
    cw_autofree uint8_t *wide = to_grey ? cw_mem_try(3 * pixels) : NULL;
    cw_autofree uint8_t *piece = cw_mem_try(row_bytes(tiff) * (size_t)tiff->piece_h);
    cw_autofree uint8_t *index = cw_mem_try((size_t)still->w);
    if ((to_grey && !wide) || !piece || !index)
        return cw_err_set(err, CW_E_NOMEM, "no memory to decode a TIFF image");
    struct reading r = {.still = still,
                        .tiff = tiff,
                        .dst = to_grey ? wide : dst,
                        .channels = to_grey ? 3 : still->channels,
                        .piece = piece,
                        .index = index};
    read_palette(&r);
    const int rc = read_pieces(&r, err);
    if (rc == 0 && to_grey)
        cw_pixels_grey(dst, wide, pixels);
    return rc;
}

const struct cw_still_format cw_still_tiff = {
    .name = "TIFF", .is = is, .open = open_file, .read = read_file, .close = close_file};
