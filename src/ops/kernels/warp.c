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

/* Fills so many pixels with what lies outside of the image. */
static void fill(const struct cw_warp_job *job, uint8_t *dst, int64_t pixels)
{
    const uint8_t *colour = job->fill;
    if (job->channels == 1 || (colour[0] == colour[1] && colour[1] == colour[2]))
        memset(dst, colour[0], (size_t)pixels * job->channels);
    else
        for (int64_t i = 0; i < pixels; i++)
            memcpy(dst + 3 * i, colour, 3);
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

/* [*begin, *end) keeps of its columns x those whose place at + x * step lies in [0, size), in pixels. */
static void narrow(int64_t at, int64_t step, int32_t size, int64_t *begin, int64_t *end)
{
    const int64_t last = ((int64_t)size << FIX_BITS) - 1;
    if (step < 0) { /* from the other side */
        step = -step;
        at = last - at;
    }
    if (at > last || (step == 0 && at < 0)) {
        *end = *begin;
    } else if (step > 0) {
        const int64_t first = at < 0 ? (step - 1 - at) / step : 0;
        *begin = CW_MIN(CW_MAX(*begin, first), *end); /* it may never come there */
        *end = CW_MAX(*begin, CW_MIN(*end, (last - at) / step + 1));
    }
}

struct walk {
    int64_t x, y, step_x, step_y; /* a place, and how far it is to that of the next column */
};

static inline __attribute__((always_inline)) void take_columns(const struct cw_warp_job *job,
                                                               struct walk walk, int64_t n,
                                                               size_t channels, uint8_t *dst)
{
    for (int64_t x = 0; x < n; x++, walk.x += walk.step_x, walk.y += walk.step_y, dst += channels)
        put(dst,
            job->src + (size_t)((walk.y >> FIX_BITS) * job->w + (walk.x >> FIX_BITS)) * channels,
            channels);
}

static void affine_nearest(const struct cw_warp_job *job)
{
    const double *m = job->matrix.m;
    const int64_t step_x = fix(m[0]), step_y = fix(m[3]);
    int64_t row_x = fix(m[2] + m[0] * 0.5 + m[1] * 0.5),
            row_y = fix(m[5] + m[3] * 0.5 + m[4] * 0.5);
    uint8_t *dst = job->dst;
    for (int32_t y = 0; y < job->h; y++, row_x += fix(m[1]), row_y += fix(m[4])) {
        int64_t begin = 0, end = job->w;
        narrow(row_x, step_x, job->w, &begin, &end);
        narrow(row_y, step_y, job->h, &begin, &end);
        const struct walk walk = {row_x + begin * step_x, row_y + begin * step_y, step_x, step_y};
        fill(job, dst, begin);
        if (job->channels == 3)
            take_columns(job, walk, end - begin, 3, dst + 3 * begin);
        else
            take_columns(job, walk, end - begin, 1, dst + begin);
        fill(job, dst + (size_t)end * job->channels, job->w - end);
        dst += (size_t)job->w * job->channels;
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
    if (!job->bilinear && !job->matrix.perspective && !(is_zero(m[1]) && is_zero(m[3])) &&
        is_fixed(job)) {
        affine_nearest(job);
        return;
    }
    fill(job, job->dst, (int64_t)job->h * job->w);
    if (job->bilinear || job->matrix.perspective || !(is_zero(m[1]) && is_zero(m[3])))
        warp_any(job);
    else
        scale_nearest(job);
}
