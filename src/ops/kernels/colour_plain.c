/* SPDX-License-Identifier: Apache-2.0 */
/* Saturation and hue in plain C. */
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

static uint8_t clip(int v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* H and S of a pixel with the greatest sample `most` and the least one `least`, which differ, in the
 * precision and order of Pillow's rgb2hsv_row. */
static uint8_t hue_of(const uint8_t rgb[3], uint8_t most, float range)
{
    const float r = (float)(most - rgb[0]) / range, g = (float)(most - rgb[1]) / range,
                b = (float)(most - rgb[2]) / range;
    float h;
    if (rgb[0] == most)
        h = b - g;
    else if (rgb[1] == most)
        h = (float)(2.0 + (double)r - (double)b);
    else
        h = (float)(4.0 + (double)g - (double)r);
    const double turn = (double)h / 6.0 + 1.0; /* in [5/6, 2) */
    h = (float)(turn >= 1.0 ? turn - 1.0 : turn);
    return clip((int)((double)h * 255.0));
}

/* v (1 - x), rounded half away from zero */
static uint8_t share(uint8_t v, double x)
{
    return clip((int)((double)v * (1.0 - x) + 0.5));
}

/* Pillow's hsv2rgb. s > 0. */
static void to_rgb(uint8_t *dst, uint8_t h, uint8_t s, uint8_t v)
{
    static const uint8_t places[6][3] = {{0, 3, 1}, {2, 0, 1}, {1, 0, 3},
                                         {1, 2, 0}, {3, 1, 0}, {0, 1, 2}};
    const double sixth = (double)((float)h * 6.0f) / 255.0;
    const int i = (int)sixth;
    const float f = (float)(sixth - (double)(float)i), fs = (float)((double)(float)s / 255.0);
    const uint8_t v_p_q_t[4] = {v, share(v, (double)fs), share(v, (double)(fs * f)),
                                share(v, (double)fs * (1.0 - (double)f))};
    for (size_t c = 0; c < 3; c++)
        dst[c] = v_p_q_t[places[i % 6][c]];
}

void cw_colour_shift_hue_plain(uint8_t *dst, const uint8_t *src, size_t pixels, uint8_t shift)
{
    for (size_t i = 0; i < 3 * pixels; i += 3) {
        const uint8_t *rgb = src + i;
        const uint8_t most = CW_MAX(rgb[0], CW_MAX(rgb[1], rgb[2])),
                      least = CW_MIN(rgb[0], CW_MIN(rgb[1], rgb[2]));
        const float range = (float)(most - least);
        const uint8_t s = most == least ? 0 : clip((int)((double)(range / (float)most) * 255.0));
        if (s == 0)
            dst[i] = dst[i + 1] = dst[i + 2] = most;
        else
            to_rgb(dst + i, (uint8_t)(hue_of(rgb, most, range) + shift), s, most);
    }
}
