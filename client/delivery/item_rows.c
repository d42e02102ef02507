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

/* Where the list of all strings of a tensor lies in it, and how many there are. */
static int find_list(const struct cw_item_rows *rows, size_t i, uint64_t *ret_at, uint64_t *ret_n,
                     struct cw_err *err)
{
    const struct cw_tensor *tensor = &rows->head->tensors[i];
    struct cw_ragged ragged;
    int64_t n = cw_field_count(&tensor->field);
    int rc = 0;
    *ret_at = 0;
    if (cw_field_is_ragged(&tensor->field)) {
        rc = cw_ragged_init(&ragged, &tensor->field, err);
        if (rc == 0)
            rc = cw_item_rows_read(rows, i, (size_t)ragged.rows * sizeof(n), &n, sizeof(n), err);
        *ret_at = rc == 0 ? ragged.values_at : 0;
    }
    if (rc == 0 && (n < 0 || *ret_at > tensor->bytes ||
                    (uint64_t)n >= (tensor->bytes - *ret_at) / sizeof(int64_t)))
        rc = cw_err_set(err, CW_E_CORRUPT, "item %llu: tensor %s has no room for its strings",
                        (unsigned long long)rows->item, tensor->field.name);
    *ret_n = rc == 0 ? (uint64_t)n : 0;
    return rc;
}

int cw_item_rows_list(const struct cw_item_rows *rows, size_t i, struct cw_item_list *ret_list,
                      struct cw_err *err)
{
    struct cw_item_list list = {.rows = rows, .tensor = i};
    int rc = find_list(rows, i, &list.at, &list.n, err);
    list.bytes_at = list.at + (list.n + 1) * sizeof(int64_t);
    *ret_list = list;
    return rc;
}

int cw_item_list_offset(const struct cw_item_list *list, uint64_t s, int64_t *ret_offset,
                        struct cw_err *err)
{
    const struct cw_tensor *tensor = &list->rows->head->tensors[list->tensor];
    int rc = s <= list->n
                 ? cw_item_rows_read(list->rows, list->tensor, list->at + s * sizeof(int64_t),
                                     ret_offset, sizeof(int64_t), err)
                 : CW_E_CORRUPT;
    if (rc == 0 && *ret_offset >= 0 && (uint64_t)*ret_offset <= tensor->bytes - list->bytes_at)
        return 0;
    return cw_err_set(err, CW_E_CORRUPT, "item %llu: string offsets of tensor %s are not valid",
                      (unsigned long long)list->rows->item, tensor->field.name);
}

/* Reads where a row begins and ends, and its stored shape. */
static int read_row(const struct cw_item_rows *rows, size_t i, const struct cw_ragged *ragged,
                    uint64_t r, int64_t at[2], int64_t *dims, struct cw_err *err)
{
    size_t shape = (size_t)ragged->rank * sizeof(*dims);
    int rc = cw_item_rows_read(rows, i, (size_t)r * sizeof(at[0]), at, 2 * sizeof(at[0]), err);
    if (rc == 0 && ragged->shaped)
        rc = cw_item_rows_read(rows, i, ragged->shapes_at + (size_t)r * shape, dims, shape, err);
    return rc;
}

/* Whether a row may be where the worker says. Sets its shape, and where its bytes are. */
static bool place_row(const struct cw_tensor *tensor, const struct cw_ragged *ragged,
                      const int64_t at[2], struct cw_item_row *row)
{
    struct cw_field field = {.dtype = tensor->field.dtype, .rank = ragged->rank};
    int64_t end;
    if (ragged->strings) { /* counted in strings, which the list's own table finds */
        *row = (struct cw_item_row){.at = (size_t)at[0], .dims = {at[1] - at[0]}};
        return at[0] >= 0 && at[1] >= at[0];
    }
    if (at[0] < 0 || at[1] < at[0] || __builtin_mul_overflow(at[1], ragged->unit_bytes, &end) ||
        (uint64_t)end > tensor->bytes - ragged->values_at)
        return false;
    for (int d = 0; d < ragged->rank; d++) {
        int64_t dim = tensor->field.dims[d + 1];
        if (!ragged->shaped)
            row->dims[d] = dim < 0 ? at[1] - at[0] : dim;
        if (dim >= 0 && dim != row->dims[d])
            return false;
        field.dims[d] = row->dims[d];
    }
    row->at = ragged->values_at + (size_t)(at[0] * ragged->unit_bytes);
    row->bytes = (size_t)((at[1] - at[0]) * ragged->unit_bytes);
    return cw_field_bytes(&field) == (int64_t)row->bytes;
}

/* Finds a row of a ragged tensor, without trusting anything that the worker says. */
static int ragged_row(const struct cw_item_rows *rows, size_t i, uint64_t r,
                      struct cw_item_row *row, struct cw_err *err)
{
    const struct cw_tensor *tensor = &rows->head->tensors[i];
    struct cw_ragged ragged;
    int64_t at[2];
    int rc = cw_ragged_init(&ragged, &tensor->field, err);
    if (rc == 0)
        rc = read_row(rows, i, &ragged, r, at, row->dims, err);
    if (rc == 0 && !place_row(tensor, &ragged, at, row))
        rc = cw_err_set(err, CW_E_CORRUPT,
                        "item %llu: tensor %s: row %llu is not where its shape allows",
                        (unsigned long long)rows->item, tensor->field.name, (unsigned long long)r);
    return rc;
}

int cw_item_rows_row(const struct cw_item_rows *rows, size_t i, uint64_t r,
                     struct cw_item_row *ret_row, struct cw_err *err)
{
    const struct cw_tensor *tensor = &rows->head->tensors[i];
    if (cw_field_is_ragged(&tensor->field))
        return ragged_row(rows, i, r, ret_row, err);
    memcpy(ret_row->dims, &tensor->field.dims[1],
           (size_t)(tensor->field.rank - 1) * sizeof(ret_row->dims[0]));
    if (tensor->field.dtype == CW_DTYPE_STR) {
        ret_row->bytes = 0;
        ret_row->at = (size_t)r * (size_t)(cw_field_count(&tensor->field) / tensor->field.dims[0]);
        return 0;
    }
    ret_row->bytes = tensor->bytes / (size_t)rows->head->elements;
    ret_row->at = (size_t)r * ret_row->bytes;
    return 0;
}
