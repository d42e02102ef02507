/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of src/plan that only its own files call. */
#ifndef CW_PLAN_PLAN_INT_H
#define CW_PLAN_PLAN_INT_H

#include "plan/plan_nodes.h"

/* Fills plan->nodes from plan->checked: opens the operators, infers specs again with what the
 * sources know now, and counts elements. */
int cw_plan_compile(struct cw_plan *plan, const struct cw_value *manifest, struct cw_err *err);
/* Fills plan->info from plan->nodes: divides the epoch into items. */
int cw_plan_cut(struct cw_plan *plan, struct cw_err *err);
/* Fills `want` of the node, once all nodes are compiled. */
void cw_plan_find_want(struct cw_plan *plan, size_t i);
/* Fills `files` and `drawn` of plan->nodes. */
void cw_plan_find_files(struct cw_plan *plan);
void cw_plan_free_uses(struct cw_plan *plan);

#endif
