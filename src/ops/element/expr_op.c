/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles and evaluates the expression of `eval` and `filter`. */
#include "ops/element/expr_op.h"

#include <math.h>
#include <string.h>

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

/* Whether all tensors that are read have one shape, and it is known. */
static bool has_one_shape(const struct cw_expr *expr, const struct cw_spec *in)
{
    const struct cw_field *first = NULL;

    for (size_t i = 0; i < in->n; i++) {
        const struct cw_field *field = &in->fields[i];
        if (!expr->reads[i] || field->rank == 0)
            continue;
        for (int d = 0; first && d < field->rank; d++)
            if (field->rank != first->rank || field->dims[d] < 0 ||
                field->dims[d] != first->dims[d])
                return false;
        if (!first)
            first = field;
    }
    return true;
}

void cw_expr_op_facts(const struct cw_expr *expr, const struct cw_spec *in,
                      struct cw_op_facts *ret_facts)
{
    *ret_facts = (struct cw_op_facts){.known = true,
                                      .refuses = expr->parts_n > 0 || !has_one_shape(expr, in)};
    for (size_t i = 0; i < in->n; i++)
        if (expr->reads[i])
            cw_field_set_add(&ret_facts->reads, i);
    ret_facts->refuses_values = cw_expr_refuses_values(expr);
    ret_facts->refuses |= ret_facts->refuses_values;
}

bool cw_expr_op_names(const char *text, struct cw_op_names *names)
{
    struct cw_expr *expr = NULL;
    if (cw_expr_parse(text, &expr, NULL) < 0)
        return false;
    for (size_t i = 0; i < expr->n; i++)
        if (expr->steps[i].code == CW_EXPR_NAME)
            cw_op_names_add(names, expr->steps[i].name);
    cw_expr_free(expr);
    return true;
}

size_t cw_expr_op_main_field(const struct cw_expr *expr, const struct cw_spec *in)
{
    size_t tensors = 0, scalars = 0, tensor = 0, scalar = 0;

    if (expr->parts_n > 0)
        return in->n;
    for (size_t i = 0; i < in->n; i++) {
        if (!expr->reads[i])
            continue;
        if (in->fields[i].rank > 0) {
            tensors++;
            tensor = i;
        } else {
            scalars++;
            scalar = i;
        }
    }
    if (tensors == 1)
        return tensor;
    return tensors == 0 && scalars == 1 ? scalar : in->n;
}

/* Returns what to write for a name that was bound; NULL: itself. */
static const char *pinned_word(const struct cw_expr_step *step, const struct cw_spec *in)
{
    if (step->code == CW_EXPR_NAME)
        return in->fields[step->field].name;
    if (step->code != CW_EXPR_NUMBER || !step->name[0])
        return NULL;
    if (step->is_float)
        return "3.14159265358979323846"; /* the only one that is neither a truth value nor infinite */
    return step->i ? "1" : "0";
}

/* Names are bound in the order of the text. */
static void pin_words(const char *text, const struct cw_expr *expr, const struct cw_spec *in,
                      struct cw_str *out)
{
    size_t done = 0;

    for (size_t i = 0; i < expr->n; i++) {
        const struct cw_expr_step *step = &expr->steps[i];
        const char *word = pinned_word(step, in);
        if (!word)
            continue;
        cw_str_addf(out, "%.*s%s", (int)(step->column - 1 - done), text + done, word);
        done = step->column - 1 + strlen(step->name);
    }
    cw_str_add(out, text + done);
}

/* `inf` and `nan` cannot be written as numbers. */
static bool has_infinite(const struct cw_expr *expr)
{
    for (size_t i = 0; i < expr->n; i++)
        if (expr->steps[i].code == CW_EXPR_NUMBER && expr->steps[i].name[0] &&
            !isfinite(expr->steps[i].f))
            return true;
    return false;
}

bool cw_expr_op_pin(const char *text, const struct cw_spec *in, struct cw_value *ret_text)
{
    struct cw_expr *written = NULL, *pinned = NULL;
    CW_STR_AUTO out = {0};

    if (cw_expr_op_compile(text, in, &written, NULL) < 0)
        return false;
    pin_words(text, written, in, &out);
    bool is_same =
        !has_infinite(written) && cw_expr_op_compile(cw_str_text(&out), in, &pinned, NULL) == 0;
    for (size_t i = 0; is_same && i < in->n; i++)
        is_same = written->reads[i] == pinned->reads[i];
    if (is_same)
        cw_value_set_str(ret_text, cw_str_text(&out));
    cw_expr_free(pinned);
    cw_expr_free(written);
    return is_same;
}
