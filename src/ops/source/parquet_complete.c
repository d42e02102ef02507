/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the options `columns` and `types` of the source `parquet` from the footer of a file. */
#include <string.h>

#include "base/mem.h"
#include "ops/source/parquet_fields.h"

bool cw_parquet_is_open(const void *opts)
{
    struct cw_parquet_fields fields = {0};
    bool is_open = cw_parquet_fields_read(opts, &fields, NULL) < 0;
    cw_parquet_fields_fini(&fields);
    return is_open;
}

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
static bool is_wanted(const struct cw_parquet_opts *o, const struct cw_op_names *wanted,
                      const char *column, const char *field)
{
    return !wanted || cw_op_names_wants(wanted, field) ||
           (o->types.type == CW_VALUE_OBJECT && cw_value_get(&o->types, field)) ||
           (o->fill.type == CW_VALUE_OBJECT && cw_value_get(&o->fill, column));
}

/* All columns that are wanted; they must be such as can be read. */
static int choose_all(const struct cw_parquet_opts *o, const char *file,
                      const struct cw_pq_footer *footer, const struct cw_op_names *wanted,
                      struct cw_value *columns, struct cw_err *err)
{
    struct cw_value *items = cw_value_set_list(columns, footer->leaves_n);
    size_t n = 0;
    for (size_t i = 0; i < footer->leaves_n; i++) {
        char name[CW_FIELD_NAME_BYTES];
        enum cw_dtype dtype;
        enum cw_pq_change change;
        int64_t dim;
        const struct cw_pq_leaf *leaf = &footer->leaves[i];
        field_name(leaf->name, name);
        if (!is_wanted(o, wanted, leaf->name, name))
            continue;
        int rc = cw_pq_leaf_dtype(leaf, cw_parquet_decimal_dtype(o), &dtype, &dim, &change, err);
        if (rc < 0)
            return cw_err_wrap(err, "%s: choose `columns` without it", file);
        if (strcmp(name, leaf->name) == 0) {
            cw_value_set_str(&items[n++], leaf->name);
        } else {
            cw_value_set_object(&items[n]);
            cw_value_set_str(cw_value_member(&items[n++], name), leaf->name);
        }
    }
    columns->n = n; /* the rest are nulls, which own nothing */
    if (n == 0 && wanted) {
        cw_value_fini(columns);
        *columns = (struct cw_value){0};
        return choose_all(o, file, footer, NULL, columns, err);
    }
    return 0;
}

static int add_type(const struct cw_parquet_opts *o, const char *file,
                    const struct cw_pq_footer *footer, const char *field,
                    const struct cw_value *columns, struct cw_value *types, struct cw_err *err)
{
    bool packed = columns->type == CW_VALUE_LIST;
    const struct cw_value *first = packed && columns->n > 0 ? &columns->items[0] : columns;
    enum cw_dtype dtype;
    enum cw_pq_change change;
    int64_t dim;
    if (cw_value_get(types, field) || first->type != CW_VALUE_STR)
        return 0; /* what is no name is told by infer */
    int i = cw_pq_footer_find(footer, first->s);
    if (i < 0)
        return cw_err_set(err, CW_E_INVALID, "%s: there is no column %s", file, first->s);
    const struct cw_pq_leaf *leaf = &footer->leaves[i];
    int rc = cw_pq_leaf_dtype(leaf, cw_parquet_decimal_dtype(o), &dtype, &dim, &change, err);
    if (rc < 0)
        return cw_err_wrap(err, "%s", file);
    CW_STR_AUTO text = {0};
    cw_str_addf(&text, "%s", cw_dtype_name(dtype));
    if (packed)
        cw_str_addf(&text, "[%zu]", columns->n);
    else if (dim >= 0)
        cw_str_addf(&text, "[%lld]", (long long)dim);
    else if (leaf->max_rep > 0)
        cw_str_addf(&text, "[?]");
    cw_value_set_str(cw_value_member(types, field), cw_str_text(&text));
    return 0;
}

static int add_types(const struct cw_parquet_opts *o, const char *file,
                     const struct cw_pq_footer *footer, const struct cw_value *item,
                     struct cw_value *types, struct cw_err *err)
{
    int rc = 0;
    if (item->type == CW_VALUE_STR)
        return add_type(o, file, footer, item->s, item, types, err);
    for (size_t i = 0; rc == 0 && item->type == CW_VALUE_OBJECT && i < item->n; i++)
        rc = add_type(o, file, footer, item->keys[i], &item->items[i], types, err);
    return rc;
}

int cw_parquet_complete_from(const struct cw_parquet_opts *o, const char *file,
                             const struct cw_pq_footer *footer, const struct cw_op_names *wanted,
                             struct cw_value *options, struct cw_err *err)
{
    struct cw_value columns = {0}, types = {0};
    int rc = 0;
    if (o->columns.type == CW_VALUE_NULL)
        rc = choose_all(o, file, footer, wanted, &columns, err);
    else
        cw_value_copy(&columns, &o->columns);
    if (o->types.type == CW_VALUE_OBJECT)
        cw_value_copy(&types, &o->types);
    else
        cw_value_set_object(&types);
    if (columns.type != CW_VALUE_LIST && rc == 0)
        rc = add_types(o, file, footer, &columns, &types, err);
    for (size_t i = 0; rc == 0 && columns.type == CW_VALUE_LIST && i < columns.n; i++)
        rc = add_types(o, file, footer, &columns.items[i], &types, err);
    if (rc == 0) {
        cw_value_copy(cw_value_member(options, "columns"), &columns);
        cw_value_copy(cw_value_member(options, "types"), &types);
    }
    cw_value_fini(&columns);
    cw_value_fini(&types);
    return rc;
}
