/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over the values of an expression under way, which are doubles (expr/expr.h). */
#ifndef CW_OPS_KERNELS_EXPR_LOOPS_H
#define CW_OPS_KERNELS_EXPR_LOOPS_H

#include "base/compiler.h"

enum cw_expr_loop_sign { CW_EXPR_LOOP_ADD, CW_EXPR_LOOP_SUB, CW_EXPR_LOOP_MUL, CW_EXPR_LOOP_DIV };

/* An operand of arithmetic; step 0: its only value meets all of the other's. */
struct cw_expr_loop_operand {
    const double *v;
    size_t step;
};

/* The kernels expr_load and expr_store: f32 as doubles, and doubles rounded to f32, where a NaN gets the bits
 * of NAN (kernels/one_nan.h). Until then one NaN is as good as another. */
void cw_expr_loop_load_plain(double *dst, const float *src, size_t n);
void cw_expr_loop_load_avx2(double *dst, const float *src, size_t n);
void cw_expr_loop_store_plain(float *dst, const double *src, size_t n);
void cw_expr_loop_store_avx2(float *dst, const double *src, size_t n);
/* The kernel expr_round: each becomes the double that is its f32. */
void cw_expr_loop_round_plain(double *v, size_t n);
void cw_expr_loop_round_avx2(double *v, size_t n);
/* The kernel expr_log: each becomes cw_exact_log of it. */
void cw_expr_loop_log_plain(double *v, size_t n);
void cw_expr_loop_log_avx2(double *v, size_t n);
/* The kernel expr_arith; dst may be that of an operand. */
void cw_expr_loop_arith_plain(double *dst, struct cw_expr_loop_operand a,
                              struct cw_expr_loop_operand b, size_t n, enum cw_expr_loop_sign sign);
void cw_expr_loop_arith_avx2(double *dst, struct cw_expr_loop_operand a,
                             struct cw_expr_loop_operand b, size_t n, enum cw_expr_loop_sign sign);

#endif
