/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of rows. The last operators of a row may be of the kind whose result for a batch is the batch
 * of its results (cw_plan_node.many_in). They are called once for a block of rows: the rows are computed
 * up to the operators, as columns of the block, and the operators write the columns of the batch. For
 * small elements, whose time is that of calls, this is several times faster. */
#ifndef CW_EXEC_ROW_BLOCK_H
#define CW_EXEC_ROW_BLOCK_H

#include "exec/task.h"

/* Sets the operators of the way that are called by blocks, and the node below them. */
void cw_row_block_find(const struct cw_exec_task *task, struct cw_row_way *way);
/* Has the next rows [lo, hi), at most way->block_rows, be computed into the columns of a block. Returns
 * a code < 0 if there is no memory. */
int cw_row_block_begin(struct cw_exec_task *task, struct cw_thread_context *work, int64_t lo,
                       int64_t hi, struct cw_err *err);
/* Applies the operators to the rows, which are computed except for those that were left out, and stores
 * the result in the batch. On an error work->failed names the node. */
int cw_row_block_end(struct cw_exec_task *task, struct cw_thread_context *work, int64_t lo,
                     int64_t hi, struct cw_err *err);

#endif
