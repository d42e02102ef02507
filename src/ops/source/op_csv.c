/* SPDX-License-Identifier: Apache-2.0 */
/* Source `csv`: the records of CSV files. */
#include "format/csv.h"
#include "ops/op_util.h"
#include "ops/source/inflate_cost.h"
#include "ops/source/text_guess.h"
#include "ops/source/text_source.h"
#include "ops/source/unindexed.h"

#include <string.h>

#include "base/mem.h"

struct csv_opts {
    struct cw_str_list pattern, schema, empty;
    struct cw_value missing, mask;
    char *separator, *quote;
    bool header, newlines;
    int64_t inflated_max, inflate_every, record_max;
    struct cw_unindexed how;
};

#define OFFSET(member) offsetof(struct csv_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "schema",
     .help = "the fields: \"label: i64\", \"age = Age in years: f32\", ...; none = as the first "
             "1,000 records of the first file say",
     .type = CW_OPT_STR_LIST,
     .offset = OFFSET(schema),
     .len_min = 0,
     .len_max = CW_FIELDS_MAX},
    {.name = "separator",
     .help = "the byte between cells; \"\\t\" for TSV",
     .type = CW_OPT_STR,
     .offset = OFFSET(separator),
     .def = "\",\""},
    {.name = "quote",
     .help = "the byte around cells; \"\" = there are no quotes",
     .type = CW_OPT_STR,
     .offset = OFFSET(quote),
     .def = "\"\\\"\""},
    {.name = "header",
     .help = "the first record of each file has the names; without it keys are numbers, from 0 on",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(header),
     .def = "true"},
    {.name = "empty",
     .help = "cells that count as empty: [\"NA\", \"NULL\"]",
     .type = CW_OPT_STR_LIST,
     .offset = OFFSET(empty),
     .def = "[]",
     .len_max = 100},
    {.name = "missing",
     .help =
         "a record with an empty cell: \"fail\", \"skip\", a value, or an object of these by field",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(missing)},
    {.name = "mask",
     .help =
         "add a field NAME_mask, bool, for fields for which `missing` gives a value: false where "
         "that stands in. true = for all of these, or names",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(mask),
     .flags = CW_OPT_NEWER},
    CW_INFLATED_MAX_ROW(OFFSET(inflated_max)),
    {.name = "newlines",
     .help = "cells in quotes may have newlines in them; false = each line is a record",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(newlines),
     .def = "true",
     .flags = CW_OPT_NEWER},
    CW_INFLATED_EVERY_ROW(OFFSET(inflate_every)),
    CW_RECORD_MAX_ROW(OFFSET(record_max), "\"1GiB\""),
    CW_UNINDEXED_ROWS(OFFSET(how)),
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct csv_opts *o = opts;
    return cw_csv_rules_check(o->separator, o->quote, err);
}

static int make_reader(const struct csv_opts *o, struct cw_csv_reader **ret_reader,
                       struct cw_err *err)
{
    struct cw_text_schema schema = {0};
    const struct cw_value none = {0};
    const struct cw_csv_options how = {
        .rules = {.separator = o->separator[0], .quote = o->quote[0]},
        .has_header = o->header,
        .empty = o->empty.v,
        .empty_n = o->empty.n};
    int rc = cw_text_schema_parse(o->schema.v, o->schema.n, &o->missing, &none, &schema, err);
    if (rc == 0)
        rc = cw_text_schema_mask(&schema, &o->mask, err);
    if (rc == 0)
        return cw_csv_reader_new(&schema, &how, ret_reader, err);
    cw_text_schema_fini(&schema);
    return rc;
}

static bool is_complete(const void *opts)
{
    return ((const struct csv_opts *)opts)->schema.n > 0;
}

static int complete(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err)
{
    const struct csv_opts *o = opts;
    cw_autofree char *path = NULL;
    int rc = cw_file_first(&o->pattern, how, &path, err);
    const struct cw_csv_guess guess = {
        .rules = {.separator = o->separator[0], .quote = o->quote[0]},
        .has_header = o->header,
        .empty = &o->empty};
    if (rc == 0)
        rc = cw_text_guess_csv(path, &guess, said, err);
    const struct cw_value *const absent[] = {&o->missing};
    if (rc == 0 && !cw_text_schema_asks_mask(&o->mask))
        cw_text_guess_leave_out(how->wanted, absent, CW_ARRAY_LEN(absent), said);
    return rc;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    struct cw_csv_reader *reader = NULL;
    (void)in;
    (void)in_n;
    int rc = make_reader(opts, &reader, err);
    if (rc == 0)
        rc = cw_text_schema_spec(cw_csv_reader_schema(reader), ret_spec, err);
    cw_csv_reader_free(reader);
    return rc;
}

/* What stands around text with newlines. */
static char quote_of(const struct csv_opts *o)
{
    return o->newlines ? o->quote[0] : '\0';
}

static bool is_kept(const void *arg, const void *head, const char *p, size_t n)
{
    return !cw_csv_is_skipped(arg, head, p, n);
}

static int read_head(const void *arg, const char *p, size_t n, void **ret_head, struct cw_err *err)
{
    struct cw_csv_head *head = NULL;
    int rc = cw_csv_head_new(arg, p, n, &head, err);
    *ret_head = head;
    return rc;
}

/* The first record tells which columns there are. */
static int look(const void *arg, const char *p, size_t n, struct cw_err *err)
{
    void *head = NULL;
    while (n > 0 && (*p == '\n' || *p == '\r')) {
        p++;
        n--;
    }
    const size_t record = cw_csv_first_record(arg, p, n);
    /* of a file without records it does not matter */
    const int rc = record > 0 && record < n ? read_head(arg, p, record, &head, err) : 0;
    cw_mem_free(head);
    return rc;
}

/* Which columns a file must have, and which records are left out. */
static void key(const void *opts, struct cw_str *out)
{
    const struct csv_opts *o = opts;
    cw_str_addf(out, "%s %s %d\n", o->separator, o->quote, o->header);
    for (size_t i = 0; i < o->schema.n; i++)
        cw_str_addf(out, "%s\n", o->schema.v[i]);
    for (size_t i = 0; i < o->empty.n; i++)
        cw_str_addf(out, "empty %s\n", o->empty.v[i]);
    cw_value_print(&o->missing, out);
}

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct csv_opts *o = opts;
    struct cw_csv_reader *reader = NULL;
    int rc = make_reader(o, &reader, err);
    if (rc < 0)
        return rc;
    const bool skips = cw_text_schema_skips(cw_csv_reader_schema(reader));
    const struct cw_text_rules rules = {.lines = {.quote = quote_of(o),
                                                  .blank = CW_BLANK_EMPTY,
                                                  .skips_mark = true,
                                                  .head = o->header},
                                        .inflated_max = o->inflated_max,
                                        .inflate_every = o->inflate_every,
                                        .record_max = o->record_max,
                                        .read_head = read_head,
                                        .look = look,
                                        .is_kept = skips ? is_kept : NULL,
                                        .arg = reader,
                                        .key = key,
                                        .opts = o};
    rc = cw_text_source_new(&rules, &o->pattern, how, ret_state, err);
    if (rc < 0)
        cw_csv_reader_free(reader);
    return rc;
}

static void close_files(void *state)
{
    struct cw_text_source *s = state;
    if (!s)
        return;
    void *reader = (void *)(uintptr_t)s->rules.arg;
    cw_file_source_free(s);
    cw_csv_reader_free(reader);
}

static int read_record(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                       struct cw_element *ret_element, struct cw_err *err)
{
    struct cw_text_source *s = state;
    const struct cw_csv_reader *reader = s->rules.arg;
    struct cw_text_record record;
    (void)opts;
    int rc = cw_text_source_get(ctx, s, pos, &record, err);
    if (rc < 0)
        return rc;
    ret_element->n = cw_csv_reader_schema(reader)->n + cw_csv_reader_schema(reader)->masks;
    rc = cw_csv_read(reader, record.text->head, record.p, record.n, ctx->arena, ret_element->fields,
                     err);
    if (rc > 0)
        rc = cw_err_set(err, CW_E_CORRUPT, "is left out when it is not looked for");
    cw_text_source_put(s, &record);
    return rc < 0 ? cw_text_record_wrap(&record, err) : 0;
}

enum { READ_BYTES = 64 << 10 }; /* of records that follow each other, at once */
struct numbers {
    struct cw_record_rows rows;
    const struct cw_csv_reader *reader;
    const struct cw_column *columns;
    char *bytes;
    size_t cap;
};

static int parse_run(const struct numbers *r, size_t i, size_t n,
                     const struct cw_record_place *place)
{
    const struct cw_text_file *text = place->seat->loaded;
    const struct cw_file *file = &r->rows.source->files->v[place->seat->file];
    const uint64_t first = (uint64_t)(r->rows.positions[i] - file->first);
    void *values[CW_FIELDS_MAX];
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < n; k++) {
        const uint64_t begin = cw_line_index_at(text->index, first + k);
        const uint64_t end = cw_line_index_at(text->index, first + k + 1);
        for (size_t f = 0; f < cw_csv_reader_schema(r->reader)->n; f++)
            values[f] = (char *)r->columns[f].data + (i + k) * r->columns[f].bytes;
        rc = cw_csv_read_numbers(r->reader, text->head, r->bytes + (begin - place->begin),
                                 (size_t)(end - begin), values);
    }
    return rc;
}

/* Reads the i-th record and those that follow it in the file. */
static int read_run(struct numbers *r, size_t i, size_t *ret_n)
{
    struct cw_record_place place;
    int rc = cw_record_rows_find(&r->rows, i, &place);
    if (rc < 0)
        return rc;
    *ret_n = cw_record_rows_run(&r->rows, i, READ_BYTES, &place);
    if (place.bytes > r->cap) {
        char *grown = place.bytes <= CW_TEXT_RECORD_MAX
                          ? cw_mem_try_grow(r->bytes, (size_t)place.bytes)
                          : NULL;
        if (!grown)
            return CW_E_NOMEM;
        r->bytes = grown;
        r->cap = (size_t)place.bytes;
    }
    rc = cw_record_rows_read(&place, r->bytes);
    return rc < 0 ? rc : parse_run(r, i, *ret_n, &place);
}

static int read_rows(const void *opts, void *state, const int64_t *positions, size_t n,
                     const struct cw_column *columns)
{
    struct cw_text_source *s = state;
    struct numbers r = {.rows = cw_text_source_rows(s, positions, n),
                        .reader = s->rules.arg,
                        .columns = columns,
                        .bytes = cw_mem_try(READ_BYTES),
                        .cap = READ_BYTES};
    int rc = r.bytes ? 0 : CW_E_NOMEM;
    (void)opts;
    for (size_t i = 0, run = 0; rc == 0 && i < n; i += run)
        rc = read_run(&r, i, &run);
    cw_record_rows_end(&r.rows);
    cw_mem_free(r.bytes);
    return rc;
}

static int reads(const void *opts, struct cw_op_reads *ret_reads, struct cw_err *err)
{
    const struct csv_opts *o = opts;
    return cw_inflate_cost(&o->pattern, o->inflated_max, o->inflate_every, cw_inflate_count_lines,
                           ret_reads, err);
}

static void add_parse(const struct csv_opts *o, cw_op_part_fn *add, void *arg)
{
    struct cw_value *parse = add(arg, "parse_csv");
    cw_unindexed_list(parse, "schema", &o->schema);
    cw_unindexed_list(parse, "empty", &o->empty);
    cw_value_set_str(cw_value_member(parse, "separator"), o->separator);
    cw_value_set_str(cw_value_member(parse, "quote"), o->quote);
    cw_value_set_bool(cw_value_member(parse, "header"), o->header);
    if (o->missing.type != CW_VALUE_NULL)
        cw_value_copy(cw_value_member(parse, "missing"), &o->missing);
    if (o->mask.type != CW_VALUE_NULL)
        cw_value_copy(cw_value_member(parse, "mask"), &o->mask);
}

static int stands_for(const void *opts, cw_op_part_fn *add, void *arg, struct cw_err *err)
{
    const struct csv_opts *o = opts;
    const char quote[] = {quote_of(o), '\0'};
    if (o->how.index)
        return 0;
    if (cw_record_max_unindexed(o->record_max, CW_TEXT_RECORD_MAX, err) < 0)
        return CW_E_INVALID;
    if (o->schema.n == 0)
        return cw_err_set(err, CW_E_INVALID,
                          "option index: without an index no file is looked into before a job "
                          "runs, so `schema` must be given");
    struct cw_value *ranges = cw_unindexed_ranges(&o->how, "text_ranges", &o->pattern, add, arg);
    cw_value_set_str(cw_value_member(ranges, "head"), "head");
    cw_value_set_bool(cw_value_member(ranges, "keep_head"), !o->header);
    cw_value_set_bool(cw_value_member(ranges, "skip_mark"), true);
    cw_value_set_str(cw_value_member(ranges, "quote"), quote);
    cw_value_set_i64(cw_value_member(ranges, "inflated_max"), o->inflated_max);
    struct cw_value *lines = add(arg, "split_lines");
    cw_value_set_str(cw_value_member(lines, "quote"), quote);
    cw_value_set_bool(cw_value_member(lines, "skip_empty"), true);
    cw_value_set_bool(cw_value_member(lines, "keep_ends"), true);
    if (quote[0])
        cw_value_set_i64(cw_value_member(lines, "span"), 1);
    add_parse(o, add, arg);
    return 0;
}

const struct cw_op cw_op_csv = {
    .name = "csv",
    .version = 1,
    .summary = "records of CSV and TSV files, .gz and .zst too",
    .doc =
        "Gives the fields of `schema` of each record. A row of it is \"name: type\", or \"name = "
        "column: type\" where the\n"
        "field is to have another name than the column; types are dtypes (i64, f32, bool, str; not "
        "f16). Columns are\n"
        "found by their names in each file, so files may have them in different orders; only those "
        "that are asked for are\n"
        "decoded. The format is that of RFC 4180: cells in quotes may have separators, newlines "
        "and doubled quotes in\n"
        "them. \\r\\n and \\n end a record, blank lines are none, and every record has as many "
        "cells as the first.\n"
        "\n"
        "Without `schema` the fields are the columns: i64 or f64 where all cells of the first "
        "1,000 "
        "records of the first\n"
        "file are such, else str.\n"
        "\n"
        "Numbers may have spaces around them; floats are the nearest ones, nan and inf are known. "
        "A bool is true, false,\n"
        "1 or 0. What is none is an error that names file, record, byte and column. An empty cell, "
        "or one that `empty`\n"
        "names, is an error, too; `missing` says otherwise: \"skip\" leaves the record out when "
        "the file is scanned, so the\n"
        "number of records is known, anything else is read instead; for all fields, or by field: "
        "{\"label\": -1}. An empty\n"
        "str is an empty string unless `missing` says \"skip\" or a value.\n"
        "\n"
        "Written by: spreadsheets, data bases, pandas. Files are scanned once when a job is "
        "prepared, as those of\n"
        "`text_lines`, and compressed ones are inflated in the same way. With `index` false "
        "nothing is scanned, `schema` is\n"
        "needed, and the node stands for `text_ranges`, `split_lines` and `parse_csv`; each file "
        "is "
        "one range then, unless\n"
        "`newlines` is false or there are no quotes (docs/formats.md, \"Without an index\").\n"
        "\n"
        "Not supported: escapes by \\, comments, decimal commas, UTF-16. Patterns as for "
        "`files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct csv_opts),
    .check = check,
    .is_complete = is_complete,
    .complete = complete,
    .completed = "schema",
    .infer = infer,
    .open = open_files,
    .close = close_files,
    .count = cw_file_source_count,
    .read = read_record,
    .read_rows = read_rows,
    .blocks = cw_file_source_blocks,
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
    .ahead = cw_text_source_ahead,
    .reads = reads,
    .stands_for = stands_for,
};
