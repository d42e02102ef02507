/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the tag `Orientation` in files, and turns images by it. Offsets and lengths in a file are not
 * believed: what does not lie in it is not there. */
#include "ops/kernels/exif.h"

#include <stdbool.h>
#include <string.h>

#define TAG_ORIENTATION 0x112
#define TYPE_SHORT 3
#define ENTRY_BYTES 12

struct bytes {
    const uint8_t *p;
    size_t n;
};

static uint32_t number(const uint8_t *p, int bytes, bool big)
{
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint32_t)p[i] << 8 * (big ? bytes - 1 - i : i);
    return v;
}

/* The orientation in a TIFF file, which EXIF data are. */
static int in_tiff(struct bytes tiff)
{
    if (tiff.n < 8 || (memcmp(tiff.p, "II*\0", 4) != 0 && memcmp(tiff.p, "MM\0*", 4) != 0))
        return 1;
    const bool big = tiff.p[0] == 'M';
    const size_t at = number(tiff.p + 4, 4, big);
    if (at > tiff.n || tiff.n - at < 2)
        return 1;
    const size_t entries = number(tiff.p + at, 2, big);
    for (size_t i = 0; i < entries && (tiff.n - at - 2) / ENTRY_BYTES > i; i++) {
        const uint8_t *entry = tiff.p + at + 2 + i * ENTRY_BYTES;
        const uint32_t value = number(entry + 8, 2, big);
        if (number(entry, 2, big) == TAG_ORIENTATION && number(entry + 2, 2, big) == TYPE_SHORT)
            return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

/* The data of an APP1 segment that has EXIF data. */
static struct bytes in_jpeg(struct bytes file)
{
    static const char head[6] = "Exif\0";
    for (size_t at = 2; at + 4 <= file.n && file.p[at] == 0xff;) {
        const int marker = file.p[at + 1];
        const size_t length = number(file.p + at + 2, 2, true);
        if (marker == 0xff) {
            at++;
            continue;
        }
        if (marker == 0xda || length < 2 || length > file.n - at - 2)
            break;
        if (marker == 0xe1 && length >= 8 && memcmp(file.p + at + 4, head, 6) == 0)
            return (struct bytes){file.p + at + 10, length - 8};
        at += 2 + length;
    }
    return (struct bytes){0};
}

/* The data of a chunk: `name` stands at name_at of its head, and the length at length_at. */
static struct bytes in_chunks(struct bytes file, size_t at, const char *name, size_t name_at,
                              size_t length_at, bool is_png)
{
    while (at <= file.n && file.n - at >= 8) {
        const size_t length = number(file.p + at + length_at, 4, is_png);
        if (length > file.n - at - 8)
            break;
        if (memcmp(file.p + at + name_at, name, 4) == 0)
            return (struct bytes){file.p + at + 8, length};
        at += 8 + length + (is_png ? 4 : length % 2);
    }
    return (struct bytes){0};
}

int cw_exif_orientation(const uint8_t *bytes, size_t n)
{
    static const char head[6] = "Exif\0";
    const struct bytes file = {bytes, n};
    struct bytes exif = {0};
    if (n >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0)
        exif = in_jpeg(file);
    else if (n >= 8 && memcmp(bytes, "\x89PNG", 4) == 0)
        exif = in_chunks(file, 8, "eXIf", 4, 0, true);
    else if (n >= 12 && memcmp(bytes, "RIFF", 4) == 0)
        exif = in_chunks(file, 12, "EXIF", 0, 4, false);
    else if (n >= 4 && (memcmp(bytes, "II*\0", 4) == 0 || memcmp(bytes, "MM\0*", 4) == 0))
        exif = file; /* EXIF data have the form of a TIFF file */
    /* Some programs write the head of a JPEG's segment into WebP files, too. */
    if (exif.n >= 6 && memcmp(exif.p, head, 6) == 0)
        exif = (struct bytes){exif.p + 6, exif.n - 6};
    return exif.n > 0 ? in_tiff(exif) : 1;
}

static bool flips_rows(int orientation)
{
    return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

static bool flips_columns(int orientation)
{
    return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

struct cw_exif_rect cw_exif_to_file(int orientation, struct cw_exif_rect upright, int64_t h,
                                    int64_t w)
{
    struct cw_exif_rect r = upright;
    if (cw_exif_swaps(orientation))
        r = (struct cw_exif_rect){.y = upright.x, .x = upright.y, .h = upright.w, .w = upright.h};
    if (flips_rows(orientation))
        r.y = h - r.y - r.h;
    if (flips_columns(orientation))
        r.x = w - r.x - r.w;
    return r;
}

struct cw_exif_rect cw_exif_from_file(int orientation, struct cw_exif_rect in_file, int64_t h,
                                      int64_t w)
{
    struct cw_exif_rect r = in_file;
    if (flips_rows(orientation))
        r.y = h - r.y - r.h;
    if (flips_columns(orientation))
        r.x = w - r.x - r.w;
    if (cw_exif_swaps(orientation))
        r = (struct cw_exif_rect){.y = r.x, .x = r.y, .h = r.w, .w = r.h};
    return r;
}

void cw_exif_turn(int orientation, const uint8_t *src, int64_t h, int64_t w, size_t pixel_bytes,
                  uint8_t *dst)
{
    const bool swaps = cw_exif_swaps(orientation);
    const int64_t out_h = swaps ? w : h, out_w = swaps ? h : w;
    for (int64_t y = 0; y < out_h; y++)
        for (int64_t x = 0; x < out_w; x++, dst += pixel_bytes) {
            const struct cw_exif_rect at = cw_exif_to_file(
                orientation, (struct cw_exif_rect){.y = y, .x = x, .h = 1, .w = 1}, h, w);
            memcpy(dst, src + (size_t)(at.y * w + at.x) * pixel_bytes, pixel_bytes);
        }
}
