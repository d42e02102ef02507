/* SPDX-License-Identifier: Apache-2.0 */
/* Source: records of idx files (MNIST and its family). Plain files are read record by record; a .gz file
 * cannot be, so it is inflated into memory once, when its first record is read. */
#include "base/mem.h"
#include "format/glob.h"
#include "format/gz.h"
#include "format/idx.h"
#include "ops/source/file_set.h"
#include "ops/op_util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DTYPE_AUTO = 0 };
enum { LOOK_ENTRIES_MAX = 1000 };
enum { GZ_GROWTH_MAX = 1032 }; /* deflate makes one byte of at most so many */
static const char *const dtype_words[] = {"auto", "u8", "i8", "i16", "i32", "f32", "f64", NULL};

struct idx_opts {
    struct cw_str_list pattern;
    char *field;
    int dtype; /* index into dtype_words */
    struct cw_i64_list dims;
};

struct idx_state {
    struct cw_file_set *files;
    struct cw_idx_header header; /* of the first file; `records` is each file's own */
    _Atomic(void *) *inflated;   /* one a .gz file: its records, in this machine's byte order */
    struct cw_mutex lock;        /* held while a file is inflated */
};

#define OFFSET(member) offsetof(struct idx_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "field", .help = "name of the field", .type = CW_OPT_STR, .offset = OFFSET(field),
     .def = "\"data\""},
    {.name = "dtype",
     .help = "dtype of the values, for files that only the workers see; auto = look into the first file, or go by "
             "its name (...idx3-ubyte)",
     .type = CW_OPT_ENUM, .offset = OFFSET(dtype), .def = "\"auto\"", .names = dtype_words},
    {.name = "dims", .help = "dimensions of a record, with dtype; -1 = any", .type = CW_OPT_I64_LIST,
     .offset = OFFSET(dims), .min = -1, .max = 0x1p32, .len_min = 0, .len_max = CW_RANK_MAX},
    {0}};

static int check(const void *opts, struct cw_err *err)
{
    const struct idx_opts *o = opts;
    if (o->dtype == DTYPE_AUTO && o->dims.n > 0)
        return cw_err_set(err, CW_E_INVALID, "option dims: goes with dtype only");
    return 0;
}

/* The header of a file that begins with it, or whose inflated bytes do. */
static int read_header(const struct cw_readable *file, struct cw_idx_header *ret_header, struct cw_err *err)
{
    uint8_t bytes[CW_IDX_HEADER_BYTES_MAX];
    size_t n = 0;
    int rc = 0;
    if (cw_gz_is_name(file->name)) {
        struct cw_gz *gz = cw_gz_new(file);
        rc = cw_gz_read(gz, bytes, sizeof(bytes), &n, err);
        cw_gz_free(gz);
    } else {
        n = (size_t)CW_MIN((uint64_t)sizeof(bytes), file->size);
        rc = cw_readable_get(file, 0, bytes, n, err);
    }
    return rc < 0 ? rc : cw_idx_parse(bytes, n, file->name, ret_header, err);
}

static int read_header_at(const char *path, struct cw_idx_header *ret_header, struct cw_err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return cw_err_errno(err, errno, "%s", path);
    int rc = fstat(fd, &st) < 0 ? cw_err_errno(err, errno, "%s", path) : 0;
    struct cw_readable file = cw_readable_fd(path, rc == 0 ? (uint64_t)st.st_size : 0, &fd);
    if (rc == 0)
        rc = read_header(&file, ret_header, err);
    close(fd);
    return rc;
}

/* Looks at the first file when it is on this machine and near at hand: a dispatcher that checks a pipeline must
 * not walk a whole file system. Only a hint: open compares it with the real file. Returns 1 when the file says,
 * 0 when there is none to look at, or what is wrong with it. */
static int first_file_says(const struct idx_opts *o, struct cw_idx_header *ret_header, struct cw_err *err)
{
    struct cw_paths paths = {0};
    bool whole = o->pattern.n <= LOOK_ENTRIES_MAX;
    for (size_t i = 0; i < o->pattern.n && whole; i++)
        whole = cw_glob(o->pattern.v[i], LOOK_ENTRIES_MAX, &paths, NULL) == 0;
    cw_paths_sort(&paths);
    int rc = 0;
    if (whole && paths.n > 0) {
        rc = read_header_at(paths.v[0], ret_header, err);
        rc = rc == 0 ? 1 : rc;
    }
    cw_paths_fini(&paths);
    return rc;
}

/* By the first file, by its name, or not at all; a file that is no idx file is told from one that is not here. */
static int find_header(const struct idx_opts *o, struct cw_idx_header *ret_header, struct cw_err *err)
{
    struct cw_err of_file = {0};
    int said = first_file_says(o, ret_header, &of_file);
    if (said > 0 || cw_idx_name_says(o->pattern.v[0], &ret_header->dtype, &ret_header->rank))
        return 0;
    if (said < 0)
        return cw_err_set(err, said, "%s", of_file.msg);
    return cw_err_set(err, CW_E_INVALID,
                      "option dtype: neither a file nor the name in pattern \"%s\" tells dtype and dims here; "
                      "give dtype and dims",
                      o->pattern.v[0]);
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct idx_opts *o = opts;
    struct cw_idx_header h = {.dims = {-1, -1, -1, -1, -1, -1, -1, -1}};
    (void)in;
    (void)in_n;
    if (o->dtype != DTYPE_AUTO) {
        CW_ASSERT(cw_dtype_parse(dtype_words[o->dtype], &h.dtype) == 0);
        h.rank = (int)o->dims.n;
        for (size_t i = 0; i < o->dims.n; i++)
            h.dims[i] = o->dims.v[i];
    } else {
        int rc = find_header(o, &h, err);
        if (rc < 0)
            return rc;
    }
    return cw_op_infer_one(o->field, h.dtype, h.rank, h.dims, ret_spec, err);
}

static bool header_fits(const struct cw_idx_header *h, enum cw_dtype dtype, int rank, const int64_t *dims)
{
    if (h->dtype != dtype || h->rank != rank)
        return false;
    for (int i = 0; i < rank; i++) {
        if (dims[i] >= 0 && dims[i] != h->dims[i])
            return false;
    }
    return true;
}

static int bad_shape(const char *path, const struct cw_idx_header *h, const char *than, struct cw_err *err)
{
    struct cw_spec spec = {0};
    CW_STR_AUTO text = {0};
    if (cw_spec_add(&spec, "record", h->dtype, h->rank, h->dims, NULL) == 0)
        cw_spec_print(&spec, &text);
    return cw_err_set(err, CW_E_INVALID, "%s: another dtype or shape (%s) than %s", path, cw_str_text(&text), than);
}

static int check_header(const struct idx_state *s, size_t i, const struct cw_idx_header *h,
                        const struct cw_spec *out, struct cw_err *err)
{
    const struct cw_file *file = &s->files->v[i];
    if (out && !header_fits(h, out->fields[0].dtype, out->fields[0].rank, out->fields[0].dims))
        return bad_shape(file->path, h, "the pipeline was checked with",
                         err);
    if (i > 0 && !header_fits(h, s->header.dtype, s->header.rank, s->header.dims))
        return bad_shape(file->path, h, s->files->v[0].path, err);
    if (cw_gz_is_name(file->path) && h->file_bytes / GZ_GROWTH_MAX > (uint64_t)file->stamp.size)
        return cw_err_set(err, CW_E_CORRUPT,
                          "%s: its %lld records need %llu bytes, which %lld bytes of gzip data cannot hold", file->path,
                          (long long)h->records, (unsigned long long)h->file_bytes, (long long)file->stamp.size);
    if (!cw_gz_is_name(file->path) && (uint64_t)file->stamp.size < h->file_bytes)
        return cw_err_set(err, CW_E_CORRUPT, "%s: truncated: %lld records need %llu bytes, the file ends at byte %lld",
                          file->path, (long long)h->records, (unsigned long long)h->file_bytes,
                          (long long)file->stamp.size);
    if (!cw_gz_is_name(file->path) && (uint64_t)file->stamp.size > h->file_bytes)
        return cw_err_set(err, CW_E_CORRUPT, "%s: %lld bytes too many behind its %lld records", file->path,
                          (long long)((uint64_t)file->stamp.size - h->file_bytes), (long long)h->records);
    return 0;
}

static int open_one(struct idx_state *s, size_t i, const struct cw_op_open *how, struct cw_err *err)
{
    struct cw_file_use use;
    struct cw_idx_header h;
    int rc = cw_file_set_use(s->files, i, &use, err);
    if (rc < 0)
        return rc;
    rc = read_header(&use.readable, &h, err);
    cw_file_set_release(s->files, &use);
    if (rc == 0)
        rc = check_header(s, i, &h, how->out, err);
    if (rc == 0 && how->manifest && s->files->v[i].records != h.records)
        rc = cw_err_set(err, CW_E_STATE, "%s: changed while it is read", s->files->v[i].path);
    if (rc < 0)
        return rc;
    if (i == 0)
        s->header = h;
    s->files->v[i].records = h.records;
    return 0;
}

static void close_files(void *state)
{
    struct idx_state *s = state;
    if (!s)
        return;
    for (size_t i = 0; s->inflated && i < s->files->n; i++)
        cw_mem_free(atomic_load(&s->inflated[i]));
    cw_mem_free(s->inflated);
    cw_file_set_free(s->files);
    cw_mutex_fini(&s->lock);
    cw_mem_free(s);
}

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state, struct cw_err *err)
{
    const struct idx_opts *o = opts;
    struct idx_state *s = CW_NEW(struct idx_state);
    cw_mutex_init(&s->lock);
    int rc = cw_file_set_new(&o->pattern, how->manifest, &s->files, err);
    if (rc == 0)
        s->inflated = cw_mem_new_array(s->files->n, sizeof(*s->inflated));
    for (size_t i = 0; rc == 0 && i < s->files->n; i++)
        rc = open_one(s, i, how, err);
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
    const struct idx_state *s = state;
    (void)opts;
    (void)in_n;
    (void)inputs_n;
    (void)err;
    *ret_n = s->files->records;
    return 0;
}

/* Header, `bytes` of records, and then the end, where the checksum is verified. */
static int inflate_into(struct cw_gz *gz, const struct cw_idx_header *h, const char *path, void *dst, size_t bytes,
                        struct cw_err *err)
{
    uint8_t rest[CW_IDX_HEADER_BYTES_MAX];
    size_t n = 0;
    int rc = cw_gz_read(gz, rest, h->header_bytes, &n, err);
    if (rc == 0)
        rc = cw_gz_read(gz, dst, bytes, &n, err);
    if (rc == 0 && n < bytes)
        return cw_err_set(err, CW_E_CORRUPT, "%s: truncated: %zu of %zu bytes of records", path, n, bytes);
    if (rc == 0)
        rc = cw_gz_read(gz, rest, 1, &n, err);
    if (rc == 0 && n > 0)
        return cw_err_set(err, CW_E_CORRUPT, "%s: there are bytes behind its records", path);
    return rc;
}

static int inflate_file(const struct idx_state *s, size_t i, void **ret_records, struct cw_err *err)
{
    struct cw_file_use use;
    size_t value_bytes = cw_dtype_bytes(s->header.dtype);
    size_t bytes = (size_t)s->files->v[i].records * s->header.record_bytes;
    int rc = cw_file_set_use(s->files, i, &use, err);
    if (rc < 0)
        return rc;
    void *records = cw_mem_try_aligned(64, CW_MAX(bytes, 1));
    struct cw_gz *gz = cw_gz_new(&use.readable);
    if (records)
        rc = inflate_into(gz, &s->header, s->files->v[i].path, records, bytes, err);
    else
        rc = cw_err_set(err, CW_E_NOMEM, "%s: no memory for its %zu bytes", s->files->v[i].path, bytes);
    cw_gz_free(gz);
    cw_file_set_release(s->files, &use);
    if (rc < 0) {
        cw_mem_free(records);
        return rc;
    }
    cw_idx_convert(records, records, bytes / value_bytes, value_bytes);
    *ret_records = records;
    return 0;
}

static int inflated_of(struct idx_state *s, size_t i, const char **ret_records, struct cw_err *err)
{
    void *records = atomic_load_explicit(&s->inflated[i], memory_order_acquire);
    int rc = 0;
    if (!records) {
        cw_mutex_lock(&s->lock);
        records = atomic_load(&s->inflated[i]);
        if (!records)
            rc = inflate_file(s, i, &records, err);
        if (rc == 0)
            atomic_store_explicit(&s->inflated[i], records, memory_order_release);
        cw_mutex_unlock(&s->lock);
    }
    *ret_records = records;
    return rc;
}

static int read_plain(struct idx_state *s, size_t i, size_t k, void *dst, struct cw_err *err)
{
    struct cw_file_use use;
    size_t bytes = s->header.record_bytes, value_bytes = cw_dtype_bytes(s->header.dtype);
    int rc = cw_file_set_use(s->files, i, &use, err);
    if (rc < 0)
        return rc;
    rc = cw_readable_get(&use.readable, s->header.header_bytes + k * bytes, dst, bytes, err);
    cw_file_set_release(s->files, &use);
    if (rc == 0)
        cw_idx_convert(dst, dst, bytes / value_bytes, value_bytes);
    return rc;
}

static int read_record(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                       struct cw_element *ret_element, struct cw_err *err)
{
    struct idx_state *s = state;
    size_t i = cw_file_set_locate(s->files, pos);
    size_t k = (size_t)(pos - s->files->v[i].first);
    struct cw_view view = {.dtype = s->header.dtype, .rank = s->header.rank};
    const char *records = NULL;
    (void)opts;
    memcpy(view.dims, s->header.dims, sizeof(view.dims));
    int rc = cw_op_output(ctx, &view, err);
    if (rc < 0)
        return rc;
    if (cw_gz_is_name(s->files->v[i].path)) {
        rc = inflated_of(s, i, &records, err);
        if (rc == 0 && view.bytes > 0)
            memcpy(view.data, records + k * s->header.record_bytes, view.bytes);
    } else {
        rc = read_plain(s, i, k, view.data, err);
    }
    ret_element->n = 1;
    ret_element->fields[0] = view;
    return rc;
}

static void manifest(const void *opts, void *state, struct cw_value *ret_value)
{
    const struct idx_state *s = state;
    (void)opts;
    cw_file_set_manifest(s->files, ret_value);
}

static void describe(const void *opts, void *state, int64_t pos, struct cw_str *out)
{
    const struct idx_state *s = state;
    (void)opts;
    cw_file_set_describe(s->files, pos, out);
}

const struct cw_op cw_op_idx = {
    .name = "idx",
    .version = 1,
    .summary = "records of idx files (MNIST and its family), .gz too",
    .doc = "Gives each record as a tensor: u8[28,28] for MNIST's images, a scalar u8 for its labels. All files that\n"
           "match must have the same dtype and dims. To have images and labels side by side, `zip` two of these.\n"
           "A .gz file is inflated into memory once. Patterns as for `files`.\n"
           "\n"
           "dtype and dims are in the files. Where a pipeline is checked on a machine that does not have them, the name\n"
           "tells enough if it follows the custom (train-images-idx3-ubyte.gz); else give `dtype` and `dims`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct idx_opts),
    .check = check,
    .infer = infer,
    .open = open_files,
    .close = close_files,
    .count = count,
    .read = read_record,
    .manifest = manifest,
    .describe = describe,
};
