/* SPDX-License-Identifier: Apache-2.0 */
/* What operators on the boxes of an element have in common, which work on whole elements. */
#ifndef CW_OPS_ELEMENT_BOXES_OP_H
#define CW_OPS_ELEMENT_BOXES_OP_H

#include "ops/op.h"

/* INVALID if no boxes are named. */
int cw_boxes_op_check(const struct cw_motion_opts *o, struct cw_err *err);
/* Facts of an operator that changes rows of boxes and labels, and reads and writes nothing else. */
void cw_boxes_op_facts(const struct cw_motion_opts *o, const struct cw_spec *in,
                       struct cw_op_facts *ret_facts);

/* the boxes of an element */
struct cw_boxes_op {
    struct cw_motion_fields fields;
    size_t at; /* the field of the boxes */
    struct cw_motion_boxes boxes;
};
/* Finds them. INVALID if there is not one label a box. */
int cw_boxes_op_get(const struct cw_op_ctx *ctx, const struct cw_motion_opts *o,
                    const struct cw_element *element, struct cw_boxes_op *ret_boxes,
                    struct cw_err *err);

#endif
