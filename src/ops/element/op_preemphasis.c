/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `preemphasis`: a filter that lets high frequencies pass. */
#include "ops/element/audio_view.h"

struct preemphasis_opts {
    double coeff;
};

static const struct cw_opt options[] = {
    {.name = "coeff",
     .help = "the part of the sample before that is taken off",
     .type = CW_OPT_F64,
     .offset = offsetof(struct preemphasis_opts, coeff),
     .def = "0.97",
     .min = -1,
     .max = 1},
    {0},
};

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct preemphasis_opts *o = opts;
    const float coeff = (float)o->coeff;
    struct cw_waveform waveform;
    (void)state;
    (void)scratch;
    int rc = cw_waveform_get(in, &waveform, err);
    if (rc == 0)
        rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    const size_t step = (size_t)waveform.channels, n = (size_t)waveform.frames * step;
    float *dst = out->data;
    for (size_t i = 0; i < n; i++)
        dst[i] = i < step ? waveform.data[i] : waveform.data[i] - coeff * waveform.data[i - step];
    return 0;
}

const struct cw_op cw_op_preemphasis = {
    .name = "preemphasis",
    .version = 1,
    .summary = "waveforms with high frequencies emphasised",
    .doc =
        "Takes `coeff` times the sample before off each sample but the first, in each channel, as "
        "torchaudio.functional.preemphasis.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct preemphasis_opts),
    .accepts = cw_waveform_accepts,
    .infer_field = cw_waveform_infer,
    .apply_field = apply_field,
    .makes_nan = true,
    .facts = cw_audio_facts,
};
