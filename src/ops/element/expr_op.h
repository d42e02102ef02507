/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of the operators `eval` and `filter`. The text of the expression is checked
 * together with the options; each thread binds its own copy to the spec when its first element
 * comes. */
#ifndef CW_OPS_ELEMENT_EXPR_OP_H
#define CW_OPS_ELEMENT_EXPR_OP_H

#include "ops/expr/expr.h"

/* Parses an expression and binds it to a spec; the caller frees it. */
int cw_expr_op_compile(const char *text, const struct cw_spec *in, struct cw_expr **ret_expr,
                       struct cw_err *err);

struct cw_expr_op_scratch {
    struct cw_expr *expr; /* NULL before the first element */
};
void *cw_expr_op_scratch_new(const void *opts, void *state);
void cw_expr_op_scratch_free(void *scratch);
/* Evaluates the expression for this element. */
int cw_expr_op_value(struct cw_expr_op_scratch *scratch, const char *text,
                     const struct cw_op_ctx *ctx, const struct cw_element *element,
                     struct cw_view *ret_view, struct cw_err *err);

/* Sets what is so of `eval` and `filter`, for an expression that is bound to the spec: the fields that
 * are read, and whether an element may be refused. */
void cw_expr_op_facts(const struct cw_expr *expr, const struct cw_spec *in,
                      struct cw_op_facts *ret_facts);
/* Adds the names in an expression (ops/op_names.h), also those that turn out to be constants. Returns false
 * if it cannot be parsed. */
bool cw_expr_op_names(const char *text, struct cw_op_names *names);
/* Writes the expression so that it means the same for every spec that has the fields that it reads: `x` is
 * replaced by the name of the only field, and `pi`, `true` and `false`, which would be fields if there
 * were some of these names, by numbers. Returns false if that cannot be written. */
bool cw_expr_op_pin(const char *text, const struct cw_spec *in, struct cw_value *ret_text);
/* Returns the only field of rank above 0 that the expression reads, or if there is none the only field
 * that it reads; in->n: there are several, or parts of fields are read. All others are scalars then. */
size_t cw_expr_op_main_field(const struct cw_expr *expr, const struct cw_spec *in);

#endif
