/* SPDX-License-Identifier: Apache-2.0 */
/* Converts JPEG coefficients to RGB with AVX2, and gives the bits of libjpeg-turbo: of its accurate
 * integer inverse DCT ("islow"), its triangle filter for chroma ("fancy upsampling"), and its
 * colour conversion. */
#ifndef CW_OPS_KERNELS_JPEG_PIXELS_H
#define CW_OPS_KERNELS_JPEG_PIXELS_H

#include <stdbool.h>
#include "base/compiler.h"

struct cw_jpeg_block {
    const int16_t *coef;   /* 64 coefficients in natural order, 32-byte aligned */
    const uint16_t *quant; /* 64 factors, in the same order and alignment */
    uint8_t *dst;
    size_t stride;
};
/* Transforms two blocks at once; they may be any two. Returns false for numbers that no real image
 * has, for which the result of libjpeg depends on which coefficients are 0. */
bool cw_jpeg_idct_pair(const struct cw_jpeg_block *a, const struct cw_jpeg_block *b);
/* Transforms a block whose only coefficient other than 0 is the first. */
void cw_jpeg_idct_flat(const struct cw_jpeg_block *block);
/* Transforms a block to 4 x 4 or to 2 x 2 samples (jpeg_reduced.c). Returns false for numbers that no
 * real image has. */
bool cw_jpeg_idct_four(const struct cw_jpeg_block *block);
bool cw_jpeg_idct_two(const struct cw_jpeg_block *block);
/* Makes side x side equal samples (side: 8, 4, 2 or 1) of a block's first coefficient; block->coef is not read.
 * Returns false as those do. */
bool cw_jpeg_idct_one(int32_t dc, const struct cw_jpeg_block *block, size_t side);

/* bytes that may be read on both sides of rows, and written behind scratch rows */
#define CW_JPEG_SLACK 64

/* A run of chroma samples that are made twice as many. A sample is mixed with its neighbours to the
 * left and right, which are read too. */
struct cw_jpeg_chroma {
    /* The first sample, in the nearest row and in the row on the other side of the pixels. */
    const uint8_t *near, *far;
    size_t n;
    bool vertical; /* the two rows are mixed; otherwise far is not read */
    /* The image ends on that side: the outermost sample replaces its missing neighbour. */
    bool at_left, at_right;
};
/* Writes 2 * n samples. sums has room for n samples, and for CW_JPEG_SLACK on both sides. */
void cw_jpeg_upsample(uint8_t *dst, const struct cw_jpeg_chroma *chroma, uint16_t *sums);
/* Converts n pixels of YCbCr to exactly 3 * n bytes. */
void cw_jpeg_rgb(uint8_t *dst, const uint8_t *y, const uint8_t *cb, const uint8_t *cr, size_t n);

#endif
