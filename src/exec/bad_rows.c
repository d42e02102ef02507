/* SPDX-License-Identifier: Apache-2.0 */
/* Which elements of an item are left out because they are bad, and why. */
#include "exec/task.h"

/* Which elements are left out must not depend on the worker. Errors of memory, of a disk, or of
 * a missing or changed file may not occur on another worker, so such elements are never skipped. */
bool cw_exec_task_may_skip(const struct cw_exec_task *task, int code)
{
    return task->item->bad == CW_BAD_SKIP && cw_err_is_of_data(code);
}

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

void cw_exec_task_made_is_bad(struct cw_exec_task *task, size_t node, int64_t row,
                              uint64_t elements, const struct cw_err *err)
{
    add(task, &task->begun, node, row, row, elements, err);
}

int cw_exec_task_name_row(const struct cw_exec_task *task, size_t node, int64_t row,
                          struct cw_err *err)
{
    const struct cw_plan_node *failed = &task->plan->nodes[node];
    struct cw_walk_at at = {
        .node = task->cut.node, .pos = task->cut.pos + row, .rep = task->cut.rep};
    CW_STR_AUTO source = {0};
    int64_t id;
    cw_eval_describe(task->plan, task->item->epoch, &at, &id, &source);
    return cw_err_wrap(err, "node \"%s\" (%s), element %lld (%s)", failed->node->name,
                       failed->op->name, (long long)(id < 0 ? at.pos : id), cw_str_text(&source));
}

void cw_exec_task_batch_is_bad(struct cw_exec_task *task, const struct cw_thread_context *work,
                               int64_t rows, const struct cw_err *err)
{
    int64_t first = 0;
    while (first < task->rows && task->dropped[first])
        first++;
    add(task, &task->begun, work->failed, task->rows, first, (uint64_t)rows, err);
}
