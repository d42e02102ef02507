/* SPDX-License-Identifier: Apache-2.0 */
/* Source `tfrecord`: reads the records of TFRecord files. Preparing a job scans the framing of
 * every file, which gives the counts, unless its index is kept. A worker that did not prepare the job
 * loads a file's index when its first record is read. */
#include <endian.h>
#include <string.h>

#include "base/mem.h"
#include "format/tfrecord.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"
#include "ops/source/inflate_cost.h"
#include "ops/source/inflated.h"
#include "ops/source/line_blocks.h"
#include "ops/source/record_max.h"
#include "ops/source/record_rows.h"
#include "ops/source/unindexed.h"

#define RECORD_MAX (INT64_C(2) << 30)

struct tfrecord_opts {
    struct cw_str_list pattern;
    char *field;
    int64_t inflated_max, inflate_every, record_max;
    struct cw_unindexed how;
};
struct tfrecord_state {
    struct cw_file_source source; /* loads a struct tfrecord_file for each file */
    struct cw_inflated *inflated;
    int64_t record_max;
};
struct tfrecord_file {
    struct cw_line_index *index;
    struct cw_access_points *points; /* of a .gz or .zst, or NULL */
};

#define OFFSET(member) offsetof(struct tfrecord_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "field",
     .help = "name of the field",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"record\""},
    CW_INFLATED_MAX_ROW(OFFSET(inflated_max)),
    CW_INFLATED_EVERY_ROW(OFFSET(inflate_every)),
    CW_RECORD_MAX_ROW(OFFSET(record_max), "\"2GiB\""),
    CW_UNINDEXED_ROWS(OFFSET(how)),
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
    cw_access_points_free(file->points);
    cw_mem_free(file);
}

static int scan_file(struct tfrecord_state *s, size_t i, struct tfrecord_file *file,
                     struct cw_err *err)
{
    struct cw_file_use use;
    int rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc < 0)
        return rc;
    rc = cw_inflated_scan(s->inflated, i, &use.readable, NULL, &file->points, err);
    struct cw_inflated_view view = {s->inflated, i, file->points, &use.readable, &use.source};
    const struct cw_readable plain = cw_inflated_readable(&view);
    if (rc == 0)
        rc = cw_tfrecord_scan(&plain, &file->index, err);
    cw_file_set_release(s->source.files, &use);
    return rc;
}

/* The file is not opened for an index that is there. */
static int unpack_file(const struct tfrecord_state *s, size_t i, const uint8_t *kept, size_t kept_n,
                       struct tfrecord_file *file)
{
    const struct cw_file *from = &s->source.files->v[i];
    const uint64_t size = (uint64_t)from->stamp.size;
    int rc = cw_inflated_unpack(s->inflated, from->path, size, &kept, &kept_n, &file->points);
    if (rc == 0)
        file->index = cw_line_index_unpack(kept, kept_n, file->points ? file->points->size : size);
    return file->index ? 0 : CW_E_CORRUPT;
}

/* With `kept` the index is there already, in these bytes. */
static int load_from(struct tfrecord_state *s, size_t i, const void *kept, size_t kept_n,
                     void **ret_loaded, struct cw_err *err)
{
    struct tfrecord_file *file = CW_NEW(struct tfrecord_file);
    int rc = kept ? unpack_file(s, i, kept, kept_n, file) : scan_file(s, i, file, err);
    if (rc < 0)
        free_file(file);
    else
        *ret_loaded = file;
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
    const struct tfrecord_file *file = loaded;
    cw_inflated_pack(file->points, out);
    cw_line_index_pack(file->index, out);
}

static int64_t records(const void *loaded)
{
    return (int64_t)cw_line_index_n(((const struct tfrecord_file *)loaded)->index);
}

static size_t bytes_of(const void *loaded)
{
    const struct tfrecord_file *file = loaded;
    const size_t points = file->points ? cw_access_points_bytes(file->points) : 0;
    return sizeof(*file) + cw_line_index_bytes(file->index) + points;
}

static int key_of(const void *state, size_t i, struct cw_str *out, struct cw_err *err)
{
    const struct tfrecord_state *s = state;
    (void)err;
    cw_inflated_key(s->inflated, s->source.files->v[i].path, out);
    return 0;
}

static void end(void *state)
{
    cw_inflated_free(((struct tfrecord_state *)state)->inflated);
}

static void add_blocks(void *state, size_t i, const void *loaded, int64_t first,
                       struct cw_blocks *blocks)
{
    const struct tfrecord_file *file = loaded;
    (void)state;
    (void)i;
    cw_line_blocks(file->index, file->points, first, blocks);
}

static const struct cw_file_index index_kind = {.name = "tfrecord 1",
                                                .key_of = key_of,
                                                .records = records,
                                                .bytes = bytes_of,
                                                .pack = pack,
                                                .unpack = unpack};
static const struct cw_file_source_kind kind = {.state_bytes = sizeof(struct tfrecord_state),
                                                .end = end,
                                                .load = scan,
                                                .unload = free_file,
                                                .index = &index_kind,
                                                .blocks = add_blocks};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct tfrecord_opts *o = opts;
    struct tfrecord_state *s = CW_NEW(struct tfrecord_state);
    s->inflated = cw_inflated_new(o->inflated_max, o->inflate_every);
    s->record_max = o->record_max;
    return cw_file_source_start(&kind, s, &o->pattern, how, ret_state, err);
}

static int check_record(const struct tfrecord_state *s, size_t i, uint64_t k,
                        const struct tfrecord_file *file, struct cw_err *err)
{
    const uint64_t begin = cw_line_index_at(file->index, k);
    const uint64_t bytes = cw_line_index_at(file->index, k + 1) - begin;
    return cw_record_max_check(s->record_max,
                               bytes - CW_MIN(bytes, (uint64_t)CW_TFRECORD_FRAME_BYTES),
                               s->source.files->v[i].path, k, begin, err);
}

/* Reads record k of file i. */
static int get_record(const struct cw_op_ctx *ctx, struct tfrecord_state *s, size_t i, uint64_t k,
                      const struct tfrecord_file *file, struct cw_view *view, struct cw_err *err)
{
    struct cw_file_use use;
    int rc = cw_file_source_compare(&s->source, i, cw_line_index_n(file->index), "records", err);
    if (rc == 0)
        rc = check_record(s, i, k, file, err);
    if (rc == 0)
        rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc < 0)
        return rc;
    struct cw_inflated_view packed = {s->inflated, i, file->points, &use.readable, &use.source};
    const struct cw_readable plain = cw_inflated_readable(&packed);
    rc = cw_tfrecord_get(&plain, file->index, k, ctx->arena, &view->data, &view->bytes, err);
    cw_file_set_release(s->source.files, &use);
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
    rc = get_record(ctx, state, i, k, file, &view, err);
    cw_file_source_put(s, i);
    ret_element->n = 1;
    ret_element->fields[0] = view;
    return rc;
}

static struct cw_record_file parts(const void *loaded)
{
    const struct tfrecord_file *file = loaded;
    return (struct cw_record_file){file->index, file->points};
}

/* Reads frames to where their data follow those before. What a head overwrites is put back. */
static int read_frames(struct cw_record_rows *rows, struct cw_loose_column *column, uint8_t *data)
{
    uint8_t before[CW_TFRECORD_HEADER_BYTES];
    struct cw_record_place place;
    int rc = 0;
    for (size_t i = 0; i < rows->n; i++) {
        uint8_t *frame = data + column->bytes - CW_TFRECORD_HEADER_BYTES;
        rc = cw_record_rows_find(rows, i, &place);
        if (rc < 0)
            return rc;
        memcpy(before, frame, sizeof(before));
        rc = cw_record_rows_read(&place, frame);
        if (rc == 0 && !cw_tfrecord_is_right(frame, (size_t)place.bytes))
            rc = CW_E_CORRUPT;
        if (rc < 0)
            return rc;
        memcpy(frame, before, sizeof(before));
        column->bytes += (size_t)place.bytes - CW_TFRECORD_FRAME_BYTES;
        column->ends[i] = (int64_t)column->bytes;
    }
    return 0;
}

static int read_loose(const void *opts, void *state, const struct cw_loose_rows *loose)
{
    struct tfrecord_state *s = state;
    struct cw_record_rows rows = {.source = &s->source,
                                  .inflated = s->inflated,
                                  .parts = parts,
                                  .positions = loose->positions,
                                  .n = loose->n,
                                  .record_max = (uint64_t)s->record_max + CW_TFRECORD_FRAME_BYTES};
    struct cw_loose_column *column = loose->columns;
    uint64_t bytes = 0;
    (void)opts;
    int rc = cw_record_rows_bytes(&rows, CW_TFRECORD_FRAME_BYTES, &bytes);
    uint8_t *data =
        rc == 0 ? loose->get(loose->arg, (size_t)bytes + CW_TFRECORD_FRAME_BYTES) : NULL;
    column->bytes = 0;
    if (data) {
        column->data = data + CW_TFRECORD_HEADER_BYTES;
        rc = read_frames(&rows, column, column->data);
    }
    cw_record_rows_end(&rows);
    return data ? rc : CW_E_NOMEM;
}

static bool ahead_of(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead)
{
    struct tfrecord_state *s = state;
    const struct cw_file_set *files = s->source.files;
    const void *loaded = NULL;
    (void)opts;
    if (!ahead || !cw_file_set_can_ahead(files))
        return cw_file_set_can_ahead(files);
    const size_t i = cw_file_set_locate(files, pos);
    const uint64_t k = (uint64_t)(pos - files->v[i].first);
    if (cw_file_source_get(&s->source, i, &loaded, NULL) < 0)
        return true;
    const struct tfrecord_file *file = loaded;
    if (k < cw_line_index_n(file->index)) {
        const uint64_t begin = cw_line_index_at(file->index, k);
        cw_inflated_ahead(s->inflated, files, i, file->points, begin,
                          cw_line_index_at(file->index, k + 1) - begin, ahead);
    }
    cw_file_source_put(&s->source, i);
    return true;
}

static uint64_t count_records(const char *p, size_t n, uint64_t *ret_bytes)
{
    uint64_t records = 0, at = 0, length;
    while (n - at >= sizeof(length)) {
        memcpy(&length, p + at, sizeof(length));
        length = le64toh(length);
        if (length > n || CW_TFRECORD_FRAME_BYTES + length > n - at)
            break;
        at += CW_TFRECORD_FRAME_BYTES + length;
        records++;
    }
    *ret_bytes = at;
    return records;
}

static int reads(const void *opts, struct cw_op_reads *ret_reads, struct cw_err *err)
{
    const struct tfrecord_opts *o = opts;
    return cw_inflate_cost(&o->pattern, o->inflated_max, o->inflate_every, count_records, ret_reads,
                           err);
}

static int stands_for(const void *opts, cw_op_part_fn *add, void *arg, struct cw_err *err)
{
    const struct tfrecord_opts *o = opts;
    if (o->how.index)
        return 0;
    if (cw_record_max_unindexed(o->record_max, RECORD_MAX, err) < 0)
        return CW_E_INVALID;
    struct cw_value *ranges =
        cw_unindexed_ranges(&o->how, "tfrecord_ranges", &o->pattern, add, arg);
    cw_value_set_str(cw_value_member(ranges, "field"), o->field);
    cw_value_set_i64(cw_value_member(ranges, "inflated_max"), o->inflated_max);
    cw_value_set_i64(cw_value_member(add(arg, "unbatch"), "span"), CW_UNINDEXED_SPAN);
    (void)add(arg, "unframe");
    return 0;
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
           "reading costs no buffer. Patterns as for `files`.\n"
           "\n"
           "Files whose names end in .gz or .zst are read at random, too: what lies between two "
           "access points is inflated\n"
           "together, and stays in memory up to `inflated_max` for all files (docs/formats.md, "
           "\"Compressed files\").\n"
           "TensorFlow's compression ZLIB is not supported. With `index` false nothing is scanned, "
           "and the node stands for\n"
           "`tfrecord_ranges`, `unbatch` and `unframe` (docs/formats.md, \"Without an index\").",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct tfrecord_opts),
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_record,
    .read_loose = read_loose,
    .blocks = cw_file_source_blocks,
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
    .ahead = ahead_of,
    .reads = reads,
    .stands_for = stands_for,
};
