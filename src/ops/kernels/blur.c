/* SPDX-License-Identifier: Apache-2.0 */
/* Blurring by a normal distribution, in integers. */
#include "ops/kernels/neighbours.h"

#include <math.h>
#include <string.h>
#include "ops/kernels/exact_math.h"
#include "ops/kernels/kernel_table.h"

void cw_blur_axis_init(struct cw_blur_axis *axis, size_t taps, double sigma)
{
    double pdf[CW_BLUR_TAPS_MAX], sum = 0;
    const double middle = (double)(taps - 1) / 2;
    *axis = (struct cw_blur_axis){.taps = taps};
    for (size_t i = 0; i < taps; i++) {
        const double x = ((double)i - middle) / sigma, exponent = -0.5 * x * x;
        pdf[i] = exponent < -700 ? 0 : cw_exact_exp(exponent);
        sum += pdf[i];
    }
    int left = 1 << CW_BLUR_BITS;
    for (size_t i = 0; i < taps; i++) {
        axis->weight[i] = (uint16_t)rint(pdf[i] / sum * (1 << CW_BLUR_BITS));
        left -= axis->weight[i];
    }
    /* What rounding left over is the middle's, so that a plain area keeps its colour. */
    axis->weight[taps / 2] = (uint16_t)(axis->weight[taps / 2] + left);
}

/* Mirrors a place outside of [0, n) at the first and the last place. */
static size_t reflect(ptrdiff_t i, size_t n)
{
    const ptrdiff_t period = 2 * (ptrdiff_t)n - 2;
    if (period == 0)
        return 0;
    i %= period;
    i = i < 0 ? i + period : i;
    return (size_t)(i < (ptrdiff_t)n ? i : period - i);
}

size_t cw_blur_work_bytes(size_t h, size_t w, size_t channels)
{
    (void)h;
    const size_t row = w * channels;
    return row * sizeof(uint32_t) + (row + CW_BLUR_TAPS_MAX * channels) * sizeof(uint16_t);
}

/* Mixes the rows around row y. */
static void mix_rows(const struct cw_blur_job *job, size_t y, uint32_t *sums, uint16_t *dst)
{
    const size_t n = job->w * job->channels;
    const uint8_t *rows[CW_BLUR_TAPS_MAX];
    for (size_t i = 0; i < job->y->taps; i++)
        rows[i] =
            job->src + reflect((ptrdiff_t)(y + i) - (ptrdiff_t)(job->y->taps / 2), job->h) * n;
    cw_kernels()->blur_y(
        &(struct cw_blur_y){.dst = dst, .rows = rows, .axis = job->y, .n = n, .sums = sums});
}

/* Puts mirrored samples on both sides of a row that begins `half` pixels behind `row`. */
static void add_margins(uint16_t *row, size_t w, size_t channels, size_t half)
{
    uint16_t *inside = row + half * channels;
    for (size_t i = 0; i < half; i++) {
        const size_t left = reflect((ptrdiff_t)i - (ptrdiff_t)half, w),
                     right = reflect((ptrdiff_t)(w + i), w);
        memcpy(row + i * channels, inside + left * channels, channels * sizeof(*row));
        memcpy(inside + (w + i) * channels, inside + right * channels, channels * sizeof(*row));
    }
}

void cw_blur(const struct cw_blur_job *job)
{
    const size_t n = job->w * job->channels, half = job->x->taps / 2;
    uint32_t *sums = job->work;
    uint16_t *row = (uint16_t *)(void *)(sums + n);
    for (size_t y = 0; y < job->h; y++) {
        mix_rows(job, y, sums, row + half * job->channels);
        add_margins(row, job->w, job->channels, half);
        cw_kernels()->blur_x(&(struct cw_blur_x){.dst = job->dst + y * n,
                                                 .src = row,
                                                 .axis = job->x,
                                                 .step = job->channels,
                                                 .n = n,
                                                 .sums = sums});
    }
}
