/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `stack`: puts fields of one shape side by side along a new axis. */
#include "ops/element/join_op.h"

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    (void)in_n;
    return cw_join_infer(opts, true, in, ret_spec, err);
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    (void)state;
    (void)scratch;
    return cw_join_apply(ctx, opts, true, element, err);
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)fields;
    (void)fields_n;
    cw_join_facts(opts, in, ret_facts);
}

const struct cw_op cw_op_stack = {
    .name = "stack",
    .version = 1,
    .summary = "puts fields side by side along a new axis",
    .doc =
        "Makes one field of the fields `names`, which have one dtype and one shape, along a new "
        "axis: "
        "three scalars become [3].\n"
        "It stands where the first of them stood, with the name `out`; the others are gone. With "
        "`axis` -1 the result of\n"
        "elements and that of a batch are the same: columns [4096] become [4096, 3].",
    .kind = CW_OP_ELEMENT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = cw_join_options,
    .options_bytes = sizeof(struct cw_join_opts),
    .infer = infer,
    .apply = apply,
    .facts = facts,
    .names = cw_join_names,
};
