/* SPDX-License-Identifier: Apache-2.0 */
/* Coefficients of one axis of a resize, as Pillow computes them (libImaging/Resample.c): a
 * window of input samples for each output sample, weights in 22-bit fixed point. A table is kept
 * until another geometry is asked for, so images of equal size pay for it once. One thread per
 * table. */
#ifndef CW_OPS_KERNELS_RESAMPLE_FILTER_H
#define CW_OPS_KERNELS_RESAMPLE_FILTER_H

#include <stdbool.h>
#include "base/err.h"

enum cw_filter { CW_FILTER_NEAREST, CW_FILTER_BOX, CW_FILTER_BILINEAR, CW_FILTER_BICUBIC };
extern const char *const cw_filter_names[]; /* NULL-terminated: option tables use it */

#define CW_FILTER_BITS 22 /* of the fraction: 32 - 8 for the sample - 2 for overshoot */
#define CW_FILTER_LOW 11  /* a weight is high << 11 | low, so that 16-bit multiplies are exact */

struct cw_filter_axis {
    int32_t in, out; /* the geometry that the table is for; 0 = none yet */
    enum cw_filter filter;
    int32_t taps;    /* weights per output sample: a multiple of 4, unused ones 0 */
    int32_t used;    /* the most that an output sample has */
    int32_t *first;  /* [out] first input sample */
    int32_t *n;      /* [out] how many */
    int32_t *weight; /* [out][taps] */
    int16_t *split;  /* [out][taps / 2][4]: high, high, low, low of two taps */
    double *work;
    size_t cap;
};

/* Zero-initialise before the first call. in, out > 0. NOMEM. */
int cw_filter_prepare(struct cw_filter_axis *axis, int32_t in, int32_t out, enum cw_filter filter,
                      struct cw_err *err);
void cw_filter_fini(struct cw_filter_axis *axis);

#endif
