/* SPDX-License-Identifier: Apache-2.0 */
/* What the source `parquet` wants of the columns of a file: their types, compared with those of the
 * fields, and the value of nulls. */
#include <string.h>

#include "base/mem.h"
#include "ops/kernels/num.h"
#include "ops/source/parquet_fields.h"

static const struct cw_value *fill_of(const struct cw_parquet_opts *o, const char *column)
{
    if (o->fill.type == CW_VALUE_OBJECT)
        return cw_value_get(&o->fill, column);
    return o->fill.type == CW_VALUE_NULL ? NULL : &o->fill;
}

static int bad_fill(const char *column, enum cw_dtype dtype, struct cw_err *err)
{
    return cw_err_set(err, CW_E_INVALID, "option fill: the value for column %s, which is %s, %s",
                      column, cw_dtype_name(dtype),
                      dtype == CW_DTYPE_STR ? "is not a string"
                                            : "is not a number that it can hold");
}

static int set_fill(const struct cw_value *fill, const char *column, enum cw_dtype dtype,
                    struct cw_pq_want *want, uint64_t *ret_fill, struct cw_err *err)
{
    if (dtype == CW_DTYPE_STR) {
        if (fill->type != CW_VALUE_STR)
            return bad_fill(column, dtype, err);
        want->fill = fill->s;
        want->fill_bytes = strlen(fill->s);
        return 0;
    }
    *ret_fill = 0;
    if (fill->type == CW_VALUE_F64 && cw_dtype_is_float(dtype))
        cw_num_put_f64(dtype, ret_fill, 0, fill->f);
    else if (fill->type == CW_VALUE_STR && strcmp(fill->s, "nan") == 0 && cw_dtype_is_float(dtype))
        cw_num_put_f64(dtype, ret_fill, 0, __builtin_nan(""));
    else if (fill->type == CW_VALUE_I64 || fill->type == CW_VALUE_BOOL)
        cw_num_put_i64(dtype, ret_fill, 0, fill->type == CW_VALUE_BOOL ? fill->b : fill->i);
    else
        return bad_fill(column, dtype, err);
    want->fill = ret_fill;
    want->fill_bytes = want->width;
    return 0;
}

/* Compares the column of a file with the type of its field. */
static int compare(const struct cw_field *field, bool packed, const struct cw_pq_leaf *leaf,
                   enum cw_dtype dtype, int64_t dim, const char *name, struct cw_err *err)
{
    bool has_dim = dim >= 0 || leaf->max_rep > 0;
    if (leaf->max_rep > 0 && dim >= 0)
        return cw_err_set(err, CW_E_UNSUPPORTED, "%s: column %s: lists of bytes are not supported",
                          name, leaf->name);
    if (packed && has_dim)
        return cw_err_set(err, CW_E_INVALID,
                          "%s: column %s has several values a row, so field %s cannot pack it",
                          name, leaf->name, field->name);
    if (dtype == field->dtype &&
        (packed || (has_dim == (field->rank > 0) &&
                    (dim < 0 || field->dims[0] < 0 || field->dims[0] == dim))))
        return 0;
    CW_SPEC_AUTO spec = {0};
    CW_STR_AUTO text = {0};
    if (cw_spec_add(&spec, "column", dtype, has_dim, &dim, NULL) == 0)
        cw_spec_print(&spec, &text);
    return cw_err_set(err, CW_E_INVALID, "%s: column %s has another type (%s) than the field %s",
                      name, leaf->name, cw_str_text(&text), field->name);
}

int cw_parquet_want(const struct cw_parquet_opts *o, const struct cw_parquet_fields *fields,
                    const struct cw_parquet_column *column, const char *name,
                    const struct cw_pq_footer *footer, size_t *ret_leaf,
                    struct cw_pq_want *ret_want, uint64_t *ret_fill, struct cw_err *err)
{
    int i = cw_pq_footer_find(footer, column->name);
    enum cw_dtype dtype = CW_DTYPE_U8;
    int64_t dim = -1;
    if (i < 0)
        return cw_err_set(err, CW_E_INVALID, "%s: there is no column %s", name, column->name);
    const struct cw_pq_leaf *leaf = &footer->leaves[i];
    const struct cw_field *field = &fields->spec.fields[column->field];
    struct cw_pq_want want = {.leaf = leaf, .bytes_max = CW_PQ_BYTES_MAX};
    int rc = cw_pq_leaf_dtype(leaf, cw_parquet_decimal_dtype(o), &dtype, &dim, &want.change, err);
    if (rc < 0)
        return cw_err_wrap(err, "%s", name);
    rc = compare(field, fields->is_packed[column->field], leaf, dtype, dim, name, err);
    want.width = cw_dtype_bytes(dtype) * (dim > 0 ? (size_t)dim : 1);
    const struct cw_value *fill = fill_of(o, column->name);
    if (rc == 0 && fill && dim < 0)
        rc = set_fill(fill, column->name, dtype, &want, ret_fill, err);
    *ret_leaf = (size_t)i;
    *ret_want = want;
    return rc;
}
