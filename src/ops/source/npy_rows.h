/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of NumPy's arrays, which lie in a file or in memory: what the first index picks. Any thread. */
#ifndef CW_OPS_SOURCE_NPY_ROWS_H
#define CW_OPS_SOURCE_NPY_ROWS_H

#include "format/npy.h"
#include "ops/source/file_set.h"

/* Whether a row is spread over all of the array, so that the array is read into memory first. */
bool cw_npy_is_spread(const struct cw_npy_header *header);
uint64_t cw_npy_row_bytes(const struct cw_npy_header *header);
/* Reads n rows from `row` on, of an array that is not spread, whose values begin at `begin` of file i. */
int cw_npy_rows_read(struct cw_file_set *files, size_t i, const struct cw_npy_header *header,
                     uint64_t begin, uint64_t row, size_t n, void *dst, struct cw_err *err);
/* The same of an array of any order whose values lie in memory. */
void cw_npy_rows_copy(const struct cw_npy_header *header, const void *values, uint64_t row,
                      size_t n, void *dst);

#endif
