/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `truncate`: a part of the rows of a tensor that is too long. */
#include "ops/op_util.h"

struct truncate_opts {
    int64_t length;
    int keep;
};
enum keep { KEEP_FIRST, KEEP_LAST };
static const char *const keep_names[] = {"first", "last", NULL};

static const struct cw_opt options[] = {
    {.name = "length",
     .help = "how many values along the first dimension are kept",
     .type = CW_OPT_I64,
     .offset = offsetof(struct truncate_opts, length),
     .min = 0,
     .max = 0x1p40,
     .flags = CW_OPT_REQUIRED},
    {.name = "keep",
     .help = "which of them: the first or the last",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct truncate_opts, keep),
     .def = "\"first\"",
     .names = keep_names},
    {0},
};

static bool accepts(const struct cw_field *field)
{
    return field->dtype != CW_DTYPE_STR && field->rank == 1;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct truncate_opts *o = opts;
    if (in->dtype == CW_DTYPE_STR || in->rank == 0)
        return cw_err_set(err, CW_E_INVALID, "field \"%s\" is %s; a tensor is needed", in->name,
                          in->dtype == CW_DTYPE_STR ? "a str" : "a scalar");
    *ret_field = *in;
    if (in->dims[0] > o->length)
        ret_field->dims[0] = o->length;
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct truncate_opts *o = opts;
    (void)ctx;
    (void)state;
    (void)scratch;
    (void)err;
    if (in->dims[0] <= o->length)
        return 0;
    const size_t row = in->bytes / (size_t)in->dims[0];
    out->dims[0] = o->length;
    out->bytes = row * (size_t)o->length;
    if (o->keep == KEEP_LAST)
        out->data = (char *)in->data + (in->bytes - out->bytes);
    return 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)opts;
    (void)in;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
}

const struct cw_op cw_op_truncate = {
    .name = "truncate",
    .version = 1,
    .summary = "tensors of at most so many rows",
    .doc =
        "Keeps the first `length` values along the first dimension, or the last ones. A tensor\n"
        "that has no more stays as it is. Works on all fields with one dimension unless `fields`\n"
        "says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_SHRINK | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct truncate_opts),
    .accepts = accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = facts,
};
