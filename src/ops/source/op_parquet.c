/* SPDX-License-Identifier: Apache-2.0 */
/* Source `parquet`: rows of Parquet files. Only the columns that are asked for are read. Pages are
 * decoded when a row of them is needed, and kept in a cache of the source, since a neighbour is
 * usually read next. */
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/strings.h"
#include "ops/op_util.h"
#include "ops/source/parquet_files.h"

#define OFFSET(member) offsetof(struct cw_parquet_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "columns",
     .help =
         "columns to read: a list of names (a.b in a struct), of objects {\"field\": column}, and "
         "of objects {\"field\": [columns]}, which pack several of one type into one field",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(columns)},
    {.name = "types",
     .help = "type of each field: {\"label\": \"i64\", \"embedding\": \"f32[768]\", \"ids\": "
             "\"i32[?]\"}",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(types)},
    {.name = "fill",
     .help = "what nulls become: a value for all columns, or {column: value}; \"nan\" is a number, "
             "too. A row with any other null is an error",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(fill)},
    {.name = "decimal",
     .help = "what decimals become: f64, or i64: integers, without the point",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(decimal),
     .def = "\"refuse\"",
     .names = cw_parquet_decimals},
    {.name = "cache",
     .help = "memory for decoded pages of this source",
     .type = CW_OPT_BYTES,
     .offset = OFFSET(cache_bytes),
     .def = "\"256MiB\"",
     .min = 1 << 20,
     .max = 0x1p50,
     .flags = CW_OPT_NO_FINGERPRINT},
    {0},
};

static bool is_complete(const void *opts)
{
    return !cw_parquet_is_open(opts);
}

static int read_footer(const char *path, struct cw_pq_footer *ret_footer, struct cw_err *err)
{
    struct cw_readable file;
    struct cw_io_file opened;
    int rc = cw_readable_open(path, &opened, &file, err);
    if (rc < 0)
        return rc;
    rc = cw_pq_footer_read(&file, ret_footer, err);
    cw_io_close(&opened);
    return rc;
}

static int complete(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err)
{
    const struct cw_parquet_opts *o = opts;
    struct cw_pq_footer footer = {0};
    cw_autofree char *path = NULL;
    int rc = cw_file_first(&o->pattern, how, &path, err);
    if (rc == 0)
        rc = read_footer(path, &footer, err);
    if (rc == 0) {
        rc = cw_parquet_complete_from(o, path, &footer, how->wanted, said, err);
        cw_pq_footer_fini(&footer);
    }
    return rc;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    struct cw_parquet_fields fields = {0};
    (void)in;
    (void)in_n;
    int rc = cw_parquet_fields_read(opts, &fields, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&fields.spec);
    cw_parquet_fields_fini(&fields);
    return rc;
}

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    struct cw_parquet_state *state = NULL;
    int rc = cw_parquet_files_open(opts, how, &state, err);
    if (rc == 0)
        *ret_state = state;
    return rc;
}

static void close_files(void *state)
{
    cw_parquet_files_close(state);
}

/* Copies one value of a column of fixed width. */
static void copy_value(uint8_t *dst, const uint8_t *src, size_t width)
{
    if (width == 4)
        memcpy(dst, src, 4);
    else if (width == 8)
        memcpy(dst, src, 8);
    else
        memcpy(dst, src, width);
}

/* Fields of fixed size: scalars, packed columns, bytes of one length, and lists that must have
 * one. */
static int read_fixed(struct cw_parquet_state *s, struct cw_parquet_seat *seat, size_t column,
                      int64_t pos, size_t bytes, uint8_t *dst, struct cw_err *err)
{
    const struct cw_pq_slab *slab;
    size_t row, rows;
    int rc = cw_parquet_slab_find(s, seat, column, pos, &slab, &row, &rows, err);
    if (rc < 0)
        return rc;
    if (slab->null && slab->null[row])
        return cw_parquet_refuse(s, column, pos, "is null, and `fill` has no value for it", err);
    if (!slab->entry) {
        copy_value(dst, slab->values.fixed + row * bytes, bytes);
        return 0;
    }
    size_t width = cw_dtype_bytes(s->fields.spec.fields[s->fields.columns[column].field].dtype);
    uint64_t first = slab->entry[row], n = slab->entry[row + 1] - first;
    if (n * width != bytes)
        return cw_parquet_refuse(s, column, pos, "has a list of another length than its type says",
                                 err);
    if (bytes > 0)
        memcpy(dst, slab->values.fixed + first * width, bytes);
    return 0;
}

/* A list of strings. */
static int read_list(const struct cw_op_ctx *ctx, const struct cw_pq_slab *slab, size_t row,
                     struct cw_view *view, struct cw_err *err)
{
    const struct cw_pq_ref *from = slab->values.strings.v + slab->entry[row];
    const int64_t n = (int64_t)(slab->entry[row + 1] - slab->entry[row]);
    int64_t at = 0;
    if (view->dims[0] >= 0 && view->dims[0] != n)
        return cw_err_set(err, CW_E_INVALID, "a list of %lld strings, and its type says %lld",
                          (long long)n, (long long)view->dims[0]);
    view->dims[0] = n;
    view->bytes = cw_strings_table_bytes(n);
    for (int64_t i = 0; i < n; i++)
        view->bytes += from[i].n;
    int rc = cw_op_output(ctx, view, err);
    if (rc < 0)
        return rc;
    char *table = view->data, *bytes = table + cw_strings_table_bytes(n);
    memcpy(table, &at, sizeof(at));
    for (int64_t i = 0; i < n; i++) {
        if (from[i].n > 0)
            memcpy(bytes + at, slab->values.strings.bytes + from[i].at, from[i].n);
        at += (int64_t)from[i].n;
        memcpy(table + (size_t)(i + 1) * sizeof(at), &at, sizeof(at));
    }
    return 0;
}

/* A string, or a list of any length. */
static int read_loose(const struct cw_op_ctx *ctx, struct cw_parquet_state *s,
                      struct cw_parquet_seat *seat, size_t column, int64_t pos,
                      struct cw_view *view, struct cw_err *err)
{
    const struct cw_pq_slab *slab;
    size_t row, rows;
    const uint8_t *from;
    int rc = cw_parquet_slab_find(s, seat, column, pos, &slab, &row, &rows, err);
    if (rc < 0)
        return rc;
    if (slab->null && slab->null[row])
        return cw_parquet_refuse(s, column, pos, "is null, and `fill` has no value for it", err);
    if (view->dtype == CW_DTYPE_STR && view->rank > 0)
        return slab->entry ? read_list(ctx, slab, row, view, err)
                           : cw_parquet_refuse(s, column, pos, "has no list", err);
    if (view->dtype == CW_DTYPE_STR) {
        from = slab->values.strings.bytes + slab->values.strings.v[row].at;
        view->bytes = slab->values.strings.v[row].n;
    } else if (slab->entry) {
        from = slab->values.fixed + slab->entry[row] * cw_dtype_bytes(view->dtype);
        view->dims[0] = (int64_t)(slab->entry[row + 1] - slab->entry[row]);
    } else { /* bytes of one length, whose type says that any is possible */
        from = NULL;
        return cw_parquet_refuse(s, column, pos, "has one length, and its type says ?", err);
    }
    rc = cw_op_output(ctx, view, err);
    if (rc == 0 && view->bytes > 0)
        memcpy(view->data, from, view->bytes);
    return rc;
}

static int read_field(const struct cw_op_ctx *ctx, struct cw_parquet_state *s,
                      struct cw_parquet_seat *seat, size_t *column, int64_t pos, uint8_t *fixed,
                      struct cw_view *view, struct cw_err *err)
{
    size_t i = s->fields.columns[*column].field;
    const struct cw_field *field = &s->fields.spec.fields[i];
    int rc = 0;
    *view = (struct cw_view){.dtype = field->dtype, .rank = field->rank};
    memcpy(view->dims, field->dims, sizeof(view->dims));
    if (!s->is_fixed[i])
        return read_loose(ctx, s, seat, (*column)++, pos, view, err);
    view->bytes = (size_t)cw_field_bytes(field);
    view->data = fixed + s->at[i];
    size_t bytes = s->fields.is_packed[i] ? cw_dtype_bytes(field->dtype) : view->bytes;
    uint8_t *dst = view->data;
    while (rc == 0 && *column < s->fields.columns_n && s->fields.columns[*column].field == i) {
        rc = read_fixed(s, seat, (*column)++, pos, bytes, dst, err);
        dst += bytes;
    }
    return rc;
}

static int read_row(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                    struct cw_element *ret_element, struct cw_err *err)
{
    struct cw_parquet_state *s = state;
    struct cw_op_ctx anywhere = *ctx;
    uint8_t *fixed = NULL;
    size_t column = 0;
    int rc = 0;
    (void)opts;
    if (s->fields.spec.n > 1)
        anywhere.slot = NULL; /* it would be the same one for all fields */
    if (s->fixed_bytes > 0 && anywhere.slot && s->is_fixed[0] &&
        anywhere.slot_bytes == (size_t)cw_field_bytes(&s->fields.spec.fields[0]))
        fixed = anywhere.slot;
    else if (s->fixed_bytes > 0)
        fixed = cw_op_scratch(ctx, s->fixed_bytes, err);
    if (s->fixed_bytes > 0 && !fixed)
        return CW_E_NOMEM;
    struct cw_parquet_seat *seat = cw_parquet_seat_take(s);
    for (size_t i = 0; rc == 0 && i < s->fields.spec.n; i++)
        rc = read_field(&anywhere, s, seat, &column, pos, fixed, &ret_element->fields[i], err);
    cw_parquet_seat_leave(seat);
    ret_element->n = s->fields.spec.n;
    return rc;
}

/* Some rows of a slab, which begins with the row at `first`. */
struct slab_rows {
    const struct cw_pq_slab *slab;
    int64_t first, end;
    size_t bytes, stride; /* of a value, and from one to the next where they are written */
};

static bool has(const struct slab_rows *rows, int64_t pos)
{
    return pos >= rows->first && pos < rows->end;
}

/* Copies the value at the first position and those of the positions behind it that are in the slab as
 * well. Returns how many it has copied; 0: one is null. */
static size_t copy_values(const struct slab_rows *rows, const int64_t *positions, size_t n,
                          uint8_t *dst)
{
    const uint8_t *values = rows->slab->values.fixed, *null = rows->slab->null;
    size_t i = 0;
    for (; i < n && has(rows, positions[i]); i++) {
        const size_t row = (size_t)(positions[i] - rows->first);
        if (null && null[row])
            return 0;
        copy_value(dst + i * rows->stride, values + row * rows->bytes, rows->bytes);
    }
    return i;
}

/* The same for positions that follow each other, if values do so as well; else 0. */
static size_t copy_run(const struct slab_rows *rows, const int64_t *positions, size_t n,
                       uint8_t *dst)
{
    const size_t row = (size_t)(positions[0] - rows->first),
                 most = CW_MIN(n, (size_t)(rows->end - positions[0]));
    size_t run = 1;
    if (rows->stride != rows->bytes)
        return 0;
    while (run < most && positions[run] == positions[run - 1] + 1)
        run++;
    if (run < 8 || (rows->slab->null && memchr(rows->slab->null + row, 1, run)))
        return 0;
    memcpy(dst, rows->slab->values.fixed + row * rows->bytes, run * rows->bytes);
    return run;
}

/* Copies the values of one column at these positions to every `stride` bytes. */
static int rows_of_column(struct cw_parquet_state *s, struct cw_parquet_seat *seat, size_t column,
                          const int64_t *positions, size_t n, struct slab_rows *rows, uint8_t *dst)
{
    for (size_t i = 0, some = 1; i < n; i += some) {
        size_t row, rest;
        int rc =
            cw_parquet_slab_find(s, seat, column, positions[i], &rows->slab, &row, &rest, NULL);
        if (rc == 0 && rows->slab->entry) {
            some = 1;
            rc = read_fixed(s, seat, column, positions[i], rows->bytes, dst + i * rows->stride,
                            NULL);
        } else if (rc == 0) {
            rows->first = positions[i] - (int64_t)row;
            rows->end = positions[i] + (int64_t)rest;
            some = copy_run(rows, positions + i, n - i, dst + i * rows->stride);
            if (some == 0)
                some = copy_values(rows, positions + i, n - i, dst + i * rows->stride);
            rc = some > 0 ? 0 : CW_E_INVALID;
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Rows at a time: what is written of one column is still in the processor's cache for the next. */
enum { ROWS_AT_ONCE = 256 };

static int read_field_rows(struct cw_parquet_state *s, struct cw_parquet_seat *seat, size_t *column,
                           size_t i, const int64_t *positions, size_t n, uint8_t *dst)
{
    const struct cw_field *field = &s->fields.spec.fields[i];
    struct slab_rows rows = {.stride = (size_t)cw_field_bytes(field)};
    int rc = 0;
    rows.bytes = s->fields.is_packed[i] ? cw_dtype_bytes(field->dtype) : rows.stride;
    for (; rc == 0 && *column < s->fields.columns_n && s->fields.columns[*column].field == i;
         (*column)++, dst += rows.bytes)
        rc = rows_of_column(s, seat, *column, positions, n, &rows, dst);
    return rc;
}

static int read_rows(const void *opts, void *state, const int64_t *positions, size_t n,
                     const struct cw_column *columns)
{
    struct cw_parquet_state *s = state;
    struct cw_parquet_seat *seat = cw_parquet_seat_take(s);
    int rc = 0;
    (void)opts;
    for (size_t at = 0; rc == 0 && at < n; at += ROWS_AT_ONCE)
        for (size_t i = 0, column = 0; rc == 0 && i < s->fields.spec.n; i++)
            rc = read_field_rows(s, seat, &column, i, positions + at, CW_MIN(n - at, ROWS_AT_ONCE),
                                 (uint8_t *)columns[i].data + at * columns[i].bytes);
    cw_parquet_seat_leave(seat);
    return rc;
}

const struct cw_op cw_op_parquet = {
    .name = "parquet",
    .version = 1,
    .summary = "rows of Parquet files",
    .doc =
        "Gives each row, files in bytewise order of their paths. `columns` chooses what is read, "
        "and only that is.\n"
        "A column of a struct is `a.b`; lists of numbers are fields with an unknown dimension, or "
        "a known one if\n"
        "`types` says so. An object in `columns` gives a field another name, or packs columns: "
        "`{\"dense\": [\"i1\", \"i2\"]}`\n"
        "is one field of two values. What `columns` and `types` do not say is as in the first "
        "file: all columns, each\n"
        "of its own type. A type is that of the column, and not converted: i8 to u64, f16, f32, "
        "f64, bool, str; dates and times are integers as in the "
        "file, INT96 is i64\n"
        "nanoseconds, and bytes of one length are u8[n].\n"
        "\n"
        "Files of pyarrow, DuckDB, fastparquet, Spark and others: pages of both versions, PLAIN, "
        "RLE, dictionaries,\n"
        "the DELTA encodings, BYTE_STREAM_SPLIT; snappy, gzip, zstd, LZ4_RAW, brotli. Not "
        "supported:\n"
        "lists of lists, encrypted files, LZO, LZ4 with Hadoop's frames. A page is decoded as a "
        "whole, so rows in any\n"
        "order cost most when pages do not fit `cache`: `shuffle` with a `window` reads "
        "neighbours together.\n"
        "Patterns as for `files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct cw_parquet_opts),
    .is_complete = is_complete,
    .complete = complete,
    .completed = "columns and types",
    .infer = infer,
    .open = open_files,
    .close = close_files,
    .count = cw_file_source_count,
    .read = read_row,
    .read_rows = read_rows,
    .ahead = cw_parquet_ahead,
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
};
