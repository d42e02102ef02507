/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `reshape`: gives the values of a tensor other dimensions. */
#include <string.h>

#include "ops/op_util.h"

#define KEEP 0     /* in shape: the dimension that is there */
#define INFER (-1) /* in shape: what is left over */

struct reshape_opts {
    struct cw_i64_list shape;
};

static const struct cw_opt options[] = {
    {.name = "shape",
     .help = "the new dimensions; -1 once for what is left over, 0 to keep the one at this place",
     .type = CW_OPT_I64_LIST,
     .offset = offsetof(struct reshape_opts, shape),
     .min = -1,
     .max = 0x1p40,
     .flags = CW_OPT_REQUIRED,
     .len_min = 0,
     .len_max = CW_RANK_MAX},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct reshape_opts *o = opts;
    size_t open_n = 0;
    for (size_t i = 0; i < o->shape.n; i++)
        open_n += o->shape.v[i] == INFER;
    return open_n <= 1 ? 0
                       : cw_err_set(err, CW_E_INVALID, "option shape: has -1 %zu times", open_n);
}

static bool accepts(const struct cw_field *field)
{
    return field->dtype != CW_DTYPE_STR;
}

static int misfit(const int64_t *in, int rank, struct cw_err *err)
{
    CW_STR_AUTO dims = {0};
    for (int i = 0; i < rank; i++)
        cw_str_addf(&dims, "%s%lld", i ? "," : "", (long long)in[i]);
    return cw_err_set(err, CW_E_INVALID, "option shape: the values of [%s] do not fill it",
                      cw_str_text(&dims));
}

#define UNKNOWN (-1)
#define TOO_LARGE (-2)

/* The product of dims without the place `but`. */
static int64_t product(const int64_t *dims, int rank, int but)
{
    int64_t n = 1;
    bool is_too_large = false;
    for (int i = 0; i < rank; i++) {
        if (i == but)
            continue;
        if (dims[i] < 0)
            return UNKNOWN;
        is_too_large = __builtin_mul_overflow(n, dims[i], &n) || is_too_large;
    }
    return is_too_large ? TOO_LARGE : n;
}

/* The dimensions of the result; dims of the input that are not known make others so. */
static int find_dims(const struct reshape_opts *o, const int64_t *in, int in_rank,
                     int64_t *ret_dims, struct cw_err *err)
{
    const int rank = (int)o->shape.n;
    int open_at = -1;
    int64_t dims[CW_RANK_MAX] = {0};
    for (int i = 0; i < rank; i++) {
        dims[i] = o->shape.v[i];
        if (dims[i] == INFER)
            open_at = i;
        if (dims[i] == KEEP && i >= in_rank)
            return cw_err_set(err, CW_E_INVALID,
                              "option shape: 0 at place %d, but what comes in has %d dimensions", i,
                              in_rank);
        if (dims[i] == KEEP)
            dims[i] = in[i];
    }
    const int64_t all = product(in, in_rank, -1), known = product(dims, rank, open_at);
    if (all != UNKNOWN && known != UNKNOWN) {
        if (open_at >= 0)
            dims[open_at] = known > 0 ? all / known : 0;
        if (known == TOO_LARGE || (open_at >= 0 && known == 0) || product(dims, rank, -1) != all)
            return misfit(in, in_rank, err);
    }
    memcpy(ret_dims, dims, sizeof(dims));
    return 0;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct reshape_opts *o = opts;
    if (in->dtype == CW_DTYPE_STR)
        return cw_err_set(err, CW_E_INVALID, "field %s is a str", in->name);
    *ret_field = *in;
    ret_field->rank = (int)o->shape.n;
    return find_dims(o, in->dims, in->rank, ret_field->dims, err);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct reshape_opts *o = opts;
    (void)ctx;
    (void)state;
    (void)scratch;
    out->rank = (int)o->shape.n; /* the values stay where they are */
    out->full_h = 0;
    return find_dims(o, in->dims, in->rank, out->dims, err);
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct reshape_opts *o = opts;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
    for (size_t i = 0; i < fields_n; i++) {
        const struct cw_field *field = &in->fields[fields[i]];
        int64_t dims[CW_RANK_MAX];
        if (find_dims(o, field->dims, field->rank, dims, NULL) < 0 ||
            product(field->dims, field->rank, -1) < 0 || product(dims, (int)o->shape.n, -1) < 0)
            ret_facts->refuses = true;
    }
}

const struct cw_op cw_op_reshape = {
    .name = "reshape",
    .version = 1,
    .summary = "gives a tensor other dimensions",
    .doc = "The same values, in the same order, with the dimensions `shape`: -1 stands once for "
           "what is left over, and 0 for the\n"
           "dimension that is at this place before, as ONNX's Reshape has it. Behind a `batch` the "
           "first dimension is\n"
           "that of the batch: 0 or -1 keeps it.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct reshape_opts),
    .check = check,
    .accepts = accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = facts,
};
