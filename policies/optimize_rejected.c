/* SPDX-License-Identifier: Apache-2.0 */
/* The plans around one: each differs from it in one thing. */
#include "policies/optimize_view.h"

#include <string.h>

#include "base/mem.h"

struct list {
    const struct cw_optimize_problem *problem;
    const struct cw_optimize_plan *best;
    bool fixed_workers;             /* all plans have those of the best */
    struct cw_optimize_rejected *v; /* the best first */
    size_t n;
};

static uint64_t bit(size_t i)
{
    return UINT64_C(1) << i;
}

static bool is_same(const struct list *list, const struct cw_optimize_plan *a,
                    const struct cw_optimize_plan *b)
{
    return a->cache_after == b->cache_after && a->remote == b->remote && a->local == b->local &&
           memcmp(a->order, b->order, list->problem->n * sizeof(*a->order)) == 0;
}

/* Prices a plan and puts it into its place, unless it is there or it is the best one itself. */
static void offer(struct list *list, enum cw_rejected_kind kind, size_t a, size_t b,
                  struct cw_optimize_plan plan)
{
    if (list->fixed_workers) {
        plan.remote = list->best->remote;
        plan.local = list->best->local;
    }
    cw_optimize_price(list->problem, &plan);
    if (is_same(list, &plan, list->best))
        return;
    for (size_t i = 0; i < list->n; i++)
        if (is_same(list, &plan, &list->v[i].plan))
            return;
    size_t at = list->n;
    while (at > 0 && list->v[at - 1].plan.total_ns > plan.total_ns)
        at--;
    if (at == CW_REJECTED_MAX)
        return;
    if (list->n < CW_REJECTED_MAX)
        list->n++;
    memmove(&list->v[at + 1], &list->v[at], (list->n - at - 1) * sizeof(*list->v));
    list->v[at] = (struct cw_optimize_rejected){kind, a, b, plan};
}

/* ---- found by the search ---- */

static void offer_written(struct list *list)
{
    struct cw_optimize_problem *fixed = CW_NEW(struct cw_optimize_problem);
    struct cw_optimize_plan plan;

    *fixed = *list->problem;
    for (size_t i = 1; i < fixed->n; i++)
        fixed->nodes[i].behind = bit(i) - 1;
    cw_optimize(fixed, &plan);
    offer(list, CW_REJECTED_WRITTEN, 0, 0, plan);
    cw_mem_free(fixed);
}

static void offer_no_cache(struct list *list)
{
    struct cw_optimize_problem *without = CW_NEW(struct cw_optimize_problem);
    struct cw_optimize_plan plan;

    *without = *list->problem;
    without->has_store = false;
    cw_optimize(without, &plan);
    offer(list, CW_REJECTED_NO_CACHE, 0, 0, plan);
    cw_mem_free(without);
}

/* ---- by one step ---- */

static void offer_caches(struct list *list)
{
    const struct cw_optimize_problem *problem = list->problem;
    struct cw_optimize_plan plan = *list->best;
    uint64_t before = 0;

    for (size_t k = 0; problem->has_store && k < problem->branches_n; k++) {
        plan.cache_after = CW_OPTIMIZE_INSIDE + k;
        offer(list, CW_REJECTED_CACHE, 0, 0, plan);
    }
    for (size_t i = 0; problem->has_store && i < problem->n; i++) {
        before |= bit(plan.order[i]);
        if (problem->nodes[plan.order[i]].uncacheable)
            return;
        plan.cache_after = i;
        if ((problem->cache_needs & ~before) == 0)
            offer(list, CW_REJECTED_CACHE, plan.order[i], 0, plan);
    }
}

/* Whether the cache of the plan may stay where it is when the operators at i and i + 1 change sides. */
static bool keeps_cache(const struct list *list, size_t i)
{
    return list->best->cache_after != i;
}

static void offer_swaps(struct list *list)
{
    for (size_t i = 0; i + 1 < list->problem->n; i++) {
        struct cw_optimize_plan plan = *list->best;
        size_t a = plan.order[i], b = plan.order[i + 1];
        if ((list->problem->nodes[b].behind & bit(a)) || !keeps_cache(list, i))
            continue;
        plan.order[i] = b;
        plan.order[i + 1] = a;
        offer(list, CW_REJECTED_SWAPPED, a, b, plan);
    }
}

static void offer_workers(struct list *list)
{
    const struct cw_optimize_plan *best = list->best;
    static const int STEPS[][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};

    for (size_t i = 0; i < CW_ARRAY_LEN(STEPS); i++) {
        struct cw_optimize_plan plan = *best;
        plan.remote += (unsigned)STEPS[i][0]; /* below 0 it is more than there may be */
        plan.local += (unsigned)STEPS[i][1];
        if (plan.remote <= list->problem->remote_max && plan.local <= list->problem->local_max &&
            plan.remote + plan.local > 0)
            offer(list, CW_REJECTED_WORKERS, 0, 0, plan);
    }
}

size_t cw_optimize_rejected(const struct cw_optimize_problem *problem,
                            const struct cw_optimize_plan *plan, bool fixed_workers,
                            struct cw_optimize_rejected *ret_list)
{
    struct list list = {
        .problem = problem, .best = plan, .fixed_workers = fixed_workers, .v = ret_list};

    offer_written(&list);
    if (plan->cache_after != CW_OPTIMIZE_NO_CACHE)
        offer_no_cache(&list);
    offer_caches(&list);
    offer_swaps(&list);
    offer_workers(&list);
    return list.n;
}
