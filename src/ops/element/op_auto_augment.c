/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `auto_augment`: one of 25 pairs of changes that were found to be good. */
#include "ops/element/augment.h"

/* draws behind that of p: the pair; of each of its steps, whether it is made, and its sign */
enum { DRAW_POLICY = 1, DRAW_MADE, DRAW_SIGN = DRAW_MADE + 2 };
#define POLICIES 25
#define STEPS 2
#define BINS 10

static const char *const policy_names[] = {"imagenet", "cifar10", "svhn", NULL};

struct step {
    enum cw_augment change;
    int tenths, bin;
};

static const struct step steps[3 * POLICIES * STEPS] = {
#define CW_STEP(change, tenths, bin) {CW_AUGMENT_##change, tenths, bin},
#include "ops/element/auto_augment_list.h"
#undef CW_STEP
};

struct auto_augment_opts {
    struct cw_augment_opts common;
    int policy;
};

static const struct cw_opt options[] = {
    CW_AUGMENT_FILL_ROW,
    CW_AUGMENT_INTERPOLATION_ROW,
    CW_AUGMENT_P_ROW,
    {.name = "policy",
     .help = "the data for which the pairs were found",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct auto_augment_opts, policy),
     .def = "\"imagenet\"",
     .names = policy_names},
    {0},
};

static int make_step(const struct cw_op_ctx *ctx, const struct step *step, uint32_t i,
                     struct cw_augment_run *run, struct cw_err *err)
{
    const struct cw_augment_space space = {.bins = BINS};
    if (cw_rng_unit(&ctx->rng, DRAW_MADE + i) > step->tenths / 10.0)
        return 0;
    const double magnitude =
        cw_augment_magnitude(&space, step->change, step->bin, run->image.h, run->image.w);
    return cw_augment_apply(run, step->change,
                            cw_augment_with_sign(ctx, DRAW_SIGN + i, 0, step->change, magnitude),
                            err);
}

static int change_twice(const struct cw_op_ctx *ctx, const void *opts, struct cw_augment_run *run,
                        struct cw_err *err)
{
    const struct auto_augment_opts *o = opts;
    const size_t pair =
        (size_t)o->policy * POLICIES + (size_t)cw_rng_below(&ctx->rng, DRAW_POLICY, POLICIES);
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < STEPS; i++)
        rc = make_step(ctx, &steps[STEPS * pair + i], i, run, err);
    return rc;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    (void)state;
    (void)scratch;
    return cw_augment_element(ctx, opts, change_twice, in, out, err);
}

const struct cw_op cw_op_auto_augment = {
    .name = "auto_augment",
    .version = 1,
    .summary = "pairs of changes that were found to be good, by AutoAugment",
    .doc = "AutoAugment (Cubuk et al., 2018) as torchvision has it for images of Pillow: one of "
           "the 25 pairs of changes of\n"
           "`policy`, each made as often as the pair says, with torchvision's magnitudes. u8 "
           "images of one channel or three.\n"
           "Draw 0 says, by `p`, whether an element is changed; draw 1 is the pair, draws 2 and 3 "
           "say which of its changes are made,\n"
           "and draws 4 and 5 whether their magnitudes are negative (0).",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_GEOMETRIC | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct auto_augment_opts),
    .check = cw_augment_check,
    .accepts = cw_image_accepts_u8,
    .infer_field = cw_augment_infer,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = cw_augment_draws,
};
