/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `hash_bucket`: puts ids and words into a fixed number of buckets. */
#include "base/hash.h"
#include "base/mem.h"
#include "data/strings.h"
#include "ops/element/columns_op.h"
#include "ops/kernels/bucket_hash.h"
#include "ops/kernels/num.h"

#define BLOCK 512

struct hash_bucket_opts {
    struct cw_i64_list buckets;
    int dtype;
    int64_t seed;
};
struct hash_bucket_state {
    size_t n;
    struct cw_divisor buckets[];
};

enum { DTYPE_I32, DTYPE_I64 };
static const char *const dtype_words[] = {"i32", "i64", NULL};

#define OFFSET(member) offsetof(struct hash_bucket_opts, member)
static const struct cw_opt options[] = {
    {.name = "buckets",
     .help = "how many there are, or one number for each column",
     .type = CW_OPT_I64_LIST,
     .offset = OFFSET(buckets),
     .min = 1,
     .max = 0x1p31,
     .flags = CW_OPT_REQUIRED,
     .len_min = 1,
     .len_max = CW_COLUMNS_MAX},
    {.name = "dtype",
     .help = "dtype of the result",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(dtype),
     .def = "\"i64\"",
     .names = dtype_words},
    {.name = "seed",
     .help = "another number gives another hash",
     .type = CW_OPT_I64,
     .offset = OFFSET(seed),
     .def = "0",
     .min = 0,
     .max = 0x1p62},
    {0},
};

static bool is_hashable(enum cw_dtype dtype)
{
    return !cw_dtype_is_float(dtype);
}

/* Lists of strings have to be named. */
static bool accepts(const struct cw_field *field)
{
    const bool is_list = field->dtype == CW_DTYPE_STR && field->rank > 0;
    return is_hashable(field->dtype) && field->dtype != CW_DTYPE_BOOL && !is_list;
}

static int check_last(const struct hash_bucket_opts *o, int rank, const int64_t *dims,
                      struct cw_err *err)
{
    const int64_t last = rank > 0 ? dims[rank - 1] : 1;
    if (o->buckets.n > 1 && last >= 0 && last != (int64_t)o->buckets.n)
        return cw_err_set(err, CW_E_INVALID,
                          "option buckets: has %zu numbers, but the last dimension is %lld",
                          o->buckets.n, (long long)last);
    return 0;
}

static enum cw_dtype result_of(const struct hash_bucket_opts *o)
{
    return o->dtype == DTYPE_I32 ? CW_DTYPE_I32 : CW_DTYPE_I64;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct hash_bucket_opts *o = opts;
    if (!is_hashable(in->dtype))
        return cw_err_set(err, CW_E_INVALID,
                          "field %s is %s: only integers and str have a hash (cast it first)",
                          in->name, cw_dtype_name(in->dtype));
    *ret_field = *in;
    ret_field->dtype = result_of(o);
    return check_last(o, in->rank, in->dims, err);
}

static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct hash_bucket_opts *o = opts;
    struct hash_bucket_state *s = cw_mem_new(sizeof(*s) + o->buckets.n * sizeof(s->buckets[0]));
    (void)how;
    (void)err;
    s->n = o->buckets.n;
    for (size_t i = 0; i < s->n; i++)
        s->buckets[i] = cw_divisor_of((uint64_t)o->buckets.v[i]);
    *ret_state = s;
    return 0;
}

/* Hashes a block of integers, of which the first is at column p. dst has room for all. */
static void run_block(const struct hash_bucket_opts *o, const struct hash_bucket_state *s,
                      const struct cw_view *in, size_t begin, size_t n, int64_t *dst)
{
    const int64_t *src = dst;
    if (in->dtype == CW_DTYPE_I64 || in->dtype == CW_DTYPE_U64)
        src = (const int64_t *)in->data + begin;
    else
        cw_num_convert(CW_DTYPE_I64, dst, in->dtype,
                       (const uint8_t *)in->data + begin * cw_dtype_bytes(in->dtype), n);
    cw_hash_ints(dst, src, n, (uint64_t)o->seed, s->buckets, s->n);
}

static void run_narrow(const struct hash_bucket_opts *o, const struct hash_bucket_state *s,
                       const struct cw_view *in, int32_t *dst, size_t n)
{
    int64_t block[BLOCK];
    const size_t step = s->n < BLOCK ? BLOCK / s->n * s->n : BLOCK;
    for (size_t begin = 0; begin < n; begin += step) {
        const size_t values = CW_MIN(step, n - begin);
        if (s->n <= BLOCK)
            run_block(o, s, in, begin, values, block);
        for (size_t i = 0; i < values; i++)
            dst[begin + i] = s->n <= BLOCK
                                 ? (int32_t)block[i]
                                 : (int32_t)cw_divisor_rest(
                                       cw_hash_int(cw_num_get_i64(in->dtype, in->data, begin + i),
                                                   (uint64_t)o->seed),
                                       s->buckets[(begin + i) % s->n]);
    }
}

/* A string, or each of a list. */
static void run_strings(const struct hash_bucket_opts *o, const struct hash_bucket_state *s,
                        const struct cw_view *in, const struct cw_view *out)
{
    const int64_t count = cw_strings_count(in);
    for (int64_t i = 0; i < count; i++) {
        size_t n = in->bytes;
        const char *p = in->rank > 0 ? cw_strings_get(in->data, count, i, &n) : in->data;
        const uint64_t hash = cw_hash_u64_seeded(p, n, (uint64_t)o->seed);
        cw_num_put_i64(out->dtype, out->data, (size_t)i,
                       (int64_t)cw_divisor_rest(hash, s->buckets[(size_t)i % s->n]));
    }
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct hash_bucket_opts *o = opts;
    const struct hash_bucket_state *s = state;
    (void)scratch;
    int rc = check_last(o, in->rank, in->dims, err);
    out->dtype = result_of(o);
    if (rc == 0)
        rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    if (in->dtype == CW_DTYPE_STR) {
        run_strings(o, s, in, out);
        return 0;
    }
    const size_t n = in->bytes / cw_dtype_bytes(in->dtype);
    if (out->dtype == CW_DTYPE_I64)
        run_block(o, s, in, 0, n, out->data);
    else
        run_narrow(o, s, in, out->data, n);
    return 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct hash_bucket_opts *o = opts;
    bool has_str = false;
    cw_columns_facts(o->buckets.n, in, fields, fields_n, ret_facts);
    for (size_t i = 0; i < fields_n; i++)
        has_str = has_str || in->fields[fields[i]].dtype == CW_DTYPE_STR;
    ret_facts->by_batch = ret_facts->by_batch && !has_str;
    if (has_str) /* a string is one value, whatever its bytes */
        ret_facts->effect = CW_EFFECT_OTHER;
}

const struct cw_op cw_op_hash_bucket = {
    .name = "hash_bucket",
    .version = 1,
    .summary = "puts ids and words into a fixed number of buckets",
    .doc = "The bucket of a value is its hash modulo `buckets`: XXH3's 64 bits (xxh3_64 of the "
           "package xxhash, with `seed`) of the\n"
           "bytes of a str, or of the 8 bytes of an integer as i64 in little endian. One number of "
           "buckets is for all\n"
           "values, several are one for each column, which is a place in the last dimension. Works "
           "on all strings and\n"
           "integers unless `fields` says which; lists of strings (and a batch of them) become as "
           "many numbers if they are named\n"
           "there.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_POINTWISE | CW_OP_CAST | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct hash_bucket_opts),
    .takes_lists = true,
    .accepts = accepts,
    .infer_field = infer_field,
    .open = open_state,
    .close = cw_mem_free,
    .apply_field = apply_field,
    .facts = facts,
};
