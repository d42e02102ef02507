/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions over the numeric fields of an element, for `eval` and `filter`. Parsed once to
 * postfix steps (parse.c), typed once for a spec (bind.c), evaluated for each element (eval.c).
 *
 * dtypes: bool; integers of any width compute as i64 (wrapping); f16 and f32 compute as f32, f64
 * as f64. Where integers become floats (by /, by a fractional number, by sqrt exp log), they
 * become f32 if the fields they come from have at most 16 bits, else f64; numbers in the text
 * adapt to what they meet. Shapes: scalars meet anything; other operands must have equal shapes. */
#ifndef CW_OPS_EXPR_EXPR_H
#define CW_OPS_EXPR_EXPR_H

#include "ops/op.h"

#define CW_EXPR_TEXT_MAX 4096
#define CW_EXPR_STEPS_MAX 256
#define CW_EXPR_DEPTH_MAX 64

enum cw_expr_code {
    CW_EXPR_NUMBER, /* a literal, or a constant's name once bound */
    CW_EXPR_NAME,
    CW_EXPR_ADD,
    CW_EXPR_SUB,
    CW_EXPR_MUL,
    CW_EXPR_DIV,
    CW_EXPR_MOD,
    CW_EXPR_POW,
    CW_EXPR_MIN,
    CW_EXPR_MAX,
    CW_EXPR_LT,
    CW_EXPR_LE,
    CW_EXPR_GT,
    CW_EXPR_GE,
    CW_EXPR_EQ,
    CW_EXPR_NE,
    CW_EXPR_AND,
    CW_EXPR_OR,
    CW_EXPR_NOT, /* from here on one operand */
    CW_EXPR_NEG,
    CW_EXPR_ABS,
    CW_EXPR_SQRT,
    CW_EXPR_EXP,
    CW_EXPR_LOG,
    CW_EXPR_FLOOR,
    CW_EXPR_CEIL,
    CW_EXPR_ROUND
};
/* How a value is held while it is computed: BOOL and I64 as int64_t, F32 and F64 as double (F32
 * rounded to float after each step, which for + - * / and sqrt is float arithmetic exactly). */
enum cw_expr_type { CW_EXPR_BOOL, CW_EXPR_I64, CW_EXPR_F32, CW_EXPR_F64 };

struct cw_expr_step {
    enum cw_expr_code code;
    size_t column; /* in the text, from 1 */
    char name[CW_FIELD_NAME_BYTES];
    bool is_float; /* NUMBER */
    int64_t i;
    double f;
    /* set by bind */
    size_t field;               /* NAME */
    enum cw_expr_type type;     /* of the result */
    enum cw_expr_type operands; /* what both operands are converted to first */
    bool scalar;
    bool weak;  /* made of numbers in the text only */
    bool small; /* integers from fields of at most 16 bits */
};
struct cw_expr {
    size_t n;
    size_t stack_n; /* deepest stack of values */
    struct cw_expr_step steps[CW_EXPR_STEPS_MAX];
    /* set by bind */
    struct cw_field result;    /* dtype, rank, dims; no name */
    bool reads[CW_FIELDS_MAX]; /* fields that it names */
};

/* Messages say the column. The caller frees. */
int cw_expr_parse(const char *text, struct cw_expr **ret_expr, struct cw_err *err);
void cw_expr_free(struct cw_expr *expr);
/* Finds fields and dtypes; `x` is the only field of a spec with one field. Once for an expr. */
int cw_expr_bind(struct cw_expr *expr, const struct cw_spec *in, struct cw_err *err);
/* Of a bound one. ret_view: the result, in the element's memory. */
int cw_expr_eval(const struct cw_expr *expr, const struct cw_op_ctx *ctx,
                 const struct cw_element *element, struct cw_view *ret_view, struct cw_err *err);

#endif
