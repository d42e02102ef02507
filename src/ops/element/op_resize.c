/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `resize`: resizes an image. */
#include "ops/element/image_view.h"

#include "base/mem.h"
#include "ops/kernels/resample.h"

enum side { SHORTER, LONGER };
static const char *const side_names[] = {"shorter", "longer", NULL};

struct resize_opts {
    struct cw_motion_opts moved;
    struct cw_i64_list size;
    int interpolation;
    int side;
};

static const struct cw_opt options[] = {
    CW_MOTION_FORMAT_ROW(offsetof(struct resize_opts, moved)),
    CW_MOTION_BOXES_ROW(offsetof(struct resize_opts, moved)),
    {.name = "interpolation",
     .help = "how samples are mixed",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct resize_opts, interpolation),
     .def = "\"bilinear\"",
     .names = cw_filter_names},
    CW_MOTION_LABELS_ROW(offsetof(struct resize_opts, moved)),
    CW_MOTION_MASKS_ROW(offsetof(struct resize_opts, moved)),
    CW_MOTION_POINTS_ROW(offsetof(struct resize_opts, moved)),
    {.name = "side",
     .help = "which side one number for size is for",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct resize_opts, side),
     .def = "\"shorter\"",
     .flags = CW_OPT_NEWER,
     .names = side_names},
    CW_IMAGE_SIZE_ROW(offsetof(struct resize_opts, size),
                      "[height, width], or one number for one side"),
    {0},
};

/* Returns the size of the result for an image of h x w; -1: not known. */
static struct cw_image_size size_for(const struct resize_opts *o, int64_t h, int64_t w)
{
    const int64_t side = o->size.v[0];
    if (o->size.n == 2)
        return (struct cw_image_size){.h = side, .w = o->size.v[1]};
    if (h <= 0 || w <= 0)
        return (struct cw_image_size){.h = -1, .w = -1};
    if ((h <= w) == (o->side == SHORTER))
        return (struct cw_image_size){.h = side, .w = CW_MAX(side * w / h, 1)};
    return (struct cw_image_size){.h = CW_MAX(side * h / w, 1), .w = side};
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct cw_image_size size = size_for(opts, in->dims[0], in->dims[1]);
    return cw_image_infer(in, size.h, size.w, true, ret_field, err);
}

static int check_size(int64_t h, int64_t w, const struct cw_image_size *size, struct cw_err *err)
{
    if (size->h > CW_IMAGE_SIDE_MAX || size->w > CW_IMAGE_SIDE_MAX)
        return cw_err_set(
            err, CW_E_LIMIT, "an image of %lld x %lld would become %lld x %lld: at most %d a side",
            (long long)h, (long long)w, (long long)size->h, (long long)size->w, CW_IMAGE_SIDE_MAX);
    return cw_image_check_pixels(size->h, size->w, err);
}

/* Says which part of the result is made: that which is needed, if no cache should get all of it, or
 * if there is only a part of the image. */
static int choose_part(const struct cw_op_ctx *ctx, const struct cw_image_size *size, bool is_part,
                       struct cw_rect *ret_part, struct cw_err *err)
{
    *ret_part = (struct cw_rect){.h = size->h, .w = size->w};
    if (!ctx->next_want || (ctx->prefers_whole && !is_part))
        return 0;
    return ctx->next_want(ctx, size->h, size->w, ret_part, err);
}

/* Chooses what is made, and gives *out its size. */
static int begin(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct resize_opts *o = opts;
    (void)state;
    struct cw_image image;
    struct cw_rect part;
    int rc = cw_image_get(in, &image, err);
    if (rc < 0)
        return rc;
    const struct cw_image_size size = size_for(o, image.full_h, image.full_w);
    rc = check_size(image.full_h, image.full_w, &size, err);
    if (rc < 0)
        return rc;
    if (size.h == image.full_h && size.w == image.full_w)
        return CW_STRIP_SAME;
    const bool is_part = in->full_h != 0;
    rc = choose_part(ctx, &size, is_part, &part, err);
    if (rc == 0)
        rc = cw_image_shape(out, part.h, part.w, err);
    if (rc < 0)
        return rc;
    /* What is made of a part is none for a cache, even if it is all. */
    if (is_part || part.h != size.h || part.w != size.w)
        cw_image_set_part(out, &part, size.h, size.w);
    return cw_image_resample_begin_part(scratch, &image, &size, &part,
                                        ctx->is_mask ? CW_FILTER_NEAREST : o->interpolation, err);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const int rc = begin(ctx, opts, state, scratch, in, out, err);
    if (rc != CW_STRIP_MAKE)
        return rc == CW_STRIP_SAME ? 0 : rc;
    return cw_image_resample_all(ctx, scratch, out, err);
}

static const struct cw_op_strips strips = {
    .from_whole = true,
    .begin = begin,
    .make = cw_image_resample_make,
};

static bool region_size(const void *opts, int64_t *h, int64_t *w)
{
    const struct cw_image_size size = size_for(opts, *h, *w);
    const bool is_small = check_size(*h, *w, &size, NULL) == 0;
    *h = size.h;
    *w = size.w;
    return is_small;
}

static int region(const struct cw_op_ctx *ctx, const void *opts, void *scratch, int64_t h,
                  int64_t w, struct cw_rect *rect, struct cw_err *err)
{
    const struct resize_opts *o = opts;
    const struct cw_image_size size = size_for(o, h, w);
    (void)ctx;
    return cw_image_resample_needs(scratch, h, w, &size, o->interpolation, rect, err);
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
    ret_facts->refuses = !cw_facts_are_images(in, fields, fields_n);
    for (size_t i = 0; !ret_facts->refuses && i < fields_n; i++) {
        const int64_t *dims = in->fields[fields[i]].dims;
        const struct cw_image_size size = size_for(opts, dims[0], dims[1]);
        ret_facts->refuses = size.h < 1 || size.w < 1 || size.h > CW_IMAGE_SIDE_MAX ||
                             size.w > CW_IMAGE_SIDE_MAX || size.h * size.w > CW_IMAGE_PIXELS_MAX;
    }
}

static int motion(const struct cw_op_ctx *ctx, const void *opts,
                  const struct cw_motion_boxes *boxes, struct cw_motion *motion, struct cw_err *err)
{
    const struct resize_opts *o = opts;
    const struct cw_image_size size = size_for(o, motion->in_h, motion->in_w);
    (void)ctx;
    (void)boxes;
    const int rc = check_size(motion->in_h, motion->in_w, &size, err);
    if (rc == 0)
        cw_motion_resize(motion, size.h, size.w);
    return rc;
}

static const struct cw_op_moves moves = {
    .opts_offset = offsetof(struct resize_opts, moved),
    .motion = motion,
};

const struct cw_op cw_op_resize = {
    .name = "resize",
    .version = 1,
    .summary = "images in another size",
    .doc =
        "Resizes u8 images with an antialiasing filter; the result is that of Pillow's "
        "Image.resize. With one number for `size`\n"
        "the shorter side gets that many pixels, or the longer one with `side`, and the other "
        "keeps the proportion, rounded down\n"
        "(1 at least). `box` of an image that becomes smaller is the mean of the area; `nearest` "
        "is for masks.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_GEOMETRIC | CW_OP_SHRINK | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct resize_opts),
    .accepts = cw_image_accepts_u8,
    .infer_field = infer_field,
    .scratch_new = cw_image_resample_new,
    .scratch_free = cw_image_resample_free,
    .apply_field = apply_field,
    .facts = facts,
    .region = region,
    .region_size = region_size,
    .makes_parts = true,
    .moves = &moves,
    .strips = &strips,
};
