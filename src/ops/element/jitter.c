/* SPDX-License-Identifier: Apache-2.0 */
/* Brightness, contrast, saturation and hue. */
#include "ops/element/jitter.h"

#include <string.h>
#include "ops/kernels/colour.h"
#include "ops/kernels/tone.h"

const char *const cw_jitter_names[CW_JITTER_PARTS] = {"brightness", "contrast", "saturation",
                                                      "hue"};

void cw_jitter_order(uint64_t which, size_t n, uint8_t *ret_order)
{
    uint8_t left[CW_JITTER_PARTS] = {0, 1, 2, 3};
    uint64_t block = 1;
    for (size_t i = 2; i <= n; i++)
        block *= i;
    for (size_t i = 0; i < n; i++) {
        block /= n - i;
        const size_t at = (size_t)(which / block);
        which %= block;
        ret_order[i] = left[at];
        memmove(left + at, left + at + 1, n - 1 - i >= at ? n - 1 - at : 0);
    }
}

void cw_jitter_change(const struct cw_u8_op_image *image, const uint8_t *src, enum cw_jitter part,
                      double value)
{
    const size_t n = image->pixels * image->channels;
    if (part == CW_JITTER_BRIGHTNESS || part == CW_JITTER_CONTRAST) {
        uint8_t table[256];
        cw_tone_from(
            part == CW_JITTER_CONTRAST ? cw_colour_mean(src, image->pixels, image->channels) : 0,
            (float)value, table);
        cw_tone_map(image->dst, src, n, table);
    } else if (image->channels == 1) {
        if (src != image->dst)
            memcpy(image->dst, src, n); /* grey has neither */
    } else if (part == CW_JITTER_SATURATION) {
        cw_colour_saturate(image->dst, src, image->pixels, (float)value);
    } else {
        cw_colour_shift_hue(image->dst, src, image->pixels, (uint8_t)(int)(value * 255));
    }
}
