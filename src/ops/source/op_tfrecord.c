/* SPDX-License-Identifier: Apache-2.0 */
/* Source: records of TFRecord files. Preparing a job scans the framing of every file, which gives the
 * counts; where that was done elsewhere, a file's index is built when its first record is read. */
#include "base/mem.h"
#include "format/tfrecord.h"
#include "ops/source/file_set.h"
#include "ops/op_util.h"

#include <stdatomic.h>

struct tfrecord_opts {
    struct cw_str_list pattern;
    char *field;
};

/* Threads that index different files do not wait for each other, mostly. */
#define LOCKS_N 32

struct tfrecord_state {
    struct cw_file_set *files;
    _Atomic(struct cw_tfrecord_index *) *indices; /* one a file, NULL until it is there */
    struct cw_mutex locks[LOCKS_N];               /* file i: lock i % LOCKS_N, held while its index is built */
};

#define OFFSET(member) offsetof(struct tfrecord_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "field", .help = "name of the field", .type = CW_OPT_STR, .offset = OFFSET(field),
     .def = "\"record\""},
    {0}};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct tfrecord_opts *o = opts;
    (void)in;
    (void)in_n;
    return cw_op_infer_one(o->field, CW_DTYPE_STR, 0, NULL, ret_spec, err);
}

static void close_files(void *state)
{
    struct tfrecord_state *s = state;
    if (!s)
        return;
    for (size_t i = 0; s->indices && i < s->files->n; i++) {
        struct cw_tfrecord_index *index = atomic_load(&s->indices[i]);
        cw_tfrecord_index_fini(index);
        cw_mem_free(index);
    }
    cw_mem_free(s->indices);
    cw_file_set_free(s->files);
    for (size_t i = 0; i < LOCKS_N; i++)
        cw_mutex_fini(&s->locks[i]);
    cw_mem_free(s);
}

/* Scans file i. The caller holds its lock, or is alone. */
static int build_index(struct tfrecord_state *s, size_t i, struct cw_err *err)
{
    struct cw_file_use use;
    struct cw_tfrecord_index index = {0};
    int rc = cw_file_set_use(s->files, i, &use, err);
    if (rc < 0)
        return rc;
    rc = cw_tfrecord_scan(&use.readable, &index, err);
    cw_file_set_release(s->files, &use);
    if (rc < 0)
        return rc;
    struct cw_tfrecord_index *kept = CW_NEW(struct cw_tfrecord_index);
    *kept = index;
    atomic_store_explicit(&s->indices[i], kept, memory_order_release);
    return 0;
}

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state, struct cw_err *err)
{
    const struct tfrecord_opts *o = opts;
    struct tfrecord_state *s = CW_NEW(struct tfrecord_state);
    for (size_t i = 0; i < LOCKS_N; i++)
        cw_mutex_init(&s->locks[i]);
    int rc = cw_file_set_new(&o->pattern, how->manifest, &s->files, err);
    if (rc == 0)
        s->indices = cw_mem_new_array(s->files->n, sizeof(*s->indices));
    for (size_t i = 0; rc == 0 && !how->manifest && i < s->files->n; i++) {
        rc = build_index(s, i, err);
        if (rc == 0)
            s->files->v[i].records = (int64_t)atomic_load(&s->indices[i])->n;
    }
    if (rc == 0)
        rc = cw_file_set_sum(s->files, err);
    if (rc < 0)
        close_files(s);
    else
        *ret_state = s;
    return rc;
}

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n, int64_t *ret_n,
                 struct cw_err *err)
{
    const struct tfrecord_state *s = state;
    (void)opts;
    (void)in_n;
    (void)inputs_n;
    (void)err;
    *ret_n = s->files->records;
    return 0;
}

static int index_of(struct tfrecord_state *s, size_t i, const struct cw_tfrecord_index **ret_index,
                    struct cw_err *err)
{
    struct cw_tfrecord_index *index = atomic_load_explicit(&s->indices[i], memory_order_acquire);
    int rc = 0;
    if (!index) {
        struct cw_mutex *lock = &s->locks[i % LOCKS_N];
        cw_mutex_lock(lock);
        if (!atomic_load(&s->indices[i]))
            rc = build_index(s, i, err);
        index = atomic_load(&s->indices[i]);
        cw_mutex_unlock(lock);
    }
    if (rc == 0 && (!index || (int64_t)index->n != s->files->v[i].records))
        rc = cw_err_set(err, CW_E_STATE, "%s: changed while it is read: it had %lld records when the job was prepared",
                        s->files->v[i].path, (long long)s->files->v[i].records);
    *ret_index = index;
    return rc;
}

static int read_record(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                       struct cw_element *ret_element, struct cw_err *err)
{
    struct tfrecord_state *s = state;
    size_t i = cw_file_set_locate(s->files, pos);
    size_t k = (size_t)(pos - s->files->v[i].first);
    struct cw_view view = {.dtype = CW_DTYPE_STR};
    const struct cw_tfrecord_index *index = NULL;
    struct cw_file_use use;
    (void)opts;
    int rc = index_of(s, i, &index, err);
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

static void manifest(const void *opts, void *state, struct cw_value *ret_value)
{
    const struct tfrecord_state *s = state;
    (void)opts;
    cw_file_set_manifest(s->files, ret_value);
}

static void describe(const void *opts, void *state, int64_t pos, struct cw_str *out)
{
    const struct tfrecord_state *s = state;
    (void)opts;
    cw_file_set_describe(s->files, pos, out);
}

const struct cw_op cw_op_tfrecord = {
    .name = "tfrecord",
    .version = 1,
    .summary = "records of TFRecord files",
    .doc = "Gives the bytes of each record, files in bytewise order of their paths, records in the order of the file.\n"
           "The framing of all files is scanned once when a job is prepared, which finds truncated files; the checksum\n"
           "of a record is verified when it is read. Records are found by position, so a shuffle before\n"
           "reading costs no buffer. Patterns as for `files`. Compressed TFRecord files are not supported.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct tfrecord_opts),
    .infer = infer,
    .open = open_files,
    .close = close_files,
    .count = count,
    .read = read_record,
    .manifest = manifest,
    .describe = describe,
};
