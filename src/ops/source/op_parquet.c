/* SPDX-License-Identifier: Apache-2.0 */
/* Source `parquet`: rows of Parquet files. Only the columns that are asked for are read. Pages are
 * decoded when a row of them is needed, and kept in a cache of the source, since a neighbour is
 * usually read next. */
#include <unistd.h>

#include "base/mem.h"
#include "ops/op_util.h"
#include "ops/source/parquet_files.h"

#define OFFSET(member) offsetof(struct cw_parquet_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    CW_TABLE_COLUMNS_ROW(OFFSET(table.columns)),
    CW_TABLE_TYPES_ROW(OFFSET(table.types)),
    CW_TABLE_FILL_ROW(OFFSET(table.fill)),
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
    return cw_table_is_complete(&cw_parquet_table, &((const struct cw_parquet_opts *)opts)->table);
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
        const struct cw_parquet_columns columns = {.opts = o, .footer = &footer};
        const struct cw_table_file file = cw_parquet_columns_of(&columns, path);
        rc = cw_table_complete(&cw_parquet_table, &o->table, &file, how->wanted, said, err);
        cw_pq_footer_fini(&footer);
    }
    return rc;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    (void)in;
    (void)in_n;
    return cw_table_infer(&cw_parquet_table, &((const struct cw_parquet_opts *)opts)->table,
                          ret_spec, err);
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

static int read_row(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                    struct cw_element *ret_element, struct cw_err *err)
{
    struct cw_parquet_state *s = state;
    (void)opts;
    return cw_table_rows_read(&s->rows, ctx, pos, ret_element, err);
}

static int read_rows(const void *opts, void *state, const int64_t *positions, size_t n,
                     const struct cw_column *columns)
{
    struct cw_parquet_state *s = state;
    (void)opts;
    return cw_table_rows_read_many(&s->rows, positions, n, columns);
}

static int read_loose(const void *opts, void *state, const struct cw_loose_rows *rows)
{
    struct cw_parquet_state *s = state;
    (void)opts;
    return cw_table_rows_read_loose(&s->rows, rows);
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
        "order cost most when pages do not fit `cache`: `shuffle` with `blocks` reads each row "
        "group "
        "about once.\n"
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
    .read_loose = read_loose,
    .ahead = cw_parquet_ahead,
    .blocks = cw_file_source_blocks,
    .reads = cw_parquet_reads,
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
};
