/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `eval`: computes a field by an expression. */
#include "ops/element/expr_op.h"

#include <string.h>

#include "base/mem.h"

struct eval_opts {
    char *expr;
    char *out; /* NULL or "": the help text says which field it is then */
};

#define OFFSET(member) offsetof(struct eval_opts, member)
static const struct cw_opt options[] = {
    {.name = "expr",
     .help = "expression over the fields; x is the only field of a one-field element",
     .type = CW_OPT_STR,
     .offset = OFFSET(expr),
     .flags = CW_OPT_REQUIRED},
    {.name = "out",
     .help =
         "name of the result; default: the one field that the expression reads, which is replaced",
     .type = CW_OPT_STR,
     .offset = OFFSET(out)},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct eval_opts *o = opts;
    struct cw_expr *expr;
    int rc = cw_expr_parse(o->expr, &expr, err);
    if (rc == 0)
        cw_expr_free(expr);
    return rc;
}

/* Returns the index of the field that the result replaces; in->n: the result is added as a new
 * field. */
static int find_place(const struct eval_opts *o, const struct cw_expr *expr,
                      const struct cw_spec *in, size_t *ret_place, struct cw_err *err)
{
    size_t read_n = 0, place = 0;
    if (o->out && o->out[0]) {
        int found = cw_spec_find(in, o->out);
        *ret_place = found < 0 ? in->n : (size_t)found;
        return 0;
    }
    for (size_t i = 0; i < in->n; i++) {
        if (expr->reads[i]) {
            read_n++;
            place = i;
        }
    }
    if (read_n != 1 && in->n != 1)
        return cw_err_set(err, CW_E_INVALID,
                          "option out: is needed, since the expression reads %zu fields, not one",
                          read_n);
    *ret_place = place;
    return 0;
}

static int place_result(const struct eval_opts *o, const struct cw_field *result, size_t place,
                        struct cw_spec *spec, struct cw_err *err)
{
    if (place == spec->n)
        return cw_spec_add(spec, o->out, result->dtype, result->rank, result->dims, err);
    struct cw_field *field = &spec->fields[place];
    field->dtype = result->dtype;
    field->rank = result->rank;
    memcpy(field->dims, result->dims, sizeof(field->dims));
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct eval_opts *o = opts;
    struct cw_expr *expr = NULL;
    CW_SPEC_AUTO spec = cw_spec_copy(&in[0]);
    size_t place = 0;
    (void)in_n;
    int rc = cw_expr_op_compile(o->expr, &in[0], &expr, err);
    if (rc < 0)
        return rc;
    rc = find_place(o, expr, &in[0], &place, err);
    if (rc == 0)
        rc = place_result(o, &expr->result, place, &spec, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    cw_expr_free(expr);
    return rc;
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct eval_opts *o = opts;
    struct cw_expr_op_scratch *s = scratch;
    struct cw_view result;
    size_t place = 0;
    (void)state;
    int rc = cw_expr_op_value(s, o->expr, ctx, element, &result, err);
    if (rc == 0)
        rc = find_place(o, s->expr, ctx->in, &place, err);
    if (rc < 0)
        return rc;
    if (place < element->n)
        cw_view_copy_part(&result, &element->fields[place]);
    element->fields[place] = result;
    element->n = CW_MAX(element->n, place + 1);
    return 0;
}

/* Whether a field of zeros becomes one of zeros, bit for bit: the expression, which reads no other
 * field, is computed for a scalar of 0. */
static bool keeps_zero(const struct eval_opts *o, const struct cw_spec *in, size_t field)
{
    struct cw_expr *expr = NULL;
    CW_SPEC_AUTO scalar = cw_spec_copy(in);
    cw_autofree struct cw_element *element = CW_NEW(struct cw_element);
    element->n = in->n;
    uint64_t zero = 0;
    struct cw_view result = {0};
    scalar.fields[field].rank = 0;
    element->fields[field] = (struct cw_view){.data = &zero,
                                              .bytes = cw_dtype_bytes(in->fields[field].dtype),
                                              .dtype = in->fields[field].dtype};
    if (cw_expr_op_compile(o->expr, &scalar, &expr, NULL) < 0)
        return false;
    struct cw_op_ctx ctx = {.arena = cw_arena_new(4096), .in = &scalar, .out = &scalar};
    bool is_kept = cw_expr_eval(expr, &ctx, element, &result, NULL) == 0;
    for (size_t i = 0; is_kept && i < result.bytes; i++)
        is_kept = ((const uint8_t *)result.data)[i] == 0;
    cw_arena_free(ctx.arena);
    cw_expr_free(expr);
    return is_kept;
}

/* The result takes the place of a tensor that is read, and all else that is read are scalars. */
static void facts_of_place(const struct eval_opts *o, const struct cw_expr *expr,
                           const struct cw_spec *in, size_t place, struct cw_op_facts *facts)
{
    size_t read_n = 0;
    for (size_t i = 0; i < in->n; i++)
        read_n += expr->reads[i];
    if (cw_expr_op_main_field(expr, in) != place)
        return;
    facts->effect = CW_EFFECT_EACH;
    facts->effect_on = facts->writes;
    facts->keeps_zero = read_n == 1 && keeps_zero(o, in, place);
}

static bool is_of_one_rank(const struct cw_expr *expr, const struct cw_spec *in)
{
    int rank = -1;
    for (size_t i = 0; i < in->n; i++) {
        if (!expr->reads[i])
            continue;
        if (rank >= 0 && in->fields[i].rank != rank)
            return false;
        rank = in->fields[i].rank;
    }
    return true;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct eval_opts *o = opts;
    struct cw_expr *expr = NULL;
    size_t place = 0;
    (void)fields;
    (void)fields_n;
    *ret_facts = (struct cw_op_facts){0};
    if (cw_expr_op_compile(o->expr, in, &expr, NULL) < 0)
        return;
    if (find_place(o, expr, in, &place, NULL) == 0) {
        cw_expr_op_facts(expr, in, ret_facts);
        ret_facts->names_field = place == in->n;
        cw_field_set_add(&ret_facts->writes, place);
        if (place < in->n)
            facts_of_place(o, expr, in, place, ret_facts);
        ret_facts->by_batch = !ret_facts->refuses && !cw_field_set_is_empty(&ret_facts->reads) &&
                              is_of_one_rank(expr, in);
    }
    cw_expr_free(expr);
}

static bool pin(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                struct cw_value *pinned)
{
    const struct eval_opts *o = opts;
    struct cw_expr *expr = NULL;
    size_t place = 0;
    (void)fields;
    (void)fields_n;
    if (cw_expr_op_compile(o->expr, in, &expr, NULL) < 0)
        return false;
    const int rc = find_place(o, expr, in, &place, NULL);
    cw_expr_free(expr);
    if (rc == 0 && place < in->n)
        cw_value_set_str(cw_value_member(pinned, "out"), in->fields[place].name);
    return rc == 0 && cw_expr_op_pin(o->expr, in, cw_value_member(pinned, "expr"));
}

static bool names(const void *opts, struct cw_op_names *names)
{
    return cw_expr_op_names(((const struct eval_opts *)opts)->expr, names);
}

const struct cw_op cw_op_eval = {
    .name = "eval",
    .version = 1,
    .summary = "a field computed by an expression",
    .doc =
        "Computes `expr` for each value: numbers, field names, + - * / % **, < <= > >= == !=, "
        "and or not,\n"
        "parentheses, min(a, b, ...) max(a, b, ...) clip(v, lo, hi) where(condition, a, b) pow(a, "
        "b) atan2(y, x)\n"
        "abs sqrt exp log log2 sin cos tan floor ceil round isnan isfinite, and the constants true "
        "false pi inf\n"
        "nan, which has the same bits on every processor. Precedence is Python's. In an element "
        "with one "
        "field `x` is that field.\n"
        "\n"
        "x[0], x[:, 2:5] and x[..., -1] are parts of a field, as in NumPy, with numbers and ranges "
        "only. len(x) is the\n"
        "first dimension of a tensor and the number of bytes of a str. Behind a `batch` the first "
        "dimension is that of the\n"
        "batch: x[..., 0] is the first column there and the first value before; len(s) of a batch "
        "of strings has one\n"
        "number for each.\n"
        "\n"
        "Scalars meet tensors of any shape; tensors must have equal shapes. bool and integers "
        "compute as i64, which\n"
        "wraps; f16 and f32 as f32, f64 as f64; numbers in the text adapt to what they meet. "
        "Integers become\n"
        "floats by /, by a number with a point, by sqrt, exp, log and trigonometry: f32 if the "
        "fields that "
        "they come from\n"
        "have at most 16 bits, else f64. % takes the sign of its right side, round rounds ties "
        "to even. The\n"
        "remainder of a division by integer 0 and an integer to a negative power are errors of "
        "the element.\n"
        "u64 fields have to be cast before.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_POINTWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct eval_opts),
    .check = check,
    .infer = infer,
    .scratch_new = cw_expr_op_scratch_new,
    .scratch_free = cw_expr_op_scratch_free,
    .apply = apply,
    .facts = facts,
    .names = names,
    .pin = pin,
};
