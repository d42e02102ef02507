/* SPDX-License-Identifier: Apache-2.0 */
/* Source `jsonl`: the records of files with a JSON object a line. */
#include <string.h>

#include "base/mem.h"
#include "format/json_decode.h"
#include "ops/op_util.h"
#include "ops/source/inflate_cost.h"
#include "ops/source/text_guess.h"
#include "ops/source/text_source.h"
#include "ops/source/unindexed.h"

struct jsonl_opts {
    struct cw_str_list pattern, schema;
    struct cw_value missing, null, mask;
    int64_t inflated_max, inflate_every, record_max;
    struct cw_unindexed how;
};

#define OFFSET(member) offsetof(struct jsonl_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "schema",
     .help =
         "the fields: \"text: str\", \"label = meta.label: i64\", \"vector: f32[?]\", ...; none = "
         "as the first 1,000 records of the first file say",
     .type = CW_OPT_STR_LIST,
     .offset = OFFSET(schema),
     .len_min = 0,
     .len_max = CW_FIELDS_MAX},
    {.name = "missing",
     .help = "a record without a key: \"fail\", \"skip\", a value, or an object of these by field",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(missing)},
    {.name = "null",
     .help = "a record in which a value is null: the same",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(null)},
    {.name = "mask",
     .help = "add a field NAME_mask, bool, for fields for which `missing` or `null` gives a value: "
             "false where that stands in. true = for all of these, or names",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(mask),
     .flags = CW_OPT_NEWER},
    CW_INFLATED_MAX_ROW(OFFSET(inflated_max)),
    CW_INFLATED_EVERY_ROW(OFFSET(inflate_every)),
    CW_RECORD_MAX_ROW(OFFSET(record_max), "\"1GiB\""),
    CW_UNINDEXED_ROWS(OFFSET(how)),
    {0},
};

static int make_reader(const struct jsonl_opts *o, struct cw_json_reader **ret_reader,
                       struct cw_err *err)
{
    struct cw_text_schema schema = {0};
    int rc = cw_text_schema_parse(o->schema.v, o->schema.n, &o->missing, &o->null, &schema, err);
    if (rc == 0)
        rc = cw_text_schema_mask(&schema, &o->mask, err);
    if (rc == 0)
        return cw_json_reader_new(&schema, ret_reader, err);
    cw_text_schema_fini(&schema);
    return rc;
}

static bool is_complete(const void *opts)
{
    return ((const struct jsonl_opts *)opts)->schema.n > 0;
}

static int complete(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err)
{
    const struct jsonl_opts *o = opts;
    cw_autofree char *path = NULL;
    int rc = cw_file_first(&o->pattern, how, &path, err);
    if (rc == 0)
        rc = cw_text_guess_json(path, said, err);
    const struct cw_value *const absent[] = {&o->missing, &o->null};
    if (rc == 0 && !cw_text_schema_asks_mask(&o->mask)) /* a mask that is wanted needs its field */
        cw_text_guess_leave_out(how->wanted, absent, CW_ARRAY_LEN(absent), said);
    return rc;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    struct cw_json_reader *reader = NULL;
    (void)in;
    (void)in_n;
    int rc = make_reader(opts, &reader, err);
    if (rc == 0)
        rc = cw_text_schema_spec(cw_json_reader_schema(reader), ret_spec, err);
    cw_json_reader_free(reader);
    return rc;
}

static bool is_kept(const void *arg, const void *head, const char *p, size_t n)
{
    (void)head;
    return !cw_json_is_skipped(arg, p, cw_text_line_bytes(p, n));
}

static int look(const void *arg, const char *p, size_t n, struct cw_err *err)
{
    return cw_json_look(arg, p, n, err);
}

/* Which records are left out. */
static void key(const void *opts, struct cw_str *out)
{
    const struct jsonl_opts *o = opts;
    for (size_t i = 0; i < o->schema.n; i++)
        cw_str_addf(out, "%s\n", o->schema.v[i]);
    cw_value_print(&o->missing, out);
    cw_value_print(&o->null, out);
}

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct jsonl_opts *o = opts;
    struct cw_json_reader *reader = NULL;
    int rc = make_reader(o, &reader, err);
    if (rc < 0)
        return rc;
    const bool skips = cw_text_schema_skips(cw_json_reader_schema(reader));
    const struct cw_text_rules rules = {.lines = {.blank = CW_BLANK_SPACES, .skips_mark = true},
                                        .inflated_max = o->inflated_max,
                                        .inflate_every = o->inflate_every,
                                        .record_max = o->record_max,
                                        .is_kept = skips ? is_kept : NULL,
                                        .look = look,
                                        .arg = reader,
                                        .key = skips ? key : NULL,
                                        .opts = o};
    rc = cw_text_source_new(&rules, &o->pattern, how, ret_state, err);
    if (rc < 0)
        cw_json_reader_free(reader);
    return rc;
}

static void close_files(void *state)
{
    struct cw_text_source *s = state;
    if (!s)
        return;
    void *reader = (void *)(uintptr_t)s->rules.arg;
    cw_file_source_free(s);
    cw_json_reader_free(reader);
}

static int read_record(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                       struct cw_element *ret_element, struct cw_err *err)
{
    struct cw_text_source *s = state;
    const struct cw_json_reader *reader = s->rules.arg;
    struct cw_text_record record;
    (void)opts;
    int rc = cw_text_source_get(ctx, s, pos, &record, err);
    if (rc < 0)
        return rc;
    ret_element->n = cw_json_reader_schema(reader)->n + cw_json_reader_schema(reader)->masks;
    rc = cw_json_read(reader, record.p, cw_text_line_bytes(record.p, record.n), ctx->arena,
                      ret_element->fields, err);
    if (rc > 0)
        rc = cw_err_set(err, CW_E_CORRUPT, "is left out when it is not looked for");
    cw_text_source_put(s, &record);
    return rc < 0 ? cw_text_record_wrap(&record, err) : 0;
}

static int stands_for(const void *opts, cw_op_part_fn *add, void *arg, struct cw_err *err)
{
    const struct jsonl_opts *o = opts;
    if (o->how.index)
        return 0;
    if (cw_record_max_unindexed(o->record_max, CW_TEXT_RECORD_MAX, err) < 0)
        return CW_E_INVALID;
    if (o->schema.n == 0)
        return cw_err_set(err, CW_E_INVALID,
                          "option index: without an index no file is looked into before a job "
                          "runs, so `schema` must be given");
    struct cw_value *ranges =
        cw_unindexed_lines(&o->how, &o->pattern, "text", true, true, add, arg);
    cw_value_set_i64(cw_value_member(ranges, "inflated_max"), o->inflated_max);
    struct cw_value *parse = add(arg, "parse_json");
    cw_unindexed_list(parse, "schema", &o->schema);
    if (o->missing.type != CW_VALUE_NULL)
        cw_value_copy(cw_value_member(parse, "missing"), &o->missing);
    if (o->null.type != CW_VALUE_NULL)
        cw_value_copy(cw_value_member(parse, "null"), &o->null);
    if (o->mask.type != CW_VALUE_NULL)
        cw_value_copy(cw_value_member(parse, "mask"), &o->mask);
    return 0;
}

static int reads(const void *opts, struct cw_op_reads *ret_reads, struct cw_err *err)
{
    const struct jsonl_opts *o = opts;
    return cw_inflate_cost(&o->pattern, o->inflated_max, o->inflate_every, cw_inflate_count_lines,
                           ret_reads, err);
}

const struct cw_op cw_op_jsonl = {
    .name = "jsonl",
    .version = 1,
    .summary = "records of files with a JSON object a line, .gz and .zst too",
    .doc =
        "Gives the fields of `schema` of each line. A row of it is \"name: type\", or \"name = "
        "key: "
        "type\" where the field\n"
        "is to have another name than the key; a.b is the member b of the object a. Types are "
        "dtypes (i64, f32, bool,\n"
        "str; not f16 and bf16), lists of numbers (f32[3], f32[?], f32[?,2]) and of strings\n"
        "(str[?], str[2]), and json: the text of the value, whatever it is.\n"
        "Only what is asked for is decoded. Integers are floats too; every other difference is an "
        "error that names file,\n"
        "record, byte and key. Floats are the nearest ones. Of members with one key the last "
        "counts; blank lines are\n"
        "no records.\n"
        "\n"
        "Without `schema` the fields are the keys of the first 1,000 records of the first file: "
        "i64, f64, bool, str,\n"
        "i64[?] or f64[?] where all values are such, else json (also of lists of strings: say "
        "str[?]).\n"
        "\n"
        "`missing` and `null` say what becomes of a record that lacks a key, or in which it is "
        "null: \"fail\", \"skip\" (it\n"
        "is left out when the file is scanned, so the number of records is known), or what is read "
        "instead; for all\n"
        "fields, or by field: {\"label\": -1, \"text\": \"skip\"}. Without them it is an error. "
        "`mask` adds fields that tell\n"
        "where a value stands in.\n"
        "\n"
        "Written by: most tools for text data. Files are scanned once when a job is prepared, as "
        "those of `text_lines`,\n"
        "and compressed ones are inflated in the same way; `index` false is as there, and needs "
        "`schema`. Not supported: lists of lists of "
        "strings (json "
        "gives their text), keys\n"
        "with a dot or an escape in them, files that are one list. Patterns as for `files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct jsonl_opts),
    .is_complete = is_complete,
    .complete = complete,
    .completed = "schema",
    .infer = infer,
    .open = open_files,
    .close = close_files,
    .count = cw_file_source_count,
    .read = read_record,
    .blocks = cw_file_source_blocks,
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
    .ahead = cw_text_source_ahead,
    .reads = reads,
    .stands_for = stands_for,
};
