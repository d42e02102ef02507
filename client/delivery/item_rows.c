/* SPDX-License-Identifier: Apache-2.0 */
#include "client/delivery/item_rows.h"

#include <string.h>
#include "base/mem.h"
#include "rpc/rpc.h"

struct cw_item_rows *cw_item_rows_new(struct cw_batch *head, struct cw_rpc_msg *msg, size_t offset)
{
    struct cw_item_rows *rows = CW_NEW(struct cw_item_rows);
    rows->head = head;
    rows->msg = msg ? cw_rpc_msg_ref(msg) : NULL;
    rows->offset = offset;
    rows->item = head->item;
    return rows;
}

void cw_item_rows_free(struct cw_item_rows *rows)
{
    if (!rows)
        return;
    cw_batch_unref(rows->head);
    if (rows->msg)
        cw_rpc_msg_unref(rows->msg);
    cw_mem_free(rows);
}

static bool copy_bytes(const struct cw_item_rows *rows, const struct cw_tensor *tensor, size_t at,
                       void *dst, size_t n)
{
    if (at > tensor->bytes || n > tensor->bytes - at)
        return false;
    if (n == 0)
        return true;
    if (rows->msg)
        return cw_rpc_msg_copy(rows->msg, rows->offset + tensor->offset + at, dst, n) == 0;
    const struct cw_buf *buf = rows->head->buf;
    if (!buf || tensor->offset > buf->len || at + n > buf->len - tensor->offset)
        return false;
    memcpy(dst, (const char *)buf->data + tensor->offset + at, n);
    return true;
}

int cw_item_rows_read(const struct cw_item_rows *rows, size_t i, size_t at, void *dst, size_t n,
                      struct cw_err *err)
{
    const struct cw_tensor *tensor = &rows->head->tensors[i];
    if (copy_bytes(rows, tensor, at, dst, n))
        return 0;
    return cw_err_set(err, CW_E_CORRUPT, "item %llu: tensor %s is shorter than its header says",
                      (unsigned long long)rows->item, tensor->field.name);
}

int cw_item_rows_str_at(const struct cw_item_rows *rows, size_t i, uint64_t r, int64_t *ret_at,
                        struct cw_err *err)
{
    const struct cw_tensor *tensor = &rows->head->tensors[i];
    uint64_t table = (rows->head->elements + 1) * sizeof(int64_t);
    int rc = cw_item_rows_read(rows, i, (size_t)r * sizeof(int64_t), ret_at, sizeof(int64_t), err);
    if (rc == 0 &&
        (*ret_at < 0 || table > tensor->bytes || (uint64_t)*ret_at > tensor->bytes - table))
        return cw_err_set(err, CW_E_CORRUPT, "item %llu: string offsets of tensor %s are not valid",
                          (unsigned long long)rows->item, tensor->field.name);
    return rc;
}
