/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit images whose samples are mixed with their neighbours: sharpening and blurring. */
#ifndef CW_OPS_KERNELS_NEIGHBOURS_H
#define CW_OPS_KERNELS_NEIGHBOURS_H

#include <stdbool.h>
#include "base/compiler.h"

/* ImageEnhance.Sharpness of Pillow, bit for bit: blends the image with itself smoothed by its eight
 * neighbours, except for the outermost samples. dst and src must not overlap. */
void cw_sharpen(uint8_t *dst, const uint8_t *src, size_t h, size_t w, size_t channels,
                float factor);

#define CW_BLUR_TAPS_MAX 255
#define CW_BLUR_BITS 15
/* The weights of one axis, in units of 2^-15; their sum is 1. */
struct cw_blur_axis {
    size_t taps; /* odd */
    uint16_t weight[CW_BLUR_TAPS_MAX];
};
/* A normal distribution of deviation `sigma`, in samples, as torchvision's gaussian_blur has it. */
void cw_blur_axis_init(struct cw_blur_axis *axis, size_t taps, double sigma);

/* One row of the pass along the columns: samples with 8 bits of the fraction, of a row for each tap. */
struct cw_blur_y {
    uint16_t *dst;
    const uint8_t *const *rows;
    const struct cw_blur_axis *axis;
    size_t from, n; /* samples [from, n) */
    uint32_t *sums; /* room for n */
};
/* One row of the pass along the rows: sample x is made of samples x, x + step, x + 2 step ... of src. */
struct cw_blur_x {
    uint8_t *dst;
    const uint16_t *src;
    const struct cw_blur_axis *axis;
    size_t step, from, n;
    uint32_t *sums;
};
void cw_blur_y_plain(const struct cw_blur_y *pass);
void cw_blur_y_avx2(const struct cw_blur_y *pass);
void cw_blur_x_plain(const struct cw_blur_x *pass);
void cw_blur_x_avx2(const struct cw_blur_x *pass);

struct cw_blur_job {
    const uint8_t *src;
    uint8_t *dst; /* must not overlap src */
    size_t h, w, channels;
    const struct cw_blur_axis *x, *y;
    /* room for what cw_blur_work_bytes says, aligned for uint32_t */
    void *work;
};
size_t cw_blur_work_bytes(size_t h, size_t w, size_t channels);
/* Blurs along the columns, then along the rows; what lies outside is mirrored at the outermost
 * samples. Between the two 8 bits of the fraction are kept. */
void cw_blur(const struct cw_blur_job *job);

#endif
