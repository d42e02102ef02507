/* SPDX-License-Identifier: Apache-2.0 */
/* What operators on u8 images have in common: how often they work, their fields, and their result. */
#ifndef CW_OPS_ELEMENT_U8_OP_H
#define CW_OPS_ELEMENT_U8_OP_H

#include "ops/element/image_view.h"

/* The row of the option `p`: draw 0 says whether an element is changed. */
#define CW_U8_P_ROW(offset_, def_)                                                                 \
    {                                                                                              \
        .name = "p", .help = "how often; other elements stay as they are", .type = CW_OPT_F64,     \
        .offset = (offset_), .def = (def_), .min = 0, .max = 1                                     \
    }
#define CW_U8_P_DRAW 0

/* Whether this element stays as it is. Nothing is drawn for p of 0 and 1. */
bool cw_u8_op_skips(const struct cw_op_ctx *ctx, double p);
/* Whether an operator with this p draws whether it works. */
bool cw_u8_op_draws_p(double p);

/* The infer_field of operators that change u8 samples and no shape. */
int cw_u8_op_infer(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                   struct cw_err *err);
/* The infer_field of those for images of one channel (grey) or three (RGB). */
int cw_u8_op_infer_colours(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                           struct cw_err *err);
/* facts for a change of each sample by itself */
void cw_u8_op_facts_each(double p, const size_t *fields, size_t fields_n,
                         struct cw_op_facts *ret_facts);
/* facts for a change that depends on all samples */
void cw_u8_op_facts_other(const void *opts, const struct cw_spec *in, const size_t *fields,
                          size_t fields_n, struct cw_op_facts *ret_facts);

/* an image that is being changed */
struct cw_u8_op_image {
    const uint8_t *src;
    uint8_t *dst;
    size_t h, w, pixels, channels;
};
/* Makes the result, of the size of *in, and says where both lie. INVALID if the image has no pixels
 * or neither one channel nor three. */
int cw_u8_op_begin(const struct cw_op_ctx *ctx, const struct cw_view *in, struct cw_view *out,
                   struct cw_u8_op_image *ret_image, struct cw_err *err);

#endif
