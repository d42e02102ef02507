/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `lower`: texts in lower case. */
#include "ops/element/text_op.h"
#include "ops/text/normal_form.h"

static int lower(const void *opts, void *state, void *scratch, const void *p, size_t n,
                 struct cw_str *ret_text, struct cw_err *err)
{
    (void)opts;
    (void)state;
    (void)scratch;
    return cw_lower(p, n, ret_text, err);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    return cw_text_op_apply(ctx, lower, opts, state, NULL, scratch, in, out, err);
}

const struct cw_op cw_op_lower = {
    .name = "lower",
    .version = 1,
    .summary = "texts in lower case",
    .doc =
        "Makes letters small as Python's str.lower does: by Unicode's full mapping, with the "
        "small\n"
        "final sigma at the end of a word. Bytes that are no UTF-8 stay as they are. Works on all\n"
        "str fields, also on lists of strings, unless `fields` says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .takes_lists = true,
    .accepts = cw_text_op_accepts,
    .infer_field = cw_text_op_infer,
    .scratch_new = cw_text_op_scratch_new,
    .scratch_free = cw_text_op_scratch_free,
    .apply_field = apply_field,
    .facts = cw_text_op_facts,
};
