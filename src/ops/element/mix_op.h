/* SPDX-License-Identifier: Apache-2.0 */
/* What mixup and cutmix have in common: they mix each row of a batch with the row before it (the first
 * with the last), in a share that is drawn once for the batch, and make labels shares of classes. */
#ifndef CW_OPS_ELEMENT_MIX_OP_H
#define CW_OPS_ELEMENT_MIX_OP_H

#include "ops/op.h"

struct cw_mix_op_opts {
    double alpha, p;
    int64_t classes;
    char *image, *label;
};
/* The rows of their options; `offset_` is that of the struct. */
#define CW_MIX_OP_ALPHA_ROW(offset_)                                                               \
    {                                                                                              \
        .name = "alpha", .help = "the share is drawn from the distribution Beta(alpha, alpha)",    \
        .type = CW_OPT_F64, .offset = (offset_) + offsetof(struct cw_mix_op_opts, alpha),          \
        .def = "1.0", .min = 0.01, .max = 1000                                                     \
    }
#define CW_MIX_OP_CLASSES_ROW(offset_)                                                             \
    {                                                                                              \
        .name = "classes", .help = "how many classes there are", .type = CW_OPT_I64,               \
        .offset = (offset_) + offsetof(struct cw_mix_op_opts, classes), .min = 1, .max = 1 << 24,  \
        .flags = CW_OPT_REQUIRED                                                                   \
    }
#define CW_MIX_OP_IMAGE_ROW(offset_)                                                               \
    {                                                                                              \
        .name = "image", .help = "the field that is mixed", .type = CW_OPT_STR,                    \
        .offset = (offset_) + offsetof(struct cw_mix_op_opts, image), .def = "\"image\""           \
    }
#define CW_MIX_OP_LABEL_ROW(offset_)                                                               \
    {                                                                                              \
        .name = "label", .help = "numbers of classes, or shares f32[?,classes], which it becomes", \
        .type = CW_OPT_STR, .offset = (offset_) + offsetof(struct cw_mix_op_opts, label),          \
        .def = "\"label\""                                                                         \
    }
#define CW_MIX_OP_P_ROW(offset_)                                                                   \
    {                                                                                              \
        .name = "p", .help = "how often; the rows of other batches are not mixed",                 \
        .type = CW_OPT_F64, .offset = (offset_) + offsetof(struct cw_mix_op_opts, p),              \
        .def = "1.0", .min = 0, .max = 1                                                           \
    }

/* Finds the two fields. INVALID if they are not what can be mixed; accepts: for the image, behind its
 * first dimension; what: that in words. */
int cw_mix_op_infer(const struct cw_mix_op_opts *o, const struct cw_spec *in,
                    bool (*accepts)(const struct cw_field *image), const char *what,
                    struct cw_spec *ret_spec, struct cw_err *err);
void cw_mix_op_facts(const struct cw_mix_op_opts *o, const struct cw_spec *in,
                     struct cw_op_facts *ret_facts);

/* a batch that is being mixed */
struct cw_mix_op {
    size_t image, label; /* numbers of the fields */
    int64_t rows;
    size_t row_bytes; /* of the image */
    double share;     /* of the row itself; the rest is that of the row before it; 1: not mixed */
};
/* Draws 0 (by p, whether rows are mixed) and 1 and on (the share). INVALID if image and label have not
 * the same number of rows. */
int cw_mix_op_begin(const struct cw_op_ctx *ctx, const struct cw_mix_op_opts *o,
                    const struct cw_element *element, struct cw_mix_op *ret_mix,
                    struct cw_err *err);
/* The first draw that belongs to the operator itself. */
#define CW_MIX_OP_DRAW 1000
/* Replaces the label by shares. INVALID for a number that is no class. */
int cw_mix_op_labels(const struct cw_op_ctx *ctx, const struct cw_mix_op_opts *o,
                     const struct cw_mix_op *mix, struct cw_element *element, struct cw_err *err);
/* The row that is mixed with row i. */
static inline int64_t cw_mix_op_other(const struct cw_mix_op *mix, int64_t i)
{
    return i > 0 ? i - 1 : mix->rows - 1;
}

#endif
