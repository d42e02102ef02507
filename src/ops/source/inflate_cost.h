/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs to read records of compressed files out of order, as far as the beginning of the first
 * file shows (cw_op_reads in ops/op.h). */
#ifndef CW_OPS_SOURCE_INFLATE_COST_H
#define CW_OPS_SOURCE_INFLATE_COST_H

#include "ops/op.h"

/* Counts the records in the beginning of a file; *ret_bytes is how many bytes these have. */
typedef uint64_t cw_inflate_count_fn(const char *p, size_t n, uint64_t *ret_bytes);
/* Lines. */
uint64_t cw_inflate_count_lines(const char *p, size_t n, uint64_t *ret_bytes);
/* UNSUPPORTED: the first file is not compressed, or has no record. max, every: as in cw_inflated_new. */
int cw_inflate_cost(const struct cw_str_list *patterns, int64_t max, int64_t every,
                    cw_inflate_count_fn *count, struct cw_op_reads *ret_reads, struct cw_err *err);

#endif
