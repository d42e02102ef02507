/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit images whose pixels are moved: the result at (x, y) is the image at a place that a matrix
 * says, as Pillow's Image.transform computes it, bit for bit: integers, and doubles in one order of
 * operations. */
#ifndef CW_OPS_KERNELS_WARP_H
#define CW_OPS_KERNELS_WARP_H

#include <stdbool.h>
#include "base/compiler.h"

/* The place in the image of the middle of a pixel of the result: (m0 x + m1 y + m2, m3 x + m4 y + m5),
 * divided by m6 x + m7 y + 1 if it is a perspective. */
struct cw_warp_matrix {
    double m[8];
    bool perspective;
};
#define CW_WARP_CHANNELS_MAX 3
struct cw_warp_job {
    const uint8_t *src;
    uint8_t *dst; /* must not overlap src; h x w, too */
    int32_t h, w;
    size_t channels;
    struct cw_warp_matrix matrix;
    bool bilinear;                      /* false: the nearest sample */
    uint8_t fill[CW_WARP_CHANNELS_MAX]; /* what lies outside of the image */
};
void cw_warp(const struct cw_warp_job *job);

/* The matrix of Pillow's Image.rotate: counter-clockwise about the middle of an image. */
struct cw_warp_matrix cw_warp_rotation(double degrees, int64_t h, int64_t w);

/* what torchvision's affine is told: degrees, pixels, a factor, degrees */
struct cw_warp_affine {
    double angle, translate_x, translate_y, scale, shear_x, shear_y;
};
/* The inverse of: shear, scale, rotate about the middle, move. */
struct cw_warp_matrix cw_warp_affine(const struct cw_warp_affine *affine, int64_t h, int64_t w);

struct cw_warp_point {
    double x, y;
};
/* The perspective that has in `to` what the image has in `from`. Returns false if there is none: three
 * of the points lie on a line. */
bool cw_warp_perspective(const struct cw_warp_point from[4], const struct cw_warp_point to[4],
                         struct cw_warp_matrix *ret_matrix);

#endif
