/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the operators that need not be called (graph/fold.h). */
#include "graph/fold.h"
#include "plan/plan_int.h"

static struct cw_fold_op fold_of(const struct cw_plan_node *node)
{
    return (struct cw_fold_op){.op = node->op,
                               .opts = node->opts,
                               .in = node->in,
                               .fields = node->fields,
                               .fields_n = node->fields_n};
}

/* Whether another operator makes no more of an image than this one takes: it must be called, so that what it
 * gives is no part any more. */
static bool is_wanted(const struct cw_plan *plan, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (plan->nodes[k].want_n > 0 && plan->nodes[k].want[plan->nodes[k].want_n - 1].node == i)
            return true;
    return false;
}

/* Returns the next operator that is called. */
static size_t next_called(const struct cw_plan *plan, size_t i)
{
    size_t next = cw_plan_next_operator(plan, i);
    while (next != SIZE_MAX && plan->nodes[next].folds_to == next)
        next = cw_plan_next_operator(plan, next);
    return next;
}

void cw_plan_find_fold(struct cw_plan *plan, size_t i)
{
    struct cw_plan_node *node = &plan->nodes[i];
    node->folds_to = SIZE_MAX;
    if (node->step != CW_STEP_ELEMENT)
        return;
    const struct cw_fold_op op = fold_of(node);
    if (cw_fold_has_no_effect(&op) && cw_spec_eq(node->in, &node->out) && !is_wanted(plan, i)) {
        node->folds_to = i;
        return;
    }
    const size_t next = next_called(plan, i);
    if (next == SIZE_MAX)
        return;
    const struct cw_fold_op behind = fold_of(&plan->nodes[next]);
    /* One that may be left out itself does nobody's work: what would then get this one's input was asked for
     * its neighbour's only. */
    if (plan->nodes[next].folds_to == SIZE_MAX && cw_fold_takes_over(&op, &behind))
        node->folds_to = next;
}
