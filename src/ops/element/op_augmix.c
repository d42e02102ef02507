/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `augmix`: mixes an image with itself after some chains of random changes. */
#include <math.h>
#include "ops/element/augment.h"
#include "ops/element/draw_gamma.h"
#include "ops/kernels/exact_math.h"

#define BINS 10
#define CHAINS_MAX 10
#define DEPTH_MAX 10
/* Draws behind that of p: the two numbers whose share is that of the image, and those of chain c from 1000 (c + 1) on. */
enum { DRAW_IMAGE = 1, DRAW_CHAINS = 201, DRAW_CHAIN = 1000 };
/* Within those of a chain: its share; how many changes it has; of each change which, how strong, and its sign. */
enum { DRAW_SHARE, DRAW_DEPTH = 200, DRAW_CHANGE = 210, DRAWS_A_CHANGE = 3 };

struct augmix_opts {
    struct cw_augment_opts common;
    double alpha;
    int64_t chain_depth, mixture_width, severity;
    bool all_ops;
};

static const struct cw_opt options[] = {
    {.name = "all_ops",
     .help = "whether brightness, color, contrast and sharpness are changed, too",
     .type = CW_OPT_BOOL,
     .offset = offsetof(struct augmix_opts, all_ops),
     .def = "true"},
    {.name = "alpha",
     .help = "shares are drawn from the distributions Dirichlet(alpha, ..., alpha)",
     .type = CW_OPT_F64,
     .offset = offsetof(struct augmix_opts, alpha),
     .def = "1.0",
     .min = 0.01,
     .max = 1000},
    {.name = "chain_depth",
     .help = "how many changes a chain has; -1 or 0 = 1 to 3, drawn",
     .type = CW_OPT_I64,
     .offset = offsetof(struct augmix_opts, chain_depth),
     .def = "-1",
     .min = -1,
     .max = DEPTH_MAX},
    CW_AUGMENT_FILL_ROW,
    CW_WARP_OP_INTERPOLATION_ROW(offsetof(struct cw_augment_opts, warp), "\"bilinear\""),
    {.name = "mixture_width",
     .help = "how many chains there are",
     .type = CW_OPT_I64,
     .offset = offsetof(struct augmix_opts, mixture_width),
     .def = "3",
     .min = 1,
     .max = CHAINS_MAX},
    CW_AUGMENT_P_ROW,
    {.name = "severity",
     .help = "a change is as strong as one of so many magnitudes of 10, from none on",
     .type = CW_OPT_I64,
     .offset = offsetof(struct augmix_opts, severity),
     .def = "3",
     .min = 1,
     .max = BINS},
    {0},
};

/* In the order of torchvision's table, which draws count in. */
static const enum cw_augment changes[] = {
    CW_AUGMENT_SHEAR_X,  CW_AUGMENT_SHEAR_Y,    CW_AUGMENT_TRANSLATE_X, CW_AUGMENT_TRANSLATE_Y,
    CW_AUGMENT_ROTATE,   CW_AUGMENT_POSTERIZE,  CW_AUGMENT_SOLARIZE,    CW_AUGMENT_AUTO_CONTRAST,
    CW_AUGMENT_EQUALIZE, CW_AUGMENT_BRIGHTNESS, CW_AUGMENT_COLOR,       CW_AUGMENT_CONTRAST,
    CW_AUGMENT_SHARPNESS};
#define COLOUR_CHANGES 4 /* the last ones, for all_ops */

static double magnitude_of(enum cw_augment change, int64_t bin, const struct cw_u8_op_image *image)
{
    const struct cw_augment_space space = {.bins = BINS};
    const float step = 9.0f / 4.0f;
    if (change == CW_AUGMENT_TRANSLATE_X || change == CW_AUGMENT_TRANSLATE_Y) {
        const size_t side = change == CW_AUGMENT_TRANSLATE_X ? image->w : image->h;
        return (double)cw_augment_spread(0, (float)((double)side / 3.0), BINS, bin);
    }
    if (change == CW_AUGMENT_POSTERIZE)
        return 4 - rint((double)((float)bin / step));
    return cw_augment_magnitude(&space, change, bin, image->h, image->w);
}

/* Runs a chain, from the image on. */
static int run_chain(const struct cw_op_ctx *ctx, const struct augmix_opts *o, uint32_t draw,
                     struct cw_augment_run *run, struct cw_err *err)
{
    const size_t n = CW_ARRAY_LEN(changes) - (o->all_ops ? 0 : COLOUR_CHANGES);
    const int64_t depth = o->chain_depth > 0
                              ? o->chain_depth
                              : 1 + (int64_t)cw_rng_below(&ctx->rng, draw + DRAW_DEPTH, 3);
    int rc = 0;
    run->at = run->image.src;
    for (int64_t i = 0; rc == 0 && i < depth; i++) {
        const uint32_t at = draw + DRAW_CHANGE + DRAWS_A_CHANGE * (uint32_t)i;
        const enum cw_augment change = changes[cw_rng_below(&ctx->rng, at, n)];
        const int64_t bin = (int64_t)cw_rng_below(&ctx->rng, at + 1, (uint64_t)o->severity);
        const double magnitude = magnitude_of(change, bin, &run->image);
        rc = cw_augment_apply(run, change, cw_augment_with_sign(ctx, at + 2, 1, change, magnitude),
                              err);
    }
    return rc;
}

/* Makes shares of the logarithms of gamma numbers. */
static void shares_of(const double *log_gamma, size_t n, double *ret_share)
{
    double most = log_gamma[0], sum = 0;
    for (size_t i = 1; i < n; i++)
        most = fmax(most, log_gamma[i]);
    for (size_t i = 0; i < n; i++)
        sum += ret_share[i] = cw_exact_exp(log_gamma[i] - most);
    for (size_t i = 0; i < n; i++)
        ret_share[i] /= sum;
}

/* The share of the image itself, and of each chain. */
static void draw_shares(const struct cw_op_ctx *ctx, const struct augmix_opts *o, float *ret_image,
                        float *ret_chain)
{
    const size_t n = (size_t)o->mixture_width;
    double own[2] = {cw_draw_log_gamma(ctx, o->alpha, DRAW_IMAGE),
                     cw_draw_log_gamma(ctx, o->alpha, DRAW_CHAINS)},
           chains[CHAINS_MAX];
    for (size_t i = 0; i < n; i++)
        chains[i] = cw_draw_log_gamma(ctx, o->alpha, DRAW_CHAIN * (uint32_t)(i + 1) + DRAW_SHARE);
    shares_of(own, 2, own);
    shares_of(chains, n, chains);
    *ret_image = (float)own[0];
    for (size_t i = 0; i < n; i++)
        ret_chain[i] = (float)chains[i] * (float)own[1];
}

static int mix_chains(const struct cw_op_ctx *ctx, const void *opts, struct cw_augment_run *run,
                      struct cw_err *err)
{
    const struct augmix_opts *o = opts;
    const size_t n = run->image.pixels * run->image.channels;
    float image, chain[CHAINS_MAX], *sums = cw_op_scratch(ctx, n * sizeof(float), err);
    int rc = sums ? 0 : CW_E_NOMEM;
    if (rc < 0)
        return rc;
    draw_shares(ctx, o, &image, chain);
    for (size_t k = 0; k < n; k++)
        sums[k] = image * (float)run->image.src[k];
    for (uint32_t i = 0; rc == 0 && i < (uint32_t)o->mixture_width; i++) {
        rc = run_chain(ctx, o, DRAW_CHAIN * (i + 1), run, err);
        for (size_t k = 0; rc == 0 && k < n; k++)
            sums[k] += chain[i] * (float)run->at[k];
    }
    for (size_t k = 0; rc == 0 && k < n; k++)
        run->image.dst[k] = (uint8_t)fminf(sums[k], 255);
    run->at = run->image.dst;
    return rc;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    (void)state;
    (void)scratch;
    return cw_augment_element(ctx, opts, mix_chains, in, out, err);
}

const struct cw_op cw_op_augmix = {
    .name = "augmix",
    .version = 1,
    .summary = "images mixed with themselves after some chains of random changes",
    .doc = "AugMix (Hendrycks et al., \"AugMix: A simple data processing method to improve "
           "robustness and uncertainty\", ICLR 2020) as\n"
           "torchvision has it for images of Pillow, with its tables of changes and magnitudes: "
           "the sum of the image and of what\n"
           "`mixture_width` chains of changes make of it, in random shares, cut off to whole "
           "numbers. u8 images of one channel\n"
           "or three.\n"
           "\n"
           "Draw 0 says, by `p`, whether an element is changed; draws 1 and on and 201 and on make "
           "the share of the image itself.\n"
           "Chain c, from 0, has draws from 1000 (c + 1) on: these and on for its share, 200 "
           "behind for the number of its changes;\n"
           "of change i draws 210 + 3 i, 211 + 3 i and 212 + 3 i behind say which it is, how "
           "strong, and whether it is\n"
           "negative (1).",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_GEOMETRIC | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct augmix_opts),
    .check = cw_augment_check,
    .accepts = cw_image_accepts_u8,
    .infer_field = cw_augment_infer,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = cw_augment_draws,
};
