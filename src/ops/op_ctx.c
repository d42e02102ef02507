/* SPDX-License-Identifier: Apache-2.0 */
/* The functions by which operators get memory during a call, and a place for their result. */
#include "ops/op.h"

#include "data/spec.h"

void *cw_op_scratch(const struct cw_op_ctx *ctx, size_t bytes, struct cw_err *err)
{
    void *p = cw_arena_alloc(ctx->arena, bytes);
    if (!p)
        cw_err_set(err, CW_E_NOMEM, "no memory for %zu bytes", bytes);
    return p;
}

static int numeric_bytes(const struct cw_view *view, size_t *ret_bytes, struct cw_err *err)
{
    size_t bytes = cw_dtype_bytes(view->dtype);
    for (int i = 0; i < view->rank; i++) {
        if (view->dims[i] < 0)
            return cw_err_set(err, CW_E_INTERNAL, "operator gave dimension %d as %lld", i,
                              (long long)view->dims[i]);
        if (__builtin_mul_overflow(bytes, (size_t)view->dims[i], &bytes))
            return cw_err_set(err, CW_E_LIMIT, "tensor of %d dimensions is too large", view->rank);
    }
    *ret_bytes = bytes;
    return 0;
}

int cw_op_output(const struct cw_op_ctx *ctx, struct cw_view *out, struct cw_err *err)
{
    if (out->dtype != CW_DTYPE_STR) {
        int rc = numeric_bytes(out, &out->bytes, err);
        if (rc < 0)
            return rc;
    }
    if (ctx->slot && out->dtype != CW_DTYPE_STR && ctx->slot_bytes == out->bytes)
        out->data = ctx->slot;
    else
        out->data = cw_op_scratch(ctx, out->bytes, err);
    return out->data ? 0 : CW_E_NOMEM;
}

bool cw_op_is_delivered(const struct cw_op_ctx *ctx, const void *at)
{
    const uintptr_t slot = (uintptr_t)ctx->slot, place = (uintptr_t)at;
    return ctx->slot && place >= slot && place - slot < ctx->slot_bytes;
}
