/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `transpose`: puts the axes of a tensor into another order. */
#include "ops/kernels/strided.h"
#include "ops/op_util.h"

struct transpose_opts {
    struct cw_i64_list axes;
};

static const struct cw_opt options[] = {
    {.name = "axes",
     .help = "which axis comes at each place; none: the reverse order",
     .type = CW_OPT_I64_LIST,
     .offset = offsetof(struct transpose_opts, axes),
     .min = 0,
     .max = CW_RANK_MAX - 1,
     .len_min = 0,
     .len_max = CW_RANK_MAX},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct transpose_opts *o = opts;
    unsigned seen = 0;
    for (size_t i = 0; i < o->axes.n; i++) {
        if (o->axes.v[i] >= (int64_t)o->axes.n || (seen >> o->axes.v[i] & 1))
            return cw_err_set(err, CW_E_INVALID, "option axes: must have each of 0 to %zu once",
                              o->axes.n - 1);
        seen |= 1u << o->axes.v[i];
    }
    return 0;
}

static bool fits(const struct transpose_opts *o, const struct cw_field *field)
{
    return field->dtype != CW_DTYPE_STR && (o->axes.n == 0 || (size_t)field->rank == o->axes.n);
}

static bool accepts(const struct cw_field *field)
{
    return field->dtype != CW_DTYPE_STR && field->rank >= 2;
}

static int axis_at(const struct transpose_opts *o, int rank, int i)
{
    return o->axes.n ? (int)o->axes.v[i] : rank - 1 - i;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct transpose_opts *o = opts;
    if (!fits(o, in))
        return cw_err_set(err, CW_E_INVALID, "field %s is %s of rank %d, but option axes has %zu",
                          in->name, cw_dtype_name(in->dtype), in->rank, o->axes.n);
    *ret_field = *in;
    for (int i = 0; i < in->rank; i++)
        ret_field->dims[i] = in->dims[axis_at(o, in->rank, i)];
    return 0;
}

/* How far apart in the input values are that follow each other along an axis of the result. */
static void find_steps(const struct transpose_opts *o, const struct cw_view *in, ptrdiff_t *steps)
{
    ptrdiff_t step[CW_RANK_MAX], at = (ptrdiff_t)cw_dtype_bytes(in->dtype);
    for (int i = in->rank - 1; i >= 0; i--) {
        step[i] = at;
        at *= in->dims[i];
    }
    for (int i = 0; i < in->rank; i++)
        steps[i] = step[axis_at(o, in->rank, i)];
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct transpose_opts *o = opts;
    ptrdiff_t steps[CW_RANK_MAX];
    (void)state;
    (void)scratch;
    if (in->rank < 2)
        return 0;
    for (int i = 0; i < in->rank; i++)
        out->dims[i] = in->dims[axis_at(o, in->rank, i)];
    out->full_h = 0;
    int rc = cw_op_output(ctx, out, err);
    if (rc < 0 || out->bytes == 0)
        return rc;
    find_steps(o, in, steps);
    cw_strided_copy(out->data, in->data, cw_dtype_bytes(in->dtype), out->rank, out->dims, steps);
    return 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)opts;
    (void)in;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
}

const struct cw_op cw_op_transpose = {
    .name = "transpose",
    .version = 1,
    .summary = "puts the axes of a tensor into another order",
    .doc = "Axis i of the result is axis `axes`[i] of the input, as NumPy's transpose has it; "
           "without `axes` the order is\n"
           "reversed. Works on all tensors of rank 2 and more unless `fields` says which. Behind a "
           "`batch` axis 0 is that of\n"
           "the batch. (`layout` is for images.)",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct transpose_opts),
    .check = check,
    .accepts = accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = facts,
};
