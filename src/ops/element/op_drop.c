/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `drop`: leaves fields out. */
#include "ops/element/pick_op.h"

struct drop_opts {
    struct cw_str_list names;
};

static const struct cw_opt options[] = {
    CW_PICK_ROW(offsetof(struct drop_opts, names), "the fields to leave out"),
    {0},
};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct drop_opts *o = opts;
    CW_SPEC_AUTO spec = {0};
    struct cw_field_set dropped;
    (void)in_n;
    int rc = cw_pick_mask(in, &o->names, &dropped, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < in->n; i++)
        if (!cw_field_set_has(&dropped, i))
            cw_spec_push(&spec, &in->fields[i]);
    *ret_spec = cw_spec_take(&spec);
    return 0;
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct drop_opts *o = opts;
    struct cw_field_set dropped;
    size_t left = 0;
    (void)state;
    (void)scratch;
    int rc = cw_pick_mask(ctx->in, &o->names, &dropped, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < element->n; i++)
        if (!cw_field_set_has(&dropped, i))
            element->fields[left++] = element->fields[i];
    element->n = left;
    return 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)opts;
    (void)fields;
    (void)fields_n;
    cw_pick_facts(NULL, in, ret_facts);
}

static bool names(const void *opts, struct cw_op_names *names)
{
    cw_pick_names(&((const struct drop_opts *)opts)->names, names);
    return true;
}

const struct cw_op cw_op_drop = {
    .name = "drop",
    .version = 1,
    .summary = "leaves some fields out",
    .doc =
        "Leaves the fields `names` out; the others keep their order. (`select` says which fields "
        "stay.)",
    .kind = CW_OP_ELEMENT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct drop_opts),
    .infer = infer,
    .apply = apply,
    .facts = facts,
    .names = names,
};
