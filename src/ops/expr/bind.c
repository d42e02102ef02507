/* SPDX-License-Identifier: Apache-2.0 */
/* Binds an expression to a spec: names become fields or constants, and each step gets its type, by
 * running the steps over types instead of values. */
#include "ops/expr/part.h"

#include <math.h>
#include <string.h>

struct binder {
    struct cw_expr *expr;
    const struct cw_spec *in;
    struct cw_err *err;
    const struct cw_field *shape; /* the first field that is not a scalar; NULL: none so far */
};

static int field_list(const struct binder *b, const struct cw_expr_step *step)
{
    const char *names[CW_FIELDS_MAX + 1] = {NULL};
    CW_STR_AUTO list = {0};
    for (size_t i = 0; i < b->in->n; i++) {
        names[i] = b->in->fields[i].name;
        cw_str_addf(&list, "%s%s", i ? ", " : "", names[i]);
    }
    const char *near = cw_str_nearest(step->name, names);
    return cw_err_set(b->err, CW_E_INVALID,
                      "option expr: column %zu: no field \"%s\"%s%s%s (there are: %s)",
                      step->column, step->name, near ? "; did you mean \"" : "", near ? near : "",
                      near ? "\"?" : "", cw_str_text(&list));
}

/* Makes a constant of a word that is not a field. Returns false if there is no such constant. */
static bool constant(struct cw_expr_step *step)
{
    static const struct {
        const char *name;
        bool is_float;
        double f;
    } constants[] = {{"true", false, 1},
                     {"false", false, 0},
                     {"pi", true, 3.14159265358979323846},
                     {"inf", true, (double)INFINITY},
                     {"nan", true, (double)NAN}};
    for (size_t i = 0; i < CW_ARRAY_LEN(constants); i++) {
        if (strcmp(step->name, constants[i].name) == 0) {
            step->code = CW_EXPR_NUMBER;
            step->is_float = constants[i].is_float;
            step->i = constants[i].f > 0;
            step->f = constants[i].f;
            return true;
        }
    }
    return false;
}

/* Merges a field's shape into b->shape, the shape of the result so far. Dimensions that both know
 * must agree. */
static int merge_shape(struct binder *b, const struct cw_field *field)
{
    struct cw_field *result = &b->expr->result;
    bool fits = !b->shape || field->rank == result->rank;
    if (!b->shape) {
        b->shape = field;
        result->rank = field->rank;
        memcpy(result->dims, field->dims, sizeof(field->dims));
    }
    for (int i = 0; i < field->rank && fits; i++) {
        if (result->dims[i] < 0)
            result->dims[i] = field->dims[i];
        fits = field->dims[i] < 0 || field->dims[i] == result->dims[i];
    }
    if (!fits)
        return cw_err_set(b->err, CW_E_INVALID,
                          "option expr: fields \"%s\" and \"%s\" have different shapes (only "
                          "scalars are repeated)",
                          b->shape->name, field->name);
    return 0;
}

static int check_numbers(const struct binder *b, const struct cw_expr_step *step,
                         const struct cw_field *field)
{
    if (field->dtype == CW_DTYPE_STR || field->dtype == CW_DTYPE_U64)
        return cw_err_set(b->err, CW_E_INVALID, "option expr: column %zu: field \"%s\" is %s%s",
                          step->column, field->name, field->dtype == CW_DTYPE_STR ? "a str" : "u64",
                          field->dtype == CW_DTYPE_STR ? "; expressions compute with numbers"
                                                       : "; cast it to i64 or f64 first");
    return 0;
}

/* *field becomes what the name stands for: the field, a part of it, or its length. */
static int take_part(const struct binder *b, const struct cw_expr_step *step,
                     const struct cw_field **field)
{
    if (cw_field_is_ragged(*field))
        return cw_err_set(
            b->err, CW_E_INVALID,
            "option expr: column %zu: field \"%s\" is a ragged batch; compute with it "
            "before the batch",
            step->column, (*field)->name);
    if (step->part == 0)
        return 0;
    struct cw_expr_part *part = &b->expr->parts[step->part - 1];
    int rc = step->is_length ? cw_expr_length_infer(*field, &part->field, b->err)
                             : cw_expr_part_infer(part, *field, &part->field, b->err);
    if (rc < 0)
        return cw_err_wrap(b->err, "option expr: column %zu", step->column);
    *field = &part->field;
    return 0;
}

static int bind_name(struct binder *b, struct cw_expr_step *step)
{
    int found = cw_spec_find(b->in, step->name);
    if (found < 0 && b->in->n == 1 && strcmp(step->name, "x") == 0)
        found = 0;
    if (found < 0)
        return step->part == 0 && constant(step) ? 0 : field_list(b, step);
    const struct cw_field *field = &b->in->fields[found];
    step->field = (size_t)found;
    b->expr->reads[found] = true;
    int rc = step->is_length ? 0 : check_numbers(b, step, field);
    if (rc == 0)
        rc = take_part(b, step, &field);
    if (rc < 0)
        return rc;
    step->scalar = field->rank == 0;
    step->small = cw_dtype_bytes(field->dtype) <= 2;
    if (cw_dtype_is_float(field->dtype))
        step->type = field->dtype == CW_DTYPE_F64 ? CW_EXPR_F64 : CW_EXPR_F32;
    else
        step->type = field->dtype == CW_DTYPE_BOOL ? CW_EXPR_BOOL : CW_EXPR_I64;
    return step->scalar ? 0 : merge_shape(b, field);
}

static void bind_number(struct cw_expr_step *step)
{
    step->type = step->is_float ? CW_EXPR_F64 : CW_EXPR_I64;
    step->scalar = step->weak = step->small = true;
    if (!step->is_float)
        step->f = (double)step->i;
}

static bool is_float(enum cw_expr_type type)
{
    return type == CW_EXPR_F32 || type == CW_EXPR_F64;
}

/* Returns the float type to which a value is converted. */
static enum cw_expr_type float_of(const struct cw_expr_step *v)
{
    if (is_float(v->type))
        return v->type;
    return v->small && !v->weak ? CW_EXPR_F32 : CW_EXPR_F64;
}

/* Returns the type to which two operands are converted; to_float: a float type even for two
 * integers. */
static enum cw_expr_type meet(const struct cw_expr_step *a, const struct cw_expr_step *b,
                              bool to_float)
{
    if (!to_float && !is_float(a->type) && !is_float(b->type))
        return a->type == CW_EXPR_BOOL && b->type == CW_EXPR_BOOL ? CW_EXPR_BOOL : CW_EXPR_I64;
    if (a->weak && !b->weak)
        return float_of(b);
    if (b->weak && !a->weak)
        return float_of(a);
    return CW_MAX(float_of(a), float_of(b)); /* F32 < F64: the larger type is taken */
}

static void bind_binary(struct cw_expr_step *step, const struct cw_expr_step *a,
                        const struct cw_expr_step *b)
{
    step->scalar = a->scalar && b->scalar;
    step->weak = a->weak && b->weak;
    step->small = a->small && b->small;
    if (step->code == CW_EXPR_AND || step->code == CW_EXPR_OR) {
        step->operands = step->type = CW_EXPR_BOOL;
        return;
    }
    step->operands = meet(a, b, step->code == CW_EXPR_DIV || step->code == CW_EXPR_ATAN2);
    bool keeps_bool = step->code == CW_EXPR_MIN || step->code == CW_EXPR_MAX;
    if (step->operands == CW_EXPR_BOOL && !keeps_bool)
        step->operands = CW_EXPR_I64;
    step->type =
        step->code >= CW_EXPR_LT && step->code <= CW_EXPR_NE ? CW_EXPR_BOOL : step->operands;
}

/* Roundings leave integers as they are. */
static bool keeps_integers(enum cw_expr_code code)
{
    return code == CW_EXPR_FLOOR || code == CW_EXPR_CEIL || code == CW_EXPR_ROUND;
}

static void bind_unary(struct cw_expr_step *step, const struct cw_expr_step *a)
{
    step->scalar = a->scalar;
    step->weak = a->weak;
    step->small = a->small;
    if (step->code == CW_EXPR_NOT)
        step->operands = CW_EXPR_BOOL;
    else if (step->code != CW_EXPR_NEG && step->code != CW_EXPR_ABS && !keeps_integers(step->code))
        step->operands = float_of(a);
    else
        step->operands = a->type == CW_EXPR_BOOL ? CW_EXPR_I64 : a->type;
    step->type = step->operands;
    if (step->code == CW_EXPR_ISNAN || step->code == CW_EXPR_ISFINITE)
        step->type = CW_EXPR_BOOL;
}

static void bind_where(struct cw_expr_step *step, const struct cw_expr_step *condition,
                       const struct cw_expr_step *a, const struct cw_expr_step *b)
{
    step->scalar = condition->scalar && a->scalar && b->scalar;
    step->weak = a->weak && b->weak;
    step->small = a->small && b->small;
    step->operands = step->type = meet(a, b, false);
}

int cw_expr_bind(struct cw_expr *expr, const struct cw_spec *in, struct cw_err *err)
{
    static const enum cw_dtype dtypes[] = {CW_DTYPE_BOOL, CW_DTYPE_I64, CW_DTYPE_F32, CW_DTYPE_F64};
    struct binder b = {.expr = expr, .in = in, .err = err};
    const struct cw_expr_step *stack[CW_EXPR_STEPS_MAX] = {NULL};
    size_t top = 0;
    expr->result = (struct cw_field){0};
    for (size_t i = 0; i < expr->n; i++) {
        struct cw_expr_step *step = &expr->steps[i];
        if (step->code == CW_EXPR_NAME) {
            int rc = bind_name(&b, step);
            if (rc < 0)
                return rc;
        }
        if (step->code == CW_EXPR_NUMBER) {
            bind_number(step);
        } else if (step->code == CW_EXPR_WHERE) {
            top -= 3;
            bind_where(step, stack[top], stack[top + 1], stack[top + 2]);
        } else if (step->code >= CW_EXPR_NOT) {
            bind_unary(step, stack[--top]);
        } else if (step->code != CW_EXPR_NAME) {
            top -= 2;
            bind_binary(step, stack[top], stack[top + 1]);
        }
        stack[top++] = step;
    }
    CW_ASSERT(top == 1);
    expr->result.dtype = dtypes[stack[0]->type];
    return 0;
}
