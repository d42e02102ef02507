/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/element/waveform_resample.h"

#include <string.h>
#include "base/mem.h"

#define KEPT 4
struct cw_waveform_resampler {
    struct {
        int64_t from, to; /* 0: none */
        struct cw_sinc sinc;
    } kept[KEPT];
    size_t next; /* the one that makes way */
};

struct cw_waveform_resampler *cw_waveform_resampler_new(void)
{
    return CW_NEW(struct cw_waveform_resampler);
}

void cw_waveform_resampler_free(struct cw_waveform_resampler *resampler)
{
    for (size_t i = 0; resampler && i < KEPT; i++)
        cw_sinc_fini(&resampler->kept[i].sinc);
    cw_mem_free(resampler);
}

static int find_sinc(struct cw_waveform_resampler *resampler, const struct cw_sinc_design *design,
                     const struct cw_sinc **ret_sinc, struct cw_err *err)
{
    for (size_t i = 0; i < KEPT; i++)
        if (resampler->kept[i].from == design->from && resampler->kept[i].to == design->to) {
            *ret_sinc = &resampler->kept[i].sinc;
            return 0;
        }
    struct cw_sinc sinc;
    const int rc = cw_sinc_init(&sinc, design, err);
    if (rc < 0)
        return rc;
    const size_t at = resampler->next;
    resampler->next = (at + 1) % KEPT;
    cw_sinc_fini(&resampler->kept[at].sinc);
    resampler->kept[at].from = design->from;
    resampler->kept[at].to = design->to;
    resampler->kept[at].sinc = sinc;
    *ret_sinc = &resampler->kept[at].sinc;
    return 0;
}

static void run_channels(const struct cw_sinc *sinc, const struct cw_waveform *waveform, float *x,
                         float *dst, int64_t length)
{
    const size_t n = (size_t)waveform->frames, padded = cw_sinc_padded(sinc, n);
    memset(x, 0, sinc->before * sizeof(*x));
    memset(x + sinc->before + n, 0, (padded - sinc->before - n) * sizeof(*x));
    for (int64_t c = 0; c < waveform->channels; c++) {
        cw_waveform_channel(waveform, c, x + sinc->before);
        const struct cw_sinc_job job = {.sinc = sinc,
                                        .x = x,
                                        .dst = dst + c,
                                        .n = (size_t)length,
                                        .step = (size_t)waveform->channels};
        cw_sinc_run(&job);
    }
}

int cw_waveform_resample(struct cw_waveform_resampler *resampler, const struct cw_op_ctx *ctx,
                         const struct cw_sinc_design *design, const struct cw_waveform *waveform,
                         struct cw_view *view, struct cw_err *err)
{
    const struct cw_sinc *sinc = NULL;
    int rc = find_sinc(resampler, design, &sinc, err);
    if (rc < 0)
        return rc;
    const int64_t length = cw_sinc_length(sinc, waveform->frames);
    if (length < 0)
        return cw_err_set(err, CW_E_LIMIT, "a waveform of %lld samples is too long",
                          (long long)waveform->frames);
    const size_t padded = cw_sinc_padded(sinc, (size_t)waveform->frames);
    float *x = cw_op_scratch(ctx, padded * sizeof(*x), err);
    struct cw_view out = *view;
    rc = x ? cw_waveform_output(ctx, &out, length, err) : CW_E_NOMEM;
    if (rc < 0)
        return rc;
    run_channels(sinc, waveform, x, out.data, length);
    *view = out;
    return 0;
}
