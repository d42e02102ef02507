/* SPDX-License-Identifier: Apache-2.0 */
/* An operator of one's own in C: mylab.whiten subtracts the mean of an image from its values, adds noise
 * if asked to, and multiplies. It works on each field that the pipeline names, one at a time. */
#include <cachew/op.h>

#include <stdbool.h>

static const struct cachew_op_engine *engine;

/* ---- options ---- */

struct whiten_opts {
    double gain;
    int64_t noise; /* the most that is added to a value or taken from it */
};

static const struct cachew_op_option whiten_options[] = {
    {.struct_size = sizeof(struct cachew_op_option),
     .name = "gain",
     .help = "factor of each value, after the mean is subtracted",
     .type = CACHEW_OP_OPT_F64,
     .offset = offsetof(struct whiten_opts, gain),
     .def = "1.0",
     .min = 0.001,
     .max = 1000},
    {.struct_size = sizeof(struct cachew_op_option),
     .name = "noise",
     .help = "whole numbers from -noise to noise are added, drawn for each value",
     .type = CACHEW_OP_OPT_I64,
     .offset = offsetof(struct whiten_opts, noise),
     .def = "0",
     .max = 100},
};

/* ---- the operator ---- */

static int infer_field(const void *opts, const struct cachew_op_field *in,
                       struct cachew_op_field *ret_field, struct cachew_op_error *error)
{
    (void)opts;
    if (in->dtype != CACHEW_OP_U8)
        return engine->fail(error, CACHEW_OP_INVALID, "field \"%s\": only u8 can be whitened",
                            in->name);
    ret_field->dtype = CACHEW_OP_F32;
    return 0;
}

static int64_t sum_of(const uint8_t *values, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum;
}

static int apply_field(const struct cachew_op_call *call, const struct cachew_op_view *in,
                       struct cachew_op_view *out, struct cachew_op_error *error)
{
    const struct whiten_opts *opts = call->opts;
    const uint8_t *from = in->data;
    const size_t n = in->bytes;
    out->dtype = CACHEW_OP_F32;
    int rc = engine->output(call, out, error); /* the place in the batch, if that is known */
    if (rc < 0)
        return rc;
    float *to = out->data;
    const double mean = n ? (double)sum_of(from, n) / (double)n : 0;
    for (size_t i = 0; i < n; i++) {
        double value = from[i];
        if (opts->noise > 0)
            value +=
                (double)engine->random_below(call, (uint32_t)i, 2 * (uint64_t)opts->noise + 1) -
                (double)opts->noise;
        to[i] = (float)((value - mean) * opts->gain);
    }
    return 0;
}

static const struct cachew_op whiten = {
    .struct_size = sizeof(struct cachew_op),
    .name = "mylab.whiten",
    .version = 1,
    .summary = "bytes without their mean, as floats",
    .doc = "Subtracts the mean of a field of u8 from its values, adds noise, and multiplies by "
           "`gain`.",
    .kind = CACHEW_OP_ELEMENT,
    .traits = CACHEW_OP_RANDOM | CACHEW_OP_GROWS,
    .options = whiten_options,
    .options_n = sizeof(whiten_options) / sizeof(whiten_options[0]),
    .opts_bytes = sizeof(struct whiten_opts),
    .takes_dtypes = 1u << CACHEW_OP_U8,
    .infer_field = infer_field,
    .apply_field = apply_field,
};

static const struct cachew_op *const ops[] = {&whiten};
static const struct cachew_op_library library = {
    .struct_size = sizeof(struct cachew_op_library),
    .abi = CACHEW_OP_ABI,
    .name = "mylab-images",
    .version = "1.0",
    .ops = ops,
    .ops_n = sizeof(ops) / sizeof(ops[0]),
};

CACHEW_OP_LIBRARY(loader)
{
    engine = loader;
    return &library;
}
