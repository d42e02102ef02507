/* SPDX-License-Identifier: Apache-2.0 */
/* Finds runs of operators that work on an image by rows (ops/strip.h): together they go over it once, in
 * strips. */
#include "base/mem.h"
#include "plan/plan_int.h"
#include <string.h>

static bool works_by_rows(const struct cw_plan_node *node)
{
    return node->step == CW_STEP_ELEMENT &&
           cw_strips_work(node->op, node->opts, node->in, node->fields, node->fields_n);
}

/* Returns the next operator that is called. */
static size_t next_called(const struct cw_plan *plan, size_t i)
{
    size_t next = cw_plan_next_operator(plan, i);
    while (next != SIZE_MAX && plan->nodes[next].folds_to != SIZE_MAX)
        next = cw_plan_next_operator(plan, next);
    return next;
}

/* Whether the run goes on from one node to the next. */
static bool goes_on(const struct cw_plan_node *node, const struct cw_plan_node *next)
{
    return works_by_rows(next) && next->fields[0] == node->fields[0] &&
           cw_strips_follow(node->op, node->opts, next->op, &node->out.fields[node->fields[0]]);
}

void cw_plan_find_strips(struct cw_plan *plan, size_t i)
{
    uint16_t run[CW_PLAN_STRIPS_MAX] = {(uint16_t)i};
    struct cw_plan_node *node = &plan->nodes[i];
    size_t n = 1, calls = 1, at = i;
    if (node->folds_to != SIZE_MAX || !works_by_rows(node))
        return;
    while (n < CW_PLAN_STRIPS_MAX) {
        const size_t next = next_called(plan, at);
        if (next == SIZE_MAX || !goes_on(&plan->nodes[at], &plan->nodes[next]))
            break;
        run[n++] = (uint16_t)next;
        calls += plan->nodes[at].planes_to != next;
        at = next;
    }
    if (calls < 2)
        return;
    node->strips = CW_NEW_ARRAY(uint16_t, n);
    node->strips_n = n;
    memcpy(node->strips, run, n * sizeof(run[0]));
}
