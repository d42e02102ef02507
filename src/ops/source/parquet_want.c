/* SPDX-License-Identifier: Apache-2.0 */
/* What the source `parquet` wants of the columns of a file: their types, compared with those of the
 * fields, and the value of nulls. */
#include "ops/source/parquet_want.h"

#include <string.h>

const char *const cw_parquet_decimals[] = {"refuse", "f64", "i64", NULL};

const struct cw_table_kind cw_parquet_table = {.option = "columns",
                                               .column = "column",
                                               .where = "The footer of the file",
                                               .rank_max = 1,
                                               .packs = true};

/* STR: decimals are refused. */
static enum cw_dtype decimal_dtype(const struct cw_parquet_opts *o)
{
    static const enum cw_dtype dtypes[] = {CW_DTYPE_STR, CW_DTYPE_F64, CW_DTYPE_I64};
    return dtypes[o->decimal];
}

/* The type of a row of a leaf, and how its values get it. */
static int type_of(const struct cw_parquet_opts *o, const struct cw_pq_leaf *leaf,
                   struct cw_field *ret_type, enum cw_pq_change *ret_change, struct cw_err *err)
{
    int64_t dim = -1;
    int rc = cw_pq_leaf_dtype(leaf, decimal_dtype(o), &ret_type->dtype, &dim, ret_change, err);
    if (rc < 0)
        return rc;
    if (leaf->max_rep > 0 && dim >= 0)
        return cw_err_set(err, CW_E_UNSUPPORTED, "column %s: lists of bytes are not supported",
                          leaf->name);
    ret_type->rank = dim >= 0 || leaf->max_rep > 0;
    ret_type->dims[0] = dim;
    return 0;
}

static const char *column(const void *arg, size_t i)
{
    return ((const struct cw_parquet_columns *)arg)->footer->leaves[i].name;
}

static int type(const void *arg, size_t i, struct cw_field *ret_type, struct cw_err *err)
{
    const struct cw_parquet_columns *c = arg;
    enum cw_pq_change change;
    return type_of(c->opts, &c->footer->leaves[i], ret_type, &change, err);
}

struct cw_table_file cw_parquet_columns_of(const struct cw_parquet_columns *columns,
                                           const char *name)
{
    return (struct cw_table_file){.name = name,
                                  .n = columns->footer->leaves_n,
                                  .column = column,
                                  .type = type,
                                  .arg = columns};
}

int cw_parquet_want(const struct cw_parquet_opts *o, const struct cw_table_fields *fields,
                    const struct cw_table_column *wanted, const char *name,
                    const struct cw_pq_footer *footer, size_t *ret_leaf,
                    struct cw_pq_want *ret_want, struct cw_table_fill *ret_fill, struct cw_err *err)
{
    const struct cw_parquet_columns columns = {.opts = o, .footer = footer};
    const struct cw_table_file file = cw_parquet_columns_of(&columns, name);
    struct cw_field found = {0};
    int rc = cw_table_find(&cw_parquet_table, &file, wanted->name, ret_leaf, err);
    if (rc < 0)
        return rc;
    struct cw_pq_want want = {.leaf = &footer->leaves[*ret_leaf], .bytes_max = CW_PQ_BYTES_MAX};
    rc = type_of(o, want.leaf, &found, &want.change, err);
    if (rc < 0)
        return cw_err_wrap(err, "%s", name);
    const int64_t dim = found.rank > 0 ? found.dims[0] : -1;
    rc = cw_table_compare(&cw_parquet_table, fields, wanted, &found, name, err);
    want.width = cw_dtype_bytes(found.dtype) * (dim > 0 ? (size_t)dim : 1);
    if (rc == 0 && dim < 0)
        rc = cw_table_fill_of(&o->table, wanted->name, found.dtype, ret_fill, err);
    if (rc == 0 && dim < 0 && ret_fill->is_set) {
        want.fill = ret_fill->text ? (const void *)ret_fill->text : &ret_fill->number;
        want.fill_bytes = ret_fill->text ? strlen(ret_fill->text) : want.width;
    }
    *ret_want = want;
    return rc;
}
