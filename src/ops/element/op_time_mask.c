/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `time_mask`: overwrites random times of spectrograms. */
#include "ops/element/spectrogram_mask.h"

static const struct cw_opt options[] = {CW_MASK_ROWS("times"), {0}};

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    (void)state;
    (void)scratch;
    return cw_mask_apply(ctx, opts, true, in, out, err);
}

const struct cw_op cw_op_time_mask = {
    .name = "time_mask",
    .version = 1,
    .summary = "spectrograms with times masked",
    .doc =
        "Overwrites times of f32[..., frequencies, time] with `value`, as torchaudio's TimeMasking "
        "(SpecAugment): `count` masks of a random\n"
        "number less than `width`, and than `share` of all, at random places; all channels get the "
        "same. Draw 0 says, by `p`, whether\n"
        "an element is changed; mask i takes draws 1 + 2 i (how many) and 2 + 2 i (the first).",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct cw_mask_opts),
    .accepts = cw_spectrogram_accepts,
    .infer_field = cw_spectrogram_infer,
    .apply_field = apply_field,
    .facts = cw_audio_facts,
    .draws = cw_mask_draws,
};
