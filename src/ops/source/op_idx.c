/* SPDX-License-Identifier: Apache-2.0 */
/* Source `idx`: reads the records of idx files (MNIST and its family). Plain files are read record
 * by record. A .gz or .zst file cannot be read like that, so it is inflated into memory once, when its
 * first record is read. */
#include "base/mem.h"
#include "format/gz.h"
#include "format/idx.h"
#include "format/inflate.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"

#include <string.h>
#include <unistd.h>

enum { DTYPE_AUTO = 0 };
enum { GZ_GROWTH_MAX = 1032 }; /* deflate makes at most so many bytes out of one */
static const char *const dtype_words[] = {"auto", "u8", "i8", "i16", "i32", "f32", "f64", NULL};

struct idx_opts {
    struct cw_str_list pattern;
    char *field;
    int dtype; /* index into dtype_words */
    struct cw_i64_list dims;
};

struct idx_state {
    /* Loads the inflated bytes of each .gz or .zst file: its records, in this machine's byte order. */
    struct cw_file_source source;
    /* header of the first file; each file has its own number of records */
    struct cw_idx_header header;
};

#define OFFSET(member) offsetof(struct idx_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "field",
     .help = "name of the field",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"data\""},
    {.name = "dtype",
     .help = "dtype of the values; auto = as the first file says",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(dtype),
     .def = "\"auto\"",
     .names = dtype_words},
    {.name = "dims",
     .help = "dimensions of a record, with dtype; -1 = any",
     .type = CW_OPT_I64_LIST,
     .offset = OFFSET(dims),
     .min = -1,
     .max = 0x1p32,
     .len_min = 0,
     .len_max = CW_RANK_MAX},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct idx_opts *o = opts;
    if (o->dtype == DTYPE_AUTO && o->dims.n > 0)
        return cw_err_set(err, CW_E_INVALID, "option dims: goes with dtype only");
    return 0;
}

/* Reads the header of a plain file, or of the inflated bytes of a .gz or .zst file. */
static int read_header(const struct cw_readable *file, struct cw_idx_header *ret_header,
                       struct cw_err *err)
{
    uint8_t bytes[CW_IDX_HEADER_BYTES_MAX];
    size_t n = 0;
    int rc = 0;
    if (cw_inflate_is_name(file->name)) {
        struct cw_inflater *in = NULL;
        rc = cw_inflater_new(file, &in, err);
        if (rc == 0)
            rc = cw_inflater_read(in, bytes, sizeof(bytes), &n, err);
        cw_inflater_free(in);
    } else {
        n = (size_t)CW_MIN((uint64_t)sizeof(bytes), file->size);
        rc = cw_readable_get(file, 0, bytes, n, err);
    }
    return rc < 0 ? rc : cw_idx_parse(bytes, n, file->name, ret_header, err);
}

static int read_header_at(const char *path, struct cw_idx_header *ret_header, struct cw_err *err)
{
    struct cw_readable file;
    struct cw_io_file opened;
    int rc = cw_readable_open(path, &opened, &file, err);
    if (rc < 0)
        return rc;
    rc = read_header(&file, ret_header, err);
    cw_io_close(&opened);
    return rc;
}

static bool is_complete(const void *opts)
{
    return ((const struct idx_opts *)opts)->dtype != DTYPE_AUTO;
}

/* Takes dtype and dims from the header of the first file. */
static int complete(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err)
{
    const struct idx_opts *o = opts;
    struct cw_idx_header h;
    cw_autofree char *path = NULL;
    int rc = cw_file_first(&o->pattern, how, &path, err);
    if (rc == 0)
        rc = read_header_at(path, &h, err);
    if (rc < 0)
        return rc;
    cw_value_set_str(cw_value_member(said, "dtype"), cw_dtype_name(h.dtype));
    struct cw_value *dims = cw_value_set_list(cw_value_member(said, "dims"), (size_t)h.rank);
    for (int i = 0; i < h.rank; i++)
        cw_value_set_i64(&dims[i], h.dims[i]);
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct idx_opts *o = opts;
    enum cw_dtype dtype;
    (void)in;
    (void)in_n;
    CW_ASSERT(cw_dtype_parse(dtype_words[o->dtype], &dtype) == 0);
    return cw_op_infer_one(o->field, dtype, (int)o->dims.n, o->dims.v, ret_spec, err);
}

static bool header_fits(const struct cw_idx_header *h, enum cw_dtype dtype, int rank,
                        const int64_t *dims)
{
    if (h->dtype != dtype || h->rank != rank)
        return false;
    for (int i = 0; i < rank; i++) {
        if (dims[i] >= 0 && dims[i] != h->dims[i])
            return false;
    }
    return true;
}

static int bad_shape(const char *path, const struct cw_idx_header *h, const char *than,
                     struct cw_err *err)
{
    CW_SPEC_AUTO spec = {0};
    CW_STR_AUTO text = {0};
    if (cw_spec_add(&spec, "record", h->dtype, h->rank, h->dims, NULL) == 0)
        cw_spec_print(&spec, &text);
    return cw_err_set(err, CW_E_INVALID, "%s: another dtype or shape (%s) than %s", path,
                      cw_str_text(&text), than);
}

static int check_header(const struct idx_state *s, size_t i, const struct cw_idx_header *h,
                        const struct cw_spec *out, struct cw_err *err)
{
    const struct cw_file *file = &s->source.files->v[i];
    if (out && !header_fits(h, out->fields[0].dtype, out->fields[0].rank, out->fields[0].dims))
        return bad_shape(file->path, h, "the pipeline was checked with", err);
    if (i > 0 && !header_fits(h, s->header.dtype, s->header.rank, s->header.dims))
        return bad_shape(file->path, h, s->source.files->v[0].path, err);
    if (cw_gz_is_name(file->path) && h->file_bytes / GZ_GROWTH_MAX > (uint64_t)file->stamp.size)
        return cw_err_set(
            err, CW_E_CORRUPT,
            "%s: its %lld records need %llu bytes, which %lld bytes of gzip data cannot hold",
            file->path, (long long)h->records, (unsigned long long)h->file_bytes,
            (long long)file->stamp.size);
    if (!cw_inflate_is_name(file->path) && (uint64_t)file->stamp.size < h->file_bytes)
        return cw_err_set(err, CW_E_CORRUPT,
                          "%s: truncated: %lld records need %llu bytes, the file ends at byte %lld",
                          file->path, (long long)h->records, (unsigned long long)h->file_bytes,
                          (long long)file->stamp.size);
    if (!cw_inflate_is_name(file->path) && (uint64_t)file->stamp.size > h->file_bytes)
        return cw_err_set(err, CW_E_CORRUPT, "%s: %lld bytes too many behind its %lld records",
                          file->path, (long long)((uint64_t)file->stamp.size - h->file_bytes),
                          (long long)h->records);
    return 0;
}

static int read_head(void *arg, const struct cw_readable *file, struct cw_err *err)
{
    return read_header(file, arg, err);
}

static int prepare(void *state, size_t i, const struct cw_op_open *how, struct cw_err *err)
{
    struct idx_state *s = state;
    struct cw_idx_header h;
    int rc = cw_file_source_head(&s->source, i, "idx 1", read_head, &h, err);
    if (rc == 0)
        rc = check_header(s, i, &h, how->out, err);
    if (rc == 0 && how->manifest)
        rc = cw_file_source_compare(&s->source, i, (uint64_t)h.records, "records", err);
    if (rc < 0)
        return rc;
    if (i == 0)
        s->header = h;
    s->source.files->v[i].records = h.records;
    return 0;
}

/* Inflates the header, `bytes` of records, and then the end, where the checksum is verified. */
static int inflate_into(struct cw_inflater *in, const struct cw_idx_header *h, const char *path,
                        void *dst, size_t bytes, struct cw_err *err)
{
    uint8_t rest[CW_IDX_HEADER_BYTES_MAX];
    size_t n = 0;
    int rc = cw_inflater_read(in, rest, h->header_bytes, &n, err);
    if (rc == 0)
        rc = cw_inflater_read(in, dst, bytes, &n, err);
    if (rc == 0 && n < bytes)
        return cw_err_set(err, CW_E_CORRUPT, "%s: truncated: %zu of %zu bytes of records", path, n,
                          bytes);
    if (rc == 0)
        rc = cw_inflater_read(in, rest, 1, &n, err);
    if (rc == 0 && n > 0)
        return cw_err_set(err, CW_E_CORRUPT, "%s: there are bytes behind its records", path);
    return rc;
}

static int inflate_file(void *state, size_t i, void **ret_records, struct cw_err *err)
{
    const struct idx_state *s = state;
    struct cw_file_use use;
    size_t value_bytes = cw_dtype_bytes(s->header.dtype);
    size_t bytes = (size_t)s->source.files->v[i].records * s->header.record_bytes;
    int rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc < 0)
        return rc;
    void *records = cw_mem_try_aligned(64, CW_MAX(bytes, 1));
    struct cw_inflater *in = NULL;
    if (records)
        rc = cw_inflater_new(&use.readable, &in, err);
    if (records && rc == 0)
        rc = inflate_into(in, &s->header, s->source.files->v[i].path, records, bytes, err);
    if (!records)
        rc = cw_err_set(err, CW_E_NOMEM, "%s: no memory for its %zu bytes",
                        s->source.files->v[i].path, bytes);
    cw_inflater_free(in);
    cw_file_set_release(s->source.files, &use);
    if (rc < 0) {
        cw_mem_free(records);
        return rc;
    }
    cw_idx_convert(records, records, bytes / value_bytes, value_bytes);
    *ret_records = records;
    return 0;
}

static const struct cw_file_source_kind kind = {.state_bytes = sizeof(struct idx_state),
                                                .prepare = prepare,
                                                .load = inflate_file,
                                                .unload = cw_mem_free};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct idx_opts *o = opts;
    return cw_file_source_new(&kind, &o->pattern, how, ret_state, err);
}

static int read_plain(struct idx_state *s, size_t i, size_t k, size_t records, void *dst,
                      struct cw_err *err)
{
    struct cw_file_use use;
    size_t each = s->header.record_bytes, bytes = records * each,
           value_bytes = cw_dtype_bytes(s->header.dtype);
    int rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc < 0)
        return rc;
    rc = cw_readable_get(&use.readable, s->header.header_bytes + k * each, dst, bytes, err);
    cw_file_set_release(s->source.files, &use);
    if (rc == 0)
        cw_idx_convert(dst, dst, bytes / value_bytes, value_bytes);
    return rc;
}

/* Reads records k, k + 1, ... of file i. */
static int read_some(struct idx_state *s, size_t i, size_t k, size_t n, void *dst,
                     struct cw_err *err)
{
    const size_t bytes = s->header.record_bytes;
    const void *records = NULL;
    if (!cw_inflate_is_name(s->source.files->v[i].path))
        return read_plain(s, i, k, n, dst, err);
    const int rc = cw_file_source_get(&s->source, i, &records, err);
    if (rc == 0 && bytes > 0)
        memcpy(dst, (const char *)records + k * bytes, n * bytes);
    return rc;
}

static int read_record(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                       struct cw_element *ret_element, struct cw_err *err)
{
    struct idx_state *s = state;
    size_t i = cw_file_set_locate(s->source.files, pos);
    size_t k = (size_t)(pos - s->source.files->v[i].first);
    struct cw_view view = {.dtype = s->header.dtype, .rank = s->header.rank};
    (void)opts;
    memcpy(view.dims, s->header.dims, sizeof(view.dims));
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
    struct idx_state *s = state;
    uint8_t *dst = columns[0].data;
    int rc = 0;
    (void)opts;
    for (size_t at = 0, run, i; rc == 0 && at < n; at += run) {
        uint64_t k;
        run = cw_file_set_run(s->source.files, positions + at, n - at, &i, &k);
        rc = read_some(s, i, (size_t)k, run, dst + at * columns[0].bytes, NULL);
    }
    return rc;
}

static bool ahead_of(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead)
{
    const struct idx_state *s = state;
    const struct cw_file_set *files = s->source.files;
    (void)opts;
    if (!ahead || !cw_file_set_can_ahead(files))
        return cw_file_set_can_ahead(files);
    const size_t i = cw_file_set_locate(files, pos);
    const uint64_t k = (uint64_t)(pos - files->v[i].first), each = s->header.record_bytes;
    if (!cw_inflate_is_name(files->v[i].path)) /* else it is inflated when it is first needed */
        cw_file_set_ahead(files, i, s->header.header_bytes + k * each, each, ahead);
    return true;
}

const struct cw_op cw_op_idx = {
    .name = "idx",
    .version = 1,
    .summary = "records of idx files (MNIST and its family), .gz and .zst too",
    .doc = "Gives each record as a tensor: u8[28,28] for MNIST's images, a scalar u8 for its "
           "labels. All files that\n"
           "match must have the same dtype and dims. To have images and labels side by side, `zip` "
           "two of these.\n"
           "A .gz or .zst file is inflated into memory once. Patterns as for `files`.\n"
           "\n"
           "dtype and dims are in the files: those of the first one are taken when the job is "
           "prepared, unless\n"
           "`dtype` and `dims` are given.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct idx_opts),
    .check = check,
    .is_complete = is_complete,
    .complete = complete,
    .completed = "dtype and dims",
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
