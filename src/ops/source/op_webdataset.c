/* SPDX-License-Identifier: Apache-2.0 */
/* Source `webdataset`: reads the samples of tar files, by their indices. */
#include "base/mem.h"
#include "ops/op_util.h"
#include "ops/source/inflate_cost.h"
#include "ops/source/unindexed.h"
#include "ops/source/webdataset_source.h"

#include <string.h>

enum { MISSING_FAIL, MISSING_SKIP, MISSING_EMPTY };
static const char *const missing_words[] = {"fail", "skip", "empty", NULL};

struct webdataset_opts {
    struct cw_str_list pattern;
    struct cw_value columns;
    struct cw_value types;
    int missing; /* index into missing_words */
    char *key;
    int64_t inflated_max, inflate_every;
    bool index;
};

#define OFFSET(member) offsetof(struct webdataset_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "columns",
     .help = "the fields: a list of extensions, or an object with a name for each, "
             "{\"image\": \"jpg;png\", \"label\": \"cls\"}",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(columns)},
    {.name = "types",
     .help = "what becomes of members, by field or extension: {\"npy\": \"f32[3,-1]\"}",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(types)},
    {.name = "missing",
     .help = "what to do with a sample that lacks a field",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(missing),
     .def = "\"fail\"",
     .names = missing_words},
    {.name = "key",
     .help = "name of a field with the sample's key; \"\" = none",
     .type = CW_OPT_STR,
     .offset = OFFSET(key),
     .def = "\"\""},
    CW_INFLATED_MAX_ROW(OFFSET(inflated_max)),
    CW_INFLATED_EVERY_ROW(OFFSET(inflate_every)),
    {.name = "index",
     .help = "find all samples when a job is prepared; false = the first batch comes at once, "
             "positions are files, and there is no length",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(index),
     .def = "true",
     .flags = CW_OPT_NO_FINGERPRINT},
    {0},
};

static bool is_complete(const void *opts)
{
    return ((const struct webdataset_opts *)opts)->columns.type != CW_VALUE_NULL;
}

static int complete(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err)
{
    const struct webdataset_opts *o = opts;
    cw_autofree char *path = NULL;
    int rc = cw_file_first(&o->pattern, how, &path, err);
    return rc < 0 ? rc : cw_wds_complete(path, o->inflated_max, o->inflate_every, said, err);
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct webdataset_opts *o = opts;
    struct cw_wds_columns columns = {0};
    CW_SPEC_AUTO spec = {0};
    (void)in;
    (void)in_n;
    int rc = cw_wds_columns_parse(&o->columns, &o->types, &columns, err);
    for (size_t i = 0; i < columns.n && rc == 0; i++) {
        const struct cw_field *field = &columns.v[i].field;
        rc = cw_spec_add(&spec, field->name, field->dtype, field->rank, field->dims, err);
    }
    if (rc == 0 && o->key[0])
        rc = cw_spec_add(&spec, o->key, CW_DTYPE_STR, 0, NULL, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    cw_wds_columns_fini(&columns);
    return rc;
}

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct webdataset_opts *o = opts;
    struct cw_wds_columns columns;
    int rc = cw_wds_columns_parse(&o->columns, &o->types, &columns, err);
    if (rc < 0)
        return rc;
    struct cw_wds_source *s = CW_NEW(struct cw_wds_source);
    s->columns = columns;
    s->inflated = cw_inflated_new(o->inflated_max, o->inflate_every);
    s->want = (struct cw_wds_want){.field_of = cw_wds_column_of,
                                   .arg = &s->columns,
                                   .fields_n = columns.n + (o->key[0] != '\0'),
                                   .key_field = o->key[0] ? (int)columns.n : -1,
                                   .skip_incomplete = o->missing == MISSING_SKIP};
    void *opened = NULL;
    rc = cw_file_source_start(&cw_wds_source_kind, s, &o->pattern, how, &opened, err);
    if (rc == 0 && !how->manifest && !how->only_index)
        rc = cw_wds_source_check(opened, err);
    if (rc < 0)
        cw_file_source_free(opened);
    else
        *ret_state = opened;
    return rc;
}

/* Says where a member is that has a wrong value. */
static void of_member(const struct cw_wds_part *part, size_t sample, const char *field,
                      struct cw_err *err)
{
    (void)cw_err_wrap(err, "field \"%s\" of sample %zu, whose header is at byte %llu", field,
                      sample, (unsigned long long)(part->offset - CW_TAR_BLOCK_BYTES));
}

static int lacks(const struct cw_wds_column *column, const char *path, size_t sample,
                 struct cw_err *err)
{
    return cw_err_set(
        err, CW_E_CORRUPT,
        "%s: sample %zu has no member with the extension %s, of field \"%s\" (the option "
        "missing says what to do then)",
        path, sample, column->exts, column->field.name);
}

static int make_fields(const struct cw_op_ctx *ctx, const struct webdataset_opts *o,
                       const struct cw_wds_source *s, const struct cw_wds_part *parts,
                       const char *path, size_t k, struct cw_view *fields, struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < s->columns.n && rc == 0; i++) {
        const struct cw_wds_column *column = &s->columns.v[i];
        if (parts[i].is_there) {
            rc = cw_wds_value(ctx, column, parts[i].data, (size_t)parts[i].bytes, path, &fields[i],
                              err);
            if (rc < 0)
                of_member(&parts[i], k, column->field.name, err);
        } else {
            rc = o->missing == MISSING_EMPTY ? cw_wds_empty(ctx, column, &fields[i], err)
                                             : lacks(column, path, k, err);
        }
    }
    return rc;
}

static int read_parts(struct cw_wds_source *s, size_t i, size_t k, struct cw_wds_part *parts,
                      struct cw_arena *arena, struct cw_err *err)
{
    struct cw_file_use use;
    const void *loaded = NULL;
    int rc = cw_file_source_get(&s->source, i, &loaded, err);
    if (rc < 0)
        return rc;
    const struct cw_wds_file *file = loaded;
    rc = cw_file_source_compare(&s->source, i, file->index.n, "samples", err);
    if (rc == 0)
        rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc == 0) {
        struct cw_inflated_view view = {s->inflated, i, file->points, &use.readable, &use.source};
        const struct cw_readable plain = cw_inflated_readable(&view);
        cw_wds_find(&file->index, k, parts, s->want.fields_n);
        rc = cw_wds_read(&plain, parts, s->want.fields_n, arena, err);
        cw_file_set_release(s->source.files, &use);
    }
    cw_file_source_put(&s->source, i);
    return rc;
}

static int read_sample(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                       struct cw_element *ret_element, struct cw_err *err)
{
    const struct webdataset_opts *o = opts;
    struct cw_wds_source *s = state;
    size_t i = cw_file_set_locate(s->source.files, pos);
    const struct cw_file *file = &s->source.files->v[i];
    size_t k = (size_t)(pos - file->first);
    struct cw_wds_part *parts = cw_op_scratch(ctx, s->want.fields_n * sizeof(*parts), err);
    int rc = parts == NULL ? CW_E_NOMEM : read_parts(s, i, k, parts, ctx->arena, err);
    if (rc == 0)
        rc = make_fields(ctx, o, s, parts, file->path, k, ret_element->fields, err);
    if (rc == 0 && s->want.key_field >= 0)
        rc = cw_wds_key(ctx, file->path, &parts[s->columns.n], &ret_element->fields[s->columns.n],
                        err);
    ret_element->n = s->want.fields_n;
    return rc;
}

static void sample_ahead(struct cw_wds_source *s, size_t i, uint64_t k,
                         const struct cw_wds_file *file, struct cw_ahead *ahead)
{
    const struct cw_file_set *files = s->source.files;
    const size_t n = s->want.fields_n;
    cw_autofree struct cw_wds_part *parts = CW_NEW_ARRAY(struct cw_wds_part, n);
    uint64_t offset, bytes;
    if (k >= file->index.n)
        return;
    cw_wds_find(&file->index, k, parts, n);
    if (cw_wds_span(parts, n, &offset, &bytes)) {
        cw_inflated_ahead(s->inflated, files, i, file->points, offset, bytes, ahead);
        return;
    }
    for (size_t f = 0; f < n; f++)
        if (parts[f].is_there)
            cw_inflated_ahead(s->inflated, files, i, file->points, parts[f].offset, parts[f].bytes,
                              ahead);
}

static bool ahead_of(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead)
{
    struct cw_wds_source *s = state;
    const struct cw_file_set *files = s->source.files;
    const void *loaded = NULL;
    (void)opts;
    if (!ahead || !cw_file_set_can_ahead(files))
        return cw_file_set_can_ahead(files);
    const size_t i = cw_file_set_locate(files, pos);
    if (cw_file_source_get(&s->source, i, &loaded, NULL) < 0)
        return true;
    sample_ahead(s, i, (uint64_t)(pos - files->v[i].first), loaded, ahead);
    cw_file_source_put(&s->source, i);
    return true;
}

static int reads(const void *opts, struct cw_op_reads *ret_reads, struct cw_err *err)
{
    const struct webdataset_opts *o = opts;
    return cw_inflate_cost(&o->pattern, o->inflated_max, o->inflate_every, cw_wds_count_samples,
                           ret_reads, err);
}

static int stands_for(const void *opts, cw_op_part_fn *add, void *arg, struct cw_err *err)
{
    const struct webdataset_opts *o = opts;
    if (o->index)
        return 0;
    if (o->columns.type == CW_VALUE_NULL)
        return cw_err_set(err, CW_E_INVALID,
                          "option index: without an index no file is looked into before a job "
                          "runs, so `columns` must be given");
    struct cw_value *shards = add(arg, "webdataset_shards");
    cw_unindexed_list(shards, "pattern", &o->pattern);
    cw_value_copy(cw_value_member(shards, "columns"), &o->columns);
    if (o->types.type != CW_VALUE_NULL)
        cw_value_copy(cw_value_member(shards, "types"), &o->types);
    cw_value_set_str(cw_value_member(shards, "key"), o->key);
    cw_value_set_bool(cw_value_member(shards, "skip_incomplete"), o->missing == MISSING_SKIP);
    cw_value_set_i64(cw_value_member(shards, "inflated_max"), o->inflated_max);
    cw_value_set_i64(cw_value_member(add(arg, "unbatch"), "span"), 1);
    struct cw_value *parse = add(arg, "parse_members");
    cw_value_copy(cw_value_member(parse, "columns"), &o->columns);
    if (o->types.type != CW_VALUE_NULL)
        cw_value_copy(cw_value_member(parse, "types"), &o->types);
    cw_value_set_str(cw_value_member(parse, "missing"),
                     o->missing == MISSING_EMPTY ? "empty" : "fail");
    return 0;
}

static void describe(const void *opts, void *state, int64_t pos, struct cw_str *out)
{
    const struct cw_wds_source *s = state;
    const struct cw_file *file = &s->source.files->v[cw_file_set_locate(s->source.files, pos)];
    (void)opts;
    cw_str_addf(out, "%s sample %lld", file->path, (long long)(pos - file->first));
}

const struct cw_op cw_op_webdataset = {
    .name = "webdataset",
    .version = 1,
    .summary = "samples of WebDataset tar files",
    .doc =
        "Members whose names are equal up to the first dot of their last component, the key, make "
        "one sample, also\n"
        "if other members lie between them. What is behind that dot is the extension; upper and "
        "lower case are\n"
        "the same. `columns` says which extensions become fields, and others are not read; without "
        "it they are those\n"
        "of the first 1,000 members, sorted. Samples come in the order of their first members, "
        "files in bytewise order of their paths; keys with no wanted "
        "extension are\n"
        "no samples. Two members of one sample for one field are an error.\n"
        "\n"
        "A field is a `str` with the member's bytes, whatever the extension (jpg, png, txt, json), "
        "but a whole number\n"
        "(i64) for cls, cls2, class, count, index, inx and id, and an array for npy, whose dtype "
        "and "
        "dims `types`\n"
        "must say if `columns` is given. `types` may also say that a member is a `str`, or that a "
        "text is an i64, f32 or "
        "f64. With\n"
        "`missing` a sample that lacks a field is an error (a bad element), left out, or gets "
        "\"\", "
        "0 or zeros.\n"
        "\n"
        "Reads tar files as GNU tar, pax, bsdtar and Python write them (ustar, long names, large "
        "files). All headers are\n"
        "read once when a job is prepared, which finds truncated files; samples are then found by "
        "position, with\n"
        "about 4 bytes of memory a member, so a shuffle before reading costs no buffer.\n"
        "Files whose names end in .gz or .zst are read at random, too: what lies between two "
        "access points is inflated\n"
        "together, and stays in memory up to `inflated_max` for all files (docs/formats.md, "
        "\"Compressed files\").\n"
        "\n"
        "If no sample of the files is left by `columns` and `missing`, that is an error when a job "
        "is prepared, which names\n"
        "the extensions of the first sample. With `index` false nothing is scanned, `columns` is "
        "needed, files are positions,\n"
        "and the node stands for `webdataset_shards`, `unbatch` and `parse_members` "
        "(docs/formats.md, \"Without an index\").\n"
        "\n"
        "Not supported: sparse files, links, several tar files joined. Patterns as for `files`; "
        "shards are given as\n"
        "`/data/train-{000..127}.tar`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct webdataset_opts),
    .is_complete = is_complete,
    .complete = complete,
    .completed = "columns",
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_sample,
    .blocks = cw_file_source_blocks,
    .manifest = cw_file_source_manifest,
    .describe = describe,
    .locate = cw_file_source_locate,
    .ahead = ahead_of,
    .reads = reads,
    .stands_for = stands_for,
};
