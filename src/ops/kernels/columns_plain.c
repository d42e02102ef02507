/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over tables in plain C. */
#include "ops/kernels/columns.h"

#include <math.h>

/* Runs `body` for each value i, which has its numbers at p. */
#define EACH(body)                                                                                 \
    for (size_t i = 0, p = 0; i < n; i++, p = p + 1 == period ? 0 : p + 1) {                       \
        const float x = src[i];                                                                    \
        body;                                                                                      \
    }

void cw_columns_fill_plain(float *dst, const float *src, size_t n, const float *value,
                           size_t period)
{
    EACH(dst[i] = isnan(x) ? value[p] : x)
}

void cw_columns_clip_plain(float *dst, const float *src, size_t n, const float *low,
                           const float *high, size_t period)
{
    EACH(const float v = x < low[p] ? low[p] : x; dst[i] = v > high[p] ? high[p] : v)
}

void cw_columns_scale_plain(float *dst, const float *src, size_t n, const float *mean,
                            const float *std, size_t period)
{
    EACH(dst[i] = (x - mean[p]) / std[p])
}

/* Whether a boundary counts for x. */
static bool is_passed(float x, float bound, bool right)
{
    return right ? !(x <= bound) : !(x < bound);
}

void cw_columns_bucket_plain(int64_t *dst, const float *src, size_t n,
                             const struct cw_columns_bounds *bounds)
{
    const size_t period = bounds->period;
    EACH(size_t low = 0; size_t high = (size_t)bounds->limit[p]; while (low < high) {
        const size_t middle = (low + high) / 2;
        if (is_passed(x, bounds->bounds[middle * period + p], bounds->right))
            low = middle + 1;
        else
            high = middle;
    } dst[i] = (int64_t)low)
}
