/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `select`: keeps fields, in the order in which they are named. */
#include "ops/element/pick_op.h"

#include <string.h>

struct select_opts {
    struct cw_str_list names;
};

static const struct cw_opt options[] = {
    CW_PICK_ROW(offsetof(struct select_opts, names), "the fields to keep, in their new order"),
    {0},
};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct select_opts *o = opts;
    size_t fields[CW_FIELDS_MAX];
    CW_SPEC_AUTO spec = {0};
    (void)in_n;
    int rc = cw_pick_fields(in, &o->names, fields, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < o->names.n; i++)
        cw_spec_push(&spec, &in->fields[fields[i]]);
    *ret_spec = cw_spec_take(&spec);
    return 0;
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct select_opts *o = opts;
    size_t fields[CW_FIELDS_MAX];
    (void)state;
    (void)scratch;
    int rc = cw_pick_fields(ctx->in, &o->names, fields, err);
    if (rc < 0)
        return rc;
    struct cw_view *views = cw_op_scratch(ctx, (o->names.n + 1) * sizeof(*views), err);
    if (!views)
        return CW_E_NOMEM;
    element->n = o->names.n;
    for (size_t i = 0; i < element->n; i++)
        views[i] = element->fields[fields[i]];
    memcpy(element->fields, views, element->n * sizeof(*views));
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
    names->ends = true;
    cw_pick_names(&((const struct select_opts *)opts)->names, names);
    return true;
}

const struct cw_op cw_op_select = {
    .name = "select",
    .version = 1,
    .summary = "keeps some fields",
    .doc = "Keeps the fields `names`, in this order, and leaves all others out.",
    .kind = CW_OP_ELEMENT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct select_opts),
    .infer = infer,
    .apply = apply,
    .facts = facts,
    .names = names,
};
