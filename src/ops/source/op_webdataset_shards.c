/* SPDX-License-Identifier: Apache-2.0 */
/* Source `webdataset_shards`: whole WebDataset tar files, so that nothing is scanned before the first of them. An
 * element has the members of all samples of a file. */
#include <string.h>

#include "base/mem.h"
#include "data/strings.h"
#include "format/inflate.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"
#include "ops/source/webdataset_columns.h"
#include "ops/source/whole_file.h"

struct shards_opts {
    struct cw_str_list pattern;
    struct cw_value columns, types;
    char *key;
    bool skip_incomplete;
    int64_t inflated_max;
};
struct shards_state {
    struct cw_file_source source; /* a file is a record */
    struct cw_wds_columns columns;
    struct cw_wds_want want;
};

/* Members are read in the order of the file, so many bytes at a time. */
#define WINDOW_BYTES ((size_t)1 << 20)

#define OFFSET(member) offsetof(struct shards_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "columns",
     .help = "the fields: a list of extensions, or an object with a name for each, "
             "{\"image\": \"jpg;png\", \"label\": \"cls\"}",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(columns),
     .flags = CW_OPT_REQUIRED},
    {.name = "types",
     .help = "what parse_members will make of members: those of arrays must be given here, too",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(types)},
    {.name = "key",
     .help = "name of a field with the samples' keys; \"\" = none",
     .type = CW_OPT_STR,
     .offset = OFFSET(key),
     .def = "\"\""},
    {.name = "skip_incomplete",
     .help = "samples that lack a field are left out",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(skip_incomplete),
     .def = "false"},
    {.name = "inflated_max",
     .help = "most bytes that the members of a file may have together, and a .gz or .zst file once "
             "it is inflated",
     .type = CW_OPT_BYTES,
     .offset = OFFSET(inflated_max),
     .def = "\"1GiB\"",
     .min = 1,
     .max = 0x1p50,
     .flags = CW_OPT_NO_FINGERPRINT},
    {0},
};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct shards_opts *o = opts;
    const int64_t any = -1;
    struct cw_wds_columns columns = {0};
    CW_SPEC_AUTO spec = {0};
    (void)in;
    (void)in_n;
    int rc = cw_wds_columns_parse(&o->columns, &o->types, &columns, err);
    for (size_t i = 0; i < columns.n && rc == 0; i++)
        rc = cw_spec_add(&spec, columns.v[i].field.name, CW_DTYPE_STR, 1, &any, err);
    if (rc == 0 && o->key[0])
        rc = cw_spec_add(&spec, o->key, CW_DTYPE_STR, 1, &any, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    cw_wds_columns_fini(&columns);
    return rc;
}

static void end(void *state)
{
    cw_wds_columns_fini(&((struct shards_state *)state)->columns);
}

static int prepare(void *state, size_t i, const struct cw_op_open *how, struct cw_err *err)
{
    struct shards_state *s = state;
    if (how->manifest)
        return cw_file_source_compare(&s->source, i, 1, "files", err);
    s->source.files->v[i].records = 1;
    return 0;
}

static const struct cw_file_source_kind kind = {
    .state_bytes = sizeof(struct shards_state), .end = end, .prepare = prepare};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct shards_opts *o = opts;
    struct cw_wds_columns columns;
    int rc = cw_wds_columns_parse(&o->columns, &o->types, &columns, err);
    if (rc < 0)
        return rc;
    struct shards_state *s = CW_NEW(struct shards_state);
    s->columns = columns;
    s->want = (struct cw_wds_want){.field_of = cw_wds_column_of,
                                   .arg = &s->columns,
                                   .fields_n = columns.n + (o->key[0] != '\0'),
                                   .key_field = o->key[0] ? (int)columns.n : -1,
                                   .skip_incomplete = o->skip_incomplete};
    return cw_file_source_start(&kind, s, &o->pattern, how, ret_state, err);
}

/* ---- reading ---- */

/* A file that is read in about the order of its bytes. */
struct window {
    const struct cw_readable *file;
    uint8_t *bytes;
    uint64_t begin;
    size_t n;
};

static int read_window(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    struct window *w = arg;
    if (n >= WINDOW_BYTES)
        return cw_readable_get(w->file, offset, dst, n, err);
    if (offset < w->begin || offset + n > w->begin + w->n) {
        w->begin = offset;
        w->n = 0;
        const size_t more = (size_t)CW_MIN((uint64_t)WINDOW_BYTES, w->file->size - offset);
        int rc = cw_readable_get(w->file, offset, w->bytes, more, err);
        if (rc < 0)
            return rc;
        w->n = more;
    }
    memcpy(dst, w->bytes + (offset - w->begin), n);
    return 0;
}

/* What is made of a file. */
struct shard {
    const struct cw_op_ctx *ctx;
    const struct shards_state *state;
    const struct cw_readable *file;
    struct cw_wds_index index;
    struct cw_wds_part *parts; /* of one sample */
    struct cw_view *views;
    uint64_t *at; /* of each field, how many bytes it has so far */
};

/* How many bytes a member takes: those of one that is there stand behind a byte. A key takes as many as its headers at
 * most. */
static uint64_t bytes_of(const struct cw_wds_part *part)
{
    return part->is_there ? 1 + part->bytes : 0;
}

/* Makes room for the lists. */
static int make_lists(struct shard *s, int64_t max, struct cw_err *err)
{
    const size_t n = s->state->want.fields_n;
    const size_t table = cw_strings_table_bytes((int64_t)s->index.n);
    uint64_t sum = 0;
    for (uint64_t k = 0; k < s->index.n; k++) {
        cw_wds_find(&s->index, k, s->parts, n);
        for (size_t f = 0; f < n; f++) {
            s->at[f] += bytes_of(&s->parts[f]);
            sum += bytes_of(&s->parts[f]);
        }
    }
    if (sum > (uint64_t)max)
        return cw_err_set(err, CW_E_LIMIT,
                          "%s: the members of its samples have %llu bytes, which are read together "
                          "without an index; option inflated_max allows %lld",
                          s->file->name, (unsigned long long)sum, (long long)max);
    for (size_t f = 0; f < n; f++) {
        const int64_t zero = 0;
        s->views[f] = (struct cw_view){.dtype = CW_DTYPE_STR, .rank = 1};
        s->views[f].dims[0] = (int64_t)s->index.n;
        s->views[f].data = cw_op_scratch(s->ctx, table + (size_t)s->at[f], err);
        if (!s->views[f].data)
            return CW_E_NOMEM;
        memcpy(s->views[f].data, &zero, sizeof(zero));
        s->at[f] = 0;
    }
    return 0;
}

/* Reads one member behind those that its list has already. A key is found in headers, which are read in its place. */
static int read_member(struct shard *s, size_t f, const struct cw_wds_part *part,
                       struct cw_err *err)
{
    const size_t table = cw_strings_table_bytes((int64_t)s->index.n);
    char *dst = (char *)s->views[f].data + table + s->at[f];
    struct cw_wds_part head = *part;
    struct cw_view key;
    if (!part->is_there)
        return 0;
    const bool is_key = (int)f == s->state->want.key_field;
    int rc = part->bytes > 0 ? cw_readable_get(s->file, part->offset, is_key ? dst : dst + 1,
                                               (size_t)part->bytes, err)
                             : 0;
    if (rc < 0 || !is_key) {
        dst[0] = '1';
        s->at[f] += 1 + part->bytes;
        return rc;
    }
    head.data = dst;
    rc = cw_wds_key(s->ctx, s->file->name, &head, &key, err);
    if (rc == 0) {
        memcpy(dst, key.data, key.bytes);
        s->at[f] += key.bytes;
    }
    return rc;
}

static int read_samples(struct shard *s, struct cw_err *err)
{
    const size_t n = s->state->want.fields_n;
    int rc = 0;
    for (uint64_t k = 0; rc == 0 && k < s->index.n; k++) {
        cw_wds_find(&s->index, k, s->parts, n);
        for (size_t f = 0; rc == 0 && f < n; f++) {
            rc = read_member(s, f, &s->parts[f], err);
            const int64_t at = (int64_t)s->at[f];
            memcpy((char *)s->views[f].data + (k + 1) * sizeof(at), &at, sizeof(at));
        }
        if (rc == 0 && k % 1024 == 0)
            rc = cw_stop_check(s->ctx->stop, err);
    }
    for (size_t f = 0; f < n; f++)
        s->views[f].bytes = cw_strings_table_bytes((int64_t)s->index.n) + (size_t)s->at[f];
    return rc;
}

static int read_tar(const struct cw_op_ctx *ctx, const struct shards_opts *o,
                    const struct shards_state *state, const struct cw_readable *file,
                    struct cw_view *views, struct cw_err *err)
{
    const size_t n = state->want.fields_n;
    struct window window = {.file = file, .bytes = cw_op_scratch(ctx, WINDOW_BYTES, err)};
    struct cw_readable by_window = *file;
    struct shard s = {.ctx = ctx, .state = state, .file = &by_window, .views = views};
    s.parts = cw_op_scratch(ctx, n * sizeof(*s.parts), err);
    s.at = cw_op_scratch(ctx, n * sizeof(*s.at), err);
    if (!window.bytes || !s.parts || !s.at)
        return CW_E_NOMEM;
    memset(s.at, 0, n * sizeof(*s.at));
    by_window.read_at = read_window;
    by_window.arg = &window;
    by_window.is_named = true;
    int rc = cw_wds_scan(file, &state->want, &s.index, err);
    if (rc < 0)
        return rc;
    rc = make_lists(&s, o->inflated_max, err);
    if (rc == 0)
        rc = read_samples(&s, err);
    cw_wds_index_fini(&s.index);
    return rc;
}

static int read_packed(const struct cw_op_ctx *ctx, const struct shards_opts *o,
                       const struct shards_state *state, const struct cw_file_use *use,
                       struct cw_view *views, struct cw_err *err)
{
    struct cw_whole_file file;
    int rc = cw_whole_file_open(use, o->inflated_max, &file, err);
    if (rc < 0)
        return rc;
    rc = read_tar(ctx, o, state, &file.readable, views, err);
    cw_whole_file_close(&file);
    return rc;
}

static int read_shard(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                      struct cw_element *ret_element, struct cw_err *err)
{
    struct shards_state *s = state;
    struct cw_file_use use;
    int rc = cw_file_set_use(s->source.files, (size_t)pos, &use, err);
    if (rc < 0)
        return rc;
    rc = cw_inflate_is_name(use.readable.name)
             ? read_packed(ctx, opts, s, &use, ret_element->fields, err)
             : read_tar(ctx, opts, s, &use.readable, ret_element->fields, err);
    cw_file_set_release(s->source.files, &use);
    ret_element->n = s->want.fields_n;
    return cw_range_error(rc, err);
}

static void describe(const void *opts, void *state, int64_t pos, struct cw_str *out)
{
    const struct shards_state *s = state;
    (void)opts;
    cw_str_add(out, s->source.files->v[pos].path);
}

static void remark(const void *opts, struct cw_str *out)
{
    (void)opts;
    cw_str_add(out, "each file is one position, all members of which are in memory while its "
                    "samples are made");
}

const struct cw_op cw_op_webdataset_shards = {
    .name = "webdataset_shards",
    .version = 1,
    .summary = "whole WebDataset tar files, with the members of their samples",
    .doc =
        "For those who do not want to wait for an index: nothing of the files is read before the "
        "first element. An element\n"
        "is a file; each of its fields is the list of one member of every sample, which are those "
        "that `webdataset` finds\n"
        "in it, in the same order. A member's bytes stand behind the byte 1; an empty string says "
        "that the sample lacks it.\n"
        "`unbatch` makes elements of the samples, and `parse_members` the values of members. A "
        "`shuffle` before `unbatch`\n"
        "permutes files.\n"
        "\n"
        "What is wrong with a file ends the job: it is no bad element. Patterns as for `files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct shards_opts),
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_shard,
    .manifest = cw_file_source_manifest,
    .describe = describe,
    .locate = cw_file_source_locate,
    .ahead = cw_file_source_ahead,
    .remark = remark,
};
