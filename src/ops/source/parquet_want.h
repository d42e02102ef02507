/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the source `parquet`, and what they want of the columns of a file. */
#ifndef CW_OPS_SOURCE_PARQUET_WANT_H
#define CW_OPS_SOURCE_PARQUET_WANT_H

#include "format/parquet/slab.h"
#include "ops/source/table_fields.h"

struct cw_parquet_opts {
    struct cw_str_list pattern;
    struct cw_table_opts table;
    int decimal; /* index into cw_parquet_decimals */
    int64_t cache_bytes;
};
extern const char *const cw_parquet_decimals[]; /* refuse, f64, i64 */
extern const struct cw_table_kind cw_parquet_table;

/* The columns of a footer, which must live as long as what is returned. */
struct cw_parquet_columns {
    const struct cw_parquet_opts *opts;
    const struct cw_pq_footer *footer;
};
struct cw_table_file cw_parquet_columns_of(const struct cw_parquet_columns *columns,
                                           const char *name);

/* Says what is wanted of a column of a file, and compares it with the field. *ret_want may refer to
 * *ret_fill. */
int cw_parquet_want(const struct cw_parquet_opts *opts, const struct cw_table_fields *fields,
                    const struct cw_table_column *column, const char *name,
                    const struct cw_pq_footer *footer, size_t *ret_leaf,
                    struct cw_pq_want *ret_want, struct cw_table_fill *ret_fill,
                    struct cw_err *err);

#endif
