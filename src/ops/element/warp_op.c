/* SPDX-License-Identifier: Apache-2.0 */
/* The common parts of operators that move pixels by a matrix. */
#include "ops/element/warp_op.h"

const char *const cw_warp_op_names[] = {"nearest", "bilinear", NULL};

double cw_warp_op_low(const struct cw_f64_list *range)
{
    return range->n == 1 ? -range->v[0] : range->v[0];
}

double cw_warp_op_high(const struct cw_f64_list *range)
{
    return range->v[range->n - 1];
}

int cw_warp_op_check_range(const char *name, double lo, double hi, struct cw_err *err)
{
    if (lo > hi)
        return cw_err_set(err, CW_E_INVALID, "option %s: %g is greater than %g", name, lo, hi);
    return 0;
}

int cw_warp_op_motion(const struct cw_warp_matrix *matrix, struct cw_motion *motion)
{
    const double *m = matrix->m;
    const double of[9] = {m[0],
                          m[1],
                          m[2],
                          m[3],
                          m[4],
                          m[5],
                          matrix->perspective ? m[6] : 0,
                          matrix->perspective ? m[7] : 0,
                          1};
    return cw_motion_inverse(motion, of) ? 0 : 1;
}

static int64_t nothing[] = {0};
const struct cw_warp_op_opts cw_warp_op_mask_opts = {.fill = {.v = nothing, .n = 1}};

int cw_warp_op_check(const struct cw_warp_op_opts *o, struct cw_err *err)
{
    if (o->fill.n == 2)
        return cw_err_set(err, CW_E_INVALID, "option fill: 2 numbers; images have 1 channel or 3");
    return 0;
}

int cw_warp_op_check_fill(const struct cw_warp_op_opts *o, int64_t channels, struct cw_err *err)
{
    if (o->fill.n == 1 || channels < 0 || channels == (int64_t)o->fill.n)
        return 0;
    return cw_err_set(err, CW_E_INVALID, "option fill: %zu numbers for an image of %lld channels",
                      o->fill.n, (long long)channels);
}

int cw_warp_op_infer(const struct cw_warp_op_opts *o, const struct cw_field *in,
                     struct cw_field *ret_field, struct cw_err *err)
{
    const int rc = cw_u8_op_infer_colours(o, in, ret_field, err);
    return rc < 0 ? rc : cw_warp_op_check_fill(o, in->rank == 3 ? in->dims[2] : 1, err);
}

int cw_warp_op_run(const struct cw_warp_op_opts *o, const struct cw_u8_op_image *image,
                   const struct cw_warp_matrix *matrix, const uint8_t *src, uint8_t *dst,
                   struct cw_err *err)
{
    struct cw_warp_job job = {.src = src,
                              .dst = dst,
                              .h = (int32_t)image->h,
                              .w = (int32_t)image->w,
                              .channels = image->channels,
                              .matrix = *matrix,
                              .bilinear = o->interpolation == 1};
    const int rc = cw_warp_op_check_fill(o, (int64_t)image->channels, err);
    if (rc < 0)
        return rc;
    for (size_t c = 0; c < CW_MIN(image->channels, CW_ARRAY_LEN(job.fill)); c++)
        job.fill[c] = (uint8_t)o->fill.v[o->fill.n == 1 ? 0 : c];
    cw_warp(&job);
    return 0;
}
