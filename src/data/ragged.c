/* SPDX-License-Identifier: Apache-2.0 */
#include "data/ragged.h"

#include <inttypes.h>
#include <string.h>
#include "base/buf.h"
#include "data/strings.h"

#define BYTES_MAX ((int64_t)1 << 40)

bool cw_ragged_is_shaped(const struct cw_field *field)
{
    for (int i = 2; i < field->rank; i++)
        if (field->dims[i] == CW_DIM_RAGGED)
            return true;
    return field->rank > 1 && field->dims[1] != CW_DIM_RAGGED;
}

/* Returns the product of the dims of rows that all rows share; -1 if it is too large. */
static int64_t shared_bytes(const struct cw_field *field)
{
    int64_t n = (int64_t)cw_dtype_bytes(field->dtype);
    for (int i = 1; i < field->rank; i++) {
        if (field->dims[i] == CW_DIM_RAGGED)
            continue;
        if (field->dims[i] < 0 || __builtin_mul_overflow(n, field->dims[i], &n))
            return -1;
    }
    return n;
}

int cw_ragged_init(struct cw_ragged *ret_ragged, const struct cw_field *field, struct cw_err *err)
{
    int64_t rows = field->dims[0], entry = (int64_t)sizeof(int64_t);
    struct cw_ragged ragged = {.field = field,
                               .rows = rows,
                               .rank = field->rank - 1,
                               .shaped = cw_ragged_is_shaped(field),
                               .strings = field->dtype == CW_DTYPE_STR};
    int64_t shared = shared_bytes(field);
    if (field->rank < 2 || (ragged.strings && ragged.shaped) || rows < 0 ||
        rows >= BYTES_MAX / entry / (field->rank + 1) || shared < 0)
        return cw_err_set(err, CW_E_LIMIT, "its size is not known or too large");
    ragged.unit_bytes = ragged.shaped ? (int64_t)cw_dtype_bytes(field->dtype) : shared;
    ragged.shapes_at = (size_t)((rows + 1) * entry);
    int64_t shapes = ragged.shaped ? rows * ragged.rank * entry : 0;
    ragged.values_at = CW_ALIGN_UP(ragged.shapes_at + (size_t)shapes, (size_t)CW_BUF_ALIGN);
    *ret_ragged = ragged;
    return 0;
}

static int64_t entry_at(const void *data, size_t at, int64_t i)
{
    int64_t v;
    memcpy(&v, (const char *)data + at + (size_t)i * sizeof(v), sizeof(v));
    return v;
}

int64_t cw_ragged_begin(const void *data, int64_t r)
{
    return entry_at(data, 0, r);
}

/* Checks that a row has the shape that the field allows, and as many values as it takes. */
static int check_shape(const struct cw_ragged *ragged, const void *data, int64_t r, int64_t values,
                       struct cw_err *err)
{
    int64_t n = 1;
    for (int d = 0; d < ragged->rank; d++) {
        int64_t dim = entry_at(data, ragged->shapes_at, r * ragged->rank + d);
        int64_t want = ragged->field->dims[d + 1];
        if (dim < 0 || (want >= 0 && dim != want) || __builtin_mul_overflow(n, dim, &n))
            return cw_err_set(err, CW_E_CORRUPT, "row %" PRId64 ": its dimension %d is %" PRId64, r,
                              d, dim);
    }
    if (n == values)
        return 0;
    return cw_err_set(err, CW_E_CORRUPT,
                      "row %" PRId64 ": %" PRId64 " values for a shape of %" PRId64, r, values, n);
}

static int check_rows(const struct cw_ragged *ragged, const void *data, int64_t most,
                      struct cw_err *err)
{
    int64_t last = 0;
    for (int64_t r = 0; r <= ragged->rows; r++) {
        int64_t begin = entry_at(data, 0, r);
        if (begin < last || begin > most || (r == 0 && begin != 0))
            return cw_err_set(err, CW_E_CORRUPT,
                              "row %" PRId64 " begins at %" PRId64 " (behind %" PRId64 ", %" PRId64
                              " in all)",
                              r, begin, last, most);
        int rc = r > 0 && ragged->shaped ? check_shape(ragged, data, r - 1, begin - last, err) : 0;
        if (rc < 0)
            return rc;
        last = begin;
    }
    return last == most ? 0 : cw_err_set(err, CW_E_CORRUPT, "values behind its last row");
}

/* Of strings: begins first, since it says how many strings there are. */
static int check_strings(const struct cw_ragged *ragged, const void *data, size_t bytes,
                         struct cw_err *err)
{
    int64_t n = entry_at(data, 0, ragged->rows);
    int rc = check_rows(ragged, data, CW_MAX(n, 0), err);
    return rc < 0 ? rc
                  : cw_strings_check((const char *)data + ragged->values_at,
                                     bytes - ragged->values_at, n, err);
}

int cw_ragged_check(const struct cw_ragged *ragged, const void *data, size_t bytes,
                    struct cw_err *err)
{
    if (!data || bytes < ragged->values_at)
        return cw_err_set(err, CW_E_CORRUPT, "too short for where its rows begin");
    if (ragged->strings)
        return check_strings(ragged, data, bytes, err);
    int64_t values = (int64_t)(bytes - ragged->values_at), unit = ragged->unit_bytes;
    if (unit == 0 && values == 0) /* rows without values, of any number of them */
        return check_rows(ragged, data, CW_MAX(entry_at(data, 0, ragged->rows), 0), err);
    if (unit == 0 || values % unit != 0)
        return cw_err_set(err, CW_E_CORRUPT, "%" PRId64 " bytes where one takes %" PRId64, values,
                          unit);
    return check_rows(ragged, data, values / unit, err);
}

void cw_ragged_row(const struct cw_ragged *ragged, const void *data, int64_t r,
                   struct cw_view *ret_row)
{
    int64_t begin = entry_at(data, 0, r), end = entry_at(data, 0, r + 1);
    struct cw_view row = {.dtype = ragged->field->dtype, .rank = ragged->rank};
    for (int d = 0; d < row.rank; d++) {
        int64_t dim = ragged->field->dims[d + 1];
        row.dims[d] = ragged->shaped ? entry_at(data, ragged->shapes_at, r * row.rank + d)
                      : dim < 0      ? end - begin
                                     : dim;
    }
    if (ragged->strings) {
        row.bytes =
            cw_strings_part_bytes((const char *)data + ragged->values_at, begin, end - begin);
        *ret_row = row;
        return;
    }
    row.bytes = (size_t)((end - begin) * ragged->unit_bytes);
    row.data = (char *)(uintptr_t)data + ragged->values_at + begin * ragged->unit_bytes;
    *ret_row = row;
}

void cw_ragged_copy_strings(const struct cw_ragged *ragged, const void *data, int64_t r, void *dst)
{
    int64_t begin = entry_at(data, 0, r), end = entry_at(data, 0, r + 1);
    cw_strings_part_copy((const char *)data + ragged->values_at, entry_at(data, 0, ragged->rows),
                         begin, end - begin, dst);
}

/* Makes a view of a table of the tensor. cols: 0 for one dimension. */
static struct cw_view table(const void *data, size_t at, int64_t rows, int64_t cols)
{
    size_t n = (size_t)rows * (size_t)CW_MAX(cols, 1);
    return (struct cw_view){.data = (char *)(uintptr_t)data + at,
                            .bytes = n * sizeof(int64_t),
                            .dtype = CW_DTYPE_I64,
                            .rank = cols ? 2 : 1,
                            .dims = {rows, cols}};
}

int cw_ragged_split(const struct cw_field *field, const void *data, size_t bytes,
                    struct cw_ragged_parts *ret_parts)
{
    struct cw_ragged ragged;
    struct cw_err ignored = {0};
    if (!cw_field_is_ragged(field) || cw_ragged_init(&ragged, field, &ignored) < 0 ||
        bytes < ragged.values_at)
        return CW_E_INVALID;
    struct cw_view *values = &ret_parts->values;
    *ret_parts = (struct cw_ragged_parts){.begins = table(data, 0, ragged.rows + 1, 0)};
    if (ragged.shaped)
        ret_parts->shapes = table(data, ragged.shapes_at, ragged.rows, ragged.rank);
    *values = (struct cw_view){.data = (char *)(uintptr_t)data + ragged.values_at,
                               .bytes = bytes - ragged.values_at,
                               .dtype = field->dtype,
                               .rank = ragged.shaped ? 1 : ragged.rank};
    memcpy(values->dims, &field->dims[1], (size_t)values->rank * sizeof(int64_t));
    values->dims[0] = cw_ragged_begin(data, ragged.rows);
    return 0;
}

int cw_ragged_write_begin(struct cw_ragged_writer *writer, const struct cw_field *field, void *data,
                          struct cw_err *err)
{
    static const int64_t zero;
    *writer = (struct cw_ragged_writer){.data = data};
    int rc = cw_ragged_init(&writer->ragged, field, err);
    if (rc < 0)
        return rc;
    const struct cw_ragged *ragged = &writer->ragged;
    size_t used = ragged->shapes_at;
    if (ragged->shaped)
        used += (size_t)(ragged->rows * ragged->rank) * sizeof(int64_t);
    memset(writer->data + used, 0, ragged->values_at - used);
    memcpy(writer->data, &zero, sizeof(zero));
    return 0;
}

void *cw_ragged_write_row(struct cw_ragged_writer *writer, const int64_t *dims)
{
    const struct cw_ragged *ragged = &writer->ragged;
    void *values = writer->data + ragged->values_at + writer->at * ragged->unit_bytes;
    int64_t n = 1, r = writer->row++;
    for (int d = 0; d < ragged->rank; d++)
        n *= dims[d];
    writer->at += ragged->shaped ? n : dims[0];
    memcpy(writer->data + (size_t)(r + 1) * sizeof(writer->at), &writer->at, sizeof(writer->at));
    if (ragged->shaped)
        memcpy(writer->data + ragged->shapes_at + (size_t)(r * ragged->rank) * sizeof(*dims), dims,
               (size_t)ragged->rank * sizeof(*dims));
    return values;
}
