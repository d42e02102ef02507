/* SPDX-License-Identifier: Apache-2.0 */
/* Which values an expression cannot be computed of. */
#include "ops/expr/expr.h"

/* An integer may be divided by 0, or raised to a negative power, unless a number in the text says that
 * not. Postfix: the step before is the right operand if that is one number. */
static bool step_refuses(const struct cw_expr_step *steps, size_t i)
{
    const struct cw_expr_step *step = &steps[i], *right = &steps[i - 1];
    bool is_integer = step->operands == CW_EXPR_I64 || step->operands == CW_EXPR_BOOL;
    bool is_number = i > 0 && right->code == CW_EXPR_NUMBER && !right->is_float;

    if (!is_integer)
        return false;
    return (step->code == CW_EXPR_MOD && !(is_number && right->i != 0)) ||
           (step->code == CW_EXPR_POW && !(is_number && right->i >= 0));
}

bool cw_expr_refuses_values(const struct cw_expr *expr)
{
    bool refuses = false;
    for (size_t i = 1; i < expr->n; i++)
        refuses |= step_refuses(expr->steps, i);
    return refuses;
}
