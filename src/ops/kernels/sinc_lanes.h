/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of sinc.h (kernels/lanes.h). A sum has one part a lane; the parts are added in one order. */
#include "ops/kernels/lanes.h"
#include "ops/kernels/sinc.h"

CW_LANES_FN float sum_of(const float *x, const float *weights, size_t taps)
{
    cw_lanes_f32 sum = {0}, v, w;
    for (size_t k = 0; k < taps; k += CW_LANES) {
        CW_LANES_LOAD(v, x + k);
        CW_LANES_LOAD(w, weights + k);
        sum += v * w;
    }
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

CW_LANES_TARGET void CW_LANES_NAME(cw_sinc_run)(const struct cw_sinc_job *job)
{
    const struct cw_sinc *sinc = job->sinc;
    const float *x = job->x;
    float *dst = job->dst;
    size_t place = 0;
    for (size_t i = 0; i < job->n; i++, dst += job->step) {
        *dst = sum_of(x + sinc->first[place], sinc->weights + place * sinc->taps, sinc->taps);
        if (++place == sinc->to) {
            place = 0;
            x += sinc->from;
        }
    }
}
