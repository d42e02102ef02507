/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/op_bare.h"

#include "exec/op_context.h"

/* Moves what moves with the images, which have moved. */
static int apply_moved(struct cw_thread_context *work, const struct cw_walk_pending *pending,
                       const struct cw_motion_run *run, struct cw_op_ctx *ctx,
                       struct cw_element *element, uint64_t *bytes, struct cw_err *err)
{
    for (size_t i = 0; i < element->n; i++) {
        if (!cw_field_set_has(&run->fields.all, i))
            continue;
        cw_op_context_slot(work, ctx, pending->live, i, pending->shift);
        int rc = cw_motion_apply(ctx, run, i, &element->fields[i], err);
        if (rc < 0)
            return rc;
        *bytes += element->fields[i].bytes;
    }
    return 0;
}

static int apply_fields(struct cw_thread_context *work, const struct cw_walk_pending *pending,
                        struct cw_op_ctx *ctx, void *scratch, struct cw_element *element,
                        uint64_t *bytes, struct cw_err *err)
{
    const struct cw_plan_node *node = &work->plan->nodes[pending->node];
    struct cw_motion_run run = {.op = node->op,
                                .opts = node->opts,
                                .state = node->state,
                                .scratch = scratch,
                                .fields = node->moved};
    ctx->motion = NULL;
    if (node->op->moves) {
        int rc = cw_motion_begin(ctx, &run, element, err);
        if (rc < 0)
            return rc;
    }
    for (size_t k = 0; k < node->fields_n; k++) {
        struct cw_view *view = &element->fields[node->fields[k]];
        struct cw_view in = *view;
        ctx->field = node->fields[k];
        cw_op_context_slot(work, ctx, pending->live, node->fields[k], pending->shift);
        int rc = node->op->apply_field(ctx, node->opts, node->state, scratch, &in, view, err);
        if (rc < 0)
            return rc;
        *bytes += view->bytes;
    }
    return node->op->moves && !cw_field_set_is_empty(&run.fields.all)
               ? apply_moved(work, pending, &run, ctx, element, bytes, err)
               : 0;
}

int cw_op_call_bare(struct cw_thread_context *work, const struct cw_walk_pending *pending,
                    struct cw_op_ctx *ctx, void *scratch, struct cw_element *element,
                    uint64_t *bytes, struct cw_err *err)
{
    const struct cw_plan_node *node = &work->plan->nodes[pending->node];
    if (node->op->apply_field)
        return apply_fields(work, pending, ctx, scratch, element, bytes, err);
    cw_op_context_slot(work, ctx, pending->live, 0, pending->shift);
    int rc = node->op->apply(ctx, node->opts, node->state, scratch, element, err);
    *bytes = rc == 0 ? cw_element_bytes(element) : 0;
    return rc;
}
