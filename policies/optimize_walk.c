/* SPDX-License-Identifier: Apache-2.0 */
/* What operators cost at their places in an order: some work on many elements at once, and some are not called, since
 * the next one does their work. */
#include "policies/optimize_int.h"

/* ---- many elements at once ---- */

static bool has_batches(const struct cw_optimize_problem *problem)
{
    for (size_t i = 0; i < problem->n; i++)
        if (problem->nodes[i].is_batch)
            return true;
    return false;
}

static bool is_small(const struct cw_optimize_problem *problem, const struct cw_optimize_flow *flow)
{
    return cw_optimize_bytes(problem, flow) <= CW_OPTIMIZE_ROW_BYTES_MAX;
}

bool cw_optimize_begins_block(const struct cw_optimize_problem *problem, size_t node,
                              const struct cw_optimize_flow *flow)
{
    const bool ends = node == SIZE_MAX ? !has_batches(problem) : problem->nodes[node].is_batch;

    return ends && !problem->apart && is_small(problem, flow);
}

bool cw_optimize_is_in_block(const struct cw_optimize_problem *problem, size_t node,
                             const struct cw_optimize_flow *flow)
{
    return problem->nodes[node].by_batch && is_small(problem, flow);
}

/* Finds the places whose operators do so, and how many bytes come to each place decides: from the end on. */
static uint64_t find_blocks(const struct cw_optimize_problem *problem,
                            const struct cw_optimize_plan *plan,
                            const struct cw_optimize_flow *first)
{
    const size_t n = problem->n;
    uint64_t small = 0, blocks = 0; /* bit i: what comes to place i has few bytes */
    struct cw_optimize_flow flow = *first;
    bool is_on;

    for (size_t i = 0; i < n; i++) {
        small |= (uint64_t)is_small(problem, &flow) << i;
        cw_optimize_pass(problem, plan->order[i], &flow);
    }
    is_on = cw_optimize_begins_block(problem, SIZE_MAX, &flow);
    for (size_t i = n; i-- > 0;) {
        const struct cw_optimize_node *node = &problem->nodes[plan->order[i]];
        const bool is_small_in = small >> i & 1;
        is_on = (is_on && node->by_batch && is_small_in && i != plan->cache_after) ||
                (node->is_batch && is_small_in && !problem->apart);
        blocks |= (uint64_t)(is_on && !node->is_batch) << i;
        if (plan->cache_after < n && i <= plan->cache_after)
            return blocks & ~((UINT64_C(2) << plan->cache_after) - 1);
    }
    return blocks;
}

/* ---- operators that are not called ---- */

/* Returns the place of the operator to which the one at place i could be left, SIZE_MAX if there is none: the next one
 * that has an effect. A cache between wants what it makes. */
static size_t may_be_left_to(const struct cw_optimize_problem *problem,
                             const struct cw_optimize_plan *plan, size_t i)
{
    for (size_t next = i + 1; next < problem->n && next - 1 != plan->cache_after; next++)
        if (!cw_optimize_is_idle(problem, plan->order[next]))
            return cw_optimize_folds(problem, plan->order[i], plan->order[next]) ? next : SIZE_MAX;
    return SIZE_MAX;
}

/* Whether it is: one that is not called itself does nobody's work, so of a row of such ones every second one is called,
 * from the last one on. */
static bool is_left(const struct cw_optimize_problem *problem, const struct cw_optimize_plan *plan,
                    size_t i)
{
    size_t behind = 0;

    for (size_t next = may_be_left_to(problem, plan, i); next != SIZE_MAX;
         next = may_be_left_to(problem, plan, next))
        behind++;
    return behind % 2 == 1;
}

bool cw_optimize_is_folded(const struct cw_optimize_problem *problem,
                           const struct cw_optimize_plan *plan, size_t i)
{
    return cw_optimize_is_idle(problem, plan->order[i]) || is_left(problem, plan, i);
}

/* ---- the order ---- */

void cw_optimize_walk_begin(const struct cw_optimize_problem *problem,
                            const struct cw_optimize_plan *plan, struct cw_optimize_walk *ret_walk)
{
    *ret_walk = (struct cw_optimize_walk){.problem = problem, .plan = plan};
    cw_optimize_begin(problem, cw_optimize_makes_whole(problem, plan), &ret_walk->flow);
    ret_walk->before = ret_walk->flow;
    ret_walk->blocks = find_blocks(problem, plan, &ret_walk->flow);
}

struct cw_optimize_sums cw_optimize_walk_next(struct cw_optimize_walk *walk)
{
    const struct cw_optimize_problem *problem = walk->problem;
    const struct cw_optimize_plan *plan = walk->plan;
    const size_t i = walk->i++, node = plan->order[i];
    const bool by_batch = walk->blocks >> i & 1;
    struct cw_optimize_sums cost = {0};

    if (!cw_optimize_is_idle(problem, node)) {
        const struct cw_optimize_flow *comes = walk->is_left ? &walk->before : &walk->flow;
        const bool left = is_left(problem, plan, i);
        if (!left)
            cost = cw_optimize_cost(problem, node, comes, by_batch);
        walk->before = walk->flow;
        walk->is_left = left;
    }
    cw_optimize_pass(problem, node, &walk->flow);
    return cost;
}
