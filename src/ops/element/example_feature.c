/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/element/example_feature.h"

#include "base/mem.h"
#include "data/strings.h"
#include "ops/op_util.h"

#include <string.h>

void cw_example_features_fini(struct cw_example_features *features)
{
    if (!features)
        return;
    for (size_t i = 0; i < features->n; i++) {
        cw_mem_free(features->v[i].feature);
        cw_value_fini(&features->v[i].def);
    }
    cw_mem_free(features->v);
    *features = (struct cw_example_features){0};
}

/* ---- options ---- */

static int bad(const char *name, const char *why, struct cw_err *err)
{
    return cw_err_set(err, CW_E_INVALID, "option features: \"%s\": %s", name, why);
}

static int check_default(const struct cw_example_field *f, struct cw_err *err)
{
    bool is_number = f->def.type == CW_VALUE_I64 || f->def.type == CW_VALUE_F64;
    bool fits = f->kind == CW_EXAMPLE_BYTES   ? f->def.type == CW_VALUE_STR
                : f->kind == CW_EXAMPLE_INT64 ? f->def.type == CW_VALUE_I64
                                              : is_number;
    if (f->def.type != CW_VALUE_NULL && !fits)
        return bad(f->field.name, "its default does not have its type", err);
    if (f->def.type != CW_VALUE_NULL && f->field.rank > 0 &&
        (f->field.dims[0] < 0 || f->kind == CW_EXAMPLE_BYTES))
        return bad(f->field.name, "what may have no values, and a list of strings, has no default",
                   err);
    return 0;
}

static int set_type(struct cw_example_field *f, const char *text, struct cw_err *err)
{
    if (cw_op_parse_type(text, &f->field) < 0)
        return bad(f->field.name, "its type is none: str, i64, f32, f32[4], i64[-1] are", err);
    if (f->field.dtype == CW_DTYPE_STR)
        f->kind = CW_EXAMPLE_BYTES;
    else if (f->field.dtype == CW_DTYPE_I64)
        f->kind = CW_EXAMPLE_INT64;
    else if (f->field.dtype == CW_DTYPE_F32)
        f->kind = CW_EXAMPLE_FLOAT;
    else
        return bad(f->field.name, "a feature is a str, i64 or f32; cast it behind", err);
    if (f->kind == CW_EXAMPLE_BYTES && f->is_list)
        return bad(f->field.name, "feature lists of strings are not supported", err);
    if (f->is_list && f->field.rank == 0)
        return bad(f->field.name, "a feature list has a dimension of steps: i64[-1]", err);
    for (int i = 1; i < f->field.rank; i++)
        if (f->field.dims[i] < 0)
            return bad(f->field.name, "only its first dimension may be -1", err);
    return check_default(f, err);
}

static const char *text_of(const struct cw_value *object, const char *key)
{
    const struct cw_value *value = cw_value_get(object, key);
    return value && value->type == CW_VALUE_STR ? value->s : NULL;
}

/* The value of a field: the text of its type, or an object. */
static int take_value(struct cw_example_field *f, const struct cw_value *value, struct cw_err *err)
{
    const char *type = value->type == CW_VALUE_STR ? value->s : NULL, *feature = f->field.name;
    size_t known = 0;
    if (value->type == CW_VALUE_OBJECT) {
        const struct cw_value *def = cw_value_get(value, "default");
        type = text_of(value, "type");
        known = type != NULL;
        if (text_of(value, "feature")) {
            feature = text_of(value, "feature");
            known++;
        }
        if (def) {
            cw_value_copy(&f->def, def);
            known++;
        }
    }
    f->feature = cw_mem_strdup(feature);
    if (!type || known != value->n)
        return bad(f->field.name, "must be a type, or {\"type\", \"feature\", \"default\"}", err);
    return set_type(f, type, err);
}

static int add(struct cw_example_features *features, const char *name, const struct cw_value *value,
               bool is_list, struct cw_err *err)
{
    CW_SPEC_AUTO checked = {0};
    int rc = cw_spec_add(&checked, name, CW_DTYPE_STR, 0, NULL, err);
    if (rc < 0) {
        (void)cw_err_wrap(err,
                          "option features (a feature with such a name: {\"image\": {\"feature\": "
                          "\"image/encoded\", \"type\": \"str\"}})");
        return rc;
    }
    struct cw_example_field *f = &features->v[features->n++];
    f->field = checked.fields[0];
    f->is_list = is_list;
    rc = take_value(f, value, err);
    for (size_t i = 0; i + 1 < features->n && rc == 0; i++)
        if (features->v[i].is_list == is_list && strcmp(features->v[i].feature, f->feature) == 0)
            rc = bad(name, "this feature is asked for twice", err);
    return rc;
}

int cw_example_features_parse(const struct cw_value *of_context, const struct cw_value *lists,
                              struct cw_example_features *ret_features, struct cw_err *err)
{
    const struct cw_value *const both[] = {of_context, lists};
    struct cw_example_features features = {0};
    int rc = 0;
    for (size_t k = 0; k < CW_ARRAY_LEN(both); k++)
        if (both[k]->type != CW_VALUE_OBJECT && both[k]->type != CW_VALUE_NULL)
            return cw_err_set(err, CW_E_INVALID,
                              "option features: must be an object: {\"label\": \"i64\"}");
    if (of_context->n + lists->n == 0)
        return cw_err_set(err, CW_E_INVALID, "option features: is needed: {\"label\": \"i64\"}");
    if (of_context->n + lists->n > CW_FIELDS_MAX)
        return cw_err_set(err, CW_E_LIMIT, "option features: more than %d", CW_FIELDS_MAX);
    features.v = CW_NEW_ARRAY(struct cw_example_field, of_context->n + lists->n);
    for (size_t k = 0; k < CW_ARRAY_LEN(both); k++)
        for (size_t i = 0; i < both[k]->n && rc == 0; i++)
            rc = add(&features, both[k]->keys[i], &both[k]->items[i], k == 1, err);
    if (rc < 0)
        cw_example_features_fini(&features);
    else
        *ret_features = features;
    return rc;
}

/* ---- values ---- */

static int bad_count(const struct cw_example_field *f, const struct cw_example_values *values,
                     struct cw_err *err)
{
    CW_STR_AUTO text = {0};
    cw_op_type_text(&f->field, &text);
    if (f->is_list)
        return cw_err_set(err, CW_E_CORRUPT, "it has %zu steps with %zu values%s, which is not %s",
                          values->steps, values->n, values->is_even ? "" : ", not as many in each",
                          cw_str_text(&text));
    return cw_err_set(err, CW_E_CORRUPT, "it has %zu values, which is not %s", values->n,
                      cw_str_text(&text));
}

/* Sets the dims of the view, and checks that the values are as many. */
static int set_dims(const struct cw_example_field *f, const struct cw_example_values *values,
                    struct cw_view *view, struct cw_err *err)
{
    uint64_t row = 1, all = 0;
    for (int i = 1; i < f->field.rank; i++)
        if (__builtin_mul_overflow(row, (uint64_t)f->field.dims[i], &row))
            return bad_count(f, values, err);
    memcpy(view->dims, f->field.dims, sizeof(view->dims));
    if (f->field.rank > 0 && view->dims[0] < 0)
        view->dims[0] =
            f->is_list ? (int64_t)values->steps : (row > 0 ? (int64_t)(values->n / row) : 0);
    uint64_t first = f->field.rank > 0 ? (uint64_t)view->dims[0] : 1;
    bool fits = !__builtin_mul_overflow(first, row, &all) && all == values->n &&
                (!f->is_list || (values->is_even && first == values->steps));
    return fits ? 0 : bad_count(f, values, err);
}

static void fill(const struct cw_example_field *f, struct cw_view *view)
{
    double d = f->def.type == CW_VALUE_I64 ? (double)f->def.i : f->def.f;
    float narrow = (float)d;
    size_t bytes = cw_dtype_bytes(view->dtype);
    const void *value = f->kind == CW_EXAMPLE_INT64 ? (const void *)&f->def.i : &narrow;
    for (size_t at = 0; at < view->bytes; at += bytes)
        memcpy((char *)view->data + at, value, bytes);
}

/* A feature that has no values. */
static int make_default(const struct cw_op_ctx *ctx, const struct cw_example_field *f,
                        struct cw_view *view, struct cw_err *err)
{
    struct cw_op_ctx anywhere = *ctx;
    bool may_be_empty = f->field.rank > 0 && f->field.dims[0] < 0;
    if (f->def.type == CW_VALUE_NULL && !may_be_empty)
        return cw_err_set(err, CW_E_CORRUPT, "it is not there, and has no default");
    if (f->kind == CW_EXAMPLE_BYTES && f->field.rank == 0) {
        view->data = f->def.s;
        view->bytes = strlen(f->def.s);
        return 0;
    }
    memcpy(view->dims, f->field.dims, sizeof(view->dims));
    if (may_be_empty)
        view->dims[0] = 0;
    anywhere.slot = NULL;
    if (f->kind == CW_EXAMPLE_BYTES)
        view->bytes = cw_strings_table_bytes(0);
    int rc = cw_op_output(&anywhere, view, err);
    if (rc == 0 && f->kind == CW_EXAMPLE_BYTES)
        memset(view->data, 0, view->bytes);
    else if (rc == 0)
        fill(f, view);
    return rc;
}

static int make(const struct cw_op_ctx *ctx, const void *record, const struct cw_example_field *f,
                const struct cw_example_feature *found, struct cw_view *view, struct cw_err *err)
{
    struct cw_example_values values = {0};
    struct cw_op_ctx anywhere = *ctx;
    int rc = found->p ? cw_example_count(record, found, f->kind, &values, err) : 0;
    if (rc < 0)
        return rc;
    if (values.n == 0 && !(f->is_list && values.steps > 0))
        return make_default(ctx, f, view, err);
    rc = set_dims(f, &values, view, err);
    if (rc < 0)
        return rc;
    if (f->kind == CW_EXAMPLE_BYTES && f->field.rank == 0) {
        view->data = (void *)(uintptr_t)values.bytes;
        view->bytes = values.bytes_n;
        return 0;
    }
    view->bytes = cw_strings_table_bytes((int64_t)values.n) + values.all_bytes; /* of strings */
    /* The slot of the context is for operators that make one field. */
    anywhere.slot = NULL;
    rc = cw_op_output(&anywhere, view, err);
    if (rc == 0 && f->kind == CW_EXAMPLE_BYTES)
        cw_example_read_strings(found, values.n, view->data);
    else if (rc == 0)
        cw_example_read(found, f->kind, view->data);
    return rc;
}

int cw_example_feature_make(const struct cw_op_ctx *ctx, const void *record,
                            const struct cw_example_field *its,
                            const struct cw_example_feature *found, struct cw_view *ret_view,
                            struct cw_err *err)
{
    struct cw_view view = {.dtype = its->field.dtype, .rank = its->field.rank};
    int rc = make(ctx, record, its, found, &view, err);
    if (rc < 0)
        (void)cw_err_wrap(err, "feature \"%s\"", its->feature);
    *ret_view = view;
    return rc;
}
