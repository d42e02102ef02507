/* SPDX-License-Identifier: Apache-2.0 */
/* Source `fixed_records`: records of one size that lie one after another in binary files, or overlap:
 * sequences of a flat file of tokens. Sizes of files say all, so a job begins at once. */
#include "format/idx.h"
#include "format/inflate.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"

enum { DTYPE_STR = 0 };
static const char *const dtype_words[] = {"str", "u8",  "i8",  "u16", "i16", "u32", "i32",
                                          "u64", "i64", "f16", "f32", "f64", NULL};
enum { ORDER_LITTLE, ORDER_BIG };
static const char *const order_words[] = {"little", "big", NULL};
enum { REST_FAIL, REST_DROP };
static const char *const rest_words[] = {"fail", "drop", NULL};

struct fixed_opts {
    struct cw_str_list pattern;
    char *field;
    int dtype; /* index into dtype_words */
    struct cw_i64_list dims;
    int64_t step, offset;
    int order, rest;
};

struct fixed_state {
    struct cw_file_source source;
    struct cw_field field;
    size_t value_bytes;
    uint64_t record_bytes, step_bytes, offset;
    bool drops_rest, swaps;
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
     .names = dtype_words},
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
    {0},
};

static enum cw_dtype dtype_of(const struct fixed_opts *o)
{
    enum cw_dtype dtype = CW_DTYPE_STR;
    if (o->dtype != DTYPE_STR)
        CW_ASSERT(cw_dtype_parse(dtype_words[o->dtype], &dtype) == 0);
    return dtype;
}

/* Returns how many values a record has; 0: too many. */
static uint64_t values_n(const struct fixed_opts *o)
{
    uint64_t n = 1;
    for (size_t i = 0; i < o->dims.n; i++) {
        if (__builtin_mul_overflow(n, (uint64_t)o->dims.v[i], &n) || n > UINT64_C(1) << 32)
            return 0;
    }
    return n;
}

static int check(const void *opts, struct cw_err *err)
{
    const struct fixed_opts *o = opts;
    if (o->dtype == DTYPE_STR && o->dims.n > 1)
        return cw_err_set(err, CW_E_INVALID, "option dims: a str has one number, its bytes");
    if (values_n(o) == 0)
        return cw_err_set(err, CW_E_LIMIT, "option dims: a record has more than 2^32 values");
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct fixed_opts *o = opts;
    const int rank = o->dtype == DTYPE_STR ? 0 : (int)o->dims.n;
    (void)in;
    (void)in_n;
    return cw_op_infer_one(o->field, dtype_of(o), rank, o->dims.v, ret_spec, err);
}

static int count_records(const struct fixed_state *s, const struct cw_file *file, int64_t *ret_n,
                         struct cw_err *err)
{
    const uint64_t size = (uint64_t)file->stamp.size;
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
        return cw_err_set(err, CW_E_INVALID,
                          "%s: is compressed; records of one size are read at their place, so the "
                          "file must be inflated before",
                          file->path);
    int rc = count_records(s, file, &n, err);
    if (rc == 0 && how->manifest)
        return cw_file_source_compare(&s->source, i, (uint64_t)n, "records", err);
    if (rc == 0)
        file->records = n;
    return rc;
}

/* What is handed to `begin`, which is told that it gets the first member. */
struct fixed_open {
    struct cw_op_open how;
    const struct fixed_opts *opts;
};

static void begin(void *state, const struct cw_op_open *how)
{
    struct fixed_state *s = state;
    const struct fixed_opts *o = ((const struct fixed_open *)(const void *)how)->opts;
    const enum cw_dtype dtype = dtype_of(o);
    s->value_bytes = CW_MAX(cw_dtype_bytes(dtype), 1);
    s->record_bytes = values_n(o) * s->value_bytes;
    s->step_bytes = o->step > 0 ? (uint64_t)o->step * s->value_bytes : s->record_bytes;
    s->offset = (uint64_t)o->offset;
    s->drops_rest = o->rest == REST_DROP;
    s->swaps = o->order == ORDER_BIG && s->value_bytes > 1;
    s->field.dtype = dtype;
    s->field.rank = dtype == CW_DTYPE_STR ? 0 : (int)o->dims.n;
    for (int d = 0; d < s->field.rank; d++)
        s->field.dims[d] = o->dims.v[d];
}

static const struct cw_file_source_kind kind = {
    .state_bytes = sizeof(struct fixed_state), .begin = begin, .prepare = prepare};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct fixed_opts *o = opts;
    const struct fixed_open mine = {.how = *how, .opts = o};
    return cw_file_source_new(&kind, &o->pattern, &mine.how, ret_state, err);
}

/* Reads records k, k + 1, ... of file i: with one read, unless they overlap or there are gaps. */
static int read_some(struct fixed_state *s, size_t i, uint64_t k, size_t n, uint8_t *dst,
                     struct cw_err *err)
{
    const size_t each = (size_t)s->record_bytes, at_once = s->step_bytes == each ? n : 1;
    struct cw_file_use use;
    int rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc < 0)
        return rc;
    for (size_t at = 0; rc == 0 && at < n; at += at_once)
        rc = cw_readable_get(&use.readable, s->offset + (k + at) * s->step_bytes, dst + at * each,
                             at_once * each, err);
    cw_file_set_release(s->source.files, &use);
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
    const struct fixed_state *s = state;
    const struct cw_file_set *files = s->source.files;
    (void)opts;
    if (!ahead || !files->can_ahead)
        return files->can_ahead;
    const size_t i = cw_file_set_locate(files, pos);
    const uint64_t k = (uint64_t)(pos - files->v[i].first);
    cw_file_set_ahead(files, i, s->offset + k * s->step_bytes, s->record_bytes, ahead);
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
        "Not supported: compressed files, records of different lengths. Patterns as for `files`.",
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
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
    .ahead = ahead_of,
};
