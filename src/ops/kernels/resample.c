/* SPDX-License-Identifier: Apache-2.0 */
/* A resize as two passes, over the part of the image that is needed. */
#include "ops/kernels/resample.h"

#include <string.h>
#include "base/mem.h"
#include "ops/kernels/kernel_table.h"

static void copy_rows(const struct cw_resample_job *job)
{
    const struct cw_resample_part *dst = &job->dst_part, *src = &job->src_part;
    const size_t row_bytes = (size_t)dst->w * (size_t)job->channels;
    const uint8_t *from = job->src + (size_t)(dst->y - src->y) * job->src_stride +
                          (size_t)(dst->x - src->x) * (size_t)job->channels;
    for (int32_t y = 0; y < dst->h; y++)
        memcpy(job->dst + (size_t)y * row_bytes, from + (size_t)y * job->src_stride, row_bytes);
}

static int reserve_rows(struct cw_resample *resample, size_t bytes, struct cw_err *err)
{
    if (bytes <= resample->rows_bytes)
        return 0;
    cw_mem_free(resample->rows);
    const size_t room = bytes + bytes / 4;
    resample->rows = cw_mem_try_aligned(64, CW_ALIGN_UP(room, (size_t)64));
    resample->rows_bytes = resample->rows ? room : 0;
    if (!resample->rows)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %zu bytes between the passes of a resize",
                          room);
    return 0;
}

/* The output samples [from, from + n) of an axis, as an axis of their own. */
static struct cw_filter_axis window(const struct cw_filter_axis *axis, int32_t from, int32_t n)
{
    struct cw_filter_axis some = *axis;
    some.out = n;
    some.first += from;
    some.n += from;
    some.weight += (size_t)from * (size_t)axis->taps;
    some.split += 2 * (size_t)from * (size_t)axis->taps;
    return some;
}

/* Which input samples the output samples of an axis use. */
static void span(const struct cw_filter_axis *axis, int32_t *ret_from, int32_t *ret_n)
{
    int32_t from = axis->first[0], to = from;
    for (int32_t o = 0; o < axis->out; o++) {
        from = CW_MIN(from, axis->first[o]);
        to = CW_MAX(to, axis->first[o] + axis->n[o]);
    }
    *ret_from = from;
    *ret_n = to - from;
}

/* The horizontal pass over `rows` rows from `first` on. */
static void pass_x(const struct cw_resample_job *job, const struct cw_filter_axis *axis,
                   int32_t first, int32_t rows, uint8_t *dst)
{
    const size_t channels = (size_t)job->channels;
    cw_kernels()->resample_x(&(struct cw_resample_x){
        .src = job->src + (size_t)(first - job->src_part.y) * job->src_stride,
        .src_stride = job->src_stride,
        .src_bytes = (size_t)job->src_part.w * channels,
        .first_col = job->src_part.x,
        .dst = dst,
        .dst_stride = (size_t)job->dst_part.w * channels,
        .rows = rows,
        .channels = job->channels,
        .axis = axis});
}

/* Resizes both axes: the rows that the vertical filter needs go through the horizontal filter
 * first. */
static int resize_both(struct cw_resample *resample, const struct cw_resample_job *job,
                       const struct cw_filter_axis *x, const struct cw_filter_axis *y,
                       struct cw_err *err)
{
    const size_t row_bytes = (size_t)job->dst_part.w * (size_t)job->channels;
    int32_t first_row, rows;
    span(y, &first_row, &rows);
    const int rc = reserve_rows(resample, (size_t)rows * row_bytes, err);
    if (rc < 0)
        return rc;
    pass_x(job, x, first_row, rows, resample->rows);
    cw_kernels()->resample_y(&(struct cw_resample_y){.src = resample->rows,
                                                     .src_stride = row_bytes,
                                                     .first_row = first_row,
                                                     .dst = job->dst,
                                                     .row_bytes = row_bytes,
                                                     .axis = y});
    return 0;
}

static int prepare(struct cw_resample *resample, const struct cw_resample_job *job,
                   struct cw_err *err)
{
    int rc = 0;
    if (job->dst_w != job->src_w)
        rc = cw_filter_prepare(&resample->x, job->src_w, job->dst_w, job->filter, err);
    if (job->dst_h != job->src_h && rc == 0)
        rc = cw_filter_prepare(&resample->y, job->src_h, job->dst_h, job->filter, err);
    return rc;
}

int cw_resample_needs(struct cw_resample *resample, const struct cw_resample_job *job,
                      struct cw_resample_part *ret_part, struct cw_err *err)
{
    *ret_part = job->dst_part;
    const int rc = prepare(resample, job, err);
    if (rc < 0)
        return rc;
    if (job->dst_w != job->src_w) {
        const struct cw_filter_axis x = window(&resample->x, job->dst_part.x, job->dst_part.w);
        span(&x, &ret_part->x, &ret_part->w);
    }
    if (job->dst_h != job->src_h) {
        const struct cw_filter_axis y = window(&resample->y, job->dst_part.y, job->dst_part.h);
        span(&y, &ret_part->y, &ret_part->h);
    }
    return 0;
}

int cw_resample(struct cw_resample *resample, const struct cw_resample_job *job, struct cw_err *err)
{
    const bool change_x = job->dst_w != job->src_w, change_y = job->dst_h != job->src_h;
    const struct cw_resample_part *dst = &job->dst_part;
    struct cw_filter_axis x, y;
    const int rc = prepare(resample, job, err);
    if (rc < 0)
        return rc;
    if (change_x)
        x = window(&resample->x, dst->x, dst->w);
    if (change_y)
        y = window(&resample->y, dst->y, dst->h);
    if (change_x && change_y)
        return resize_both(resample, job, &x, &y, err);
    if (change_x) {
        pass_x(job, &x, dst->y, dst->h, job->dst);
    } else if (change_y) {
        const size_t channels = (size_t)job->channels;
        cw_kernels()->resample_y(
            &(struct cw_resample_y){.src = job->src + (size_t)(dst->x - job->src_part.x) * channels,
                                    .src_stride = job->src_stride,
                                    .first_row = job->src_part.y,
                                    .dst = job->dst,
                                    .row_bytes = (size_t)dst->w * channels,
                                    .axis = &y});
    } else {
        copy_rows(job);
    }
    return 0;
}

void cw_resample_fini(struct cw_resample *resample)
{
    if (!resample)
        return;
    cw_filter_fini(&resample->x);
    cw_filter_fini(&resample->y);
    cw_mem_free(resample->rows);
    *resample = (struct cw_resample){0};
}
