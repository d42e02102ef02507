/* SPDX-License-Identifier: Apache-2.0 */
/* Source `npy`: gives the rows of NumPy's array files. Rows of files in C order are read one by one. A
 * row of a file in Fortran order is spread over all of it, so such a file is read into memory once,
 * when its first row is read. */
#include "base/mem.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"
#include "ops/source/npy_rows.h"

#include <string.h>
#include <unistd.h>

struct npy_opts {
    struct cw_str_list pattern;
    char *field;
    int dtype; /* index into dtype_words */
    struct cw_i64_list dims;
};
struct npy_state {
    struct cw_file_source source;  /* loads the values of each file in Fortran order */
    struct cw_npy_header *headers; /* of each file */
};

enum { DTYPE_AUTO = 0 };
static const char *const dtype_words[] = {"auto", "u8",  "i8",  "u16", "i16", "u32",  "i32",
                                          "u64",  "i64", "f16", "f32", "f64", "bool", NULL};

#define OFFSET(member) offsetof(struct npy_opts, member)
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
     .help = "dimensions of a row, with dtype; -1 for one that may differ from file to file",
     .type = CW_OPT_I64_LIST,
     .offset = OFFSET(dims),
     .min = -1,
     .max = 0x1p40,
     .len_min = 0,
     .len_max = CW_RANK_MAX},
    {0},
};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct npy_opts *o = opts;
    enum cw_dtype dtype;
    (void)in;
    (void)in_n;
    CW_ASSERT(cw_dtype_parse(dtype_words[o->dtype], &dtype) == 0);
    return cw_op_infer_one(o->field, dtype, (int)o->dims.n, o->dims.v, ret_spec, err);
}

/* ---- heads ---- */

static int read_header(const struct cw_readable *file, struct cw_npy_header *ret_header,
                       struct cw_err *err)
{
    uint8_t magic[CW_NPY_MAGIC_BYTES];
    size_t n = (size_t)CW_MIN((uint64_t)sizeof(magic), file->size), bytes = 0;
    int rc = cw_readable_get(file, 0, magic, n, err);
    if (rc == 0)
        rc = cw_npy_header_bytes(magic, n, file->name, &bytes, err);
    if (rc < 0)
        return rc;
    n = (size_t)CW_MIN((uint64_t)bytes, file->size);
    cw_autofree uint8_t *head = cw_mem_new(n);
    rc = cw_readable_get(file, 0, head, n, err);
    return rc < 0 ? rc : cw_npy_parse(head, n, file->name, ret_header, err);
}

/* ---- what the first file says ---- */

static int check(const void *opts, struct cw_err *err)
{
    const struct npy_opts *o = opts;
    if (o->dtype == DTYPE_AUTO && o->dims.n > 0)
        return cw_err_set(err, CW_E_INVALID, "option dims: goes with dtype only");
    return 0;
}

static bool is_complete(const void *opts)
{
    return ((const struct npy_opts *)opts)->dtype != DTYPE_AUTO;
}

static int read_header_at(const char *path, struct cw_npy_header *ret_header, struct cw_err *err)
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

static int complete(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err)
{
    const struct npy_opts *o = opts;
    struct cw_npy_header h;
    cw_autofree char *path = NULL;
    int rc = cw_file_first(&o->pattern, how, &path, err);
    if (rc == 0)
        rc = read_header_at(path, &h, err);
    if (rc == 0 && h.rank == 0)
        rc = cw_err_set(err, CW_E_INVALID, "%s: its array is one value, and has no rows", path);
    if (rc < 0)
        return rc;
    cw_value_set_str(cw_value_member(said, "dtype"), cw_dtype_name(h.dtype));
    struct cw_value *dims = cw_value_set_list(cw_value_member(said, "dims"), (size_t)h.rank - 1);
    for (int i = 1; i < h.rank; i++)
        cw_value_set_i64(&dims[i - 1], h.dims[i]);
    return 0;
}

/* ---- opening ---- */

static int check_header(const struct cw_npy_header *h, const struct cw_field *field,
                        const struct cw_file *file, struct cw_err *err)
{
    bool fits = h->dtype == field->dtype && h->rank == field->rank + 1;
    for (int i = 0; fits && i < field->rank; i++)
        fits = field->dims[i] < 0 || field->dims[i] == h->dims[i + 1];
    if (!fits) {
        CW_STR_AUTO text = {0};
        for (int i = 0; i < h->rank; i++)
            cw_str_addf(&text, "%s%lld", i ? "," : "", (long long)h->dims[i]);
        return cw_err_set(
            err, CW_E_INVALID,
            "%s: its array is %s[%s]: its rows are not what the options dtype and dims "
            "say",
            file->path, cw_dtype_name(h->dtype), cw_str_text(&text));
    }
    uint64_t bytes = h->header_bytes + h->data_bytes;
    if ((uint64_t)file->stamp.size != bytes)
        return cw_err_set(err, CW_E_CORRUPT,
                          "%s: %s: its array needs %llu bytes, the file has %lld", file->path,
                          (uint64_t)file->stamp.size < bytes ? "truncated" : "too long",
                          (unsigned long long)bytes, (long long)file->stamp.size);
    return 0;
}

static int read_head(void *arg, const struct cw_readable *file, struct cw_err *err)
{
    return read_header(file, arg, err);
}

static int prepare(void *state, size_t i, const struct cw_op_open *how, struct cw_err *err)
{
    struct npy_state *s = state;
    if (!s->headers)
        s->headers = CW_NEW_ARRAY(struct cw_npy_header, s->source.files->n);
    struct cw_npy_header *h = &s->headers[i];
    int rc = cw_file_source_head(&s->source, i, "npy 1", read_head, h, err);
    if (rc == 0)
        rc = check_header(h, &how->out->fields[0], &s->source.files->v[i], err);
    if (rc == 0 && how->manifest)
        rc = cw_file_source_compare(&s->source, i, (uint64_t)h->dims[0], "rows", err);
    if (rc == 0)
        s->source.files->v[i].records = h->dims[0];
    return rc;
}

static void end(void *state)
{
    struct npy_state *s = state;
    cw_mem_free(s->headers);
}

static int load_values(void *state, size_t i, void **ret_values, struct cw_err *err)
{
    const struct npy_state *s = state;
    const struct cw_npy_header *h = &s->headers[i];
    struct cw_file_use use;
    int rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc < 0)
        return rc;
    void *values = cw_mem_try(CW_MAX((size_t)h->data_bytes, 1));
    if (values)
        rc = cw_readable_get(&use.readable, h->header_bytes, values, (size_t)h->data_bytes, err);
    else
        rc = cw_err_set(err, CW_E_NOMEM,
                        "%s: no memory for its %llu bytes, which are in Fortran order",
                        s->source.files->v[i].path, (unsigned long long)h->data_bytes);
    cw_file_set_release(s->source.files, &use);
    if (rc < 0)
        cw_mem_free(values);
    else
        *ret_values = values;
    return rc;
}

static const struct cw_file_source_kind kind = {.state_bytes = sizeof(struct npy_state),
                                                .end = end,
                                                .prepare = prepare,
                                                .load = load_values,
                                                .unload = cw_mem_free};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct npy_opts *o = opts;
    return cw_file_source_new(&kind, &o->pattern, how, ret_state, err);
}

/* ---- rows ---- */

/* Reads n rows of file i. */
static int get_rows(struct npy_state *s, size_t i, uint64_t row, size_t n, void *dst,
                    struct cw_err *err)
{
    const struct cw_npy_header *h = &s->headers[i];
    const void *values = NULL;
    if (!cw_npy_is_spread(h))
        return cw_npy_rows_read(s->source.files, i, h, h->header_bytes, row, n, dst, err);
    int rc = cw_file_source_get(&s->source, i, &values, err);
    if (rc == 0)
        cw_npy_rows_copy(h, values, row, n, dst);
    return rc;
}

static int read_row(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                    struct cw_element *ret_element, struct cw_err *err)
{
    struct npy_state *s = state;
    size_t i = cw_file_set_locate(s->source.files, pos);
    const struct cw_npy_header *h = &s->headers[i];
    struct cw_view view = {.dtype = h->dtype, .rank = h->rank - 1};
    (void)opts;
    memcpy(view.dims, h->dims + 1, sizeof(view.dims));
    int rc = cw_op_output(ctx, &view, err);
    if (rc == 0 && view.bytes > 0)
        rc = get_rows(s, i, (uint64_t)(pos - s->source.files->v[i].first), 1, view.data, err);
    ret_element->n = 1;
    ret_element->fields[0] = view;
    return rc;
}

static int read_rows(const void *opts, void *state, const int64_t *positions, size_t n,
                     const struct cw_column *columns)
{
    struct npy_state *s = state;
    const size_t bytes = columns[0].bytes;
    uint8_t *dst = columns[0].data;
    int rc = 0;
    (void)opts;
    for (size_t at = 0, run, i; rc == 0 && at < n; at += run) {
        uint64_t row;
        run = cw_file_set_run(s->source.files, positions + at, n - at, &i, &row);
        rc = get_rows(s, i, row, run, dst + at * bytes, NULL);
    }
    return rc;
}

static bool ahead_of(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead)
{
    const struct npy_state *s = state;
    const struct cw_file_set *files = s->source.files;
    (void)opts;
    if (!ahead || !cw_file_set_can_ahead(files))
        return cw_file_set_can_ahead(files);
    const size_t i = cw_file_set_locate(files, pos);
    const struct cw_npy_header *h = &s->headers[i];
    const uint64_t row = (uint64_t)(pos - files->v[i].first), bytes = cw_npy_row_bytes(h);
    if (!cw_npy_is_spread(h)) /* else all of it is loaded when it is first needed */
        cw_file_set_ahead(files, i, h->header_bytes + row * bytes, bytes, ahead);
    return true;
}

const struct cw_op cw_op_npy = {
    .name = "npy",
    .version = 1,
    .summary = "rows of NumPy array files (.npy)",
    .doc =
        "Gives each row, which is what the first index of the array picks, as a tensor: an array "
        "f32[1000,3,4] is 1000\n"
        "elements f32[3,4]. Files follow each other in bytewise order of their paths; `zip` puts "
        "two of these side\n"
        "by side. Reads versions 1 to 3, C and Fortran order, and both byte orders; rows come in "
        "C order and in\n"
        "this machine's byte order. What rows are is what the first file says, unless `dtype` and "
        "`dims` are given. Counts are known from the heads of the files alone. A file in "
        "Fortran order is\n"
        "read into memory once. Arrays of strings, objects, records and complex numbers are not "
        "supported.\n"
        "Patterns as for `files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct npy_opts),
    .check = check,
    .is_complete = is_complete,
    .complete = complete,
    .completed = "dtype and dims",
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_row,
    .read_rows = read_rows,
    .blocks = cw_file_source_blocks,
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
    .ahead = ahead_of,
};
