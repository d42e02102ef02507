/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over values of expressions in plain C. */
#include "ops/kernels/exact_math.h"
#include "ops/kernels/expr_loops.h"
#include "ops/kernels/one_nan.h"

void cw_expr_loop_load_plain(double *dst, const float *src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (double)src[i];
}

void cw_expr_loop_store_plain(float *dst, const double *src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)cw_one_nan(src[i]);
}

void cw_expr_loop_round_plain(double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = (double)(float)v[i];
}

void cw_expr_loop_log_plain(double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = cw_exact_log(v[i]);
}

void cw_expr_loop_arith_plain(double *dst, struct cw_expr_loop_operand a,
                              struct cw_expr_loop_operand b, size_t n, enum cw_expr_loop_sign sign)
{
    const double first_a = n ? a.v[0] : 0, first_b = n ? b.v[0] : 0;
/* dst[0] may be the only value of an operand */
#define EACH(expression)                                                                           \
    for (size_t i = 0; i < n; i++) {                                                               \
        const double p = a.step ? a.v[i] : first_a, q = b.step ? b.v[i] : first_b;                 \
        dst[i] = (expression);                                                                     \
    }                                                                                              \
    break
    switch (sign) {
    case CW_EXPR_LOOP_ADD:
        EACH(p + q);
    case CW_EXPR_LOOP_SUB:
        EACH(p - q);
    case CW_EXPR_LOOP_MUL:
        EACH(p * q);
    case CW_EXPR_LOOP_DIV:
        EACH(p / q);
    }
#undef EACH
}
