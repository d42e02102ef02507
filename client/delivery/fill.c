/* SPDX-License-Identifier: Apache-2.0 */
#include "client/delivery/fill.h"

#include <string.h>
#include "base/mem.h"
#include "client/delivery/fill_pads.h"

#define BYTES_MAX ((size_t)1 << 40)
#define LOOSE_SPARE ((size_t)4 << 10)

void cw_fill_clear(struct cw_fill *fill)
{
    for (size_t i = 0; fill->loose && i < fill->batch->n; i++)
        cw_fill_loose_fini(&fill->loose[i]);
    cw_mem_free(fill->loose);
    cw_batch_unref(fill->batch);
    *fill = (struct cw_fill){
        .alloc = fill->alloc, .arg = fill->arg, .out = fill->out, .pads = fill->pads};
}

static bool is_padded(const struct cw_fill *fill, size_t i)
{
    return fill->pads && i < fill->pads->n && fill->pads->field[i].is;
}

/* How many tensors of the batch come in. Behind them stand those of lengths and masks. */
static size_t incoming(const struct cw_fill *fill)
{
    return fill->pads ? fill->pads->n : fill->batch->n;
}

/* ---- memory ---- */

/* Sets the offsets of all tensors for `rows` rows: first those of fixed size, then those with
 * the bytes that they have now. */
static int lay_out(struct cw_batch *batch, uint64_t rows, size_t *ret_fixed, size_t *ret_bytes,
                   struct cw_err *err)
{
    size_t fixed = 0, bytes = 0;
    for (int loose = 0; loose < 2; loose++) {
        for (size_t i = 0; i < batch->n; i++) {
            struct cw_tensor *tensor = &batch->tensors[i];
            if (cw_fill_is_loose(tensor) != (loose == 1))
                continue;
            tensor->field.dims[0] = (int64_t)rows;
            int64_t need = loose ? (int64_t)tensor->bytes : cw_field_bytes(&tensor->field);
            if (need < 0 || (size_t)need > BYTES_MAX - bytes)
                return cw_err_set(err, CW_E_LIMIT,
                                  "tensor \"%.47s\": the batch would be larger than 1 TiB",
                                  tensor->field.name);
            tensor->bytes = (size_t)need;
            tensor->offset = bytes;
            bytes = CW_ALIGN_UP(bytes + (size_t)need, (size_t)CW_BUF_ALIGN);
        }
        fixed = loose ? fixed : bytes;
    }
    *ret_fixed = fixed;
    *ret_bytes = bytes;
    return 0;
}

/* Moves the rows from their places in `from` to those that the batch has now. */
static void move_rows(const struct cw_fill *fill, const struct cw_buf *from, const size_t *at,
                      const size_t *row_bytes, struct cw_buf *to)
{
    for (size_t i = 0; from && i < fill->batch->n; i++)
        if (row_bytes[i] > 0 && (to != from || fill->batch->tensors[i].offset != at[i]))
            memmove((char *)to->data + fill->batch->tensors[i].offset,
                    (const char *)from->data + at[i], row_bytes[i] * (size_t)fill->rows);
}

/* Gives the batch memory for `rows` rows and `spare` bytes behind them. If there are fewer rows
 * than before, the memory is kept and the rows close up. If there is no memory, the batch stays as
 * it was. */
static int resize(struct cw_fill *fill, uint64_t rows, size_t spare, struct cw_err *err)
{
    struct cw_batch *batch = fill->batch;
    struct cw_buf *old = batch->buf, *buf = old;
    size_t at[CW_FIELDS_MAX], row_bytes[CW_FIELDS_MAX], fixed = 0, bytes = 0;
    for (size_t i = 0; i < batch->n; i++) {
        at[i] = batch->tensors[i].offset;
        row_bytes[i] = cw_fill_is_loose(&batch->tensors[i]) || fill->rows_cap == 0
                           ? 0
                           : batch->tensors[i].bytes / (size_t)fill->rows_cap;
    }
    int rc = lay_out(batch, rows, &fixed, &bytes, err);
    if (rc == 0 && bytes + spare > 0 && (!old || rows > fill->rows_cap || bytes > old->cap)) {
        buf = fill->alloc(fill->arg, bytes + spare);
        if (!buf)
            rc = cw_err_set(err, CW_E_NOMEM, "no memory for a batch of %zu bytes", bytes + spare);
    }
    if (rc != 0) {
        for (size_t i = 0; i < batch->n; i++) {
            batch->tensors[i].offset = at[i];
            batch->tensors[i].bytes = cw_fill_is_loose(&batch->tensors[i])
                                          ? batch->tensors[i].bytes
                                          : row_bytes[i] * (size_t)fill->rows_cap;
        }
        return rc;
    }
    move_rows(fill, old, at, row_bytes, buf);
    if (buf != old)
        cw_buf_unref(old);
    batch->buf = buf;
    fill->rows_cap = rows;
    if (buf)
        buf->len = bytes;
    return 0;
}

/* Reserves memory for all rows of the batch, so that none has to be moved. If memory for all of
 * them is not to be had, the batch grows with its rows. */
static int reserve(struct cw_fill *fill, uint64_t rows, uint64_t most, struct cw_err *err)
{
    struct cw_err none = {0};
    if (rows <= fill->rows_cap)
        return 0;
    if (fill->rows_cap == 0 && resize(fill, most, fill->loose_reserved, &none) == 0)
        return 0;
    if (resize(fill, CW_MAX(rows, CW_MIN(2 * fill->rows_cap, most)), 0, &none) == 0)
        return 0;
    return resize(fill, rows, 0, err);
}

/* ---- rows in ---- */

/* Whether field i of the batch is ragged. */
static bool is_ragged(const struct cw_fill *fill, size_t i)
{
    return fill->out && i < fill->out->n && cw_field_is_ragged(&fill->out->fields[i]);
}

/* Sets the shape that rows of a tensor have: of a ragged one what all have in common, otherwise that of
 * the first row. */
static int begin_tensor(const struct cw_fill *fill, const struct cw_item_rows *rows, size_t i,
                        uint64_t lo, struct cw_err *err)
{
    struct cw_field *field = &fill->batch->tensors[i].field;
    struct cw_item_row row = {0};
    *field = rows->head->tensors[i].field;
    if (is_padded(fill, i))
        return cw_fill_pads_begin(fill->pads, fill->out, i, &rows->head->tensors[i].field, field,
                                  err);
    if (is_ragged(fill, i)) {
        int rank = CW_MIN(field->rank, fill->out->fields[i].rank);
        memcpy(field->dims, fill->out->fields[i].dims, (size_t)rank * sizeof(field->dims[0]));
        return 0;
    }
    if (!cw_field_is_ragged(field))
        return 0;
    int rc = cw_item_rows_row(rows, i, lo, &row, err);
    memcpy(&field->dims[1], row.dims, (size_t)(field->rank - 1) * sizeof(field->dims[0]));
    return rc;
}

/* The first row has come, and gives the batch its shapes. */
static int begin(struct cw_fill *fill, const struct cw_item_rows *rows, uint64_t lo, uint64_t most,
                 struct cw_err *err)
{
    const struct cw_batch *head = rows->head;
    double bytes = 0;
    int rc = 0;
    if (fill->pads && head->n != fill->pads->n)
        return cw_err_set(err, CW_E_CORRUPT, "item %llu: its rows have %zu fields instead of %zu",
                          (unsigned long long)head->item, head->n, fill->pads->n);
    fill->batch = cw_batch_new(fill->pads ? fill->out->n : head->n);
    fill->first_item = head->item;
    for (size_t i = 0; rc == 0 && i < head->n; i++) {
        rc = begin_tensor(fill, rows, i, lo, err);
        if (!cw_fill_is_loose(&fill->batch->tensors[i]))
            continue;
        if (!fill->pads) /* what is filled up is mostly larger than that */
            bytes += (double)head->tensors[i].bytes / (double)head->elements * (double)most;
        if (!fill->loose)
            fill->loose = CW_NEW_ARRAY(struct cw_fill_loose, fill->batch->n);
    }
    if (fill->pads)
        cw_fill_pads_begin_extra(fill->pads, fill->out, fill->batch);
    /* A quarter more than rows of this length need. Only if that is not enough are tensors moved
     * when the batch is finished. */
    if (bytes > 0 && bytes < (double)BYTES_MAX / 2)
        fill->loose_reserved = (size_t)(bytes * 1.25) + LOOSE_SPARE;
    return rc;
}

/* Whether all rows [lo, hi) of a ragged tensor have the shape of the batch. */
static bool are_like(const struct cw_field *field, const struct cw_item_rows *rows, size_t i,
                     uint64_t lo, uint64_t hi, int *ret_rc, struct cw_err *err)
{
    for (uint64_t r = lo; r < hi; r++) {
        struct cw_item_row row;
        *ret_rc = cw_item_rows_row(rows, i, r, &row, err);
        if (*ret_rc != 0)
            return true;
        if (memcmp(row.dims, &field->dims[1], (size_t)(field->rank - 1) * sizeof(row.dims[0])))
            return false;
    }
    return true;
}

/* Whether a tensor of an item goes into that of the batch, as far as their fields tell. */
static bool is_like(const struct cw_field *to, const struct cw_field *from)
{
    bool same = strcmp(to->name, from->name) == 0 && to->dtype == from->dtype &&
                to->rank == from->rank && to->rank >= 1;
    /* Where one shape is given, each row is looked at. */
    bool any = !cw_field_is_ragged(to);
    for (int d = 1; same && d < to->rank; d++)
        same = to->dims[d] == from->dims[d] || to->dims[d] == CW_DIM_RAGGED ||
               (any && from->dims[d] == CW_DIM_RAGGED);
    return same;
}

/* Checks rows that are to be added. A difference is noted, and is an error of the whole batch. */
static int check_like(struct cw_fill *fill, const struct cw_item_rows *rows, uint64_t lo,
                      uint64_t hi, struct cw_err *err)
{
    const struct cw_batch *batch = fill->batch, *head = rows->head;
    bool same = incoming(fill) == head->n;
    int rc = 0;
    for (size_t i = 0; same && rc == 0 && i < head->n; i++) {
        const struct cw_field *to = &batch->tensors[i].field, *from = &head->tensors[i].field;
        same = is_like(to, from);
        if (same && cw_field_is_ragged(from) && !cw_field_is_ragged(to))
            same = are_like(to, rows, i, lo, hi, &rc, err);
    }
    if (!same)
        cw_err_set(&fill->shape_err, CW_E_INVALID,
                   "items %llu and %llu cannot be in one batch: their elements have different "
                   "shapes; resize or crop them to one shape before `batch`, or say `ragged` there",
                   (unsigned long long)fill->first_item, (unsigned long long)head->item);
    return rc;
}

static int add_numbers(struct cw_fill *fill, size_t i, const struct cw_item_rows *rows, uint64_t lo,
                       uint64_t hi, struct cw_err *err)
{
    struct cw_item_row row;
    int rc = cw_item_rows_row(rows, i, lo, &row, err);
    size_t bytes = rc == 0 ? row.bytes * (size_t)(hi - lo) : 0;
    if (bytes == 0)
        return rc;
    fill->bytes += bytes;
    char *dst = (char *)fill->batch->buf->data + fill->batch->tensors[i].offset +
                row.bytes * (size_t)fill->rows;
    return cw_item_rows_read(rows, i, row.at, dst, bytes, err);
}

static int add_tensor(struct cw_fill *fill, size_t i, const struct cw_item_rows *rows, uint64_t lo,
                      uint64_t hi, struct cw_err *err)
{
    const struct cw_tensor *to = &fill->batch->tensors[i];
    size_t bytes = 0;
    if (!cw_fill_is_loose(to))
        return add_numbers(fill, i, rows, lo, hi, err);
    int rc = cw_fill_loose_add(&fill->loose[i], to, fill->rows, rows, i, lo, hi, &bytes, err);
    fill->bytes += bytes;
    return rc;
}

int cw_fill_add(struct cw_fill *fill, const struct cw_item_rows *rows, uint64_t lo, uint64_t hi,
                uint64_t most, struct cw_err *err)
{
    int rc = fill->batch ? 0 : begin(fill, rows, lo, most, err);
    if (rc == 0 && fill->shape_err.code == 0)
        rc = check_like(fill, rows, lo, hi, err);
    if (rc != 0 || fill->shape_err.code != 0)
        return rc;
    rc = reserve(fill, fill->rows + hi - lo, most, err);
    for (size_t i = 0; rc == 0 && i < rows->head->n; i++)
        rc = add_tensor(fill, i, rows, lo, hi, err);
    if (rc == 0)
        fill->rows += hi - lo;
    return rc;
}

/* ---- the finished batch ---- */

/* Finds the bytes of what was collected, as it stands in the batch. */
static int measure_loose(struct cw_fill *fill, struct cw_fill_padded *padded, struct cw_err *err)
{
    struct cw_batch *batch = fill->batch;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < incoming(fill); i++)
        if (is_padded(fill, i))
            rc = cw_fill_pads_measure(fill->pads, i, &fill->loose[i], batch, fill->rows, &padded[i],
                                      err);
        else if (cw_fill_is_loose(&batch->tensors[i]))
            batch->tensors[i].bytes =
                cw_fill_loose_size(&fill->loose[i], &batch->tensors[i].field, fill->rows);
    return rc;
}

static void put_loose(struct cw_fill *fill, const struct cw_fill_padded *padded)
{
    struct cw_batch *batch = fill->batch;
    for (size_t i = 0; i < incoming(fill); i++)
        if (is_padded(fill, i))
            cw_fill_pads_put(fill->pads, fill->out, i, &padded[i], &fill->loose[i], batch,
                             fill->rows);
        else if (cw_fill_is_loose(&batch->tensors[i]))
            cw_fill_loose_put(&fill->loose[i], &batch->tensors[i].field, fill->rows,
                              (char *)batch->buf->data + batch->tensors[i].offset);
}

int cw_fill_finish(struct cw_fill *fill, bool squeeze, struct cw_batch **ret_batch,
                   struct cw_err *err)
{
    struct cw_batch *batch = fill->batch;
    if (fill->shape_err.code != 0) {
        *err = fill->shape_err;
        return err->code;
    }
    cw_autofree struct cw_fill_padded *padded =
        fill->pads ? CW_NEW_ARRAY(struct cw_fill_padded, fill->pads->n) : NULL;
    int rc = fill->loose ? measure_loose(fill, padded, err) : 0;
    if (rc == 0)
        rc = resize(fill, fill->rows, 0, err);
    if (rc != 0)
        return rc;
    if (fill->loose)
        put_loose(fill, padded);
    for (size_t i = 0; squeeze && i < batch->n; i++) {
        struct cw_field *field = &batch->tensors[i].field;
        field->rank--;
        memmove(field->dims, field->dims + 1, sizeof(field->dims[0]) * (size_t)field->rank);
    }
    batch->elements = fill->rows;
    *ret_batch = cw_batch_ref(batch);
    cw_fill_clear(fill);
    return 0;
}
