/* SPDX-License-Identifier: Apache-2.0 */
/* Saturation in plain C. */
#include "ops/kernels/colour.h"
#include "ops/kernels/tone.h"

void cw_colour_saturate_plain(uint8_t *dst, const uint8_t *src, size_t pixels, float factor)
{
    for (size_t i = 0; i < 3 * pixels; i += 3) {
        const int grey = cw_colour_luminance(src + i);
        for (size_t c = 0; c < 3; c++)
            dst[i + c] = cw_tone_blend(grey, src[i + c], factor);
    }
}
