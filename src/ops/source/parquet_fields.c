/* SPDX-License-Identifier: Apache-2.0 */
/* Reads which fields the source `parquet` has: columns, packed ones, and their types. */
#include "ops/source/parquet_fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

const char *const cw_parquet_decimals[] = {"refuse", "f64", "i64", NULL};

enum cw_dtype cw_parquet_decimal_dtype(const struct cw_parquet_opts *o)
{
    static const enum cw_dtype dtypes[] = {CW_DTYPE_STR, CW_DTYPE_F64, CW_DTYPE_I64};
    return dtypes[o->decimal];
}

void cw_parquet_fields_fini(struct cw_parquet_fields *fields)
{
    cw_mem_free(fields->columns);
    cw_spec_fini(&fields->spec);
    *fields = (struct cw_parquet_fields){0};
}

/* Reads "2,?]" behind a bracket. */
static bool parse_dims(const char *p, int *ret_rank, int64_t *dims)
{
    int rank = 0;
    while (rank < CW_RANK_MAX) {
        char *end = NULL;
        if (*p == '?') {
            dims[rank++] = -1;
            p++;
        } else {
            dims[rank++] = strtoll(p, &end, 10);
            if (end == p || dims[rank - 1] < 0 || dims[rank - 1] > INT64_C(1) << 31)
                return false;
            p = end;
        }
        if (strcmp(p, "]") == 0) {
            *ret_rank = rank;
            return true;
        }
        if (*p++ != ',')
            return false;
    }
    return false;
}

static int parse_type(const char *field, const char *text, enum cw_dtype *ret_dtype, int *ret_rank,
                      int64_t *dims, struct cw_err *err)
{
    const char *bracket = strchr(text, '[');
    cw_autofree char *name =
        cw_mem_strndup(text, bracket ? (size_t)(bracket - text) : strlen(text));
    *ret_rank = 0;
    if (cw_dtype_parse(name, ret_dtype) < 0 ||
        (bracket && !parse_dims(bracket + 1, ret_rank, dims)))
        return cw_err_set(
            err, CW_E_INVALID,
            "option types: field %s: \"%s\" is not a type such as f32, i64[8] or u8[?]", field,
            text);
    if (*ret_rank > 1)
        return cw_err_set(err, CW_E_INVALID,
                          "option types: field %s: a column has values or lists, not %s", field,
                          text);
    return 0;
}

static int add_column(struct cw_parquet_fields *f, const struct cw_value *name, size_t at,
                      struct cw_err *err)
{
    if (name->type != CW_VALUE_STR)
        return cw_err_set(err, CW_E_INVALID, "option columns: the name of a column is %s",
                          cw_value_type_name(name->type));
    if (f->columns_n == CW_PARQUET_COLUMNS_MAX)
        return cw_err_set(err, CW_E_LIMIT, "option columns: more than %d columns",
                          CW_PARQUET_COLUMNS_MAX);
    CW_GROW(f->columns, f->columns_n, f->columns_cap);
    f->columns[f->columns_n++] =
        (struct cw_parquet_column){.name = name->s, .field = f->spec.n, .at = at};
    return 0;
}

static int check_packed(const char *name, size_t columns, enum cw_dtype dtype, int rank,
                        const int64_t *dims, struct cw_err *err)
{
    if (dtype != CW_DTYPE_STR && rank == 1 && dims[0] == (int64_t)columns)
        return 0;
    return cw_err_set(
        err, CW_E_INVALID,
        "option types: field %s packs %zu columns, so its type is a number with [%zu]", name,
        columns, columns);
}

/* Adds a field that is made of one column, or of a list of them. */
static int add_field(const struct cw_parquet_opts *o, const char *name,
                     const struct cw_value *columns, struct cw_parquet_fields *f,
                     struct cw_err *err)
{
    const struct cw_value *type =
        o->types.type == CW_VALUE_OBJECT ? cw_value_get(&o->types, name) : NULL;
    bool packed = columns->type == CW_VALUE_LIST;
    enum cw_dtype dtype = CW_DTYPE_U8;
    int rank = 0, rc = 0;
    int64_t dims[CW_RANK_MAX] = {0};
    if (!type || type->type != CW_VALUE_STR)
        return cw_err_set(err, CW_E_INVALID,
                          "option types: there is no type of the field %s. The footer of the file "
                          "has it; where that cannot be read, say for instance {\"%s\": \"f32\"}",
                          name, name);
    if (packed && columns->n == 0)
        return cw_err_set(err, CW_E_INVALID, "option columns: field %s has no columns", name);
    rc = parse_type(name, type->s, &dtype, &rank, dims, err);
    if (rc == 0 && packed)
        rc = check_packed(name, columns->n, dtype, rank, dims, err);
    for (size_t i = 0; rc == 0 && i < (packed ? columns->n : 1); i++)
        rc = add_column(f, packed ? &columns->items[i] : columns, i, err);
    if (rc < 0)
        return rc;
    if (f->spec.n < CW_FIELDS_MAX)
        f->is_packed[f->spec.n] = packed;
    return cw_spec_add(&f->spec, name, dtype, rank, dims, err);
}

static int add_item(const struct cw_parquet_opts *o, const struct cw_value *item,
                    struct cw_parquet_fields *f, struct cw_err *err)
{
    int rc = 0;
    if (item->type == CW_VALUE_STR)
        return add_field(o, item->s, item, f, err);
    if (item->type != CW_VALUE_OBJECT)
        return cw_err_set(
            err, CW_E_INVALID,
            "option columns: holds names, and objects {\"field\": column or columns}, "
            "not %s",
            cw_value_type_name(item->type));
    for (size_t i = 0; rc == 0 && i < item->n; i++)
        rc = add_field(o, item->keys[i], &item->items[i], f, err);
    return rc;
}

static int compare_names(const void *a, const void *b)
{
    const struct cw_parquet_column *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* An object of several fields: they are taken in the order of their names, since the order of an
 * object is no property of it. */
static int add_object(const struct cw_parquet_opts *o, struct cw_parquet_fields *f,
                      struct cw_err *err)
{
    cw_autofree struct cw_parquet_column *keys =
        CW_NEW_ARRAY(struct cw_parquet_column, o->columns.n + 1);
    int rc = 0;
    for (size_t i = 0; i < o->columns.n; i++)
        keys[i] = (struct cw_parquet_column){.name = o->columns.keys[i], .at = i};
    qsort(keys, o->columns.n, sizeof(*keys), compare_names);
    for (size_t i = 0; rc == 0 && i < o->columns.n; i++)
        rc = add_field(o, keys[i].name, &o->columns.items[keys[i].at], f, err);
    return rc;
}

int cw_parquet_fields_read(const struct cw_parquet_opts *o, struct cw_parquet_fields *ret_fields,
                           struct cw_err *err)
{
    struct cw_parquet_fields f = {0};
    int rc = 0;
    if (o->columns.type == CW_VALUE_OBJECT)
        rc = add_object(o, &f, err);
    else if (o->columns.type != CW_VALUE_LIST)
        rc = add_item(o, &o->columns, &f, err);
    else
        for (size_t i = 0; rc == 0 && i < o->columns.n; i++)
            rc = add_item(o, &o->columns.items[i], &f, err);
    if (rc == 0 && f.spec.n == 0)
        rc = cw_err_set(err, CW_E_INVALID, "option columns: no columns are chosen");
    if (rc < 0)
        cw_parquet_fields_fini(&f);
    else
        *ret_fields = f;
    return rc;
}
