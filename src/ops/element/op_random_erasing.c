/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `random_erasing`: overwrites a random rectangle of an image. */
#include "ops/element/u8_op.h"

#include <math.h>
#include <string.h>
#include "ops/kernels/exact_math.h"
#include "ops/kernels/num.h"

#define TRIES 10
#define DRAWS_A_TRY 4
#define CHANNELS_MAX 128

struct random_erasing_opts {
    double p;
    struct cw_f64_list ratio, scale, value;
};

static const struct cw_opt options[] = {
    CW_U8_P_ROW(offsetof(struct random_erasing_opts, p), "0.5"),
    {.name = "ratio",
     .help = "least and greatest height by width",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct random_erasing_opts, ratio),
     .def = "[0.3,3.3]",
     .min = 0.001,
     .max = 1000,
     .len_min = 2,
     .len_max = 2},
    {.name = "scale",
     .help = "least and greatest share of the area",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct random_erasing_opts, scale),
     .def = "[0.02,0.33]",
     .min = 0,
     .max = 1,
     .len_min = 2,
     .len_max = 2},
    {.name = "value",
     .help = "what is written there: one value, or one a channel",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct random_erasing_opts, value),
     .def = "[0.0]",
     .len_min = 1,
     .len_max = CHANNELS_MAX},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct random_erasing_opts *o = opts;
    if (o->scale.v[0] > o->scale.v[1])
        return cw_err_set(err, CW_E_INVALID, "option scale: %g is greater than %g", o->scale.v[0],
                          o->scale.v[1]);
    if (o->ratio.v[0] > o->ratio.v[1])
        return cw_err_set(err, CW_E_INVALID, "option ratio: %g is greater than %g", o->ratio.v[0],
                          o->ratio.v[1]);
    return 0;
}

static int check_values(const struct random_erasing_opts *o, int64_t channels, struct cw_err *err)
{
    if (o->value.n == 1 || channels < 0 || channels == (int64_t)o->value.n)
        return 0;
    return cw_err_set(err, CW_E_INVALID, "option value: %zu values for an image of %lld channels",
                      o->value.n, (long long)channels);
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct random_erasing_opts *o = opts;
    const int rc = cw_image_infer(in, in->dims[0], in->dims[1], false, ret_field, err);
    return rc < 0 ? rc : check_values(o, in->rank == 3 ? in->dims[2] : 1, err);
}

/* Draws the rectangle; returns false if none of ten fits. */
static bool draw_rect(const struct cw_op_ctx *ctx, const struct random_erasing_opts *o, int64_t h,
                      int64_t w, struct cw_rect *ret_rect)
{
    const double area = (double)h * (double)w;
    const double log_lo = cw_exact_log(o->ratio.v[0]), log_hi = cw_exact_log(o->ratio.v[1]);
    for (uint32_t i = 0; i < TRIES; i++) {
        const uint32_t draw = CW_U8_P_DRAW + 1 + i * DRAWS_A_TRY;
        const double share = area * cw_rng_range(&ctx->rng, draw, o->scale.v[0], o->scale.v[1]);
        const double ratio = cw_exact_exp(cw_rng_range(&ctx->rng, draw + 1, log_lo, log_hi));
        struct cw_rect rect = {.h = (int64_t)rint(sqrt(share * ratio)),
                               .w = (int64_t)rint(sqrt(share / ratio))};
        if (rect.h >= h || rect.w >= w)
            continue;
        rect.y = (int64_t)cw_rng_below(&ctx->rng, draw + 2, (uint64_t)(h - rect.h + 1));
        rect.x = (int64_t)cw_rng_below(&ctx->rng, draw + 3, (uint64_t)(w - rect.w + 1));
        *ret_rect = rect;
        return true;
    }
    return false;
}

static void erase(const struct random_erasing_opts *o, const struct cw_image *image,
                  const struct cw_rect *rect, const struct cw_view *out)
{
    for (int64_t y = rect->y; y < rect->y + rect->h; y++)
        for (int64_t x = rect->x; x < rect->x + rect->w; x++)
            for (int64_t c = 0; c < image->channels; c++)
                cw_num_put_f64(out->dtype, out->data,
                               (size_t)((y * image->w + x) * image->channels + c),
                               o->value.v[o->value.n == 1 ? 0 : c]);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct random_erasing_opts *o = opts;
    struct cw_image image;
    struct cw_rect rect;
    (void)state;
    (void)scratch;
    if (cw_u8_op_skips(ctx, o->p))
        return 0;
    int rc = cw_image_get(in, &image, err);
    if (rc == 0)
        rc = check_values(o, image.channels, err);
    if (rc < 0 || !draw_rect(ctx, o, image.h, image.w, &rect))
        return rc;
    rc = cw_image_output(ctx, out, image.h, image.w, err);
    if (rc < 0)
        return rc;
    memcpy(out->data, image.data, out->bytes);
    erase(o, &image, &rect, out);
    return 0;
}

static bool draws(const void *opts)
{
    const struct random_erasing_opts *o = opts;
    return o->p > 0;
}

const struct cw_op cw_op_random_erasing = {
    .name = "random_erasing",
    .version = 1,
    .summary = "images with a rectangle overwritten",
    .doc =
        "Overwrites a rectangle with a random share of the area (`scale`) and a random ratio of "
        "height to width (`ratio`) at a\n"
        "random place with `value` (cast to the dtype), as torchvision's RandomErasing; after ten "
        "tries that do not fit, the image\n"
        "stays. All numeric dtypes, channels last. Draw 0 says, by `p`, whether an element is "
        "changed; try i takes draws 1 + 4 i to\n"
        "4 + 4 i: area, ratio, first row, first column.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct random_erasing_opts),
    .check = check,
    .accepts = cw_image_accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = draws,
};
