/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over the values of tables, where each place in the last dimension (a column) has its own
 * numbers. These are given for a period, a whole number of columns and of vectors: value i has the
 * numbers at i % period. */
#ifndef CW_OPS_KERNELS_COLUMNS_H
#define CW_OPS_KERNELS_COLUMNS_H

#include <stdbool.h>
#include "base/compiler.h"

/* A period is a multiple of this. */
#define CW_COLUMNS_VECTOR 8

/* Ascending boundaries of each column. Row k of `bounds` has the boundary k of each place in the
 * period; columns with fewer than `n` are filled up with +inf. limit: how many a column has. */
struct cw_columns_bounds {
    size_t n, period;
    const float *bounds;
    const int32_t *limit;
    /* A value that equals a boundary is in the bucket below it. */
    bool right;
};

/* The kernel column_fill: NaNs become `value`. */
void cw_columns_fill_plain(float *dst, const float *src, size_t n, const float *value,
                           size_t period);
void cw_columns_fill_avx2(float *dst, const float *src, size_t n, const float *value,
                          size_t period);
/* The kernel column_clip: values below `low` become it, then those above `high`; NaNs stay. */
void cw_columns_clip_plain(float *dst, const float *src, size_t n, const float *low,
                           const float *high, size_t period);
void cw_columns_clip_avx2(float *dst, const float *src, size_t n, const float *low,
                          const float *high, size_t period);
/* The kernel column_scale: (x - mean) / std. */
void cw_columns_scale_plain(float *dst, const float *src, size_t n, const float *mean,
                            const float *std, size_t period);
void cw_columns_scale_avx2(float *dst, const float *src, size_t n, const float *mean,
                           const float *std, size_t period);
/* The kernel column_bucket: how many boundaries are not above the value (`right`: are below it); all
 * of them for NaN. */
void cw_columns_bucket_plain(int64_t *dst, const float *src, size_t n,
                             const struct cw_columns_bounds *bounds);
void cw_columns_bucket_avx2(int64_t *dst, const float *src, size_t n,
                            const struct cw_columns_bounds *bounds);

#endif
