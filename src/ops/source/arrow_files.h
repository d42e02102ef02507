/* SPDX-License-Identifier: Apache-2.0 */
/* The open state of the source `arrow`: files with their heads, and what was decoded of them. */
#ifndef CW_OPS_SOURCE_ARROW_FILES_H
#define CW_OPS_SOURCE_ARROW_FILES_H

#include "format/arrow/arrow_slab.h"
#include "ops/source/table_rows.h"

struct cw_arrow_opts {
    struct cw_str_list pattern;
    struct cw_table_opts table;
    int64_t cache_bytes;
};
struct cw_arrow_state {
    struct cw_file_source source; /* loads the head of each file */
    const struct cw_arrow_opts *opts;
    struct cw_table_fields fields;
    struct cw_table_rows rows;
};
extern const struct cw_table_kind cw_arrow_table;

/* The columns of a file, as tables tell them. */
struct cw_table_file cw_arrow_table_file(const struct cw_arrow_head *head, const char *name);

int cw_arrow_files_open(const struct cw_arrow_opts *opts, const struct cw_op_open *how,
                        void **ret_state, struct cw_err *err);
/* Adds the bytes that a row is decoded of, for an operator's `ahead`. */
bool cw_arrow_ahead(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead);

#endif
