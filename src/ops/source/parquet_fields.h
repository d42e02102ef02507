/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of the source `parquet`: of which columns each is made, as the options say. */
#ifndef CW_OPS_SOURCE_PARQUET_FIELDS_H
#define CW_OPS_SOURCE_PARQUET_FIELDS_H

#include "conf/opt.h"
#include "format/parquet/slab.h"
#include "ops/op_names.h"

#define CW_PARQUET_COLUMNS_MAX 4096 /* of one source */

struct cw_parquet_opts {
    struct cw_str_list pattern;
    struct cw_value columns, types, fill;
    int decimal; /* index into cw_parquet_decimals */
    int64_t cache_bytes;
};
extern const char *const cw_parquet_decimals[];                             /* refuse, f64, i64 */
enum cw_dtype cw_parquet_decimal_dtype(const struct cw_parquet_opts *opts); /* STR: refuse */

struct cw_parquet_column {
    const char *name; /* belongs to the options */
    size_t field;     /* index of its field */
    size_t at;        /* its place in a packed field */
};
struct cw_parquet_fields {
    struct cw_spec spec;
    bool is_packed[CW_FIELDS_MAX]; /* made of several columns */
    struct cw_parquet_column *columns;
    size_t columns_n, columns_cap;
};
/* Reads the options `columns` and `types`. The result borrows from them. */
int cw_parquet_fields_read(const struct cw_parquet_opts *opts, struct cw_parquet_fields *ret_fields,
                           struct cw_err *err);
void cw_parquet_fields_fini(struct cw_parquet_fields *fields);

/* Whether the options do not state the schema yet. */
bool cw_parquet_is_open(const void *opts);
/* Writes into `options`, an object, what the footer of a file says: all columns that are wanted (NULL:
 * all) if none were chosen, and the types that are missing. */
int cw_parquet_complete_from(const struct cw_parquet_opts *opts, const char *name,
                             const struct cw_pq_footer *footer, const struct cw_op_names *wanted,
                             struct cw_value *options, struct cw_err *err);

/* Says what is wanted of a column of a file, and compares it with the field. *ret_fill has room for
 * 8 bytes, which the result may refer to. */
int cw_parquet_want(const struct cw_parquet_opts *opts, const struct cw_parquet_fields *fields,
                    const struct cw_parquet_column *column, const char *name,
                    const struct cw_pq_footer *footer, size_t *ret_leaf,
                    struct cw_pq_want *ret_want, uint64_t *ret_fill, struct cw_err *err);

#endif
