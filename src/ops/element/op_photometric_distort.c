/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `photometric_distort`: changes colours at random, as SSD does. */
#include "ops/element/jitter.h"

#include <string.h>

/* Two draws a part: whether it is changed, and by what. */
enum { DRAW_PARTS = 0, DRAW_FIRST = 2 * CW_JITTER_PARTS, DRAW_SWAP, DRAW_ORDER };
#define CHANNELS 3
#define CHANNEL_ORDERS 6

struct photometric_distort_opts {
    struct cw_f64_list range[CW_JITTER_PARTS];
    double p;
};

#define RANGE_ROW(name_, part_, help_, def_, min_, max_)                                           \
    {                                                                                              \
        .name = (name_), .help = (help_), .type = CW_OPT_F64_LIST,                                 \
        .offset = offsetof(struct photometric_distort_opts, range[part_]), .def = (def_),          \
        .min = (min_), .max = (max_), .len_min = 2, .len_max = 2                                   \
    }
#define FACTOR_ROW(name_, part_, def_)                                                             \
    RANGE_ROW(name_, part_, "least and greatest factor", def_, 0, 1000)

static const struct cw_opt options[] = {
    FACTOR_ROW("brightness", CW_JITTER_BRIGHTNESS, "[0.875,1.125]"),
    FACTOR_ROW("contrast", CW_JITTER_CONTRAST, "[0.5,1.5]"),
    RANGE_ROW("hue", CW_JITTER_HUE, "least and greatest part of a turn", "[-0.05,0.05]", -0.5, 0.5),
    {.name = "p",
     .help = "how often each of the changes is made",
     .type = CW_OPT_F64,
     .offset = offsetof(struct photometric_distort_opts, p),
     .def = "0.5",
     .min = 0,
     .max = 1},
    FACTOR_ROW("saturation", CW_JITTER_SATURATION, "[0.5,1.5]"),
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct photometric_distort_opts *o = opts;
    for (int part = 0; part < CW_JITTER_PARTS; part++)
        if (o->range[part].v[0] > o->range[part].v[1])
            return cw_err_set(err, CW_E_INVALID, "option %s: %g is greater than %g",
                              cw_jitter_names[part], o->range[part].v[0], o->range[part].v[1]);
    return 0;
}

/* Makes one of the changes, if it is drawn; *src is what there is of the image, and becomes the
 * result. */
static void distort(const struct cw_op_ctx *ctx, const struct photometric_distort_opts *o,
                    const struct cw_u8_op_image *image, enum cw_jitter part, const uint8_t **src)
{
    const uint32_t draw = DRAW_PARTS + 2 * (uint32_t)part;
    const double *range = o->range[part].v;
    if (cw_rng_unit(&ctx->rng, draw) >= o->p)
        return;
    cw_jitter_change(image, *src, part, cw_rng_range(&ctx->rng, draw + 1, range[0], range[1]));
    *src = image->dst;
}

static void swap_channels(const struct cw_op_ctx *ctx, const struct photometric_distort_opts *o,
                          const struct cw_u8_op_image *image)
{
    uint8_t order[CHANNELS];
    if (image->channels != CHANNELS || cw_rng_unit(&ctx->rng, DRAW_SWAP) >= o->p)
        return;
    cw_jitter_order(cw_rng_below(&ctx->rng, DRAW_ORDER, CHANNEL_ORDERS), CHANNELS, order);
    for (uint8_t *at = image->dst; at < image->dst + CHANNELS * image->pixels; at += CHANNELS) {
        const uint8_t pixel[CHANNELS] = {at[order[0]], at[order[1]], at[order[2]]};
        memcpy(at, pixel, CHANNELS);
    }
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct photometric_distort_opts *o = opts;
    struct cw_u8_op_image image;
    (void)state;
    (void)scratch;
    if (!(o->p > 0))
        return 0;
    const int rc = cw_u8_op_begin(ctx, in, out, &image, err);
    if (rc < 0)
        return rc;
    const bool first = cw_rng_unit(&ctx->rng, DRAW_FIRST) < 0.5;
    const uint8_t *src = image.src;
    distort(ctx, o, &image, CW_JITTER_BRIGHTNESS, &src);
    if (first)
        distort(ctx, o, &image, CW_JITTER_CONTRAST, &src);
    distort(ctx, o, &image, CW_JITTER_SATURATION, &src);
    distort(ctx, o, &image, CW_JITTER_HUE, &src);
    if (!first)
        distort(ctx, o, &image, CW_JITTER_CONTRAST, &src);
    if (src == image.src)
        memcpy(image.dst, src, image.pixels * image.channels);
    swap_channels(ctx, o, &image);
    return 0;
}

static bool draws(const void *opts)
{
    const struct photometric_distort_opts *o = opts;
    return o->p > 0;
}

const struct cw_op cw_op_photometric_distort = {
    .name = "photometric_distort",
    .version = 1,
    .summary = "colours changed at random, as for SSD",
    .doc =
        "Changes brightness, contrast, saturation and hue of u8 images of one channel or three, "
        "and "
        "the order of the channels, each\n"
        "with probability `p`, as torchvision's RandomPhotometricDistort does with images of "
        "Pillow "
        "(and SSD: Liu et al., ECCV 2016).\n"
        "Contrast comes behind brightness or behind hue. Draws 0 to 7 say of brightness, contrast, "
        "saturation and hue, whether and by\n"
        "what; draw 8 is where contrast comes, below 0.5: early; draw 9 says whether channels "
        "change "
        "places, and draw 10 how, of 6 ways\n"
        "in lexicographic order.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct photometric_distort_opts),
    .check = check,
    .accepts = cw_image_accepts_u8,
    .infer_field = cw_u8_op_infer_colours,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = draws,
};
