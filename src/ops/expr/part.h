/* SPDX-License-Identifier: Apache-2.0 */
/* Parts and lengths of fields in expressions. */
#ifndef CW_OPS_EXPR_PART_H
#define CW_OPS_EXPR_PART_H

#include "ops/expr/expr.h"
#include "ops/kernels/num.h"

/* The field that a part of a field is; dims that are not known stay so. INVALID: there is no such
 * part. */
int cw_expr_part_infer(const struct cw_expr_part *part, const struct cw_field *field,
                       struct cw_field *ret_field, struct cw_err *err);
/* The part of a view; the data lie in the element's memory, or are those of the view. */
int cw_expr_part_take(const struct cw_expr_part *part, const struct cw_op_ctx *ctx,
                      const struct cw_view *view, struct cw_view *ret_view, struct cw_err *err);

/* The same for len(field): the first dim of a tensor, the bytes of a str, those of each in a batch of
 * strings. */
int cw_expr_length_infer(const struct cw_field *field, struct cw_field *ret_field,
                         struct cw_err *err);
int cw_expr_length_take(const struct cw_op_ctx *ctx, const struct cw_view *view,
                        struct cw_view *ret_view, struct cw_err *err);

/* Finds what each step that is a name stands for: a field, a part of it, or its length. views has a
 * place for each step. */
int cw_expr_find_views(const struct cw_expr *expr, const struct cw_op_ctx *ctx,
                       const struct cw_element *element, const struct cw_view **views,
                       struct cw_err *err);

#endif
