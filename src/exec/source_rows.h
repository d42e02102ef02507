/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that read many rows at once (`read_rows` in ops/op.h), field by field into the columns that rows
 * are written to, or (`read_loose`) as pieces of the item (row_pieces.h). No element is handled by itself then. */
#ifndef CW_EXEC_SOURCE_ROWS_H
#define CW_EXEC_SOURCE_ROWS_H

#include "exec/task.h"

/* Sets rows_source, loose and affine of the way. */
void cw_source_rows_find(const struct cw_exec_task *task, struct cw_row_way *way);
/* Reads n rows, at most CW_SOURCE_ROWS_MAX, from a row on, whose positions in the way's rows_source are given.
 * Returns false if they have to be computed one by one: also where one of them cannot be read, so that it is
 * said which and why. */
bool cw_source_rows_read(struct cw_exec_task *task, struct cw_thread_context *work, int64_t row,
                         const int64_t *positions, size_t n);
/* Reads rows of [lo, hi) of an affine way, and returns how many: those behind them have to be computed in
 * another way. */
int64_t cw_source_rows_read_affine(struct cw_exec_task *task, struct cw_thread_context *work,
                                   int64_t lo, int64_t hi);

#endif
