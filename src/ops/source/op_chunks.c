/* SPDX-License-Identifier: Apache-2.0 */
/* Source `chunks`: reads the elements of chunks (docs/cache-format.md), as `cachew materialize`
 * writes them. */
#include "base/buf.h"
#include "base/mem.h"
#include "format/chunk.h"
#include "format/record.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"

#include <string.h>
#include <unistd.h>

/* The frames that were read last are kept, since neighbours in one frame are usually read together.
 * Larger frames mostly hold one record each and are not kept. */
enum { KEPT_N = 64, KEPT_BYTES_MAX = 1 << 20 };

struct chunks_opts {
    struct cw_str_list pattern, spec;
};

struct kept {
    size_t file;
    uint32_t frame;
    struct cw_buf *buf; /* the plain bytes of the frame; NULL: the place is free */
    uint64_t used;
};
struct chunks_state {
    /* loads the index of each file; records that were left out are not in it */
    struct cw_file_source source;
    struct cw_spec spec;
    struct cw_mutex kept_lock; /* guards kept and clock */
    struct kept kept[KEPT_N];
    uint64_t clock;
};

#define OFFSET(member) offsetof(struct chunks_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    CW_FILE_SPEC_ROW(OFFSET(spec)),
    {0},
};

/* ---- spec ---- */

static int load_path(const char *path, struct cw_chunk_index **ret_index, struct cw_err *err)
{
    struct cw_readable file;
    struct cw_io_file opened;
    int rc = cw_readable_open(path, &opened, &file, err);
    if (rc < 0)
        return rc;
    rc = cw_chunk_load(&file, ret_index, err);
    cw_io_close(&opened);
    return rc;
}

static bool is_complete(const void *opts)
{
    return ((const struct chunks_opts *)opts)->spec.n > 0;
}

/* Takes the fields from the first file. */
static int complete(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err)
{
    const struct chunks_opts *o = opts;
    struct cw_chunk_index *index = NULL;
    cw_autofree char *path = NULL;
    int rc = cw_file_first(&o->pattern, how, &path, err);
    if (rc == 0)
        rc = load_path(path, &index, err);
    if (rc == 0)
        cw_op_spec_to_list(&index->head.spec, cw_value_member(said, "spec"));
    cw_chunk_index_free(index);
    return rc;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct chunks_opts *o = opts;
    (void)in;
    (void)in_n;
    return cw_op_spec_from_list(&o->spec, ret_spec, err);
}

/* ---- files ---- */

static void drop_left_out(struct cw_chunk_index *index)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < index->records_n; i++)
        if (index->records[i].bytes != CW_CHUNK_LEFT_OUT)
            index->records[n++] = index->records[i];
    index->records_n = n;
}

static int bad_spec(const struct chunks_state *s, size_t i, const struct cw_spec *found,
                    struct cw_err *err)
{
    CW_STR_AUTO has = {0};
    CW_STR_AUTO wants = {0};
    cw_spec_print(found, &has);
    cw_spec_print(&s->spec, &wants);
    return cw_err_set(err, CW_E_INVALID,
                      "%s: other elements (%s) than the pipeline was checked with (%s)",
                      s->source.files->v[i].path, cw_str_text(&has), cw_str_text(&wants));
}

static void free_index(void *loaded)
{
    cw_chunk_index_free(loaded);
}

static int load_head(void *state, size_t i, const struct cw_readable *file, void **ret_loaded,
                     struct cw_err *err)
{
    const struct chunks_state *s = state;
    struct cw_chunk_index *index = NULL;
    int rc = cw_chunk_load(file, &index, err);
    if (rc == 0 && !cw_spec_eq(&index->head.spec, &s->spec))
        rc = bad_spec(s, i, &index->head.spec, err);
    if (rc < 0) {
        cw_chunk_index_free(index);
        return rc;
    }
    drop_left_out(index);
    *ret_loaded = index;
    return 0;
}

static int index_of(struct chunks_state *s, size_t i, const struct cw_chunk_index **ret_index,
                    struct cw_err *err)
{
    const void *loaded = NULL;
    int rc = cw_file_source_get(&s->source, i, &loaded, err);
    *ret_index = loaded;
    return rc;
}

static int64_t records(const void *loaded)
{
    return (int64_t)((const struct cw_chunk_index *)loaded)->records_n;
}

static void key(const void *state, struct cw_str *out)
{
    const struct chunks_state *s = state;
    cw_spec_print(&s->spec, out);
}

static void begin(void *state, const struct cw_op_open *how)
{
    struct chunks_state *s = state;
    s->spec = cw_spec_copy(how->out);
    cw_mutex_init(&s->kept_lock);
}

static void end(void *state)
{
    struct chunks_state *s = state;
    for (size_t i = 0; i < KEPT_N; i++)
        cw_buf_unref(s->kept[i].buf);
    cw_spec_fini(&s->spec);
    cw_mutex_fini(&s->kept_lock);
}

/* Frames, where neighbours lie in one: ids that were computed in another order lie anywhere, and then the chunk is
 * one block. */
static void add_blocks(void *state, size_t i, const void *loaded, int64_t first,
                       struct cw_blocks *blocks)
{
    const struct cw_chunk_index *index = loaded;
    (void)state;
    (void)i;
    for (uint32_t k = 1; k < index->records_n; k++)
        if (index->records[k].frame < index->records[k - 1].frame)
            return;
    for (uint32_t k = 1; k < index->records_n; k++)
        if (index->records[k].frame > index->records[k - 1].frame)
            cw_blocks_add(blocks, first + (int64_t)k);
}

static const struct cw_file_index index_kind = {
    .name = "chunks 1", .key = key, .records = records, .load_head = load_head};
static const struct cw_file_source_kind kind = {.state_bytes = sizeof(struct chunks_state),
                                                .begin = begin,
                                                .end = end,
                                                .unload = free_index,
                                                .index = &index_kind,
                                                .blocks = add_blocks};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct chunks_opts *o = opts;
    return cw_file_source_new(&kind, &o->pattern, how, ret_state, err);
}

/* ---- frames ---- */

static struct cw_buf *kept_get(struct chunks_state *s, size_t file, uint32_t frame)
{
    struct cw_buf *buf = NULL;
    cw_mutex_lock(&s->kept_lock);
    for (size_t i = 0; i < KEPT_N && !buf; i++) {
        struct kept *kept = &s->kept[i];
        if (kept->buf && kept->file == file && kept->frame == frame) {
            kept->used = ++s->clock;
            buf = cw_buf_ref(kept->buf);
        }
    }
    cw_mutex_unlock(&s->kept_lock);
    return buf;
}

/* Keeps a frame in the place of the one whose last use is longest ago. */
static void kept_put(struct chunks_state *s, size_t file, uint32_t frame, struct cw_buf *buf)
{
    if (buf->cap > KEPT_BYTES_MAX)
        return;
    cw_mutex_lock(&s->kept_lock);
    struct kept *oldest = &s->kept[0];
    for (size_t i = 1; i < KEPT_N; i++)
        if (s->kept[i].used < oldest->used)
            oldest = &s->kept[i];
    struct cw_buf *was = oldest->buf;
    *oldest =
        (struct kept){.file = file, .frame = frame, .buf = cw_buf_ref(buf), .used = ++s->clock};
    cw_mutex_unlock(&s->kept_lock);
    cw_buf_unref(was);
}

static int frame_of(struct chunks_state *s, size_t file, const struct cw_chunk_index *index,
                    uint32_t frame, struct cw_buf **ret_buf, struct cw_err *err)
{
    struct cw_file_use use;
    *ret_buf = kept_get(s, file, frame);
    if (*ret_buf)
        return 0;
    int rc = cw_file_set_use(s->source.files, file, &use, err);
    if (rc < 0)
        return rc;
    rc = cw_chunk_frame_load(&use.readable, index, frame, ret_buf, err);
    cw_file_set_release(s->source.files, &use);
    if (rc == 0)
        kept_put(s, file, frame, *ret_buf);
    return rc;
}

/* The record is copied, since the frame may be freed while the element is in use. */
static int read_element(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                        struct cw_element *ret_element, struct cw_err *err)
{
    struct chunks_state *s = state;
    size_t file = cw_file_set_locate(s->source.files, pos);
    const struct cw_chunk_index *index = NULL;
    struct cw_buf *frame = NULL;
    (void)opts;
    int rc = index_of(s, file, &index, err);
    if (rc == 0)
        rc = cw_file_source_compare(&s->source, file, index->records_n, "elements", err);
    if (rc < 0)
        return rc;
    const struct cw_chunk_record *record = &index->records[pos - s->source.files->v[file].first];
    void *p = cw_op_scratch(ctx, record->bytes, err);
    if (!p)
        return CW_E_NOMEM;
    rc = frame_of(s, file, index, record->frame, &frame, err);
    if (rc < 0)
        return rc;
    memcpy(p, (char *)frame->data + record->offset, record->bytes);
    cw_buf_unref(frame);
    rc = cw_record_decode(&s->spec, p, record->bytes, ret_element, err);
    if (rc < 0)
        cw_err_wrap(err, "%s: id %llu", s->source.files->v[file].path,
                    (unsigned long long)record->id);
    return rc;
}

const struct cw_op cw_op_chunks = {
    .name = "chunks",
    .version = 1,
    .summary = "elements of chunks, as `cachew materialize` writes them",
    .doc = "Gives the elements of chunk files (cache-format.md): files in bytewise order of their "
           "paths, elements in the order of\n"
           "their ids, which is the order in which `cachew materialize` got them. What the "
           "elements are stands in the files:\n"
           "what the first one says is taken when the job is prepared, unless `spec` is given, and "
           "all must have the same. Sums of frames\n"
           "are verified when they are read. Patterns as for `files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct chunks_opts),
    .is_complete = is_complete,
    .complete = complete,
    .completed = "spec",
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_element,
    .blocks = cw_file_source_blocks,
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
};
