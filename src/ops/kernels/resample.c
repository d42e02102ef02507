/* SPDX-License-Identifier: Apache-2.0 */
/* A resize as two passes, over the part of the image that is needed. */
#include "ops/kernels/resample.h"

#include <string.h>
#include "base/mem.h"
#include "ops/kernels/kernel_table.h"

/* How many rows the horizontal pass makes at once. */
#define ROWS 64

static void copy_rows(const struct cw_resample_job *job, int32_t y, int32_t n, uint8_t *to)
{
    const struct cw_resample_part *dst = &job->dst_part, *src = &job->src_part;
    const size_t row_bytes = (size_t)dst->w * (size_t)job->channels;
    const uint8_t *from = job->src + (size_t)(dst->y + y - src->y) * job->src_stride +
                          (size_t)(dst->x - src->x) * (size_t)job->channels;
    for (int32_t row = 0; row < n; row++)
        memcpy(to + (size_t)row * row_bytes, from + (size_t)row * job->src_stride, row_bytes);
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
    if (some.digits)
        some.digits += 3 * (size_t)from * (size_t)axis->taps;
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

int cw_resample_begin(struct cw_resample *resample, const struct cw_resample_job *job,
                      struct cw_err *err)
{
    const bool change_x = job->dst_w != job->src_w, change_y = job->dst_h != job->src_h;
    const struct cw_resample_part *dst = &job->dst_part;
    const int rc = prepare(resample, job, err);
    if (rc < 0)
        return rc;
    resample->job = *job;
    if (change_x)
        resample->part_x = window(&resample->x, dst->x, dst->w);
    if (change_y)
        resample->part_y = window(&resample->y, dst->y, dst->h);
    if (!change_x || !change_y)
        return 0;
    span(&resample->part_y, &resample->first_row, &resample->rows_n);
    resample->made_from = resample->made_to = -1;
    return reserve_rows(resample, (size_t)resample->rows_n * (size_t)dst->w * (size_t)job->channels,
                        err);
}

static void make_rows(struct cw_resample *resample, int32_t from, int32_t to)
{
    const struct cw_resample_job *job = &resample->job;
    const size_t row_bytes = (size_t)job->dst_part.w * (size_t)job->channels;
    pass_x(job, &resample->part_x, from, to - from,
           resample->rows + (size_t)(from - resample->first_row) * row_bytes);
}

/* Makes the rows between the passes that are missing of [from, to), and a few more, so that the horizontal
 * pass has whole groups of them. */
static void need_rows(struct cw_resample *resample, int32_t from, int32_t to)
{
    const int32_t first = resample->first_row, end = first + resample->rows_n;
    if (resample->made_to < 0)
        resample->made_from = resample->made_to = from;
    if (to > resample->made_to) {
        const int32_t more = CW_ALIGN_UP(to - resample->made_to, ROWS);
        const int32_t until = CW_MIN(resample->made_to + more, end);
        make_rows(resample, resample->made_to, until);
        resample->made_to = until;
    }
    if (from < resample->made_from) {
        const int32_t more = CW_ALIGN_UP(resample->made_from - from, ROWS);
        const int32_t since = CW_MAX(resample->made_from - more, first);
        make_rows(resample, since, resample->made_from);
        resample->made_from = since;
    }
}

/* The vertical pass for the output rows of an axis. */
static void pass_y(const struct cw_resample *resample, const struct cw_filter_axis *axis,
                   const uint8_t *src, size_t stride, int32_t first_row, uint8_t *dst)
{
    const struct cw_resample_job *job = &resample->job;
    cw_kernels()->resample_y(
        &(struct cw_resample_y){.src = src,
                                .src_stride = stride,
                                .first_row = first_row,
                                .dst = dst,
                                .row_bytes = (size_t)job->dst_part.w * (size_t)job->channels,
                                .axis = axis});
}

void cw_resample_strip(struct cw_resample *resample, int32_t y, int32_t n, uint8_t *dst)
{
    const struct cw_resample_job *job = &resample->job;
    const bool change_x = job->dst_w != job->src_w, change_y = job->dst_h != job->src_h;
    const size_t channels = (size_t)job->channels;
    if (!change_y && change_x)
        pass_x(job, &resample->part_x, job->dst_part.y + y, n, dst);
    if (!change_y && !change_x)
        copy_rows(job, y, n, dst);
    if (!change_y)
        return;
    const struct cw_filter_axis axis = window(&resample->part_y, y, n);
    if (!change_x) {
        pass_y(resample, &axis, job->src + (size_t)(job->dst_part.x - job->src_part.x) * channels,
               job->src_stride, job->src_part.y, dst);
        return;
    }
    int32_t from, rows;
    span(&axis, &from, &rows);
    need_rows(resample, from, from + rows);
    pass_y(resample, &axis, resample->rows, (size_t)job->dst_part.w * channels, resample->first_row,
           dst);
}

int cw_resample(struct cw_resample *resample, const struct cw_resample_job *job, struct cw_err *err)
{
    const int rc = cw_resample_begin(resample, job, err);
    if (rc == 0)
        cw_resample_strip(resample, 0, job->dst_part.h, job->dst);
    return rc;
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
