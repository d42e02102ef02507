/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `rand_augment`: some changes of a list, all of one magnitude. */
#include "ops/element/augment.h"

/* draws of a change: which, and the sign; those of the first are behind that of p */
#define DRAWS_A_CHANGE 2

struct rand_augment_opts {
    int64_t magnitude, num_magnitude_bins, num_ops;
    double p;
    struct cw_warp_op_opts warp;
};

static const struct cw_opt options[] = {
    CW_WARP_OP_FILL_ROW(offsetof(struct rand_augment_opts, warp)),
    CW_WARP_OP_INTERPOLATION_ROW(offsetof(struct rand_augment_opts, warp), "\"nearest\""),
    {.name = "magnitude",
     .help = "of all changes: from 0 to less than num_magnitude_bins",
     .type = CW_OPT_I64,
     .offset = offsetof(struct rand_augment_opts, magnitude),
     .def = "9",
     .min = 0,
     .max = 1000},
    {.name = "num_magnitude_bins",
     .help = "how many magnitudes there are",
     .type = CW_OPT_I64,
     .offset = offsetof(struct rand_augment_opts, num_magnitude_bins),
     .def = "31",
     .min = 1,
     .max = 1001},
    {.name = "num_ops",
     .help = "changes of an element",
     .type = CW_OPT_I64,
     .offset = offsetof(struct rand_augment_opts, num_ops),
     .def = "2",
     .min = 0,
     .max = 64},
    CW_U8_P_ROW(offsetof(struct rand_augment_opts, p), "1.0"),
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct rand_augment_opts *o = opts;
    if (o->magnitude >= o->num_magnitude_bins)
        return cw_err_set(err, CW_E_INVALID,
                          "option magnitude: %lld is not less than num_magnitude_bins, %lld",
                          (long long)o->magnitude, (long long)o->num_magnitude_bins);
    return cw_warp_op_check(&o->warp, err);
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct rand_augment_opts *o = opts;
    return cw_warp_op_infer(&o->warp, in, ret_field, err);
}

static double with_sign(const struct cw_op_ctx *ctx, uint32_t draw, enum cw_augment change,
                        double magnitude)
{
    const bool negative = cw_augment_is_signed(change) && cw_rng_below(&ctx->rng, draw, 2) == 1;
    return negative ? -magnitude : magnitude;
}

static int change_once(const struct cw_op_ctx *ctx, const struct rand_augment_opts *o, uint32_t i,
                       struct cw_augment_run *run, struct cw_err *err)
{
    const struct cw_augment_space space = {.bins = o->num_magnitude_bins};
    const uint32_t draw = CW_U8_P_DRAW + 1 + i * DRAWS_A_CHANGE;
    const enum cw_augment change =
        (enum cw_augment)cw_rng_below(&ctx->rng, draw, CW_AUGMENT_CHOICES);
    const double magnitude =
        cw_augment_magnitude(&space, change, o->magnitude, run->image.h, run->image.w);
    return cw_augment_apply(run, change, with_sign(ctx, draw + 1, change, magnitude), err);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct rand_augment_opts *o = opts;
    struct cw_augment_run run;
    (void)state;
    (void)scratch;
    if (cw_u8_op_skips(ctx, o->p))
        return 0;
    int rc = cw_augment_begin(ctx, &o->warp, in, out, &run, err);
    for (uint32_t i = 0; rc == 0 && i < (uint32_t)o->num_ops; i++)
        rc = change_once(ctx, o, i, &run, err);
    if (rc == 0)
        cw_augment_end(&run);
    return rc;
}

static bool draws(const void *opts)
{
    const struct rand_augment_opts *o = opts;
    return o->p > 0;
}

const struct cw_op cw_op_rand_augment = {
    .name = "rand_augment",
    .version = 1,
    .summary = "some changes of a list, by RandAugment",
    .doc = "RandAugment (Cubuk et al., 2019) as torchvision has it for images of Pillow: `num_ops` "
           "changes one after the\n"
           "other, each drawn of Identity, ShearX, ShearY, TranslateX, TranslateY, Rotate, "
           "Brightness, Color, Contrast,\n"
           "Sharpness, Posterize, Solarize, AutoContrast and Equalize, with torchvision's "
           "magnitudes. u8 images of one channel\n"
           "or three. Draw 0 says, by `p`, whether an element is changed; draws 1 + 2 i and 2 + 2 "
           "i are change i, and whether its\n"
           "magnitude is negative.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_GEOMETRIC | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct rand_augment_opts),
    .check = check,
    .accepts = cw_image_accepts_u8,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = draws,
};
