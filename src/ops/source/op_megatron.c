/* SPDX-License-Identifier: Apache-2.0 */
/* Source `megatron`: sequences or documents of Megatron-LM's token files. A .bin has the tokens, and an
 * .idx beside it says where each sequence begins, of which an index in little memory is made. */
#include <string.h>

#include "base/mem.h"
#include "format/megatron.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"

enum { UNIT_SEQUENCE, UNIT_DOCUMENT };
static const char *const unit_words[] = {"sequence", "document", NULL};
enum { DTYPE_AUTO = 0 };
static const char *const dtype_words[] = {"auto", "u8", "i8", "i16", "i32", "i64", "u16", NULL};

struct megatron_opts {
    struct cw_str_list pattern;
    char *field;
    int unit;  /* index into unit_words */
    int dtype; /* index into dtype_words */
};
struct megatron_state {
    struct cw_file_source source; /* loads a struct cw_line_index of each file */
    const struct megatron_opts *opts;
};

#define OFFSET(member) offsetof(struct megatron_opts, member)
static const struct cw_opt options[] = {
    {.name = "pattern",
     .help =
         "path, URL or glob of .bin files (** = any directories), or a list of them; each has its "
         ".idx beside it",
     .type = CW_OPT_STR_LIST,
     .offset = OFFSET(pattern),
     .flags = CW_OPT_REQUIRED,
     .len_min = 1,
     .len_max = 1 << 20},
    {.name = "field",
     .help = "name of the field",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"tokens\""},
    {.name = "unit",
     .help = "what an element is: a sequence, or a document, which is one or several of them",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(unit),
     .def = "\"sequence\"",
     .names = unit_words},
    {.name = "dtype",
     .help = "dtype of the tokens; auto = as the first file says",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(dtype),
     .def = "\"auto\"",
     .names = dtype_words},
    {0},
};

static enum cw_dtype dtype_of(const struct megatron_opts *o)
{
    enum cw_dtype dtype = CW_DTYPE_U8;
    if (o->dtype != DTYPE_AUTO)
        CW_ASSERT(cw_dtype_parse(dtype_words[o->dtype], &dtype) == 0);
    return dtype;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct megatron_opts *o = opts;
    const int64_t dim = -1;
    (void)in;
    (void)in_n;
    return cw_op_infer_one(o->field, dtype_of(o), 1, &dim, ret_spec, err);
}

/* ---- the file beside ---- */

/* Returns the path of the .idx of a .bin; the caller frees it. NULL: it is no .bin. */
static char *idx_path(const char *bin)
{
    const size_t n = strlen(bin);
    if (n <= 4 || strcmp(bin + n - 4, ".bin") != 0)
        return NULL;
    return cw_mem_printf("%.*s.idx", (int)(n - 4), bin);
}

static int open_idx(const char *bin, const struct cw_stop *stop, struct cw_io_file *ret_opened,
                    struct cw_readable *ret_idx, char **ret_path, struct cw_err *err)
{
    char *path = idx_path(bin);
    if (!path)
        return cw_err_set(
            err, CW_E_INVALID,
            "%s: its name does not end in .bin: the pattern names the files of tokens", bin);
    int rc = cw_readable_open(path, ret_opened, ret_idx, err);
    if (rc < 0) {
        cw_mem_free(path);
        return cw_err_wrap(err, "the index of %s", bin);
    }
    ret_idx->stop = stop;
    *ret_path = path;
    return 0;
}

/* ---- what the first file says ---- */

static bool is_complete(const void *opts)
{
    return ((const struct megatron_opts *)opts)->dtype != DTYPE_AUTO;
}

static int complete(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err)
{
    const struct megatron_opts *o = opts;
    struct cw_megatron_head head;
    struct cw_readable idx;
    struct cw_io_file opened;
    cw_autofree char *bin = NULL, *path = NULL;
    int rc = cw_file_first(&o->pattern, how, &bin, err);
    if (rc == 0)
        rc = open_idx(bin, how->stop, &opened, &idx, &path, err);
    if (rc < 0)
        return rc;
    rc = cw_megatron_head_read(&idx, &head, err);
    if (rc == 0)
        cw_value_set_str(cw_value_member(said, "dtype"), cw_dtype_name(head.dtype));
    cw_io_close(&opened);
    return rc;
}

/* ---- indices ---- */

static void unload(void *loaded)
{
    cw_line_index_free(loaded);
}

static int load_index(const struct megatron_opts *o, const struct cw_readable *idx,
                      const struct cw_file *bin, struct cw_line_index **ret_index,
                      struct cw_err *err)
{
    struct cw_megatron_head head;
    int rc = cw_megatron_head_read(idx, &head, err);
    if (rc < 0)
        return rc;
    if (head.dtype != dtype_of(o))
        return cw_err_set(err, CW_E_INVALID,
                          "%s: its tokens are %s, and not %s as the option dtype says", idx->name,
                          cw_dtype_name(head.dtype), cw_dtype_name(dtype_of(o)));
    return cw_megatron_index(idx, &head, o->unit == UNIT_DOCUMENT, (uint64_t)bin->stamp.size,
                             ret_index, err);
}

static int load(void *state, size_t i, void **ret_loaded, struct cw_err *err)
{
    const struct megatron_state *s = state;
    const struct cw_file *bin = &s->source.files->v[i];
    struct cw_line_index *index = NULL;
    struct cw_readable idx;
    struct cw_io_file opened;
    cw_autofree char *path = NULL;
    int rc = open_idx(bin->path, s->source.files->stop, &opened, &idx, &path, err);
    if (rc < 0)
        return rc;
    rc = load_index(s->opts, &idx, bin, &index, err);
    cw_io_close(&opened);
    if (rc == 0)
        *ret_loaded = index;
    return rc;
}

static int unpack(void *state, size_t i, const void *bytes, size_t n, void **ret_loaded,
                  struct cw_err *err)
{
    const struct megatron_state *s = state;
    (void)err;
    *ret_loaded = cw_line_index_unpack(bytes, n, (uint64_t)s->source.files->v[i].stamp.size);
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

static size_t bytes_of(const void *loaded)
{
    return cw_line_index_bytes(loaded);
}

static void key(const void *state, struct cw_str *out)
{
    const struct megatron_state *s = state;
    cw_str_addf(out, "%s %s\n", unit_words[s->opts->unit], dtype_words[s->opts->dtype]);
}

/* Which version of the .idx it was. */
static int key_of(const void *state, size_t i, struct cw_str *out, struct cw_err *err)
{
    const struct megatron_state *s = state;
    cw_autofree char *path = idx_path(s->source.files->v[i].path);
    struct cw_io_info info = {0};
    int rc = path ? cw_io_stat(path, s->source.files->stop, &info, err) : 0;
    if (rc == 0)
        cw_str_addf(out, "%lld %lld\n", (long long)info.size, (long long)cw_io_mark(&info));
    return rc;
}

static const struct cw_file_index index_kind = {.name = "megatron 1",
                                                .key = key,
                                                .key_of = key_of,
                                                .records = records,
                                                .bytes = bytes_of,
                                                .pack = pack,
                                                .unpack = unpack};
static const struct cw_file_source_kind kind = {.state_bytes = sizeof(struct megatron_state),
                                                .load = load,
                                                .unload = unload,
                                                .index = &index_kind};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct megatron_opts *o = opts;
    struct megatron_state *s = CW_NEW(struct megatron_state);
    s->opts = o;
    return cw_file_source_start(&kind, s, &o->pattern, how, ret_state, err);
}

/* ---- sequences ---- */

/* Finds the bytes of an element in its file. */
static int find(struct megatron_state *s, int64_t pos, size_t *ret_file, uint64_t *ret_begin,
                uint64_t *ret_bytes, struct cw_err *err)
{
    const size_t i = cw_file_set_locate(s->source.files, pos);
    const uint64_t k = (uint64_t)(pos - s->source.files->v[i].first);
    const void *index = NULL;
    int rc = cw_file_source_get(&s->source, i, &index, err);
    if (rc < 0)
        return rc;
    rc = cw_file_source_compare(&s->source, i, cw_line_index_n(index), "records", err);
    if (rc == 0) {
        *ret_file = i;
        *ret_begin = cw_line_index_at(index, k);
        *ret_bytes = cw_line_index_at(index, k + 1) - *ret_begin;
    }
    cw_file_source_put(&s->source, i);
    return rc;
}

static int read_tokens(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                       struct cw_element *ret_element, struct cw_err *err)
{
    struct megatron_state *s = state;
    struct cw_view view = {.dtype = dtype_of(opts), .rank = 1};
    struct cw_file_use use;
    uint64_t begin = 0, bytes = 0;
    size_t i = 0;
    int rc = find(s, pos, &i, &begin, &bytes, err);
    view.dims[0] = (int64_t)(bytes / cw_dtype_bytes(view.dtype));
    if (rc == 0)
        rc = cw_op_output(ctx, &view, err);
    if (rc == 0 && view.bytes > 0)
        rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc == 0 && view.bytes > 0) {
        rc = cw_readable_get(&use.readable, begin, view.data, view.bytes, err);
        cw_file_set_release(s->source.files, &use);
    }
    ret_element->n = 1;
    ret_element->fields[0] = view;
    return rc;
}

static bool ahead_of(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead)
{
    struct megatron_state *s = state;
    uint64_t begin, bytes;
    size_t i;
    (void)opts;
    if (ahead && cw_file_set_can_ahead(s->source.files) &&
        find(s, pos, &i, &begin, &bytes, NULL) == 0)
        cw_file_set_ahead(s->source.files, i, begin, bytes, ahead);
    return cw_file_set_can_ahead(s->source.files);
}

const struct cw_op cw_op_megatron = {
    .name = "megatron",
    .version = 1,
    .summary = "token sequences of Megatron-LM's files (.bin and .idx)",
    .doc =
        "Gives each sequence, or each document with `unit`, as a row of tokens of its own length. "
        "The pattern names the\n"
        ".bin files; the .idx of each lies beside it. Files follow each other in bytewise order of "
        "their paths. `pack` makes\n"
        "rows of one length of them, `batch` with `ragged` takes them as they "
        "are.\n"
        "\n"
        "Files of Megatron-LM's `MMapIndexedDataset` and `IndexedDataset` (NeMo, GPT-NeoX and "
        "others write them too), of\n"
        "tokens of 8 to 64 bits. When a job is prepared the .idx files are read once, and compared "
        "with the sizes of the\n"
        ".bin files. Not supported: floats, sequences that are not the whole .bin one behind the "
        "other, the older kind of\n"
        "index that is not mapped; what modes of sequences say is passed over. Patterns as for "
        "`files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct megatron_opts),
    .is_complete = is_complete,
    .complete = complete,
    .completed = "dtype",
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_tokens,
    .blocks = cw_file_source_blocks,
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
    .ahead = ahead_of,
};
