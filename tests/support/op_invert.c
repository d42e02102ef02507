/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin whose operator test.invert does to bytes what the built-in `invert` does, and says the same facts
 * of itself: so it gets parts of images, and whole batches. */
#include <cachew/op.h>

static const struct cachew_op_engine *engine;

static int apply_field(const struct cachew_op_call *call, const struct cachew_op_view *in,
                       struct cachew_op_view *out, struct cachew_op_error *error)
{
    const uint8_t *from = in->data;
    int rc = engine->output(call, out, error);
    uint8_t *to = out->data;
    for (size_t i = 0; rc == 0 && i < in->bytes; i++)
        to[i] = (uint8_t)(255 - from[i]);
    return rc;
}

static const struct cachew_op invert = {
    .struct_size = sizeof(struct cachew_op),
    .name = "test.invert",
    .version = 1,
    .summary = "255 less the value",
    .kind = CACHEW_OP_ELEMENT,
    .facts = CACHEW_OP_EACH_VALUE | CACHEW_OP_NEVER_REFUSES | CACHEW_OP_BY_BATCH,
    .takes_dtypes = 1u << CACHEW_OP_U8,
    .apply_field = apply_field,
};
static const struct cachew_op *const ops[] = {&invert};
static const struct cachew_op_library library = {.struct_size = sizeof(struct cachew_op_library),
                                                 .abi = CACHEW_OP_ABI,
                                                 .name = "invert",
                                                 .ops = ops,
                                                 .ops_n = 1};

CACHEW_OP_LIBRARY(loader)
{
    engine = loader;
    return &library;
}
