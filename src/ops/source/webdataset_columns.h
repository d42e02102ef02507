/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of the source webdataset: which members they come from, and what becomes of them. */
#ifndef CW_OPS_SOURCE_WEBDATASET_COLUMNS_H
#define CW_OPS_SOURCE_WEBDATASET_COLUMNS_H

#include "conf/value.h"
#include "data/element.h"
#include "format/webdataset.h"
#include "ops/op.h"

enum cw_wds_kind {
    CW_WDS_BYTES,  /* the member's bytes, as a str */
    CW_WDS_NUMBER, /* a decimal number as text */
    CW_WDS_NPY     /* an array */
};
struct cw_wds_column {
    struct cw_field field;
    char *exts; /* extensions, parted by ';', in lower case */
    enum cw_wds_kind kind;
};
struct cw_wds_columns {
    struct cw_wds_column *v;
    size_t n;
};
void cw_wds_columns_fini(struct cw_wds_columns *columns);
/* Reads the options `columns` and `types`, either of which may be null. */
int cw_wds_columns_parse(const struct cw_value *columns, const struct cw_value *types,
                         struct cw_wds_columns *ret_columns, struct cw_err *err);
/* Writes into `said`, the node's options, what the first members of a file are: `columns`, sorted, and the
 * `types` of arrays. A compressed file is inflated, if it has no more bytes than inflated_max. */
int cw_wds_complete(const char *path, int64_t inflated_max, int64_t inflate_every,
                    struct cw_value *said, struct cw_err *err);
/* Counts the samples in the first n bytes of a file; it is a cw_inflate_count_fn (inflate_cost.h). */
uint64_t cw_wds_count_samples(const char *p, size_t n, uint64_t *ret_bytes);
/* Returns the column of an extension, -1 if there is none. It is a field_of of struct cw_wds_want. */
int cw_wds_column_of(const void *columns, const char *ext, size_t n);
/* The type that an extension has unless `types` says another: an array's is not known then, and has
 * the dtype str. */
enum cw_wds_kind cw_wds_kind_of(const char *ext, size_t n);

/* Makes the value of a column from the n bytes of a member. `where` begins messages. */
int cw_wds_value(const struct cw_op_ctx *ctx, const struct cw_wds_column *column, void *p, size_t n,
                 const char *where, struct cw_view *ret_view, struct cw_err *err);
/* The value of a member that is missing: an empty string, 0, an array of zeros (of no rows, where the
 * first dimension is not known). */
int cw_wds_empty(const struct cw_op_ctx *ctx, const struct cw_wds_column *column,
                 struct cw_view *ret_view, struct cw_err *err);
/* The key of a sample, from the headers of its first member, which were read into `part`. */
int cw_wds_key(const struct cw_op_ctx *ctx, const char *path, const struct cw_wds_part *part,
               struct cw_view *ret_view, struct cw_err *err);

#endif
