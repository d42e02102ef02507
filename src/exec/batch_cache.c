/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up whole batches in caches, and puts them there. */
#include "exec/batch_cache.h"

#include "base/mem.h"
#include "exec/element_cache.h"
#include "exec/item_batch.h"
#include "exec/positions.h"
#include <stdatomic.h>

/* Finds the nodes with a cache between the output and the item's batch, without calling any
 * operator. They depend on the item, since an operator may choose its input by position. */
static void find_uses(struct cw_exec_task *task)
{
    const struct cw_plan *plan = task->plan;
    int64_t pos = (int64_t)task->item->item;
    uint64_t rep = 0;
    size_t above = 0, at = plan->output;
    for (;;) {
        const struct cw_plan_node *node = &plan->nodes[at];
        const struct cw_plan_use *use = cw_element_cache_use(node);
        if (use) {
            task->batch_caches = cw_mem_grow(task->batch_caches, task->batch_caches_n + 1,
                                             sizeof(*task->batch_caches));
            task->batch_caches[task->batch_caches_n++] =
                (struct cw_batch_cache_use){.use = use, .node = at, .above_n = above};
        }
        if (node->step == CW_STEP_GROUP)
            return;
        above += node->step == CW_STEP_ELEMENT;
        at = node->step == CW_STEP_INDEX ? cw_plan_map(plan, node, task->item->epoch, &pos, &rep)
                                         : node->inputs[0];
    }
}

/* Makes a batch of a record. Returns 1; 0 if the record does not fit the spec, so that the item
 * is computed; or an error. */
static int take(struct cw_exec_task *task, const struct cw_batch_cache_use *entry,
                const struct cw_element *element, struct cw_err *err)
{
    const struct cw_spec *spec = &task->plan->nodes[entry->node].out;
    const struct cw_view *row = element->fields;
    struct cw_row_batch rows = {.row = &row, .n = 1, .spec = spec, .out = spec};
    struct cw_err ignored = {0};
    struct cw_batch *batch = cw_batch_new(spec->n);
    size_t bad = 0;
    task->cut.above_n = entry->above_n;
    int rc =
        element->n == spec->n ? cw_row_batch_measure(&rows, batch, &bad, &ignored) : CW_E_CORRUPT;
    if (rc < 0) {
        cw_batch_unref(batch);
        return 0;
    }
    rc = cw_exec_batch_alloc(task, !entry->above_n, batch, err);
    if (rc < 0) {
        cw_batch_unref(batch);
        return rc;
    }
    if (batch->buf)
        cw_row_batch_copy(&rows, batch, batch->buf->data);
    task->batch = batch;
    return 1;
}

/* Looks the batch up in one cache. */
static int get(struct cw_exec_task *task, const struct cw_batch_cache_use *entry,
               struct cw_err *err)
{
    struct cw_cache_pins pins = {.n = 0};
    cw_autofree struct cw_element *element = CW_NEW(struct cw_element);
    size_t above_n = task->cut.above_n;
    int rc = 0;
    if (cw_cache_get(entry->use->cache, (uint64_t)task->cut.group_pos, &pins, element) ==
        CW_CACHE_HIT)
        rc = take(task, entry, element, err);
    if (rc > 0 && !cw_cache_is_intact(&pins)) {
        cw_batch_unref(task->batch);
        task->batch = NULL;
        rc = 0;
    }
    cw_cache_unpin(&pins);
    if (!rc)
        task->cut.above_n = above_n;
    return rc;
}

int cw_batch_cache_find(struct cw_exec_task *task, struct cw_err *err)
{
    if (task->uncached || task->cut.group == SIZE_MAX || !cw_element_cache_any(task->plan))
        return 0;
    find_uses(task);
    for (size_t k = 0; k < task->batch_caches_n; k++) {
        if (!task->batch_caches[k].use->read)
            continue;
        int rc = get(task, &task->batch_caches[k], err);
        if (rc < 0)
            return rc;
        if (rc) {
            task->batch_cache_hit = task->batch_caches[k].node;
            task->batch_caches_n = k; /* the caches below this one are not used */
            return 1;
        }
    }
    return 0;
}

bool cw_batch_cache_wants(const struct cw_exec_task *task, size_t above_n)
{
    for (size_t k = 0; k < task->batch_caches_n; k++)
        if (task->batch_caches[k].use->write && task->batch_caches[k].above_n == above_n)
            return true;
    return false;
}

void cw_batch_cache_put(const struct cw_exec_task *task, size_t above_n,
                        const struct cw_element *element)
{
    int64_t ns = atomic_load_explicit(&task->run_ns, memory_order_relaxed);
    for (size_t k = 0; k < task->batch_caches_n; k++)
        if (task->batch_caches[k].use->write && task->batch_caches[k].above_n == above_n)
            cw_cache_put(task->batch_caches[k].use->cache, (uint64_t)task->cut.group_pos, element,
                         CW_MAX(ns, 1));
}
