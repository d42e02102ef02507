/* SPDX-License-Identifier: Apache-2.0 */
/* Concatenates elements to a batch: measures the tensors first, then copies the rows. */
#include "exec/row_batch.h"

#include "base/mem.h"
#include "data/ragged.h"
#include "data/strings.h"
#include <string.h>

/* Returns the number of strings in a view: 1 for rank 0, -1 if the dimensions are not valid. */
static int64_t view_count(const struct cw_view *view)
{
    int64_t n = 1;
    for (int i = 0; i < view->rank; i++)
        if (view->dims[i] < 0 || __builtin_mul_overflow(n, view->dims[i], &n))
            return -1;
    return n;
}

static bool same_shape(const struct cw_view *a, const struct cw_view *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(a->dims[0]));
}

/* Whether a view is a batch of a ragged field. */
static bool is_ragged_batch(const struct cw_view *view, const struct cw_field *field)
{
    struct cw_field found = *field;
    struct cw_ragged ragged;
    struct cw_err ignored = {0};
    for (int i = 0; i < field->rank; i++)
        if ((field->dims[i] == CW_DIM_RAGGED) != (view->dims[i] == CW_DIM_RAGGED) ||
            (field->dims[i] >= 0 && field->dims[i] != view->dims[i]))
            return false;
    memcpy(found.dims, view->dims, sizeof(found.dims));
    return cw_ragged_init(&ragged, &found, &ignored) == 0 && view->bytes >= ragged.values_at;
}

bool cw_row_batch_fits(const struct cw_view *view, const struct cw_field *field)
{
    if (view->dtype != field->dtype || view->rank != field->rank)
        return false;
    for (int i = 0; i < field->rank; i++)
        if (field->dims[i] >= 0 && field->dims[i] != view->dims[i])
            return false;
    int64_t n = view_count(view), bytes;
    if (n < 0)
        return cw_field_is_ragged(field) && is_ragged_batch(view, field);
    if (view->dtype != CW_DTYPE_STR)
        return !__builtin_mul_overflow(n, (int64_t)cw_dtype_bytes(view->dtype), &bytes) &&
               (uint64_t)bytes == view->bytes;
    return !view->rank || view->bytes / sizeof(int64_t) > (uint64_t)n;
}

void cw_row_batch_print_shape(const struct cw_view *view, struct cw_str *out)
{
    cw_str_add(out, cw_dtype_name(view->dtype));
    cw_str_add(out, "[");
    for (int i = 0; i < view->rank; i++) {
        cw_str_add(out, i ? "," : "");
        if (view->dims[i] == CW_DIM_RAGGED)
            cw_str_add(out, "ragged");
        else
            cw_str_addf(out, "%lld", (long long)view->dims[i]);
    }
    cw_str_add(out, "]");
}

/* Returns the bytes of a view's strings, without the offsets. */
static size_t str_payload(const struct cw_view *view)
{
    return view->rank ? view->bytes - ((size_t)view_count(view) + 1) * sizeof(int64_t)
                      : view->bytes;
}

/* Says that a row is not what its operator had said. */
static int misfit(const struct cw_view *view, const struct cw_field *spec, struct cw_err *err)
{
    CW_STR_AUTO shape = {0};
    cw_row_batch_print_shape(view, &shape);
    return cw_err_set(err, CW_E_INTERNAL,
                      "field \"%s\" came as %s, which is not what its operator said", spec->name,
                      cw_str_text(&shape));
}

/* What the rows of a field are together. */
struct sum {
    bool ragged;
    size_t bytes; /* of the values, or of the bytes of strings */
    int64_t strings;
};

static int add_rows(const struct cw_row_batch *rows, size_t f, struct sum *sum, size_t *ret_row,
                    struct cw_err *err)
{
    const struct cw_field *spec = &rows->spec->fields[f];
    for (size_t r = 0; r < rows->n; r++) {
        const struct cw_view *view = &rows->row[r][f];
        *ret_row = r;
        if (!cw_row_batch_fits(view, spec))
            return misfit(view, spec, err);
        if (!sum->ragged && !same_shape(&rows->row[0][f], view)) {
            if (!rows->loose || (spec->dtype == CW_DTYPE_STR && spec->rank != 1))
                return CW_E_INVALID; /* the caller's message names both rows */
            sum->ragged = true;
        }
        bool is_str = view->dtype == CW_DTYPE_STR && !cw_field_is_ragged(spec);
        sum->bytes += is_str ? str_payload(view) : view->bytes;
        sum->strings += is_str ? view_count(view) : 0;
    }
    return 0;
}

/* Sets the dims of rows that are stacked, or those of the only row. */
static void set_dims(const struct cw_row_batch *rows, size_t f, bool ragged, struct cw_field *field)
{
    const struct cw_field *spec = &rows->spec->fields[f];
    const struct cw_view *first = rows->n ? &rows->row[0][f] : NULL;
    int lead = rows->lead ? 1 : 0;
    *field = rows->out->fields[f];
    field->dtype = spec->dtype;
    field->rank = spec->rank + lead;
    if (lead)
        field->dims[0] = (int64_t)rows->n;
    for (int i = 0; i < spec->rank; i++) {
        if (ragged)
            field->dims[i + lead] = spec->dims[i] < 0 ? CW_DIM_RAGGED : spec->dims[i];
        else
            field->dims[i + lead] = first ? first->dims[i] : CW_MAX(spec->dims[i], 0);
    }
}

static int measure_field(const struct cw_row_batch *rows, size_t f, struct cw_tensor *tensor,
                         size_t *ret_row, struct cw_err *err)
{
    const struct cw_field *spec = &rows->spec->fields[f];
    struct sum sum = {.ragged = rows->lead && cw_field_is_ragged(&rows->out->fields[f])};
    struct cw_ragged ragged;
    int rc = add_rows(rows, f, &sum, ret_row, err);
    if (rc < 0)
        return rc;
    set_dims(rows, f, sum.ragged, &tensor->field);
    /* a ragged batch as it came, or what follows from dims */
    tensor->bytes = sum.bytes;
    if (spec->dtype == CW_DTYPE_STR && !cw_field_is_ragged(spec))
        tensor->bytes += cw_strings_table_bytes(sum.strings);
    if (!sum.ragged)
        return 0;
    if ((rc = cw_ragged_init(&ragged, &tensor->field, err)) < 0)
        return cw_err_wrap(err, "field \"%s\"", spec->name);
    tensor->bytes += ragged.values_at;
    return 0;
}

int cw_row_batch_measure(const struct cw_row_batch *rows, struct cw_batch *batch, size_t *ret_row,
                         struct cw_err *err)
{
    CW_ASSERT(batch->n == rows->spec->n);
    for (size_t f = 0; f < batch->n; f++) {
        int rc = measure_field(rows, f, &batch->tensors[f], ret_row, err);
        if (rc == CW_E_INVALID) {
            CW_STR_AUTO a = {0}, b = {0};
            cw_row_batch_print_shape(&rows->row[*ret_row][f], &a);
            cw_row_batch_print_shape(&rows->row[0][f], &b);
            return cw_err_set(err, CW_E_INVALID,
                              "field \"%s\" is %s here and %s in the first element: elements of a "
                              "batch must have one shape, unless its option ragged names the field",
                              rows->spec->fields[f].name, cw_str_text(&a), cw_str_text(&b));
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

static void copy_strings(const struct cw_row_batch *rows, size_t f, int64_t strings, uint8_t *dst)
{
    int64_t *offsets = (int64_t *)(void *)dst;
    uint8_t *bytes = dst + ((size_t)strings + 1) * sizeof(int64_t);
    int64_t at = 0;
    *offsets++ = 0;
    for (size_t r = 0; r < rows->n; r++) {
        const struct cw_view *view = &rows->row[r][f];
        size_t payload = str_payload(view);
        const uint8_t *src = view->data;
        int64_t n = view_count(view);
        if (!view->rank) {
            *offsets++ = at + (int64_t)payload;
        } else {
            for (int64_t i = 1; i <= n; i++) {
                int64_t offset;
                memcpy(&offset, src + (size_t)i * sizeof(offset), sizeof(offset));
                *offsets++ = at + offset;
            }
            src += ((size_t)n + 1) * sizeof(int64_t);
        }
        if (payload)
            memcpy(bytes + at, src, payload);
        at += (int64_t)payload;
    }
}

/* Copies the rows of a ragged field that are not a batch yet. */
static void copy_ragged(const struct cw_row_batch *rows, size_t f, const struct cw_field *field,
                        void *dst)
{
    struct cw_ragged_writer writer;
    struct cw_err impossible = {0}; /* it was measured */
    if (cw_ragged_write_begin(&writer, field, dst, &impossible) < 0)
        return;
    for (size_t r = 0; r < rows->n; r++) {
        const struct cw_view *view = &rows->row[r][f];
        void *values = cw_ragged_write_row(&writer, view->dims);
        if (view->bytes && !writer.ragged.strings)
            memcpy(values, view->data, view->bytes);
    }
    if (writer.ragged.strings)
        copy_strings(rows, f, writer.at, (uint8_t *)dst + writer.ragged.values_at);
}

void cw_row_batch_copy(const struct cw_row_batch *rows, const struct cw_batch *batch, void *base)
{
    for (size_t f = 0; f < batch->n; f++) {
        const struct cw_tensor *tensor = &batch->tensors[f];
        uint8_t *dst = (uint8_t *)base + tensor->offset;
        if (rows->lead && cw_field_is_ragged(&tensor->field)) {
            copy_ragged(rows, f, &tensor->field, dst);
            continue;
        }
        if (tensor->field.dtype == CW_DTYPE_STR && !cw_field_is_ragged(&tensor->field)) {
            copy_strings(rows, f, cw_field_count(&tensor->field), dst);
            continue;
        }
        for (size_t r = 0; r < rows->n; r++) {
            const struct cw_view *view = &rows->row[r][f];
            if (view->bytes)
                memcpy(dst, view->data, view->bytes);
            dst += view->bytes;
        }
    }
}

void cw_row_batch_view(const struct cw_batch *batch, void *base, struct cw_element *element)
{
    element->n = batch->n;
    for (size_t f = 0; f < batch->n; f++) {
        const struct cw_tensor *tensor = &batch->tensors[f];
        struct cw_view *view = &element->fields[f];
        *view = (struct cw_view){.data = base ? (uint8_t *)base + tensor->offset : NULL,
                                 .bytes = tensor->bytes,
                                 .dtype = tensor->field.dtype,
                                 .rank = tensor->field.rank};
        memcpy(view->dims, tensor->field.dims, sizeof(view->dims));
    }
}

int cw_row_batch_to_element(const struct cw_row_batch *rows, struct cw_arena *arena,
                            struct cw_element *element, struct cw_err *err)
{
    struct cw_batch *batch = cw_batch_new(rows->spec->n);
    size_t row = 0, bytes = 0;
    void *base = NULL;
    int rc = cw_row_batch_measure(rows, batch, &row, err);
    if (rc < 0)
        rc = cw_err_wrap(err, "row %zu", row);
    if (rc >= 0)
        rc = cw_batch_layout(batch, &bytes, err);
    if (rc >= 0 && !(base = cw_arena_alloc(arena, bytes)))
        rc = cw_err_set(err, CW_E_NOMEM, "no memory for a batch of %zu bytes", bytes);
    if (rc >= 0) {
        cw_row_batch_copy(rows, batch, base);
        cw_row_batch_view(batch, base, element);
        rc = 0;
    }
    cw_batch_unref(batch);
    return rc;
}
