/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `rotate`: turns images by a random angle. */
#include "ops/element/warp_op.h"

#define DRAW_ANGLE 1

struct rotate_opts {
    struct cw_motion_opts moved;
    struct cw_f64_list degrees;
    struct cw_warp_op_opts warp;
    double p;
};

static const struct cw_opt options[] = {
    CW_MOTION_FORMAT_ROW(offsetof(struct rotate_opts, moved)),
    CW_MOTION_BOXES_ROW(offsetof(struct rotate_opts, moved)),
    CW_WARP_OP_DEGREES_ROW(offsetof(struct rotate_opts, degrees)),
    CW_WARP_OP_FILL_ROW(offsetof(struct rotate_opts, warp)),
    CW_WARP_OP_INTERPOLATION_ROW(offsetof(struct rotate_opts, warp), "\"nearest\""),
    CW_MOTION_LABELS_ROW(offsetof(struct rotate_opts, moved)),
    CW_MOTION_MASKS_ROW(offsetof(struct rotate_opts, moved)),
    CW_U8_P_ROW(offsetof(struct rotate_opts, p), "1.0"),
    CW_MOTION_POINTS_ROW(offsetof(struct rotate_opts, moved)),
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct rotate_opts *o = opts;
    const int rc = cw_warp_op_check_range("degrees", cw_warp_op_low(&o->degrees),
                                          cw_warp_op_high(&o->degrees), err);
    return rc < 0 ? rc : cw_warp_op_check(&o->warp, err);
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct rotate_opts *o = opts;
    return cw_warp_op_infer(&o->warp, in, ret_field, err);
}

static struct cw_warp_matrix draw_matrix(const struct cw_op_ctx *ctx, const struct rotate_opts *o,
                                         size_t h, size_t w)
{
    const double angle = cw_rng_range(&ctx->rng, DRAW_ANGLE, cw_warp_op_low(&o->degrees),
                                      cw_warp_op_high(&o->degrees));
    return cw_warp_rotation(angle, (int64_t)h, (int64_t)w);
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
    matrix = draw_matrix(ctx, o, image.h, image.w);
    const struct cw_warp_op_opts *warp = ctx->is_mask ? &cw_warp_op_mask_opts : &o->warp;
    return cw_warp_op_run(warp, &image, &matrix, image.src, image.dst, err);
}

static bool draws(const void *opts)
{
    const struct rotate_opts *o = opts;
    return o->p > 0 && (o->p < 1 || cw_warp_op_low(&o->degrees) < cw_warp_op_high(&o->degrees));
}

static int motion(const struct cw_op_ctx *ctx, const void *opts,
                  const struct cw_motion_boxes *boxes, struct cw_motion *motion, struct cw_err *err)
{
    const struct rotate_opts *o = opts;
    (void)boxes;
    (void)err;
    if (cw_u8_op_skips(ctx, o->p))
        return 1;
    const struct cw_warp_matrix matrix =
        draw_matrix(ctx, o, (size_t)motion->in_h, (size_t)motion->in_w);
    return cw_warp_op_motion(&matrix, motion);
}

static const struct cw_op_moves moves = {
    .opts_offset = offsetof(struct rotate_opts, moved),
    .clips = true,
    .motion = motion,
    .infer_mask = cw_u8_op_infer_colours,
};

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
    .moves = &moves,
};
