/* SPDX-License-Identifier: Apache-2.0 */
/* Coefficients of one axis of a resize, computed as Pillow does (libImaging/Resample.c): for each
 * output sample a window of input samples, with weights in 22-bit fixed point. A table is kept
 * until another geometry is asked for, so images of equal size pay for it once. A table is used by
 * one thread. */
#ifndef CW_OPS_KERNELS_RESAMPLE_FILTER_H
#define CW_OPS_KERNELS_RESAMPLE_FILTER_H

#include <stdbool.h>
#include "base/err.h"

enum cw_filter {
    CW_FILTER_NEAREST,
    CW_FILTER_BOX,
    CW_FILTER_BILINEAR,
    CW_FILTER_BICUBIC,
    CW_FILTER_LANCZOS,
    CW_FILTERS
};
/* names of the filters, for option tables; ends with NULL */
extern const char *const cw_filter_names[];

/* bits of the fraction of a weight: 32, less 8 for the sample and 2 for overshoot */
#define CW_FILTER_BITS 22
/* a weight is split into high << 11 | low, so that 16-bit multiplications are exact */
#define CW_FILTER_LOW 11

struct cw_filter_axis {
    int32_t in, out; /* the geometry for which the table was made; 0: none yet */
    enum cw_filter filter;
    int32_t taps;    /* weights for each output sample: a multiple of 4; unused weights are 0 */
    int32_t used;    /* the largest number of weights that an output sample uses */
    int32_t *first;  /* [out]: the first input sample of each output sample */
    int32_t *n;      /* [out]: how many input samples each output sample uses */
    int32_t *weight; /* [out][taps] */
    int16_t *split;  /* [out][taps / 2][4]: high, high, low, low of two taps */
    /* [out][taps / 4][3][4]: each weight as three digits to the base 256, from -128 to 127, the highest
     * first; four taps side by side. Only for the levels that use it; NULL if a weight needs more. */
    int8_t *digits;
    double *work;
    int8_t *digits_room;
    size_t cap;
};

/* Makes the table for a geometry. The struct is zero-initialised before the first call. in, out >
 * 0. The only error is NOMEM. */
int cw_filter_prepare(struct cw_filter_axis *axis, int32_t in, int32_t out, enum cw_filter filter,
                      struct cw_err *err);
void cw_filter_fini(struct cw_filter_axis *axis);

#endif
