/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, begins and ends tasks. */
#include "exec/task.h"

#include "base/mem.h"
#include "exec/batch_cache.h"
#include "exec/item_batch.h"
#include <string.h>

struct cw_exec_task *cw_exec_task_new(struct cw_exec_item *item)
{
    struct cw_exec_task *task = CW_NEW(struct cw_exec_task);
    task->item = item;
    task->plan = cw_plan_ref(item->plan);
    task->failed_row = INT64_MAX;
    task->batch_cache_hit = SIZE_MAX;
    cw_mutex_init(&task->mutex);
    item->task = task;
    item->cpu_ns = item->wall_ns = 0;
    return task;
}

void cw_exec_task_leave_plans(struct cw_exec_task *task)
{
    task->way.plan = cw_plan_unref(task->way.plan);
    task->next_plan = cw_plan_unref(task->next_plan);
    if (task->plan)
        cw_row_memory_fini(&task->row_memory);
    task->plan = cw_plan_unref(task->plan);
}

void cw_exec_task_free(struct cw_exec_task *task)
{
    if (!task)
        return;
    cw_exec_task_leave_plans(task);
    cw_mem_free(task->kept);
    cw_mem_free(task->ids);
    cw_mem_free(task->dropped);
    cw_mem_free(task->batch_caches);
    cw_batch_unref(task->batch);
    cw_bad_list_unref(task->bad);
    cw_mutex_fini(&task->mutex);
    cw_mem_free(task);
}

static bool all_fixed(const struct cw_spec *spec)
{
    for (size_t f = 0; f < spec->n; f++)
        if (!cw_field_is_fixed(&spec->fields[f]))
            return false;
    return true;
}

/* Makes the batch into which rows are written as they are computed. */
static int make_batch(struct cw_exec_task *task, struct cw_err *err)
{
    struct cw_batch *batch = task->batch = cw_batch_new(task->spec->n);
    for (size_t f = 0; f < batch->n; f++) {
        struct cw_field *field = &batch->tensors[f].field;
        const struct cw_field *spec = &task->spec->fields[f];
        *field = task->out->fields[f];
        field->dtype = spec->dtype;
        field->rank = spec->rank + (task->lead ? 1 : 0);
        memcpy(field->dims + (task->lead ? 1 : 0), spec->dims,
               (size_t)spec->rank * sizeof(field->dims[0]));
        if (task->lead)
            field->dims[0] = task->rows;
        int64_t bytes = cw_field_bytes(spec);
        if (bytes < 0)
            return cw_err_set(err, CW_E_LIMIT, "field \"%s\" is too large", spec->name);
        task->row_bytes[f] = (size_t)bytes;
    }
    return cw_exec_batch_alloc(task, !task->cut.above_n, batch, err);
}

static int keep_ids(struct cw_exec_task *task, struct cw_err *err)
{
    task->ids = cw_mem_try((size_t)task->rows * sizeof(*task->ids));
    if (!task->ids)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %lld rows", (long long)task->rows);
    return 0;
}

int cw_exec_task_begin(struct cw_exec_task *task, struct cw_err *err)
{
    const struct cw_plan *plan = task->plan;
    if (task->item->item >= plan->info.items)
        return cw_err_set(err, CW_E_INVALID, "item %llu of %llu does not exist",
                          (unsigned long long)task->item->item,
                          (unsigned long long)plan->info.items);
    cw_plan_item(plan, task->item->epoch, task->item->item, &task->cut);
    size_t group = task->cut.group;
    task->rows = task->cut.rows;
    task->lead = group != SIZE_MAX || plan->info.sparse;
    task->spec = &plan->nodes[task->cut.node].out;
    task->out = group != SIZE_MAX ? &plan->nodes[group].out : task->spec;
    task->fixed = all_fixed(task->spec) && plan->inside_n == 0 && !plan->info.pads &&
                  !(group != SIZE_MAX && plan->nodes[group].op->group_pad);
    cw_row_way_find(task, task->plan, &task->cut, &task->begun);
    task->way = task->begun;
    (void)cw_plan_ref(task->way.plan);
    int rc = cw_batch_cache_find(task, err);
    if (rc) {
        task->rows = 0;
        return rc < 0 ? rc : 0;
    }
    task->dropped = cw_mem_try((size_t)task->rows);
    if (!task->dropped)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %lld rows", (long long)task->rows);
    memset(task->dropped, CW_ROW_KEPT, (size_t)task->rows);
    if (task->fixed)
        return make_batch(task, err);
    task->kept = cw_mem_try((size_t)task->rows * sizeof(*task->kept));
    if (!task->kept)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %lld rows", (long long)task->rows);
    memset(task->kept, 0, (size_t)task->rows * sizeof(*task->kept));
    task->row_memory.share = cw_plan_exec_of(task->plan);
    return plan->inside_n > 0 ? keep_ids(task, err) : 0;
}

void cw_exec_task_cancel(struct cw_exec_task *task)
{
    cw_mutex_lock(&task->mutex);
    task->failed_row = -1;
    (void)cw_stop_check(&task->stop, &task->err);
    cw_mutex_unlock(&task->mutex);
}
