/* SPDX-License-Identifier: Apache-2.0 */
/* Source `text_lines`: the lines of text files. */
#include "ops/op_util.h"
#include "ops/source/inflate_cost.h"
#include "ops/source/text_source.h"
#include "ops/source/unindexed.h"

struct text_lines_opts {
    struct cw_str_list pattern;
    char *field;
    bool skip_blank;
    int64_t inflated_max, inflate_every, record_max;
    struct cw_unindexed how;
};

#define OFFSET(member) offsetof(struct text_lines_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "field",
     .help = "name of the field",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"text\""},
    {.name = "skip_blank",
     .help = "lines of nothing but spaces and control characters are left out",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(skip_blank),
     .def = "false"},
    CW_INFLATED_MAX_ROW(OFFSET(inflated_max)),
    CW_INFLATED_EVERY_ROW(OFFSET(inflate_every)),
    CW_RECORD_MAX_ROW(OFFSET(record_max), "\"1GiB\""),
    CW_UNINDEXED_ROWS(OFFSET(how)),
    {0},
};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct text_lines_opts *o = opts;
    (void)in;
    (void)in_n;
    return cw_op_infer_one(o->field, CW_DTYPE_STR, 0, NULL, ret_spec, err);
}

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct text_lines_opts *o = opts;
    const struct cw_text_rules rules = {
        .lines = {.blank = o->skip_blank ? CW_BLANK_SPACES : CW_BLANK_KEPT},
        .inflated_max = o->inflated_max,
        .inflate_every = o->inflate_every,
        .record_max = o->record_max};
    return cw_text_source_new(&rules, &o->pattern, how, ret_state, err);
}

static int read_line(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                     struct cw_element *ret_element, struct cw_err *err)
{
    struct cw_text_record record;
    (void)opts;
    int rc = cw_text_source_get(ctx, state, pos, &record, err);
    if (rc < 0)
        return rc;
    ret_element->n = 1;
    ret_element->fields[0] = (struct cw_view){.dtype = CW_DTYPE_STR,
                                              .data = (void *)(uintptr_t)record.p,
                                              .bytes = cw_text_line_bytes(record.p, record.n)};
    cw_text_source_put(state, &record);
    return 0;
}

/* Reads lines to where they follow those before; an end is overwritten by what comes next. */
static int read_lines(struct cw_record_rows *rows, struct cw_loose_column *column, char *data)
{
    struct cw_record_place place;
    for (size_t i = 0; i < rows->n; i++) {
        int rc = cw_record_rows_find(rows, i, &place);
        if (rc == 0)
            rc = cw_record_rows_read(&place, data + column->bytes);
        if (rc < 0)
            return rc;
        column->bytes += cw_text_line_bytes(data + column->bytes, (size_t)place.bytes);
        column->ends[i] = (int64_t)column->bytes;
    }
    return 0;
}

static int read_loose(const void *opts, void *state, const struct cw_loose_rows *loose)
{
    struct cw_record_rows rows = cw_text_source_rows(state, loose->positions, loose->n);
    struct cw_loose_column *column = loose->columns;
    uint64_t bytes = 0;
    (void)opts;
    int rc = cw_record_rows_bytes(&rows, 0, &bytes);
    column->bytes = 0;
    column->data = rc == 0 ? loose->get(loose->arg, (size_t)bytes + 1) : NULL;
    if (column->data)
        rc = read_lines(&rows, column, column->data);
    cw_record_rows_end(&rows);
    return column->data ? rc : CW_E_NOMEM;
}

static int stands_for(const void *opts, cw_op_part_fn *add, void *arg, struct cw_err *err)
{
    const struct text_lines_opts *o = opts;
    if (o->how.index)
        return 0;
    if (cw_record_max_unindexed(o->record_max, CW_TEXT_RECORD_MAX, err) < 0)
        return CW_E_INVALID;
    struct cw_value *ranges =
        cw_unindexed_lines(&o->how, &o->pattern, o->field, o->skip_blank, false, add, arg);
    cw_value_set_i64(cw_value_member(ranges, "inflated_max"), o->inflated_max);
    return 0;
}

static int reads(const void *opts, struct cw_op_reads *ret_reads, struct cw_err *err)
{
    const struct text_lines_opts *o = opts;
    return cw_inflate_cost(&o->pattern, o->inflated_max, o->inflate_every, cw_inflate_count_lines,
                           ret_reads, err);
}

const struct cw_op cw_op_text_lines = {
    .name = "text_lines",
    .version = 1,
    .summary = "lines of text files, .gz and .zst too",
    .doc =
        "Gives the bytes of each line without its end, which is \\n or \\r\\n; a last line needs "
        "none. Bytes are not\n"
        "looked at otherwise: any encoding in which \\n is one byte will do. Written by: every "
        "program.\n"
        "\n"
        "Files are scanned once when a job is prepared; the index needs 2 to 4 bytes of memory a "
        "line, and any\n"
        "position can be read, so a shuffle before reading costs no buffer. Files whose names end "
        "in .gz or .zst are\n"
        "read at random, too: what lies between two access points is inflated together, and stays "
        "in memory up to\n"
        "`inflated_max` for all files (docs/formats.md, \"Compressed files\"). With `index` false "
        "nothing is scanned, and the\n"
        "node stands for `text_ranges` and `split_lines` (docs/formats.md, \"Without an index\").\n"
        "\n"
        "Not supported: a lone \\r as the end of a line, UTF-16. Patterns as for `files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct text_lines_opts),
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_line,
    .read_loose = read_loose,
    .blocks = cw_file_source_blocks,
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
    .ahead = cw_text_source_ahead,
    .reads = reads,
    .stands_for = stands_for,
};
