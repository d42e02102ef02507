/* SPDX-License-Identifier: Apache-2.0 */
/* Waveforms and spectrograms out of views. */
#include "ops/element/audio_view.h"

#include <string.h>

bool cw_waveform_accepts(const struct cw_field *field)
{
    return field->dtype == CW_DTYPE_F32 && (field->rank == 1 || field->rank == 2);
}

static int check_channels(int64_t channels, struct cw_err *err)
{
    if (channels < 1 || channels > CW_WAVEFORM_CHANNELS_MAX)
        return cw_err_set(err, CW_E_INVALID, "a waveform of %lld channels: 1 to %d are possible",
                          (long long)channels, CW_WAVEFORM_CHANNELS_MAX);
    return 0;
}

int cw_waveform_infer(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                      struct cw_err *err)
{
    (void)opts;
    if (!cw_waveform_accepts(in))
        return cw_err_set(
            err, CW_E_INVALID,
            "field %s is %s of rank %d, not a waveform f32[frames] or f32[frames, channels]",
            in->name, cw_dtype_name(in->dtype), in->rank);
    *ret_field = *in;
    return in->rank == 2 && in->dims[1] >= 0 ? check_channels(in->dims[1], err) : 0;
}

int cw_waveform_get(const struct cw_view *view, struct cw_waveform *ret_waveform,
                    struct cw_err *err)
{
    if (view->dtype != CW_DTYPE_F32 || view->rank < 1 || view->rank > 2)
        return cw_err_set(err, CW_E_INVALID, "%s of rank %d is no waveform",
                          cw_dtype_name(view->dtype), view->rank);
    *ret_waveform = (struct cw_waveform){.data = view->data,
                                         .frames = view->dims[0],
                                         .channels = view->rank == 2 ? view->dims[1] : 1};
    return check_channels(ret_waveform->channels, err);
}

void cw_waveform_channel(const struct cw_waveform *waveform, int64_t channel, float *dst)
{
    const size_t n = (size_t)waveform->frames, step = (size_t)waveform->channels;
    if (n == 0)
        return;
    if (step == 1)
        memcpy(dst, waveform->data, n * sizeof(*dst));
    for (size_t i = 0; step > 1 && i < n; i++)
        dst[i] = waveform->data[i * step + (size_t)channel];
}

int cw_waveform_output(const struct cw_op_ctx *ctx, struct cw_view *out, int64_t frames,
                       struct cw_err *err)
{
    out->dims[0] = frames;
    return cw_op_output(ctx, out, err);
}

bool cw_spectrogram_accepts(const struct cw_field *field)
{
    return field->dtype == CW_DTYPE_F32 && field->rank >= 2;
}

int cw_spectrogram_infer(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                         struct cw_err *err)
{
    (void)opts;
    if (!cw_spectrogram_accepts(in))
        return cw_err_set(err, CW_E_INVALID,
                          "field %s is %s of rank %d, not a spectrogram f32[frequencies, time]",
                          in->name, cw_dtype_name(in->dtype), in->rank);
    *ret_field = *in;
    return 0;
}

int cw_spectrogram_get(const struct cw_view *view, struct cw_spectrogram *ret_spectrogram,
                       struct cw_err *err)
{
    if (view->dtype != CW_DTYPE_F32 || view->rank < 2)
        return cw_err_set(err, CW_E_INVALID, "%s of rank %d is no spectrogram",
                          cw_dtype_name(view->dtype), view->rank);
    *ret_spectrogram = (struct cw_spectrogram){.data = view->data,
                                               .planes = 1,
                                               .rows = view->dims[view->rank - 2],
                                               .columns = view->dims[view->rank - 1]};
    for (int i = 0; i < view->rank - 2; i++)
        ret_spectrogram->planes *= view->dims[i];
    return 0;
}

void cw_audio_facts(const void *opts, const struct cw_spec *in, const size_t *fields,
                    size_t fields_n, struct cw_op_facts *ret_facts)
{
    (void)opts;
    (void)in;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
    ret_facts->refuses = true;
}
