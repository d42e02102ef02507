/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays as chunks (docs/cache-format.md): strings, and types that .npy files do not have. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "client/arrays/array_write.h"
#include "format/chunk_rows.h"

#define FRAME_BYTES ((size_t)4 << 10) /* rows are read at random */
#define FILE_ROWS ((int64_t)4 << 20)
#define FILE_BYTES ((uint64_t)256 << 20) /* a file is made in memory */

/* The field that a row is. */
static void row_field(const struct cachew_tensor *array, struct cw_field *field)
{
    snprintf(field->name, sizeof(field->name), "%s", array->name);
    field->dtype = (enum cw_dtype)array->dtype;
    field->rank = array->rank - 1;
    for (int i = 0; i < field->rank; i++)
        field->dims[i] = array->dims[i + 1];
}

static void set_row(const struct cachew_tensor *array, const struct cw_field *field, int64_t row,
                    struct cw_view *view)
{
    union {
        const char *from;
        char *to;
    } data = {array->data};
    size_t bytes = array->dtype == CACHEW_STR ? 0 : array->bytes / (size_t)array->dims[0],
           begin = bytes * (size_t)row;
    if (array->dtype == CACHEW_STR) {
        begin = (size_t)array->offsets[row];
        bytes = (size_t)array->offsets[row + 1] - begin;
    }
    *view = (struct cw_view){.data = bytes > 0 ? data.to + begin : NULL,
                             .bytes = bytes,
                             .dtype = field->dtype,
                             .rank = field->rank};
    memcpy(view->dims, field->dims, sizeof(view->dims));
}

/* Writes rows from `from` on to one file. Returns the first row of the next file, or an error. */
static int64_t write_file(const struct cachew_tensor *array, const struct cw_spec *spec,
                          int64_t from, const char *path, struct cw_err *err)
{
    const struct cw_chunk_head head = {.spec = cw_spec_borrow(spec)};
    struct cw_chunk_rows *rows =
        cw_chunk_rows_new(cw_chunk_writer_new_plain(&head), spec, FRAME_BYTES);
    struct cw_element *element = CW_NEW(struct cw_element);
    const struct iovec *parts;
    size_t parts_n;
    int64_t row = from;
    int rc = 0;
    element->n = 1;
    for (; rc == 0 && row < array->dims[0] && row - from < FILE_ROWS &&
           cw_chunk_rows_bytes(rows) < FILE_BYTES;
         row++) {
        set_row(array, &spec->fields[0], row, &element->fields[0]);
        rc = cw_chunk_rows_add(rows, (uint64_t)row, element, err);
    }
    if (rc == 0)
        rc = cw_chunk_rows_finish(rows, &parts, &parts_n, err);
    if (rc == 0)
        rc = cw_array_write_parts(path, parts, parts_n, err);
    cw_chunk_rows_free(rows);
    cw_mem_free(element);
    return rc < 0 ? rc : row;
}

int cw_array_write_chunks(const struct cachew_tensor *array, const char *tmp, struct cw_err *err)
{
    struct cw_field field = {0};
    int64_t row = 0;
    row_field(array, &field);
    const struct cw_spec spec = {.n = 1, .fields = &field};
    if (mkdir(tmp, 0777) < 0)
        return cw_err_errno(err, errno, "%s", tmp);
    for (int i = 0; row >= 0 && (i == 0 || row < array->dims[0]); i++) {
        cw_autofree char *path = cw_mem_printf("%s/%06d.chunk", tmp, i);
        row = write_file(array, &spec, row, path, err);
    }
    return row < 0 ? (int)row : 0;
}
