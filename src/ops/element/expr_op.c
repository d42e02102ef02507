/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles and evaluates the expression of `eval` and `filter`. */
#include "ops/element/expr_op.h"

#include "base/mem.h"

int cw_expr_op_compile(const char *text, const struct cw_spec *in, struct cw_expr **ret_expr,
                       struct cw_err *err)
{
    struct cw_expr *expr;
    int rc = cw_expr_parse(text, &expr, err);
    if (rc < 0)
        return rc;
    rc = cw_expr_bind(expr, in, err);
    if (rc < 0)
        cw_expr_free(expr);
    else
        *ret_expr = expr;
    return rc;
}

void *cw_expr_op_scratch_new(const void *opts, void *state)
{
    (void)opts;
    (void)state;
    return CW_NEW(struct cw_expr_op_scratch);
}

void cw_expr_op_scratch_free(void *scratch)
{
    struct cw_expr_op_scratch *s = scratch;
    if (s)
        cw_expr_free(s->expr);
    cw_mem_free(s);
}

int cw_expr_op_value(struct cw_expr_op_scratch *scratch, const char *text,
                     const struct cw_op_ctx *ctx, const struct cw_element *element,
                     struct cw_view *ret_view, struct cw_err *err)
{
    if (!scratch->expr) {
        int rc = cw_expr_op_compile(text, ctx->in, &scratch->expr, err);
        if (rc < 0)
            return rc;
    }
    return cw_expr_eval(scratch->expr, ctx, element, ret_view, err);
}
