/* SPDX-License-Identifier: Apache-2.0 */
#include "client/delivery/fill_pads.h"

#include <string.h>

#define BYTES_MAX ((size_t)1 << 40)

int cw_fill_pads_begin(const struct cw_pads *pads, const struct cw_spec *out, size_t f,
                       const struct cw_field *from, struct cw_field *ret_field, struct cw_err *err)
{
    const struct cw_field *to = &out->fields[f];
    const struct cw_pad *pad = &pads->field[f].how;
    if (from->rank != to->rank || from->dtype != to->dtype)
        return cw_err_set(err, CW_E_CORRUPT, "tensor %s is not what the pipeline gives",
                          from->name);
    *ret_field = *from;
    for (int d = 0; d + 1 < to->rank; d++)
        ret_field->dims[d + 1] = pad->on[d] ? CW_DIM_RAGGED : to->dims[d + 1];
    return 0;
}

void cw_fill_pads_begin_extra(const struct cw_pads *pads, const struct cw_spec *out,
                              struct cw_batch *batch)
{
    for (size_t i = pads->n; i < batch->n; i++) {
        struct cw_field *field = &batch->tensors[i].field;
        *field = out->fields[i];
        field->rank = CW_MAX(field->rank, 2);
        field->dims[1] = CW_DIM_RAGGED;
    }
}

/* ---- the rows that were collected ---- */

/* Finds the dims of row r, in the order of rows: `end` is where the row before ends. */
static void row_dims(const struct cw_fill_loose *loose, const struct cw_field *field, uint64_t r,
                     int64_t *end, int64_t *dims)
{
    const int rank = field->rank - 1;
    if (loose->shapes) {
        memcpy(dims, (const int64_t *)loose->shapes + r * (uint64_t)rank,
               (size_t)rank * sizeof(*dims));
        return;
    }
    const int64_t at = ((const int64_t *)loose->ends)[r];
    memcpy(dims, field->dims + 1, (size_t)rank * sizeof(*dims));
    dims[0] = at - *end;
    *end = at;
}

static size_t bytes_of(const struct cw_field *field, const int64_t *dims)
{
    size_t bytes = cw_dtype_bytes(field->dtype);
    for (int d = 0; d + 1 < field->rank; d++)
        bytes *= (size_t)dims[d];
    return bytes;
}

/* ---- the finished batch ---- */

static int set_bytes(struct cw_batch *batch, size_t i, size_t row_bytes, uint64_t n,
                     struct cw_err *err)
{
    if (__builtin_mul_overflow(row_bytes, (size_t)n, &batch->tensors[i].bytes) ||
        batch->tensors[i].bytes > BYTES_MAX)
        return cw_err_set(err, CW_E_LIMIT,
                          "tensor \"%.47s\": it would be larger than 1 TiB when it is filled up",
                          batch->tensors[i].field.name);
    return 0;
}

/* Finds how large rows are at most. A row that is longer than the pipeline allows was left out by the worker. */
static int find_most(const struct cw_pad *pad, const struct cw_fill_loose *loose,
                     const struct cw_field *field, uint64_t n, int64_t *most, struct cw_err *err)
{
    int64_t dims[CW_RANK_MAX], end = 0;
    for (uint64_t r = 0; r < n; r++) {
        row_dims(loose, field, r, &end, dims);
        for (int d = 0; d + 1 < field->rank; d++) {
            most[d] = CW_MAX(most[d], dims[d]);
            if (pad->to[d] >= 0 && dims[d] > pad->to[d])
                return cw_err_set(err, CW_E_CORRUPT, "tensor %s: a row is longer than it may be",
                                  field->name);
        }
    }
    return 0;
}

int cw_fill_pads_measure(const struct cw_pads *pads, size_t f, const struct cw_fill_loose *loose,
                         struct cw_batch *batch, uint64_t n, struct cw_fill_padded *ret_padded,
                         struct cw_err *err)
{
    const struct cw_pad *pad = &pads->field[f].how;
    const struct cw_field *field = &batch->tensors[f].field;
    int64_t most[CW_RANK_MAX] = {0}, lengths[CW_RANK_MAX];
    int rc = find_most(pad, loose, field, n, most, err);
    if (rc == 0)
        rc = cw_pad_measure(pad, field->dtype, field->rank - 1, most, &ret_padded->shape, err);
    if (rc != 0)
        return rc;
    ret_padded->length_bytes =
        cw_pad_lengths(pad, field->rank - 1, most, lengths) * sizeof(lengths[0]);
    rc = set_bytes(batch, f, ret_padded->shape.bytes, n, err);
    if (rc == 0 && pad->length >= 0)
        rc = set_bytes(batch, (size_t)pad->length, ret_padded->length_bytes, n, err);
    if (rc == 0 && pad->mask >= 0)
        rc = set_bytes(batch, (size_t)pad->mask, ret_padded->shape.mask_bytes, n, err);
    return rc;
}

/* Gives tensor i the shape that it has in the batch. */
static void set_field(struct cw_batch *batch, const struct cw_spec *out, size_t i, uint64_t n,
                      const int64_t *dims)
{
    struct cw_field *field = &batch->tensors[i].field;
    *field = out->fields[i];
    field->dims[0] = (int64_t)n;
    memcpy(field->dims + 1, dims, (size_t)(field->rank - 1) * sizeof(*dims));
}

/* Where row r of tensor i is written; NULL if there is no such tensor, or nothing to write. */
static char *row_at(const struct cw_batch *batch, int i, size_t row_bytes, uint64_t r)
{
    return i < 0 || row_bytes == 0
               ? NULL
               : (char *)batch->buf->data + batch->tensors[i].offset + row_bytes * (size_t)r;
}

void cw_fill_pads_put(const struct cw_pads *pads, const struct cw_spec *out, size_t f,
                      const struct cw_fill_padded *padded, struct cw_fill_loose *loose,
                      struct cw_batch *batch, uint64_t n)
{
    const struct cw_pad *pad = &pads->field[f].how;
    const struct cw_field field = batch->tensors[f].field;
    const struct cw_pad_shape *shape = &padded->shape;
    const int64_t numbers = (int64_t)(padded->length_bytes / sizeof(int64_t));
    const char *from = loose->bytes;
    int64_t dims[CW_RANK_MAX], lengths[CW_RANK_MAX], end = 0;
    for (uint64_t r = 0; r < n; r++) {
        char *to = row_at(batch, (int)f, shape->bytes, r),
             *length = row_at(batch, pad->length, padded->length_bytes, r),
             *mask = row_at(batch, pad->mask, shape->mask_bytes, r);
        row_dims(loose, &field, r, &end, dims);
        if (to)
            cw_pad_row(pad, shape, field.dtype, field.rank - 1, dims, from, to);
        from = from ? from + bytes_of(&field, dims) : NULL;
        if (length) {
            (void)cw_pad_lengths(pad, field.rank - 1, dims, lengths);
            memcpy(length, lengths, padded->length_bytes);
        }
        if (mask)
            cw_pad_mask(pad, shape, dims, mask);
    }
    set_field(batch, out, f, n, shape->dims);
    if (pad->length >= 0)
        set_field(batch, out, (size_t)pad->length, n, &numbers);
    if (pad->mask >= 0)
        set_field(batch, out, (size_t)pad->mask, n, shape->dims);
    cw_fill_loose_fini(loose);
}
