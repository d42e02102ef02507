/* SPDX-License-Identifier: Apache-2.0 */
/* Source `tfrecord`: reads the records of TFRecord files. Preparing a job scans the framing of
 * every file, which gives the counts. A worker that did not prepare the job builds a file's index
 * when its first record is read. */
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
    cw_tfrecord_index_fini(loaded);
    cw_mem_free(loaded);
}

static int scan(void *state, size_t i, void **ret_loaded, struct cw_err *err)
{
    const struct cw_file_source *s = state;
    struct cw_file_use use;
    int rc = cw_file_set_use(s->files, i, &use, err);
    if (rc < 0)
        return rc;
    struct cw_tfrecord_index *index = CW_NEW(struct cw_tfrecord_index);
    rc = cw_tfrecord_scan(&use.readable, index, err);
    cw_file_set_release(s->files, &use);
    if (rc < 0)
        free_index(index);
    else
        *ret_loaded = index;
    return rc;
}

static int index_of(struct cw_file_source *s, size_t i, const struct cw_tfrecord_index **ret_index,
                    struct cw_err *err)
{
    const void *loaded = NULL;
    int rc = cw_file_source_get(s, i, &loaded, err);
    *ret_index = loaded;
    return rc;
}

static int prepare(void *state, size_t i, const struct cw_op_open *how, struct cw_err *err)
{
    struct cw_file_source *s = state;
    const struct cw_tfrecord_index *index = NULL;
    if (how->manifest)
        return 0;
    int rc = index_of(s, i, &index, err);
    if (rc == 0)
        s->files->v[i].records = (int64_t)index->n;
    return rc;
}

static const struct cw_file_source_kind kind = {.state_bytes = sizeof(struct cw_file_source),
                                                .prepare = prepare,
                                                .load = scan,
                                                .unload = free_index};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct tfrecord_opts *o = opts;
    return cw_file_source_new(&kind, &o->pattern, how, ret_state, err);
}

static int read_record(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                       struct cw_element *ret_element, struct cw_err *err)
{
    struct cw_file_source *s = state;
    size_t i = cw_file_set_locate(s->files, pos);
    size_t k = (size_t)(pos - s->files->v[i].first);
    struct cw_view view = {.dtype = CW_DTYPE_STR};
    const struct cw_tfrecord_index *index = NULL;
    struct cw_file_use use;
    (void)opts;
    int rc = index_of(s, i, &index, err);
    if (rc == 0)
        rc = cw_file_source_compare(s, i, index->n, "records", err);
    if (rc == 0)
        rc = cw_file_set_use(s->files, i, &use, err);
    if (rc < 0)
        return rc;
    rc = cw_tfrecord_get(&use.readable, index, k, ctx->arena, &view.data, &view.bytes, err);
    cw_file_set_release(s->files, &use);
    ret_element->n = 1;
    ret_element->fields[0] = view;
    return rc;
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
};
