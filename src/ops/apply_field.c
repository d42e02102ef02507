/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/apply_field.h"

#include "ops/kernels/kernel_table.h"

int cw_op_apply_field(const struct cw_op *op, const struct cw_op_ctx *ctx, const void *opts,
                      void *state, void *scratch, const struct cw_view *in, struct cw_view *out,
                      struct cw_err *err)
{
    const int rc = op->apply_field(ctx, opts, state, scratch, in, out, err);
    if (rc == 0 && op->makes_nan && out->dtype == CW_DTYPE_F32 && out->data != in->data)
        cw_kernels()->one_nan(out->data, out->bytes / sizeof(float));
    return rc;
}

static void place(const struct cw_op_callee *callee, struct cw_op_ctx *ctx, size_t field)
{
    ctx->slot = NULL;
    if (callee->place)
        callee->place(callee->place_arg, ctx, field);
}

/* Moves what moves with the images, which have moved. */
static int apply_moved(const struct cw_op_callee *callee, const struct cw_motion_run *run,
                       struct cw_op_ctx *ctx, struct cw_element *element, uint64_t *bytes,
                       struct cw_err *err)
{
    for (size_t i = 0; i < element->n; i++) {
        if (!cw_field_set_has(&run->fields.all, i))
            continue;
        place(callee, ctx, i);
        int rc = cw_motion_apply(ctx, run, i, &element->fields[i], err);
        if (rc < 0)
            return rc;
        *bytes += element->fields[i].bytes;
    }
    return 0;
}

static int apply_fields(const struct cw_op_callee *callee, struct cw_op_ctx *ctx,
                        struct cw_element *element, uint64_t *bytes, struct cw_err *err)
{
    struct cw_motion_run run = {.op = callee->op,
                                .opts = callee->opts,
                                .state = callee->state,
                                .scratch = callee->scratch,
                                .fields = *callee->moved};
    ctx->motion = NULL;
    if (callee->op->moves) {
        int rc = cw_motion_begin(ctx, &run, element, err);
        if (rc < 0)
            return rc;
    }
    for (size_t k = 0; k < ctx->fields_n; k++) {
        struct cw_view *view = &element->fields[ctx->fields[k]];
        struct cw_view in = *view;
        ctx->field = ctx->fields[k];
        place(callee, ctx, ctx->field);
        int rc = cw_op_apply_field(callee->op, ctx, callee->opts, callee->state, callee->scratch,
                                   &in, view, err);
        if (rc < 0)
            return rc;
        *bytes += view->bytes;
    }
    return callee->op->moves && !cw_field_set_is_empty(&run.fields.all)
               ? apply_moved(callee, &run, ctx, element, bytes, err)
               : 0;
}

int cw_op_apply(const struct cw_op_callee *callee, struct cw_op_ctx *ctx,
                struct cw_element *element, uint64_t *bytes, struct cw_err *err)
{
    if (callee->op->apply_field)
        return apply_fields(callee, ctx, element, bytes, err);
    place(callee, ctx, 0);
    return callee->op->apply(ctx, callee->opts, callee->state, callee->scratch, element, err);
}
