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

/* Gives the result the size of the image, and its place in the whole one. */
static int begin(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct random_flip_opts *o = opts;
    (void)state;
    (void)scratch;
    if (cw_rng_unit(&ctx->rng, 0) >= o->p)
        return CW_STRIP_SAME;
    struct cw_image image;
    int rc = cw_image_get(in, &image, err);
    if (rc == 0)
        rc = cw_image_shape(out, image.h, image.w, err);
    if (rc < 0 || !in->full_h)
        return rc;
    struct cw_rect part = {.y = in->part_y, .x = in->part_x, .h = image.h, .w = image.w};
    mirror(o, in->full_h, in->full_w, &part);
    cw_image_set_part(out, &part, in->full_h, in->full_w);
    return CW_STRIP_MAKE;
}

static void source_rows(const struct cw_op_ctx *ctx, const void *opts, const struct cw_view *in,
                        int64_t *y, int64_t n)
{
    (void)ctx;
    if (((const struct random_flip_opts *)opts)->direction == VERTICAL)
        *y = in->dims[0] - *y - n;
}

static void make(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 const struct cw_view *in, const struct cw_strip *from, const struct cw_strip *to)
{
    const struct random_flip_opts *o = opts;
    const size_t channels = in->rank == 3 ? (size_t)in->dims[2] : 1;
    const size_t n = (size_t)to->n, stride = from->stride;
    (void)ctx;
    (void)state;
    (void)scratch;
    if (o->direction == HORIZONTAL)
        cw_pixels_mirror(to->data, from->data, n, (size_t)in->dims[1],
                         channels * cw_dtype_bytes(in->dtype));
    else
        for (size_t y = 0; y < n; y++)
            memcpy(to->data + y * stride, from->data + (n - 1 - y) * stride, stride);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    int rc = begin(ctx, opts, state, scratch, in, out, err);
    if (rc != CW_STRIP_MAKE)
        return rc == CW_STRIP_SAME ? 0 : rc;
    rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    const struct cw_strip from = cw_image_strip(in), to = cw_image_strip(out);
    make(ctx, opts, state, scratch, in, &from, &to);
    return 0;
}

static const struct cw_op_strips strips = {.begin = begin, .rows = source_rows, .make = make};

static bool has_no_effect(const void *opts, const struct cw_field *in)
{
    (void)in;
    return ((const struct random_flip_opts *)opts)->p <= 0;
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
    .doc =
        "Mirrors an image with probability `p`; all fields of an element together. Draw 0 says, by "
        "`p`, whether.",
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
    .has_no_effect = has_no_effect,
    .region = region,
    .moves = &moves,
    .strips = &strips,
};
