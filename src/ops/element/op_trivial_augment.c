/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `trivial_augment`: one change of a list, of a random magnitude. */
#include "ops/element/augment.h"

/* draws behind that of p */
enum { DRAW_CHANGE = 1, DRAW_MAGNITUDE, DRAW_SIGN };

struct trivial_augment_opts {
    struct cw_augment_opts common;
    int64_t num_magnitude_bins;
};

static const struct cw_opt options[] = {
    CW_AUGMENT_FILL_ROW,
    CW_AUGMENT_INTERPOLATION_ROW,
    {.name = "num_magnitude_bins",
     .help = "how many magnitudes there are",
     .type = CW_OPT_I64,
     .offset = offsetof(struct trivial_augment_opts, num_magnitude_bins),
     .def = "31",
     .min = 1,
     .max = 1001},
    CW_AUGMENT_P_ROW,
    {0},
};

static int change_once(const struct cw_op_ctx *ctx, const void *opts, struct cw_augment_run *run,
                       struct cw_err *err)
{
    const struct trivial_augment_opts *o = opts;
    const struct cw_augment_space space = {.bins = o->num_magnitude_bins, .wide = true};
    const enum cw_augment change =
        (enum cw_augment)cw_rng_below(&ctx->rng, DRAW_CHANGE, CW_AUGMENT_CHOICES);
    const int64_t bin = (int64_t)cw_rng_below(&ctx->rng, DRAW_MAGNITUDE, (uint64_t)space.bins);
    const double magnitude = cw_augment_magnitude(&space, change, bin, run->image.h, run->image.w);
    return cw_augment_apply(run, change, cw_augment_with_sign(ctx, DRAW_SIGN, 1, change, magnitude),
                            err);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    (void)state;
    (void)scratch;
    return cw_augment_element(ctx, opts, change_once, in, out, err);
}

const struct cw_op cw_op_trivial_augment = {
    .name = "trivial_augment",
    .version = 1,
    .summary = "one change of a list, by TrivialAugment",
    .doc = "TrivialAugment Wide (Mueller and Hutter, 2021) as torchvision has it for images of "
           "Pillow: one change, drawn of those\n"
           "of rand_augment, of a magnitude that is drawn, too. u8 images of one channel or three. "
           "Draw 0 says, by `p`, whether\n"
           "an element is changed; draws 1 to 3 are the change, its magnitude, and whether that is "
           "negative.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_GEOMETRIC | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct trivial_augment_opts),
    .check = cw_augment_check,
    .accepts = cw_image_accepts_u8,
    .infer_field = cw_augment_infer,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = cw_augment_draws,
};
