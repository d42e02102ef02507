/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `inflate`: repeats the bytes of a field `factor` times. It stands for operators
 * that make data larger, in tests. */
#include "ops/op_util.h"

#include <string.h>

struct inflate_opts {
    int64_t factor;
};

static const struct cw_opt options[] = {
    {.name = "factor",
     .help = "how many times as large",
     .type = CW_OPT_I64,
     .offset = offsetof(struct inflate_opts, factor),
     .min = 1,
     .max = 1 << 20,
     .flags = CW_OPT_REQUIRED},
    {0},
};

static bool accepts(const struct cw_field *field)
{
    (void)field;
    return true;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct inflate_opts *o = opts;
    *ret_field = *in;
    if (in->dtype == CW_DTYPE_STR)
        return 0;
    if (in->rank == 0) {
        ret_field->rank = 1;
        ret_field->dims[0] = o->factor;
    } else if (in->dims[0] >= 0 &&
               __builtin_mul_overflow(in->dims[0], o->factor, &ret_field->dims[0])) {
        return cw_err_set(err, CW_E_LIMIT, "option factor: %lld rows times %lld is too large",
                          (long long)in->dims[0], (long long)o->factor);
    }
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct inflate_opts *o = opts;
    (void)state;
    (void)scratch;
    if (out->rank == 0 && out->dtype != CW_DTYPE_STR) {
        out->rank = 1;
        out->dims[0] = o->factor;
    } else if (out->dtype != CW_DTYPE_STR &&
               __builtin_mul_overflow(in->dims[0], o->factor, &out->dims[0])) {
        return cw_err_set(err, CW_E_LIMIT, "%lld rows times %lld is too large",
                          (long long)in->dims[0], (long long)o->factor);
    }
    if (__builtin_mul_overflow(in->bytes, (size_t)o->factor, &out->bytes))
        return cw_err_set(err, CW_E_LIMIT, "%zu bytes times %lld is too large", in->bytes,
                          (long long)o->factor);
    int rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    for (int64_t i = 0; i < o->factor && in->bytes > 0; i++)
        memcpy((char *)out->data + (size_t)i * in->bytes, in->data, in->bytes);
    return 0;
}

static bool has_no_effect(const void *opts, const struct cw_field *in)
{
    return ((const struct inflate_opts *)opts)->factor == 1 &&
           (in->rank > 0 || in->dtype == CW_DTYPE_STR);
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct inflate_opts *o = opts;
    cw_facts_of_fields(CW_EFFECT_REPEAT, fields, fields_n, ret_facts);
    for (size_t i = 0; i < fields_n; i++) {
        const struct cw_field *field = &in->fields[fields[i]];
        int64_t bytes = (int64_t)cw_dtype_bytes(field->dtype) * o->factor;
        for (int d = 0; d < field->rank; d++)
            if (field->dims[d] < 0 || __builtin_mul_overflow(bytes, field->dims[d], &bytes))
                ret_facts->refuses = true;
        if (field->dtype == CW_DTYPE_STR)
            ret_facts->refuses = true;
    }
}

const struct cw_op cw_op_inflate = {
    .name = "inflate",
    .version = 1,
    .summary = "makes fields larger by repeating them (for tests)",
    .doc = "Puts a field `factor` times after itself: along the first dimension (a scalar becomes "
           "a vector), or,\n"
           "for a string, its bytes. Works on all fields unless `fields` says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_GROW | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct inflate_opts),
    .accepts = accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = facts,
    .has_no_effect = has_no_effect,
};
