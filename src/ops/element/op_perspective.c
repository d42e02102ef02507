/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `perspective`: sees images from another place. */
#include "ops/element/warp_op.h"

#define DRAW_CORNERS 1
#define CORNERS 4

struct perspective_opts {
    struct cw_motion_opts moved;
    double distortion, p;
    struct cw_warp_op_opts warp;
};

static const struct cw_opt options[] = {
    CW_MOTION_FORMAT_ROW(offsetof(struct perspective_opts, moved)),
    CW_MOTION_BOXES_ROW(offsetof(struct perspective_opts, moved)),
    {.name = "distortion",
     .help =
         "how far at most a corner moves inwards, in parts of half the width and half the height",
     .type = CW_OPT_F64,
     .offset = offsetof(struct perspective_opts, distortion),
     .def = "0.5",
     .min = 0,
     .max = 1},
    CW_WARP_OP_FILL_ROW(offsetof(struct perspective_opts, warp)),
    CW_WARP_OP_INTERPOLATION_ROW(offsetof(struct perspective_opts, warp), "\"bilinear\""),
    CW_MOTION_LABELS_ROW(offsetof(struct perspective_opts, moved)),
    CW_MOTION_MASKS_ROW(offsetof(struct perspective_opts, moved)),
    CW_U8_P_ROW(offsetof(struct perspective_opts, p), "0.5"),
    CW_MOTION_POINTS_ROW(offsetof(struct perspective_opts, moved)),
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct perspective_opts *o = opts;
    return cw_warp_op_check(&o->warp, err);
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct perspective_opts *o = opts;
    return cw_warp_op_infer(&o->warp, in, ret_field, err);
}

/* Where a corner at `at` (0, or side - 1) of an axis goes: inwards by up to so much of half the side. */
static double corner(const struct cw_op_ctx *ctx, uint32_t draw, double distortion, size_t side,
                     bool far)
{
    const uint64_t most = (uint64_t)(distortion * (double)(side / 2));
    const uint64_t by = cw_rng_below(&ctx->rng, draw, most + 1);
    return far ? (double)(side - 1) - (double)by : (double)by;
}

/* The matrix that moves the corners; images so small that corners meet stay as they are. */
static struct cw_warp_matrix draw_matrix(const struct cw_op_ctx *ctx,
                                         const struct perspective_opts *o, size_t h, size_t w)
{
    struct cw_warp_matrix matrix;
    struct cw_warp_point from[CORNERS], to[CORNERS];
    for (uint32_t i = 0; i < CORNERS; i++) {
        const bool right = i == 1 || i == 2, low = i >= 2;
        from[i] = (struct cw_warp_point){right ? (double)(w - 1) : 0, low ? (double)(h - 1) : 0};
        to[i].x = corner(ctx, DRAW_CORNERS + 2 * i, o->distortion, w, right);
        to[i].y = corner(ctx, DRAW_CORNERS + 2 * i + 1, o->distortion, h, low);
    }
    if (!cw_warp_perspective(from, to, &matrix))
        matrix = (struct cw_warp_matrix){.m = {1, 0, 0, 0, 1, 0}};
    return matrix;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct perspective_opts *o = opts;
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
    const struct perspective_opts *o = opts;
    return o->p > 0;
}

static int motion(const struct cw_op_ctx *ctx, const void *opts,
                  const struct cw_motion_boxes *boxes, struct cw_motion *motion, struct cw_err *err)
{
    const struct perspective_opts *o = opts;
    (void)boxes;
    (void)err;
    if (cw_u8_op_skips(ctx, o->p))
        return 1;
    const struct cw_warp_matrix matrix =
        draw_matrix(ctx, o, (size_t)motion->in_h, (size_t)motion->in_w);
    return cw_warp_op_motion(&matrix, motion);
}

static const struct cw_op_moves moves = {
    .opts_offset = offsetof(struct perspective_opts, moved),
    .clips = true,
    .motion = motion,
    .infer_mask = cw_u8_op_infer_colours,
};

const struct cw_op cw_op_perspective = {
    .name = "perspective",
    .version = 1,
    .summary = "images seen from a random place",
    .doc = "Moves the four corners of u8 images of one channel or three inwards, as torchvision's "
           "RandomPerspective does with\n"
           "images of Pillow; the size stays, and what comes from outside gets `fill`. An image so "
           "small that three corners\n"
           "would lie on a line stays as it is. Draw 0 says, by `p`, whether an element is "
           "changed; draws 1 to 8 are the ways\n"
           "of the corners along x and y: top left, top right, bottom right, bottom left.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_GEOMETRIC | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct perspective_opts),
    .check = check,
    .accepts = cw_image_accepts_u8,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = draws,
    .moves = &moves,
};
