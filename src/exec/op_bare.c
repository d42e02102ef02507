/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/op_bare.h"

#include "exec/op_context.h"
#include "ops/apply_field.h"

struct place {
    const struct cw_thread_context *work;
    const struct cw_walk_pending *pending;
};

static void set_slot(const void *arg, struct cw_op_ctx *ctx, size_t field)
{
    const struct place *place = arg;
    cw_op_context_slot(place->work, ctx, place->pending->live, field, place->pending->shift);
}

int cw_op_call_bare(struct cw_thread_context *work, const struct cw_walk_pending *pending,
                    struct cw_op_ctx *ctx, void *scratch, struct cw_element *element,
                    uint64_t *bytes, struct cw_err *err)
{
    const struct cw_plan_node *node = &work->plan->nodes[pending->node];
    const struct place place = {work, pending};
    const struct cw_op_callee callee = {.op = node->op,
                                        .opts = node->opts,
                                        .state = node->state,
                                        .scratch = scratch,
                                        .moved = &node->moved,
                                        .place = set_slot,
                                        .place_arg = &place};
    const int rc = cw_op_apply(&callee, ctx, element, bytes, err);
    if (!node->op->apply_field)
        *bytes = rc == 0 ? cw_element_bytes(element) : 0;
    return rc;
}
