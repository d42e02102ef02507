/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/element/draw_gamma.h"

#include <math.h>
#include "ops/kernels/exact_math.h"

#define PI 3.14159265358979323846

static double positive(const struct cw_op_ctx *ctx, uint32_t draw)
{
    return 1 - cw_rng_unit(&ctx->rng, draw); /* in (0, 1] */
}

/* The logarithm of a number of the distribution Gamma(shape), shape >= 1: Marsaglia and Tsang, "A
 * simple method for generating gamma variables", 2000. A try is accepted with more than 0.95. */
static double log_gamma_from_1(const struct cw_op_ctx *ctx, double shape, uint32_t draw)
{
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (uint32_t i = 0; i < 64; i++, draw += 3) {
        const double r = sqrt(-2 * cw_exact_log(positive(ctx, draw)));
        const double x = r * cw_exact_cos(2 * PI * cw_rng_unit(&ctx->rng, draw + 1));
        const double root = 1 + c * x, v = root * root * root;
        if (root > 0 &&
            cw_exact_log(positive(ctx, draw + 2)) < 0.5 * x * x + d - d * v + d * cw_exact_log(v))
            return cw_exact_log(d * v);
    }
    return cw_exact_log(d);
}

double cw_draw_log_gamma(const struct cw_op_ctx *ctx, double shape, uint32_t draw)
{
    if (shape >= 1)
        return log_gamma_from_1(ctx, shape, draw + 1);
    return log_gamma_from_1(ctx, shape + 1, draw + 1) + cw_exact_log(positive(ctx, draw)) / shape;
}
