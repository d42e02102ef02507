/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the operators that may write their image with channels first, since the operator behind them does
 * nothing else. */
#include "plan/plan_int.h"

static bool makes_planes(const struct cw_plan_node *node)
{
    return node->step == CW_STEP_ELEMENT && node->op->makes_planes && node->fields_n == 1 &&
           node->op->makes_planes(node->opts, &node->in->fields[node->fields[0]]);
}

void cw_plan_find_planes(struct cw_plan *plan, size_t i)
{
    struct cw_plan_node *node = &plan->nodes[i];
    node->planes_to = SIZE_MAX;
    if (!makes_planes(node))
        return;
    const size_t next = cw_plan_next_operator(plan, i);
    if (next == SIZE_MAX)
        return;
    const struct cw_plan_node *behind = &plan->nodes[next];
    if (behind->op->puts_channels_first && behind->op->puts_channels_first(behind->opts) &&
        behind->fields_n == 1 && behind->fields[0] == node->fields[0])
        node->planes_to = next;
}
