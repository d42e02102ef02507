/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `random_resized_crop`: takes a random rectangle of an image, and resizes it to a
 * given size. The rectangle is chosen as in torchvision (Szegedy et al., "Going deeper with
 * convolutions", CVPR 2015): it has a random part of the area and a random aspect ratio; after ten
 * tries that do not fit, the middle is taken. */
#include "ops/element/image_view.h"

#include <math.h>
#include "base/mem.h"
#include "ops/kernels/exact_math.h"
#include "ops/kernels/resample.h"

#define TRIES 10
#define DRAWS_A_TRY 4

struct random_resized_crop_opts {
    struct cw_motion_opts moved;
    struct cw_i64_list size;
    struct cw_f64_list scale, ratio;
    int interpolation;
};

static const struct cw_opt options[] = {
    CW_MOTION_FORMAT_ROW(offsetof(struct random_resized_crop_opts, moved)),
    CW_MOTION_BOXES_ROW(offsetof(struct random_resized_crop_opts, moved)),
    {.name = "interpolation",
     .help = "how samples are mixed",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct random_resized_crop_opts, interpolation),
     .def = "\"bilinear\"",
     .names = cw_filter_names},
    CW_MOTION_LABELS_ROW(offsetof(struct random_resized_crop_opts, moved)),
    CW_MOTION_MASKS_ROW(offsetof(struct random_resized_crop_opts, moved)),
    CW_MOTION_POINTS_ROW(offsetof(struct random_resized_crop_opts, moved)),
    {.name = "ratio",
     .help = "least and greatest width by height",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct random_resized_crop_opts, ratio),
     .def = "[0.75,1.3333333333333333]",
     .min = 0.001,
     .max = 1000,
     .len_min = 2,
     .len_max = 2},
    {.name = "scale",
     .help = "least and greatest share of the area",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct random_resized_crop_opts, scale),
     .def = "[0.08,1.0]",
     .min = 0,
     .max = 1,
     .len_min = 2,
     .len_max = 2},
    CW_IMAGE_SIZE_ROW(offsetof(struct random_resized_crop_opts, size),
                      "[height, width], or one number for a square"),
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct random_resized_crop_opts *o = opts;
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
    const struct random_resized_crop_opts *o = opts;
    const struct cw_image_size size = cw_image_size(&o->size);
    return cw_image_infer(in, size.h, size.w, true, ret_field, err);
}

/* Returns the largest rectangle in the middle of the image whose aspect ratio is allowed. */
static struct cw_rect middle(const struct random_resized_crop_opts *o, int64_t h, int64_t w)
{
    struct cw_rect rect = {.h = h, .w = w};
    const double ratio = (double)w / (double)h;
    if (ratio < o->ratio.v[0])
        rect.h = (int64_t)rint((double)w / o->ratio.v[0]);
    else if (ratio > o->ratio.v[1])
        rect.w = (int64_t)rint((double)h * o->ratio.v[1]);
    rect.h = CW_MAX(CW_MIN(rect.h, h), 1);
    rect.w = CW_MAX(CW_MIN(rect.w, w), 1);
    rect.y = (h - rect.h) / 2;
    rect.x = (w - rect.w) / 2;
    return rect;
}

static int want(const struct cw_op_ctx *ctx, const void *opts, int64_t h, int64_t w,
                struct cw_rect *ret_rect, struct cw_err *err)
{
    const struct random_resized_crop_opts *o = opts;
    const double area = (double)h * (double)w;
    const double log_lo = cw_exact_log(o->ratio.v[0]), log_hi = cw_exact_log(o->ratio.v[1]);
    (void)err;
    for (uint32_t draw = 0; draw < TRIES * DRAWS_A_TRY; draw += DRAWS_A_TRY) {
        const double target = area * cw_rng_range(&ctx->rng, draw, o->scale.v[0], o->scale.v[1]);
        const double ratio = cw_exact_exp(cw_rng_range(&ctx->rng, draw + 1, log_lo, log_hi));
        struct cw_rect rect = {.h = (int64_t)rint(sqrt(target / ratio)),
                               .w = (int64_t)rint(sqrt(target * ratio))};
        if (rect.w < 1 || rect.w > w || rect.h < 1 || rect.h > h)
            continue;
        rect.y = (int64_t)cw_rng_below(&ctx->rng, draw + 2, (uint64_t)(h - rect.h + 1));
        rect.x = (int64_t)cw_rng_below(&ctx->rng, draw + 3, (uint64_t)(w - rect.w + 1));
        *ret_rect = rect;
        return 0;
    }
    *ret_rect = middle(o, h, w);
    return 0;
}

static int begin(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct random_resized_crop_opts *o = opts;
    const struct cw_image_size size = cw_image_size(&o->size);
    (void)state;
    struct cw_image image;
    struct cw_rect rect;
    const uint8_t *src;
    int rc = cw_image_get(in, &image, err);
    if (rc == 0)
        rc = want(ctx, opts, image.full_h, image.full_w, &rect, err);
    if (rc == 0)
        rc = cw_image_rect(&image, &rect, &src, err);
    if (rc == 0)
        rc = cw_image_shape(out, size.h, size.w, err);
    if (rc < 0)
        return rc;
    return cw_image_resample_begin(scratch, &image, src, rect.h, rect.w, &size,
                                   ctx->is_mask ? CW_FILTER_NEAREST : o->interpolation, err);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const int rc = begin(ctx, opts, state, scratch, in, out, err);
    return rc < 0 ? rc : cw_image_resample_all(ctx, scratch, out, err);
}

static const struct cw_op_strips strips = {
    .from_whole = true,
    .begin = begin,
    .make = cw_image_resample_make,
};

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)opts;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
    ret_facts->refuses = !cw_facts_are_images(in, fields, fields_n);
}

static int motion(const struct cw_op_ctx *ctx, const void *opts,
                  const struct cw_motion_boxes *boxes, struct cw_motion *motion, struct cw_err *err)
{
    const struct random_resized_crop_opts *o = opts;
    const struct cw_image_size size = cw_image_size(&o->size);
    struct cw_rect rect;
    (void)boxes;
    const int rc = want(ctx, opts, motion->in_h, motion->in_w, &rect, err);
    if (rc < 0)
        return rc;
    cw_motion_crop(motion, rect.y, rect.x, rect.h, rect.w);
    cw_motion_resize(motion, size.h, size.w);
    return 0;
}

static const struct cw_op_moves moves = {
    .opts_offset = offsetof(struct random_resized_crop_opts, moved),
    .clips = true,
    .motion = motion,
};

const struct cw_op cw_op_random_resized_crop = {
    .name = "random_resized_crop",
    .version = 1,
    .summary = "a random part of an image, resized",
    .doc =
        "Takes a rectangle with a random share of the area (`scale`) and a random ratio of "
        "width to height (`ratio`) from a\n"
        "random place, and resizes it to `size`, as torchvision's RandomResizedCrop does with "
        "an image of Pillow: first the\n"
        "crop, then the antialiased resize of what was cut out. Ten rectangles are tried, the "
        "middle "
        "is taken if none of them\n"
        "fits: of try i, draw 4 i is the area, 4 i + 1 the ratio, and 4 i + 2 and 4 i + 3 are the "
        "place, from above and from the left.\n"
        "It has no `p`: an image that is not resized would be of another size (`random_apply` does "
        "it).",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_GEOMETRIC | CW_OP_CROP | CW_OP_SHRINK | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct random_resized_crop_opts),
    .check = check,
    .accepts = cw_image_accepts_u8,
    .infer_field = infer_field,
    .scratch_new = cw_image_resample_new,
    .scratch_free = cw_image_resample_free,
    .apply_field = apply_field,
    .facts = facts,
    .want = want,
    .moves = &moves,
    .strips = &strips,
};
