/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `concat_fields`: puts fields one after another along an axis. */
#include "ops/element/join_op.h"

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    (void)in_n;
    return cw_join_infer(opts, false, in, ret_spec, err);
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    (void)state;
    (void)scratch;
    return cw_join_apply(ctx, opts, false, element, err);
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)fields;
    (void)fields_n;
    cw_join_facts(opts, in, ret_facts);
}

const struct cw_op cw_op_concat_fields = {
    .name = "concat_fields",
    .version = 1,
    .summary = "puts fields one after another along an axis",
    .doc =
        "Makes one field of the fields `names`, which have one dtype, and one shape but for the "
        "axis "
        "`axis`, by putting one after\n"
        "the other. It stands where the first of them stood, with the name `out`; the others are "
        "gone. (`concatenate` puts\n"
        "the elements of inputs one after another.)",
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
