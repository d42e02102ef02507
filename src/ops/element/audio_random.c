/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/element/audio_random.h"

bool cw_audio_draws_p(double p)
{
    return p > 0 && p < 1;
}

bool cw_audio_skips(const struct cw_op_ctx *ctx, double p)
{
    return !(p > 0) || (p < 1 && cw_rng_unit(&ctx->rng, CW_AUDIO_P_DRAW) >= p);
}

int cw_audio_check_range(const char *option, const struct cw_f64_list *range, struct cw_err *err)
{
    if (range->n == 2 && range->v[0] > range->v[1])
        return cw_err_set(err, CW_E_INVALID, "option %s: %g is greater than %g", option,
                          range->v[0], range->v[1]);
    return 0;
}

bool cw_audio_draws_range(const struct cw_f64_list *range)
{
    return range->n == 2 && range->v[0] < range->v[1];
}

double cw_audio_draw_range(const struct cw_op_ctx *ctx, uint32_t draw,
                           const struct cw_f64_list *range)
{
    return cw_audio_draws_range(range) ? cw_rng_range(&ctx->rng, draw, range->v[0], range->v[1])
                                       : range->v[0];
}
