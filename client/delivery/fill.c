/* SPDX-License-Identifier: Apache-2.0 */
#include "client/delivery/fill.h"

#include <string.h>
#include "base/mem.h"

#define BYTES_MAX ((size_t)1 << 40)
#define STRINGS_SPARE ((size_t)4 << 10)

/* A growing tensor of strings: the end offset of each string, and the bytes of all. */
struct cw_fill_strings {
    void *ends; /* The end offset of each string: an array of int64_t. */
    size_t ends_cap;
    void *bytes;
    size_t n, cap;
};

static bool is_strings(const struct cw_tensor *tensor)
{
    return tensor->field.dtype == CW_DTYPE_STR;
}

void cw_fill_clear(struct cw_fill *fill)
{
    for (size_t i = 0; fill->strings && i < fill->batch->n; i++) {
        cw_mem_free(fill->strings[i].ends);
        cw_mem_free(fill->strings[i].bytes);
    }
    cw_mem_free(fill->strings);
    cw_batch_unref(fill->batch);
    *fill = (struct cw_fill){.alloc = fill->alloc, .arg = fill->arg};
}

/* ---- memory ---- */

/* Sets the offsets of all tensors for `rows` rows: first those of fixed size, then the strings with
 * the bytes that they have now. */
static int lay_out(struct cw_batch *batch, uint64_t rows, size_t *ret_fixed, size_t *ret_bytes,
                   struct cw_err *err)
{
    size_t fixed = 0, bytes = 0;
    for (int strings = 0; strings < 2; strings++) {
        for (size_t i = 0; i < batch->n; i++) {
            struct cw_tensor *tensor = &batch->tensors[i];
            if (is_strings(tensor) != (strings == 1))
                continue;
            tensor->field.dims[0] = (int64_t)rows;
            int64_t need = strings ? (int64_t)tensor->bytes : cw_field_bytes(&tensor->field);
            if (need < 0 || (size_t)need > BYTES_MAX - bytes)
                return cw_err_set(err, CW_E_LIMIT,
                                  "tensor \"%.47s\": the batch would be larger than 1 TiB",
                                  tensor->field.name);
            tensor->bytes = (size_t)need;
            tensor->offset = bytes;
            bytes = CW_ALIGN_UP(bytes + (size_t)need, (size_t)CW_BUF_ALIGN);
        }
        fixed = strings ? fixed : bytes;
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
        row_bytes[i] = is_strings(&batch->tensors[i]) || fill->rows_cap == 0
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
            batch->tensors[i].bytes = is_strings(&batch->tensors[i])
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
    if (fill->rows_cap == 0 && resize(fill, most, fill->strings_reserved, &none) == 0)
        return 0;
    if (resize(fill, CW_MAX(rows, CW_MIN(2 * fill->rows_cap, most)), 0, &none) == 0)
        return 0;
    return resize(fill, rows, 0, err);
}

static int grow(void **p, size_t *cap, size_t need, struct cw_err *err)
{
    if (need <= *cap)
        return 0;
    size_t more = CW_MAX(need, 2 * *cap);
    void *grown = need <= BYTES_MAX ? cw_mem_try_grow(*p, more) : NULL;
    if (!grown)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %zu bytes of strings", need);
    *p = grown;
    *cap = more;
    return 0;
}

/* ---- rows in ---- */

/* The first row has come, and gives the batch its shapes. */
static void begin(struct cw_fill *fill, const struct cw_batch *head, uint64_t most)
{
    double bytes = 0;
    fill->batch = cw_batch_new(head->n);
    fill->first_item = head->item;
    for (size_t i = 0; i < head->n; i++) {
        fill->batch->tensors[i].field = head->tensors[i].field;
        if (!is_strings(&head->tensors[i]))
            continue;
        bytes += (double)head->tensors[i].bytes / (double)head->elements * (double)most;
        if (!fill->strings)
            fill->strings = CW_NEW_ARRAY(struct cw_fill_strings, head->n);
    }
    /* A quarter more than strings of this length need. Only if that is not enough are tensors moved
     * when the batch is finished. */
    if (bytes > 0 && bytes < (double)BYTES_MAX / 2)
        fill->strings_reserved = (size_t)(bytes * 1.25) + STRINGS_SPARE;
}

static int check_like(const struct cw_fill *fill, const struct cw_batch *head, struct cw_err *err)
{
    const struct cw_batch *batch = fill->batch;
    bool same = batch->n == head->n;
    for (size_t i = 0; same && i < head->n; i++) {
        const struct cw_field *x = &batch->tensors[i].field, *y = &head->tensors[i].field;
        same = strcmp(x->name, y->name) == 0 && x->dtype == y->dtype && x->rank == y->rank &&
               x->rank >= 1;
        for (int d = 1; same && d < x->rank; d++)
            same = x->dims[d] == y->dims[d];
    }
    if (same)
        return 0;
    return cw_err_set(
        err, CW_E_INVALID,
        "items %llu and %llu cannot be in one batch: their elements have different shapes; "
        "resize or crop them to one shape before `batch`",
        (unsigned long long)fill->first_item, (unsigned long long)head->item);
}

static int add_strings(struct cw_fill *fill, size_t i, const struct cw_item_rows *rows, uint64_t lo,
                       uint64_t hi, struct cw_err *err)
{
    struct cw_fill_strings *strings = &fill->strings[i];
    size_t table = (size_t)(rows->head->elements + 1) * sizeof(int64_t);
    int64_t first = 0, last;
    int rc = grow(&strings->ends, &strings->ends_cap,
                  (size_t)(fill->rows + hi - lo) * sizeof(int64_t), err);
    if (rc == 0)
        rc = cw_item_rows_str_at(rows, i, lo, &first, err);
    last = first;
    for (uint64_t r = lo; rc == 0 && r < hi; r++) {
        int64_t end = 0;
        rc = cw_item_rows_str_at(rows, i, r + 1, &end, err);
        if (rc == 0 && end < last)
            rc = cw_err_set(err, CW_E_CORRUPT, "item %llu: string offsets fall",
                            (unsigned long long)rows->item);
        if (rc != 0)
            return rc;
        last = end;
        ((int64_t *)strings->ends)[fill->rows + r - lo] = (int64_t)strings->n + (last - first);
    }
    size_t bytes = (size_t)(last - first);
    if (rc == 0)
        rc = grow(&strings->bytes, &strings->cap, strings->n + bytes, err);
    if (rc == 0 && bytes > 0)
        rc = cw_item_rows_read(rows, i, table + (size_t)first, (char *)strings->bytes + strings->n,
                               bytes, err);
    if (rc != 0)
        return rc;
    strings->n += bytes;
    fill->bytes += bytes + (size_t)(hi - lo) * sizeof(int64_t);
    return 0;
}

static int add_numbers(struct cw_fill *fill, size_t i, const struct cw_item_rows *rows, uint64_t lo,
                       uint64_t hi, struct cw_err *err)
{
    size_t row = rows->head->tensors[i].bytes / (size_t)rows->head->elements,
           bytes = row * (size_t)(hi - lo);
    if (bytes == 0)
        return 0;
    fill->bytes += bytes;
    char *dst =
        (char *)fill->batch->buf->data + fill->batch->tensors[i].offset + row * (size_t)fill->rows;
    return cw_item_rows_read(rows, i, row * (size_t)lo, dst, bytes, err);
}

int cw_fill_add(struct cw_fill *fill, const struct cw_item_rows *rows, uint64_t lo, uint64_t hi,
                uint64_t most, struct cw_err *err)
{
    if (!fill->batch)
        begin(fill, rows->head, most);
    if (fill->shape_err.code != 0 || check_like(fill, rows->head, &fill->shape_err) != 0)
        return 0;
    int rc = reserve(fill, fill->rows + hi - lo, most, err);
    for (size_t i = 0; rc == 0 && i < rows->head->n; i++) {
        if (is_strings(&rows->head->tensors[i]))
            rc = add_strings(fill, i, rows, lo, hi, err);
        else
            rc = add_numbers(fill, i, rows, lo, hi, err);
    }
    if (rc == 0)
        fill->rows += hi - lo;
    return rc;
}

/* ---- the finished batch ---- */

static void put_strings(struct cw_fill *fill, size_t i)
{
    struct cw_fill_strings *strings = &fill->strings[i];
    char *dst = (char *)fill->batch->buf->data + fill->batch->tensors[i].offset;
    size_t table = (size_t)fill->rows * sizeof(int64_t);
    memset(dst, 0, sizeof(int64_t));
    memcpy(dst + sizeof(int64_t), strings->ends, table);
    if (strings->n > 0)
        memcpy(dst + sizeof(int64_t) + table, strings->bytes, strings->n);
    cw_mem_free(strings->ends);
    cw_mem_free(strings->bytes);
    *strings = (struct cw_fill_strings){0};
}

int cw_fill_finish(struct cw_fill *fill, bool squeeze, struct cw_batch **ret_batch,
                   struct cw_err *err)
{
    struct cw_batch *batch = fill->batch;
    if (fill->shape_err.code != 0) {
        *err = fill->shape_err;
        return err->code;
    }
    for (size_t i = 0; fill->strings && i < batch->n; i++)
        if (is_strings(&batch->tensors[i]))
            batch->tensors[i].bytes =
                (size_t)(fill->rows + 1) * sizeof(int64_t) + fill->strings[i].n;
    int rc = resize(fill, fill->rows, 0, err);
    if (rc != 0)
        return rc;
    for (size_t i = 0; fill->strings && i < batch->n; i++)
        if (is_strings(&batch->tensors[i]))
            put_strings(fill, i);
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
