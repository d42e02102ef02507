/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `lower`: texts in lower case. */
#include "ops/element/text_op.h"
#include "ops/text/normal_form.h"

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    struct cw_str *text = scratch;
    (void)opts;
    (void)state;
    cw_str_clear(text);
    int rc = cw_lower(in->data, in->bytes, text, err);
    return rc == 0 ? cw_text_op_output(text, ctx, out, err) : rc;
}

const struct cw_op cw_op_lower = {
    .name = "lower",
    .version = 1,
    .summary = "texts in lower case",
    .doc =
        "Makes letters small as Python's str.lower does: by Unicode's full mapping, with the "
        "small\n"
        "final sigma at the end of a word. Bytes that are no UTF-8 stay as they are. Works on all\n"
        "str fields unless `fields` says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .accepts = cw_text_op_accepts,
    .infer_field = cw_text_op_infer,
    .scratch_new = cw_text_op_scratch_new,
    .scratch_free = cw_text_op_scratch_free,
    .apply_field = apply_field,
    .facts = cw_text_op_facts,
};
