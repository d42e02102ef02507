/* SPDX-License-Identifier: Apache-2.0 */
/* What operators have in common that change the samples of each channel by its histogram. */
#ifndef CW_OPS_ELEMENT_HISTOGRAM_OP_H
#define CW_OPS_ELEMENT_HISTOGRAM_OP_H

#include "ops/element/u8_op.h"
#include "ops/kernels/tone.h"

/* Says what becomes of each sample of a channel. */
typedef void cw_histogram_op_fn(const struct cw_histogram *counts, uint8_t table[256]);

/* Makes dst, which may be src, of src; both have the size of the image. */
void cw_histogram_op_map(const struct cw_u8_op_image *image, cw_histogram_op_fn *make,
                         const uint8_t *src, uint8_t *dst);

struct cw_histogram_op_opts {
    double p;
};
extern const struct cw_opt cw_histogram_op_options[];
/* The apply_field and draws of such an operator. */
int cw_histogram_op_apply(const struct cw_op_ctx *ctx, const void *opts, cw_histogram_op_fn *make,
                          const struct cw_view *in, struct cw_view *out, struct cw_err *err);
bool cw_histogram_op_draws(const void *opts);

#endif
