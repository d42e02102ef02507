/* SPDX-License-Identifier: Apache-2.0 */
/* Source `tfrecord`: reads the records of TFRecord files. Preparing a job scans the framing of
 * every file, which gives the counts, unless its index is kept. A worker that did not prepare the job
 * loads a file's index when its first record is read. */
#include "base/mem.h"
#include "format/inflate.h"
#include "format/tfrecord.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"
#include "ops/source/inflated.h"

struct tfrecord_opts {
    struct cw_str_list pattern;
    char *field;
    int64_t inflated_max;
};
struct tfrecord_state {
    struct cw_file_source source; /* loads a struct tfrecord_file for each file */
    struct cw_inflated_all inflated;
};
struct tfrecord_file {
    struct cw_line_index *index;
    struct cw_inflated inflated;
};

#define OFFSET(member) offsetof(struct tfrecord_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "field",
     .help = "name of the field",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"record\""},
    CW_INFLATED_ROW(OFFSET(inflated_max)),
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

static void free_file(void *loaded)
{
    struct tfrecord_file *file = loaded;
    cw_line_index_free(file->index);
    cw_inflated_fini(&file->inflated);
    cw_mem_free(file);
}

static int unpack_index(const void *kept, size_t kept_n, uint64_t size, struct tfrecord_file *file)
{
    file->index = cw_line_index_unpack(kept, kept_n, size);
    return file->index ? 0 : CW_E_CORRUPT;
}

/* With `kept` the index is there already, in these bytes. */
static int load_file(struct tfrecord_state *s, size_t i, const void *kept, size_t kept_n,
                     struct tfrecord_file *file, struct cw_err *err)
{
    struct cw_readable_bytes bytes;
    struct cw_file_use use;
    int rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc < 0)
        return rc;
    rc = cw_inflated_load(&s->inflated, &use.readable, &file->inflated, err);
    if (rc == 0) {
        const struct cw_readable plain =
            cw_inflated_readable(&file->inflated, &use.readable, &bytes);
        rc = kept ? unpack_index(kept, kept_n, plain.size, file)
                  : cw_tfrecord_scan(&plain, &file->index, err);
    }
    cw_file_set_release(s->source.files, &use);
    return rc;
}

/* A file that is not compressed is not opened for an index that is there. */
static int load_from(struct tfrecord_state *s, size_t i, const void *kept, size_t kept_n,
                     void **ret_loaded, struct cw_err *err)
{
    const struct cw_file *from = &s->source.files->v[i];
    struct tfrecord_file *file = CW_NEW(struct tfrecord_file);
    int rc = kept && !cw_inflate_is_name(from->path)
                 ? unpack_index(kept, kept_n, (uint64_t)from->stamp.size, file)
                 : load_file(s, i, kept, kept_n, file, err);
    if (rc == 0) {
        *ret_loaded = file;
        return 0;
    }
    cw_inflated_drop(&s->inflated, &file->inflated);
    free_file(file);
    return rc;
}

static int scan(void *state, size_t i, void **ret_loaded, struct cw_err *err)
{
    return load_from(state, i, NULL, 0, ret_loaded, err);
}

static int unpack(void *state, size_t i, const void *bytes, size_t n, void **ret_loaded,
                  struct cw_err *err)
{
    return load_from(state, i, bytes, n, ret_loaded, err);
}

static void pack(const void *loaded, struct cw_str *out)
{
    cw_line_index_pack(((const struct tfrecord_file *)loaded)->index, out);
}

static int64_t records(const void *loaded)
{
    return (int64_t)cw_line_index_n(((const struct tfrecord_file *)loaded)->index);
}

/* Inflated bytes stay: to have them again, the whole file would have to be read. */
static size_t bytes_of(const void *loaded)
{
    const struct tfrecord_file *file = loaded;
    return file->inflated.bytes ? 0 : sizeof(*file) + cw_line_index_bytes(file->index);
}

static const struct cw_file_index index_kind = {
    .name = "tfrecord 1", .records = records, .bytes = bytes_of, .pack = pack, .unpack = unpack};
static const struct cw_file_source_kind kind = {.state_bytes = sizeof(struct tfrecord_state),
                                                .load = scan,
                                                .unload = free_file,
                                                .index = &index_kind};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct tfrecord_opts *o = opts;
    struct tfrecord_state *s = CW_NEW(struct tfrecord_state);
    s->inflated.max = o->inflated_max;
    return cw_file_source_start(&kind, s, &o->pattern, how, ret_state, err);
}

/* Reads record k of file i, or copies it from what the file has in it. */
static int get_record(const struct cw_op_ctx *ctx, struct cw_file_source *s, size_t i, uint64_t k,
                      const struct tfrecord_file *file, struct cw_view *view, struct cw_err *err)
{
    struct cw_readable_bytes bytes;
    struct cw_file_use use = {.readable.name = s->files->v[i].path};
    const bool is_inflated = file->inflated.bytes != NULL;
    int rc = cw_file_source_compare(s, i, cw_line_index_n(file->index), "records", err);
    if (rc == 0 && !is_inflated)
        rc = cw_file_set_use(s->files, i, &use, err);
    if (rc < 0)
        return rc;
    const struct cw_readable plain = cw_inflated_readable(&file->inflated, &use.readable, &bytes);
    rc = cw_tfrecord_get(&plain, file->index, k, ctx->arena, &view->data, &view->bytes, err);
    if (!is_inflated)
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
    const void *file = NULL;
    (void)opts;
    int rc = cw_file_source_get(s, i, &file, err);
    if (rc < 0)
        return rc;
    rc = get_record(ctx, s, i, k, file, &view, err);
    cw_file_source_put(s, i);
    ret_element->n = 1;
    ret_element->fields[0] = view;
    return rc;
}

static bool ahead_of(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead)
{
    struct cw_file_source *s = state;
    const void *loaded = NULL;
    (void)opts;
    if (!ahead || !s->files->can_ahead)
        return s->files->can_ahead;
    const size_t i = cw_file_set_locate(s->files, pos);
    const uint64_t k = (uint64_t)(pos - s->files->v[i].first);
    if (cw_file_source_get(s, i, &loaded, NULL) < 0)
        return true;
    const struct tfrecord_file *file = loaded;
    if (!file->inflated.bytes && k < cw_line_index_n(file->index)) {
        const uint64_t begin = cw_line_index_at(file->index, k);
        cw_file_set_ahead(s->files, i, begin, cw_line_index_at(file->index, k + 1) - begin, ahead);
    }
    cw_file_source_put(s, i);
    return true;
}

const struct cw_op cw_op_tfrecord = {
    .name = "tfrecord",
    .version = 1,
    .summary = "records of TFRecord files",
    .doc =
        "Gives the bytes of each record, files in bytewise order of their paths, records in the "
        "order of the file.\n"
        "The framing of all files is scanned once when a job is prepared, which finds truncated "
        "files; the checksum\n"
        "of a record is verified when it is read. Records are found by position, so a shuffle "
        "before\n"
        "reading costs no buffer. Patterns as for `files`.\n"
        "\n"
        "Files whose names end in .gz or .zst are inflated into memory as a whole, once on each "
        "worker that reads of\n"
        "them; `inflated_max` bounds what all of them may take. TensorFlow's compression ZLIB is "
        "not supported.",
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
