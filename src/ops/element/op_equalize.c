/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `equalize`: the samples of each channel become about equally frequent. */
#include "ops/element/histogram_op.h"

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    (void)state;
    (void)scratch;
    return cw_histogram_op_apply(ctx, opts, cw_tone_equalize, in, out, err);
}

const struct cw_op cw_op_equalize = {
    .name = "equalize",
    .version = 1,
    .summary = "images with a flat histogram",
    .doc = "Changes the samples of each channel so that all become about equally frequent, as "
           "ImageOps.equalize of\n"
           "Pillow and torchvision's equalize. u8 images of one channel or three. Draw 0 says, by "
           "`p`, whether an\n"
           "element is changed.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = cw_histogram_op_options,
    .options_bytes = sizeof(struct cw_histogram_op_opts),
    .accepts = cw_image_accepts_u8,
    .infer_field = cw_u8_op_infer_colours,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = cw_histogram_op_draws,
};
