/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/op_fold.h"

/* So many calls of an operator are made at first, and then one of so many. */
#define MADE_FIRST 32
#define MADE_EVERY 256

/* Whether the operator comes next that does the work of this one, with nothing between that wants the element as it
 * is. One without effect is left out everywhere. */
static bool may_be_left_out(const struct cw_thread_context *work, size_t i)
{
    const size_t to = work->plan->nodes[i].folds_to;
    const size_t base = work->frames_n ? work->frames[work->frames_n - 1].base : 0;
    if (work->trace || work->plan->apart)
        return false;
    if (to == i)
        return true;
    if (work->pending_n == base)
        return false;
    const struct cw_walk_pending *next = &work->pending[work->pending_n - 1];
    return next->node == to && !next->put;
}

/* Counts calls that are left out. */
static void count(struct cw_node_context *mine, size_t calls)
{
    cw_tally_add(&mine->count.elements, calls);
    cw_tally_add(&mine->count.bytes_out, calls * mine->fold_bytes);
    cw_tally_add(&mine->count.element_bytes, calls * mine->fold_element_bytes);
    cw_tally_add_real(&mine->count.sums.folded, (double)calls);
}

/* What the operator behind one that is called gets is not what it usually gets: it is not measured with that. */
static void pass_over(struct cw_thread_context *work, size_t i)
{
    const size_t to = work->plan->nodes[i].folds_to;
    if (to != i)
        work->nodes[to].left = CW_MAX(work->nodes[to].left, 2);
}

bool cw_op_fold_calls(struct cw_thread_context *work, size_t i, size_t elements)
{
    struct cw_node_context *mine = &work->nodes[i];
    const uint32_t n = mine->folds_n++;
    if (n < MADE_FIRST || n % MADE_EVERY == MADE_EVERY / 2) {
        pass_over(work, i);
        return false;
    }
    count(mine, elements);
    return true;
}

bool cw_op_fold(struct cw_thread_context *work, size_t i)
{
    return may_be_left_out(work, i) && cw_op_fold_calls(work, i, 1);
}
