/* SPDX-License-Identifier: Apache-2.0 */
/* The search goes through sets of operators as if each stood behind earlier ones only. In the order that a job has an
 * operator may stand on the wrong side of another one (of what is cached since): then the problem is brought into an
 * order that is allowed, and its plan back. */
#include "policies/optimize_int.h"

bool cw_optimize_is_sorted(const struct cw_optimize_problem *problem)
{
    for (size_t i = 0; i < problem->n; i++)
        if (problem->nodes[i].behind >> i)
            return false;
    return true;
}

/* Lists the operators so that each stands behind those that it must, else as they are. */
static void list_sorted(const struct cw_optimize_problem *problem, size_t *ret_order)
{
    uint64_t done = 0;

    for (size_t n = 0; n < problem->n; n++) {
        size_t next = 0;
        while (done >> next & 1 || (problem->nodes[next].behind & ~done))
            next++;
        ret_order[n] = next;
        done |= UINT64_C(1) << next;
    }
}

/* A set by its new places: `order` are the old ones. */
static uint64_t moved_set(const size_t *order, size_t n, uint64_t set)
{
    uint64_t moved = 0;

    for (size_t i = 0; i < n; i++)
        moved |= (set >> order[i] & 1) << i;
    return moved;
}

static size_t place_of(const size_t *order, size_t node)
{
    size_t i = 0;

    while (order[i] != node)
        i++;
    return i;
}

void cw_optimize_sort(const struct cw_optimize_problem *problem,
                      struct cw_optimize_problem *ret_sorted, size_t *ret_order)
{
    const size_t n = problem->n;

    *ret_sorted = *problem;
    list_sorted(problem, ret_order);
    for (size_t i = 0; i < n; i++) {
        struct cw_optimize_node *node = &ret_sorted->nodes[i];
        *node = problem->nodes[ret_order[i]];
        node->behind = moved_set(ret_order, n, node->behind);
        node->crops = moved_set(ret_order, n, node->crops);
        node->folds = moved_set(ret_order, n, node->folds);
    }
    for (size_t i = 0; i < problem->filters.n; i++)
        ret_sorted->filters.place[i] = (uint8_t)place_of(ret_order, problem->filters.place[i]);
    ret_sorted->cache_needs = moved_set(ret_order, n, problem->cache_needs);
    for (size_t i = 0; i < problem->cached_n; i++)
        ret_sorted->cached[i].set = moved_set(ret_order, n, problem->cached[i].set);
}
