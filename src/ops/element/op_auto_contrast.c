/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `auto_contrast`: the samples of each channel are stretched over the whole range. */
#include "ops/element/histogram_op.h"

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    (void)state;
    (void)scratch;
    return cw_histogram_op_apply(ctx, opts, cw_tone_auto_contrast, in, out, err);
}

const struct cw_op cw_op_auto_contrast = {
    .name = "auto_contrast",
    .version = 1,
    .summary = "images of the greatest contrast",
    .doc = "Stretches the samples of each channel so that the darkest becomes 0 and the brightest "
           "255, as\n"
           "ImageOps.autocontrast of Pillow and torchvision's autocontrast of its images. u8 "
           "images of one channel or\n"
           "three. Draw 0 says, by `p`, whether an element is changed.",
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
