/* SPDX-License-Identifier: Apache-2.0 */
/* Mirroring by the size of a pixel, and conversion to grey, and the order of channels. */
#include "ops/kernels/pixels.h"

#include <string.h>
#include "ops/kernels/kernel_table.h"

void cw_pixels_mirror(void *dst, const void *src, size_t rows, size_t n, size_t pixel_bytes)
{
    if (pixel_bytes == 3)
        cw_kernels()->mirror3(dst, src, rows, n);
    else
        cw_pixels_mirror_plain(dst, src, rows, n, pixel_bytes);
}

void cw_pixels_grey(uint8_t *dst, const uint8_t *rgb, size_t n)
{
    cw_kernels()->grey(dst, rgb, n);
}

void cw_pixels_split(void *dst, const void *src, size_t pixels, size_t channels, size_t bytes,
                     size_t plane)
{
    if (channels == 3 && bytes == 1)
        cw_kernels()->split3_u8(dst, src, pixels, plane);
    else if (channels == 3 && bytes == 4)
        cw_kernels()->split3_f32(dst, src, pixels, plane);
    else if (channels == 1)
        memcpy(dst, src, pixels * bytes);
    else
        cw_pixels_split_plain(dst, src, pixels, channels, bytes, plane);
}

static inline __attribute__((always_inline)) void turn_back(uint8_t *dst, const uint8_t *src,
                                                            size_t rows, size_t n, size_t bytes)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < n; j++)
            memcpy(dst + (i * n + j) * bytes, src + (j * rows + i) * bytes, bytes);
}

void cw_pixels_join(void *dst, const void *src, size_t pixels, size_t channels, size_t bytes)
{
    if (channels == 3 && bytes == 1)
        turn_back(dst, src, pixels, 3, 1);
    else if (channels == 3 && bytes == 4)
        turn_back(dst, src, pixels, 3, 4);
    else if (channels == 1)
        memcpy(dst, src, pixels * bytes);
    else
        turn_back(dst, src, pixels, channels, bytes);
}
