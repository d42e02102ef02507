/* SPDX-License-Identifier: Apache-2.0 */
/* Source `tfrecord`: reads the records of TFRecord files. Preparing a job scans the framing of
 * every file, which gives the counts, unless its index is kept. A worker that did not prepare the job
 * loads a file's index when its first record is read. */
#include "base/mem.h"
#include "format/tfrecord.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"

struct tfrecord_opts {
    struct cw_str_list pattern;
    char *field;
};

#define OFFSET(member) offsetof(struct tfrecord_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "field",
     .help = "name of the field",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"record\""},
    {0},
};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct tfrecord_opts *o = opts;
    (void)in;
    (void)in_n;
    return cw_op_infer_one(o->field, CW_DTYPE_STR, 0, NULL, ret_spec, err);
}

static void free_index(void *loaded)
{
    cw_line_index_free(loaded);
}

static int scan(void *state, size_t i, void **ret_loaded, struct cw_err *err)
{
    const struct cw_file_source *s = state;
    struct cw_line_index *index = NULL;
    struct cw_file_use use;
    int rc = cw_file_set_use(s->files, i, &use, err);
    if (rc < 0)
        return rc;
    rc = cw_tfrecord_scan(&use.readable, &index, err);
    cw_file_set_release(s->files, &use);
    *ret_loaded = index;
    return rc;
}

static int unpack(void *state, size_t i, const void *bytes, size_t n, void **ret_loaded,
                  struct cw_err *err)
{
    const struct cw_file_source *s = state;
    (void)err;
    *ret_loaded = cw_line_index_unpack(bytes, n, (uint64_t)s->files->v[i].stamp.size);
    return *ret_loaded ? 0 : CW_E_CORRUPT;
}

static void pack(const void *loaded, struct cw_str *out)
{
    cw_line_index_pack(loaded, out);
}

static int64_t records(const void *loaded)
{
    return (int64_t)cw_line_index_n(loaded);
}

static size_t bytes(const void *loaded)
{
    return cw_line_index_bytes(loaded);
}

static const struct cw_file_index index_kind = {
    .name = "tfrecord 1", .records = records, .bytes = bytes, .pack = pack, .unpack = unpack};
static const struct cw_file_source_kind kind = {.state_bytes = sizeof(struct cw_file_source),
                                                .load = scan,
                                                .unload = free_index,
                                                .index = &index_kind};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct tfrecord_opts *o = opts;
    return cw_file_source_new(&kind, &o->pattern, how, ret_state, err);
}

static int get_record(const struct cw_op_ctx *ctx, struct cw_file_source *s, size_t i, uint64_t k,
                      const struct cw_line_index *index, struct cw_view *view, struct cw_err *err)
{
    struct cw_file_use use;
    int rc = cw_file_source_compare(s, i, cw_line_index_n(index), "records", err);
    if (rc == 0)
        rc = cw_file_set_use(s->files, i, &use, err);
    if (rc < 0)
        return rc;
    rc = cw_tfrecord_get(&use.readable, index, k, ctx->arena, &view->data, &view->bytes, err);
    cw_file_set_release(s->files, &use);
    return rc;
}

static int read_record(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                       struct cw_element *ret_element, struct cw_err *err)
{
    struct cw_file_source *s = state;
    const size_t i = cw_file_set_locate(s->files, pos);
    const uint64_t k = (uint64_t)(pos - s->files->v[i].first);
    struct cw_view view = {.dtype = CW_DTYPE_STR};
    const void *index = NULL;
    (void)opts;
    int rc = cw_file_source_get(s, i, &index, err);
    if (rc < 0)
        return rc;
    rc = get_record(ctx, s, i, k, index, &view, err);
    cw_file_source_put(s, i);
    ret_element->n = 1;
    ret_element->fields[0] = view;
    return rc;
}

static bool ahead_of(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead)
{
    struct cw_file_source *s = state;
    const void *index = NULL;
    (void)opts;
    if (!ahead || !s->files->can_ahead)
        return s->files->can_ahead;
    const size_t i = cw_file_set_locate(s->files, pos);
    const uint64_t k = (uint64_t)(pos - s->files->v[i].first);
    if (cw_file_source_get(s, i, &index, NULL) < 0)
        return true;
    if (k < cw_line_index_n(index)) {
        const uint64_t begin = cw_line_index_at(index, k);
        cw_file_set_ahead(s->files, i, begin, cw_line_index_at(index, k + 1) - begin, ahead);
    }
    cw_file_source_put(s, i);
    return true;
}

const struct cw_op cw_op_tfrecord = {
    .name = "tfrecord",
    .version = 1,
    .summary = "records of TFRecord files",
    .doc = "Gives the bytes of each record, files in bytewise order of their paths, records in the "
           "order of the file.\n"
           "The framing of all files is scanned once when a job is prepared, which finds truncated "
           "files; the checksum\n"
           "of a record is verified when it is read. Records are found by position, so a shuffle "
           "before\n"
           "reading costs no buffer. Patterns as for `files`. Compressed TFRecord files are not "
           "supported.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct tfrecord_opts),
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_record,
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
    .ahead = ahead_of,
};
