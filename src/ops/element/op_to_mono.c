/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `to_mono`: the mean of a waveform's channels. */
#include "ops/element/audio_view.h"

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const int rc = cw_waveform_infer(opts, in, ret_field, err);
    if (rc == 0)
        ret_field->rank = 1;
    return rc;
}

static void mean_of(const struct cw_waveform *waveform, float *dst)
{
    const size_t channels = (size_t)waveform->channels;
    const float *src = waveform->data;
    for (int64_t i = 0; i < waveform->frames; i++, src += channels) {
        float sum = src[0];
        for (size_t c = 1; c < channels; c++)
            sum += src[c];
        dst[i] = sum / (float)channels;
    }
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    struct cw_waveform waveform;
    (void)opts;
    (void)state;
    (void)scratch;
    int rc = cw_waveform_get(in, &waveform, err);
    if (rc < 0)
        return rc;
    out->rank = 1;
    if (waveform.channels == 1) {
        out->dims[0] = waveform.frames; /* the same numbers */
        return 0;
    }
    rc = cw_op_output(ctx, out, err);
    if (rc == 0)
        mean_of(&waveform, out->data);
    return rc;
}

const struct cw_op cw_op_to_mono = {
    .name = "to_mono",
    .version = 1,
    .summary = "the mean of a waveform's channels",
    .doc =
        "f32[frames, channels] becomes f32[frames]: the sum of the channels, from the first to the "
        "last, divided by their number, as\n"
        "librosa.to_mono. A waveform f32[frames] stays as it is.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_SHRINK | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .accepts = cw_waveform_accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .makes_nan = true,
    .facts = cw_audio_facts,
};
