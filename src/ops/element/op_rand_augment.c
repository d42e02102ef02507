/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `rand_augment`: some changes of a list, all of one magnitude. */
#include "ops/element/augment.h"

/* draws of a change: which, and the sign; those of the first are behind that of p */
#define DRAWS_A_CHANGE 2

struct rand_augment_opts {
    struct cw_augment_opts common;
    int64_t magnitude, num_magnitude_bins, num_ops;
};

static const struct cw_opt options[] = {
    CW_AUGMENT_FILL_ROW,
    CW_AUGMENT_INTERPOLATION_ROW,
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
    CW_AUGMENT_P_ROW,
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct rand_augment_opts *o = opts;
    if (o->magnitude >= o->num_magnitude_bins)
        return cw_err_set(err, CW_E_INVALID,
                          "option magnitude: %lld is not less than num_magnitude_bins, %lld",
                          (long long)o->magnitude, (long long)o->num_magnitude_bins);
    return cw_augment_check(opts, err);
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
    return cw_augment_apply(run, change, cw_augment_with_sign(ctx, draw + 1, 1, change, magnitude),
                            err);
}

static int change_all(const struct cw_op_ctx *ctx, const void *opts, struct cw_augment_run *run,
                      struct cw_err *err)
{
    const struct rand_augment_opts *o = opts;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < (uint32_t)o->num_ops; i++)
        rc = change_once(ctx, o, i, run, err);
    return rc;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    (void)state;
    (void)scratch;
    return cw_augment_element(ctx, opts, change_all, in, out, err);
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
    .infer_field = cw_augment_infer,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = cw_augment_draws,
};
