/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `cutmix`: puts a random rectangle of each image of a batch into the next one. */
#include "ops/element/mix_op.h"

#include <math.h>
#include <string.h>
#include "base/mem.h"

enum { DRAW_X = CW_MIX_OP_DRAW, DRAW_Y };

enum layout { HWC, CHW };
static const char *const layout_names[] = {"hwc", "chw", NULL};

struct cutmix_opts {
    struct cw_mix_op_opts mix;
    int layout;
};

#define OFFSET offsetof(struct cutmix_opts, mix)
static const struct cw_opt options[] = {
    CW_MIX_OP_ALPHA_ROW(OFFSET),
    CW_MIX_OP_CLASSES_ROW(OFFSET),
    CW_MIX_OP_IMAGE_ROW(OFFSET),
    CW_MIX_OP_LABEL_ROW(OFFSET),
    {.name = "layout",
     .help = "where the channels of an image are; images without channels are hwc",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct cutmix_opts, layout),
     .def = "\"hwc\"",
     .names = layout_names},
    CW_MIX_OP_P_ROW(OFFSET),
    {0},
};

static bool accepts_hwc(const struct cw_field *image)
{
    return image->dtype != CW_DTYPE_STR && (image->rank == 3 || image->rank == 4);
}

static bool accepts_chw(const struct cw_field *image)
{
    return image->dtype != CW_DTYPE_STR && image->rank == 4;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct cutmix_opts *o = opts;
    (void)in_n;
    return cw_mix_op_infer(&o->mix, in, o->layout == HWC ? accepts_hwc : accepts_chw,
                           "a batch of images: put it behind batch", ret_spec, err);
}

/* images as planes of h rows of w pixels */
struct shape {
    int64_t planes, h, w;
    size_t pixel_bytes;
};

static struct shape shape_of(const struct cw_view *image, enum layout layout)
{
    const int64_t *d = image->dims;
    const size_t each = cw_dtype_bytes(image->dtype);
    if (layout == CHW)
        return (struct shape){d[1], d[2], d[3], each};
    return (struct shape){1, d[1], d[2], image->rank == 4 ? each * (size_t)d[3] : each};
}

struct box {
    int64_t y1, x1, y2, x2;
};

/* The rectangle that is of the other image; what is cut off at the edges makes it smaller, and the
 * share greater. */
static struct box draw_box(const struct cw_op_ctx *ctx, const struct shape *shape,
                           struct cw_mix_op *mix)
{
    const double half = 0.5 * sqrt(1 - mix->share);
    const int64_t x = (int64_t)cw_rng_below(&ctx->rng, DRAW_X, (uint64_t)shape->w),
                  y = (int64_t)cw_rng_below(&ctx->rng, DRAW_Y, (uint64_t)shape->h),
                  half_w = (int64_t)(half * (double)shape->w),
                  half_h = (int64_t)(half * (double)shape->h);
    const struct box box = {.y1 = CW_MAX(y - half_h, 0),
                            .x1 = CW_MAX(x - half_w, 0),
                            .y2 = CW_MIN(y + half_h, shape->h),
                            .x2 = CW_MIN(x + half_w, shape->w)};
    mix->share =
        1 - (double)((box.x2 - box.x1) * (box.y2 - box.y1)) / (double)(shape->w * shape->h);
    return box;
}

/* Copies the rectangle of one image into another. */
static void paste(const struct shape *s, const struct box *box, const uint8_t *from, uint8_t *to)
{
    const size_t row = (size_t)s->w * s->pixel_bytes;
    for (int64_t plane = 0; plane < s->planes; plane++)
        for (int64_t y = box->y1; y < box->y2; y++) {
            const size_t at = (size_t)(plane * s->h + y) * row + (size_t)box->x1 * s->pixel_bytes;
            memcpy(to + at, from + at, (size_t)(box->x2 - box->x1) * s->pixel_bytes);
        }
}

static int mix_images(const struct cw_op_ctx *ctx, const struct cutmix_opts *o,
                      struct cw_mix_op *mix, struct cw_view *view, struct cw_err *err)
{
    const struct shape shape = shape_of(view, (enum layout)o->layout);
    const uint8_t *from = view->data;
    if (shape.h < 1 || shape.w < 1 || mix->rows < 1)
        return 0;
    const struct box box = draw_box(ctx, &shape, mix);
    const int rc = cw_op_output(ctx, view, err);
    if (rc < 0)
        return rc;
    memcpy(view->data, from, view->bytes);
    for (int64_t i = 0; i < mix->rows; i++)
        paste(&shape, &box, from + (size_t)cw_mix_op_other(mix, i) * mix->row_bytes,
              (uint8_t *)view->data + (size_t)i * mix->row_bytes);
    return 0;
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct cutmix_opts *o = opts;
    struct cw_mix_op mix;
    (void)state;
    (void)scratch;
    int rc = cw_mix_op_begin(ctx, &o->mix, element, &mix, err);
    if (rc == 0 && mix.share < 1)
        rc = mix_images(ctx, o, &mix, &element->fields[mix.image], err);
    return rc < 0 ? rc : cw_mix_op_labels(ctx, &o->mix, &mix, element, err);
}

static bool draws(const void *opts)
{
    const struct cutmix_opts *o = opts;
    return o->mix.p > 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct cutmix_opts *o = opts;
    (void)fields;
    (void)fields_n;
    cw_mix_op_facts(&o->mix, in, ret_facts);
}

const struct cw_op cw_op_cutmix = {
    .name = "cutmix",
    .version = 1,
    .summary = "rectangles of images of a batch put into each other",
    .doc =
        "Behind `batch`: puts a rectangle of each image into the next one, of the last into the "
        "first, at a place and of a size that\n"
        "are drawn once for the batch, and makes of the labels shares of classes, f32[?,classes], "
        "by area, as torchvision's CutMix does\n"
        "(Yun et al., \"CutMix: Regularization strategy to train strong classifiers with "
        "localizable "
        "features\", ICCV 2019). With `p` less\n"
        "than 1 the labels of the other batches become shares as well. Draw 0 says, by `p`, "
        "whether "
        "a batch is mixed; the share, which\n"
        "the area follows, takes draws from 1 on; draws 1000 and 1001 are the middle along x and "
        "y.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct cutmix_opts),
    .infer = infer,
    .apply = apply,
    .facts = facts,
    .draws = draws,
};
