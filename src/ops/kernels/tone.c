/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of samples, and what they are made of. */
#include "ops/kernels/tone.h"

#include <string.h>
#include "ops/kernels/kernel_table.h"

void cw_tone_bits(uint8_t *dst, const uint8_t *src, size_t n, unsigned threshold, uint8_t mask)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t flip = src[i] >= threshold ? 255 : 0;
        dst[i] = (uint8_t)((src[i] ^ flip) & mask);
    }
}

void cw_tone_map(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t table[256])
{
    cw_kernels()->tone_map(dst, src, n, table);
}

void cw_tone_map_channels(uint8_t *dst, const uint8_t *src, size_t pixels, size_t channels,
                          uint8_t tables[][256])
{
    if (channels == 1) {
        cw_tone_map(dst, src, pixels, tables[0]);
        return;
    }
    for (size_t i = 0; i < 3 * pixels; i += 3)
        for (size_t c = 0; c < 3; c++)
            dst[i + c] = tables[c][src[i + c]];
}

void cw_tone_count(const uint8_t *src, size_t pixels, size_t channels,
                   struct cw_histogram *ret_counts)
{
    memset(ret_counts, 0, channels * sizeof(*ret_counts));
    for (size_t i = 0; i < pixels; i++)
        for (size_t c = 0; c < channels; c++)
            ret_counts[c].n[src[i * channels + c]]++;
}

static void keep(uint8_t table[256])
{
    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)i;
}

void cw_tone_auto_contrast(const struct cw_histogram *counts, uint8_t ret_table[256])
{
    int lo = 0, hi = 255;
    while (lo < 255 && !counts->n[lo])
        lo++;
    while (hi > 0 && !counts->n[hi])
        hi--;
    keep(ret_table);
    if (hi <= lo)
        return;
    const double scale = 255.0 / (hi - lo), offset = -lo * scale;
    for (int i = 0; i < 256; i++) {
        const int v = (int)(i * scale + offset);
        ret_table[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
}

void cw_tone_equalize(const struct cw_histogram *counts, uint8_t ret_table[256])
{
    uint64_t sum = 0, last = 0;
    for (int i = 0; i < 256; i++) {
        sum += counts->n[i];
        last = counts->n[i] ? counts->n[i] : last;
    }
    const uint64_t step = (sum - last) / 255;
    keep(ret_table);
    if (step == 0)
        return;
    uint64_t n = step / 2;
    for (int i = 0; i < 256; i++) {
        ret_table[i] = (uint8_t)CW_MIN(n / step, UINT64_C(255));
        n += counts->n[i];
    }
}

void cw_tone_from(int constant, float factor, uint8_t ret_table[256])
{
    for (int i = 0; i < 256; i++)
        ret_table[i] = cw_tone_blend(constant, i, factor);
}
