/* SPDX-License-Identifier: Apache-2.0 */
/* What calls of operators need: notes of them, fields, state, scratch, views and elements. */
#include <string.h>

#include "base/call_note.h"
#include "base/mem.h"
#include "ops/plugin_int.h"

#define ALIGN ((size_t)64)

/* ---- what every call needs ---- */

const struct cachew_op *cw_plugin_of(const void *opts)
{
    return cw_foreign_of(opts)->impl;
}

void cw_plugin_enter(const struct cachew_op *op)
{
    cw_call_enter(op->name);
}

int cw_plugin_leave(const struct cachew_op *op, int code, struct cw_err *err)
{
    cw_call_leave();
    if (code >= 0)
        return code;
    if (err && err->code == 0)
        return cw_err_set(err, code < CW_E_OTHER_FILE ? CW_E_INTERNAL : code,
                          "%s has failed without saying why", op->name);
    if (err && (err->code < CW_E_OTHER_FILE || err->code > 0))
        err->code = CW_E_INTERNAL;
    return err ? err->code : CW_E_INTERNAL;
}

void cw_plugin_to_field(const struct cw_field *field, struct cachew_op_field *ret_field)
{
    *ret_field = (struct cachew_op_field){.struct_size = sizeof(*ret_field),
                                          .name = field->name,
                                          .dtype = (int)field->dtype,
                                          .rank = field->rank};
    memcpy(ret_field->dims, field->dims, sizeof(ret_field->dims));
}

int cw_plugin_from_field(const struct cachew_op_field *field, struct cw_field *ret_field,
                         struct cw_err *err)
{
    bool right = field->dtype >= 0 && field->dtype < CW_DTYPE_N && field->rank >= 0 &&
                 field->rank <= CW_RANK_MAX;
    for (int i = 0; right && i < field->rank; i++)
        right = field->dims[i] >= -1;
    if (!right)
        return cw_err_set(
            err, CW_E_INTERNAL,
            "the operator says that a field has dtype %d, rank %d, or a dimension below "
            "-1",
            field->dtype, field->rank);
    ret_field->dtype = (enum cw_dtype)field->dtype;
    ret_field->rank = field->rank;
    memcpy(ret_field->dims, field->dims, sizeof(ret_field->dims));
    return 0;
}

/* ---- state and scratch ---- */

int cw_plugin_open(const void *opts, const struct cw_op_open *how, void **ret_state,
                   struct cw_err *err)
{
    const struct cachew_op *op = cw_plugin_of(opts);
    struct cw_plugin_state *state = CW_NEW(struct cw_plugin_state);
    state->op = op;
    const struct cachew_op_open open = {
        .struct_size = sizeof(open),
        .opts = cw_foreign_own(opts),
        .out = cw_plugin_spec(how->out),
        .manifest = how->manifest && how->manifest->type == CW_VALUE_STR ? how->manifest->s : NULL};
    int rc = 0;
    if (op->open) {
        cw_plugin_enter(op);
        rc = op->open(&open, &state->state, cw_plugin_error(err));
        rc = cw_plugin_leave(op, rc, err);
    }
    if (rc < 0)
        cw_mem_free(state);
    else
        *ret_state = state;
    return CW_MIN(rc, 0);
}

void cw_plugin_close(void *state)
{
    struct cw_plugin_state *mine = state;
    if (!mine)
        return;
    if (mine->op->close) {
        cw_plugin_enter(mine->op);
        mine->op->close(mine->state);
        (void)cw_plugin_leave(mine->op, 0, NULL);
    }
    cw_mem_free(mine);
}

void *cw_plugin_scratch_new(const void *opts, void *state)
{
    const struct cachew_op *op = cw_plugin_of(opts);
    if (!op->scratch_new)
        return NULL;
    struct cw_plugin_scratch *scratch = CW_NEW(struct cw_plugin_scratch);
    scratch->op = op;
    cw_plugin_enter(op);
    scratch->scratch = op->scratch_new(cw_foreign_own(opts),
                                       state ? ((struct cw_plugin_state *)state)->state : NULL);
    (void)cw_plugin_leave(op, 0, NULL);
    return scratch;
}

void cw_plugin_scratch_free(void *scratch)
{
    struct cw_plugin_scratch *mine = scratch;
    if (!mine)
        return;
    if (mine->op->scratch_free) {
        cw_plugin_enter(mine->op);
        mine->op->scratch_free(mine->scratch);
        (void)cw_plugin_leave(mine->op, 0, NULL);
    }
    cw_mem_free(mine);
}

/* ---- calls ---- */

struct cachew_op_call cw_plugin_call(const struct cw_op_ctx *ctx, const void *opts,
                                     const void *state, const void *scratch)
{
    const struct cw_plugin_state *opened = state;
    const struct cw_plugin_scratch *made = scratch;
    return (struct cachew_op_call){.struct_size = sizeof(struct cachew_op_call),
                                   .opts = cw_foreign_own(opts),
                                   .state = opened ? opened->state : NULL,
                                   .scratch = made ? made->scratch : NULL,
                                   .in = ctx->in ? cw_plugin_spec(ctx->in) : NULL,
                                   .out = cw_plugin_spec(ctx->out),
                                   .field = ctx->field,
                                   .engine = ctx};
}

void cw_plugin_to_view(const struct cw_view *view, struct cachew_op_view *ret_view)
{
    *ret_view = (struct cachew_op_view){.struct_size = sizeof(*ret_view),
                                        .data = view->data,
                                        .bytes = view->bytes,
                                        .dtype = (int)view->dtype,
                                        .rank = view->rank};
    memcpy(ret_view->dims, view->dims, sizeof(ret_view->dims));
}

static bool has_its_bytes(const struct cachew_op_view *view)
{
    size_t bytes = cw_dtype_bytes((enum cw_dtype)view->dtype);
    for (int i = 0; i < view->rank; i++)
        if (view->dims[i] < 0 || __builtin_mul_overflow(bytes, (size_t)view->dims[i], &bytes))
            return false;
    return bytes == view->bytes;
}

int cw_plugin_from_view(const struct cachew_op_view *view, const struct cw_field *field,
                        struct cw_view *ret_view, struct cw_err *err)
{
    bool same = view->dtype == (int)field->dtype && view->rank == field->rank;
    for (int i = 0; same && i < view->rank; i++)
        same = field->dims[i] == -1 ? view->dims[i] >= 0 : field->dims[i] == view->dims[i];
    if (!same || (!view->data && view->bytes > 0) ||
        (field->dtype != CW_DTYPE_STR && !has_its_bytes(view))) {
        CW_STR_AUTO text = {0};
        cw_field_print(field, &text);
        return cw_err_set(
            err, CW_E_INTERNAL,
            "the operator has given something else than it said (%s): dtype %d, rank %d, "
            "%zu bytes",
            cw_str_text(&text), view->dtype, view->rank, view->bytes);
    }
    *ret_view = (struct cw_view){
        .data = view->data, .bytes = view->bytes, .dtype = field->dtype, .rank = view->rank};
    memcpy(ret_view->dims, view->dims, sizeof(ret_view->dims));
    return 0;
}

struct cachew_op_element *cw_plugin_element(struct cw_arena *arena, size_t n, struct cw_err *err)
{
    const size_t pointers = CW_ALIGN_UP(n * sizeof(struct cachew_op_view *), ALIGN),
                 head = CW_ALIGN_UP(sizeof(struct cachew_op_element), ALIGN);
    char *block = cw_arena_alloc(arena, head + pointers + n * sizeof(struct cachew_op_view));
    if (!block) {
        cw_err_set(err, CW_E_NOMEM, "no memory for an element of %zu fields", n);
        return NULL;
    }
    struct cachew_op_element *element = (struct cachew_op_element *)(void *)block;
    struct cachew_op_view **fields = (struct cachew_op_view **)(void *)(block + head);
    struct cachew_op_view *views = (struct cachew_op_view *)(void *)(block + head + pointers);
    for (size_t i = 0; i < n; i++) {
        fields[i] = &views[i];
        views[i] = (struct cachew_op_view){.struct_size = sizeof(views[i])};
    }
    *element =
        (struct cachew_op_element){.struct_size = sizeof(*element), .n = n, .fields = fields};
    return element;
}
