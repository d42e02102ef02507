/* SPDX-License-Identifier: Apache-2.0 */
/* Grey, saturation and hue. */
#include "ops/kernels/colour.h"

#include "ops/kernels/kernel_table.h"
#include "ops/kernels/pixels.h"

#define PIXELS_AT_ONCE 1024

void cw_colour_grey(uint8_t *dst, const uint8_t *src, size_t pixels)
{
    uint8_t grey[PIXELS_AT_ONCE];
    for (size_t i = 0; i < pixels; i += PIXELS_AT_ONCE) {
        const size_t n = CW_MIN(pixels - i, (size_t)PIXELS_AT_ONCE);
        cw_pixels_grey(grey, src + 3 * i, n);
        for (size_t k = 0; k < n; k++)
            dst[3 * (i + k)] = dst[3 * (i + k) + 1] = dst[3 * (i + k) + 2] = grey[k];
    }
}

void cw_colour_saturate(uint8_t *dst, const uint8_t *src, size_t pixels, float factor)
{
    cw_kernels()->saturate(dst, src, pixels, factor);
}

static uint64_t sum_of(const uint8_t *samples, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += samples[i];
    return sum;
}

int cw_colour_mean(const uint8_t *src, size_t pixels, size_t channels)
{
    uint8_t grey[PIXELS_AT_ONCE];
    uint64_t sum = channels == 1 ? sum_of(src, pixels) : 0;
    for (size_t i = 0; channels == 3 && i < pixels; i += PIXELS_AT_ONCE) {
        const size_t n = CW_MIN(pixels - i, (size_t)PIXELS_AT_ONCE);
        cw_pixels_grey(grey, src + 3 * i, n);
        sum += sum_of(grey, n);
    }
    return (int)((2 * sum + pixels) / (2 * pixels));
}

void cw_colour_shift_hue(uint8_t *dst, const uint8_t *src, size_t pixels, uint8_t shift)
{
    cw_kernels()->shift_hue(dst, src, pixels, shift);
}
