/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `embedding_lookup`: the rows of a table that tokens stand for. */
#include <string.h>

#include "format/npy.h"
#include "format/read_at.h"
#include "ops/text/ids.h"
#include "ops/text/model_file.h"

enum { DTYPE_AUTO = 0 };
static const char *const dtype_words[] = {"auto", "f16", "f32", "f64", NULL};

struct lookup_opts {
    char *table;
    int dtype;
    int64_t width;
};

#define OFFSET(member) offsetof(struct lookup_opts, member)
static const struct cw_opt options[] = {
    {.name = "table",
     .help = "path of an .npy file: an array with a row for each token",
     .type = CW_OPT_STR,
     .offset = OFFSET(table),
     .flags = CW_OPT_REQUIRED},
    {.name = "dtype",
     .help = "dtype of the table; auto = as the file says",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(dtype),
     .def = "\"auto\"",
     .names = dtype_words},
    {.name = "width",
     .help = "values of a row; needed with dtype",
     .type = CW_OPT_I64,
     .offset = OFFSET(width),
     .def = "0",
     .min = 0,
     .max = 0x1p31},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct lookup_opts *o = opts;
    if ((o->dtype == DTYPE_AUTO) != (o->width == 0))
        return cw_err_set(err, CW_E_INVALID, "option width: belongs to dtype, and dtype to it");
    return 0;
}

static bool is_complete(const void *opts)
{
    return ((const struct lookup_opts *)opts)->dtype != DTYPE_AUTO;
}

/* The table must be one of rows of floats, in C order. */
static int check_header(const struct cw_npy_header *header, const char *path, struct cw_err *err)
{
    if (header->rank != 2 || header->fortran || header->swapped || header->dims[1] < 1 ||
        !cw_dtype_is_float(header->dtype))
        return cw_err_set(
            err, CW_E_INVALID,
            "%s: an array of floats with 2 dimensions, in C order and little endian, is "
            "needed",
            path);
    return 0;
}

static int read_header(const char *path, struct cw_npy_header *ret_header, struct cw_err *err)
{
    struct cw_readable file;
    struct cw_io_file opened;
    size_t n = 0;
    uint8_t magic[CW_NPY_MAGIC_BYTES];
    int rc = cw_readable_open(path, &opened, &file, err);
    if (rc < 0)
        return rc;
    const size_t magic_n = CW_MIN(file.size, sizeof(magic));
    rc = cw_readable_get(&file, 0, magic, magic_n, err);
    if (rc == 0)
        rc = cw_npy_header_bytes(magic, magic_n, path, &n, err);
    cw_autofree uint8_t *head = cw_mem_new(CW_MAX(n, 1));
    if (rc == 0 && n > file.size)
        rc = cw_err_set(err, CW_E_CORRUPT, "%s: ends within its header", path);
    if (rc == 0)
        rc = cw_readable_get(&file, 0, head, n, err);
    cw_io_close(&opened);
    if (rc == 0)
        rc = cw_npy_parse(head, n, path, ret_header, err);
    return rc == 0 ? check_header(ret_header, path, err) : rc;
}

static int complete(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err)
{
    const struct lookup_opts *o = opts;
    struct cw_npy_header header;
    (void)how;
    int rc = read_header(o->table, &header, err);
    if (rc < 0)
        return rc;
    cw_value_set_str(cw_value_member(said, "dtype"), cw_dtype_name(header.dtype));
    cw_value_set_i64(cw_value_member(said, "width"), header.dims[1]);
    return 0;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct lookup_opts *o = opts;
    int rc = cw_ids_check(in, err);
    if (rc < 0)
        return rc;
    *ret_field = *in;
    ret_field->rank = 2;
    ret_field->dims[1] = o->width;
    return cw_dtype_parse(dtype_words[CW_MAX(o->dtype, 1)], &ret_field->dtype);
}

struct state {
    struct cw_model_files files;
    char *bytes;
    const char *rows;
    int64_t rows_n;
    size_t row_bytes;
    struct cw_npy_header header;
};

static void close_state(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    cw_model_files_fini(&s->files);
    cw_mem_free(s->bytes);
    cw_mem_free(s);
}

static int read_table(struct state *s, const struct lookup_opts *o, const struct cw_op_open *how,
                      struct cw_err *err)
{
    size_t n;
    int rc = cw_model_file_read(&s->files, o->table, how, &s->bytes, &n, err);
    if (rc == 0)
        rc = cw_npy_parse(s->bytes, n, o->table, &s->header, err);
    if (rc == 0)
        rc = check_header(&s->header, o->table, err);
    if (rc < 0)
        return rc;
    if (s->header.dims[1] != o->width ||
        strcmp(cw_dtype_name(s->header.dtype), dtype_words[o->dtype]) != 0)
        return cw_err_set(err, CW_E_INVALID, "%s: has rows of %lld %s, not of %lld %s", o->table,
                          (long long)s->header.dims[1], cw_dtype_name(s->header.dtype),
                          (long long)o->width, dtype_words[o->dtype]);
    if (s->header.data_bytes > n - s->header.header_bytes)
        return cw_err_set(err, CW_E_CORRUPT, "%s: ends within its array", o->table);
    s->rows = s->bytes + s->header.header_bytes;
    s->rows_n = s->header.dims[0];
    s->row_bytes = (size_t)o->width * cw_dtype_bytes(s->header.dtype);
    return 0;
}

static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    struct state *s = CW_NEW(struct state);
    int rc = read_table(s, opts, how, err);
    if (rc < 0) {
        close_state(s);
        return rc;
    }
    *ret_state = s;
    return 0;
}

static void manifest(const void *opts, void *state, struct cw_value *ret_value)
{
    const struct state *s = state;
    (void)opts;
    cw_model_files_manifest(&s->files, ret_value);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct lookup_opts *o = opts;
    const struct state *s = state;
    const int32_t *ids = in->data;
    (void)scratch;
    out->dtype = s->header.dtype;
    out->rank = 2;
    out->dims[1] = o->width;
    int rc = cw_op_output(ctx, out, err);
    for (int64_t i = 0; rc == 0 && i < in->dims[0]; i++) {
        if (ids[i] < 0 || ids[i] >= s->rows_n)
            return cw_err_set(err, CW_E_INVALID, "token %d is not in 0 to %lld, the table's rows",
                              ids[i], (long long)s->rows_n - 1);
        memcpy((char *)out->data + (size_t)i * s->row_bytes,
               s->rows + (size_t)ids[i] * s->row_bytes, s->row_bytes);
    }
    return rc;
}

const struct cw_op cw_op_embedding_lookup = {
    .name = "embedding_lookup",
    .version = 1,
    .summary = "the rows of a table that tokens stand for",
    .doc =
        "Replaces tokens, i32[n], by the rows of a table with these numbers: [n,width]. The table "
        "is\n"
        "an .npy file of f16, f32 or f64, in C order; it is read into the worker's memory, and is\n"
        "identified by its content. A token that has no row is an error of the element. Works on\n"
        "all fields that are i32[?] unless `fields` says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_GROW | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct lookup_opts),
    .check = check,
    .is_complete = is_complete,
    .complete = complete,
    .completed = "dtype and width",
    .accepts = cw_ids_are,
    .infer_field = infer_field,
    .open = open_state,
    .close = close_state,
    .manifest = manifest,
    .apply_field = apply_field,
    .facts = cw_ids_facts,
};
