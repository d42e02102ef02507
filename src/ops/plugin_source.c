/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of plugins. */
#include <string.h>

#include "ops/plugin_int.h"

#define DESCRIBE_BYTES 512

static void *state_of(const void *state)
{
    return ((const struct cw_plugin_state *)state)->state;
}

int cw_plugin_count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                    int64_t *ret_n, struct cw_err *err)
{
    const struct cachew_op *op = cw_plugin_of(opts);
    ((struct cw_plugin_state *)state)->inputs_n = inputs_n;
    cw_plugin_enter(op);
    int rc = op->count(cw_foreign_own(opts), state_of(state), in_n, inputs_n, ret_n,
                       cw_plugin_error(err));
    return CW_MIN(cw_plugin_leave(op, rc, err), 0);
}

static int read_it(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                   struct cw_element *ret_element, struct cw_err *err)
{
    const struct cachew_op *op = cw_plugin_of(opts);
    const struct cw_spec *out = ctx->out;
    struct cachew_op_element *made = cw_plugin_element(ctx->arena, out->n, err);
    struct cw_op_ctx own = *ctx;
    if (!made)
        return CW_E_NOMEM;
    if (out->n != 1)
        own.slot = NULL;
    const struct cachew_op_call call = cw_plugin_call(&own, opts, state, ctx->scratch);
    made->id = (uint64_t)pos;
    cw_plugin_enter(op);
    int rc = op->read(&call, pos, made, cw_plugin_error(err));
    rc = cw_plugin_leave(op, rc, err);
    ret_element->n = out->n;
    for (size_t i = 0; rc >= 0 && i < out->n; i++)
        rc = cw_plugin_from_view(made->fields[i], &out->fields[i], &ret_element->fields[i], err);
    return CW_MIN(rc, 0);
}

static void manifest(const void *opts, void *state, struct cw_value *ret_value)
{
    const struct cachew_op *op = cw_plugin_of(opts);
    cw_plugin_enter(op);
    const char *text = op->manifest(cw_foreign_own(opts), state_of(state));
    (void)cw_plugin_leave(op, 0, NULL);
    cw_value_set_str(ret_value, text ? text : "");
}

static void describe(const void *opts, void *state, int64_t pos, struct cw_str *out)
{
    const struct cachew_op *op = cw_plugin_of(opts);
    char text[DESCRIBE_BYTES] = "";
    cw_plugin_enter(op);
    op->describe(cw_foreign_own(opts), state_of(state), pos, text, sizeof(text));
    (void)cw_plugin_leave(op, 0, NULL);
    text[sizeof(text) - 1] = '\0';
    cw_str_add(out, text);
}

void cw_plugin_complete_source(struct cw_op *op, const struct cachew_op *impl)
{
    op->infer = cw_plugin_infer;
    op->count = cw_plugin_count;
    op->read = read_it;
    if (impl->manifest)
        op->manifest = manifest;
    if (impl->describe)
        op->describe = describe;
}
