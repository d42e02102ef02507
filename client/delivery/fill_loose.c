/* SPDX-License-Identifier: Apache-2.0 */
#include "client/delivery/fill_loose.h"

#include <string.h>
#include "base/mem.h"

#define BYTES_MAX ((size_t)1 << 40)

bool cw_fill_is_loose(const struct cw_tensor *tensor)
{
    return tensor->field.dtype == CW_DTYPE_STR || cw_field_is_ragged(&tensor->field);
}

void cw_fill_loose_fini(struct cw_fill_loose *loose)
{
    cw_mem_free(loose->ends);
    cw_mem_free(loose->shapes);
    cw_mem_free(loose->bytes);
    *loose = (struct cw_fill_loose){0};
}

static int grow(void **p, size_t *cap, size_t need, struct cw_err *err)
{
    if (need <= *cap)
        return 0;
    size_t more = CW_MAX(need, 2 * *cap);
    void *grown = need <= BYTES_MAX ? cw_mem_try_grow(*p, more) : NULL;
    if (!grown)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %zu bytes of rows", need);
    *p = grown;
    *cap = more;
    return 0;
}

/* Appends bytes of the item's tensor. */
static int add_bytes(struct cw_fill_loose *loose, const struct cw_item_rows *rows, size_t i,
                     size_t at, size_t n, struct cw_err *err)
{
    int rc = grow(&loose->bytes, &loose->cap, loose->n + n, err);
    if (rc == 0 && n > 0)
        rc = cw_item_rows_read(rows, i, at, (char *)loose->bytes + loose->n, n, err);
    loose->n += rc == 0 ? n : 0;
    return rc;
}

/* Notes the ends of strings [s, end), and appends their bytes. */
static int add_list(struct cw_fill_loose *loose, const struct cw_item_list *list, uint64_t s,
                    uint64_t end, struct cw_err *err)
{
    int64_t first = 0, last = 0;
    int rc = cw_item_list_offset(list, s, &first, err);
    last = first;
    if (rc == 0)
        rc = grow(&loose->ends, &loose->ends_cap,
                  (size_t)(loose->strings + (end - s)) * sizeof(int64_t), err);
    for (; rc == 0 && s < end; s++) {
        int64_t at = 0;
        rc = cw_item_list_offset(list, s + 1, &at, err);
        if (rc == 0 && at < last)
            rc = cw_err_set(err, CW_E_CORRUPT, "item %llu: string offsets fall",
                            (unsigned long long)list->rows->item);
        last = at;
        if (rc == 0)
            ((int64_t *)loose->ends)[loose->strings++] = (int64_t)loose->n + (last - first);
    }
    return rc != 0 ? rc
                   : add_bytes(loose, list->rows, list->tensor, list->bytes_at + (size_t)first,
                               (size_t)(last - first), err);
}

static int add_strings(struct cw_fill_loose *loose, const struct cw_field *field, uint64_t before,
                       const struct cw_item_rows *rows, size_t i, uint64_t lo, uint64_t hi,
                       struct cw_err *err)
{
    struct cw_item_list list;
    uint64_t begin = 0, end = 0;
    const bool ragged = cw_field_is_ragged(field);
    int rc = cw_item_rows_list(rows, i, &list, err);
    if (rc == 0 && ragged)
        rc = grow(&loose->shapes, &loose->shapes_cap, (size_t)(before + hi - lo) * sizeof(int64_t),
                  err);
    for (uint64_t r = lo; rc == 0 && r < hi; r++) {
        struct cw_item_row row = {0};
        uint64_t n = 1;
        rc = cw_item_rows_row(rows, i, r, &row, err);
        for (int d = 0; d + 1 < field->rank; d++)
            n *= (uint64_t)row.dims[d];
        begin = r == lo ? row.at : begin;
        if (rc == 0 && ((r > lo && row.at != end) || n > list.n || row.at > list.n - n))
            rc = cw_err_set(err, CW_E_CORRUPT, "item %llu: rows do not stand one behind another",
                            (unsigned long long)rows->item);
        end = row.at + n;
        if (rc == 0 && ragged)
            ((int64_t *)loose->shapes)[before + r - lo] = (int64_t)(loose->strings + (end - begin));
    }
    return rc == 0 && hi > lo ? add_list(loose, &list, begin, end, err) : rc;
}

/* Notes the end of a row, and its shape if shapes are stored. */
static void note_row(struct cw_fill_loose *loose, const struct cw_field *field, uint64_t row,
                     const int64_t *dims)
{
    int rank = field->rank - 1;
    int64_t n = 1;
    if (!loose->shapes) {
        loose->at += dims[0];
    } else {
        for (int d = 0; d < rank; d++)
            n *= dims[d];
        loose->at += n;
        memcpy((int64_t *)loose->shapes + row * (uint64_t)rank, dims, (size_t)rank * sizeof(*dims));
    }
    ((int64_t *)loose->ends)[row] = loose->at;
}

static int add_ragged(struct cw_fill_loose *loose, const struct cw_field *field, uint64_t before,
                      const struct cw_item_rows *rows, size_t i, uint64_t lo, uint64_t hi,
                      struct cw_err *err)
{
    size_t at = 0, bytes = 0;
    size_t shape = (size_t)(field->rank - 1) * sizeof(int64_t);
    int rc = 0;
    if (cw_ragged_is_shaped(field))
        rc = grow(&loose->shapes, &loose->shapes_cap, (size_t)(before + hi - lo) * shape, err);
    for (uint64_t r = lo; rc == 0 && r < hi; r++) {
        struct cw_item_row row;
        rc = cw_item_rows_row(rows, i, r, &row, err);
        if (rc != 0)
            break;
        at = r == lo ? row.at : at;
        if (row.at != at + bytes) /* the worker's begins fall, or jump */
            rc = cw_err_set(err, CW_E_CORRUPT, "item %llu: rows do not stand one behind another",
                            (unsigned long long)rows->item);
        bytes += row.bytes;
        note_row(loose, field, before + r - lo, row.dims);
    }
    return rc != 0 ? rc : add_bytes(loose, rows, i, at, bytes, err);
}

int cw_fill_loose_add(struct cw_fill_loose *loose, const struct cw_tensor *to, uint64_t before,
                      const struct cw_item_rows *rows, size_t i, uint64_t lo, uint64_t hi,
                      size_t *ret_bytes, struct cw_err *err)
{
    size_t n = loose->n;
    uint64_t strings = loose->strings;
    *ret_bytes = 0;
    if (to->field.dtype == CW_DTYPE_STR) {
        int rc = add_strings(loose, &to->field, before, rows, i, lo, hi, err);
        *ret_bytes = loose->n - n + (size_t)(loose->strings - strings) * sizeof(int64_t);
        return rc;
    }
    int rc =
        grow(&loose->ends, &loose->ends_cap, (size_t)(before + hi - lo) * sizeof(int64_t), err);
    if (rc == 0)
        rc = add_ragged(loose, &to->field, before, rows, i, lo, hi, err);
    *ret_bytes = loose->n - n + (size_t)(hi - lo) * sizeof(int64_t);
    return rc;
}

size_t cw_fill_loose_size(const struct cw_fill_loose *loose, const struct cw_field *field,
                          uint64_t n)
{
    struct cw_field whole = *field;
    struct cw_ragged ragged;
    struct cw_err impossible = {0}; /* a batch of so many rows is in memory */
    whole.dims[0] = (int64_t)n;
    size_t bytes = loose->n;
    if (field->dtype == CW_DTYPE_STR)
        bytes += (size_t)(loose->strings + 1) * sizeof(int64_t);
    if (cw_field_is_ragged(field) && cw_ragged_init(&ragged, &whole, &impossible) == 0)
        bytes += ragged.values_at;
    return bytes;
}

/* Writes the ends of entries behind a 0. */
static void put_ends(char *dst, const void *ends, uint64_t n)
{
    memset(dst, 0, sizeof(int64_t));
    if (n > 0)
        memcpy(dst + sizeof(int64_t), ends, (size_t)n * sizeof(int64_t));
}

void cw_fill_loose_put(struct cw_fill_loose *loose, const struct cw_field *field, uint64_t n,
                       void *dst)
{
    struct cw_ragged_writer writer;
    struct cw_err impossible = {0};
    const bool strings = field->dtype == CW_DTYPE_STR;
    char *to = dst;
    if (cw_field_is_ragged(field) && cw_ragged_write_begin(&writer, field, dst, &impossible) == 0) {
        if (loose->shapes && !strings)
            memcpy(to + writer.ragged.shapes_at, loose->shapes,
                   (size_t)n * (size_t)writer.ragged.rank * sizeof(int64_t));
        put_ends(to, strings ? loose->shapes : loose->ends, n);
        to += writer.ragged.values_at;
    }
    if (strings) {
        put_ends(to, loose->ends, loose->strings);
        to += (size_t)(loose->strings + 1) * sizeof(int64_t);
    }
    if (loose->n > 0)
        memcpy(to, loose->bytes, loose->n);
    cw_fill_loose_fini(loose);
}
