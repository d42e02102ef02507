/* SPDX-License-Identifier: Apache-2.0 */
/* Group operators of plugins, which work inside items. */
#include <string.h>

#include "ops/plugin_int.h"

#define FIELDS_FEW 16 /* rows of so many fields are looked at without memory from elsewhere */

static struct cachew_op_element *to_element(struct cw_arena *arena, const struct cw_spec *in,
                                            const struct cw_view *views, struct cw_err *err)
{
    struct cachew_op_element *element = cw_plugin_element(arena, in->n, err);
    for (size_t i = 0; element && i < in->n; i++)
        cw_plugin_to_view(&views[i], element->fields[i]);
    return element;
}

static int inside(const struct cw_op_ctx *ctx, const void *opts, const struct cw_op_rows *rows,
                  struct cw_err *err)
{
    const struct cachew_op *op = cw_plugin_of(opts);
    const struct cachew_op_element **row = cw_op_scratch(ctx, (rows->n + 1) * sizeof(*row), err);
    struct cw_op_ctx own = *ctx;
    if (!row)
        return CW_E_NOMEM;
    for (size_t i = 0; i < rows->n; i++) {
        struct cachew_op_element *element = to_element(ctx->arena, ctx->in, rows->row[i], err);
        if (!element)
            return CW_E_NOMEM;
        element->id = rows->id[i];
        row[i] = element;
    }
    own.slot = NULL;
    const struct cachew_op_rows theirs = {
        .struct_size = sizeof(theirs), .n = rows->n, .row = row, .engine = rows};
    const struct cachew_op_call call = cw_plugin_call(&own, opts, rows->state, ctx->scratch);
    cw_plugin_enter(op);
    int rc = op->inside(&call, &theirs, cw_plugin_error(err));
    return CW_MIN(cw_plugin_leave(op, rc, err), 0);
}

static int check_element(const void *opts, const struct cw_spec *in,
                         const struct cachew_op_element *element, struct cw_err *err)
{
    const struct cachew_op *op = cw_plugin_of(opts);
    cw_plugin_enter(op);
    int rc = op->check_row(cw_foreign_own(opts), cw_plugin_spec(in), element, cw_plugin_error(err));
    return CW_MIN(cw_plugin_leave(op, rc, err), 0);
}

static int check_large(const void *opts, const struct cw_spec *in, const struct cw_view *row,
                       struct cw_err *err)
{
    struct cw_arena *arena = cw_arena_new(0);
    const struct cachew_op_element *element = to_element(arena, in, row, err);
    int rc = element ? check_element(opts, in, element, err) : CW_E_NOMEM;
    cw_arena_free(arena);
    return rc;
}

static int check_row(const void *opts, const struct cw_spec *in, const struct cw_view *row,
                     struct cw_err *err)
{
    if (in->n > FIELDS_FEW)
        return check_large(opts, in, row, err);
    struct cachew_op_view views[FIELDS_FEW], *fields[FIELDS_FEW];
    for (size_t i = 0; i < in->n; i++) {
        cw_plugin_to_view(&row[i], &views[i]);
        fields[i] = &views[i];
    }
    const struct cachew_op_element element = {
        .struct_size = sizeof(element), .n = in->n, .fields = fields};
    return check_element(opts, in, &element, err);
}

void cw_plugin_complete_group(struct cw_op *op, const struct cachew_op *impl)
{
    op->infer = cw_plugin_infer;
    op->inside = inside;
    if (impl->check_row)
        op->check_row = check_row;
}
