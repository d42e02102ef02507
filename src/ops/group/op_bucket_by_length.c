/* SPDX-License-Identifier: Apache-2.0 */
/* Group operator `bucket_by_length`: batches of elements of like length, filled up to one shape. */
#include "ops/group/pad_options.h"
#include "ops/group/within.h"

#include <string.h>

#define BOUNDS_MAX 256

enum { TO_BOUND, TO_LONGEST };
enum { LONGER_OWN, LONGER_FAIL };
static const char *const fill_words[] = {"bound", "longest", NULL};
static const char *const longer_words[] = {"own", "fail", NULL};

struct bucket_opts {
    char *field;
    struct cw_i64_list bounds, sizes;
    int64_t tokens, step, span;
    int fill_to, longer;
    bool drop_remainder;
    struct cw_pad_options pad;
};

#define OFFSET(member) offsetof(struct bucket_opts, member)
static const struct cw_opt options[] = {
    {.name = "bounds",
     .help = "the greatest length of each bucket, rising; what is longer than all has a bucket of "
             "its own",
     .type = CW_OPT_I64_LIST,
     .offset = OFFSET(bounds),
     .min = 1,
     .max = 0x1p40,
     .flags = CW_OPT_REQUIRED,
     .len_min = 1,
     .len_max = BOUNDS_MAX},
    {.name = "sizes",
     .help = "elements of a batch: one number, or one for each bucket",
     .type = CW_OPT_I64_LIST,
     .offset = OFFSET(sizes),
     .min = 1,
     .max = 1 << 24,
     .len_max = BOUNDS_MAX + 1},
    {.name = "tokens",
     .help = "instead of sizes: the most values of a batch, filled up, of the field that tells the "
             "length (one element is always a batch)",
     .type = CW_OPT_I64,
     .offset = OFFSET(tokens),
     .def = "0",
     .min = 0,
     .max = 0x1p40},
    {.name = "field",
     .help = "its first dimension is the length; empty = the first field for which that is not "
             "known before the data are",
     .type = CW_OPT_STR,
     .offset = OFFSET(field)},
    {.name = "longer",
     .help = "what is longer than all bounds: it has a bucket of its own, or it is bad",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(longer),
     .names = longer_words,
     .def = "\"own\""},
    {.name = "fill_to",
     .help = "to which length first dimensions are filled up at least: the bucket's bound, or the "
             "longest of the batch",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(fill_to),
     .names = fill_words,
     .def = "\"bound\""},
    {.name = "step",
     .help = "batches of one bucket, and of one length, that come in a row: as many as there are "
             "coordinated consumers",
     .type = CW_OPT_I64,
     .offset = OFFSET(step),
     .def = "1",
     .min = 1,
     .max = 4096},
    {.name = "drop_remainder",
     .help = "leave out what is left in the buckets at the end of an item",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(drop_remainder),
     .def = "false"},
    CW_PAD_OPTION_ROWS(OFFSET(pad)),
    CW_SPAN_ROW(OFFSET(span)),
    {0},
};

static size_t buckets(const struct bucket_opts *o)
{
    return o->bounds.n + (o->longer == LONGER_OWN ? 1 : 0);
}

static int check(const void *opts, struct cw_err *err)
{
    const struct bucket_opts *o = opts;
    for (size_t i = 1; i < o->bounds.n; i++)
        if (o->bounds.v[i] <= o->bounds.v[i - 1])
            return cw_err_set(err, CW_E_INVALID, "option bounds: %lld is not above %lld",
                              (long long)o->bounds.v[i], (long long)o->bounds.v[i - 1]);
    if ((o->sizes.n > 0) == (o->tokens > 0))
        return cw_err_set(err, CW_E_INVALID, "options sizes and tokens: give one of them");
    if (o->sizes.n > 1 && o->sizes.n != buckets(o))
        return cw_err_set(err, CW_E_INVALID, "option sizes: %zu of them for %zu buckets",
                          o->sizes.n, buckets(o));
    return cw_pad_options_check(&o->pad, err);
}

/* Returns the field whose first dimension is the length; -1 if there is none. */
static int length_field(const struct bucket_opts *o, const struct cw_spec *in)
{
    int found = o->field ? cw_spec_find(in, o->field) : -1;
    for (size_t f = 0; !o->field && found < 0 && f < in->n; f++) {
        const struct cw_field *field = &in->fields[f];
        if (field->dtype != CW_DTYPE_STR && field->rank > 0 && field->dims[0] < 0)
            found = (int)f;
    }
    if (found >= 0 && (in->fields[found].dtype == CW_DTYPE_STR || in->fields[found].rank == 0))
        return -1;
    return found;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct bucket_opts *o = opts;
    CW_STR_AUTO spec = {0};
    (void)in_n;
    if (length_field(o, in) >= 0)
        return cw_pad_options_infer(&o->pad, in, -1, ret_spec, err);
    cw_spec_print(in, &spec);
    return cw_err_set(err, CW_E_INVALID,
                      "option field: %s%s%s is no field with a length; what comes in is %s",
                      o->field ? "\"" : "", o->field ? o->field : "there", o->field ? "\"" : "",
                      cw_str_text(&spec));
}

static int check_row(const void *opts, const struct cw_spec *in, const struct cw_view *row,
                     struct cw_err *err)
{
    const struct bucket_opts *o = opts;
    int f = length_field(o, in);
    int64_t length = row[f].dims[0], most = o->bounds.v[o->bounds.n - 1];
    if (o->longer == LONGER_OWN || length <= most)
        return 0;
    return cw_err_set(err, CW_E_INVALID, "field \"%s\" is %lld long, the last bound is %lld",
                      in->fields[f].name, (long long)length, (long long)most);
}

static bool group_pad(const void *opts, const struct cw_spec *in, size_t f, struct cw_pad *ret_pad)
{
    return cw_pad_options_of(&((const struct bucket_opts *)opts)->pad, in, f, ret_pad);
}

/* ---- buckets ---- */

struct bucket {
    uint32_t *rows; /* those that wait, in order */
    size_t n, cap;
    int64_t longest;
};
struct sorting {
    const struct cw_op_ctx *ctx;
    const struct bucket_opts *o;
    const struct cw_op_rows *rows;
    size_t field;
    struct bucket bucket[BOUNDS_MAX + 1];
    const struct cw_view **row; /* memory for the rows of a batch */
};

static size_t bucket_of(const struct bucket_opts *o, int64_t length)
{
    size_t lo = 0, hi = o->bounds.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (length <= o->bounds.v[mid])
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static int64_t length_of(const struct sorting *s, uint32_t row)
{
    return s->rows->row[row][s->field].dims[0];
}

/* Returns how many elements a batch of the bucket has, if this is the longest of them. */
static int64_t size_of(const struct bucket_opts *o, size_t b, int64_t longest)
{
    if (o->sizes.n > 0)
        return o->sizes.v[o->sizes.n > 1 ? b : 0];
    bool to_bound = o->fill_to == TO_BOUND && b < o->bounds.n;
    int64_t length = to_bound ? CW_MAX(o->bounds.v[b], longest) : longest;
    int64_t multiple = o->pad.multiple;
    length = (CW_MAX(length, 1) + multiple - 1) / multiple * multiple;
    return CW_MAX(o->tokens / length, 1);
}

/* Makes `step` batches of what waits in the bucket, each of as many elements as the others or one more. */
static int give(struct sorting *s, size_t b, struct cw_err *err)
{
    struct bucket *bucket = &s->bucket[b];
    size_t step = (size_t)s->o->step;
    bool to_bound = s->o->fill_to == TO_BOUND && b < s->o->bounds.n;
    int64_t length = to_bound ? s->o->bounds.v[b] : step > 1 ? bucket->longest : 0;
    int rc = cw_stop_check(s->ctx->stop, err);
    for (size_t k = 0; rc == 0 && k < step; k++) {
        size_t lo = bucket->n * k / step, hi = bucket->n * (k + 1) / step;
        for (size_t i = lo; i < hi; i++)
            s->row[i - lo] = s->rows->row[bucket->rows[i]];
        rc = s->rows->join(s->rows, bucket->rows[lo], s->row, hi - lo, length, err);
    }
    bucket->n = 0;
    bucket->longest = 0;
    return rc;
}

static int reserve(struct sorting *s, struct bucket *bucket, struct cw_err *err)
{
    if (bucket->n < bucket->cap)
        return 0;
    size_t cap = CW_MAX(2 * bucket->cap, 16);
    uint32_t *rows = cw_op_scratch(s->ctx, cap * sizeof(*rows), err);
    if (!rows)
        return CW_E_NOMEM;
    if (bucket->n > 0)
        memcpy(rows, bucket->rows, bucket->n * sizeof(*rows));
    bucket->rows = rows;
    bucket->cap = cap;
    return 0;
}

static int add(struct sorting *s, size_t b, uint32_t row, struct cw_err *err)
{
    struct bucket *bucket = &s->bucket[b];
    int64_t longest = CW_MAX(bucket->longest, length_of(s, row));
    int rc = 0;
    if (bucket->n > 0 && (int64_t)bucket->n >= size_of(s->o, b, longest) * s->o->step) {
        rc = give(s, b, err);
        longest = length_of(s, row);
    }
    if (rc == 0)
        rc = reserve(s, bucket, err);
    if (rc < 0)
        return rc;
    bucket->rows[bucket->n++] = row;
    bucket->longest = longest;
    return (int64_t)bucket->n >= size_of(s->o, b, longest) * s->o->step ? give(s, b, err) : 0;
}

/* At the end of an item: short batches, or, if there are fewer elements than batches, elements of the next
 * bucket. Those of the last one are left out. */
static int give_rest(struct sorting *s, struct cw_err *err)
{
    size_t n = buckets(s->o);
    int rc = 0;
    for (size_t b = 0; rc == 0 && b < n; b++) {
        struct bucket *bucket = &s->bucket[b];
        if (bucket->n >= (size_t)s->o->step)
            rc = give(s, b, err);
        for (size_t i = 0; rc == 0 && b + 1 < n && i < bucket->n; i++)
            rc = add(s, b + 1, bucket->rows[i], err);
    }
    return rc;
}

static int inside(const struct cw_op_ctx *ctx, const void *opts, const struct cw_op_rows *rows,
                  struct cw_err *err)
{
    const struct bucket_opts *o = opts;
    struct sorting *s = cw_op_scratch(ctx, sizeof(*s), err);
    int rc = s ? 0 : CW_E_NOMEM;
    if (rc < 0)
        return rc;
    memset(s, 0, sizeof(*s));
    s->ctx = ctx;
    s->o = o;
    s->rows = rows;
    s->field = (size_t)length_field(o, ctx->in);
    s->row = cw_op_scratch(ctx, (rows->n + 1) * sizeof(*s->row), err);
    rc = s->row ? 0 : CW_E_NOMEM;
    for (size_t r = 0; rc == 0 && r < rows->n; r++)
        rc = add(s, bucket_of(o, length_of(s, (uint32_t)r)), (uint32_t)r, err);
    return rc == 0 && !o->drop_remainder ? give_rest(s, err) : rc;
}

static int64_t span(const void *opts)
{
    return ((const struct bucket_opts *)opts)->span;
}

const struct cw_op cw_op_bucket_by_length = {
    .name = "bucket_by_length",
    .version = 1,
    .summary = "batches of elements of like length, filled up",
    .doc = "Sorts elements into buckets by the length of a field, and makes a batch of each bucket "
           "that has enough:\n"
           "`sizes`, or as many as `tokens` allow. Each is filled up to the bucket's bound (or the "
           "longest), so there are\n"
           "few shapes and little padding. With `step`, as many batches of one bucket and one "
           "length come in a row, so\n"
           "that coordinated consumers get like ones in each step; batches that end an item are "
           "then shorter, and\n"
           "elements that are too few for that go up to the next bucket, or are left out in the "
           "last one (fewer than\n"
           "`step` an item).\n"
           "\n" CW_INSIDE_DOC,
    .kind = CW_OP_GROUP,
    .traits = CW_OP_CHANGES_COUNT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct bucket_opts),
    .check = check,
    .infer = infer,
    .inside = inside,
    .check_row = check_row,
    .group_pad = group_pad,
    .joins = true,
    .span = span,
};
