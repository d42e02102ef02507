/* SPDX-License-Identifier: Apache-2.0 */
/* Source `arrow`: rows of Arrow's files and streams (IPC), as which Feather files of version 2 are
 * stored. Only the columns that are asked for are read, a stretch of a record batch at a time. */
#include "base/mem.h"
#include "ops/op_util.h"
#include "ops/source/arrow_files.h"

#define OFFSET(member) offsetof(struct cw_arrow_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    CW_TABLE_COLUMNS_ROW(OFFSET(table.columns)),
    CW_TABLE_TYPES_ROW(OFFSET(table.types)),
    CW_TABLE_FILL_ROW(OFFSET(table.fill)),
    {.name = "cache",
     .help = "memory for decoded rows of this source",
     .type = CW_OPT_BYTES,
     .offset = OFFSET(cache_bytes),
     .def = "\"256MiB\"",
     .min = 1 << 20,
     .max = 0x1p50,
     .flags = CW_OPT_NO_FINGERPRINT},
    {0},
};

/* ---- what the first file says ---- */

static bool is_complete(const void *opts)
{
    return cw_table_is_complete(&cw_arrow_table, &((const struct cw_arrow_opts *)opts)->table);
}

static int complete(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err)
{
    const struct cw_arrow_opts *o = opts;
    cw_autofree char *path = NULL;
    struct cw_arrow_head head;
    struct cw_readable file;
    struct cw_io_file opened;
    int rc = cw_file_first(&o->pattern, how, &path, err);
    if (rc == 0)
        rc = cw_readable_open(path, &opened, &file, err);
    if (rc < 0)
        return rc;
    rc = cw_arrow_head_read(&file, &head, err);
    if (rc == 0) {
        const struct cw_table_file table = cw_arrow_table_file(&head, path);
        rc = cw_table_complete(&cw_arrow_table, &o->table, &table, how->wanted, said, err);
        cw_arrow_head_fini(&head);
    }
    cw_io_close(&opened);
    return rc;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    (void)in;
    (void)in_n;
    return cw_table_infer(&cw_arrow_table, &((const struct cw_arrow_opts *)opts)->table, ret_spec,
                          err);
}

/* ---- the operator ---- */

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    return cw_arrow_files_open(opts, how, ret_state, err);
}

static int read_row(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                    struct cw_element *ret_element, struct cw_err *err)
{
    struct cw_arrow_state *s = state;
    (void)opts;
    return cw_table_rows_read(&s->rows, ctx, pos, ret_element, err);
}

static int read_rows(const void *opts, void *state, const int64_t *positions, size_t n,
                     const struct cw_column *columns)
{
    struct cw_arrow_state *s = state;
    (void)opts;
    return cw_table_rows_read_many(&s->rows, positions, n, columns);
}

static int read_loose(const void *opts, void *state, const struct cw_loose_rows *rows)
{
    struct cw_arrow_state *s = state;
    (void)opts;
    return cw_table_rows_read_loose(&s->rows, rows);
}

const struct cw_op cw_op_arrow = {
    .name = "arrow",
    .version = 1,
    .summary = "rows of Arrow files and streams (IPC), Feather files too",
    .doc =
        "Gives each row, files in bytewise order of their paths. `columns` chooses what is read, "
        "as for `parquet`: a\n"
        "column of a struct is `a.b`, an object gives a field another name or packs columns, and "
        "what `columns` and\n"
        "`types` do not say is as in the first file. Lists have an unknown dimension, lists of one "
        "length a known one, and\n"
        "what is in a list may be lists of one length again: `f32[?,4]`. Strings are str, bytes of "
        "one length u8[n]; dates,\n"
        "times and durations are integers as in the file; values of dictionaries are looked up.\n"
        "\n"
        "Files of pyarrow, Polars, DuckDB and others: files and streams of IPC, Feather of version "
        "2; buffers as they are,\n"
        "or compressed with LZ4 or zstd; dictionaries that grow or are replaced. Rows of a record "
        "batch that is compressed\n"
        "are decoded together, others 16,384 at a time; `shuffle` with a `window` reads neighbours "
        "together. Not\n"
        "supported: big endian files, lists of lists of any length, maps, unions, decimals, "
        "intervals, views, run-end\n"
        "encoded columns, dictionaries of lists, Feather of version 1. Patterns as for `files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct cw_arrow_opts),
    .is_complete = is_complete,
    .complete = complete,
    .completed = "columns and types",
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_row,
    .read_rows = read_rows,
    .read_loose = read_loose,
    .ahead = cw_arrow_ahead,
    .blocks = cw_file_source_blocks,
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
};
