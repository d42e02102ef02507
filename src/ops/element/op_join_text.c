/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `join_text`: one text of a list of strings. */
#include <string.h>

#include "ops/element/text_op.h"

struct join_opts {
    char *sep;
};

static const struct cw_opt options[] = {
    {.name = "sep",
     .help = "what is put between the strings",
     .type = CW_OPT_STR,
     .offset = offsetof(struct join_opts, sep),
     .def = "\" \""},
    {0},
};

static bool accepts(const struct cw_field *field)
{
    return field->dtype == CW_DTYPE_STR && field->rank == 1;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    (void)opts;
    if (!accepts(in))
        return cw_err_set(err, CW_E_INVALID, "field \"%s\" is no list of strings (str[?])",
                          in->name);
    *ret_field = *in;
    ret_field->rank = 0;
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct join_opts *o = opts;
    struct cw_str *text = &((struct cw_text_op_scratch *)scratch)->text;
    (void)state;
    cw_str_clear(text);
    for (int64_t i = 0; i < in->dims[0]; i++) {
        size_t n;
        const char *p = cw_strings_get(in->data, in->dims[0], i, &n);
        if (i > 0 && o->sep)
            cw_str_add(text, o->sep);
        cw_str_add_bytes(text, p, n);
    }
    out->rank = 0;
    return cw_text_op_output(text, ctx, out, err);
}

const struct cw_op cw_op_join_text = {
    .name = "join_text",
    .version = 1,
    .summary = "one text of a list of strings",
    .doc =
        "Puts the strings of a list one after another, with `sep` between them, as Python's\n"
        "str.join does. Works on all fields that are lists of strings unless `fields` says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct join_opts),
    .takes_lists = true,
    .accepts = accepts,
    .infer_field = infer_field,
    .scratch_new = cw_text_op_scratch_new,
    .scratch_free = cw_text_op_scratch_free,
    .apply_field = apply_field,
    .facts = cw_text_op_facts,
};
