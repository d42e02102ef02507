/* SPDX-License-Identifier: Apache-2.0 */
/* Element operators of plugins: one field at a time, or the whole element. */
#include <string.h>

#include "ops/plugin_int.h"

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct cachew_op *op = cw_plugin_of(opts);
    const struct cachew_op_call call = cw_plugin_call(ctx, opts, state, scratch);
    struct cachew_op_view from, to;
    cw_plugin_to_view(in, &from);
    cw_plugin_to_view(in, &to);
    cw_plugin_enter(op);
    int rc = op->apply_field(&call, &from, &to, cw_plugin_error(err));
    rc = cw_plugin_leave(op, rc, err);
    if (rc == 0)
        rc = cw_plugin_from_view(&to, &ctx->out->fields[ctx->field], out, err);
    if (op->facts & CACHEW_OP_EACH_VALUE) /* what it made of a part of an image is that part */
        cw_view_copy_part(out, in);
    return CW_MIN(rc, 0);
}

/* ---- whole elements ---- */

/* The field that comes in with the name of field i of the output; -1: there is none. */
static int same_name(const struct cw_op_ctx *ctx, size_t i)
{
    const char *name = ctx->out->fields[i].name;
    if (i < ctx->in->n && strcmp(ctx->in->fields[i].name, name) == 0)
        return (int)i;
    return cw_spec_find(ctx->in, name);
}

static void fill(const struct cw_op_ctx *ctx, const struct cw_element *element,
                 struct cachew_op_element *in, struct cachew_op_element *out)
{
    for (size_t i = 0; i < element->n; i++)
        cw_plugin_to_view(&element->fields[i], in->fields[i]);
    for (size_t i = 0; i < out->n; i++) {
        int from = same_name(ctx, i);
        if (from >= 0)
            cw_plugin_to_view(&element->fields[from], out->fields[i]);
    }
    in->id = out->id = element->id;
}

/* before: the element that came in. What is passed on keeps what the engine knows of it. */
static int take(const struct cw_op_ctx *ctx, const struct cachew_op_element *out,
                const struct cw_view *before, struct cw_element *element, struct cw_err *err)
{
    element->n = out->n;
    for (size_t i = 0; i < out->n; i++) {
        const int from = same_name(ctx, i);
        int rc =
            cw_plugin_from_view(out->fields[i], &ctx->out->fields[i], &element->fields[i], err);
        if (rc < 0)
            return rc;
        if (from >= 0 && before[from].data == element->fields[i].data &&
            before[from].bytes == element->fields[i].bytes)
            element->fields[i].stamp = before[from].stamp;
    }
    return 0;
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct cachew_op *op = cw_plugin_of(opts);
    struct cw_op_ctx own = *ctx;
    struct cachew_op_element *in = cw_plugin_element(ctx->arena, element->n, err),
                             *out = cw_plugin_element(ctx->arena, ctx->out->n, err);
    struct cw_view *before = cw_op_scratch(ctx, element->n * sizeof(*before), err);
    if (!in || !out || !before)
        return CW_E_NOMEM;
    memcpy(before, element->fields, element->n * sizeof(*before));
    if (ctx->out->n != 1)
        own.slot = NULL; /* it is that of one field only */
    const struct cachew_op_call call = cw_plugin_call(&own, opts, state, scratch);
    fill(ctx, element, in, out);
    cw_plugin_enter(op);
    int rc = op->apply(&call, in, out, cw_plugin_error(err));
    rc = cw_plugin_leave(op, rc, err);
    if (rc > 0 && !(op->traits & CACHEW_OP_DROPS))
        return cw_err_set(err, CW_E_INTERNAL,
                          "%s leaves an element out, which it has not said (CACHEW_OP_DROPS)",
                          op->name);
    return rc != 0 ? CW_MIN(rc, 1) : take(ctx, out, before, element, err);
}

void cw_plugin_complete_element(struct cw_op *op)
{
    if (!(op->traits & CW_OP_FIELDWISE)) {
        op->infer = cw_plugin_infer;
        op->apply = apply;
        return;
    }
    op->infer_field = cw_plugin_infer_field;
    op->apply_field = apply_field;
    if (op->traits & CW_OP_POINTWISE)
        op->facts = cw_plugin_facts;
}
