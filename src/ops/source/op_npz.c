/* SPDX-License-Identifier: Apache-2.0 */
/* Source `npz`: rows of the arrays of NumPy's archives, each array a field. Rows of an array that is
 * stored in C order are read at their places. An array that is deflated, or in Fortran order, is read
 * into memory once, when its first row is read. */
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "format/npz.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"
#include "ops/source/loaded.h"
#include "ops/source/npy_rows.h"
#include "ops/source/table_fields.h"

struct npz_opts {
    struct cw_str_list pattern;
    struct cw_table_opts table; /* its columns are the option arrays */
    int64_t inflated_max;
};
/* What is known of a file by its directory and the heads of its arrays. */
struct npz_file {
    int64_t rows;
    struct cw_npz_array arrays[]; /* of each field */
};
struct npz_state {
    struct cw_file_source source; /* loads a struct npz_file of each file */
    const struct npz_opts *opts;
    struct cw_table_fields fields;   /* column k is field k */
    _Atomic int64_t in_memory_bytes; /* of arrays, at most opts->inflated_max */
    struct cw_loaded *values;        /* of array k of file i, at i * n + k: struct npz_values */
};
struct npz_values {
    char *bytes;
    size_t n;
};

static const struct cw_table_kind npz_table = {
    .option = "arrays", .column = "array", .where = "The first file", .rank_max = CW_RANK_MAX};

#define OFFSET(member) offsetof(struct npz_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "arrays",
     .help = "arrays to read: a list of names, and of objects {\"field\": array}; none = all",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(table.columns)},
    CW_TABLE_TYPES_ROW(OFFSET(table.types)),
    {.name = "inflated_max",
     .help = "most bytes that arrays which are read into memory may take on a worker: those that "
             "are deflated, or in Fortran order",
     .type = CW_OPT_BYTES,
     .offset = OFFSET(inflated_max),
     .def = "\"1GiB\"",
     .min = 1,
     .max = 0x1p50,
     .flags = CW_OPT_NO_FINGERPRINT},
    {0},
};

/* ---- arrays as columns ---- */

struct arrays {
    const struct cw_readable *file;
    const struct cw_npz *npz;
};

static const char *array_name(const void *arg, size_t i)
{
    return ((const struct arrays *)arg)->npz->zip.v[i].name;
}

/* The type of an array's rows. */
static struct cw_field row_type(const struct cw_npy_header *h)
{
    struct cw_field type = {.dtype = h->dtype, .rank = h->rank - 1};
    memcpy(type.dims, h->dims + 1, (size_t)type.rank * sizeof(type.dims[0]));
    return type;
}

static int array_type(const void *arg, size_t i, struct cw_field *ret_type, struct cw_err *err)
{
    const struct arrays *a = arg;
    struct cw_npz_array array;
    int rc = cw_npz_array(a->file, a->npz, i, &array, err);
    if (rc == 0)
        *ret_type = row_type(&array.header);
    return rc;
}

static struct cw_table_file table_file(const struct arrays *arrays)
{
    return (struct cw_table_file){.name = arrays->file->name,
                                  .n = arrays->npz->zip.n,
                                  .column = array_name,
                                  .type = array_type,
                                  .arg = arrays};
}

/* ---- what the first file says ---- */

static bool is_complete(const void *opts)
{
    return cw_table_is_complete(&npz_table, &((const struct npz_opts *)opts)->table);
}

static int complete_from(const struct npz_opts *o, const struct cw_readable *file,
                         const struct cw_op_names *wanted, struct cw_value *said,
                         struct cw_err *err)
{
    struct cw_npz npz;
    int rc = cw_npz_read(file, &npz, err);
    if (rc < 0)
        return rc;
    const struct arrays arrays = {.file = file, .npz = &npz};
    const struct cw_table_file table = table_file(&arrays);
    rc = cw_table_complete(&npz_table, &o->table, &table, wanted, said, err);
    cw_npz_fini(&npz);
    return rc;
}

static int complete(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err)
{
    const struct npz_opts *o = opts;
    cw_autofree char *path = NULL;
    struct cw_readable file;
    struct cw_io_file opened;
    int rc = cw_file_first(&o->pattern, how, &path, err);
    if (rc == 0)
        rc = cw_readable_open(path, &opened, &file, err);
    if (rc < 0)
        return rc;
    rc = complete_from(o, &file, how->wanted, said, err);
    cw_io_close(&opened);
    return rc;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    (void)in;
    (void)in_n;
    return cw_table_infer(&npz_table, &((const struct npz_opts *)opts)->table, ret_spec, err);
}

/* ---- files ---- */

static int read_array(const struct npz_state *s, const struct arrays *arrays, size_t k,
                      struct npz_file *into, struct cw_err *err)
{
    const struct cw_table_file table = table_file(arrays);
    const struct cw_table_column *column = &s->fields.columns[k];
    struct cw_npz_array *array = &into->arrays[k];
    size_t i = 0;
    int rc = cw_table_find(&npz_table, &table, column->name, &i, err);
    if (rc == 0)
        rc = cw_npz_array(arrays->file, arrays->npz, i, array, err);
    if (rc < 0)
        return rc;
    const struct cw_field type = row_type(&array->header);
    rc = cw_table_compare(&npz_table, &s->fields, column, &type, table.name, err);
    if (rc < 0)
        return rc;
    if (k > 0 && array->header.dims[0] != into->rows)
        return cw_err_set(
            err, CW_E_INVALID,
            "%s: array %s has %lld rows, and array %s has %lld: choose `arrays` of one "
            "length",
            table.name, s->fields.columns[0].name, (long long)into->rows, column->name,
            (long long)array->header.dims[0]);
    into->rows = array->header.dims[0];
    return 0;
}

static int load_head(void *state, size_t i, const struct cw_readable *file, void **ret_loaded,
                     struct cw_err *err)
{
    const struct npz_state *s = state;
    struct cw_npz npz;
    (void)i;
    int rc = cw_npz_read(file, &npz, err);
    if (rc < 0)
        return rc;
    const struct arrays arrays = {.file = file, .npz = &npz};
    struct npz_file *loaded =
        cw_mem_new(sizeof(*loaded) + s->fields.columns_n * sizeof(loaded->arrays[0]));
    for (size_t k = 0; k < s->fields.columns_n && rc == 0; k++)
        rc = read_array(s, &arrays, k, loaded, err);
    cw_npz_fini(&npz);
    if (rc < 0)
        cw_mem_free(loaded);
    else
        *ret_loaded = loaded;
    return rc;
}

static int64_t rows(const void *loaded)
{
    return ((const struct npz_file *)loaded)->rows;
}

/* What is read of a file depends on the arrays that are asked for. */
static void key(const void *state, struct cw_str *out)
{
    const struct npz_state *s = state;
    cw_value_print(&s->opts->table.columns, out);
    cw_value_print(&s->opts->table.types, out);
}

static void end(void *state)
{
    struct npz_state *s = state;
    cw_loaded_free(s->values);
    cw_table_fields_fini(&s->fields);
}

static const struct cw_file_index index_kind = {
    .name = "npz 1", .key = key, .records = rows, .load_head = load_head};
static const struct cw_file_source_kind kind = {.state_bytes = sizeof(struct npz_state),
                                                .end = end,
                                                .unload = cw_mem_free,
                                                .index = &index_kind};

static void free_values(void *thing)
{
    struct npz_values *values = thing;
    if (values->bytes)
        cw_loaded_hold(-(int64_t)values->n);
    cw_mem_free(values->bytes);
    cw_mem_free(values);
}

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct npz_opts *o = opts;
    struct cw_table_fields fields;
    int rc = cw_table_fields_read(&npz_table, &o->table, &fields, err);
    if (rc < 0)
        return rc;
    struct npz_state *s = CW_NEW(struct npz_state);
    s->opts = o;
    s->fields = fields; /* it is taken over */
    rc = cw_file_source_start(&kind, s, &o->pattern, how, ret_state, err);
    if (rc == 0)
        s->values = cw_loaded_new(s->source.files->n * s->fields.columns_n, free_values, NULL);
    return rc;
}

/* ---- arrays in memory ---- */

static int file_of(struct npz_state *s, size_t i, const struct npz_file **ret_file,
                   struct cw_err *err)
{
    const void *loaded = NULL;
    int rc = cw_file_source_get(&s->source, i, &loaded, err);
    if (rc == 0)
        rc = cw_file_source_compare(&s->source, i, (uint64_t)rows(loaded), "rows", err);
    *ret_file = loaded;
    return rc;
}

/* Takes memory for a whole array, within the bound. */
static int take_memory(struct npz_state *s, size_t i, size_t k, uint64_t n, struct npz_values *into,
                       struct cw_err *err)
{
    const char *path = s->source.files->v[i].path, *name = s->fields.columns[k].name;
    const int64_t max = s->opts->inflated_max;
    if (n > (uint64_t)max || atomic_fetch_add(&s->in_memory_bytes, (int64_t)n) + (int64_t)n > max) {
        if (n <= (uint64_t)max)
            atomic_fetch_sub(&s->in_memory_bytes, (int64_t)n);
        return cw_err_set(
            err, CW_E_LIMIT,
            "%s: array %s has %llu bytes, and is read into memory as a whole: the "
            "arrays of this source need more than the %lld bytes of option inflated_max",
            path, name, (unsigned long long)n, (long long)max);
    }
    into->n = (size_t)n;
    into->bytes = cw_mem_try(into->n);
    if (into->bytes) {
        cw_loaded_hold((int64_t)n);
        return 0;
    }
    atomic_fetch_sub(&s->in_memory_bytes, (int64_t)n);
    return cw_err_set(err, CW_E_NOMEM, "%s: array %s: no memory for its %llu bytes", path, name,
                      (unsigned long long)n);
}

static int load_values(void *state, size_t at, void **ret_values, struct cw_err *err)
{
    struct npz_state *s = state;
    const size_t i = at / s->fields.columns_n, k = at % s->fields.columns_n;
    const struct npz_file *file = NULL;
    struct npz_values *values = CW_NEW(struct npz_values);
    struct cw_file_use use;
    int rc = file_of(s, i, &file, err);
    if (rc == 0)
        rc = take_memory(s, i, k, file->arrays[k].member.bytes, values, err);
    if (rc == 0)
        rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc == 0) {
        rc = cw_npz_get(&use.readable, &file->arrays[k], s->fields.columns[k].name, values->bytes,
                        err);
        cw_file_set_release(s->source.files, &use);
    }
    if (rc == 0) {
        *ret_values = values;
        return 0;
    }
    if (values->bytes)
        atomic_fetch_sub(&s->in_memory_bytes, (int64_t)values->n);
    free_values(values);
    return rc;
}

/* ---- rows ---- */

static int get_rows(struct npz_state *s, size_t i, const struct npz_file *file, size_t k,
                    uint64_t row, size_t n, void *dst, struct cw_err *err)
{
    const struct cw_npz_array *array = &file->arrays[k];
    const struct cw_npy_header *h = &array->header;
    const void *loaded = NULL;
    if (cw_npz_is_plain(array))
        return cw_npy_rows_read(s->source.files, i, h, array->begin + h->header_bytes, row, n, dst,
                                err);
    int rc = cw_loaded_get(s->values, i * s->fields.columns_n + k, load_values, s, &loaded, err);
    if (rc == 0)
        cw_npy_rows_copy(h, ((const struct npz_values *)loaded)->bytes + h->header_bytes, row, n,
                         dst);
    return rc;
}

static int read_row(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                    struct cw_element *ret_element, struct cw_err *err)
{
    struct npz_state *s = state;
    struct cw_op_ctx anywhere = *ctx;
    const size_t i = cw_file_set_locate(s->source.files, pos);
    const uint64_t row = (uint64_t)(pos - s->source.files->v[i].first);
    const struct npz_file *file = NULL;
    (void)opts;
    if (s->fields.spec.n > 1)
        anywhere.slot = NULL; /* it would be the same one for all fields */
    int rc = file_of(s, i, &file, err);
    for (size_t k = 0; rc == 0 && k < s->fields.spec.n; k++) {
        const struct cw_npy_header *h = &file->arrays[k].header;
        struct cw_view view = {.dtype = h->dtype, .rank = h->rank - 1};
        memcpy(view.dims, h->dims + 1, sizeof(view.dims));
        rc = cw_op_output(&anywhere, &view, err);
        if (rc == 0 && view.bytes > 0)
            rc = get_rows(s, i, file, k, row, 1, view.data, err);
        ret_element->fields[k] = view;
    }
    ret_element->n = s->fields.spec.n;
    return rc;
}

static int read_rows(const void *opts, void *state, const int64_t *positions, size_t n,
                     const struct cw_column *columns)
{
    struct npz_state *s = state;
    int rc = 0;
    (void)opts;
    for (size_t at = 0, run, i; rc == 0 && at < n; at += run) {
        const struct npz_file *file = NULL;
        uint64_t row;
        run = cw_file_set_run(s->source.files, positions + at, n - at, &i, &row);
        rc = file_of(s, i, &file, NULL);
        for (size_t k = 0; rc == 0 && k < s->fields.spec.n; k++)
            if (columns[k].bytes > 0)
                rc = get_rows(s, i, file, k, row, run,
                              (uint8_t *)columns[k].data + at * columns[k].bytes, NULL);
    }
    return rc;
}

static bool ahead_of(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead)
{
    struct npz_state *s = state;
    const struct cw_file_set *files = s->source.files;
    const struct npz_file *file = NULL;
    (void)opts;
    if (!ahead || !cw_file_set_can_ahead(files))
        return cw_file_set_can_ahead(files);
    const size_t i = cw_file_set_locate(files, pos);
    const uint64_t row = (uint64_t)(pos - files->v[i].first);
    if (file_of(s, i, &file, NULL) < 0)
        return true;
    for (size_t k = 0; k < s->fields.spec.n; k++) {
        const struct cw_npz_array *array = &file->arrays[k];
        const uint64_t bytes = cw_npy_row_bytes(&array->header);
        if (cw_npz_is_plain(array)) /* else all of it is loaded when it is first needed */
            cw_file_set_ahead(files, i, array->begin + array->header.header_bytes + row * bytes,
                              bytes, ahead);
    }
    return true;
}

const struct cw_op cw_op_npz = {
    .name = "npz",
    .version = 1,
    .summary = "rows of the arrays of NumPy archives (.npz)",
    .doc =
        "Gives rows of several arrays side by side: each array is a field, and its first index "
        "picks the row, so all arrays\n"
        "that are read must have one length. `arrays` chooses them, `{\"field\": array}` gives one "
        "another name; what\n"
        "`arrays` and `types` do not say is as in the first file. Files follow each other in "
        "bytewise order of their paths.\n"
        "Counts are known from the directories of the archives and the heads of their arrays.\n"
        "\n"
        "Archives of `numpy.savez`, `numpy.savez_compressed` and others: members that are stored "
        "or "
        "deflated, zip64,\n"
        "arrays in C and Fortran order and both byte orders. An array that is deflated or in "
        "Fortran order is read into\n"
        "memory as a whole by each worker that reads of it; `inflated_max` bounds them. Checksums "
        "are compared where a\n"
        "whole array is read. Not supported: encrypted members and other ways of compression; "
        "arrays of strings, objects,\n"
        "records and complex numbers; arrays of one value, which have no rows. Patterns as for "
        "`files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct npz_opts),
    .is_complete = is_complete,
    .complete = complete,
    .completed = "arrays and types",
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_row,
    .read_rows = read_rows,
    .blocks = cw_file_source_blocks,
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
    .ahead = ahead_of,
};
