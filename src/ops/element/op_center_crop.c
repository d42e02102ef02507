/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `center_crop`: takes the middle of an image. */
#include "ops/element/image_view.h"

#include <string.h>

extern const struct cw_op cw_op_center_crop;

struct center_crop_opts {
    struct cw_motion_opts moved;
    struct cw_i64_list size;
};

static const struct cw_opt options[] = {
    CW_MOTION_FORMAT_ROW(offsetof(struct center_crop_opts, moved)),
    CW_MOTION_BOXES_ROW(offsetof(struct center_crop_opts, moved)),
    CW_MOTION_LABELS_ROW(offsetof(struct center_crop_opts, moved)),
    CW_MOTION_MASKS_ROW(offsetof(struct center_crop_opts, moved)),
    CW_MOTION_POINTS_ROW(offsetof(struct center_crop_opts, moved)),
    CW_IMAGE_SIZE_ROW(offsetof(struct center_crop_opts, size),
                      "[height, width], or one number for a square"),
    {0},
};

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct center_crop_opts *o = opts;
    const struct cw_image_size size = cw_image_size(&o->size);
    return cw_image_infer(in, size.h, size.w, false, ret_field, err);
}

/* Returns where `need` samples begin in the middle of `have`; halves are rounded to the even
 * number, as in torchvision. */
static int64_t middle(int64_t have, int64_t need)
{
    const int64_t gap = have - need, half = gap / 2;
    return gap % 2 == 0 || half % 2 == 0 ? half : half + 1;
}

/* Says which samples of an axis are taken, and where they are put: an image that is too small is
 * surrounded by zeros. */
static void place(int64_t have, int64_t need, int64_t *ret_from, int64_t *ret_n, int64_t *ret_to)
{
    const bool small = have < need;
    *ret_from = small ? 0 : middle(have, need);
    *ret_n = small ? have : need;
    *ret_to = small ? (need - have) / 2 : 0;
}

static int want(const struct cw_op_ctx *ctx, const void *opts, int64_t h, int64_t w,
                struct cw_rect *ret_rect, struct cw_err *err)
{
    const struct center_crop_opts *o = opts;
    const struct cw_image_size size = cw_image_size(&o->size);
    int64_t to;
    (void)ctx;
    (void)err;
    place(h, size.h, &ret_rect->y, &ret_rect->h, &to);
    place(w, size.w, &ret_rect->x, &ret_rect->w, &to);
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct center_crop_opts *o = opts;
    const struct cw_image_size size = cw_image_size(&o->size);
    (void)state;
    (void)scratch;
    struct cw_image image;
    struct cw_rect rect;
    int64_t to_y, to_x;
    const uint8_t *src;
    int rc = cw_image_get(in, &image, err);
    if (rc < 0)
        return rc;
    place(image.full_h, size.h, &rect.y, &rect.h, &to_y);
    place(image.full_w, size.w, &rect.x, &rect.w, &to_x);
    if (rect.h == size.h && rect.w == size.w)
        return cw_image_crop(ctx, &image, &rect, out, err);
    rc = cw_image_rect(&image, &rect, &src, err);
    if (rc == 0)
        rc = cw_image_output(ctx, out, size.h, size.w, err);
    if (rc < 0)
        return rc;
    const size_t row_bytes = (size_t)size.w * image.pixel_bytes;
    memset(out->data, 0, out->bytes);
    uint8_t *dst =
        (uint8_t *)out->data + (size_t)to_y * row_bytes + (size_t)to_x * image.pixel_bytes;
    for (int64_t y = 0; y < rect.h; y++)
        memcpy(dst + (size_t)y * row_bytes, src + (size_t)y * cw_image_stride(&image),
               (size_t)rect.w * image.pixel_bytes);
    return 0;
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
    const struct cw_image_size size = cw_image_size(&((const struct center_crop_opts *)opts)->size);
    if (rc == 0 && (image.full_h < size.h || image.full_w < size.w))
        return CW_STRIP_APART; /* zeros are put around it */
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

static bool has_no_effect(const void *opts, const struct cw_field *in)
{
    const struct cw_image_size size = cw_image_size(&((const struct center_crop_opts *)opts)->size);
    return in->dims[0] == size.h && in->dims[1] == size.w;
}

/* Whether `need` of the middle of `between` of the middle of `have` are those in the middle of `have`. */
static bool is_same_middle(int64_t have, int64_t between, int64_t need)
{
    return have >= between && between >= need &&
           middle(have, between) + middle(between, need) == middle(have, need);
}

/* Of an image of known size the first of two crops may be left out if the second one takes the same. */
static bool takes_over(const void *opts, const struct cw_field *in, const struct cw_op *before,
                       const void *before_opts, const struct cw_field *from)
{
    const struct cw_image_size size = cw_image_size(&((const struct center_crop_opts *)opts)->size);
    (void)before_opts;
    return before == &cw_op_center_crop && is_same_middle(from->dims[0], in->dims[0], size.h) &&
           is_same_middle(from->dims[1], in->dims[1], size.w);
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct center_crop_opts *o = opts;
    const struct cw_image_size size = cw_image_size(&o->size);
    cw_facts_of_fields(CW_EFFECT_CROP, fields, fields_n, ret_facts);
    ret_facts->refuses = !cw_facts_are_images(in, fields, fields_n);
    for (size_t i = 0; i < fields_n; i++) {
        const struct cw_field *field = &in->fields[fields[i]];
        if (fields[i] >= CW_GAP_FIELDS) {
            cw_field_set_remove(&ret_facts->effect_on, fields[i]);
            continue;
        }
        int64_t *gap = ret_facts->gap[fields[i]];
        gap[0] = field->dims[0] < 0 ? CW_GAP_UNKNOWN : field->dims[0] - size.h;
        gap[1] = field->dims[1] < 0 ? CW_GAP_UNKNOWN : field->dims[1] - size.w;
    }
}

static int motion(const struct cw_op_ctx *ctx, const void *opts,
                  const struct cw_motion_boxes *boxes, struct cw_motion *motion, struct cw_err *err)
{
    const struct center_crop_opts *o = opts;
    const struct cw_image_size size = cw_image_size(&o->size);
    int64_t from_y, from_x, h, w, to_y, to_x;
    (void)ctx;
    (void)boxes;
    (void)err;
    place(motion->in_h, size.h, &from_y, &h, &to_y);
    place(motion->in_w, size.w, &from_x, &w, &to_x);
    cw_motion_crop(motion, from_y - to_y, from_x - to_x, size.h, size.w);
    return 0;
}

static const struct cw_op_moves moves = {
    .opts_offset = offsetof(struct center_crop_opts, moved),
    .clips = true,
    .motion = motion,
};

const struct cw_op cw_op_center_crop = {
    .name = "center_crop",
    .version = 1,
    .summary = "the middle of an image",
    .doc = "Cuts `size` out of the middle. Where the image is smaller, zeros are put around it. As "
           "torchvision's CenterCrop.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_GEOMETRIC | CW_OP_CROP | CW_OP_SHRINK | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct center_crop_opts),
    .accepts = cw_image_accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = facts,
    .has_no_effect = has_no_effect,
    .takes_over = takes_over,
    .want = want,
    .moves = &moves,
    .strips = &strips,
};
