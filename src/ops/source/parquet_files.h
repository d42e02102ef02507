/* SPDX-License-Identifier: Apache-2.0 */
/* The open state of the source `parquet`: files with their footers, and what was decoded of them. */
#ifndef CW_OPS_SOURCE_PARQUET_FILES_H
#define CW_OPS_SOURCE_PARQUET_FILES_H

#include "base/thread.h"
#include "format/parquet/slab.h"
#include "ops/source/parquet_want.h"
#include "ops/source/table_rows.h"

/* For an operator's `reads`: of the first row group of the first file. */
int cw_parquet_reads(const void *opts, struct cw_op_reads *ret_reads, struct cw_err *err);

/* Small pages are decoded together, so that a read is not much smaller than what a disk gives in the
 * time of a request. */
enum { CW_PARQUET_JOIN_BYTES = 256 << 10 };
enum { CW_PARQUET_SPARE = 4 };

struct cw_parquet_state {
    struct cw_file_source source; /* loads the footer of each file */
    const struct cw_parquet_opts *opts;
    struct cw_table_fields fields;
    struct cw_table_rows rows;
    struct cw_mutex mutex; /* guards what follows */
    /* Memory for decoding that no thread uses now, so that it is not given back to the system and got again for
     * each page. */
    struct cw_pq_scratch spare[CW_PARQUET_SPARE];
    size_t spare_n;
};

int cw_parquet_files_open(const struct cw_parquet_opts *opts, const struct cw_op_open *how,
                          struct cw_parquet_state **ret_state, struct cw_err *err);
void cw_parquet_files_close(struct cw_parquet_state *state);
/* Adds the bytes that a row is decoded of, for an operator's `ahead`. */
bool cw_parquet_ahead(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead);

#endif
