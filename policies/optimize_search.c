/* SPDX-License-Identifier: Apache-2.0 */
/* The search over sets of operators. A set is closed downwards: whatever must stand before one of its
 * operators is in it (optimize_ways.h). */
#include "policies/optimize_ways.h"

#include <math.h>

#define ALIKE 1.01 /* plans within 1 % of each other are alike in time or money */

/* ---- plans ---- */

/* The best plan so far, in two rounds: first the least time (or money) is found, then the best of those
 * that are alike in it. */
struct best {
    double least; /* of the first round */
    bool is_second_round, is_set;
    struct cw_optimize_plan plan;
};

static double first_of(const struct cw_optimize_search *search, const struct cw_optimize_plan *plan)
{
    return search->problem->least_money ? plan->money : plan->total_ns;
}

static double second_of(const struct cw_optimize_search *search,
                        const struct cw_optimize_plan *plan)
{
    return search->problem->least_money ? plan->total_ns : plan->money;
}

/* Writes the order of the plan. */
static void write_order(const struct cw_optimize_search *search, struct cw_optimize_way to,
                        struct cw_optimize_way from, uint64_t set, struct cw_optimize_plan *plan)
{
    size_t n = (size_t)__builtin_popcountll(set);

    for (size_t i = n; i-- > 0; to = search->ways[to.link])
        plan->order[i] = to.op;
    for (size_t i = n; i < search->problem->n; i++, from = search->ways[from.link])
        plan->order[i] = from.op;
    plan->moved = 0;
    for (size_t i = 0; i < search->problem->n; i++)
        plan->moved += plan->order[i] != i;
}

/* -1: a is less, 1: more, 0: equal but for rounding. */
static int compare(double a, double b)
{
    double room = CW_OPTIMIZE_EQUAL * 1000 * fmax(fabs(a), fabs(b));

    return a < b - room ? -1 : a > b + room;
}

static bool is_better(const struct cw_optimize_search *search, const struct best *best,
                      struct cw_optimize_plan *plan, struct cw_optimize_way to,
                      struct cw_optimize_way from, uint64_t set)
{
    unsigned workers = plan->remote + plan->local;
    unsigned best_workers = best->plan.remote + best->plan.local;
    int second = compare(second_of(search, plan), second_of(search, &best->plan));
    int first = compare(first_of(search, plan), first_of(search, &best->plan));

    if (second != 0)
        return second < 0;
    if (workers != best_workers)
        return workers < best_workers;
    int work = compare(plan->work_ns, best->plan.work_ns);
    if (search->problem->least_work && work != 0)
        return work < 0;
    write_order(search, to, from, set, plan);
    if (plan->moved != best->plan.moved)
        return plan->moved < best->plan.moved;
    return first < 0;
}

static void offer(const struct cw_optimize_search *search, struct best *best,
                  struct cw_optimize_plan *plan, struct cw_optimize_way to,
                  struct cw_optimize_way from, uint64_t set)
{
    double first = first_of(search, plan);

    if (!best->is_second_round) {
        best->least = fmin(best->least, first);
        return;
    }
    if (first > best->least * ALIKE)
        return;
    if (best->is_set && !is_better(search, best, plan, to, from, set))
        return;
    write_order(search, to, from, set, plan);
    best->plan = *plan;
    best->is_set = true;
}

/* Prices one way to a set and one from it on, with every number of workers. */
static void price_ways(const struct cw_optimize_search *search,
                       const struct cw_optimize_parts *parts, struct cw_optimize_way to,
                       struct cw_optimize_way from, uint64_t set, struct best *best)
{
    const struct cw_optimize_problem *problem = search->problem;
    struct cw_optimize_plan plan = {.cache_after = CW_OPTIMIZE_NO_CACHE};

    if (parts->has_cache)
        plan.cache_after = (size_t)__builtin_popcountll(set) - 1;
    for (plan.remote = 0; plan.remote <= problem->remote_max; plan.remote++)
        for (plan.local = 0; plan.local <= problem->local_max; plan.local++)
            if (plan.remote + plan.local > 0) {
                cw_optimize_times(problem, parts, &plan);
                offer(search, best, &plan, to, from, set);
            }
}

static void price_set(const struct cw_optimize_search *search, const struct cw_optimize_set *set,
                      bool has_cache, double output_bytes, struct best *best)
{
    struct cw_optimize_flow flow = cw_optimize_flow_behind(search, set->mask);
    struct cw_optimize_parts parts = {
        .has_cache = has_cache,
        .cached_share = flow.share,
        .cached_bytes = cw_optimize_bytes(search->problem, &flow),
        .is_there = has_cache ? cw_optimize_is_there(search->problem, set->mask) : 0,
        .output_bytes = output_bytes,
    };

    for (uint32_t i = 0; i < set->to.n; i++)
        for (uint32_t j = 0; j < set->from.n; j++) {
            struct cw_optimize_way to = search->ways[set->to.first + i];
            struct cw_optimize_way from = search->ways[set->from.first + j];
            parts.before = cw_optimize_way_sums(&to);
            parts.behind = cw_optimize_way_sums(&from);
            price_ways(search, &parts, to, from, set->mask, best);
        }
}

static bool is_cacheable(const struct cw_optimize_search *search, uint64_t mask)
{
    for (size_t i = 0; i < search->problem->n; i++)
        if ((mask & cw_optimize_bit(i)) && search->problem->nodes[i].uncacheable)
            return false;
    return mask != 0 && search->problem->has_store && !(search->problem->cache_needs & ~mask) &&
           cw_optimize_is_whole(search->problem, mask) == search->is_whole;
}

static void price_all(const struct cw_optimize_search *search, struct best *best)
{
    const struct cw_optimize_set *all = &search->sets[search->n - 1];
    struct cw_optimize_flow flow = cw_optimize_flow_behind(search, all->mask);
    double output_bytes = flow.share * cw_optimize_bytes(search->problem, &flow);

    if (!search->is_whole) /* from the beginning to the end */
        price_set(search, &search->sets[0], false, output_bytes, best);
    for (size_t i = 0; i < search->n; i++)
        if (is_cacheable(search, search->sets[i].mask))
            price_set(search, &search->sets[i], true, output_bytes, best);
}

static void as_written(const struct cw_optimize_problem *problem, struct cw_optimize_plan *plan)
{
    *plan = (struct cw_optimize_plan){.cache_after = CW_OPTIMIZE_NO_CACHE};
    plan->remote = problem->remote_max;
    plan->local = problem->remote_max ? 0 : problem->local_max;
    for (size_t i = 0; i < problem->n; i++)
        plan->order[i] = i;
}

/* Whether an image may be cached before it is cropped. */
static bool may_be_whole(const struct cw_optimize_problem *problem)
{
    for (size_t i = 0; problem->has_store && !problem->apart && i < problem->n; i++)
        if (problem->nodes[i].crops)
            return true;
    return false;
}

void cw_optimize(const struct cw_optimize_problem *problem, struct cw_optimize_plan *ret_plan)
{
    /* Where images are made whole all costs are others, so these plans have ways of their own. */
    struct cw_optimize_search search = {.problem = problem},
                              whole = {.problem = problem, .is_whole = true};
    struct best best = {.least = HUGE_VAL};
    bool has_whole = may_be_whole(problem);

    as_written(problem, ret_plan);
    if (cw_optimize_find_ways(&search) && (!has_whole || cw_optimize_find_ways(&whole))) {
        for (int round = 0; round < 2; round++) {
            best.is_second_round = round > 0;
            price_all(&search, &best);
            if (has_whole)
                price_all(&whole, &best);
        }
        *ret_plan = best.plan;
        ret_plan->states = search.n;
        ret_plan->is_best = !search.is_cut && !whole.is_cut;
    }
    cw_optimize_price(problem, ret_plan);
    ret_plan->gap = ret_plan->is_best ? 0 : cw_optimize_gap(problem, ret_plan);
    cw_optimize_ways_fini(&search);
    cw_optimize_ways_fini(&whole);
}
