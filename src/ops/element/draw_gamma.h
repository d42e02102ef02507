/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers of the gamma distribution, of which shares are made (mixup, augmix). */
#ifndef CW_OPS_ELEMENT_DRAW_GAMMA_H
#define CW_OPS_ELEMENT_DRAW_GAMMA_H

#include "ops/op.h"

/* The logarithm of a number of the distribution Gamma(shape), shape > 0. It takes draws from `draw` on, 193 at most. */
double cw_draw_log_gamma(const struct cw_op_ctx *ctx, double shape, uint32_t draw);

#endif
