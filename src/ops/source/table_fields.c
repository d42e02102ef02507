/* SPDX-License-Identifier: Apache-2.0 */
/* Reads which fields a source of tables has: columns, packed ones, and their types; and compares them
 * with those of a file. */
#include "ops/source/table_fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void cw_table_fields_fini(struct cw_table_fields *fields)
{
    cw_mem_free(fields->columns);
    cw_spec_fini(&fields->spec);
    *fields = (struct cw_table_fields){0};
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

static int parse_type(const struct cw_table_kind *kind, const char *field, const char *text,
                      struct cw_field *ret_type, struct cw_err *err)
{
    const char *bracket = strchr(text, '[');
    cw_autofree char *name =
        cw_mem_strndup(text, bracket ? (size_t)(bracket - text) : strlen(text));
    ret_type->rank = 0;
    if (cw_dtype_parse(name, &ret_type->dtype) < 0 ||
        (bracket && !parse_dims(bracket + 1, &ret_type->rank, ret_type->dims)))
        return cw_err_set(
            err, CW_E_INVALID,
            "option types: field %s: \"%s\" is not a type such as f32, i64[8] or u8[?]", field,
            text);
    if (ret_type->rank > kind->rank_max)
        return cw_err_set(
            err, CW_E_INVALID,
            "option types: field %s: a row of a %s has at most %d dimension%s, not %s", field,
            kind->column, kind->rank_max, kind->rank_max == 1 ? "" : "s", text);
    return 0;
}

/* Reads the type that the options give a field. */
static int type_of(const struct cw_table_kind *kind, const struct cw_table_opts *o,
                   const char *field, struct cw_field *ret_type, struct cw_err *err)
{
    const struct cw_value *type =
        o->types.type == CW_VALUE_OBJECT ? cw_value_get(&o->types, field) : NULL;
    if (!type || type->type != CW_VALUE_STR)
        return cw_err_set(err, CW_E_INVALID,
                          "option types: there is no type of the field %s. %s has it; where that "
                          "cannot be read, say for instance {\"%s\": \"f32\"}",
                          field, kind->where, field);
    return parse_type(kind, field, type->s, ret_type, err);
}

static int add_column(const struct cw_table_kind *kind, struct cw_table_fields *f,
                      const struct cw_value *name, size_t at, struct cw_err *err)
{
    if (name->type != CW_VALUE_STR)
        return cw_err_set(err, CW_E_INVALID, "option %s: the name of a %s is %s", kind->option,
                          kind->column, cw_value_type_name(name->type));
    if (f->columns_n == CW_TABLE_COLUMNS_MAX)
        return cw_err_set(err, CW_E_LIMIT, "option %s: more than %d %ss", kind->option,
                          CW_TABLE_COLUMNS_MAX, kind->column);
    CW_GROW(f->columns, f->columns_n, f->columns_cap);
    f->columns[f->columns_n++] =
        (struct cw_table_column){.name = name->s, .field = f->spec.n, .at = at};
    return 0;
}

/* Checks that columns, a list, can become one field of this type. */
static int check_packed(const struct cw_table_kind *kind, const char *name,
                        const struct cw_value *columns, const struct cw_field *type,
                        struct cw_err *err)
{
    if (!kind->packs)
        return cw_err_set(err, CW_E_INVALID, "option %s: field %s is a list: a field has one %s",
                          kind->option, name, kind->column);
    if (columns->n == 0)
        return cw_err_set(err, CW_E_INVALID, "option %s: field %s has no %ss", kind->option, name,
                          kind->column);
    if (type->dtype == CW_DTYPE_STR || type->rank != 1 || type->dims[0] != (int64_t)columns->n)
        return cw_err_set(
            err, CW_E_INVALID,
            "option types: field %s packs %zu %ss, so its type is a number with [%zu]", name,
            columns->n, kind->column, columns->n);
    return 0;
}

/* Adds a field that is made of one column, or of a list of them. */
static int add_field(const struct cw_table_kind *kind, const struct cw_table_opts *o,
                     const char *name, const struct cw_value *columns, struct cw_table_fields *f,
                     struct cw_err *err)
{
    const bool packed = columns->type == CW_VALUE_LIST;
    struct cw_field type = {0};
    int rc = type_of(kind, o, name, &type, err);
    if (rc == 0 && packed)
        rc = check_packed(kind, name, columns, &type, err);
    for (size_t i = 0; rc == 0 && i < (packed ? columns->n : 1); i++)
        rc = add_column(kind, f, packed ? &columns->items[i] : columns, i, err);
    if (rc < 0)
        return rc;
    if (f->spec.n < CW_FIELDS_MAX)
        f->is_packed[f->spec.n] = packed;
    return cw_spec_add(&f->spec, name, type.dtype, type.rank, type.dims, err);
}

static int add_item(const struct cw_table_kind *kind, const struct cw_table_opts *o,
                    const struct cw_value *item, struct cw_table_fields *f, struct cw_err *err)
{
    int rc = 0;
    if (item->type == CW_VALUE_STR)
        return add_field(kind, o, item->s, item, f, err);
    if (item->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID,
                          "option %s: holds names, and objects {\"field\": %s%s}, not %s",
                          kind->option, kind->column, kind->packs ? " or list of them" : "",
                          cw_value_type_name(item->type));
    for (size_t i = 0; rc == 0 && i < item->n; i++)
        rc = add_field(kind, o, item->keys[i], &item->items[i], f, err);
    return rc;
}

static int compare_names(const void *a, const void *b)
{
    const struct cw_table_column *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* An object of several fields: they are taken in the order of their names, since the order of an
 * object is no property of it. */
static int add_object(const struct cw_table_kind *kind, const struct cw_table_opts *o,
                      struct cw_table_fields *f, struct cw_err *err)
{
    cw_autofree struct cw_table_column *keys =
        CW_NEW_ARRAY(struct cw_table_column, o->columns.n + 1);
    int rc = 0;
    for (size_t i = 0; i < o->columns.n; i++)
        keys[i] = (struct cw_table_column){.name = o->columns.keys[i], .at = i};
    qsort(keys, o->columns.n, sizeof(*keys), compare_names);
    for (size_t i = 0; rc == 0 && i < o->columns.n; i++)
        rc = add_field(kind, o, keys[i].name, &o->columns.items[keys[i].at], f, err);
    return rc;
}

int cw_table_fields_read(const struct cw_table_kind *kind, const struct cw_table_opts *o,
                         struct cw_table_fields *ret_fields, struct cw_err *err)
{
    struct cw_table_fields f = {0};
    int rc = 0;
    if (o->columns.type == CW_VALUE_OBJECT)
        rc = add_object(kind, o, &f, err);
    else if (o->columns.type != CW_VALUE_LIST)
        rc = add_item(kind, o, &o->columns, &f, err);
    else
        for (size_t i = 0; rc == 0 && i < o->columns.n; i++)
            rc = add_item(kind, o, &o->columns.items[i], &f, err);
    if (rc == 0 && f.spec.n == 0)
        rc = cw_err_set(err, CW_E_INVALID, "option %s: no %ss are chosen", kind->option,
                        kind->column);
    if (rc < 0)
        cw_table_fields_fini(&f);
    else
        *ret_fields = f;
    return rc;
}

int cw_table_infer(const struct cw_table_kind *kind, const struct cw_table_opts *opts,
                   struct cw_spec *ret_spec, struct cw_err *err)
{
    struct cw_table_fields fields = {0};
    int rc = cw_table_fields_read(kind, opts, &fields, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&fields.spec);
    cw_table_fields_fini(&fields);
    return rc;
}

bool cw_table_is_complete(const struct cw_table_kind *kind, const struct cw_table_opts *opts)
{
    struct cw_table_fields fields = {0};
    bool is_complete = cw_table_fields_read(kind, opts, &fields, NULL) == 0;
    cw_table_fields_fini(&fields);
    return is_complete;
}

/* ---- comparison with a file ---- */

static bool is_same(const struct cw_field *type, const struct cw_field *field)
{
    bool same = type->dtype == field->dtype && type->rank == field->rank;
    for (int i = 0; same && i < type->rank; i++)
        same = type->dims[i] < 0 || field->dims[i] < 0 || type->dims[i] == field->dims[i];
    return same;
}

int cw_table_compare(const struct cw_table_kind *kind, const struct cw_table_fields *fields,
                     const struct cw_table_column *column, const struct cw_field *type,
                     const char *file, struct cw_err *err)
{
    const struct cw_field *field = &fields->spec.fields[column->field];
    const bool packed = fields->is_packed[column->field];
    if (packed && type->rank > 0)
        return cw_err_set(err, CW_E_INVALID,
                          "%s: %s %s has several values a row, so field %s cannot pack it", file,
                          kind->column, column->name, field->name);
    if (packed ? type->dtype == field->dtype : is_same(type, field))
        return 0;
    CW_SPEC_AUTO spec = {0};
    CW_STR_AUTO text = {0};
    if (cw_spec_add(&spec, kind->column, type->dtype, type->rank, type->dims, NULL) == 0)
        cw_spec_print(&spec, &text);
    return cw_err_set(err, CW_E_INVALID, "%s: %s %s has another type (%s) than the field %s", file,
                      kind->column, column->name, cw_str_text(&text), field->name);
}
