/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `argmax`: the place of the largest value along an axis. */
#include <math.h>
#include <string.h>

#include "ops/element/axis.h"
#include "ops/kernels/num.h"

struct argmax_opts {
    int64_t axis;
};

static const struct cw_opt options[] = {
    CW_AXIS_ROW(offsetof(struct argmax_opts, axis), "the axis that is searched; -1 is the last"),
    {0},
};

static bool accepts(const struct cw_field *field)
{
    return field->dtype != CW_DTYPE_STR && field->rank >= 1;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct argmax_opts *o = opts;
    int axis;
    if (in->dtype == CW_DTYPE_STR)
        return cw_err_set(err, CW_E_INVALID, "field %s is a str", in->name);
    int rc = cw_axis_of(o->axis, in->rank, &axis, err);
    if (rc < 0)
        return rc;
    *ret_field = *in;
    ret_field->dtype = CW_DTYPE_I64;
    cw_axis_remove(axis, &ret_field->rank, ret_field->dims);
    return 0;
}

/* Whether a value is larger than the largest so far. The first NaN is the largest. */
static bool is_larger(enum cw_dtype dtype, const void *data, size_t i, size_t than)
{
    if (!cw_dtype_is_float(dtype)) {
        const int64_t a = cw_num_get_i64(dtype, data, i), b = cw_num_get_i64(dtype, data, than);
        return dtype == CW_DTYPE_U64 ? (uint64_t)a > (uint64_t)b : a > b;
    }
    const double a = cw_num_get_f64(dtype, data, i), b = cw_num_get_f64(dtype, data, than);
    return a > b || (isnan(a) && !isnan(b));
}

static int64_t find(const struct cw_view *in, size_t first, size_t step, size_t n)
{
    size_t best = 0;
    for (size_t k = 1; k < n; k++)
        if (is_larger(in->dtype, in->data, first + k * step, first + best * step))
            best = k;
    return (int64_t)best;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct argmax_opts *o = opts;
    struct cw_axis_span span;
    int axis;
    (void)state;
    (void)scratch;
    int rc = cw_axis_of(o->axis, in->rank, &axis, err);
    if (rc < 0)
        return rc;
    cw_axis_span(in->rank, in->dims, axis, &span);
    if (span.n == 0)
        return cw_err_set(err, CW_E_INVALID, "axis %d is empty: it has no largest value", axis);
    out->dtype = CW_DTYPE_I64;
    cw_axis_remove(axis, &out->rank, out->dims);
    rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    int64_t *dst = out->data;
    for (size_t a = 0; a < span.outer; a++)
        for (size_t b = 0; b < span.inner; b++)
            *dst++ = find(in, a * span.n * span.inner + b, span.inner, span.n);
    return 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct argmax_opts *o = opts;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
    for (size_t i = 0; i < fields_n; i++) {
        const struct cw_field *field = &in->fields[fields[i]];
        int axis;
        if (cw_axis_of(o->axis, field->rank, &axis, NULL) < 0 || field->dims[axis] < 1)
            ret_facts->refuses = true;
    }
    ret_facts->by_batch = !ret_facts->refuses && o->axis < 0;
}

const struct cw_op cw_op_argmax = {
    .name = "argmax",
    .version = 1,
    .summary = "the place of the largest value along an axis",
    .doc = "The place of the largest value along `axis`, which is removed, as i64: the first one "
           "among equals, and the first NaN\n"
           "if there is one, as NumPy's argmax has it. An axis of no values is an error of the "
           "element.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_SHRINK | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct argmax_opts),
    .accepts = accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = facts,
};
