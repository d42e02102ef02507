/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit samples that become others one by one, by tables and by blending. The results are those of
 * Pillow (ImageOps, ImageEnhance), bit for bit: integers, and floats in one order of operations. */
#ifndef CW_OPS_KERNELS_TONE_H
#define CW_OPS_KERNELS_TONE_H

#include "base/compiler.h"

/* how often each sample occurs in a channel */
struct cw_histogram {
    uint64_t n[256];
};

/* Pillow's Image.blend for one sample: a at factor 0, b at factor 1, and beyond. */
static inline uint8_t cw_tone_blend(int a, int b, float factor)
{
    const float v = (float)a + factor * (float)(b - a);
    return v <= 0.0f ? 0 : v >= 255.0f ? 255 : (uint8_t)v;
}

/* Samples from `threshold` on become 255 less themselves; then the bits that are not in `mask`
 * become 0. */
void cw_tone_bits(uint8_t *dst, const uint8_t *src, size_t n, unsigned threshold, uint8_t mask);
/* dst[i] = table[src[i]]. dst may be src. */
void cw_tone_map(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t table[256]);
void cw_tone_map_plain(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t table[256]);
void cw_tone_map_avx2(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t table[256]);
/* The same with a table for each of 1 or 3 channels. */
void cw_tone_map_channels(uint8_t *dst, const uint8_t *src, size_t pixels, size_t channels,
                          uint8_t tables[][256]);

void cw_tone_count(const uint8_t *src, size_t pixels, size_t channels,
                   struct cw_histogram *ret_counts);
/* The table of ImageOps.autocontrast: the darkest sample becomes 0, the brightest 255. */
void cw_tone_auto_contrast(const struct cw_histogram *counts, uint8_t ret_table[256]);
/* The table of ImageOps.equalize: all samples become about equally frequent. */
void cw_tone_equalize(const struct cw_histogram *counts, uint8_t ret_table[256]);
/* The table that blends a sample with a constant: of ImageEnhance.Brightness with 0, of Contrast
 * with the mean. */
void cw_tone_from(int constant, float factor, uint8_t ret_table[256]);

#endif
