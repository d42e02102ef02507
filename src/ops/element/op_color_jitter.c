/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `color_jitter`: changes brightness, contrast, saturation and hue at random, in a
 * random order. */
#include "ops/element/jitter.h"

#include <string.h>

/* draws behind that of p: the order, then a number for each part */
#define DRAW_ORDER 1
#define DRAW_PARTS 2

struct color_jitter_opts {
    struct cw_f64_list range[CW_JITTER_PARTS];
    double p;
};

#define FACTOR_ROW(name_, part_)                                                                   \
    {                                                                                              \
        .name = (name_), .help = "least and greatest factor; one number d: from 1 - d to 1 + d",   \
        .type = CW_OPT_F64_LIST, .offset = offsetof(struct color_jitter_opts, range[part_]),       \
        .def = "[0.0]", .min = 0, .max = 1000, .len_min = 1, .len_max = 2                          \
    }

static const struct cw_opt options[] = {
    FACTOR_ROW("brightness", CW_JITTER_BRIGHTNESS),
    FACTOR_ROW("contrast", CW_JITTER_CONTRAST),
    {.name = "hue",
     .help = "least and greatest part of a turn; one number d: from -d to d",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct color_jitter_opts, range[CW_JITTER_HUE]),
     .def = "[0.0]",
     .min = -0.5,
     .max = 0.5,
     .len_min = 1,
     .len_max = 2},
    CW_U8_P_ROW(offsetof(struct color_jitter_opts, p), "1.0"),
    FACTOR_ROW("saturation", CW_JITTER_SATURATION),
    {0},
};

/* The value of a part that changes nothing. */
static double neutral(enum cw_jitter part)
{
    return part == CW_JITTER_HUE ? 0 : 1;
}

static void range_of(const struct color_jitter_opts *o, enum cw_jitter part, double *ret_lo,
                     double *ret_hi)
{
    const struct cw_f64_list *range = &o->range[part];
    if (range->n == 2) {
        *ret_lo = range->v[0];
        *ret_hi = range->v[1];
        return;
    }
    const double lo = neutral(part) - range->v[0];
    *ret_lo = part == CW_JITTER_HUE || lo > 0 ? lo : 0;
    *ret_hi = neutral(part) + range->v[0];
}

/* Whether a part is left out: its range has the neutral value only. */
static bool is_off(const struct color_jitter_opts *o, enum cw_jitter part)
{
    double lo, hi;
    range_of(o, part, &lo, &hi);
    return !(lo < hi) && !(lo < neutral(part)) && !(lo > neutral(part));
}

static int check(const void *opts, struct cw_err *err)
{
    const struct color_jitter_opts *o = opts;
    for (int part = 0; part < CW_JITTER_PARTS; part++) {
        double lo, hi;
        range_of(o, (enum cw_jitter)part, &lo, &hi);
        if (lo > hi)
            return cw_err_set(err, CW_E_INVALID, "option %s: %g is greater than %g",
                              cw_jitter_names[part], lo, hi);
    }
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct color_jitter_opts *o = opts;
    struct cw_u8_op_image image;
    uint8_t order[CW_JITTER_PARTS];
    (void)state;
    (void)scratch;
    if (cw_u8_op_skips(ctx, o->p))
        return 0;
    const int rc = cw_u8_op_begin(ctx, in, out, &image, err);
    if (rc < 0)
        return rc;
    cw_jitter_order(cw_rng_below(&ctx->rng, DRAW_ORDER, CW_JITTER_ORDERS), CW_JITTER_PARTS, order);
    const uint8_t *src = image.src;
    for (size_t i = 0; i < CW_JITTER_PARTS; i++) {
        const enum cw_jitter part = (enum cw_jitter)order[i];
        double lo, hi;
        if (is_off(o, part))
            continue;
        range_of(o, part, &lo, &hi);
        cw_jitter_change(&image, src, part,
                         cw_rng_range(&ctx->rng, DRAW_PARTS + (uint32_t)part, lo, hi));
        src = image.dst;
    }
    if (src == image.src)
        memcpy(image.dst, src, image.pixels * image.channels);
    return 0;
}

static bool draws(const void *opts)
{
    const struct color_jitter_opts *o = opts;
    bool off = true;
    for (int part = 0; part < CW_JITTER_PARTS; part++)
        off = off && is_off(o, (enum cw_jitter)part);
    return o->p > 0 && !off;
}

const struct cw_op cw_op_color_jitter = {
    .name = "color_jitter",
    .version = 1,
    .summary = "brightness, contrast, saturation and hue at random",
    .doc =
        "Changes u8 images of one channel or three as torchvision's ColorJitter does with images "
        "of "
        "Pillow: `brightness`,\n"
        "`contrast` and `saturation` by ImageEnhance with a factor of the range, `hue` by HSV, of "
        "which a turn has 255 steps there;\n"
        "one after the other in an order that is drawn. What has no range is left out. Draw 0 "
        "says, by `p`, whether an element\n"
        "is changed; draw 1 is the order, of 24 in lexicographic order; draws 2 to 5 are the "
        "values of brightness, contrast,\n"
        "saturation and hue.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct color_jitter_opts),
    .check = check,
    .accepts = cw_image_accepts_u8,
    .infer_field = cw_u8_op_infer_colours,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = draws,
};
