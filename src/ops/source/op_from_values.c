/* SPDX-License-Identifier: Apache-2.0 */
/* Source `from_values`: the elements are in the pipeline itself. Each item of `values` is one
 * element: a number, a bool, a string, a nested list (a tensor), or an object of these (several
 * fields). */
#include "base/mem.h"
#include "ops/kernels/num.h"
#include "ops/op_util.h"

#include <string.h>

struct from_values_opts {
    struct cw_value values;
    char *field;
    int dtype;
};

enum { DTYPE_AUTO = 0 };
static const char *const dtype_words[] = {"auto", "u8",  "i8",  "u16", "i16", "u32",  "i32",
                                          "u64",  "i64", "f16", "f32", "f64", "bool", NULL};

#define OFFSET(member) offsetof(struct from_values_opts, member)
static const struct cw_opt options[] = {
    {.name = "values",
     .help = "list of elements: numbers, strings, (nested) lists of numbers, or objects of these",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(values),
     .flags = CW_OPT_REQUIRED},
    {.name = "field",
     .help = "name of the field, unless the elements are objects",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"x\""},
    {.name = "dtype",
     .help = "of the numbers; auto = i64, f64 if there is a fraction in any element, or bool",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(dtype),
     .def = "\"auto\"",
     .names = dtype_words},
    {0},
};

/* Returns the value of the named field of element i. */
static const struct cw_value *value_at(const struct from_values_opts *o, size_t i, const char *name)
{
    const struct cw_value *item = &o->values.items[i];
    return item->type == CW_VALUE_OBJECT ? cw_value_get(item, name) : item;
}

static bool is_scalar(const struct cw_value *v)
{
    return v->type == CW_VALUE_BOOL || v->type == CW_VALUE_I64 || v->type == CW_VALUE_F64;
}

/* Derives the dtype from the first value, and the shape from its first branch. */
static int infer_shape(const struct cw_value *v, struct cw_field *field, struct cw_err *err)
{
    while (v->type == CW_VALUE_LIST) {
        if (field->rank == CW_RANK_MAX)
            return cw_err_set(err, CW_E_INVALID, "option values: lists nested more than %d deep",
                              CW_RANK_MAX);
        field->dims[field->rank++] = (int64_t)v->n;
        if (v->n == 0) {
            field->dtype = CW_DTYPE_I64;
            return 0;
        }
        v = &v->items[0];
    }
    if (v->type == CW_VALUE_STR && field->rank == 0)
        field->dtype = CW_DTYPE_STR;
    else if (v->type == CW_VALUE_BOOL)
        field->dtype = CW_DTYPE_BOOL;
    else if (is_scalar(v))
        field->dtype = CW_DTYPE_I64;
    else
        return cw_err_set(err, CW_E_INVALID, "option values: element 0 has %s in it%s",
                          cw_value_type_name(v->type),
                          v->type == CW_VALUE_STR ? " in a list: only numbers make tensors" : "");
    return 0;
}

/* Whether v has the shape of the field from dimension `axis` on; fractions change the dtype from
 * i64 to f64. The rank limits the depth. */
static bool fits(const struct cw_value *v, struct cw_field *field, int axis)
{
    if (field->dtype == CW_DTYPE_STR)
        return v->type == CW_VALUE_STR;
    if (axis == field->rank) {
        if (v->type == CW_VALUE_F64 && field->dtype == CW_DTYPE_I64)
            field->dtype = CW_DTYPE_F64;
        return is_scalar(v) && (v->type == CW_VALUE_BOOL) == (field->dtype == CW_DTYPE_BOOL);
    }
    if (v->type != CW_VALUE_LIST || (int64_t)v->n != field->dims[axis])
        return false;
    for (size_t i = 0; i < v->n; i++) {
        if (!fits(&v->items[i], field, axis + 1))
            return false;
    }
    return true;
}

/* Whether a number in the pipeline can be a value of the dtype that the user asked for. Only floats
 * can be fractions. */
static bool is_of(const struct cw_value *v, enum cw_dtype dtype)
{
    for (size_t i = 0; v->type == CW_VALUE_LIST && i < v->n; i++) {
        if (!is_of(&v->items[i], dtype))
            return false;
    }
    if (v->type == CW_VALUE_LIST || cw_dtype_is_float(dtype) || v->type == CW_VALUE_BOOL)
        return true;
    if (v->type != CW_VALUE_I64)
        return false;
    unsigned bits = dtype == CW_DTYPE_BOOL ? 1 : 8 * (unsigned)cw_dtype_bytes(dtype);
    bool is_signed = dtype == CW_DTYPE_I8 || dtype == CW_DTYPE_I16 || dtype == CW_DTYPE_I32 ||
                     dtype == CW_DTYPE_I64;
    if (bits == 64)
        return is_signed || v->i >= 0;
    int64_t lo = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
    int64_t hi = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
    return v->i >= lo && v->i <= hi;
}

/* Sets the dtype that the option asks for, if every number can be a value of it. */
static int take_dtype(const struct from_values_opts *o, const char *name, struct cw_field *field,
                      struct cw_err *err)
{
    const char *word = dtype_words[o->dtype];
    int rc = cw_dtype_parse(word, &field->dtype);
    for (size_t i = 0; i < o->values.n && rc == 0; i++) {
        if (!is_of(value_at(o, i, name), field->dtype))
            return cw_err_set(
                err, CW_E_INVALID,
                "option values: field \"%s\" of element %zu has a number that is no %s", name, i,
                word);
    }
    return rc;
}

static int infer_field_of(const struct from_values_opts *o, const char *name, struct cw_spec *spec,
                          struct cw_err *err)
{
    struct cw_field field = {0};
    int rc = infer_shape(value_at(o, 0, name), &field, err);
    for (size_t i = 0; i < o->values.n && rc == 0; i++) {
        const struct cw_value *v = value_at(o, i, name);
        if (!v)
            return cw_err_set(err, CW_E_INVALID,
                              "option values: element %zu has no field \"%s\", element 0 has", i,
                              name);
        if (!fits(v, &field, 0))
            return cw_err_set(err, CW_E_INVALID,
                              "option values: field \"%s\" of element %zu is of another type or "
                              "shape than that of "
                              "element 0",
                              name, i);
    }
    if (rc == 0 && o->dtype != DTYPE_AUTO && field.dtype != CW_DTYPE_STR)
        rc = take_dtype(o, name, &field, err);
    return rc < 0 ? rc : cw_spec_add(spec, name, field.dtype, field.rank, field.dims, err);
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct from_values_opts *o = opts;
    const struct cw_value *first = o->values.n > 0 ? &o->values.items[0] : NULL;
    CW_SPEC_AUTO spec = {0};
    int rc = 0;
    (void)in;
    (void)in_n;
    if (o->values.type != CW_VALUE_LIST || !first)
        return cw_err_set(err, CW_E_INVALID,
                          "option values: must be a list of at least one element");
    for (size_t i = 0; i < o->values.n; i++) {
        const struct cw_value *v = &o->values.items[i];
        if ((v->type == CW_VALUE_OBJECT) != (first->type == CW_VALUE_OBJECT) ||
            (v->type == CW_VALUE_OBJECT && v->n != first->n))
            return cw_err_set(err, CW_E_INVALID,
                              "option values: element %zu has other fields than element 0", i);
    }
    if (first->type != CW_VALUE_OBJECT)
        rc = infer_field_of(o, o->field, &spec, err);
    for (size_t k = 0; first->type == CW_VALUE_OBJECT && k < first->n && rc == 0; k++)
        rc = infer_field_of(o, first->keys[k], &spec, err);
    if (rc == 0 && spec.n == 0)
        rc = cw_err_set(err, CW_E_INVALID, "option values: element 0 has no fields");
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

static int open_values(const void *opts, const struct cw_op_open *how, void **ret_state,
                       struct cw_err *err)
{
    struct cw_spec *spec = CW_NEW(struct cw_spec);
    (void)how;
    int rc = infer(opts, NULL, 0, spec, err);
    if (rc < 0)
        cw_mem_free(spec);
    else
        *ret_state = spec;
    return rc;
}

static void close_values(void *state)
{
    if (state)
        cw_spec_fini(state);
    cw_mem_free(state);
}

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    const struct from_values_opts *o = opts;
    (void)state;
    (void)in_n;
    (void)inputs_n;
    (void)err;
    *ret_n = (int64_t)o->values.n;
    return 0;
}

/* Writes the numbers of a value in order; returns their count. */
static size_t fill(const struct cw_value *v, const struct cw_view *view, size_t at)
{
    size_t begin = at;
    for (size_t i = 0; v->type == CW_VALUE_LIST && i < v->n; i++)
        at += fill(&v->items[i], view, at);
    if (v->type == CW_VALUE_LIST)
        return at - begin;
    if (v->type == CW_VALUE_F64)
        cw_num_put_f64(view->dtype, view->data, at, v->f);
    else
        cw_num_put_i64(view->dtype, view->data, at, v->type == CW_VALUE_BOOL ? v->b : v->i);
    return 1;
}

static int read_field(const struct cw_op_ctx *ctx, const struct cw_field *field,
                      const struct cw_value *v, struct cw_view *ret_view, struct cw_err *err)
{
    struct cw_view view = {.dtype = field->dtype, .rank = field->rank};
    memcpy(view.dims, field->dims, sizeof(view.dims));
    if (field->dtype == CW_DTYPE_STR)
        view.bytes = strlen(v->s);
    int rc = cw_op_output(ctx, &view, err);
    if (rc < 0)
        return rc;
    if (field->dtype == CW_DTYPE_STR)
        memcpy(view.data, v->s, view.bytes);
    else
        fill(v, &view, 0);
    *ret_view = view;
    return 0;
}

static int read_value(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                      struct cw_element *ret_element, struct cw_err *err)
{
    const struct from_values_opts *o = opts;
    const struct cw_spec *spec = state;
    struct cw_op_ctx anywhere = *ctx;
    if (spec->n > 1)
        anywhere.slot = NULL; /* the slot is not used: it would be the same one for all fields */
    for (size_t k = 0; k < spec->n; k++) {
        const struct cw_value *v = value_at(o, (size_t)pos, spec->fields[k].name);
        int rc = read_field(&anywhere, &spec->fields[k], v, &ret_element->fields[k], err);
        if (rc < 0)
            return rc;
    }
    ret_element->n = spec->n;
    return 0;
}

static void describe(const void *opts, void *state, int64_t pos, struct cw_str *out)
{
    (void)opts;
    (void)state;
    cw_str_addf(out, "value %lld", (long long)pos);
}

const struct cw_op cw_op_from_values = {
    .name = "from_values",
    .version = 1,
    .summary = "elements that are written in the pipeline",
    .doc = "Each item of `values` is an element: a number, a bool, a string, or a list of numbers, "
           "nested for tensors.\n"
           "An item may also be an object; then its members are the fields. All elements must have "
           "the same fields,\n"
           "shapes and kinds. Integers are i64; if any of a field's numbers has a fraction, all "
           "are f64; `dtype`\n"
           "says otherwise.",
    .kind = CW_OP_SOURCE,
    .options = options,
    .options_bytes = sizeof(struct from_values_opts),
    .infer = infer,
    .open = open_values,
    .close = close_values,
    .count = count,
    .read = read_value,
    .describe = describe,
};
