/* SPDX-License-Identifier: Apache-2.0 */
/* Mirroring by the size of a pixel, and conversion to grey. */
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
    for (size_t i = 0; i < n; i++, rgb += 3)
        dst[i] = (uint8_t)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}
