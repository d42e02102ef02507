/* SPDX-License-Identifier: Apache-2.0 */
/* What operators that move the pixels of u8 images by a matrix have in common. */
#ifndef CW_OPS_ELEMENT_WARP_OP_H
#define CW_OPS_ELEMENT_WARP_OP_H

#include "ops/element/u8_op.h"
#include "ops/kernels/warp.h"

struct cw_warp_op_opts {
    struct cw_i64_list fill;
    int interpolation;
};
/* names of the interpolations; the second is bilinear */
extern const char *const cw_warp_op_names[];

/* The rows of the two options; `offset_` is that of the struct. */
#define CW_WARP_OP_FILL_ROW(offset_)                                                               \
    {                                                                                              \
        .name = "fill", .help = "what lies outside of the image: one number, or one a channel",    \
        .type = CW_OPT_I64_LIST, .offset = (offset_) + offsetof(struct cw_warp_op_opts, fill),     \
        .def = "[0]", .min = 0, .max = 255, .len_min = 1, .len_max = CW_WARP_CHANNELS_MAX          \
    }
#define CW_WARP_OP_INTERPOLATION_ROW(offset_, def_)                                                \
    {                                                                                              \
        .name = "interpolation", .help = "how samples are found", .type = CW_OPT_ENUM,             \
        .offset = (offset_) + offsetof(struct cw_warp_op_opts, interpolation), .def = (def_),      \
        .names = cw_warp_op_names                                                                  \
    }

/* INVALID if there are fills of two channels. */
int cw_warp_op_check(const struct cw_warp_op_opts *o, struct cw_err *err);
/* The infer_field of these operators: as many fills as channels, or one. */
int cw_warp_op_infer(const struct cw_warp_op_opts *o, const struct cw_field *in,
                     struct cw_field *ret_field, struct cw_err *err);
/* Makes dst of src, both of the size of the image. INVALID if there is no fill for a channel. */
int cw_warp_op_run(const struct cw_warp_op_opts *o, const struct cw_u8_op_image *image,
                   const struct cw_warp_matrix *matrix, const uint8_t *src, uint8_t *dst,
                   struct cw_err *err);

#endif
