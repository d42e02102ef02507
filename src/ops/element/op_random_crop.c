/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `random_crop`: takes a part of an image from a random place. */
#include "ops/element/image_view.h"

enum { DRAW_Y, DRAW_X };

struct random_crop_opts {
    struct cw_motion_opts moved;
    struct cw_i64_list size;
};

static const struct cw_opt options[] = {
    CW_MOTION_FORMAT_ROW(offsetof(struct random_crop_opts, moved)),
    CW_MOTION_BOXES_ROW(offsetof(struct random_crop_opts, moved)),
    CW_MOTION_LABELS_ROW(offsetof(struct random_crop_opts, moved)),
    CW_MOTION_MASKS_ROW(offsetof(struct random_crop_opts, moved)),
    CW_MOTION_POINTS_ROW(offsetof(struct random_crop_opts, moved)),
    CW_IMAGE_SIZE_ROW(offsetof(struct random_crop_opts, size),
                      "[height, width], or one number for a square"),
    {0},
};

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct random_crop_opts *o = opts;
    const struct cw_image_size size = cw_image_size(&o->size);
    const int rc = cw_image_infer(in, size.h, size.w, false, ret_field, err);
    const bool too_small =
        (in->dims[0] >= 0 && in->dims[0] < size.h) || (in->dims[1] >= 0 && in->dims[1] < size.w);
    if (rc == 0 && too_small)
        return cw_err_set(err, CW_E_INVALID,
                          "option size: field %s is smaller than %lld x %lld; pad it first",
                          in->name, (long long)size.h, (long long)size.w);
    return rc;
}

static int want(const struct cw_op_ctx *ctx, const void *opts, int64_t h, int64_t w,
                struct cw_rect *ret_rect, struct cw_err *err)
{
    const struct random_crop_opts *o = opts;
    const struct cw_image_size size = cw_image_size(&o->size);
    if (h < size.h || w < size.w)
        return cw_err_set(err, CW_E_INVALID,
                          "an image of %lld x %lld is smaller than the crop of %lld x %lld; pad it "
                          "first",
                          (long long)h, (long long)w, (long long)size.h, (long long)size.w);
    *ret_rect =
        (struct cw_rect){.y = (int64_t)cw_rng_below(&ctx->rng, DRAW_Y, (uint64_t)(h - size.h + 1)),
                         .x = (int64_t)cw_rng_below(&ctx->rng, DRAW_X, (uint64_t)(w - size.w + 1)),
                         .h = size.h,
                         .w = size.w};
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    struct cw_image image;
    struct cw_rect rect;
    (void)state;
    (void)scratch;
    int rc = cw_image_get(in, &image, err);
    if (rc == 0)
        rc = want(ctx, opts, image.full_h, image.full_w, &rect, err);
    return rc < 0 ? rc : cw_image_crop(ctx, &image, &rect, out, err);
}

/* The part of an image that the crop uses, of which `in` may be a part. */
static int rect_of(const struct cw_op_ctx *ctx, const void *opts, const struct cw_view *in,
                   struct cw_rect *ret_rect, struct cw_err *err)
{
    const bool is_part = in->full_h != 0;
    return want(ctx, opts, is_part ? in->full_h : in->dims[0], is_part ? in->full_w : in->dims[1],
                ret_rect, err);
}

static int begin(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    struct cw_image image;
    struct cw_rect rect;
    (void)state;
    (void)scratch;
    int rc = cw_image_get(in, &image, err);
    if (rc == 0)
        rc = rect_of(ctx, opts, in, &rect, err);
    return rc < 0 ? rc : cw_image_crop_begin(in, &rect, out, err);
}

static void source_rows(const struct cw_op_ctx *ctx, const void *opts, const struct cw_view *in,
                        int64_t *y, int64_t n)
{
    struct cw_rect rect = {0};
    (void)n;
    (void)rect_of(ctx, opts, in, &rect, NULL);
    *y += rect.y - (in->full_h ? in->part_y : 0);
}

static void make(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 const struct cw_view *in, const struct cw_strip *from, const struct cw_strip *to)
{
    struct cw_rect rect = {0};
    (void)state;
    (void)scratch;
    (void)rect_of(ctx, opts, in, &rect, NULL);
    cw_image_crop_strip(in, &rect, from, to);
}

static const struct cw_op_strips strips = {.begin = begin, .rows = source_rows, .make = make};

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)opts; /* images of known size that are too small were refused with the pipeline */
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
    ret_facts->refuses = !cw_facts_are_images(in, fields, fields_n);
}

static int motion(const struct cw_op_ctx *ctx, const void *opts,
                  const struct cw_motion_boxes *boxes, struct cw_motion *motion, struct cw_err *err)
{
    struct cw_rect rect = {0};
    (void)boxes;
    const int rc = want(ctx, opts, motion->in_h, motion->in_w, &rect, err);
    if (rc == 0)
        cw_motion_crop(motion, rect.y, rect.x, rect.h, rect.w);
    return rc;
}

static const struct cw_op_moves moves = {
    .opts_offset = offsetof(struct random_crop_opts, moved),
    .clips = true,
    .motion = motion,
};

const struct cw_op cw_op_random_crop = {
    .name = "random_crop",
    .version = 1,
    .summary = "a random part of an image",
    .doc =
        "Takes `size` pixels from a random place, as torchvision's RandomCrop does; all fields of "
        "an element are cut at the same\n"
        "place if they are of one size. An image that is smaller is an error: `pad` makes it "
        "larger. Draw 0 is the first row, and\n"
        "draw 1 the first column. It has no `p`: an image that is not cut would be of another size "
        "(`random_apply` does it).",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_GEOMETRIC | CW_OP_CROP | CW_OP_SHRINK | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct random_crop_opts),
    .accepts = cw_image_accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = facts,
    .want = want,
    .moves = &moves,
    .strips = &strips,
};
