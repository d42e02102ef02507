/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `sharpness`: images are made sharper or softer. */
#include "ops/element/u8_op.h"

#include "ops/kernels/neighbours.h"

struct sharpness_opts {
    double p;
    double factor;
};

static const struct cw_opt options[] = {
    {.name = "factor",
     .help = "0: smoothed; 1: as it is; more: sharper",
     .type = CW_OPT_F64,
     .offset = offsetof(struct sharpness_opts, factor),
     .min = 0,
     .max = 1000,
     .flags = CW_OPT_REQUIRED},
    CW_U8_P_ROW(offsetof(struct sharpness_opts, p), "1.0"),
    {0},
};

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct sharpness_opts *o = opts;
    (void)state;
    (void)scratch;
    if (cw_u8_op_skips(ctx, o->p))
        return 0;
    struct cw_u8_op_image image;
    const int rc = cw_u8_op_begin(ctx, in, out, &image, err);
    if (rc == 0)
        cw_sharpen(image.dst, image.src, image.h, image.w, image.channels, (float)o->factor);
    return rc;
}

static bool draws(const void *opts)
{
    const struct sharpness_opts *o = opts;
    return cw_u8_op_draws_p(o->p);
}

const struct cw_op cw_op_sharpness = {
    .name = "sharpness",
    .version = 1,
    .summary = "images made sharper or softer",
    .doc = "Blends an image with itself smoothed by the neighbours of each sample, as "
           "ImageEnhance.Sharpness of Pillow\n"
           "and torchvision's adjust_sharpness of its images: `factor` 0 gives the smoothed image, "
           "1 the image, 2 one\n"
           "that is sharper. u8 images of one channel or three. Draw 0 says, by `p`, whether an "
           "element is changed.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct sharpness_opts),
    .accepts = cw_image_accepts_u8,
    .infer_field = cw_u8_op_infer_colours,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = draws,
};
