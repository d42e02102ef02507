/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `iou_crop`: takes a random part of an image that has some box well inside of it. */
#include "ops/element/u8_op.h"

#include <math.h>

/* After so many overlaps were drawn and none had a part, the element stays as it is. */
#define ROUNDS 50
#define DRAWS_A_TRIAL 4

struct iou_crop_opts {
    struct cw_motion_opts moved;
    struct cw_f64_list overlaps, ratio, scale;
    double p;
    int64_t trials;
};

static const struct cw_opt options[] = {
    CW_MOTION_FORMAT_ROW(offsetof(struct iou_crop_opts, moved)),
    CW_MOTION_BOXES_ROW(offsetof(struct iou_crop_opts, moved)),
    CW_MOTION_LABELS_ROW(offsetof(struct iou_crop_opts, moved)),
    CW_MOTION_MASKS_ROW(offsetof(struct iou_crop_opts, moved)),
    {.name = "overlaps",
     .help =
         "least overlaps (intersection by union) of which one is drawn; 1 and more: the element "
         "stays",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct iou_crop_opts, overlaps),
     .def = "[0.0,0.1,0.3,0.5,0.7,0.9,1.0]",
     .min = 0,
     .max = 2,
     .len_min = 1,
     .len_max = 100},
    CW_U8_P_ROW(offsetof(struct iou_crop_opts, p), "1.0"),
    CW_MOTION_POINTS_ROW(offsetof(struct iou_crop_opts, moved)),
    {.name = "ratio",
     .help = "least and greatest width by height of the part",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct iou_crop_opts, ratio),
     .def = "[0.5,2.0]",
     .min = 0.001,
     .max = 1000,
     .len_min = 2,
     .len_max = 2},
    {.name = "scale",
     .help = "least and greatest side of the part, in sides of the image",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct iou_crop_opts, scale),
     .def = "[0.3,1.0]",
     .min = 0.001,
     .max = 1,
     .len_min = 2,
     .len_max = 2},
    {.name = "trials",
     .help = "parts that are tried for an overlap, before another one is drawn",
     .type = CW_OPT_I64,
     .offset = offsetof(struct iou_crop_opts, trials),
     .def = "40",
     .min = 1,
     .max = 1000},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct iou_crop_opts *o = opts;
    if (!o->moved.boxes)
        return cw_err_set(err, CW_E_INVALID, "option boxes: it is required here");
    if (o->scale.v[0] > o->scale.v[1])
        return cw_err_set(err, CW_E_INVALID, "option scale: %g is greater than %g", o->scale.v[0],
                          o->scale.v[1]);
    if (o->ratio.v[0] > o->ratio.v[1])
        return cw_err_set(err, CW_E_INVALID, "option ratio: %g is greater than %g", o->ratio.v[0],
                          o->ratio.v[1]);
    return 0;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    (void)opts;
    return cw_image_infer(in, -1, -1, false, ret_field, err);
}

/* Draws a part; returns whether its shape is allowed. */
static bool draw_part(const struct cw_op_ctx *ctx, const struct iou_crop_opts *o, uint32_t draw,
                      const struct cw_motion *motion, struct cw_rect *ret_part)
{
    const double h = (double)motion->in_h, w = (double)motion->in_w;
    struct cw_rect part = {
        .w = (int64_t)(w * cw_rng_range(&ctx->rng, draw, o->scale.v[0], o->scale.v[1])),
        .h = (int64_t)(h * cw_rng_range(&ctx->rng, draw + 1, o->scale.v[0], o->scale.v[1]))};
    if (part.w < 1 || part.h < 1)
        return false;
    const double ratio = (double)part.w / (double)part.h;
    part.x = (int64_t)((w - (double)part.w) * cw_rng_unit(&ctx->rng, draw + 2));
    part.y = (int64_t)((h - (double)part.h) * cw_rng_unit(&ctx->rng, draw + 3));
    *ret_part = part;
    return ratio >= o->ratio.v[0] && ratio <= o->ratio.v[1];
}

static double area(const double box[4])
{
    return (box[2] - box[0]) * (box[3] - box[1]);
}

/* The intersection of two boxes by their union. */
static double overlap(const double a[4], const double b[4])
{
    const double both[4] = {fmax(a[0], b[0]), fmax(a[1], b[1]), fmin(a[2], b[2]), fmin(a[3], b[3])};
    if (!(both[2] > both[0] && both[3] > both[1]))
        return 0;
    return area(both) / (area(a) + area(b) - area(both));
}

/* Whether a box with its middle in the part overlaps it enough. */
static bool is_good(const struct cw_motion_boxes *boxes, const struct cw_rect *part, double least)
{
    const double p[4] = {(double)part->x, (double)part->y, (double)(part->x + part->w),
                         (double)(part->y + part->h)};
    for (size_t i = 0; i < boxes->n; i++) {
        double b[4];
        cw_motion_box(boxes, i, b);
        const double x = 0.5 * (b[0] + b[2]), y = 0.5 * (b[1] + b[3]);
        if (p[0] < x && x < p[2] && p[1] < y && y < p[3] && overlap(b, p) >= least)
            return true;
    }
    return false;
}

static int motion(const struct cw_op_ctx *ctx, const void *opts,
                  const struct cw_motion_boxes *boxes, struct cw_motion *motion, struct cw_err *err)
{
    const struct iou_crop_opts *o = opts;
    const uint32_t trials = (uint32_t)o->trials;
    uint32_t draw = CW_U8_P_DRAW + 1;
    (void)err;
    if (cw_u8_op_skips(ctx, o->p))
        return 1;
    for (int round = 0; boxes && boxes->n > 0 && round < ROUNDS; round++) {
        const double least = o->overlaps.v[cw_rng_below(&ctx->rng, draw++, o->overlaps.n)];
        if (least >= 1)
            return 1;
        for (uint32_t i = 0; i < trials; i++, draw += DRAWS_A_TRIAL) {
            struct cw_rect part;
            if (!draw_part(ctx, o, draw, motion, &part) || !is_good(boxes, &part, least))
                continue;
            cw_motion_crop(motion, part.y, part.x, part.h, part.w);
            motion->by_centre = true;
            return 0;
        }
    }
    return 1;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct cw_motion *to = ctx->motion;
    struct cw_image image;
    (void)opts;
    (void)state;
    (void)scratch;
    if (!to)
        return 0;
    const int rc = cw_image_get(in, &image, err);
    if (rc < 0)
        return rc;
    if (image.full_h != to->in_h || image.full_w != to->in_w)
        return cw_err_set(err, CW_E_INVALID,
                          "images of %lld x %lld and %lld x %lld: they cannot have the same boxes",
                          (long long)to->in_h, (long long)to->in_w, (long long)image.full_h,
                          (long long)image.full_w);
    const struct cw_rect part = {
        .y = -(int64_t)to->m[5], .x = -(int64_t)to->m[2], .h = to->out_h, .w = to->out_w};
    return cw_image_crop(ctx, &image, &part, out, err);
}

static bool draws(const void *opts)
{
    const struct iou_crop_opts *o = opts;
    return o->p > 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)opts;
    (void)in;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
    ret_facts->refuses = true;
}

static const struct cw_op_moves moves = {
    .opts_offset = offsetof(struct iou_crop_opts, moved),
    .clips = true,
    .motion = motion,
};

const struct cw_op cw_op_iou_crop = {
    .name = "iou_crop",
    .version = 1,
    .summary = "a random part of an image with a box well inside",
    .doc =
        "Takes a random part of an image, as torchvision's RandomIoUCrop and SSD (Liu et al., "
        "\"SSD: Single Shot MultiBox\n"
        "Detector\", ECCV 2016) do: a least overlap is drawn, then up to `trials` parts, until one "
        "has a box whose middle lies in\n"
        "it and whose intersection by union with it is at least that; if there is none, another "
        "overlap is drawn, 50 times in all.\n"
        "Boxes whose middle lies outside go. With an overlap of 1, and without boxes, the element "
        "stays as it is. Draw 0 says,\n"
        "by `p`, whether an element is changed; from draw 1 on there is one for an overlap, then "
        "four "
        "for each part: width, height,\n"
        "and the place along x and y.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_GEOMETRIC | CW_OP_SHRINK | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct iou_crop_opts),
    .check = check,
    .accepts = cw_image_accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = facts,
    .draws = draws,
    .moves = &moves,
};
