/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `one_hot`: a row of zeros with a one at the place that a number names. */
#include <string.h>

#include "ops/kernels/num.h"
#include "ops/op_util.h"

struct one_hot_opts {
    int64_t depth;
    int dtype;
};

#define OFFSET(member) offsetof(struct one_hot_opts, member)
static const struct cw_opt options[] = {
    {.name = "depth",
     .help = "how many places there are",
     .type = CW_OPT_I64,
     .offset = OFFSET(depth),
     .min = 1,
     .max = 1 << 24,
     .flags = CW_OPT_REQUIRED},
    {.name = "dtype",
     .help = "dtype of the result, not str",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(dtype),
     .def = "\"f32\"",
     .names = cw_dtype_names},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    if (((const struct one_hot_opts *)opts)->dtype == CW_DTYPE_STR)
        return cw_err_set(err, CW_E_INVALID, "option dtype: zeros and ones are no str");
    return 0;
}

static bool accepts(const struct cw_field *field)
{
    return field->dtype != CW_DTYPE_STR && !cw_dtype_is_float(field->dtype) &&
           field->rank < CW_RANK_MAX;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct one_hot_opts *o = opts;
    if (!accepts(in))
        return cw_err_set(err, CW_E_INVALID,
                          "field %s is %s of rank %d: only integers of a rank below %d name places",
                          in->name, cw_dtype_name(in->dtype), in->rank, CW_RANK_MAX);
    *ret_field = *in;
    ret_field->dtype = (enum cw_dtype)o->dtype;
    ret_field->dims[ret_field->rank++] = o->depth;
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct one_hot_opts *o = opts;
    (void)state;
    (void)scratch;
    out->dtype = (enum cw_dtype)o->dtype;
    out->dims[out->rank++] = o->depth;
    int rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    if (out->bytes > 0)
        memset(out->data, 0, out->bytes);
    const size_t n = in->bytes / cw_dtype_bytes(in->dtype);
    for (size_t i = 0; i < n; i++) {
        const int64_t place = cw_num_get_i64(in->dtype, in->data, i);
        if (place >= 0 && place < o->depth)
            cw_num_put_i64(out->dtype, out->data, i * (size_t)o->depth + (size_t)place, 1);
    }
    return 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)opts;
    (void)in;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
    ret_facts->by_batch = true;
}

const struct cw_op cw_op_one_hot = {
    .name = "one_hot",
    .version = 1,
    .summary = "a row of zeros with a one at the place that a number names",
    .doc = "Each number becomes `depth` values along a new last dimension, all 0 but that at its "
           "place, which is 1. A number\n"
           "below 0 or not below `depth` gives zeros only, as TensorFlow's one_hot has it. Works "
           "on all integer fields\n"
           "unless `fields` says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_GROW | CW_OP_CAST | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct one_hot_opts),
    .check = check,
    .accepts = accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = facts,
};
