/* SPDX-License-Identifier: Apache-2.0 */
/* Waveforms at another sample rate, for `resample` and `speed`: the filters for the rates that a thread
 * has seen last are kept. */
#ifndef CW_OPS_ELEMENT_WAVEFORM_RESAMPLE_H
#define CW_OPS_ELEMENT_WAVEFORM_RESAMPLE_H

#include "ops/element/audio_view.h"
#include "ops/kernels/sinc.h"

struct cw_waveform_resampler;
struct cw_waveform_resampler *cw_waveform_resampler_new(void) CW_MUST_CHECK;
void cw_waveform_resampler_free(struct cw_waveform_resampler *resampler);
/* Replaces *view, which is that of the waveform, by the waveform at design->to samples a second. All calls
 * for one resampler have designs that differ in their rates only. */
int cw_waveform_resample(struct cw_waveform_resampler *resampler, const struct cw_op_ctx *ctx,
                         const struct cw_sinc_design *design, const struct cw_waveform *waveform,
                         struct cw_view *view, struct cw_err *err);

#endif
