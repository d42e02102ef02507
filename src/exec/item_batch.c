/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates the buffer of a batch. */
#include "exec/item_batch.h"

int cw_exec_batch_alloc(const struct cw_exec_task *task, bool final, struct cw_batch *batch,
                        struct cw_err *err)
{
    size_t bytes = 0;
    int rc = cw_batch_layout(batch, &bytes, err);
    if (rc < 0) {
        size_t group = task->cut.group;
        const struct cw_node *node =
            task->plan->nodes[group != SIZE_MAX ? group : task->cut.node].node;
        return cw_err_wrap(err, "node \"%s\" (%s), item %llu", node->name, node->op,
                           (unsigned long long)task->item->item);
    }
    if (!bytes)
        return 0;
    if (final && task->item->alloc)
        batch->buf = task->item->alloc(task->item->alloc_arg, bytes, err);
    else
        batch->buf = cw_buf_new(bytes);
    if (batch->buf)
        return 0;
    if (!final || !task->item->alloc || !err->code)
        cw_err_set(err, CW_E_NOMEM, "no memory for a batch of %zu bytes", bytes);
    return err->code;
}
