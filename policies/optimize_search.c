/* SPDX-License-Identifier: Apache-2.0 */
/* The search over sets of operators. A set is closed downwards: whatever must stand before one of its
 * operators is in it. Where thread time and CPU time depend on the order in different ways, a set keeps
 * every way that no other beats in both. */
#include "policies/optimize_int.h"

#include <math.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

#define WAYS_MAX 16 /* of a set; more are cut off */
#define ALIKE 1.01  /* plans within 1 % of each other are alike in time or money */
#define EQUAL 1e-12 /* the part by which equal sums may differ */

/* One way to a set, or from it to the end. */
struct way {
    struct cw_optimize_sums sums;
    uint32_t link;     /* the way that it goes on with */
    uint8_t op, moved; /* moved: operators of it that do not stand where they were written */
};
struct ways {
    uint32_t first, n;
};
struct set {
    uint64_t mask;
    struct ways to, from;
};
struct search {
    const struct cw_optimize_problem *problem;
    struct set *sets;
    size_t n, cap;
    struct cw_map places; /* key_of(mask) -> place + 1 */
    struct way *ways;
    size_t ways_n, ways_cap;
    bool is_cut;   /* some ways were cut off */
    bool is_whole; /* it looks for plans that cache images before they are cropped */
};

static uint64_t bit(size_t i)
{
    return UINT64_C(1) << i;
}

static uint64_t key_of(uint64_t mask)
{
    return mask | bit(63);
}

static struct set *find(const struct search *search, uint64_t mask)
{
    size_t place = (size_t)(uintptr_t)cw_map_get(&search->places, key_of(mask));

    return place ? &search->sets[place - 1] : NULL;
}

/* A set that is there. */
static const struct set *get(const struct search *search, uint64_t mask)
{
    const struct set *set = find(search, mask);

    CW_ASSERT(set);
    return set;
}

static void add_set(struct search *search, uint64_t mask)
{
    CW_GROW(search->sets, search->n, search->cap);
    search->sets[search->n++] = (struct set){.mask = mask};
    cw_map_set(&search->places, key_of(mask), (void *)(uintptr_t)search->n);
}

static struct cw_optimize_flow flow_behind(const struct search *search, uint64_t mask)
{
    struct cw_optimize_flow flow;

    cw_optimize_begin(search->problem, search->is_whole, &flow);
    for (size_t i = 0; i < search->problem->n; i++)
        if (mask & bit(i))
            cw_optimize_pass(search->problem, i, &flow);
    return flow;
}

static bool may_follow(const struct search *search, uint64_t mask, size_t op)
{
    return !(mask & bit(op)) && (search->problem->nodes[op].behind & ~mask) == 0;
}

/* Lists all sets, smaller ones first. Returns false if there are too many. */
static bool list_sets(struct search *search)
{
    add_set(search, 0);
    for (size_t i = 0; i < search->n; i++) {
        uint64_t mask = search->sets[i].mask;
        for (size_t op = 0; op < search->problem->n; op++)
            if (may_follow(search, mask, op) && !find(search, mask | bit(op)))
                add_set(search, mask | bit(op));
        if (search->n > CW_OPTIMIZE_SETS_MAX)
            return false;
    }
    return true;
}

/* ---- ways ---- */

static bool costs_no_more(struct cw_optimize_sums a, struct cw_optimize_sums b)
{
    return a.thread_ns <= b.thread_ns * (1 + EQUAL) && a.cpu_ns <= b.cpu_ns * (1 + EQUAL);
}

/* Of two ways that cost the same, the one with fewer operators moved is better. */
static bool is_beaten(const struct way *a, const struct way *by)
{
    return costs_no_more(by->sums, a->sums) &&
           (by->moved <= a->moved || !costs_no_more(a->sums, by->sums));
}

/* Adds a way to those that are being gathered at the end of the list, unless one of them beats it. */
static void gather(struct search *search, struct ways *ways, struct way way)
{
    struct way *all = ways->n > 0 ? search->ways + ways->first : NULL;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < ways->n; i++)
        if (is_beaten(&way, &all[i]))
            return;
    for (uint32_t i = 0; i < ways->n; i++)
        if (!is_beaten(&all[i], &way))
            all[kept++] = all[i];
    ways->n = kept;
    search->ways_n = ways->first + kept;
    if (kept == WAYS_MAX) {
        search->is_cut = true;
        return;
    }
    CW_GROW(search->ways, search->ways_n, search->ways_cap);
    search->ways[search->ways_n++] = way;
    ways->n++;
}

/* Goes on from other ways by an operator that then stands at this place. */
static void gather_all(struct search *search, struct ways *into, struct ways others,
                       struct cw_optimize_sums more, size_t op, size_t place)
{
    for (uint32_t i = 0; i < others.n; i++) {
        struct way way = search->ways[others.first + i];
        way = (struct way){{way.sums.thread_ns + more.thread_ns, way.sums.cpu_ns + more.cpu_ns},
                           others.first + i,
                           (uint8_t)op,
                           (uint8_t)(way.moved + (op != place))};
        gather(search, into, way);
    }
}

/* Whether an operator of a set may be its last one. */
static bool may_be_last(const struct search *search, uint64_t mask, size_t op)
{
    return (mask & bit(op)) && find(search, mask & ~bit(op)) &&
           may_follow(search, mask & ~bit(op), op);
}

static void find_ways_to(struct search *search, struct set *set)
{
    struct ways ways = {.first = (uint32_t)search->ways_n};
    size_t n = (size_t)__builtin_popcountll(set->mask);

    if (set->mask == 0)
        gather(search, &ways, (struct way){0});
    for (size_t op = 0; op < search->problem->n; op++) {
        if (!may_be_last(search, set->mask, op))
            continue;
        struct cw_optimize_flow flow = flow_behind(search, set->mask & ~bit(op));
        gather_all(search, &ways, get(search, set->mask & ~bit(op))->to,
                   cw_optimize_cost(search->problem, op, &flow), op, n - 1);
    }
    set->to = ways;
}

static void find_ways_from(struct search *search, struct set *set)
{
    struct ways ways = {.first = (uint32_t)search->ways_n};
    struct cw_optimize_flow flow = flow_behind(search, set->mask);
    size_t n = (size_t)__builtin_popcountll(set->mask);

    if (set->mask == bit(search->problem->n) - 1)
        gather(search, &ways, (struct way){0});
    for (size_t op = 0; op < search->problem->n; op++)
        if (may_follow(search, set->mask, op))
            gather_all(search, &ways, get(search, set->mask | bit(op))->from,
                       cw_optimize_cost(search->problem, op, &flow), op, n);
    set->from = ways;
}

/* ---- plans ---- */

/* The best plan so far, in two rounds: first the least time (or money) is found, then the best of those
 * that are alike in it. */
struct best {
    double least; /* of the first round */
    bool is_second_round, is_set;
    struct cw_optimize_plan plan;
};

static double first_of(const struct search *search, const struct cw_optimize_plan *plan)
{
    return search->problem->least_money ? plan->money : plan->total_ns;
}

static double second_of(const struct search *search, const struct cw_optimize_plan *plan)
{
    return search->problem->least_money ? plan->total_ns : plan->money;
}

/* Writes the order of the plan. */
static void write_order(const struct search *search, struct way to, struct way from, uint64_t set,
                        struct cw_optimize_plan *plan)
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
    double room = EQUAL * 1000 * fmax(fabs(a), fabs(b));

    return a < b - room ? -1 : a > b + room;
}

static bool is_better(const struct search *search, const struct best *best,
                      struct cw_optimize_plan *plan, struct way to, struct way from, uint64_t set)
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

static void offer(const struct search *search, struct best *best, struct cw_optimize_plan *plan,
                  struct way to, struct way from, uint64_t set)
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
static void price_ways(const struct search *search, const struct cw_optimize_parts *parts,
                       struct way to, struct way from, uint64_t set, struct best *best)
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

static void price_set(const struct search *search, const struct set *set, bool has_cache,
                      double output_bytes, struct best *best)
{
    struct cw_optimize_flow flow = flow_behind(search, set->mask);
    struct cw_optimize_parts parts = {
        .has_cache = has_cache,
        .cached_share = flow.share,
        .cached_bytes = cw_optimize_bytes(search->problem, &flow),
        .is_there = has_cache ? cw_optimize_is_there(search->problem, set->mask) : 0,
        .output_bytes = output_bytes,
    };

    for (uint32_t i = 0; i < set->to.n; i++)
        for (uint32_t j = 0; j < set->from.n; j++) {
            struct way to = search->ways[set->to.first + i];
            struct way from = search->ways[set->from.first + j];
            parts.before = to.sums;
            parts.behind = from.sums;
            price_ways(search, &parts, to, from, set->mask, best);
        }
}

static bool is_cacheable(const struct search *search, uint64_t mask)
{
    for (size_t i = 0; i < search->problem->n; i++)
        if ((mask & bit(i)) && search->problem->nodes[i].uncacheable)
            return false;
    return mask != 0 && search->problem->has_store && !(search->problem->cache_needs & ~mask) &&
           cw_optimize_is_whole(search->problem, mask) == search->is_whole;
}

static void price_all(const struct search *search, struct best *best)
{
    const struct set *all = &search->sets[search->n - 1];
    struct cw_optimize_flow flow = flow_behind(search, all->mask);
    double output_bytes = flow.share * cw_optimize_bytes(search->problem, &flow);

    if (!search->is_whole)
        price_set(search, all, false, output_bytes, best);
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

/* Finds all ways; returns false if there are too many sets. */
static bool find_ways(struct search *search)
{
    if (!list_sets(search))
        return false;
    for (size_t i = 0; i < search->n; i++)
        find_ways_to(search, &search->sets[i]);
    for (size_t i = search->n; i-- > 0;)
        find_ways_from(search, &search->sets[i]);
    return true;
}

static void search_fini(struct search *search)
{
    cw_map_fini(&search->places);
    cw_mem_free(search->sets);
    cw_mem_free(search->ways);
}

/* Whether an image may be cached before it is cropped. */
static bool may_be_whole(const struct cw_optimize_problem *problem)
{
    for (size_t i = 0; problem->has_store && i < problem->n; i++)
        if (problem->nodes[i].crops)
            return true;
    return false;
}

void cw_optimize(const struct cw_optimize_problem *problem, struct cw_optimize_plan *ret_plan)
{
    /* Where images are made whole all costs are others, so these plans have ways of their own. */
    struct search search = {.problem = problem}, whole = {.problem = problem, .is_whole = true};
    struct best best = {.least = HUGE_VAL};
    bool has_whole = may_be_whole(problem);

    as_written(problem, ret_plan);
    if (find_ways(&search) && (!has_whole || find_ways(&whole))) {
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
    search_fini(&search);
    search_fini(&whole);
}
