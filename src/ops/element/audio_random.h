/* SPDX-License-Identifier: Apache-2.0 */
/* What random operators on audio have in common: how often they work, and numbers that are drawn
 * from a range. */
#ifndef CW_OPS_ELEMENT_AUDIO_RANDOM_H
#define CW_OPS_ELEMENT_AUDIO_RANDOM_H

#include "ops/op.h"

/* The row of the option `p`: draw 0 says whether an element is changed. */
#define CW_AUDIO_P_ROW(offset_)                                                                    \
    {                                                                                              \
        .name = "p", .help = "how often; other elements stay as they are", .type = CW_OPT_F64,     \
        .offset = (offset_), .def = "1.0", .min = 0, .max = 1                                      \
    }
#define CW_AUDIO_P_DRAW 0

/* Whether this element stays as it is. Nothing is drawn for p of 0 and 1. */
bool cw_audio_skips(const struct cw_op_ctx *ctx, double p);
/* Whether an operator with this p draws whether it works. */
bool cw_audio_draws_p(double p);

/* A range is a list of one number, or of the least and the greatest, between which one is drawn.
 * INVALID if they are not in order. */
int cw_audio_check_range(const char *option, const struct cw_f64_list *range, struct cw_err *err);
bool cw_audio_draws_range(const struct cw_f64_list *range);
double cw_audio_draw_range(const struct cw_op_ctx *ctx, uint32_t draw,
                           const struct cw_f64_list *range);

#endif
