/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `zoom_out`: puts an image at a random place of a larger one. */
#include "ops/element/fill_op.h"
#include "ops/element/u8_op.h"

#include <string.h>

enum { DRAW_SIDE = 1, DRAW_X, DRAW_Y };

struct zoom_out_opts {
    struct cw_motion_opts moved;
    struct cw_f64_list fill, side;
    double p;
};

static const struct cw_opt options[] = {
    CW_MOTION_FORMAT_ROW(offsetof(struct zoom_out_opts, moved)),
    CW_MOTION_BOXES_ROW(offsetof(struct zoom_out_opts, moved)),
    CW_FILL_ROW(offsetof(struct zoom_out_opts, fill),
                "the value of what lies around the image: one, or one a channel"),
    CW_MOTION_LABELS_ROW(offsetof(struct zoom_out_opts, moved)),
    CW_MOTION_MASKS_ROW(offsetof(struct zoom_out_opts, moved)),
    CW_U8_P_ROW(offsetof(struct zoom_out_opts, p), "0.5"),
    CW_MOTION_POINTS_ROW(offsetof(struct zoom_out_opts, moved)),
    {.name = "side",
     .help = "least and greatest side of the result, in sides of the image",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct zoom_out_opts, side),
     .def = "[1.0,4.0]",
     .min = 1,
     .max = 100,
     .len_min = 2,
     .len_max = 2},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct zoom_out_opts *o = opts;
    if (o->side.v[0] > o->side.v[1])
        return cw_err_set(err, CW_E_INVALID, "option side: %g is greater than %g", o->side.v[0],
                          o->side.v[1]);
    return 0;
}

static int infer_mask(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                      struct cw_err *err)
{
    (void)opts;
    return cw_image_infer(in, -1, -1, false, ret_field, err);
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct zoom_out_opts *o = opts;
    const int rc = infer_mask(opts, in, ret_field, err);
    return rc < 0 ? rc : cw_fill_check(&o->fill, in->rank == 3 ? in->dims[2] : 1, err);
}

/* The place of an image of h x w in the result (y, x), and the result's size (h, w). */
static struct cw_rect draw_place(const struct cw_op_ctx *ctx, const struct zoom_out_opts *o,
                                 int64_t h, int64_t w)
{
    const double by = cw_rng_range(&ctx->rng, DRAW_SIDE, o->side.v[0], o->side.v[1]);
    struct cw_rect at = {.h = (int64_t)((double)h * by), .w = (int64_t)((double)w * by)};
    at.x = (int64_t)((double)(at.w - w) * cw_rng_unit(&ctx->rng, DRAW_X));
    at.y = (int64_t)((double)(at.h - h) * cw_rng_unit(&ctx->rng, DRAW_Y));
    return at;
}

static int motion(const struct cw_op_ctx *ctx, const void *opts,
                  const struct cw_motion_boxes *boxes, struct cw_motion *motion, struct cw_err *err)
{
    const struct zoom_out_opts *o = opts;
    (void)boxes;
    (void)err;
    if (cw_u8_op_skips(ctx, o->p))
        return 1;
    const struct cw_rect at = draw_place(ctx, o, motion->in_h, motion->in_w);
    cw_motion_crop(motion, -at.y, -at.x, at.h, at.w);
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct zoom_out_opts *o = opts;
    struct cw_image image;
    uint8_t pixel[CW_FILL_PIXEL_BYTES_MAX];
    (void)state;
    (void)scratch;
    if (cw_u8_op_skips(ctx, o->p))
        return 0;
    int rc = cw_image_get(in, &image, err);
    if (rc == 0)
        rc = cw_fill_pixel(ctx, &o->fill, in->dtype, image.channels, pixel, err);
    if (rc < 0)
        return rc;
    const struct cw_rect at = draw_place(ctx, o, image.h, image.w);
    rc = cw_image_output(ctx, out, at.h, at.w, err);
    if (rc < 0)
        return rc;
    uint8_t *dst = out->data;
    cw_fill_run(dst, at.h * at.w, pixel, image.pixel_bytes);
    dst += (size_t)(at.y * at.w + at.x) * image.pixel_bytes;
    for (int64_t y = 0; y < image.h; y++, dst += (size_t)at.w * image.pixel_bytes)
        memcpy(dst, image.data + (size_t)y * cw_image_stride(&image), cw_image_stride(&image));
    return 0;
}

static bool draws(const void *opts)
{
    const struct zoom_out_opts *o = opts;
    return o->p > 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)opts;
    (void)in;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
    ret_facts->refuses = true; /* a result that is too large */
}

static const struct cw_op_moves moves = {
    .opts_offset = offsetof(struct zoom_out_opts, moved),
    .motion = motion,
    .infer_mask = infer_mask,
};

const struct cw_op cw_op_zoom_out = {
    .name = "zoom_out",
    .version = 1,
    .summary = "images at a random place of larger ones",
    .doc =
        "Puts an image of any numeric dtype at a random place of one that is larger by a random "
        "factor (`side`) and has the value\n"
        "`fill`, as torchvision's RandomZoomOut does, so that its objects become smaller. Draw 0 "
        "says, by `p`, whether an element\n"
        "is changed; draw 1 is the factor, and draws 2 and 3 are the place along x and along y.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_GEOMETRIC | CW_OP_GROW | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct zoom_out_opts),
    .check = check,
    .accepts = cw_image_accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = facts,
    .draws = draws,
    .moves = &moves,
};
