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

/* The row of a range of angles, and its two ends: one number d stands for -d and d. */
#define CW_WARP_OP_DEGREES_ROW(offset_)                                                            \
    {                                                                                              \
        .name = "degrees",                                                                         \
        .help = "least and greatest angle, counter-clockwise; one number d: from -d to d",         \
        .type = CW_OPT_F64_LIST, .offset = (offset_), .min = -360, .max = 360,                     \
        .flags = CW_OPT_REQUIRED, .len_min = 1, .len_max = 2                                       \
    }
double cw_warp_op_low(const struct cw_f64_list *range);
double cw_warp_op_high(const struct cw_f64_list *range);
/* INVALID if a range ends before it begins. */
int cw_warp_op_check_range(const char *name, double lo, double hi, struct cw_err *err);

/* INVALID if there are fills of two channels. */
int cw_warp_op_check(const struct cw_warp_op_opts *o, struct cw_err *err);
/* INVALID if the fills are not as many as the channels of an image, or one. */
int cw_warp_op_check_fill(const struct cw_warp_op_opts *o, int64_t channels, struct cw_err *err);
/* The infer_field of these operators: as many fills as channels, or one. */
int cw_warp_op_infer(const struct cw_warp_op_opts *o, const struct cw_field *in,
                     struct cw_field *ret_field, struct cw_err *err);
/* Sets the motion of pixels that are moved by a matrix. Returns 1, everything stays, if the matrix
 * has no inverse. */
int cw_warp_op_motion(const struct cw_warp_matrix *matrix, struct cw_motion *motion);
/* The options for a mask: nothing is mixed, and 0 lies outside. */
extern const struct cw_warp_op_opts cw_warp_op_mask_opts;
/* Makes dst of src, both of the size of the image. INVALID if there is no fill for a channel. */
int cw_warp_op_run(const struct cw_warp_op_opts *o, const struct cw_u8_op_image *image,
                   const struct cw_warp_matrix *matrix, const uint8_t *src, uint8_t *dst,
                   struct cw_err *err);

#endif
