/* SPDX-License-Identifier: Apache-2.0 */
/* Audio as operators see it: waveforms f32[frames] or f32[frames, channels], and spectrograms
 * f32[..., frequencies, time], as torchaudio has them. */
#ifndef CW_OPS_ELEMENT_AUDIO_VIEW_H
#define CW_OPS_ELEMENT_AUDIO_VIEW_H

#include "ops/op.h"

struct cw_waveform {
    const float *data; /* frame by frame */
    int64_t frames, channels;
};
#define CW_WAVEFORM_CHANNELS_MAX 256

struct cw_spectrogram {
    const float *data;
    int64_t planes, rows, columns; /* frequencies are rows, times columns */
};

bool cw_waveform_accepts(const struct cw_field *field);
/* INVALID if elements of the field are no waveforms; copies the field otherwise. It is an infer_field. */
int cw_waveform_infer(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                      struct cw_err *err);
/* INVALID if the view is no waveform, or has no channel or too many. It may have no frames. */
int cw_waveform_get(const struct cw_view *view, struct cw_waveform *ret_waveform,
                    struct cw_err *err);
/* Copies one channel. */
void cw_waveform_channel(const struct cw_waveform *waveform, int64_t channel, float *dst);
/* Makes *out a waveform of so many frames, with the channels that it has on entry. */
int cw_waveform_output(const struct cw_op_ctx *ctx, struct cw_view *out, int64_t frames,
                       struct cw_err *err);

bool cw_spectrogram_accepts(const struct cw_field *field);
/* The same for spectrograms. */
int cw_spectrogram_infer(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                         struct cw_err *err);
int cw_spectrogram_get(const struct cw_view *view, struct cw_spectrogram *ret_spectrogram,
                       struct cw_err *err);

/* facts of operators on both: the values of these fields become others, and an element may be refused */
void cw_audio_facts(const void *opts, const struct cw_spec *in, const size_t *fields,
                    size_t fields_n, struct cw_op_facts *ret_facts);

#endif
