/* SPDX-License-Identifier: Apache-2.0 */
/* Source `fixed_records`: records of one size that lie one after another in binary files, or overlap:
 * sequences of a flat file of tokens. Sizes of files say all, so a job begins at once; unless a file is
 * compressed: then it is inflated once, which finds its access points. */
#include <string.h>

#include "base/mem.h"
#include "format/idx.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"
#include "ops/source/fixed_values.h"
#include "ops/source/inflated.h"
#include "ops/source/line_blocks.h"

enum { ORDER_LITTLE, ORDER_BIG };
static const char *const order_words[] = {"little", "big", NULL};
enum { REST_FAIL, REST_DROP };
static const char *const rest_words[] = {"fail", "drop", NULL};

struct fixed_opts {
    struct cw_str_list pattern;
    char *field;
    int dtype; /* index into cw_fixed_dtypes */
    struct cw_i64_list dims;
    int64_t step, offset;
    int order, rest;
    int64_t inflated_max, inflate_every;
};

struct fixed_state {
    struct cw_file_source source; /* loads a struct fixed_file for each file if one is compressed */
    struct cw_inflated *inflated; /* NULL: none is */
    struct cw_field field;
    size_t value_bytes;
    uint64_t record_bytes, step_bytes, offset;
    bool drops_rest, swaps;
};
struct fixed_file {
    struct cw_access_points *points; /* of a .gz or .zst, or NULL */
    int64_t records;
};

#define OFFSET(member) offsetof(struct fixed_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "field",
     .help = "name of the field",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"data\""},
    {.name = "dtype",
     .help = "dtype of the values; str = a record is a string of bytes",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(dtype),
     .flags = CW_OPT_REQUIRED,
     .names = cw_fixed_dtypes},
    {.name = "dims",
     .help = "dimensions of a record: a number of values, or a list; of a str, its bytes",
     .type = CW_OPT_I64_LIST,
     .offset = OFFSET(dims),
     .flags = CW_OPT_REQUIRED,
     .min = 1,
     .max = 0x1p32,
     .len_min = 1,
     .len_max = CW_RANK_MAX},
    {.name = "step",
     .help = "values from the beginning of a record to that of the next; 0 = a whole record",
     .type = CW_OPT_I64,
     .offset = OFFSET(step),
     .def = "0",
     .min = 0,
     .max = 0x1p48},
    {.name = "offset",
     .help = "bytes at the beginning of each file that are no records",
     .type = CW_OPT_BYTES,
     .offset = OFFSET(offset),
     .def = "0",
     .min = 0,
     .max = 0x1p62},
    {.name = "order",
     .help = "order of the bytes in a value",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(order),
     .def = "\"little\"",
     .names = order_words},
    {.name = "rest",
     .help = "what becomes of values behind a file's last whole record",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(rest),
     .def = "\"fail\"",
     .names = rest_words},
    CW_INFLATED_MAX_ROW(OFFSET(inflated_max)),
    CW_INFLATED_EVERY_ROW(OFFSET(inflate_every)),
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct fixed_opts *o = opts;
    if (o->dtype == CW_FIXED_STR && o->dims.n > 1)
        return cw_err_set(err, CW_E_INVALID, "option dims: a str has one number, its bytes");
    if (cw_fixed_values(&o->dims) == 0)
        return cw_err_set(err, CW_E_LIMIT, "option dims: a record has more than 2^32 values");
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct fixed_opts *o = opts;
    const int rank = o->dtype == CW_FIXED_STR ? 0 : (int)o->dims.n;
    (void)in;
    (void)in_n;
    return cw_op_infer_one(o->field, cw_fixed_dtype(o->dtype), rank, o->dims.v, ret_spec, err);
}

/* size: of the file, or of what is inflated of it */
static int count_records(const struct fixed_state *s, const struct cw_file *file, uint64_t size,
                         int64_t *ret_n, struct cw_err *err)
{
    if (size < s->offset)
        return cw_err_set(err, CW_E_CORRUPT, "%s: ends at byte %llu, before the offset %llu",
                          file->path, (unsigned long long)size, (unsigned long long)s->offset);
    const uint64_t room = size - s->offset;
    const uint64_t n = room < s->record_bytes ? 0 : (room - s->record_bytes) / s->step_bytes + 1;
    const uint64_t used = n == 0 ? 0 : (n - 1) * s->step_bytes + s->record_bytes;
    if (used < room && !s->drops_rest)
        return cw_err_set(err, CW_E_CORRUPT,
                          "%s: %llu bytes are left behind its %llu records of %llu bytes; with "
                          "\"rest\": \"drop\" they are left out",
                          file->path, (unsigned long long)(room - used), (unsigned long long)n,
                          (unsigned long long)s->record_bytes);
    *ret_n = (int64_t)n;
    return 0;
}

static int prepare(void *state, size_t i, const struct cw_op_open *how, struct cw_err *err)
{
    struct fixed_state *s = state;
    struct cw_file *file = &s->source.files->v[i];
    int64_t n = 0;
    if (cw_inflate_is_name(file->path))
        return CW_E_AGAIN; /* with indices */
    int rc = count_records(s, file, (uint64_t)file->stamp.size, &n, err);
    if (rc == 0 && how->manifest)
        return cw_file_source_compare(&s->source, i, (uint64_t)n, "records", err);
    if (rc == 0)
        file->records = n;
    return rc;
}

static void add_blocks(void *state, size_t i, const void *loaded, int64_t first,
                       struct cw_blocks *blocks)
{
    const struct fixed_state *s = state;
    cw_fixed_blocks(loaded ? ((const struct fixed_file *)loaded)->points : NULL, s->offset,
                    s->step_bytes, (uint64_t)s->source.files->v[i].records, first, blocks);
}

static const struct cw_file_source_kind plain_kind = {
    .state_bytes = sizeof(struct fixed_state), .prepare = prepare, .blocks = add_blocks};

/* ---- indices, if there are compressed files ---- */

static const char file_end[8] = "records"; /* of what is kept, which is never nothing */

static void free_file(void *loaded)
{
    struct fixed_file *file = loaded;
    cw_access_points_free(file->points);
    cw_mem_free(file);
}

static int count_of(const struct fixed_state *s, size_t i, struct fixed_file *file,
                    struct cw_err *err)
{
    const struct cw_file *from = &s->source.files->v[i];
    return count_records(s, from, file->points ? file->points->size : (uint64_t)from->stamp.size,
                         &file->records, err);
}

/* Counts the records of a file whose points are there, and takes it, or frees it. */
static int finish(const struct fixed_state *s, size_t i, int rc, struct fixed_file *file,
                  void **ret_loaded, struct cw_err *err)
{
    if (rc == 0)
        rc = count_of(s, i, file, err);
    if (rc < 0)
        free_file(file);
    else
        *ret_loaded = file;
    return rc;
}

static int scan(void *state, size_t i, void **ret_loaded, struct cw_err *err)
{
    struct fixed_state *s = state;
    struct fixed_file *file = CW_NEW(struct fixed_file);
    struct cw_file_use use;
    if (!cw_inflate_is_name(s->source.files->v[i].path))
        return finish(s, i, 0, file, ret_loaded, err);
    int rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc == 0) {
        rc = cw_inflated_scan(s->inflated, i, &use.readable, NULL, &file->points, err);
        cw_file_set_release(s->source.files, &use);
    }
    return finish(s, i, rc, file, ret_loaded, err);
}

static int unpack(void *state, size_t i, const void *bytes, size_t n, void **ret_loaded,
                  struct cw_err *err)
{
    struct fixed_state *s = state;
    const struct cw_file *from = &s->source.files->v[i];
    struct fixed_file *file = CW_NEW(struct fixed_file);
    const uint8_t *kept = bytes;
    int rc = cw_inflated_unpack(s->inflated, from->path, (uint64_t)from->stamp.size, &kept, &n,
                                &file->points);
    if (rc == 0 && (n != sizeof(file_end) || memcmp(kept, file_end, n) != 0))
        rc = CW_E_CORRUPT;
    return finish(s, i, rc, file, ret_loaded, err);
}

static void pack(const void *loaded, struct cw_str *out)
{
    cw_inflated_pack(((const struct fixed_file *)loaded)->points, out);
    cw_str_add_bytes(out, file_end, sizeof(file_end));
}

static int64_t records(const void *loaded)
{
    return ((const struct fixed_file *)loaded)->records;
}

static size_t bytes_of(const void *loaded)
{
    const struct fixed_file *file = loaded;
    return sizeof(*file) + (file->points ? cw_access_points_bytes(file->points) : 0);
}

static int key_of(const void *state, size_t i, struct cw_str *out, struct cw_err *err)
{
    const struct fixed_state *s = state;
    (void)err;
    cw_str_addf(out, "records %llu every %llu from %llu rest %d\n",
                (unsigned long long)s->record_bytes, (unsigned long long)s->step_bytes,
                (unsigned long long)s->offset, s->drops_rest);
    cw_inflated_key(s->inflated, s->source.files->v[i].path, out);
    return 0;
}

static void end(void *state)
{
    cw_inflated_free(((struct fixed_state *)state)->inflated);
}

static const struct cw_file_index index_kind = {.name = "fixed_records 1",
                                                .key_of = key_of,
                                                .records = records,
                                                .bytes = bytes_of,
                                                .pack = pack,
                                                .unpack = unpack};
static const struct cw_file_source_kind packed_kind = {.state_bytes = sizeof(struct fixed_state),
                                                       .end = end,
                                                       .load = scan,
                                                       .unload = free_file,
                                                       .index = &index_kind,
                                                       .blocks = add_blocks};

/* ---- opening ---- */

static struct fixed_state *state_new(const struct fixed_opts *o)
{
    struct fixed_state *s = CW_NEW(struct fixed_state);
    const enum cw_dtype dtype = cw_fixed_dtype(o->dtype);
    s->value_bytes = CW_MAX(cw_dtype_bytes(dtype), 1);
    s->record_bytes = cw_fixed_values(&o->dims) * s->value_bytes;
    s->step_bytes = o->step > 0 ? (uint64_t)o->step * s->value_bytes : s->record_bytes;
    s->offset = (uint64_t)o->offset;
    s->drops_rest = o->rest == REST_DROP;
    s->swaps = o->order == ORDER_BIG && s->value_bytes > 1;
    s->field.dtype = dtype;
    s->field.rank = dtype == CW_DTYPE_STR ? 0 : (int)o->dims.n;
    for (int d = 0; d < s->field.rank; d++)
        s->field.dims[d] = o->dims.v[d];
    return s;
}

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct fixed_opts *o = opts;
    int rc = cw_file_source_start(&plain_kind, state_new(o), &o->pattern, how, ret_state, err);
    if (rc != CW_E_AGAIN)
        return rc;
    struct fixed_state *s = state_new(o);
    s->inflated = cw_inflated_new(o->inflated_max, o->inflate_every);
    return cw_file_source_start(&packed_kind, s, &o->pattern, how, ret_state, err);
}

static void give_back(struct fixed_state *s, size_t i)
{
    if (s->inflated)
        cw_file_source_put(&s->source, i);
}

/* The index of a file, which the caller gives back, or NULL if there are none. */
static int index_of(struct fixed_state *s, size_t i, const struct fixed_file **ret_file,
                    struct cw_err *err)
{
    const void *loaded = NULL;
    int rc = s->inflated ? cw_file_source_get(&s->source, i, &loaded, err) : 0;
    *ret_file = loaded;
    if (!loaded)
        return rc;
    rc = cw_file_source_compare(&s->source, i, (uint64_t)(*ret_file)->records, "records", err);
    if (rc < 0)
        give_back(s, i);
    return rc;
}

/* Reads records k, k + 1, ... of file i: with one read, unless they overlap or there are gaps. */
static int read_some(struct fixed_state *s, size_t i, uint64_t k, size_t n, uint8_t *dst,
                     struct cw_err *err)
{
    const size_t each = (size_t)s->record_bytes, at_once = s->step_bytes == each ? n : 1;
    const struct fixed_file *file = NULL;
    struct cw_file_use use;
    int rc = index_of(s, i, &file, err);
    if (rc < 0)
        return rc;
    rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc < 0) {
        give_back(s, i);
        return rc;
    }
    struct cw_inflated_view view = {s->inflated, i, file ? file->points : NULL, &use.readable,
                                    &use.source};
    const struct cw_readable plain = cw_inflated_readable(&view);
    for (size_t at = 0; rc == 0 && at < n; at += at_once)
        rc = cw_readable_get(&plain, s->offset + (k + at) * s->step_bytes, dst + at * each,
                             at_once * each, err);
    cw_file_set_release(s->source.files, &use);
    give_back(s, i);
    if (rc == 0 && s->swaps)
        cw_idx_convert(dst, dst, n * each / s->value_bytes, s->value_bytes);
    return rc;
}

static int read_record(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                       struct cw_element *ret_element, struct cw_err *err)
{
    struct fixed_state *s = state;
    const size_t i = cw_file_set_locate(s->source.files, pos);
    const uint64_t k = (uint64_t)(pos - s->source.files->v[i].first);
    struct cw_view view = {
        .dtype = s->field.dtype, .rank = s->field.rank, .bytes = (size_t)s->record_bytes};
    (void)opts;
    for (int d = 0; d < view.rank; d++)
        view.dims[d] = s->field.dims[d];
    int rc = cw_op_output(ctx, &view, err);
    if (rc == 0)
        rc = read_some(s, i, k, 1, view.data, err);
    ret_element->n = 1;
    ret_element->fields[0] = view;
    return rc;
}

static int read_rows(const void *opts, void *state, const int64_t *positions, size_t n,
                     const struct cw_column *columns)
{
    struct fixed_state *s = state;
    uint8_t *dst = columns[0].data;
    int rc = 0;
    (void)opts;
    for (size_t at = 0, run, i; rc == 0 && at < n; at += run) {
        uint64_t k;
        run = cw_file_set_run(s->source.files, positions + at, n - at, &i, &k);
        rc = read_some(s, i, k, run, dst + at * columns[0].bytes, NULL);
    }
    return rc;
}

static bool ahead_of(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead)
{
    struct fixed_state *s = state;
    const struct cw_file_set *files = s->source.files;
    const struct fixed_file *file = NULL;
    (void)opts;
    if (!ahead || !cw_file_set_can_ahead(files))
        return cw_file_set_can_ahead(files);
    const size_t i = cw_file_set_locate(files, pos);
    const uint64_t k = (uint64_t)(pos - files->v[i].first);
    if (index_of(s, i, &file, NULL) < 0)
        return true;
    cw_inflated_ahead(s->inflated, files, i, file ? file->points : NULL,
                      s->offset + k * s->step_bytes, s->record_bytes, ahead);
    give_back(s, i);
    return true;
}

const struct cw_op cw_op_fixed_records = {
    .name = "fixed_records",
    .version = 1,
    .summary = "records of one size in binary files, overlapping if asked for: flat token files",
    .doc =
        "Gives records of `dims` values of `dtype`, one every `step` values, from byte `offset` "
        "of each file on. Of a\n"
        "file of u16 tokens, {\"dtype\": \"u16\", \"dims\": 1025, \"step\": 1024} makes "
        "sequences of which each begins with the\n"
        "last token of the one before. No record reaches over the end of a file; values left "
        "there are an error, or\n"
        "left out with `rest` \"drop\". Written by: numpy.tofile, and the preparation scripts of "
        "most language models\n"
        "(.bin). Nothing is scanned: the sizes of files say how many records there are.\n"
        "\n"
        "Files whose names end in .gz or .zst are inflated once when a job is prepared, and read "
        "at\n"
        "random by access points; what is inflated stays in memory up to `inflated_max`\n"
        "(docs/formats.md, \"Compressed files\").\n"
        "\n"
        "Not supported: records of different lengths. Patterns as for `files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct fixed_opts),
    .check = check,
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_record,
    .read_rows = read_rows,
    .blocks = cw_file_source_blocks,
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
    .ahead = ahead_of,
};
