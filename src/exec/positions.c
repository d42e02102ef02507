/* SPDX-License-Identifier: Apache-2.0 */
/* Maps many positions together through index operators. */
#include "exec/positions.h"

/* Whether element p of the node is made from element p of its only input, or from the element
 * that p is mapped to. */
static bool maps_to_input(const struct cw_plan_node *node)
{
    return node->inputs_n == 1 && !node->apart &&
           (node->step == CW_STEP_INDEX || node->step == CW_STEP_PASS ||
            node->step == CW_STEP_ELEMENT);
}

bool cw_positions_are_ids(const struct cw_plan *plan, size_t at)
{
    while (maps_to_input(&plan->nodes[at]))
        at = plan->nodes[at].inputs[0];
    return !cw_plan_chooses(&plan->nodes[at]);
}

uint64_t cw_positions_chosen_id(const struct cw_plan *plan, uint64_t epoch, size_t at, int64_t pos,
                                uint64_t *rep, uint64_t *each)
{
    uint64_t low = 0;
    unsigned shift = 0;
    for (;;) {
        const struct cw_plan_node *node = &plan->nodes[at];
        if (cw_plan_chooses(node)) {
            size_t input = cw_plan_choose(plan, node, epoch, &pos, rep, each);
            low |= (uint64_t)input << shift;
            shift += cw_plan_choice_bits(node);
            at = node->inputs[input];
        } else if (node->step == CW_STEP_INDEX) {
            at = cw_plan_map(plan, node, epoch, &pos, rep);
        } else if (maps_to_input(node)) {
            at = node->inputs[0];
        } else {
            return (uint64_t)pos << shift | low;
        }
    }
}

bool cw_positions_help(const struct cw_plan *plan, size_t at)
{
    bool has = false;
    for (; maps_to_input(&plan->nodes[at]); at = plan->nodes[at].inputs[0])
        has = has || plan->nodes[at].step == CW_STEP_INDEX;
    /* an operator that chooses is an INDEX step too, and the walk must not skip it */
    return has && plan->nodes[at].step != CW_STEP_INDEX;
}

static void map_one_by_one(const struct cw_plan *plan, uint64_t epoch,
                           const struct cw_plan_node *node, const struct cw_position_run *positions)
{
    for (size_t i = 0; i < positions->n; i++)
        cw_plan_map(plan, node, epoch, &positions->pos[i], &positions->rep[i]);
}

/* Maps runs of positions that have the same repetition. */
static void map_runs(const struct cw_plan *plan, uint64_t epoch, const struct cw_plan_node *node,
                     const struct cw_position_run *positions)
{
    for (size_t lo = 0, hi; lo < positions->n; lo = hi) {
        for (hi = lo + 1; hi < positions->n && positions->rep[hi] == positions->rep[lo];)
            hi++;
        struct cw_at at = {.seed = plan->seed,
                           .epoch = epoch,
                           .tag = node->tag,
                           .rep = positions->rep[lo],
                           .in_n = node->in_n,
                           .n = node->n};
        node->op->map_run(node->opts, node->state, &at, positions->pos + lo, hi - lo);
    }
}

size_t cw_positions_map(const struct cw_plan *plan, uint64_t epoch, struct cw_thread_context *work,
                        size_t at, const struct cw_position_run *positions)
{
    for (; maps_to_input(&plan->nodes[at]); at = plan->nodes[at].inputs[0]) {
        const struct cw_plan_node *node = &plan->nodes[at];
        if (node->step != CW_STEP_INDEX)
            continue;
        if (node->op->map_run)
            map_runs(plan, epoch, node, positions);
        else
            map_one_by_one(plan, epoch, node, positions);
        if (work)
            cw_tally_add(&work->nodes[at].count.elements, positions->n);
    }
    return at;
}
