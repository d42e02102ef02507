/* SPDX-License-Identifier: Apache-2.0 */
/* Mirroring, the order of channels and luminance in plain C. */
#include "ops/kernels/pixels.h"

#include <string.h>

static inline __attribute__((always_inline)) void mirror_row(uint8_t *dst, const uint8_t *src,
                                                             size_t n, size_t pixel_bytes)
{
    src += n * pixel_bytes;
    for (size_t i = 0; i < n; i++, dst += pixel_bytes) {
        src -= pixel_bytes;
        memcpy(dst, src, pixel_bytes);
    }
}

/* The same of bytes: eight are turned round at once. */
static void mirror_bytes(uint8_t *dst, const uint8_t *src, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t eight;
        memcpy(&eight, src + n - 8 - i, 8);
        eight = __builtin_bswap64(eight);
        memcpy(dst + i, &eight, 8);
    }
    mirror_row(dst + i, src, n - i, 1);
}

void cw_pixels_mirror_plain(void *dst, const void *src, size_t rows, size_t n, size_t pixel_bytes)
{
    uint8_t *to = dst;
    const uint8_t *from = src;
    for (size_t y = 0; y < rows; y++, to += n * pixel_bytes, from += n * pixel_bytes)
        switch (pixel_bytes) { /* with a constant size each copy becomes a single move */
        case 1:
            mirror_bytes(to, from, n);
            break;
        case 3:
            mirror_row(to, from, n, 3);
            break;
        case 4:
            mirror_row(to, from, n, 4);
            break;
        case 12: /* RGB of f32 */
            mirror_row(to, from, n, 12);
            break;
        default:
            mirror_row(to, from, n, pixel_bytes);
        }
}

void cw_pixels_mirror3_plain(void *dst, const void *src, size_t rows, size_t n)
{
    cw_pixels_mirror_plain(dst, src, rows, n, 3);
}

/* dst[j * plane + i] = src[i * n + j]: turns n columns into rows. With constants for n and bytes, each
 * copy becomes a single move. */
static inline __attribute__((always_inline)) void
turn(uint8_t *dst, const uint8_t *src, size_t rows, size_t n, size_t bytes, size_t plane)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < n; j++)
            memcpy(dst + (j * plane + i) * bytes, src + (i * n + j) * bytes, bytes);
}

void cw_pixels_split3_u8_plain(void *dst, const void *src, size_t pixels, size_t plane)
{
    turn(dst, src, pixels, 3, 1, plane);
}

void cw_pixels_split3_f32_plain(void *dst, const void *src, size_t pixels, size_t plane)
{
    turn(dst, src, pixels, 3, 4, plane);
}

void cw_pixels_split_plain(void *dst, const void *src, size_t pixels, size_t channels, size_t bytes,
                           size_t plane)
{
    turn(dst, src, pixels, channels, bytes, plane);
}

void cw_pixels_grey_plain(uint8_t *dst, const uint8_t *rgb, size_t n)
{
    for (size_t i = 0; i < n; i++, rgb += 3)
        dst[i] = (uint8_t)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}
