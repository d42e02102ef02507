/* SPDX-License-Identifier: Apache-2.0 */
/* The search over sets of operators. A set is closed downwards: whatever must stand before one of its
 * operators is in it (optimize_ways.h). */
#include "policies/optimize_ways.h"

#include <math.h>

#include "base/mem.h"
#include "policies/optimize_bound.h"

#define ALIKE 1.01 /* plans within 1 % of each other are alike in time or money */

/* ---- plans ---- */

/* The best plan so far, in two rounds: first the least time (or money) is found, then the best of those
 * that are alike in it. */
struct best {
    double least; /* of the first round */
    bool is_second_round, is_set;
    size_t priced;
    struct cw_optimize_plan plan;
};

/* Returns the most time (or money) that would be taken. */
static double limit_of(const struct best *best)
{
    return best->least * (best->is_second_round ? ALIKE : 1);
}

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
    if (first > limit_of(best))
        return;
    if (best->is_set && !is_better(search, best, plan, to, from, set))
        return;
    write_order(search, to, from, set, plan);
    best->plan = *plan;
    best->is_set = true;
}

/* What some number of workers could bring at best: all together take the least time, a single one costs the least an
 * hour, and nothing travels to local ones. With fewer than `fewest` a plan takes more time than would be taken, and with
 * more than `most` more money than the best so far. */
struct outlook {
    double least; /* time or money */
    unsigned fewest;
    double most;
};

/* What so many workers take at least. */
static double least_ns(const struct cw_optimize_problem *problem,
                       const struct cw_optimize_parts *parts, unsigned workers)
{
    struct cw_optimize_parts most = *parts;
    struct cw_optimize_plan plan = {.remote = workers};

    if (problem->local_max > 0)
        most.output_bytes = 0;
    cw_optimize_times(problem, &most, &plan);
    return plan.total_ns;
}

/* More workers take no more time, so the fewest that would be taken are found by halves. all: so many would be. */
static unsigned fewest_workers(const struct cw_optimize_problem *problem,
                               const struct cw_optimize_parts *parts, struct best *best,
                               unsigned all)
{
    unsigned too_few = 0, enough = all;

    while (!problem->least_money && enough - too_few > 1) {
        const unsigned half = too_few + (enough - too_few) / 2;
        best->priced++;
        if (least_ns(problem, parts, half) <= limit_of(best))
            enough = half;
        else
            too_few = half;
    }
    return problem->least_money ? 1 : enough;
}

static double most_workers(const struct cw_optimize_problem *problem, const struct best *best)
{
    if (!best->is_set || problem->least_money || problem->worker_price <= 0 || best->least <= 0)
        return HUGE_VAL;
    const double price = best->plan.money * 3.6e12 / best->least - problem->trainer_price;
    return price / problem->worker_price * (1 + 1e-6) + 1e-6;
}

/* Returns what is taken at least, time or money, with any number of workers. */
static double least_with_workers(const struct cw_optimize_problem *problem,
                                 const struct cw_optimize_parts *parts, struct best *best)
{
    const double ns = least_ns(problem, parts, problem->remote_max + problem->local_max);

    best->priced++;
    return problem->least_money ? (problem->worker_price + problem->trainer_price) * ns / 3.6e12
                                : ns;
}

/* Returns whether a way to a set and one from it on may be taken with some number of workers. */
static bool look_at(const struct cw_optimize_problem *problem,
                    const struct cw_optimize_parts *parts, struct best *best,
                    struct outlook *ret_outlook)
{
    *ret_outlook = (struct outlook){.least = least_with_workers(problem, parts, best)};
    if (ret_outlook->least > limit_of(best))
        return false;
    ret_outlook->fewest =
        fewest_workers(problem, parts, best, problem->remote_max + problem->local_max);
    ret_outlook->most = most_workers(problem, best);
    return true;
}

/* Prices one way to a set and one from it on, with every number of workers. Returns what they bring at least. */
static double price_ways(const struct cw_optimize_search *search,
                         const struct cw_optimize_parts *parts, struct cw_optimize_way to,
                         struct cw_optimize_way from, uint64_t set, struct best *best)
{
    const struct cw_optimize_problem *problem = search->problem;
    struct cw_optimize_plan plan = {.cache_after = CW_OPTIMIZE_NO_CACHE};
    struct outlook outlook;

    if (!look_at(problem, parts, best, &outlook))
        return outlook.least;
    if (parts->has_cache)
        plan.cache_after = parts->cache_after;
    for (plan.remote = 0; plan.remote <= problem->remote_max; plan.remote++)
        for (plan.local = 0; plan.local <= problem->local_max; plan.local++)
            if (plan.remote + plan.local >= outlook.fewest &&
                plan.remote + plan.local <= outlook.most) {
                best->priced++;
                cw_optimize_times(problem, parts, &plan);
                offer(search, best, &plan, to, from, set);
            }
    return outlook.least;
}

static struct cw_optimize_sums least_of(struct cw_optimize_sums a, struct cw_optimize_sums b)
{
    return (struct cw_optimize_sums){fmin(a.thread_ns, b.thread_ns), fmin(a.cpu_ns, b.cpu_ns)};
}

/* The least of all ways of a list, of each kind of time by itself. */
static struct cw_optimize_sums least_sums(const struct cw_optimize_search *search, uint32_t first)
{
    struct cw_optimize_sums least = search->ways[first].sums;

    for (uint32_t i = search->ways[first].next; i; i = search->ways[i].next)
        least = least_of(least, search->ways[i].sums);
    return least;
}

/* Whether some of the plans through a set may be taken: none brings more than one with the least of all its ways. If
 * there is one way to it and one from it on, that is looked at only once. */
static bool may_be_taken(const struct cw_optimize_search *search, struct cw_optimize_set *set,
                         struct cw_optimize_parts *parts, struct best *best)
{
    if (!search->ways[set->to].next && !search->ways[set->from].next)
        return true;
    parts->before = least_sums(search, set->to);
    parts->behind = least_sums(search, set->from);
    set->least = least_with_workers(search->problem, parts, best);
    return set->least <= limit_of(best);
}

/* Prices all ways to a set and from it on. */
static void price_set(struct cw_optimize_search *search, size_t at,
                      const struct cw_optimize_flow *flow, bool has_cache, double output_bytes,
                      struct best *best)
{
    struct cw_optimize_parts parts = {
        .has_cache = has_cache,
        .cache_after = (size_t)__builtin_popcountll(search->masks[at]) - 1,
        .cached_share = flow->share,
        .cached_bytes = cw_optimize_bytes(search->problem, flow),
        .is_there = has_cache ? cw_optimize_is_there(search->problem, search->masks[at]) : 0,
        .output_bytes = output_bytes,
    };
    struct cw_optimize_set *set = &search->sets[at];
    double least = HUGE_VAL;

    if (!set->to || !set->from || !may_be_taken(search, set, &parts, best))
        return;
    for (uint32_t i = set->to; i; i = search->ways[i].next)
        for (uint32_t j = set->from; j; j = search->ways[j].next) {
            const struct cw_optimize_way *to = &search->ways[i], *from = &search->ways[j];
            parts.before = to->sums;
            parts.behind = from->sums;
            least = fmin(least, price_ways(search, &parts, *to, *from, search->masks[at], best));
        }
    set->least = least;
}

/* Whether a cache may stand behind a set. late: those behind which none may. */
static bool is_cacheable(const struct cw_optimize_search *search, uint64_t mask, uint64_t late)
{
    return mask != 0 && search->problem->has_store && !(mask & late) &&
           !(search->problem->cache_needs & ~mask) &&
           (mask & search->crops && cw_optimize_is_whole(search->problem, mask)) ==
               search->is_whole;
}

static void price_cached(struct cw_optimize_search *search, double output_bytes, struct best *best)
{
    const uint64_t late = cw_optimize_uncacheable(search->problem);
    struct cw_optimize_flows flows;

    cw_optimize_flows_begin(search->problem, search->is_whole, &flows);
    for (size_t i = 0; i < search->n; i++)
        if (search->sets[i].least <= limit_of(best) && is_cacheable(search, search->masks[i], late))
            price_set(search, i, cw_optimize_flows_behind(&flows, search->masks[i]), true,
                      output_bytes, best);
}

/* Prices all orders with each cache within what the first node stands for. */
static void price_branches(const struct cw_optimize_search *search, double output_bytes,
                           struct best *best)
{
    const struct cw_optimize_problem *problem = search->problem;
    struct cw_optimize_parts parts = {.output_bytes = output_bytes};

    for (size_t k = 0; problem->has_store && k < problem->branches_n; k++)
        for (uint32_t i = search->sets[0].from; i; i = search->ways[i].next) {
            const struct cw_optimize_way *from = &search->ways[i];
            cw_optimize_set_branch(problem, k, from->sums, &parts);
            (void)price_ways(search, &parts, search->ways[search->sets[0].to], *from, 0, best);
        }
}

static void price_all(struct cw_optimize_search *search, struct best *best)
{
    const struct cw_optimize_problem *problem = search->problem;
    struct cw_optimize_flow flow;

    cw_optimize_flow_behind(problem, search->is_whole, search->masks[search->n - 1], &flow);
    const double output_bytes = flow.share * cw_optimize_bytes(problem, &flow);
    cw_optimize_begin(problem, search->is_whole, &flow);
    if (!search->is_whole) /* from the beginning to the end */
        price_set(search, 0, &flow, false, output_bytes, best);
    if (!search->is_whole)
        price_branches(search, output_bytes, best);
    if (problem->has_store)
        price_cached(search, output_bytes, best);
}

/* Whether an image may be cached before it is cropped. */
static bool may_be_whole(const struct cw_optimize_problem *problem)
{
    for (size_t i = 0; problem->has_store && !problem->apart && i < problem->n; i++)
        if (problem->nodes[i].crops)
            return true;
    return false;
}

static void find_best(const struct cw_optimize_problem *problem,
                      const struct cw_optimize_masks *masks, struct cw_optimize_plan *ret_plan)
{
    /* Where images are made whole all costs are others, so these plans have ways of their own. */
    struct cw_optimize_search search = {.problem = problem},
                              whole = {.problem = problem, .is_whole = true};
    struct best best = {.least = HUGE_VAL};
    const bool has_whole = may_be_whole(problem);

    cw_optimize_find_ways(&search, masks);
    if (has_whole)
        cw_optimize_find_ways(&whole, masks);
    for (int round = 0; round < 2; round++) {
        best.is_second_round = round > 0;
        price_all(&search, &best);
        if (has_whole)
            price_all(&whole, &best);
    }
    *ret_plan = best.plan;
    ret_plan->states = masks->n;
    ret_plan->priced = best.priced;
    ret_plan->is_best = !search.is_cut && !whole.is_cut;
    cw_optimize_ways_fini(&search);
    cw_optimize_ways_fini(&whole);
}

static void search_within(const struct cw_optimize_problem *problem, size_t at_most,
                          size_t most_promising, struct cw_optimize_plan *ret_plan)
{
    struct cw_optimize_masks masks;

    cw_optimize_masks_init(problem, at_most, most_promising, &masks);
    find_best(problem, &masks, ret_plan);
    cw_optimize_price(problem, ret_plan);
    if (!ret_plan->is_best) /* what was cut off may be anywhere */
        ret_plan->gap = cw_optimize_gap(problem, ret_plan);
    else if (!masks.is_all)
        ret_plan->gap = cw_optimize_gap_above(problem, ret_plan, masks.dropped_ns);
    /* the gap is one of time: what takes less money may be among what was left out */
    ret_plan->is_best = ret_plan->gap <= 0 && (masks.is_all || !problem->least_money);
    cw_optimize_masks_fini(&masks);
}

void cw_optimize_within(const struct cw_optimize_problem *problem, size_t at_most,
                        size_t most_promising, struct cw_optimize_plan *ret_plan)
{
    size_t order[CW_OPTIMIZE_NODES_MAX];

    if (cw_optimize_is_sorted(problem)) {
        search_within(problem, at_most, most_promising, ret_plan);
        return;
    }
    cw_autofree struct cw_optimize_problem *sorted = CW_NEW(struct cw_optimize_problem);
    cw_optimize_sort(problem, sorted, order);
    search_within(sorted, at_most, most_promising, ret_plan);
    for (size_t i = 0; i < problem->n; i++)
        ret_plan->order[i] = order[ret_plan->order[i]];
    cw_optimize_price(problem, ret_plan);
}

void cw_optimize(const struct cw_optimize_problem *problem, struct cw_optimize_plan *ret_plan)
{
    cw_optimize_within(problem, CW_OPTIMIZE_SETS_MAX, CW_OPTIMIZE_PROMISING_SETS, ret_plan);
}
