/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `affine`: turns, moves, scales and shears images at random. */
#include "ops/element/warp_op.h"

#include <math.h>

/* draws behind that of p */
enum { DRAW_ANGLE = 1, DRAW_X, DRAW_Y, DRAW_SCALE, DRAW_SHEAR_X, DRAW_SHEAR_Y };

struct affine_opts {
    struct cw_motion_opts moved;
    struct cw_f64_list degrees, translate, scale, shear;
    struct cw_warp_op_opts warp;
    double p;
};

static const struct cw_opt options[] = {
    CW_MOTION_FORMAT_ROW(offsetof(struct affine_opts, moved)),
    CW_MOTION_BOXES_ROW(offsetof(struct affine_opts, moved)),
    CW_WARP_OP_DEGREES_ROW(offsetof(struct affine_opts, degrees)),
    CW_WARP_OP_FILL_ROW(offsetof(struct affine_opts, warp)),
    CW_WARP_OP_INTERPOLATION_ROW(offsetof(struct affine_opts, warp), "\"nearest\""),
    CW_MOTION_LABELS_ROW(offsetof(struct affine_opts, moved)),
    CW_MOTION_MASKS_ROW(offsetof(struct affine_opts, moved)),
    CW_U8_P_ROW(offsetof(struct affine_opts, p), "1.0"),
    CW_MOTION_POINTS_ROW(offsetof(struct affine_opts, moved)),
    {.name = "scale",
     .help = "least and greatest factor",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct affine_opts, scale),
     .def = "[1.0,1.0]",
     .min = 0.001,
     .max = 1000,
     .len_min = 2,
     .len_max = 2},
    {.name = "shear",
     .help = "degrees: d (x from -d to d), [least, greatest] of x, or those of x and of y",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct affine_opts, shear),
     .def = "[0.0]",
     .min = -89,
     .max = 89,
     .len_min = 1,
     .len_max = 4},
    {.name = "translate",
     .help = "how far at most, in parts of the width and of the height",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct affine_opts, translate),
     .def = "[0.0,0.0]",
     .min = 0,
     .max = 1,
     .len_min = 2,
     .len_max = 2},
    {0},
};

/* The range of the shear along an axis. */
static void shear_of(const struct affine_opts *o, int axis, double *ret_lo, double *ret_hi)
{
    const double *v = o->shear.v;
    *ret_lo = axis == 1 ? (o->shear.n == 4 ? v[2] : 0) : o->shear.n == 1 ? -v[0] : v[0];
    *ret_hi = axis == 1 ? (o->shear.n == 4 ? v[3] : 0) : o->shear.n == 1 ? v[0] : v[1];
}

static int check(const void *opts, struct cw_err *err)
{
    const struct affine_opts *o = opts;
    double lo, hi;
    if (o->shear.n == 3)
        return cw_err_set(err, CW_E_INVALID, "option shear: 3 numbers: 1, 2 or 4 are possible");
    int rc = cw_warp_op_check_range("degrees", cw_warp_op_low(&o->degrees),
                                    cw_warp_op_high(&o->degrees), err);
    if (rc == 0)
        rc = cw_warp_op_check_range("scale", o->scale.v[0], o->scale.v[1], err);
    for (int axis = 0; rc == 0 && axis < 2; axis++) {
        shear_of(o, axis, &lo, &hi);
        rc = cw_warp_op_check_range("shear", lo, hi, err);
    }
    return rc < 0 ? rc : cw_warp_op_check(&o->warp, err);
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct affine_opts *o = opts;
    return cw_warp_op_infer(&o->warp, in, ret_field, err);
}

/* A whole number of pixels, of at most `part` of `side`. */
static double moved(const struct cw_op_ctx *ctx, uint32_t draw, double part, size_t side)
{
    const double most = part * (double)side;
    return rint(cw_rng_range(&ctx->rng, draw, -most, most));
}

static struct cw_warp_matrix draw_matrix(const struct cw_op_ctx *ctx, const struct affine_opts *o,
                                         size_t h, size_t w)
{
    double x_lo, x_hi, y_lo, y_hi;
    shear_of(o, 0, &x_lo, &x_hi);
    shear_of(o, 1, &y_lo, &y_hi);
    const struct cw_warp_affine affine = {
        .angle = cw_rng_range(&ctx->rng, DRAW_ANGLE, cw_warp_op_low(&o->degrees),
                              cw_warp_op_high(&o->degrees)),
        .translate_x = moved(ctx, DRAW_X, o->translate.v[0], w),
        .translate_y = moved(ctx, DRAW_Y, o->translate.v[1], h),
        .scale = cw_rng_range(&ctx->rng, DRAW_SCALE, o->scale.v[0], o->scale.v[1]),
        .shear_x = cw_rng_range(&ctx->rng, DRAW_SHEAR_X, x_lo, x_hi),
        .shear_y = cw_rng_range(&ctx->rng, DRAW_SHEAR_Y, y_lo, y_hi)};
    return cw_warp_affine(&affine, (int64_t)h, (int64_t)w);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct affine_opts *o = opts;
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
    const struct affine_opts *o = opts;
    return o->p > 0;
}

static int motion(const struct cw_op_ctx *ctx, const void *opts,
                  const struct cw_motion_boxes *boxes, struct cw_motion *motion, struct cw_err *err)
{
    const struct affine_opts *o = opts;
    (void)boxes;
    (void)err;
    if (cw_u8_op_skips(ctx, o->p))
        return 1;
    const struct cw_warp_matrix matrix =
        draw_matrix(ctx, o, (size_t)motion->in_h, (size_t)motion->in_w);
    return cw_warp_op_motion(&matrix, motion);
}

static const struct cw_op_moves moves = {
    .opts_offset = offsetof(struct affine_opts, moved),
    .clips = true,
    .motion = motion,
    .infer_mask = cw_u8_op_infer_colours,
};

const struct cw_op cw_op_affine = {
    .name = "affine",
    .version = 1,
    .summary = "images turned, moved, scaled and sheared at random",
    .doc = "Turns, moves, scales and shears u8 images of one channel or three about their middle, "
           "as torchvision's\n"
           "RandomAffine does with images of Pillow; the size stays, and what comes from outside "
           "gets `fill`. Draw 0 says,\n"
           "by `p`, whether an element is changed; draws 1 to 6 are the angle, the way along x and "
           "along y (whole pixels),\n"
           "the factor, and the shear along x and along y.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_GEOMETRIC | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct affine_opts),
    .check = check,
    .accepts = cw_image_accepts_u8,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = draws,
    .moves = &moves,
};
