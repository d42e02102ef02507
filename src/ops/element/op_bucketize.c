/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `bucketize`: the number of the interval in which a value lies. */
#include "ops/element/columns_op.h"

#include <math.h>

#include "base/mem.h"
#include "ops/kernels/columns.h"
#include "ops/kernels/kernel_table.h"
#include "ops/kernels/num.h"

#define BOUNDS_MAX 65536
#define BLOCK 512

struct bucketize_opts {
    struct cw_value boundaries;
    int64_t buckets;
    int dtype;
    char *file;
    bool right;
    struct cw_value stats;
};
/* The boundaries of a field: row k has the boundary k of each column. */
struct bounds {
    const char *field; /* NULL: of all fields; belongs to the options */
    size_t columns, n, period;
    double *v;
    float *f32;
    int32_t *limit;
};
struct bucketize_state {
    struct bounds *v;
    size_t n;
};

enum { DTYPE_I32, DTYPE_I64 };
static const char *const dtype_words[] = {"i32", "i64", NULL};
static const char *const keys[] = {"quantiles", NULL};

#define OFFSET(member) offsetof(struct bucketize_opts, member)
static const struct cw_opt options[] = {
    {.name = "boundaries",
     .help = "ascending numbers, or a list of such lists, one for each column",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(boundaries)},
    {.name = "buckets",
     .help =
         "with file: how many buckets with equally many values; must divide the quantiles there",
     .type = CW_OPT_I64,
     .offset = OFFSET(buckets),
     .def = "10",
     .min = 2,
     .max = BOUNDS_MAX},
    {.name = "dtype",
     .help = "dtype of the result",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(dtype),
     .def = "\"i64\"",
     .names = dtype_words},
    {.name = "file",
     .help = "a file that `cachew analyze` wrote, which says quantiles of each field",
     .type = CW_OPT_STR,
     .offset = OFFSET(file)},
    {.name = "right",
     .help = "a value that equals a boundary is in the bucket below it, not in that above",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(right),
     .def = "false"},
    {.name = "stats",
     .help = "what the file says: {field: {\"quantiles\": [...]}}",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(stats)},
    {0},
};

static bool has_file(const struct bucketize_opts *o)
{
    return o->file && o->file[0];
}

/* ---- boundaries ---- */

static void bounds_fini(struct bounds *bounds)
{
    cw_mem_free(bounds->v);
    cw_mem_free(bounds->f32);
    cw_mem_free(bounds->limit);
}

/* The f32 that a value of that type is compared with instead of b, with the same answer. */
static float narrow_bound(double b, bool right)
{
    const float f = (float)b;
    if (right)
        return (double)f > b ? nextafterf(f, -INFINITY) : f;
    return (double)f < b ? nextafterf(f, INFINITY) : f;
}

static int check_ascending(const struct cw_f64_list *list, struct cw_err *err)
{
    for (size_t i = 1; i < list->n; i++)
        if (!(list->v[i - 1] <= list->v[i]))
            return cw_err_set(err, CW_E_INVALID, "%g stands before %g: it is not ascending",
                              list->v[i - 1], list->v[i]);
    return 0;
}

/* Takes the boundaries of n buckets out of quantiles. */
static int take_quantiles(struct cw_f64_list *list, int64_t buckets, struct cw_err *err)
{
    const size_t n = (size_t)buckets, steps = list->n - 1;
    if (list->n < 3 || steps % n != 0)
        return cw_err_set(err, CW_E_INVALID,
                          "option buckets: %zu does not divide the %zu quantiles of the file", n,
                          steps);
    for (size_t k = 1; k < n; k++)
        list->v[k - 1] = list->v[k * (steps / n)];
    list->n = n - 1;
    return 0;
}

/* Reads a column's boundaries; the caller frees them. */
static int read_column(const struct bucketize_opts *o, const struct cw_value *value,
                       bool are_quantiles, struct cw_f64_list *ret_list, struct cw_err *err)
{
    struct cw_f64_list list = {0};
    int rc = cw_columns_numbers(value, &list, err);
    if (rc == 0)
        rc = check_ascending(&list, err);
    if (rc == 0 && are_quantiles)
        rc = take_quantiles(&list, o->buckets, err);
    if (rc < 0)
        cw_mem_free(list.v);
    else
        *ret_list = list;
    return rc;
}

static void spread(struct bounds *bounds, const struct cw_f64_list *columns, bool right)
{
    const size_t period = bounds->period = cw_columns_period(bounds->columns);
    for (size_t c = 0; c < bounds->columns; c++)
        bounds->n = CW_MAX(bounds->n, columns[c].n);
    bounds->v = CW_NEW_ARRAY(double, bounds->n *period);
    bounds->f32 = CW_NEW_ARRAY(float, bounds->n *period);
    bounds->limit = CW_NEW_ARRAY(int32_t, period);
    for (size_t p = 0; p < period; p++) {
        const struct cw_f64_list *column = &columns[p % bounds->columns];
        bounds->limit[p] = (int32_t)column->n;
        for (size_t k = 0; k < bounds->n; k++) {
            const double b = k < column->n ? column->v[k] : (double)INFINITY;
            bounds->v[k * period + p] = b;
            bounds->f32[k * period + p] = narrow_bound(b, right);
        }
    }
}

static int bounds_init(const struct bucketize_opts *o, const struct cw_value *value,
                       bool are_quantiles, struct bounds *bounds, struct cw_err *err)
{
    const bool nested =
        value->type == CW_VALUE_LIST && value->n > 0 && value->items[0].type == CW_VALUE_LIST;
    bounds->columns = nested ? value->n : 1;
    struct cw_f64_list *columns = CW_NEW_ARRAY(struct cw_f64_list, bounds->columns);
    int rc = 0;
    for (size_t c = 0; rc == 0 && c < bounds->columns; c++) {
        rc = read_column(o, nested ? &value->items[c] : value, are_quantiles, &columns[c], err);
        if (rc < 0 && nested)
            cw_err_wrap(err, "column %zu", c);
    }
    size_t most = 0;
    for (size_t c = 0; rc == 0 && c < bounds->columns; c++)
        most = CW_MAX(most, columns[c].n);
    if (rc == 0 && most * cw_columns_period(bounds->columns) > 64 * BOUNDS_MAX)
        rc = cw_err_set(err, CW_E_LIMIT, "has more than %d numbers", 64 * BOUNDS_MAX);
    if (rc == 0)
        spread(bounds, columns, o->right);
    for (size_t c = 0; c < bounds->columns; c++)
        cw_mem_free(columns[c].v);
    cw_mem_free(columns);
    return rc;
}

static int bounds_of_field(const struct bucketize_opts *o, const char *field, struct bounds *bounds,
                           struct cw_err *err)
{
    *bounds = (struct bounds){0};
    if (o->stats.type == CW_VALUE_NULL) {
        int rc = bounds_init(o, &o->boundaries, false, bounds, err);
        return rc < 0 ? cw_err_wrap(err, "option boundaries") : 0;
    }
    const struct cw_value *value = cw_columns_stats(&o->stats, field, "quantiles", err);
    if (!value)
        return CW_E_INVALID;
    bounds->field = field;
    int rc = bounds_init(o, value, true, bounds, err);
    return rc < 0 ? cw_err_wrap(err, "option stats: field \"%s\"", field) : 0;
}

static int check(const void *opts, struct cw_err *err)
{
    const struct bucketize_opts *o = opts;
    const bool has_boundaries = o->boundaries.type != CW_VALUE_NULL;
    struct bounds bounds = {0};
    if (has_boundaries == (o->stats.type != CW_VALUE_NULL || has_file(o)))
        return cw_err_set(err, CW_E_INVALID,
                          "either the option boundaries is needed, or the option file");
    if (!has_boundaries)
        return cw_columns_check_stats(&o->stats, err);
    int rc = bounds_of_field(o, NULL, &bounds, err);
    bounds_fini(&bounds);
    return rc;
}

static bool is_complete(const void *opts)
{
    const struct bucketize_opts *o = opts;
    return !has_file(o) || o->stats.type != CW_VALUE_NULL;
}

static int complete(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err)
{
    (void)how;
    return cw_columns_complete(((const struct bucketize_opts *)opts)->file, keys, said, err);
}

/* ---- fields ---- */

static enum cw_dtype result_of(const struct bucketize_opts *o)
{
    return o->dtype == DTYPE_I32 ? CW_DTYPE_I32 : CW_DTYPE_I64;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    struct bounds bounds = {.columns = 1};
    int rc = is_complete(opts) ? bounds_of_field(opts, in->name, &bounds, err) : 0;
    if (rc == 0)
        rc = cw_columns_infer(bounds.columns, in, err);
    bounds_fini(&bounds);
    if (rc < 0)
        return rc;
    *ret_field = *in;
    ret_field->dtype = result_of(opts);
    return 0;
}

static void close_state(void *state)
{
    struct bucketize_state *s = state;
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        bounds_fini(&s->v[i]);
    cw_mem_free(s->v);
    cw_mem_free(s);
}

/* Fields of the file that nobody asks for may have quantiles that do not fit. */
static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct bucketize_opts *o = opts;
    struct bucketize_state *s = CW_NEW(struct bucketize_state);
    const bool is_by_field = o->stats.type == CW_VALUE_OBJECT;
    const size_t n = is_by_field ? o->stats.n : 1;
    int rc = 0;
    (void)how;
    s->v = CW_NEW_ARRAY(struct bounds, n + 1);
    for (size_t i = 0; i < n; i++) {
        rc = bounds_of_field(o, is_by_field ? o->stats.keys[i] : NULL, &s->v[s->n], err);
        if (rc == 0)
            s->n++;
        else
            bounds_fini(&s->v[s->n]);
    }
    if (s->n > 0 || n == 0)
        rc = 0;
    if (rc < 0)
        close_state(s);
    else
        *ret_state = s;
    return rc;
}

static const struct bounds *find(const struct bucketize_state *s, const char *field)
{
    for (size_t i = 0; i < s->n; i++)
        if (!s->v[i].field || cw_str_eq(s->v[i].field, field))
            return &s->v[i];
    return NULL; /* infer_field has refused it */
}

/* ---- values ---- */

/* Whether a boundary counts for x; all count for NaN. */
static bool is_passed(double x, double bound, bool right)
{
    return right ? !(x <= bound) : !(x < bound);
}

static int64_t bucket(const struct bounds *bounds, double x, size_t p, bool right)
{
    size_t low = 0, high = (size_t)bounds->limit[p];
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (is_passed(x, bounds->v[middle * bounds->period + p], right))
            low = middle + 1;
        else
            high = middle;
    }
    return (int64_t)low;
}

/* Computes n values, of which the first has its boundaries at p. */
static void run_block(const struct bucketize_opts *o, const struct bounds *bounds,
                      const struct cw_view *in, size_t begin, size_t n, size_t p, int64_t *dst)
{
    const struct cw_columns_bounds f32 = {.n = bounds->n,
                                          .period = bounds->period,
                                          .bounds = bounds->f32,
                                          .limit = bounds->limit,
                                          .right = o->right};
    if (in->dtype == CW_DTYPE_F32 && p == 0)
        cw_kernels()->column_bucket(dst, (const float *)in->data + begin, n, &f32);
    else
        for (size_t i = 0; i < n; i++, p = p + 1 == bounds->period ? 0 : p + 1)
            dst[i] = bucket(bounds, cw_num_get_f64(in->dtype, in->data, begin + i), p, o->right);
}

/* i32 are made of i64, a block after the other; each begins at a column 0 if a period fits in it. */
static void run_narrow(const struct bucketize_opts *o, const struct bounds *bounds,
                       const struct cw_view *in, int32_t *dst, size_t n)
{
    int64_t block[BLOCK];
    const size_t period = bounds->period, step = period < BLOCK ? BLOCK / period * period : BLOCK;
    for (size_t begin = 0; begin < n; begin += step) {
        const size_t values = CW_MIN(step, n - begin);
        run_block(o, bounds, in, begin, values, begin % period, block);
        for (size_t i = 0; i < values; i++)
            dst[begin + i] = (int32_t)block[i];
    }
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct bounds *bounds = find(state, ctx->in->fields[ctx->field].name);
    (void)scratch;
    if (!bounds)
        return cw_err_set(err, CW_E_INTERNAL, "a field without boundaries");
    int rc = cw_columns_check(bounds->columns, in, err);
    out->dtype = result_of(opts);
    if (rc == 0)
        rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    const size_t n = in->bytes / cw_dtype_bytes(in->dtype);
    if (out->dtype == CW_DTYPE_I64)
        run_block(opts, bounds, in, 0, n, 0, out->data);
    else
        run_narrow(opts, bounds, in, out->data, n);
    return 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct bucketize_opts *o = opts;
    const bool nested = o->boundaries.type == CW_VALUE_LIST && o->boundaries.n > 0 &&
                        o->boundaries.items[0].type == CW_VALUE_LIST;
    *ret_facts = (struct cw_op_facts){0};
    /* with a file the numbers go by names of fields, which other operators may change */
    if (o->boundaries.type != CW_VALUE_NULL)
        cw_columns_facts(nested ? o->boundaries.n : 1, in, fields, fields_n, ret_facts);
}

const struct cw_op cw_op_bucketize = {
    .name = "bucketize",
    .version = 1,
    .summary = "numbers the interval in which a value lies",
    .doc =
        "The number of boundaries that are not above the value, as NumPy's digitize has it: with "
        "[0, 10] values below 0\n"
        "are 0, those from 0 on 1, those from 10 on 2. With `right` boundaries that are below the "
        "value count instead.\n"
        "NaN is in the last bucket. One list of `boundaries` is for all values, a list of lists "
        "has one for each column,\n"
        "which is a place in the last dimension. Works on all float fields unless `fields` says "
        "which; integers may be\n"
        "named.\n"
        "\n"
        "`file` names a file that `cachew analyze` wrote; `buckets` buckets are then made of the "
        "quantiles of each field\n"
        "there. It is read once, where the job is prepared; what it says becomes part of the job "
        "(`stats`).",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_POINTWISE | CW_OP_CAST | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct bucketize_opts),
    .check = check,
    .is_complete = is_complete,
    .complete = complete,
    .completed = "stats",
    .accepts = cw_columns_accepts,
    .infer_field = infer_field,
    .open = open_state,
    .close = close_state,
    .apply_field = apply_field,
    .facts = facts,
};
