/* SPDX-License-Identifier: Apache-2.0 */
/* Sharpening. */
#include "ops/kernels/neighbours.h"

#include <string.h>
#include "ops/kernels/tone.h"

/* The sum of nine samples with weight 1 and 5 in the middle, by 13, rounded: Pillow's SMOOTH. It
 * adds floats there; no sum of integers comes so near to a half that this shows. */
static inline int smooth(const uint8_t *at, size_t stride, size_t channels)
{
    const uint8_t *up = at - stride, *down = at + stride;
    const int sum = *(up - channels) + *up + up[channels] + *(at - channels) + 5 * *at +
                    at[channels] + *(down - channels) + *down + down[channels];
    return (2 * sum + 13) / 26;
}

void cw_sharpen(uint8_t *dst, const uint8_t *src, size_t h, size_t w, size_t channels, float factor)
{
    const size_t stride = w * channels;
    memcpy(dst, src, h * stride);
    if (h < 3 || w < 3)
        return;
    for (size_t y = 1; y + 1 < h; y++)
        for (size_t x = channels; x + channels < stride; x++) {
            const size_t i = y * stride + x;
            dst[i] = cw_tone_blend(smooth(src + i, stride, channels), src[i], factor);
        }
}
