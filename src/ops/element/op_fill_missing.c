/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `fill_missing`: puts a number where a value is missing. */
#include "ops/element/columns_op.h"

#include <math.h>

#include "base/mem.h"
#include "ops/kernels/columns.h"
#include "ops/kernels/kernel_table.h"
#include "ops/kernels/num.h"

struct fill_opts {
    struct cw_f64_list missing, value;
};
struct fill_state {
    size_t period;
    double *value;
    float *value_f32;
};

#define OFFSET(member) offsetof(struct fill_opts, member)
static const struct cw_opt options[] = {
    {.name = "missing",
     .help = "numbers that stand for a missing value, besides NaN",
     .type = CW_OPT_F64_LIST,
     .offset = OFFSET(missing),
     .len_min = 0,
     .len_max = 64},
    {.name = "value",
     .help = "what is put there, or one number for each column",
     .type = CW_OPT_F64_LIST,
     .offset = OFFSET(value),
     .def = "[0.0]",
     .len_min = 1,
     .len_max = CW_COLUMNS_MAX},
    {0},
};

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct fill_opts *o = opts;
    *ret_field = *in;
    if (o->missing.n == 0 && in->dtype != CW_DTYPE_STR && !cw_dtype_is_float(in->dtype))
        return cw_err_set(err, CW_E_INVALID,
                          "it is %s, which has no NaN: the option missing must say what is missing",
                          cw_dtype_name(in->dtype));
    return cw_columns_infer(o->value.n, in, err);
}

static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct fill_opts *o = opts;
    struct fill_state *s = CW_NEW(struct fill_state);
    (void)how;
    (void)err;
    s->period = cw_columns_period(o->value.n);
    s->value = cw_columns_spread(o->value.v, o->value.n, s->period);
    s->value_f32 = cw_columns_narrow(s->value, s->period);
    *ret_state = s;
    return 0;
}

static void close_state(void *state)
{
    struct fill_state *s = state;
    if (!s)
        return;
    cw_mem_free(s->value);
    cw_mem_free(s->value_f32);
    cw_mem_free(s);
}

static bool is_missing(const struct cw_f64_list *missing, double x)
{
    bool is = isnan(x);
    for (size_t k = 0; k < missing->n; k++)
        is = is || (x <= missing->v[k] && x >= missing->v[k]);
    return is;
}

/* Values of any dtype. An integer that is not missing is copied as it is. */
static void fill(const struct fill_opts *o, const struct fill_state *s, const struct cw_view *in,
                 const struct cw_view *out, size_t n)
{
    for (size_t i = 0, p = 0; i < n; i++, p = p + 1 == s->period ? 0 : p + 1) {
        const double x = cw_num_get_f64(in->dtype, in->data, i);
        if (is_missing(&o->missing, x))
            cw_num_convert(out->dtype, (uint8_t *)out->data + i * cw_dtype_bytes(out->dtype),
                           CW_DTYPE_F64, &s->value[p], 1);
        else if (cw_dtype_is_float(in->dtype))
            cw_num_put_f64(out->dtype, out->data, i, x);
        else
            cw_num_put_i64(out->dtype, out->data, i, cw_num_get_i64(in->dtype, in->data, i));
    }
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct fill_opts *o = opts;
    const struct fill_state *s = state;
    (void)scratch;
    int rc = cw_columns_check(o->value.n, in, err);
    if (rc == 0)
        rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    const size_t n = in->bytes / cw_dtype_bytes(in->dtype);
    if (in->dtype == CW_DTYPE_F32 && o->missing.n == 0)
        cw_kernels()->column_fill(out->data, in->data, n, s->value_f32, s->period);
    else
        fill(o, s, in, out, n);
    return 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct fill_opts *o = opts;
    cw_columns_facts(o->value.n, in, fields, fields_n, ret_facts);
    ret_facts->keeps_zero = !is_missing(&o->missing, 0);
}

const struct cw_op cw_op_fill_missing = {
    .name = "fill_missing",
    .version = 1,
    .summary = "puts a number where a value is missing",
    .doc =
        "NaN, and each number that `missing` names, becomes `value`: one number for all, or one "
        "for each column, which is\n"
        "a place in the last dimension. The dtype stays; the number is converted to it as `cast` "
        "does. Works on all float\n"
        "fields unless `fields` says which; integers need `missing`.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_POINTWISE | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct fill_opts),
    .accepts = cw_columns_accepts,
    .infer_field = infer_field,
    .open = open_state,
    .close = close_state,
    .apply_field = apply_field,
    .facts = facts,
};
