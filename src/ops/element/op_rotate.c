/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `rotate`: turns images by a random angle. */
#include "ops/element/warp_op.h"

#define DRAW_ANGLE 1

struct rotate_opts {
    struct cw_f64_list degrees;
    struct cw_warp_op_opts warp;
    double p;
};

static const struct cw_opt options[] = {
    {.name = "degrees",
     .help = "least and greatest angle, counter-clockwise; one number d: from -d to d",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct rotate_opts, degrees),
     .min = -360,
     .max = 360,
     .flags = CW_OPT_REQUIRED,
     .len_min = 1,
     .len_max = 2},
    CW_WARP_OP_FILL_ROW(offsetof(struct rotate_opts, warp)),
    CW_WARP_OP_INTERPOLATION_ROW(offsetof(struct rotate_opts, warp), "\"nearest\""),
    CW_U8_P_ROW(offsetof(struct rotate_opts, p), "1.0"),
    {0},
};

/* A range of degrees: one number stands for both sides. */
static double low(const struct cw_f64_list *range)
{
    return range->n == 1 ? -range->v[0] : range->v[0];
}

static double high(const struct cw_f64_list *range)
{
    return range->v[range->n - 1];
}

static int check(const void *opts, struct cw_err *err)
{
    const struct rotate_opts *o = opts;
    if (low(&o->degrees) > high(&o->degrees))
        return cw_err_set(err, CW_E_INVALID, "option degrees: %g is greater than %g",
                          low(&o->degrees), high(&o->degrees));
    return cw_warp_op_check(&o->warp, err);
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct rotate_opts *o = opts;
    return cw_warp_op_infer(&o->warp, in, ret_field, err);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct rotate_opts *o = opts;
    struct cw_u8_op_image image;
    struct cw_warp_matrix matrix;
    (void)state;
    (void)scratch;
    if (cw_u8_op_skips(ctx, o->p))
        return 0;
    const int rc = cw_u8_op_begin(ctx, in, out, &image, err);
    if (rc < 0)
        return rc;
    const double angle = cw_rng_range(&ctx->rng, DRAW_ANGLE, low(&o->degrees), high(&o->degrees));
    matrix = cw_warp_rotation(angle, (int64_t)image.h, (int64_t)image.w);
    return cw_warp_op_run(&o->warp, &image, &matrix, image.src, image.dst, err);
}

static bool draws(const void *opts)
{
    const struct rotate_opts *o = opts;
    return o->p > 0 && (o->p < 1 || low(&o->degrees) < high(&o->degrees));
}

const struct cw_op cw_op_rotate = {
    .name = "rotate",
    .version = 1,
    .summary = "images turned by a random angle",
    .doc = "Turns u8 images of one channel or three about their middle, as torchvision's "
           "RandomRotation does with images\n"
           "of Pillow; the size stays, and what comes from outside gets `fill`. Draw 0 says, by "
           "`p`, whether an element is\n"
           "changed, and draw 1 is the angle.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_GEOMETRIC | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct rotate_opts),
    .check = check,
    .accepts = cw_image_accepts_u8,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = draws,
};
