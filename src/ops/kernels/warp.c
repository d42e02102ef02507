/* SPDX-License-Identifier: Apache-2.0 */
/* Moving pixels by a matrix. */
#include "ops/kernels/warp.h"

#include <math.h>
#include <string.h>

static inline void put(uint8_t *to, const uint8_t *from, size_t channels)
{
    if (channels == 3)
        memcpy(to, from, 3);
    else
        *to = *from;
}

static void fill_all(const struct cw_warp_job *job)
{
    const size_t pixels = (size_t)job->h * (size_t)job->w;
    if (job->channels == 1)
        memset(job->dst, job->fill[0], pixels);
    else
        for (size_t i = 0; i < pixels; i++)
            memcpy(job->dst + 3 * i, job->fill, 3);
}

static inline int32_t whole(double v)
{
    return v < 0.0 ? -1 : (int32_t)fmin(v, 1e9);
}

/* Nearest samples of a matrix that only scales and moves. Places are added up, as Pillow does. */
static void scale_nearest(const struct cw_warp_job *job)
{
    const double *m = job->matrix.m;
    double y_at = m[5] + m[4] * 0.5;
    for (int32_t y = 0; y < job->h; y++, y_at += m[4]) {
        const int32_t from_y = whole(y_at);
        if (from_y < 0 || from_y >= job->h)
            continue;
        const uint8_t *row = job->src + (size_t)from_y * (size_t)job->w * job->channels;
        uint8_t *dst = job->dst + (size_t)y * (size_t)job->w * job->channels;
        double x_at = m[2] + m[0] * 0.5;
        for (int32_t x = 0; x < job->w; x++, x_at += m[0]) {
            const int32_t from_x = whole(x_at);
            if (from_x >= 0 && from_x < job->w)
                put(dst + (size_t)x * job->channels, row + (size_t)from_x * job->channels,
                    job->channels);
        }
    }
}

#define FIX_BITS 16

static int64_t fix(double v)
{
    return (int64_t)floor(v * 65536.0 + 0.5);
}

/* Whether all places fit into 32 bits with 16 of the fraction; then Pillow adds integers up. */
static bool is_fixed(const struct cw_warp_job *job)
{
    const double *m = job->matrix.m;
    for (int corner = 0; corner < 4; corner++) {
        const double x = corner & 1 ? job->w : 0, y = corner & 2 ? job->h : 0;
        if (!(fabs(x * m[0] + y * m[1] + m[2]) < 32768.0) ||
            !(fabs(x * m[3] + y * m[4] + m[5]) < 32768.0))
            return false;
    }
    return true;
}

static void affine_nearest(const struct cw_warp_job *job)
{
    const double *m = job->matrix.m;
    const int64_t step_x = fix(m[0]), step_y = fix(m[3]);
    int64_t row_x = fix(m[2] + m[0] * 0.5 + m[1] * 0.5),
            row_y = fix(m[5] + m[3] * 0.5 + m[4] * 0.5);
    uint8_t *dst = job->dst;
    for (int32_t y = 0; y < job->h; y++, row_x += fix(m[1]), row_y += fix(m[4])) {
        int64_t at_x = row_x, at_y = row_y;
        for (int32_t x = 0; x < job->w; x++, at_x += step_x, at_y += step_y) {
            const int64_t from_x = at_x >> FIX_BITS, from_y = at_y >> FIX_BITS;
            if (from_x >= 0 && from_x < job->w && from_y >= 0 && from_y < job->h)
                put(dst, job->src + (size_t)(from_y * job->w + from_x) * job->channels,
                    job->channels);
            dst += job->channels;
        }
    }
}

/* The place in the image of pixel (x, y) of the result. */
static inline void place(const struct cw_warp_matrix *matrix, int32_t x, int32_t y, double *ret_x,
                         double *ret_y)
{
    const double *m = matrix->m, at_x = x + 0.5, at_y = y + 0.5;
    *ret_x = m[0] * at_x + m[1] * at_y + m[2];
    *ret_y = m[3] * at_x + m[4] * at_y + m[5];
    if (matrix->perspective) {
        const double depth = m[6] * at_x + m[7] * at_y + 1;
        *ret_x /= depth;
        *ret_y /= depth;
    }
}

static inline int32_t clip(int32_t i, int32_t n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

static inline double between(double a, double b, double share)
{
    return a + (b - a) * share;
}

/* Mixes the four samples around a place that lies in the image. */
static inline void mix(const struct cw_warp_job *job, double at_x, double at_y, uint8_t *dst)
{
    at_x -= 0.5;
    at_y -= 0.5;
    const int32_t x = (int32_t)floor(at_x), y = (int32_t)floor(at_y);
    const double dx = at_x - x, dy = at_y - y;
    const size_t stride = (size_t)job->w * job->channels;
    const uint8_t *up = job->src + (size_t)clip(y, job->h) * stride;
    const uint8_t *down = y + 1 < job->h ? job->src + (size_t)(y + 1) * stride : up;
    const size_t left = (size_t)clip(x, job->w) * job->channels,
                 right = (size_t)clip(x + 1, job->w) * job->channels;
    for (size_t c = 0; c < job->channels; c++) {
        const double a = between(up[left + c], up[right + c], dx),
                     b = between(down[left + c], down[right + c], dx);
        dst[c] = (uint8_t)between(a, b, dy);
    }
}

/* Any matrix. */
static void warp_any(const struct cw_warp_job *job)
{
    uint8_t *dst = job->dst;
    for (int32_t y = 0; y < job->h; y++)
        for (int32_t x = 0; x < job->w; x++, dst += job->channels) {
            double at_x, at_y;
            place(&job->matrix, x, y, &at_x, &at_y);
            if (!(at_x >= 0.0 && at_x < job->w && at_y >= 0.0 && at_y < job->h))
                continue;
            if (job->bilinear)
                mix(job, at_x, at_y, dst);
            else
                put(dst, job->src + ((size_t)at_y * (size_t)job->w + (size_t)at_x) * job->channels,
                    job->channels);
        }
}

static bool is_zero(double v)
{
    return !(v < 0) && !(v > 0);
}

void cw_warp(const struct cw_warp_job *job)
{
    const double *m = job->matrix.m;
    fill_all(job);
    if (job->bilinear || job->matrix.perspective)
        warp_any(job);
    else if (is_zero(m[1]) && is_zero(m[3]))
        scale_nearest(job);
    else if (is_fixed(job))
        affine_nearest(job);
    else
        warp_any(job);
}
