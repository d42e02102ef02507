/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions over the numeric fields of an element, for the operators `eval` and `filter`. An
 * expression is parsed once to postfix steps (parse.c), given types once for a spec (bind.c), and
 * evaluated for each element (expr_eval.c).
 *
 * dtypes: bool; integers of any width compute as i64 (wrapping); f16 and f32 compute as f32, f64 as
 * f64. Where integers become floats (by /, by a fractional number, by sqrt exp log), they become
 * f32 if the fields they come from have at most 16 bits, otherwise f64; numbers in the text take
 * the type of the other operand. Shapes: a scalar can be combined with anything; other operands
 * must have equal shapes. */
#ifndef CW_OPS_EXPR_EXPR_H
#define CW_OPS_EXPR_EXPR_H

#include "ops/op.h"

#define CW_EXPR_TEXT_MAX 4096
#define CW_EXPR_STEPS_MAX 256
#define CW_EXPR_DEPTH_MAX 64

enum cw_expr_code {
    CW_EXPR_NUMBER, /* a literal, or the name of a constant once it is bound */
    CW_EXPR_NAME,
    CW_EXPR_WHERE, /* three operands */
    CW_EXPR_ADD,   /* the steps from here on have two */
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
    CW_EXPR_ATAN2,
    CW_EXPR_NOT, /* the steps from here on have one operand */
    CW_EXPR_NEG,
    CW_EXPR_ABS,
    CW_EXPR_SQRT,
    CW_EXPR_EXP,
    CW_EXPR_LOG,
    CW_EXPR_FLOOR,
    CW_EXPR_CEIL,
    CW_EXPR_ROUND,
    CW_EXPR_LOG2,
    CW_EXPR_SIN,
    CW_EXPR_COS,
    CW_EXPR_TAN,
    CW_EXPR_ISNAN,
    CW_EXPR_ISFINITE
};
/* The type in which a value is computed. BOOL and I64 are held as int64_t, F32 and F64 as double
 * (an F32 is rounded to float after each step, which for + - * / and sqrt gives exactly the results
 * of float arithmetic). */
enum cw_expr_type { CW_EXPR_BOOL, CW_EXPR_I64, CW_EXPR_F32, CW_EXPR_F64 };

#define CW_EXPR_PARTS_MAX 32
/* One place of x[...]. */
struct cw_expr_index {
    enum { CW_EXPR_INDEX_AT, CW_EXPR_INDEX_RANGE, CW_EXPR_INDEX_REST } kind;
    bool has_begin, has_end;
    int64_t begin, end; /* AT: begin is the place; below 0: from the back */
};
struct cw_expr_part {
    size_t n;
    bool has_rest; /* one of them is `...` */
    struct cw_expr_index v[CW_RANK_MAX + 1];
    struct cw_field field; /* set by cw_expr_bind: what the part is */
};

struct cw_expr_step {
    enum cw_expr_code code;
    size_t column; /* column in the text, from 1, for messages */
    char name[CW_FIELD_NAME_BYTES];
    size_t part;    /* for NAME: number of the part of the field in `parts`, from 1; 0: all of it */
    bool is_length; /* for NAME: len(name) */
    bool is_float;  /* for NUMBER */
    int64_t i;
    double f;
    /* The fields below are set by cw_expr_bind. */
    size_t field;               /* for NAME: index of the field */
    enum cw_expr_type type;     /* type of the result */
    enum cw_expr_type operands; /* type to which both operands are converted first */
    bool scalar;
    bool weak;  /* it consists of numbers in the text only, so its type can adapt */
    bool small; /* its integers come from fields of at most 16 bits */
};
struct cw_expr {
    size_t n;
    size_t stack_n; /* height that the stack of values reaches */
    struct cw_expr_step steps[CW_EXPR_STEPS_MAX];
    /* Parts and lengths of fields. */
    size_t parts_n;
    struct cw_expr_part parts[CW_EXPR_PARTS_MAX];
    /* The fields below are set by cw_expr_bind. */
    struct cw_field result;    /* dtype, rank and dims of the result; no name */
    bool reads[CW_FIELDS_MAX]; /* for each field whether the expression names it */
};

/* Parses a text; the caller frees the expression. Error messages contain the column. */
int cw_expr_parse(const char *text, struct cw_expr **ret_expr, struct cw_err *err);
void cw_expr_free(struct cw_expr *expr);
/* Finds the fields and dtypes; `x` stands for the only field of a spec with one field. Called once
 * for an expression. */
int cw_expr_bind(struct cw_expr *expr, const struct cw_spec *in, struct cw_err *err);
/* Whether a bound expression cannot be computed of some values: a remainder by 0, a negative power. */
bool cw_expr_refuses_values(const struct cw_expr *expr);
/* Evaluates an expression that was bound. *ret_view receives the result, in the element's
 * memory. */
int cw_expr_eval(const struct cw_expr *expr, const struct cw_op_ctx *ctx,
                 const struct cw_element *element, struct cw_view *ret_view, struct cw_err *err);

#endif
