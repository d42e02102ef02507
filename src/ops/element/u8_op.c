/* SPDX-License-Identifier: Apache-2.0 */
/* The common parts of operators on u8 images. */
#include "ops/element/u8_op.h"

bool cw_u8_op_draws_p(double p)
{
    return p > 0 && p < 1;
}

bool cw_u8_op_skips(const struct cw_op_ctx *ctx, double p)
{
    return !(p > 0) || (p < 1 && cw_rng_unit(&ctx->rng, CW_U8_P_DRAW) >= p);
}

int cw_u8_op_infer(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                   struct cw_err *err)
{
    (void)opts;
    if (!cw_image_accepts_u8(in))
        return cw_err_set(err, CW_E_INVALID,
                          "field %s is %s of rank %d, not a u8 image [h, w] or [h, w, channels]",
                          in->name, cw_dtype_name(in->dtype), in->rank);
    *ret_field = *in;
    return 0;
}

int cw_u8_op_infer_colours(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                           struct cw_err *err)
{
    const int64_t channels = in->rank == 3 ? in->dims[2] : 1;
    const int rc = cw_u8_op_infer(opts, in, ret_field, err);
    if (rc == 0 && channels != 1 && channels != 3 && channels >= 0)
        return cw_err_set(err, CW_E_INVALID,
                          "field %s has %lld channels: only 1 (grey) and 3 (RGB) are possible",
                          in->name, (long long)channels);
    return rc;
}

void cw_u8_op_facts_each(double p, const size_t *fields, size_t fields_n,
                         struct cw_op_facts *ret_facts)
{
    cw_facts_of_fields(CW_EFFECT_EACH, fields, fields_n, ret_facts);
    ret_facts->by_batch = !cw_u8_op_draws_p(p);
}

void cw_u8_op_facts_other(const void *opts, const struct cw_spec *in, const size_t *fields,
                          size_t fields_n, struct cw_op_facts *ret_facts)
{
    (void)opts;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
    ret_facts->refuses = !cw_facts_are_images(in, fields, fields_n);
}

int cw_u8_op_begin(const struct cw_op_ctx *ctx, const struct cw_view *in, struct cw_view *out,
                   struct cw_u8_op_image *ret_image, struct cw_err *err)
{
    struct cw_image image;
    int rc = cw_image_get(in, &image, err);
    if (rc == 0 && image.channels != 1 && image.channels != 3)
        rc = cw_err_set(err, CW_E_INVALID,
                        "an image of %lld channels: only 1 (grey) and 3 (RGB) are possible",
                        (long long)image.channels);
    if (rc == 0)
        rc = cw_image_output(ctx, out, image.h, image.w, err);
    if (rc < 0)
        return rc;
    *ret_image = (struct cw_u8_op_image){.src = image.data,
                                         .dst = out->data,
                                         .h = (size_t)image.h,
                                         .w = (size_t)image.w,
                                         .pixels = (size_t)image.h * (size_t)image.w,
                                         .channels = (size_t)image.channels};
    return 0;
}
