/* SPDX-License-Identifier: Apache-2.0 */
/* How the rows of an item are computed by a plan, and whether another plan has the same rows. */
#include "exec/positions.h"
#include "exec/row_block.h"
#include "exec/source_rows.h"
#include "exec/task.h"

void cw_row_way_find(const struct cw_exec_task *task, struct cw_plan *plan,
                     const struct cw_plan_item *cut, struct cw_row_way *ret_way)
{
    *ret_way = (struct cw_row_way){
        .plan = plan, .top = cut->node, .node = cut->node, .pos = cut->pos, .rep = cut->rep};
    ret_way->mapped = cw_positions_help(plan, cut->node);
    ret_way->ids = cw_positions_are_ids(plan, cut->node);
    cw_row_block_find(task, ret_way);
    cw_source_rows_find(task, ret_way);
}

static bool is_same_node(const struct cw_plan *a, size_t i, const struct cw_plan *b, size_t k)
{
    if (i == SIZE_MAX || k == SIZE_MAX)
        return i == k;
    return cw_str_eq(a->nodes[i].node->name, b->nodes[k].node->name);
}

/* Whether the same operators come behind the rows in both plans. */
static bool is_same_above(const struct cw_plan *a, const struct cw_plan_item *cut,
                          const struct cw_plan *b, const struct cw_plan_item *other)
{
    if (cut->above_n != other->above_n || !is_same_node(a, cut->group, b, other->group))
        return false;
    for (size_t i = 0; i < cut->above_n; i++)
        if (!is_same_node(a, cut->above[i], b, other->above[i]))
            return false;
    if (a->inside_n != b->inside_n)
        return false;
    for (size_t i = 0; i < a->inside_n; i++)
        if (!is_same_node(a, a->inside[i], b, b->inside[i]))
            return false;
    return true;
}

bool cw_row_way_of_other(const struct cw_exec_task *task, struct cw_plan *plan,
                         struct cw_row_way *ret_way)
{
    struct cw_plan_item cut;
    cw_plan_item(plan, task->item->epoch, task->item->item, &cut);
    if (cut.rows != task->rows || !is_same_above(task->plan, &task->cut, plan, &cut) ||
        !cw_spec_eq(task->spec, &plan->nodes[cut.node].out))
        return false;
    cw_row_way_find(task, plan, &cut, ret_way);
    return true;
}

/* Has the rows of an open task that no thread has taken be computed by the plan. Returns the plan
 * whose reference must be given up. */
static struct cw_plan *set_way(struct cw_exec_task *task, struct cw_plan *plan)
{
    struct cw_row_way way;
    if (!cw_row_way_of_other(task, plan, &way))
        return NULL;
    struct cw_plan *old = task->way.plan;
    task->way = way;
    (void)cw_plan_ref(plan);
    return old;
}

struct cw_plan *cw_exec_task_replan(struct cw_exec_task *task, struct cw_plan *plan)
{
    struct cw_plan *old = NULL;
    switch (task->state) {
    case CW_TASK_NEW:
        old = task->plan;
        task->plan = cw_plan_ref(plan);
        break;
    case CW_TASK_BEGINNING:
        old = task->next_plan;
        task->next_plan = cw_plan_ref(plan);
        break;
    case CW_TASK_OPEN:
        old = set_way(task, plan);
        break;
    case CW_TASK_SHUT:
        break;
    }
    return old;
}

void cw_exec_task_replan_begun(struct cw_exec_task *task)
{
    struct cw_plan *next = task->next_plan;
    struct cw_plan *old = next && task->state == CW_TASK_OPEN ? set_way(task, next) : NULL;
    if (!old)
        return;
    task->next_plan = old; /* given up when the item is done, without the lock */
    cw_plan_unref(next);   /* the way has another reference */
}
