/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates an expression. The steps run over blocks of values, so that intermediate values stay in
 * the processor's cache. A scalar is one value, which is read again for each of the others. */
#include "ops/expr/part.h"

#include "ops/kernels/exact_math.h"
#include "ops/kernels/kernel_table.h"
#include "ops/kernels/num.h"
#include "ops/kernels/one_nan.h"

#include <math.h>
#include <string.h>

#define BLOCK 128

struct lane {
    enum cw_expr_type type;
    size_t mask; /* 0 for a scalar, so that every index refers to its only value */
    union {
        int64_t i[BLOCK];
        double f[BLOCK];
    };
};

static bool is_float(enum cw_expr_type type)
{
    return type == CW_EXPR_F32 || type == CW_EXPR_F64;
}

static double floor_mod(double a, double b)
{
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int fail_at(const struct cw_expr_step *step, const char *what, struct cw_err *err)
{
    return cw_err_set(err, CW_E_INVALID, "expression: column %zu: %s", step->column, what);
}

static int int_mod(const struct cw_expr_step *step, int64_t a, int64_t b, int64_t *ret,
                   struct cw_err *err)
{
    if (b == 0)
        return fail_at(step, "remainder of a division by zero", err);
    int64_t r = b == -1 ? 0 : a % b; /* the processor raises an exception for INT64_MIN % -1 */
    *ret = r != 0 && (r < 0) != (b < 0) ? r + b : r;
    return 0;
}

static int int_pow(const struct cw_expr_step *step, int64_t a, int64_t b, int64_t *ret,
                   struct cw_err *err)
{
    uint64_t r = 1, x = (uint64_t)a;
    if (b < 0)
        return fail_at(step, "integer to a negative power (write 2.0 ** ...)", err);
    for (uint64_t n = (uint64_t)b; n > 0; n >>= 1, x *= x)
        r *= n & 1 ? x : 1;
    *ret = (int64_t)r;
    return 0;
}

static int int_binary(const struct cw_expr_step *step, struct lane *a, const struct lane *b,
                      size_t n, struct cw_err *err)
{
    size_t ma = a->mask, mb = b->mask;
    int64_t *x = a->i;
    const int64_t *y = b->i;
#define EACH(expression)                                                                           \
    for (size_t k = n; k-- > 0;) {                                                                 \
        int64_t p = x[k & ma], q = y[k & mb];                                                      \
        x[k] = (int64_t)(expression);                                                              \
    }                                                                                              \
    return 0
    switch (step->code) {
    case CW_EXPR_ADD:
        EACH((uint64_t)p + (uint64_t)q);
    case CW_EXPR_SUB:
        EACH((uint64_t)p - (uint64_t)q);
    case CW_EXPR_MUL:
        EACH((uint64_t)p * (uint64_t)q);
    case CW_EXPR_MIN:
        EACH(p < q ? p : q);
    case CW_EXPR_MAX:
        EACH(p > q ? p : q);
    case CW_EXPR_LT:
        EACH(p < q);
    case CW_EXPR_LE:
        EACH(p <= q);
    case CW_EXPR_GT:
        EACH(p > q);
    case CW_EXPR_GE:
        EACH(p >= q);
    case CW_EXPR_EQ:
        EACH(p == q);
    case CW_EXPR_NE:
        EACH(p != q);
    case CW_EXPR_AND:
        EACH(p && q);
    case CW_EXPR_OR:
        EACH(p || q);
    default:
        break;
    }
#undef EACH
    for (size_t k = n; k-- > 0;) {
        int rc =
            (step->code == CW_EXPR_MOD ? int_mod : int_pow)(step, x[k & ma], y[k & mb], &x[k], err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static void float_compare(enum cw_expr_code code, struct lane *a, const struct lane *b, size_t n)
{
    for (size_t k = n; k-- > 0;) {
        double p = a->f[k & a->mask], q = b->f[k & b->mask];
        bool r = false;
        if (code == CW_EXPR_LT)
            r = p < q;
        else if (code == CW_EXPR_LE)
            r = p <= q;
        else if (code == CW_EXPR_GT)
            r = p > q;
        else if (code == CW_EXPR_GE)
            r = p >= q;
        else
            r = (p == q) == (code == CW_EXPR_EQ);
        a->i[k] = r;
    }
}

static void float_arith(enum cw_expr_loop_sign sign, struct lane *a, const struct lane *b, size_t n)
{
    const struct cw_expr_loop_operand x = {a->f, a->mask & 1}, y = {b->f, b->mask & 1};
    cw_kernels()->expr_arith(a->f, x, y, n, sign);
}

static void float_binary(enum cw_expr_code code, struct lane *a, const struct lane *b, size_t n)
{
    size_t ma = a->mask, mb = b->mask;
    double *x = a->f;
    const double *y = b->f;
#define EACH(expression)                                                                           \
    for (size_t k = n; k-- > 0;) {                                                                 \
        double p = x[k & ma], q = y[k & mb];                                                       \
        x[k] = (expression);                                                                       \
    }                                                                                              \
    return
    switch (code) {
    case CW_EXPR_ADD:
        float_arith(CW_EXPR_LOOP_ADD, a, b, n);
        return;
    case CW_EXPR_SUB:
        float_arith(CW_EXPR_LOOP_SUB, a, b, n);
        return;
    case CW_EXPR_MUL:
        float_arith(CW_EXPR_LOOP_MUL, a, b, n);
        return;
    case CW_EXPR_DIV:
        float_arith(CW_EXPR_LOOP_DIV, a, b, n);
        return;
    case CW_EXPR_MOD:
        EACH(floor_mod(p, q));
    case CW_EXPR_POW:
        EACH(cw_exact_pow(p, q));
    case CW_EXPR_ATAN2:
        EACH(cw_exact_atan2(p, q));
    case CW_EXPR_MIN: /* the result is NaN if either operand is */
        EACH(p < q || isnan(p) ? p : q);
    case CW_EXPR_MAX:
        EACH(p > q || isnan(p) ? p : q);
    default:
        float_compare(code, a, b, n);
    }
#undef EACH
}

static void int_unary(enum cw_expr_code code, struct lane *a, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        int64_t v = a->i[k];
        if (code == CW_EXPR_NOT)
            a->i[k] = !v;
        else if (code == CW_EXPR_NEG || (code == CW_EXPR_ABS && v < 0))
            a->i[k] = (int64_t)(0 - (uint64_t)v);
    }
}

static double float_one(enum cw_expr_code code, double v)
{
    switch (code) {
    case CW_EXPR_NEG:
        return -v;
    case CW_EXPR_ABS:
        return fabs(v);
    case CW_EXPR_SQRT:
        return sqrt(v);
    case CW_EXPR_EXP:
        return cw_exact_exp(v);
    case CW_EXPR_LOG2:
        return cw_exact_log2(v);
    case CW_EXPR_SIN:
        return cw_exact_sin(v);
    case CW_EXPR_COS:
        return cw_exact_cos(v);
    case CW_EXPR_TAN:
        return cw_exact_sin(v) / cw_exact_cos(v);
    case CW_EXPR_FLOOR:
        return floor(v);
    case CW_EXPR_CEIL:
        return ceil(v);
    default:
        return rint(v); /* ties are rounded to even */
    }
}

static void round_to_float(struct lane *a, size_t n)
{
    cw_kernels()->expr_round(a->f, n);
}

static void convert(struct lane *a, enum cw_expr_type to, size_t n)
{
    if (is_float(to) && !is_float(a->type)) {
        for (size_t k = 0; k < n; k++)
            a->f[k] = to == CW_EXPR_F32 ? (double)(float)a->i[k] : (double)a->i[k];
    } else if (to == CW_EXPR_BOOL && is_float(a->type)) {
        for (size_t k = 0; k < n; k++)
            a->i[k] = a->f[k] != 0;
    } else if (to == CW_EXPR_BOOL && a->type == CW_EXPR_I64) {
        for (size_t k = 0; k < n; k++)
            a->i[k] = a->i[k] != 0;
    } else if (to == CW_EXPR_F32 && a->type == CW_EXPR_F64) {
        round_to_float(a, n);
    }
    a->type = to;
}

static void load(const struct cw_expr_step *step, const struct cw_view *view, struct lane *a,
                 size_t begin, size_t n)
{
    a->type = step->type;
    if (view->dtype == CW_DTYPE_F32) {
        cw_kernels()->expr_load(a->f, (const float *)view->data + begin, n);
    } else if (view->dtype == CW_DTYPE_F64) {
        memcpy(a->f, (const double *)view->data + begin, n * sizeof(double));
    } else if (view->dtype == CW_DTYPE_I64) {
        memcpy(a->i, (const int64_t *)view->data + begin, n * sizeof(int64_t));
    } else if (is_float(step->type)) {
        for (size_t k = 0; k < n; k++)
            a->f[k] = cw_num_get_f64(view->dtype, view->data, begin + k);
    } else {
        for (size_t k = 0; k < n; k++)
            a->i[k] = cw_num_get_i64(view->dtype, view->data, begin + k);
    }
}

static void literal(const struct cw_expr_step *step, struct lane *a)
{
    a->type = step->type;
    if (step->is_float)
        a->f[0] = step->f;
    else
        a->i[0] = step->i;
}

static size_t values_n(const struct lane *a, size_t n)
{
    return a->mask ? n : 1;
}

/* Questions, whose answers take the place of the numbers. */
static void float_ask(enum cw_expr_code code, struct lane *a, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const double v = a->f[k];
        a->i[k] = code == CW_EXPR_ISNAN ? isnan(v) : isfinite(v) != 0;
    }
}

static void float_unary(enum cw_expr_code code, struct lane *a, size_t n)
{
    if (code == CW_EXPR_ISNAN || code == CW_EXPR_ISFINITE) {
        float_ask(code, a, n);
        return;
    }
    if (code == CW_EXPR_LOG) {
        cw_kernels()->expr_log(a->f, n);
        return;
    }
    for (size_t k = 0; k < n; k++)
        a->f[k] = float_one(code, a->f[k]);
}

/* Chooses between two by the first, whose place the result takes. */
static void choose(const struct cw_expr_step *step, struct lane *stack, size_t n)
{
    struct lane *condition = &stack[0], *a = &stack[1], *b = &stack[2];
    const size_t mask = condition->mask, all = step->scalar ? 1 : n;
    convert(condition, CW_EXPR_BOOL, values_n(condition, n));
    convert(a, step->operands, values_n(a, n));
    convert(b, step->operands, values_n(b, n));
    for (size_t k = all; k-- > 0;) {
        const struct lane *from = condition->i[k & mask] ? a : b;
        if (is_float(step->type))
            condition->f[k] = from->f[k & from->mask];
        else
            condition->i[k] = from->i[k & from->mask];
    }
    condition->type = step->type;
    condition->mask = step->scalar ? 0 : SIZE_MAX;
}

static int operate(const struct cw_expr_step *step, struct lane *a, struct lane *b, size_t n,
                   struct cw_err *err)
{
    int rc = 0;
    convert(a, step->operands, values_n(a, n));
    if (b)
        convert(b, step->operands, values_n(b, n));
    size_t all = step->scalar ? 1 : n;
    if (!is_float(step->operands)) {
        if (b)
            rc = int_binary(step, a, b, all, err);
        else
            int_unary(step->code, a, all);
    } else if (b) {
        float_binary(step->code, a, b, all);
    } else {
        float_unary(step->code, a, all);
    }
    a->type = step->type;
    a->mask = step->scalar ? 0 : SIZE_MAX;
    if (step->type == CW_EXPR_F32)
        round_to_float(a, all);
    return rc;
}

/* views: of each step that is a name. */
static int run_block(const struct cw_expr *expr, const struct cw_view *const *views,
                     struct lane *stack, size_t begin, size_t n, struct cw_err *err)
{
    size_t top = 0;
    int rc = 0;
    for (size_t s = 0; s < expr->n && rc == 0; s++) {
        const struct cw_expr_step *step = &expr->steps[s];
        if (step->code == CW_EXPR_NAME || step->code == CW_EXPR_NUMBER) {
            struct lane *a = &stack[top++];
            a->mask = step->scalar ? 0 : SIZE_MAX;
            if (step->code == CW_EXPR_NUMBER)
                literal(step, a);
            else
                load(step, views[s], a, step->scalar ? 0 : begin, step->scalar ? 1 : n);
        } else if (step->code == CW_EXPR_WHERE) {
            top -= 2;
            choose(step, &stack[top - 1], n);
        } else if (step->code >= CW_EXPR_NOT) {
            rc = operate(step, &stack[top - 1], NULL, n, err);
        } else {
            top--;
            rc = operate(step, &stack[top - 1], &stack[top], n, err);
        }
    }
    return rc;
}

/* Finds the shape of the result: that of the operands that are no scalars, which must agree. */
static int find_shape(const struct cw_expr *expr, const struct cw_op_ctx *ctx,
                      const struct cw_view *const *views, struct cw_view *out, struct cw_err *err)
{
    const struct cw_view *first = NULL;
    size_t first_field = 0;
    for (size_t s = 0; s < expr->n; s++) {
        if (expr->steps[s].code != CW_EXPR_NAME || views[s]->rank == 0)
            continue;
        const struct cw_view *v = views[s];
        if (!first) {
            first = v;
            first_field = expr->steps[s].field;
        } else if (v->rank != first->rank ||
                   memcmp(v->dims, first->dims, (size_t)v->rank * sizeof(v->dims[0])) != 0) {
            return cw_err_set(
                err, CW_E_INVALID, "expression: fields \"%s\" and \"%s\" have different shapes",
                ctx->in->fields[first_field].name, ctx->in->fields[expr->steps[s].field].name);
        }
    }
    *out = (struct cw_view){.dtype = expr->result.dtype};
    if (first) {
        out->rank = first->rank;
        memcpy(out->dims, first->dims, sizeof(out->dims));
    }
    return 0;
}

static void store(const struct lane *a, const struct cw_view *out, size_t begin, size_t n)
{
    if (out->dtype == CW_DTYPE_F32 && a->mask) {
        cw_kernels()->expr_store((float *)out->data + begin, a->f, n);
        return;
    }
    if (out->dtype == CW_DTYPE_F64 && a->mask) {
        for (size_t k = 0; k < n; k++)
            ((double *)out->data)[begin + k] = cw_one_nan(a->f[k]);
        return;
    }
    if (out->dtype == CW_DTYPE_I64 && a->mask) {
        memcpy((int64_t *)out->data + begin, a->i, n * sizeof(int64_t));
        return;
    }
    for (size_t k = 0; k < n; k++) {
        if (is_float(a->type))
            cw_num_put_f64(out->dtype, out->data, begin + k, cw_one_nan(a->f[k & a->mask]));
        else
            cw_num_put_i64(out->dtype, out->data, begin + k, a->i[k & a->mask]);
    }
}

int cw_expr_eval(const struct cw_expr *expr, const struct cw_op_ctx *ctx,
                 const struct cw_element *element, struct cw_view *ret_view, struct cw_err *err)
{
    struct cw_view out = {0};
    const struct cw_view **views =
        cw_op_scratch(ctx, expr->n * sizeof(const struct cw_view *), err);
    int rc = views ? cw_expr_find_views(expr, ctx, element, views, err) : CW_E_NOMEM;
    if (rc == 0)
        rc = find_shape(expr, ctx, views, &out, err);
    if (rc < 0)
        return rc;
    size_t n = 1;
    for (int i = 0; i < out.rank; i++)
        n *= (size_t)out.dims[i];
    out.bytes = n * cw_dtype_bytes(out.dtype);
    out.data = cw_op_scratch(ctx, out.bytes, err);
    struct lane *stack = cw_op_scratch(ctx, expr->stack_n * sizeof(*stack), err);
    if (!out.data || !stack)
        return CW_E_NOMEM;
    for (size_t begin = 0; begin < n; begin += BLOCK) {
        rc = run_block(expr, views, stack, begin, CW_MIN(n - begin, (size_t)BLOCK), err);
        if (rc < 0)
            return rc;
        store(&stack[0], &out, begin, CW_MIN(n - begin, (size_t)BLOCK));
    }
    *ret_view = out;
    return 0;
}
