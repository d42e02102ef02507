/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the options of columns and types of a source of tables from what a file says. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ops/source/table_fields.h"

/* Makes a field's name of a column's: what may not be in one becomes "_". */
static void field_name(const char *column, char *ret_name)
{
    size_t n = 0;
    for (const char *p = column; *p && n + 2 < CW_FIELD_NAME_BYTES; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_';
        bool digit = (*p >= '0' && *p <= '9') || *p == '.';
        if (n == 0 && digit)
            ret_name[n++] = '_';
        ret_name[n++] = letter || digit ? *p : '_';
    }
    ret_name[n] = '\0';
}

/* Whether something reads the column, or an option names it. */
static bool is_wanted(const struct cw_table_opts *o, const struct cw_op_names *wanted,
                      const char *column, const char *field)
{
    return !wanted || cw_op_names_wants(wanted, field) ||
           (o->types.type == CW_VALUE_OBJECT && cw_value_get(&o->types, field)) ||
           (o->fill.type == CW_VALUE_OBJECT && cw_value_get(&o->fill, column));
}

/* All columns that are wanted; they must be such as can be read. */
static int choose_all(const struct cw_table_kind *kind, const struct cw_table_opts *o,
                      const struct cw_table_file *file, const struct cw_op_names *wanted,
                      struct cw_value *columns, struct cw_err *err)
{
    struct cw_value *items = cw_value_set_list(columns, file->n);
    size_t n = 0;
    for (size_t i = 0; i < file->n; i++) {
        char name[CW_FIELD_NAME_BYTES];
        struct cw_field type = {0};
        const char *column = file->column(file->arg, i);
        field_name(column, name);
        if (!is_wanted(o, wanted, column, name))
            continue;
        if (n == CW_TABLE_COLUMNS_MAX)
            return cw_err_set(err, CW_E_LIMIT, "%s: more than %d %ss: choose `%s`", file->name,
                              CW_TABLE_COLUMNS_MAX, kind->column, kind->option);
        int rc = file->type(file->arg, i, &type, err);
        if (rc < 0)
            return cw_err_wrap(err, "%s: choose `%s` without it", file->name, kind->option);
        if (strcmp(name, column) == 0) {
            cw_value_set_str(&items[n++], column);
        } else {
            cw_value_set_object(&items[n]);
            cw_value_set_str(cw_value_member(&items[n++], name), column);
        }
    }
    columns->n = n; /* the rest are nulls, which own nothing */
    if (n == 0 && wanted) {
        cw_value_fini(columns);
        *columns = (struct cw_value){0};
        return choose_all(kind, o, file, NULL, columns, err);
    }
    return 0;
}

int cw_table_find(const struct cw_table_kind *kind, const struct cw_table_file *file,
                  const char *column, size_t *ret_i, struct cw_err *err)
{
    for (size_t i = 0; i < file->n; i++)
        if (strcmp(file->column(file->arg, i), column) == 0) {
            *ret_i = i;
            return 0;
        }
    CW_STR_AUTO has = {0};
    cw_autofree const char **names =
        cw_mem_new((file->n + 1) * sizeof(*names)); /* ends with NULL */
    for (size_t i = 0; i < file->n; i++)
        names[i] = file->column(file->arg, i);
    cw_str_suggest(column, names, &has);
    return cw_err_set(err, CW_E_INVALID, "%s: there is no %s %s%s", file->name, kind->column,
                      column, cw_str_text(&has));
}

static void type_text(const struct cw_field *type, struct cw_str *out)
{
    cw_str_add(out, cw_dtype_name(type->dtype));
    for (int i = 0; i < type->rank; i++) {
        cw_str_add(out, i ? "," : "[");
        if (type->dims[i] < 0)
            cw_str_add(out, "?");
        else
            cw_str_addf(out, "%lld", (long long)type->dims[i]);
    }
    cw_str_add(out, type->rank > 0 ? "]" : "");
}

static int add_type(const struct cw_table_kind *kind, const struct cw_table_file *file,
                    const char *field, const struct cw_value *columns, struct cw_value *types,
                    struct cw_err *err)
{
    const bool packed = columns->type == CW_VALUE_LIST;
    const struct cw_value *first = packed && columns->n > 0 ? &columns->items[0] : columns;
    struct cw_field type = {0};
    size_t i = 0;
    if (cw_value_get(types, field) || first->type != CW_VALUE_STR)
        return 0; /* what is no name is told by infer */
    int rc = cw_table_find(kind, file, first->s, &i, err);
    if (rc < 0)
        return rc;
    rc = file->type(file->arg, i, &type, err);
    if (rc < 0)
        return cw_err_wrap(err, "%s", file->name);
    if (packed) {
        type.rank = 1;
        type.dims[0] = (int64_t)columns->n;
    }
    CW_STR_AUTO text = {0};
    type_text(&type, &text);
    cw_value_set_str(cw_value_member(types, field), cw_str_text(&text));
    return 0;
}

static int add_types(const struct cw_table_kind *kind, const struct cw_table_file *file,
                     const struct cw_value *item, struct cw_value *types, struct cw_err *err)
{
    int rc = 0;
    if (item->type == CW_VALUE_STR)
        return add_type(kind, file, item->s, item, types, err);
    for (size_t i = 0; rc == 0 && item->type == CW_VALUE_OBJECT && i < item->n; i++)
        rc = add_type(kind, file, item->keys[i], &item->items[i], types, err);
    return rc;
}

int cw_table_complete(const struct cw_table_kind *kind, const struct cw_table_opts *o,
                      const struct cw_table_file *file, const struct cw_op_names *wanted,
                      struct cw_value *said, struct cw_err *err)
{
    struct cw_value columns = {0}, types = {0};
    int rc = 0;
    if (o->columns.type == CW_VALUE_NULL)
        rc = choose_all(kind, o, file, wanted, &columns, err);
    else
        cw_value_copy(&columns, &o->columns);
    if (o->types.type == CW_VALUE_OBJECT)
        cw_value_copy(&types, &o->types);
    else
        cw_value_set_object(&types);
    if (columns.type != CW_VALUE_LIST && rc == 0)
        rc = add_types(kind, file, &columns, &types, err);
    for (size_t i = 0; rc == 0 && columns.type == CW_VALUE_LIST && i < columns.n; i++)
        rc = add_types(kind, file, &columns.items[i], &types, err);
    if (rc == 0) {
        cw_value_copy(cw_value_member(said, kind->option), &columns);
        cw_value_copy(cw_value_member(said, "types"), &types);
    }
    cw_value_fini(&columns);
    cw_value_fini(&types);
    return rc;
}
