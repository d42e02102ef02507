/* SPDX-License-Identifier: Apache-2.0 */
/* Index operators of plugins. */
#include "ops/plugin_int.h"

static int64_t map(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input)
{
    const struct cachew_op *op = cw_plugin_of(opts);
    const struct cw_plugin_state *opened = state;
    size_t input = 0;
    const struct cachew_op_at theirs = {.struct_size = sizeof(theirs),
                                        .seed = at->seed,
                                        .epoch = at->epoch,
                                        .tag = at->tag,
                                        .rep = at->rep,
                                        .in_n = at->in_n,
                                        .inputs_n = opened->inputs_n,
                                        .n = at->n};
    cw_plugin_enter(op);
    int64_t there = op->map(&theirs, cw_foreign_own(opts), opened->state, pos, &input);
    /* What is not a position cannot be told here, and another element would be a wrong answer: so it dies
     * like one that crashes, and the operator is named. */
    CW_ASSERT(input < opened->inputs_n && there >= 0 && there < at->in_n[input]);
    (void)cw_plugin_leave(op, 0, NULL);
    if (ret_input && opened->inputs_n > 1)
        *ret_input = input;
    return there;
}

void cw_plugin_complete_index(struct cw_op *op)
{
    op->infer = cw_plugin_infer;
    op->count = cw_plugin_count;
    op->map = map;
}
