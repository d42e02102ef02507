/* SPDX-License-Identifier: Apache-2.0 */
/* From JPEG coefficients to RGB with AVX2, with the bits of libjpeg-turbo: its accurate integer
 * inverse DCT ("islow"), its triangle filter for chroma ("fancy upsampling"), its colour
 * conversion. */
#ifndef CW_OPS_KERNELS_JPEG_PIXELS_H
#define CW_OPS_KERNELS_JPEG_PIXELS_H

#include <stdbool.h>
#include "base/compiler.h"

struct cw_jpeg_block {
    const int16_t *coef;   /* 64 in natural order, 32-byte aligned */
    const uint16_t *quant; /* likewise */
    uint8_t *dst;
    size_t stride;
};
/* Two blocks at once: any two. false: numbers that no image has, for which libjpeg's arithmetic
 * depends on what is 0. */
bool cw_jpeg_idct_pair(const struct cw_jpeg_block *a, const struct cw_jpeg_block *b);
/* A block of which only the first coefficient is not 0. */
void cw_jpeg_idct_flat(const struct cw_jpeg_block *block);

/* bytes that may be read on both sides of rows, and written behind scratch rows */
#define CW_JPEG_SLACK 64

/* Chroma samples that become twice as many. A sample is mixed with its neighbours to the left
 * and right, which are read too. */
struct cw_jpeg_chroma {
    const uint8_t *near,
        *far; /* first sample: in the nearest row, and in the one on the other side of the pixels */
    size_t n;
    bool vertical; /* mix the two rows; else far is not looked at */
    bool at_left,
        at_right; /* the image ends there: the outermost sample stands for its missing neighbour */
};
/* Gives 2 * n samples. sums has room for n samples and CW_JPEG_SLACK on both sides. */
void cw_jpeg_upsample(uint8_t *dst, const struct cw_jpeg_chroma *chroma, uint16_t *sums);
/* n pixels of YCbCr to 3 * n bytes, none beside. */
void cw_jpeg_rgb(uint8_t *dst, const uint8_t *y, const uint8_t *cb, const uint8_t *cr, size_t n);

#endif
