/* SPDX-License-Identifier: Apache-2.0 */
/* How element operators are called. */
#ifndef CW_OPS_APPLY_FIELD_H
#define CW_OPS_APPLY_FIELD_H

#include "ops/op.h"

/* Calls apply_field, and gives NaNs that it makes their bits (makes_nan). */
int cw_op_apply_field(const struct cw_op *op, const struct cw_op_ctx *ctx, const void *opts,
                      void *state, void *scratch, const struct cw_view *in, struct cw_view *out,
                      struct cw_err *err);

/* An element operator that was opened, and how it is called. */
struct cw_op_callee {
    const struct cw_op *op;
    const void *opts;
    void *state, *scratch;
    const struct cw_motion_fields *moved; /* what moves with the images */
    /* Sets the slot of ctx for a field; of an operator that works on whole elements, for the first. NULL: results are
     * written anywhere. */
    void (*place)(const void *arg, struct cw_op_ctx *ctx, size_t field);
    const void *place_arg;
};
/* Applies it to an element: to each of ctx->fields, and to what moves with them, or to the whole element. Returns 1 if the
 * operator leaves the element out. *bytes grows by those of the fields that a fieldwise operator works on. */
int cw_op_apply(const struct cw_op_callee *callee, struct cw_op_ctx *ctx,
                struct cw_element *element, uint64_t *bytes, struct cw_err *err);

#endif
