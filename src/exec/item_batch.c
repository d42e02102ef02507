/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates the buffer of a batch. */
#include "exec/item_batch.h"

#include "exec/thread_context.h"

#define SPARE_BYTES_MAX ((size_t)8 << 20)

static struct cw_buf *exchange_spare(const struct cw_exec_task *task, struct cw_buf *buf)
{
    struct cw_plan_exec *share = cw_plan_exec_of(task->plan);
    cw_mutex_lock(&share->mutex);
    struct cw_buf *had = share->spare;
    share->spare = buf;
    cw_mutex_unlock(&share->mutex);
    return had;
}

/* Returns memory that is not much larger, kept or new. */
static struct cw_buf *alloc_below(const struct cw_exec_task *task, size_t bytes)
{
    struct cw_buf *buf = bytes <= SPARE_BYTES_MAX ? exchange_spare(task, NULL) : NULL;
    if (buf && (buf->cap < bytes || buf->cap / 2 > bytes))
        buf = cw_buf_unref(buf);
    if (!buf)
        return cw_buf_new(bytes);
    buf->len = bytes;
    return buf;
}

void cw_exec_batch_give_back(const struct cw_exec_task *task, struct cw_batch *batch)
{
    struct cw_buf *buf = batch->buf ? cw_buf_ref(batch->buf) : NULL;
    cw_batch_unref(batch);
    if (buf && !buf->release && buf->cap <= SPARE_BYTES_MAX && atomic_load(&buf->refs) == 1)
        buf = exchange_spare(task, buf);
    cw_buf_unref(buf);
}

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
        batch->buf = alloc_below(task, bytes);
    if (batch->buf)
        return 0;
    if (!final || !task->item->alloc || !err->code)
        cw_err_set(err, CW_E_NOMEM, "no memory for a batch of %zu bytes", bytes);
    return err->code;
}
