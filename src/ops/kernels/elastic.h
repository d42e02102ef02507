/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit images whose pixels are moved by a smooth random field of ways. */
#ifndef CW_OPS_KERNELS_ELASTIC_H
#define CW_OPS_KERNELS_ELASTIC_H

#include <stdbool.h>
#include "base/compiler.h"

#define CW_ELASTIC_SIGMA_MAX 100.0
#define CW_ELASTIC_TAPS_MAX 801

/* The weights of a normal distribution of deviation sigma, cut off at four of them; their sum is 1. */
struct cw_elastic_filter {
    size_t taps; /* odd */
    float weight[CW_ELASTIC_TAPS_MAX];
};
void cw_elastic_filter_init(struct cw_elastic_filter *filter, double sigma);

/* How many bytes cw_elastic_smooth needs to work, aligned to 64. */
size_t cw_elastic_work_bytes(const struct cw_elastic_filter *filter, size_t h, size_t w);
/* Smooths a field of h x w numbers along the columns, then along the rows; what lies outside is mirrored at the outermost
 * numbers. */
void cw_elastic_smooth(const struct cw_elastic_filter *filter, float *field, size_t h, size_t w,
                       void *work);

#define CW_ELASTIC_CHANNELS_MAX 3
struct cw_elastic_job {
    const uint8_t *src;
    uint8_t *dst; /* must not overlap src */
    size_t h, w, channels;
    const float *x, *y;      /* of each pixel, how far from it its samples are taken ... */
    double scale_x, scale_y; /* ... in units of so many pixels */
    bool bilinear;           /* false: the nearest sample */
    uint8_t fill[CW_ELASTIC_CHANNELS_MAX]; /* what lies outside of the image */
};
void cw_elastic(const struct cw_elastic_job *job);

#endif
