/* SPDX-License-Identifier: Apache-2.0 */
/* Sets what an operator sees of the engine: its random stream, the place of its result, and what part of
 * it is needed. */
#include "exec/op_context.h"

void cw_op_context_stream(const struct cw_thread_context *work, const struct cw_plan_node *node,
                          struct cw_op_ctx *ctx, uint64_t id, uint64_t rep)
{
    if (node->frozen)
        cw_rng_init(&ctx->rng, work->plan->seed, node->tag, 0, 0, id);
    else if (node->op->traits & CW_OP_RANDOM)
        cw_rng_init(&ctx->rng, work->plan->seed, node->tag, work->epoch, rep, id);
}

void cw_op_context_slot(const struct cw_thread_context *work, struct cw_op_ctx *ctx, uint64_t live,
                        size_t field, uint32_t shift)
{
    bool has = field < 64 && (live >> field & 1);
    ctx->slot = has ? work->slot[field + shift] : NULL;
    ctx->slot_bytes = has ? work->slot_bytes[field + shift] : 0;
}

/* Goes on to the operator of the list that is on the stack. Those that are not called are not there. */
static size_t next_wanted(const struct cw_thread_context *work, const struct cw_plan_node *node,
                          size_t found, uint32_t on_stack)
{
    while (found < node->want_n && node->want[found].node != on_stack &&
           work->plan->nodes[node->want[found].node].folds_to != SIZE_MAX)
        found++;
    return found;
}

/* op.h next_want: asks the crop which part it will use, and the operators between what they need for
 * it, all with their own random streams. */
static int ask_want(const struct cw_op_ctx *ctx, int64_t h, int64_t w, struct cw_rect *ret_rect,
                    struct cw_err *err)
{
    /* The context is const only while it passes through the operator. */
    struct cw_thread_context *work = (struct cw_thread_context *)(uintptr_t)ctx->next_want_arg;
    const struct cw_plan_want *want = work->want_of->want;
    size_t n = work->want_of->want_n - 1;
    int64_t sizes[CW_PLAN_MOVES_MAX][2];
    size_t moves = 0;
    *ret_rect = (struct cw_rect){.h = h, .w = w};
    for (size_t k = 0; k <= n; k++) {
        const struct cw_plan_node *node = &work->plan->nodes[want[k].node];
        cw_op_context_stream(work, node, &work->nodes[want[k].node].ctx, work->want_element->id,
                             work->want_element->rep);
        if (!want[k].moves)
            continue;
        sizes[moves][0] = h;
        sizes[moves++][1] = w;
        if (node->op->region_size && !node->op->region_size(node->opts, &h, &w))
            return 0; /* that operator will say why */
    }
    const struct cw_plan_node *crop = &work->plan->nodes[want[n].node];
    work->want_asked = want[n].node;
    int rc = crop->op->want(&work->nodes[want[n].node].ctx, crop->opts, h, w, ret_rect, err);
    while (n-- > 0 && rc == 0) {
        const struct cw_plan_node *node = &work->plan->nodes[want[n].node];
        struct cw_node_context *its = &work->nodes[want[n].node];
        if (!want[n].moves)
            continue;
        moves--;
        work->want_asked = want[n].node;
        rc = node->op->region(&its->ctx, node->opts, its->scratch, sizes[moves][0], sizes[moves][1],
                              ret_rect, err);
    }
    if (rc == 0)
        work->want_asked = SIZE_MAX;
    return rc;
}

void cw_op_context_want(struct cw_thread_context *work, const struct cw_plan_node *node,
                        struct cw_op_ctx *ctx, const struct cw_element *element, bool whole)
{
    size_t found = 0;
    bool is_cached = whole;
    /* Caches, which should get the whole image, may be between the operator and the crop. */
    for (size_t k = work->pending_n; k > 0 && found < node->want_n; k--) {
        if (work->pending[k - 1].put) {
            is_cached = true;
            continue;
        }
        found = next_wanted(work, node, found, work->pending[k - 1].node);
        if (found == node->want_n || work->pending[k - 1].node != node->want[found].node)
            break;
        found++;
    }
    bool has = node->want_n > 0 && found == node->want_n;
    work->want_element = element;
    work->want_of = node;
    work->want_asked = SIZE_MAX;
    ctx->next_want = has ? ask_want : NULL;
    ctx->next_want_arg = has ? work : NULL;
    ctx->prefers_whole = has && (work->trace || is_cached || work->plan->apart);
}
