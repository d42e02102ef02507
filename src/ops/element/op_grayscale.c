/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `grayscale`: RGB images become grey ones. */
#include "ops/element/u8_op.h"

#include "ops/kernels/colour.h"
#include "ops/kernels/pixels.h"

struct grayscale_opts {
    double p;
    int64_t channels;
};

static const struct cw_opt options[] = {
    {.name = "channels",
     .help = "of the result: 1, or 3 that are equal",
     .type = CW_OPT_I64,
     .offset = offsetof(struct grayscale_opts, channels),
     .def = "1",
     .min = 1,
     .max = 3},
    CW_U8_P_ROW(offsetof(struct grayscale_opts, p), "1.0"),
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct grayscale_opts *o = opts;
    if (o->channels == 2)
        return cw_err_set(err, CW_E_INVALID, "option channels: 2 is not possible, only 1 and 3");
    if (o->p < 1 && o->channels == 1)
        return cw_err_set(err, CW_E_INVALID,
                          "option p: with channels 1 all images become grey; with channels 3 some "
                          "may stay as they are");
    return 0;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct grayscale_opts *o = opts;
    const int rc = cw_u8_op_infer_colours(opts, in, ret_field, err);
    if (rc < 0)
        return rc;
    if (in->rank != 3 || (in->dims[2] >= 0 && in->dims[2] != 3))
        return cw_err_set(err, CW_E_INVALID, "field %s is no RGB image [h, w, 3]", in->name);
    ret_field->dims[2] = o->channels;
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct grayscale_opts *o = opts;
    struct cw_image image;
    (void)state;
    (void)scratch;
    int rc = cw_image_get(in, &image, err);
    if (rc == 0 && image.channels != 3)
        rc = cw_err_set(err, CW_E_INVALID, "an image of %lld channels is no RGB image",
                        (long long)image.channels);
    if (rc < 0 || cw_u8_op_skips(ctx, o->p))
        return rc;
    out->dims[2] = o->channels;
    rc = cw_image_output(ctx, out, image.h, image.w, err);
    if (rc < 0)
        return rc;
    const size_t pixels = (size_t)image.h * (size_t)image.w;
    if (o->channels == 1)
        cw_pixels_grey(out->data, image.data, pixels);
    else
        cw_colour_grey(out->data, image.data, pixels);
    return 0;
}

static bool draws(const void *opts)
{
    const struct grayscale_opts *o = opts;
    return cw_u8_op_draws_p(o->p);
}

const struct cw_op cw_op_grayscale = {
    .name = "grayscale",
    .version = 1,
    .summary = "RGB images turned grey",
    .doc = "The luminance of u8 RGB images with the weights of Pillow's convert(\"L\"), (19595 R + "
           "38470 G + 7471 B + 2^15) >> 16,\n"
           "as torchvision's Grayscale and RandomGrayscale of its images. Draw 0 says, by `p`, "
           "whether an element is changed.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_SHRINK | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct grayscale_opts),
    .check = check,
    .accepts = cw_image_accepts_u8,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = draws,
};
