/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `unicode_normalize`: texts in one of Unicode's normal forms. */
#include "ops/element/text_op.h"
#include "ops/text/normal_form.h"

struct normalize_opts {
    int form;
};

static const struct cw_opt options[] = {
    {.name = "form",
     .help = "nfc and nfd keep what differs only in looks, nfkc and nfkd do not",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct normalize_opts, form),
     .def = "\"nfc\"",
     .names = cw_normal_form_names},
    {0},
};

static int normalize(const void *opts, void *state, void *scratch, const void *p, size_t n,
                     struct cw_str *ret_text, struct cw_err *err)
{
    const struct normalize_opts *o = opts;
    (void)state;
    (void)scratch;
    return cw_normal_form((enum cw_normal_form)o->form, p, n, ret_text, err);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    if (in->rank == 0 && cw_is_ascii(in->data, in->bytes))
        return 0;
    return cw_text_op_apply(ctx, normalize, opts, state, NULL, scratch, in, out, err);
}

const struct cw_op cw_op_unicode_normalize = {
    .name = "unicode_normalize",
    .version = 1,
    .summary = "texts in one of Unicode's normal forms",
    .doc = "Writes texts in a normal form of Unicode (UAX 15), as Python's unicodedata.normalize\n"
           "does. Bytes that are no UTF-8 stay as they are. Works on all str fields, also on lists "
           "of\n"
           "strings, unless `fields` says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct normalize_opts),
    .takes_lists = true,
    .accepts = cw_text_op_accepts,
    .infer_field = cw_text_op_infer,
    .scratch_new = cw_text_op_scratch_new,
    .scratch_free = cw_text_op_scratch_free,
    .apply_field = apply_field,
    .facts = cw_text_op_facts,
};
