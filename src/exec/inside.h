/* SPDX-License-Identifier: Apache-2.0 */
/* Operators inside an item (docs/decisions/0005-inside-items.md): when all rows of an item are computed,
 * one thread makes of them, operator by operator, the elements that are sent. */
#ifndef CW_EXEC_INSIDE_H
#define CW_EXEC_INSIDE_H

#include "exec/task.h"

/* Checks a row for the first of these operators, while the row is computed: one that it refuses is bad.
 * Sets work->failed then. */
int cw_inside_check(struct cw_thread_context *work, const struct cw_element *row,
                    struct cw_err *err);
/* Makes the task's batch of the rows that are left. *left: how many elements it has. *bad: how many
 * elements on the way were bad and are left out. */
int cw_inside_run(struct cw_exec_task *task, struct cw_thread_context *work, int64_t *left,
                  int64_t *bad, struct cw_err *err);

#endif
