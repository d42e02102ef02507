/* SPDX-License-Identifier: Apache-2.0 */
/* Calls an operator once, and counts and measures the call. On an error work->failed names the
 * node. */
#ifndef CW_EXEC_OP_CALL_H
#define CW_EXEC_OP_CALL_H

#include "exec/eval.h"

/* Reads an element of a source. */
int cw_op_call_read(struct cw_thread_context *work, const struct cw_walk_at *at,
                    struct cw_element *element, struct cw_err *err);
/* Reads n elements of a source that has read_rows, which the caller counts. Returns false if they have to be
 * read one by one. */
bool cw_op_call_read_rows(struct cw_thread_context *work, size_t i, const int64_t *positions,
                          size_t n, const struct cw_column *columns);
/* The same for a source that has read_loose. The caller gives memory. */
bool cw_op_call_read_loose(struct cw_thread_context *work, size_t i,
                           const struct cw_loose_rows *rows);
/* Applies an element operator; returns CW_EVAL_DROP if the operator leaves the element out. */
int cw_op_call_apply(struct cw_thread_context *work, const struct cw_walk_pending *pending,
                     struct cw_element *element, struct cw_err *err);
/* Applies an operator to a block of rows, of which so many are there (row_block.h). Fields of `live`, as
 * bits, are not written by later operators, so they are written into the slots. */
int cw_op_call_many(struct cw_thread_context *work, size_t i, uint64_t live, size_t rows,
                    struct cw_element *element, struct cw_err *err);
/* Passes the output of node i to the function of cw_exec_trace. */
int cw_op_call_trace(struct cw_thread_context *work, size_t i, const struct cw_element *element,
                     struct cw_err *err);

#endif
