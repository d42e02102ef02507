/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `pad`: puts pixels around an image. */
#include "ops/element/fill_op.h"

#include <string.h>

enum mode { CONSTANT, EDGE, REFLECT, SYMMETRIC };
static const char *const mode_names[] = {"constant", "edge", "reflect", "symmetric", NULL};

struct pad_opts {
    struct cw_motion_opts moved;
    struct cw_f64_list fill;
    int mode;
    struct cw_i64_list padding;
};

static const struct cw_opt options[] = {
    CW_MOTION_FORMAT_ROW(offsetof(struct pad_opts, moved)),
    CW_MOTION_BOXES_ROW(offsetof(struct pad_opts, moved)),
    CW_FILL_ROW(offsetof(struct pad_opts, fill),
                "the value of what is put there if the mode is constant: one, or one a channel"),
    CW_MOTION_LABELS_ROW(offsetof(struct pad_opts, moved)),
    CW_MOTION_MASKS_ROW(offsetof(struct pad_opts, moved)),
    {.name = "mode",
     .help = "what is put there: a constant, the outermost pixel, or the image mirrored at it, or "
             "behind it",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct pad_opts, mode),
     .def = "\"constant\"",
     .names = mode_names},
    {.name = "padding",
     .help = "pixels: one number, [left and right, top and bottom], or [left, top, right, bottom]",
     .type = CW_OPT_I64_LIST,
     .offset = offsetof(struct pad_opts, padding),
     .min = 0,
     .max = CW_IMAGE_SIDE_MAX,
     .flags = CW_OPT_REQUIRED,
     .len_min = 1,
     .len_max = 4},
    CW_MOTION_POINTS_ROW(offsetof(struct pad_opts, moved)),
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct pad_opts *o = opts;
    if (o->padding.n == 3)
        return cw_err_set(err, CW_E_INVALID, "option padding: 3 numbers: 1, 2 or 4 are possible");
    return 0;
}

/* What is put before and behind an axis: 0 = rows, 1 = columns. */
static void widths(const struct pad_opts *o, int axis, int64_t *ret_before, int64_t *ret_behind)
{
    const size_t n = o->padding.n, first = axis == 0 && n > 1 ? 1 : 0;
    *ret_before = o->padding.v[first];
    *ret_behind = o->padding.v[n == 4 ? first + 2 : first];
}

static int64_t padded(const struct pad_opts *o, int axis, int64_t side)
{
    int64_t before, behind;
    widths(o, axis, &before, &behind);
    return side < 0 ? -1 : before + side + behind;
}

/* Mirrored pixels must be there. */
static int check_side(const struct pad_opts *o, int axis, int64_t side, struct cw_err *err)
{
    int64_t before, behind;
    widths(o, axis, &before, &behind);
    const int64_t most = CW_MAX(before, behind), there = o->mode == REFLECT ? side - 1 : side;
    if (o->mode == CONSTANT || o->mode == EDGE || side < 0 || most <= there)
        return 0;
    return cw_err_set(
        err, CW_E_INVALID, "option padding: %lld pixels cannot be mirrored of %lld %s by mode %s",
        (long long)most, (long long)side, axis == 0 ? "rows" : "columns", mode_names[o->mode]);
}

static int infer_mask(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                      struct cw_err *err)
{
    const struct pad_opts *o = opts;
    int rc = cw_image_infer(in, padded(o, 0, in->dims[0]), padded(o, 1, in->dims[1]), false,
                            ret_field, err);
    for (int axis = 0; rc == 0 && axis < 2; axis++)
        rc = check_side(o, axis, in->dims[axis], err);
    return rc;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct pad_opts *o = opts;
    const int rc = infer_mask(opts, in, ret_field, err);
    return rc < 0 ? rc : cw_fill_check(&o->fill, in->rank == 3 ? in->dims[2] : 1, err);
}

/* The place in the image, of n, of place i before or behind it. */
static int64_t source_of(int mode, int64_t i, int64_t n)
{
    if (i >= 0 && i < n)
        return i;
    if (mode == EDGE)
        return i < 0 ? 0 : n - 1;
    const int64_t twice = mode == REFLECT ? 0 : 1;
    return i < 0 ? -i - twice : 2 * n - 2 + twice - i;
}

/* What is made: a part of the padded image, of what there is of the image. */
struct padding {
    const struct pad_opts *opts;
    struct cw_image image;
    struct cw_rect part;
    int64_t above, left;
    uint8_t fill[CW_FILL_PIXEL_BYTES_MAX]; /* the pixel of a constant */
};

/* Makes the columns [from, to) of a row of the padded image, all of them on one side of the image. */
static void pad_side(const struct padding *p, uint8_t *dst, const uint8_t *row, int64_t from,
                     int64_t to)
{
    const size_t bytes = p->image.pixel_bytes;
    if (p->opts->mode == CONSTANT) {
        cw_fill_run(dst, to - from, p->fill, bytes);
        return;
    }
    for (int64_t x = from; x < to; x++, dst += bytes) {
        const int64_t at = source_of(p->opts->mode, x - p->left, p->image.full_w);
        memcpy(dst, row + (at - p->image.part_x) * (int64_t)bytes, bytes);
    }
}

/* Makes a row of the part out of a row of the image. */
static void pad_row(const struct padding *p, uint8_t *dst, const uint8_t *row)
{
    const size_t bytes = p->image.pixel_bytes;
    const int64_t begin = p->part.x, end = begin + p->part.w;
    const int64_t left = CW_MIN(CW_MAX(p->left, begin), end),
                  right = CW_MAX(CW_MIN(p->left + p->image.full_w, end), left);
    pad_side(p, dst, row, begin, left);
    dst += (size_t)(left - begin) * bytes;
    if (right > left)
        memcpy(dst, row + (left - p->left - p->image.part_x) * (int64_t)bytes,
               (size_t)(right - left) * bytes);
    pad_side(p, dst + (size_t)(right - left) * bytes, row, right, end);
}

static void pad_rows(const struct padding *p, uint8_t *data)
{
    const size_t stride = (size_t)p->part.w * p->image.pixel_bytes;
    for (int64_t y = 0; y < p->part.h; y++, data += stride) {
        const int64_t at = p->part.y + y - p->above;
        const bool inside = at >= 0 && at < p->image.full_h;
        if (!inside && p->opts->mode == CONSTANT) {
            cw_fill_run(data, p->part.w, p->fill, p->image.pixel_bytes);
            continue;
        }
        const int64_t row = source_of(p->opts->mode, at, p->image.full_h) - p->image.part_y;
        pad_row(p, data, p->image.data + (size_t)row * cw_image_stride(&p->image));
    }
}

/* The pixel of a constant; the other modes need none, whatever number of channels there is. */
static int make_fill(const struct cw_op_ctx *ctx, const struct pad_opts *o,
                     const struct cw_image *image, enum cw_dtype dtype, uint8_t *ret_fill,
                     struct cw_err *err)
{
    if (o->mode == CONSTANT)
        return cw_fill_pixel(ctx, &o->fill, dtype, image->channels, ret_fill, err);
    return ctx->is_mask ? 0 : cw_fill_check(&o->fill, image->channels, err);
}

/* Says which part of the result is made: that which is needed, if no cache should get all of it, or if
 * there is only a part of the image. */
static int choose_part(const struct cw_op_ctx *ctx, bool is_part, struct cw_rect *part,
                       struct cw_err *err)
{
    if (!ctx->next_want || (ctx->prefers_whole && !is_part))
        return 0;
    return ctx->next_want(ctx, part->h, part->w, part, err);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct pad_opts *o = opts;
    struct padding p = {.opts = o};
    int64_t below, right;
    (void)state;
    (void)scratch;
    int rc = cw_image_get(in, &p.image, err);
    if (rc == 0)
        rc = make_fill(ctx, o, &p.image, in->dtype, p.fill, err);
    for (int axis = 0; rc == 0 && axis < 2; axis++)
        rc = check_side(o, axis, axis == 0 ? p.image.full_h : p.image.full_w, err);
    if (rc < 0)
        return rc;
    widths(o, 0, &p.above, &below);
    widths(o, 1, &p.left, &right);
    const int64_t h = padded(o, 0, p.image.full_h), w = padded(o, 1, p.image.full_w);
    const bool is_part = in->full_h != 0;
    p.part = (struct cw_rect){.h = h, .w = w};
    rc = cw_image_check_pixels(h, w, err);
    if (rc == 0)
        rc = choose_part(ctx, is_part, &p.part, err);
    if (rc == 0)
        rc = cw_image_output(ctx, out, p.part.h, p.part.w, err);
    if (rc < 0)
        return rc;
    if (is_part || p.part.h != h || p.part.w != w)
        cw_image_set_part(out, &p.part, h, w);
    pad_rows(&p, out->data);
    return 0;
}

static bool region_size(const void *opts, int64_t *h, int64_t *w)
{
    const struct pad_opts *o = opts;
    if (check_side(o, 0, *h, NULL) < 0 || check_side(o, 1, *w, NULL) < 0)
        return false;
    *h = padded(o, 0, *h);
    *w = padded(o, 1, *w);
    return cw_image_check_pixels(*h, *w, NULL) == 0;
}

/* What samples [*from, *from + *n) of a padded axis are made of: of one with `side` samples; at least
 * one, since no image is empty. */
static void needs(const struct pad_opts *o, int axis, int64_t side, int64_t *from, int64_t *n)
{
    int64_t before, behind, lo = side, hi = -1;
    widths(o, axis, &before, &behind);
    for (int64_t i = *from - before; i < *from - before + *n; i++) {
        const bool inside = i >= 0 && i < side;
        const int64_t at =
            inside || o->mode != CONSTANT ? source_of(o->mode, i, side) : (i < 0 ? 0 : side - 1);
        lo = CW_MIN(lo, at);
        hi = CW_MAX(hi, at);
    }
    *from = lo;
    *n = hi - lo + 1;
}

static int region(const struct cw_op_ctx *ctx, const void *opts, void *scratch, int64_t h,
                  int64_t w, struct cw_rect *rect, struct cw_err *err)
{
    (void)ctx;
    (void)scratch;
    (void)err;
    needs(opts, 0, h, &rect->y, &rect->h);
    needs(opts, 1, w, &rect->x, &rect->w);
    return 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct pad_opts *o = opts;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
    ret_facts->refuses = !cw_facts_are_images(in, fields, fields_n);
    for (size_t i = 0; i < fields_n; i++) {
        const struct cw_field *field = &in->fields[fields[i]];
        if (o->mode == CONSTANT && field->rank == 3 && field->dims[2] > CW_FILL_CHANNELS_MAX)
            ret_facts->refuses = true;
    }
}

static int motion(const struct cw_op_ctx *ctx, const void *opts,
                  const struct cw_motion_boxes *boxes, struct cw_motion *motion, struct cw_err *err)
{
    const struct pad_opts *o = opts;
    int64_t above, below, left, right;
    (void)ctx;
    (void)boxes;
    (void)err;
    widths(o, 0, &above, &below);
    widths(o, 1, &left, &right);
    cw_motion_crop(motion, -above, -left, padded(o, 0, motion->in_h), padded(o, 1, motion->in_w));
    return 0;
}

static const struct cw_op_moves moves = {
    .opts_offset = offsetof(struct pad_opts, moved),
    .motion = motion,
    .infer_mask = infer_mask,
};

const struct cw_op cw_op_pad = {
    .name = "pad",
    .version = 1,
    .summary = "pixels around an image",
    .doc =
        "Puts `padding` pixels around an image of any numeric dtype, as torchvision's Pad and "
        "NumPy's pad do: a constant\n"
        "(`fill`, cast to the dtype), the outermost pixel (`edge`), or the image mirrored, with "
        "the outermost pixel once (`reflect`)\n"
        "or twice (`symmetric`). More pixels than there are cannot be mirrored: that is an error.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_GEOMETRIC | CW_OP_GROW | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct pad_opts),
    .check = check,
    .accepts = cw_image_accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = facts,
    .region = region,
    .region_size = region_size,
    .makes_parts = true,
    .moves = &moves,
};
