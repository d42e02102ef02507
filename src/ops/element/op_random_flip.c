/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `random_flip`: mirrors an image, or leaves it as it is. */
#include "ops/element/image_view.h"

#include <string.h>
#include "ops/kernels/pixels.h"

enum direction { HORIZONTAL, VERTICAL };
static const char *const direction_names[] = {"horizontal", "vertical", NULL};

struct random_flip_opts {
    struct cw_motion_opts moved;
    double p;
    int direction;
};

static const struct cw_opt options[] = {
    CW_MOTION_FORMAT_ROW(offsetof(struct random_flip_opts, moved)),
    CW_MOTION_BOXES_ROW(offsetof(struct random_flip_opts, moved)),
    {.name = "direction",
     .help = "which way to mirror",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct random_flip_opts, direction),
     .def = "\"horizontal\"",
     .names = direction_names},
    CW_MOTION_LABELS_ROW(offsetof(struct random_flip_opts, moved)),
    CW_MOTION_MASKS_ROW(offsetof(struct random_flip_opts, moved)),
    {.name = "p",
     .help = "how often",
     .type = CW_OPT_F64,
     .offset = offsetof(struct random_flip_opts, p),
     .def = "0.5",
     .min = 0,
     .max = 1},
    CW_MOTION_POINTS_ROW(offsetof(struct random_flip_opts, moved)),
    {0},
};

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    (void)opts;
    return cw_image_infer(in, in->dims[0], in->dims[1], false, ret_field, err);
}

/* Where a part of an image of h x w is once the image is mirrored, and the other way round. */
static void mirror(const struct random_flip_opts *o, int64_t h, int64_t w, struct cw_rect *rect)
{
    if (o->direction == HORIZONTAL)
        rect->x = w - rect->x - rect->w;
    else
        rect->y = h - rect->y - rect->h;
}

static int region(const struct cw_op_ctx *ctx, const void *opts, void *scratch, int64_t h,
                  int64_t w, struct cw_rect *rect, struct cw_err *err)
{
    const struct random_flip_opts *o = opts;
    (void)scratch;
    (void)err;
    if (cw_rng_unit(&ctx->rng, 0) < o->p)
        mirror(o, h, w, rect);
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct random_flip_opts *o = opts;
    (void)state;
    (void)scratch;
    if (cw_rng_unit(&ctx->rng, 0) >= o->p)
        return 0;
    struct cw_image image;
    int rc = cw_image_get(in, &image, err);
    if (rc == 0)
        rc = cw_image_output(ctx, out, image.h, image.w, err);
    if (rc < 0)
        return rc;
    if (in->full_h) {
        struct cw_rect part = {.y = in->part_y, .x = in->part_x, .h = image.h, .w = image.w};
        mirror(o, in->full_h, in->full_w, &part);
        cw_image_set_part(out, &part, in->full_h, in->full_w);
    }
    const size_t h = (size_t)image.h, stride = cw_image_stride(&image);
    if (o->direction == HORIZONTAL)
        cw_pixels_mirror(out->data, image.data, h, (size_t)image.w, image.pixel_bytes);
    else
        for (size_t y = 0; y < h; y++)
            memcpy((uint8_t *)out->data + y * stride, image.data + (h - 1 - y) * stride, stride);
    return 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct random_flip_opts *o = opts;
    cw_facts_of_fields(CW_EFFECT_MIRROR, fields, fields_n, ret_facts);
    ret_facts->axis = o->direction == HORIZONTAL;
    ret_facts->refuses = !cw_facts_are_images(in, fields, fields_n);
}

static int motion(const struct cw_op_ctx *ctx, const void *opts,
                  const struct cw_motion_boxes *boxes, struct cw_motion *motion, struct cw_err *err)
{
    const struct random_flip_opts *o = opts;
    (void)boxes;
    (void)err;
    if (cw_rng_unit(&ctx->rng, 0) >= o->p)
        return 1;
    cw_motion_mirror(motion, o->direction == HORIZONTAL);
    return 0;
}

static const struct cw_op_moves moves = {
    .opts_offset = offsetof(struct random_flip_opts, moved),
    .motion = motion,
};

const struct cw_op cw_op_random_flip = {
    .name = "random_flip",
    .version = 1,
    .summary = "mirrors images at random",
    .doc = "Mirrors an image with probability `p`; all fields of an element together.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_GEOMETRIC | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct random_flip_opts),
    .accepts = cw_image_accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = facts,
    .region = region,
    .moves = &moves,
};
