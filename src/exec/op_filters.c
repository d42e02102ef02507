/* SPDX-License-Identifier: Apache-2.0 */
/* Shows elements to several filters, so that it is known what passes sets of them: what one filter lets pass says
 * little about what it would let pass behind another one. */
#include "exec/eval.h"
#include "exec/op_bare.h"
#include "exec/op_context.h"
#include "exec/op_try.h"

/* Whether the filter lets the element pass, as the row that it is. Returns < 0 if it cannot tell. */
static int ask(struct cw_thread_context *work, size_t i, const struct cw_element *element)
{
    const struct cw_plan_node *node = &work->plan->nodes[i];
    struct cw_node_context *mine = &work->nodes[i];
    const struct cw_walk_pending pending = {.node = (uint32_t)i};
    uint64_t bytes = 0;
    cw_element_copy(work->trial, element);
    cw_op_context_stream(work, node, &mine->ctx, element->id, element->rep);
    const int rc =
        cw_op_call_bare(work, &pending, &mine->ctx, mine->scratch, work->trial, &bytes, NULL);
    return rc < 0 ? rc : rc != CW_EVAL_DROP;
}

void cw_op_filters_show(struct cw_thread_context *work, const struct cw_element *element)
{
    const struct cw_plan *plan = work->plan;
    unsigned shown = 0, passed = 0;
    for (size_t k = 0; k < plan->filters_n; k++) {
        const int passes = ask(work, plan->filters[k].node, element);
        if (passes < 0)
            continue;
        shown |= 1u << plan->filters[k].number;
        passed |= (unsigned)passes << plan->filters[k].number;
    }
    for (unsigned set = shown; set > 0; set = (set - 1) & shown) { /* each set of them */
        cw_tally_add(&work->filters.shown[set], 1);
        if ((set & ~passed) == 0)
            cw_tally_add(&work->filters.passed[set], 1);
    }
}
