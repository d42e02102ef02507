/* SPDX-License-Identifier: Apache-2.0 */
/* What needs the three samples of a pixel at once: RGB images as Pillow changes them, bit for bit. */
#ifndef CW_OPS_KERNELS_COLOUR_H
#define CW_OPS_KERNELS_COLOUR_H

#include "base/compiler.h"

/* The luminance of each pixel, three times. dst must not overlap src. */
void cw_colour_grey(uint8_t *dst, const uint8_t *src, size_t pixels);
/* ImageEnhance.Color: blends each pixel with its luminance. dst may be src. */
void cw_colour_saturate(uint8_t *dst, const uint8_t *src, size_t pixels, float factor);
void cw_colour_saturate_plain(uint8_t *dst, const uint8_t *src, size_t pixels, float factor);
void cw_colour_saturate_avx2(uint8_t *dst, const uint8_t *src, size_t pixels, float factor);
/* To HSV, with `shift` added to H, and back. dst may be src. */
void cw_colour_shift_hue(uint8_t *dst, const uint8_t *src, size_t pixels, uint8_t shift);
void cw_colour_shift_hue_plain(uint8_t *dst, const uint8_t *src, size_t pixels, uint8_t shift);
void cw_colour_shift_hue_avx2(uint8_t *dst, const uint8_t *src, size_t pixels, uint8_t shift);
/* The mean of the luminance, rounded as ImageEnhance.Contrast does. channels: 1 or 3; pixels > 0. */
int cw_colour_mean(const uint8_t *src, size_t pixels, size_t channels);

/* Pillow's luminance of one pixel. */
static inline uint8_t cw_colour_luminance(const uint8_t rgb[3])
{
    return (uint8_t)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

#endif
