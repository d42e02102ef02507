/* SPDX-License-Identifier: Apache-2.0 */
/* Fills rows of different shapes up to one shape, as a group operator says (group_pad in ops/op.h). */
#ifndef CW_EXEC_PAD_ROWS_H
#define CW_EXEC_PAD_ROWS_H

#include "exec/row_batch.h"
#include "plan/plan_nodes.h"

/* Checks that a row is not longer than the group allows: such an element is bad. A group that does not
 * fill up allows all. */
int cw_pad_check(const struct cw_plan_node *group, const struct cw_view *row, struct cw_err *err);
/* Replaces the rows by filled-up ones, and their spec, with memory of the arena. Those of a group that
 * does not fill up stay. */
int cw_pad_rows(const struct cw_plan_node *group, struct cw_row_batch *rows, struct cw_arena *arena,
                struct cw_err *err);

#endif
