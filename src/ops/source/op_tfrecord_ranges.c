/* SPDX-License-Identifier: Apache-2.0 */
/* Source `tfrecord_ranges`: ranges of bytes of TFRecord files, so that nothing is scanned before the first of them.
 * An element is the list of the records that begin in its range, as they stand in the file. */
#include <string.h>

#include "base/mem.h"
#include "data/strings.h"
#include "format/inflate.h"
#include "format/tfrecord.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"
#include "ops/source/whole_file.h"

struct ranges_opts {
    struct cw_str_list pattern;
    char *field;
    int64_t bytes, inflated_max;
};
struct ranges_state {
    struct cw_file_source source; /* the records of a file are its ranges */
    const struct ranges_opts *opts;
};

/* What is read ahead behind a range, for its last record. */
#define BEHIND_BYTES ((uint64_t)64 << 10)

#define OFFSET(member) offsetof(struct ranges_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "field",
     .help = "name of the field",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"record\""},
    {.name = "bytes",
     .help = "length of a range",
     .type = CW_OPT_BYTES,
     .offset = OFFSET(bytes),
     .def = "\"1MiB\"",
     .min = 1,
     .max = 0x1p30},
    {.name = "inflated_max",
     .help = "most bytes that a .gz or .zst file may have once it is inflated",
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
    const struct ranges_opts *o = opts;
    const int64_t any = -1;
    (void)in;
    (void)in_n;
    return cw_op_infer_one(o->field, CW_DTYPE_STR, 1, &any, ret_spec, err);
}

/* What is handed to `begin`, which is told that it gets the first member. */
struct ranges_open {
    struct cw_op_open how;
    const struct ranges_opts *opts;
};

static void begin(void *state, const struct cw_op_open *how)
{
    struct ranges_state *s = state;
    s->opts = ((const struct ranges_open *)(const void *)how)->opts;
}

static int prepare(void *state, size_t i, const struct cw_op_open *how, struct cw_err *err)
{
    struct ranges_state *s = state;
    struct cw_file *file = &s->source.files->v[i];
    const int64_t bytes = s->opts->bytes;
    const int64_t n = cw_inflate_is_name(file->path)
                          ? 1
                          : file->stamp.size / bytes + (file->stamp.size % bytes > 0);
    if (how->manifest)
        return cw_file_source_compare(&s->source, i, (uint64_t)n, "ranges", err);
    file->records = n;
    return 0;
}

static const struct cw_file_source_kind kind = {
    .state_bytes = sizeof(struct ranges_state), .begin = begin, .prepare = prepare};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct ranges_opts *o = opts;
    const struct ranges_open mine = {.how = *how, .opts = o};
    return cw_file_source_new(&kind, &o->pattern, &mine.how, ret_state, err);
}

/* A file of which n bytes from `begin` on are in memory. */
struct held_file {
    const struct cw_readable *file;
    uint8_t *bytes;
    uint64_t begin;
    size_t n;
};

static int read_held(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    const struct held_file *held = arg;
    size_t inside = 0;
    if (offset >= held->begin && offset - held->begin < held->n) {
        const size_t skip = (size_t)(offset - held->begin);
        inside = CW_MIN(n, held->n - skip);
        memcpy(dst, held->bytes + skip, inside);
    }
    return inside == n ? 0
                       : cw_readable_get(held->file, offset + inside, (char *)dst + inside,
                                         n - inside, err);
}

/* Makes the list of the records of a part. */
static int read_list(const struct cw_op_ctx *ctx, const struct cw_readable *file,
                     const struct cw_tfrecord_part *part, struct cw_view *view, struct cw_err *err)
{
    const size_t table = cw_strings_table_bytes((int64_t)part->n);
    const size_t bytes = part->n > 0 ? (size_t)(part->at[part->n] - part->at[0]) : 0;
    view->dims[0] = (int64_t)part->n;
    view->bytes = table + bytes;
    view->data = cw_op_scratch(ctx, view->bytes, err);
    if (!view->data)
        return CW_E_NOMEM;
    for (size_t i = 0; i <= part->n; i++) {
        const int64_t offset = part->n > 0 ? (int64_t)(part->at[i] - part->at[0]) : 0;
        memcpy((char *)view->data + i * sizeof(offset), &offset, sizeof(offset));
    }
    return bytes > 0 ? cw_readable_get(file, part->at[0], (char *)view->data + table, bytes, err)
                     : 0;
}

static int read_part(const struct cw_op_ctx *ctx, const struct cw_readable *file, uint64_t from,
                     uint64_t to, struct cw_view *view, struct cw_err *err)
{
    struct cw_tfrecord_part part;
    int rc = cw_tfrecord_find(file, from, to, &part, err);
    if (rc < 0)
        return rc;
    rc = read_list(ctx, file, &part, view, err);
    cw_tfrecord_part_fini(&part);
    return rc;
}

/* Reads the records that begin in range k. */
static int read_plain(const struct cw_op_ctx *ctx, const struct ranges_opts *o,
                      const struct cw_readable *file, uint64_t k, struct cw_view *view,
                      struct cw_err *err)
{
    const uint64_t from = k * (uint64_t)o->bytes, to = from + (uint64_t)o->bytes;
    struct held_file held = {
        .file = file, .begin = from, .n = (size_t)(CW_MIN(to, file->size) - from)};
    struct cw_readable both = *file;
    held.bytes = cw_mem_try(held.n);
    if (!held.bytes)
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory for %zu bytes", file->name, held.n);
    both.read_at = read_held;
    both.arg = &held;
    both.is_named = true;
    int rc = cw_readable_get(file, from, held.bytes, held.n, err);
    if (rc == 0)
        rc = read_part(ctx, &both, from, to, view, err);
    cw_mem_free(held.bytes);
    return rc;
}

/* Reads all records of a compressed file. */
static int read_packed(const struct cw_op_ctx *ctx, const struct ranges_opts *o,
                       const struct cw_file_use *use, struct cw_view *view, struct cw_err *err)
{
    struct cw_whole_file file;
    int rc = cw_whole_file_open(use, o->inflated_max, &file, err);
    if (rc < 0)
        return rc;
    rc = read_part(ctx, &file.readable, 0, file.readable.size, view, err);
    cw_whole_file_close(&file);
    return rc;
}

static int read_range(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                      struct cw_element *ret_element, struct cw_err *err)
{
    struct ranges_state *s = state;
    const size_t i = cw_file_set_locate(s->source.files, pos);
    const uint64_t k = (uint64_t)(pos - s->source.files->v[i].first);
    struct cw_view view = {.dtype = CW_DTYPE_STR, .rank = 1};
    struct cw_file_use use;
    int rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc < 0)
        return rc;
    rc = cw_inflate_is_name(use.readable.name)
             ? read_packed(ctx, opts, &use, &view, err)
             : read_plain(ctx, opts, &use.readable, k, &view, err);
    cw_file_set_release(s->source.files, &use);
    ret_element->n = 1;
    ret_element->fields[0] = view;
    return cw_range_error(rc, err);
}

static void describe(const void *opts, void *state, int64_t pos, struct cw_str *out)
{
    const struct ranges_state *s = state;
    const struct ranges_opts *o = opts;
    const struct cw_file *file = &s->source.files->v[cw_file_set_locate(s->source.files, pos)];
    cw_str_addf(out, "%s records from byte %lld on", file->path,
                (long long)((pos - file->first) * o->bytes));
}

static bool ahead_of(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead)
{
    const struct ranges_opts *o = opts;
    const struct ranges_state *s = state;
    const struct cw_file_set *files = s->source.files;
    if (!ahead || !cw_file_set_can_ahead(files))
        return cw_file_set_can_ahead(files);
    const size_t i = cw_file_set_locate(files, pos);
    const uint64_t bytes = (uint64_t)o->bytes;
    if (cw_inflate_is_name(files->v[i].path))
        cw_file_set_ahead(files, i, 0, (uint64_t)files->v[i].stamp.size, ahead);
    else
        cw_file_set_ahead(files, i, (uint64_t)(pos - files->v[i].first) * bytes,
                          bytes + BEHIND_BYTES, ahead);
    return true;
}

const struct cw_op cw_op_tfrecord_ranges = {
    .name = "tfrecord_ranges",
    .version = 1,
    .summary = "ranges of bytes of TFRecord files, with the records that begin in them",
    .doc =
        "For those who do not want to wait for an index: nothing of the files is read before the "
        "first element, and the\n"
        "sizes of the files say how many there are. Element p of a file is the list of the records "
        "that begin in the\n"
        "range of `bytes` bytes from p * `bytes` on, each whole, with its length and checksums. "
        "`unbatch` makes elements\n"
        "of them, and `unframe` takes off what stands around the data. A `shuffle` before "
        "`unbatch` permutes ranges.\n"
        "Files whose names end in .gz or .zst are one range.\n"
        "\n"
        "A record is found by its length, the checksum of that, and the same of the record behind "
        "it. What lies inside of\n"
        "a record may look like that, too, where a TFRecord file is stored in a record. Each range "
        "is compared with what\n"
        "comes behind it, so a file is either taken apart as its index would, or the job fails and "
        "says where: such files\n"
        "need `tfrecord` with its index (docs/formats.md, \"Without an index\"). Patterns as for "
        "`files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct ranges_opts),
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_range,
    .manifest = cw_file_source_manifest,
    .describe = describe,
    .locate = cw_file_source_locate,
    .ahead = ahead_of,
};
