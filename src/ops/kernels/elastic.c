/* SPDX-License-Identifier: Apache-2.0 */
/* Smooth fields of ways, in f32 with sums in one order, and samples at places that are no pixels, in doubles. */
#include "ops/kernels/elastic.h"

#include <math.h>
#include <string.h>
#include "ops/kernels/bands.h"
#include "ops/kernels/exact_math.h"

void cw_elastic_filter_init(struct cw_elastic_filter *filter, double sigma)
{
    double sum = 0, weight[CW_ELASTIC_TAPS_MAX];
    filter->taps = CW_MIN((size_t)(8 * sigma + 1) | 1, (size_t)CW_ELASTIC_TAPS_MAX);
    for (size_t i = 0; i < filter->taps; i++) {
        const double at = ((double)i - (double)(filter->taps / 2)) / sigma;
        weight[i] = cw_exact_exp(-0.5 * at * at);
        sum += weight[i];
    }
    for (size_t i = 0; i < filter->taps; i++)
        filter->weight[i] = (float)(weight[i] / sum);
}

/* Where a number lies that is mirrored at the outermost ones, perhaps several times. */
static size_t mirrored(int64_t i, size_t n)
{
    const int64_t period = CW_MAX(2 * ((int64_t)n - 1), 1);
    i = i % period;
    i = i < 0 ? i + period : i;
    return (size_t)(i < (int64_t)n ? i : period - i);
}

/* Of a field of h x w: the bands of a pass, the field with what is mirrored above and below it, and another field. */
static size_t bands_bytes(size_t h, size_t w)
{
    return CW_ALIGN_UP(CW_MAX(h, w) * sizeof(struct cw_band), (size_t)64);
}

size_t cw_elastic_work_bytes(const struct cw_elastic_filter *filter, size_t h, size_t w)
{
    return bands_bytes(h, w) + (2 * h * w + CW_MAX(h, w) * filter->taps) * sizeof(float);
}

/* Smooths along the columns. padded: room for taps - 1 rows more than src has. */
static void smooth_columns(const struct cw_elastic_filter *filter, const float *src, float *dst,
                           size_t h, size_t w, struct cw_band *band, float *padded)
{
    const int64_t half = (int64_t)(filter->taps / 2);
    for (size_t y = 0; y < h + filter->taps - 1; y++)
        memcpy(padded + y * w, src + mirrored((int64_t)y - half, h) * w, w * sizeof(*src));
    for (size_t y = 0; y < h; y++)
        band[y] = (struct cw_band){.first = y, .n = filter->taps, .weights = filter->weight};
    const struct cw_bands bands = {.n = h, .rows = h + filter->taps - 1, .bands = band};
    cw_bands_run(&(struct cw_bands_job){.bands = &bands, .src = padded, .dst = dst, .columns = w});
}

/* Makes rows of columns. */
static void turn(const float *src, float *dst, size_t h, size_t w)
{
    for (size_t y = 0; y < h; y++)
        for (size_t x = 0; x < w; x++)
            dst[x * h + y] = src[y * w + x];
}

void cw_elastic_smooth(const struct cw_elastic_filter *filter, float *field, size_t h, size_t w,
                       void *work)
{
    struct cw_band *band = work;
    float *other = (float *)(void *)((char *)work + bands_bytes(h, w)), *padded = other + h * w;
    smooth_columns(filter, field, other, h, w, band, padded);
    turn(other, field, h, w);
    smooth_columns(filter, field, other, w, h, band, padded);
    turn(other, field, w, h);
}

/* A sample of the image, or what lies outside. */
static double sample(const struct cw_elastic_job *job, int64_t y, int64_t x, size_t c)
{
    if (y < 0 || x < 0 || y >= (int64_t)job->h || x >= (int64_t)job->w)
        return job->fill[c];
    return job->src[((size_t)y * job->w + (size_t)x) * job->channels + c];
}

static void mix(const struct cw_elastic_job *job, double at_y, double at_x, uint8_t *dst)
{
    const double top = floor(at_y), left = floor(at_x), down = at_y - top, right = at_x - left;
    const int64_t y = (int64_t)top, x = (int64_t)left;
    const bool inside = y >= 0 && x >= 0 && y + 1 < (int64_t)job->h && x + 1 < (int64_t)job->w;
    const size_t stride = job->w * job->channels, n = job->channels;
    const uint8_t *at = inside ? job->src + (size_t)y * stride + (size_t)x * n : NULL;
    for (size_t c = 0; c < n; c++) {
        const double four[4] = {at ? at[c] : sample(job, y, x, c),
                                at ? at[c + n] : sample(job, y, x + 1, c),
                                at ? at[c + stride] : sample(job, y + 1, x, c),
                                at ? at[c + stride + n] : sample(job, y + 1, x + 1, c)};
        const double up = four[0] + (four[1] - four[0]) * right,
                     low = four[2] + (four[3] - four[2]) * right;
        dst[c] = (uint8_t)rint(up + (low - up) * down);
    }
}

static void take(const struct cw_elastic_job *job, double at_y, double at_x, uint8_t *dst)
{
    for (size_t c = 0; c < job->channels; c++)
        dst[c] = (uint8_t)sample(job, (int64_t)rint(at_y), (int64_t)rint(at_x), c);
}

void cw_elastic(const struct cw_elastic_job *job)
{
    const size_t n = job->h * job->w;
    for (size_t i = 0; i < n; i++) {
        /* Far outside all is alike, and a whole number of any size could not be had. */
        const double at_y = fmin(fmax((double)(i / job->w) + (double)job->y[i] * job->scale_y, -2),
                                 (double)job->h + 1),
                     at_x = fmin(fmax((double)(i % job->w) + (double)job->x[i] * job->scale_x, -2),
                                 (double)job->w + 1);
        if (job->bilinear)
            mix(job, at_y, at_x, job->dst + i * job->channels);
        else
            take(job, at_y, at_x, job->dst + i * job->channels);
    }
}
