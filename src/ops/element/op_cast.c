/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `cast`: converts values to another dtype. The rules are those of NumPy's astype
 * where it defines them. Where C leaves the result open (a float beyond the integer's range, NaN),
 * it is fixed here: the nearest end of the range, and 0. */
#include "ops/element/planes.h"
#include "ops/kernels/num.h"
#include "ops/kernels/pixels.h"
#include "ops/op_util.h"

struct cast_opts {
    int dtype;
};
extern const struct cw_op cw_op_cast;

static const struct cw_opt options[] = {
    {.name = "dtype",
     .help = "dtype of the result, not str",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct cast_opts, dtype),
     .flags = CW_OPT_REQUIRED,
     .names = cw_dtype_names},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct cast_opts *o = opts;
    if (o->dtype == CW_DTYPE_STR)
        return cw_err_set(err, CW_E_INVALID, "option dtype: numbers cannot be cast to str");
    return 0;
}

static bool accepts(const struct cw_field *field)
{
    return field->dtype != CW_DTYPE_STR;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct cast_opts *o = opts;
    if (in->dtype == CW_DTYPE_STR)
        return cw_err_set(err, CW_E_INVALID, "field \"%s\" is a str; only numbers can be cast",
                          in->name);
    *ret_field = *in;
    ret_field->dtype = (enum cw_dtype)o->dtype;
    return 0;
}

/* The smaller of the two images is the one that is turned. */
static bool makes_planes(const void *opts, const struct cw_field *in)
{
    const struct cast_opts *o = opts;
    return in->rank == 3 && cw_dtype_bytes(in->dtype) <= cw_dtype_bytes((enum cw_dtype)o->dtype);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct cast_opts *o = opts;
    (void)state;
    (void)scratch;
    const uint8_t *values = in->data;
    size_t pixels;
    int rc = ctx->planes ? cw_planes_split(ctx, in, out, &values, &pixels, err) : 0;
    if (rc < 0)
        return rc;
    out->dtype = (enum cw_dtype)o->dtype;
    rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    cw_num_convert(out->dtype, out->data, in->dtype, values, in->bytes / cw_dtype_bytes(in->dtype));
    return 0;
}

static int begin(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct cast_opts *o = opts;
    (void)ctx;
    (void)state;
    (void)scratch;
    (void)in;
    (void)err;
    out->dtype = (enum cw_dtype)o->dtype;
    return CW_STRIP_MAKE;
}

static void make(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 const struct cw_view *in, const struct cw_strip *from, const struct cw_strip *to)
{
    const struct cast_opts *o = opts;
    const size_t bytes = cw_dtype_bytes(in->dtype), n = from->stride / bytes * (size_t)to->n;
    const size_t channels = to->plane ? (size_t)in->dims[2] : 1;
    const uint8_t *values = from->data;
    (void)ctx;
    (void)state;
    (void)scratch;
    if (!n)
        return;
    if (to->plane) {
        cw_pixels_split(to->spare, values, n / channels, channels, bytes, n / channels);
        values = to->spare;
    }
    for (size_t c = 0; c < channels; c++)
        cw_num_convert((enum cw_dtype)o->dtype, to->data + c * to->plane, in->dtype,
                       values + c * (n / channels) * bytes, n / channels);
}

static const struct cw_op_strips strips = {.begin = begin, .make = make};

static bool has_no_effect(const void *opts, const struct cw_field *in)
{
    const struct cast_opts *o = opts;
    return (int)in->dtype == o->dtype && in->dtype != CW_DTYPE_BOOL;
}

/* What the cast before it loses nothing of need not be cast twice. Between integers and floats the two differ
 * beyond the ends of the result's range: an integer keeps its low bits, a float becomes the nearest end. */
static bool takes_over(const void *opts, const struct cw_field *in, const struct cw_op *before,
                       const void *before_opts, const struct cw_field *from)
{
    const enum cw_dtype to = (enum cw_dtype)((const struct cast_opts *)opts)->dtype;
    (void)before_opts;
    if (before != &cw_op_cast || !cw_num_keeps(from->dtype, in->dtype) ||
        (to == from->dtype && cw_num_is_float(to))) /* bits of NaN: a copy keeps them */
        return false;
    return cw_num_is_float(from->dtype) == cw_num_is_float(in->dtype) || cw_num_is_float(to) ||
           cw_num_keeps(from->dtype, to);
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)opts;
    (void)in;
    cw_facts_of_fields(CW_EFFECT_EACH, fields, fields_n, ret_facts);
    ret_facts->keeps_zero = ret_facts->by_batch = true;
}

const struct cw_op cw_op_cast = {
    .name = "cast",
    .version = 1,
    .summary = "values as another dtype",
    .doc = "Converts each value. Float to integer cuts towards zero; what is beyond the range "
           "becomes its nearest\n"
           "end, NaN becomes 0. Integer to a narrower integer keeps the low bits. Anything to bool "
           "is \"not 0\".\n"
           "To fewer float bits rounds to nearest even. Works on all numeric fields unless "
           "`fields` says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_POINTWISE | CW_OP_CAST | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct cast_opts),
    .check = check,
    .accepts = accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = facts,
    .makes_planes = makes_planes,
    .has_no_effect = has_no_effect,
    .takes_over = takes_over,
    .strips = &strips,
};
