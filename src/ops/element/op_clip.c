/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `clip`: limits values to a range. */
#include "ops/element/columns_op.h"

#include <math.h>

#include "base/mem.h"
#include "ops/kernels/columns.h"
#include "ops/kernels/kernel_table.h"
#include "ops/kernels/num.h"

struct clip_opts {
    struct cw_f64_list max, min;
};
struct clip_state {
    size_t columns, period;
    double *low, *high;
    float *low_f32, *high_f32;
};

#define OFFSET(member) offsetof(struct clip_opts, member)
static const struct cw_opt options[] = {
    {.name = "max",
     .help = "the largest value, or one for each column; none: no limit",
     .type = CW_OPT_F64_LIST,
     .offset = OFFSET(max),
     .len_min = 0,
     .len_max = CW_COLUMNS_MAX},
    {.name = "min",
     .help = "the least value, or one for each column; none: no limit",
     .type = CW_OPT_F64_LIST,
     .offset = OFFSET(min),
     .len_min = 0,
     .len_max = CW_COLUMNS_MAX},
    {0},
};

static size_t columns_of(const struct clip_opts *o)
{
    return CW_MAX(CW_MAX(o->min.n, o->max.n), 1);
}

static double bound(const struct cw_f64_list *list, size_t i, double none)
{
    return list->n == 0 ? none : list->v[list->n > 1 ? i : 0];
}

static int check(const void *opts, struct cw_err *err)
{
    const struct clip_opts *o = opts;
    size_t columns;
    if (o->min.n == 0 && o->max.n == 0)
        return cw_err_set(err, CW_E_INVALID, "option min or option max is needed");
    int rc = cw_columns_of_lists("min", &o->min, "max", &o->max, &columns, err);
    for (size_t i = 0; rc == 0 && i < columns; i++) {
        const double low = bound(&o->min, i, -(double)INFINITY);
        const double high = bound(&o->max, i, (double)INFINITY);
        if (!(low <= high))
            rc = cw_err_set(err, CW_E_INVALID, "option min: %g is above %g of option max", low,
                            high);
    }
    return rc;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    *ret_field = *in;
    return cw_columns_infer(columns_of(opts), in, err);
}

static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct clip_opts *o = opts;
    const double none_low = -(double)INFINITY, none_high = (double)INFINITY;
    struct clip_state *s = CW_NEW(struct clip_state);
    (void)how;
    (void)err;
    s->columns = columns_of(o);
    s->period = cw_columns_period(s->columns);
    s->low = cw_columns_spread(o->min.n ? o->min.v : &none_low, CW_MAX(o->min.n, 1), s->period);
    s->high = cw_columns_spread(o->max.n ? o->max.v : &none_high, CW_MAX(o->max.n, 1), s->period);
    s->low_f32 = cw_columns_narrow(s->low, s->period);
    s->high_f32 = cw_columns_narrow(s->high, s->period);
    *ret_state = s;
    return 0;
}

static void close_state(void *state)
{
    struct clip_state *s = state;
    if (!s)
        return;
    cw_mem_free(s->low);
    cw_mem_free(s->high);
    cw_mem_free(s->low_f32);
    cw_mem_free(s->high_f32);
    cw_mem_free(s);
}

static double clip(double x, double low, double high)
{
    const double v = x < low ? low : x;
    return v > high ? high : v;
}

/* Floats of other widths. */
static void clip_floats(const struct clip_state *s, const struct cw_view *in,
                        const struct cw_view *out, size_t n)
{
    for (size_t i = 0, p = 0; i < n; i++, p = p + 1 == s->period ? 0 : p + 1)
        cw_num_put_f64(out->dtype, out->data, i,
                       clip(cw_num_get_f64(in->dtype, in->data, i), s->low[p], s->high[p]));
}

/* The nearest integers within a range, cut to what the dtype holds. */
static void int_range(enum cw_dtype dtype, double low, double high, int64_t *ret_low,
                      int64_t *ret_high)
{
    const unsigned bits = (unsigned)cw_dtype_bytes(dtype) * 8;
    const bool is_signed = dtype == CW_DTYPE_I8 || dtype == CW_DTYPE_I16 || dtype == CW_DTYPE_I32 ||
                           dtype == CW_DTYPE_I64;
    const int64_t most = INT64_MAX >> (64 - bits - (is_signed ? 0 : 1));
    const int64_t least = is_signed ? -most - 1 : 0;
    const double f64[2] = {ceil(low), floor(high)};
    *ret_low = CW_MIN(CW_MAX(cw_num_get_i64(CW_DTYPE_F64, f64, 0), least), most);
    *ret_high = CW_MIN(CW_MAX(cw_num_get_i64(CW_DTYPE_F64, f64, 1), least), most);
}

static void clip_integers(const struct clip_state *s, const struct cw_view *in,
                          const struct cw_view *out, size_t n)
{
    int64_t low, high;
    for (size_t i = 0, p = 0; i < n; i++, p = p + 1 == s->period ? 0 : p + 1) {
        const int64_t x = cw_num_get_i64(in->dtype, in->data, i);
        int_range(in->dtype, s->low[p], s->high[p], &low, &high);
        const int64_t v = CW_MAX(x, low);
        cw_num_put_i64(out->dtype, out->data, i, CW_MIN(v, high));
    }
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct clip_state *s = state;
    (void)opts;
    (void)scratch;
    int rc = cw_columns_check(s->columns, in, err);
    if (rc == 0)
        rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    const size_t n = in->bytes / cw_dtype_bytes(in->dtype);
    if (in->dtype == CW_DTYPE_F32)
        cw_kernels()->column_clip(out->data, in->data, n, s->low_f32, s->high_f32, s->period);
    else if (cw_dtype_is_float(in->dtype))
        clip_floats(s, in, out, n);
    else
        clip_integers(s, in, out, n);
    return 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct clip_opts *o = opts;
    cw_columns_facts(columns_of(o), in, fields, fields_n, ret_facts);
    ret_facts->keeps_zero = true;
    for (size_t i = 0; i < columns_of(o); i++)
        if (bound(&o->min, i, -1) > 0 || bound(&o->max, i, 1) < 0)
            ret_facts->keeps_zero = false;
}

const struct cw_op cw_op_clip = {
    .name = "clip",
    .version = 1,
    .summary = "limits values to a range",
    .doc = "Values below `min` become it, then those above `max`, as NumPy's clip does: NaN stays "
           "NaN, the dtype stays.\n"
           "The numbers are rounded to the field's dtype; for integers `min` is rounded up and "
           "`max` down. One number is\n"
           "for all values, several are one for each column, which is a place in the last "
           "dimension. Works on all float\n"
           "fields unless `fields` says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_POINTWISE | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct clip_opts),
    .check = check,
    .accepts = cw_columns_accepts,
    .infer_field = infer_field,
    .open = open_state,
    .close = close_state,
    .apply_field = apply_field,
    .facts = facts,
};
