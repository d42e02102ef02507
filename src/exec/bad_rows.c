/* SPDX-License-Identifier: Apache-2.0 */
/* Which elements of an item are left out because they are bad, and why. */
#include "exec/task.h"

static bool is_taken(struct cw_exec_task *task, int64_t row)
{
    cw_mutex_lock(&task->mutex);
    if (!task->bad)
        task->bad = cw_bad_list_new();
    bool taken = cw_bad_list_takes(task->bad, row);
    cw_mutex_unlock(&task->mutex);
    return taken;
}

/* Adds a description. row: its place among those of the item; first: the row whose source is
 * named. */
static void add(struct cw_exec_task *task, const struct cw_row_way *way, size_t node, int64_t row,
                int64_t first, uint64_t elements, const struct cw_err *err)
{
    const struct cw_plan_node *failed = &way->plan->nodes[node];
    struct cw_walk_at at = {.node = way->node, .pos = way->pos + first, .rep = way->rep};
    CW_STR_AUTO source = {0};
    struct cw_bad_element element = {.elements = elements,
                                     .record = -1,
                                     .node = failed->node->name,
                                     .op = failed->op->name,
                                     .reason = err->msg};
    if (!is_taken(task, row))
        return;
    cw_eval_describe(way->plan, task->item->epoch, &at, &element.position, &source);
    if (elements == 1)
        element.file = cw_eval_locate(way->plan, task->item->epoch, &at, &element.record);
    else
        cw_str_addf(&source, " and %llu more", (unsigned long long)elements - 1);
    element.position = elements == 1 ? element.position : -1;
    element.source = cw_str_text(&source);
    cw_mutex_lock(&task->mutex);
    cw_bad_list_add(task->bad, row, &element);
    cw_mutex_unlock(&task->mutex);
}

void cw_exec_task_row_is_bad(struct cw_exec_task *task, const struct cw_thread_context *work,
                             int64_t row, const struct cw_err *err)
{
    add(task, work->way, work->failed, row, row, 1, err);
}

void cw_exec_task_batch_is_bad(struct cw_exec_task *task, const struct cw_thread_context *work,
                               int64_t rows, const struct cw_err *err)
{
    int64_t first = 0;
    while (first < task->rows && task->dropped[first])
        first++;
    add(task, &task->begun, work->failed, task->rows, first, (uint64_t)rows, err);
}
