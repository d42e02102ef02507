/* SPDX-License-Identifier: Apache-2.0 */
/* Where thread time and CPU time depend on the order in different ways, a set keeps every way that no other beats in
 * both; and what may still become part of another operator, or may be called for many elements at once, is kept
 * apart. */
#include "policies/optimize_ways.h"

#include <string.h>

#include "base/mem.h"

#define WAYS_MAX 32 /* of a set; more are cut off */

static uint64_t key_of(uint64_t mask)
{
    return mask | cw_optimize_bit(63);
}

static struct cw_optimize_set *find(const struct cw_optimize_search *search, uint64_t mask)
{
    size_t place = (size_t)(uintptr_t)cw_map_get(&search->places, key_of(mask));

    return place ? &search->sets[place - 1] : NULL;
}

/* A set that is there. */
static const struct cw_optimize_set *get(const struct cw_optimize_search *search, uint64_t mask)
{
    const struct cw_optimize_set *set = find(search, mask);

    CW_ASSERT(set);
    return set;
}

static void add_set(struct cw_optimize_search *search, uint64_t mask)
{
    CW_GROW(search->sets, search->n, search->cap);
    search->sets[search->n++] = (struct cw_optimize_set){.mask = mask};
    cw_map_set(&search->places, key_of(mask), (void *)(uintptr_t)search->n);
}

struct cw_optimize_flow cw_optimize_flow_behind(const struct cw_optimize_search *search,
                                                uint64_t mask)
{
    struct cw_optimize_flow flow;

    cw_optimize_begin(search->problem, search->is_whole, &flow);
    for (size_t i = 0; i < search->problem->n; i++)
        if (mask & cw_optimize_bit(i))
            cw_optimize_pass(search->problem, i, &flow);
    return flow;
}

static bool may_follow(const struct cw_optimize_search *search, uint64_t mask, size_t op)
{
    return !(mask & cw_optimize_bit(op)) && (search->problem->nodes[op].behind & ~mask) == 0;
}

/* Lists all sets, smaller ones first. Returns false if there are too many. */
static bool list_sets(struct cw_optimize_search *search)
{
    add_set(search, 0);
    for (size_t i = 0; i < search->n; i++) {
        uint64_t mask = search->sets[i].mask;
        for (size_t op = 0; op < search->problem->n; op++)
            if (may_follow(search, mask, op) && !find(search, mask | cw_optimize_bit(op)))
                add_set(search, mask | cw_optimize_bit(op));
        if (search->n > CW_OPTIMIZE_SETS_MAX)
            return false;
    }
    return true;
}

/* ---- ways ---- */

static struct cw_optimize_sums sum(struct cw_optimize_sums a, struct cw_optimize_sums b)
{
    return (struct cw_optimize_sums){a.thread_ns + b.thread_ns, a.cpu_ns + b.cpu_ns};
}

struct cw_optimize_sums cw_optimize_way_sums(const struct cw_optimize_way *way)
{
    return sum(way->rest, way->end);
}

static bool costs_no_more(struct cw_optimize_sums a, struct cw_optimize_sums b)
{
    return a.thread_ns <= b.thread_ns * (1 + CW_OPTIMIZE_EQUAL) &&
           a.cpu_ns <= b.cpu_ns * (1 + CW_OPTIMIZE_EQUAL);
}

/* Of two ways that cost the same, the one with fewer operators moved is better. What is open may make a difference
 * later. */
static bool is_beaten(const struct cw_optimize_way *a, const struct cw_optimize_way *by)
{
    const struct cw_optimize_sums mine = cw_optimize_way_sums(a), other = cw_optimize_way_sums(by);

    return a->open == by->open && a->is_part == by->is_part && a->in_block == by->in_block &&
           costs_no_more(other, mine) && (by->moved <= a->moved || !costs_no_more(mine, other));
}

/* Adds a way to those that are being gathered at the end of the list, unless one of them beats it. */
static void gather(struct cw_optimize_search *search, struct cw_optimize_ways *ways,
                   struct cw_optimize_way way)
{
    struct cw_optimize_way *all = ways->n > 0 ? search->ways + ways->first : NULL;
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

/* Whether an operator of a set may be its last one. */
static bool may_be_last(const struct cw_optimize_search *search, uint64_t mask, size_t op)
{
    return (mask & cw_optimize_bit(op)) && find(search, mask & ~cw_optimize_bit(op)) &&
           may_follow(search, mask & ~cw_optimize_bit(op), op);
}

/* Goes on from the ways to a set to one with this operator as well. */
static void gather_to(struct cw_optimize_search *search, struct cw_optimize_ways *into,
                      uint64_t mask, size_t op)
{
    const struct cw_optimize_ways others = get(search, mask)->to;
    const struct cw_optimize_flow flow = cw_optimize_flow_behind(search, mask);
    const size_t place = (size_t)__builtin_popcountll(mask);
    const struct cw_optimize_sums cost = cw_optimize_cost(search->problem, op, &flow, false);

    for (uint32_t i = 0; i < others.n; i++) {
        const struct cw_optimize_way before = search->ways[others.first + i];
        struct cw_optimize_way way = {.rest = cw_optimize_way_sums(&before),
                                      .end = cost,
                                      .link = others.first + i,
                                      .op = (uint8_t)op,
                                      .moved = (uint8_t)(before.moved + (op != place)),
                                      .open =
                                          search->folded_by[op] & ~mask ? (uint8_t)(op + 1) : 0};
        if (before.op != CW_OPTIMIZE_NO_OP && cw_optimize_folds(search->problem, before.op, op)) {
            const struct cw_optimize_flow less =
                cw_optimize_flow_behind(search, mask & ~cw_optimize_bit(before.op));
            way.rest = before.rest;
            way.end = cw_optimize_cost(search->problem, op, &less, false);
        }
        gather(search, into, way);
    }
}

static void find_ways_to(struct cw_optimize_search *search, struct cw_optimize_set *set)
{
    struct cw_optimize_ways ways = {.first = (uint32_t)search->ways_n};

    if (set->mask == 0)
        gather(search, &ways, (struct cw_optimize_way){.op = CW_OPTIMIZE_NO_OP});
    for (size_t op = 0; op < search->problem->n; op++)
        if (may_be_last(search, set->mask, op))
            gather_to(search, &ways, set->mask & ~cw_optimize_bit(op), op);
    set->to = ways;
}

/* One way from a set on, with this operator first, then another way. */
static struct cw_optimize_way step_from(const struct cw_optimize_search *search,
                                        const struct cw_optimize_flow *flow, size_t op,
                                        const struct cw_optimize_way *next)
{
    const struct cw_optimize_problem *problem = search->problem;
    const bool begins = cw_optimize_begins_block(problem, op, flow);
    const bool by_batch = next->in_block && cw_optimize_is_in_block(problem, op, flow);
    struct cw_optimize_way way = {
        .rest = cw_optimize_way_sums(next), .op = (uint8_t)op, .in_block = begins || by_batch};

    if (next->op == CW_OPTIMIZE_NO_OP || !cw_optimize_folds(problem, op, next->op)) {
        way.end = cw_optimize_cost(problem, op, flow, by_batch);
        return way;
    }
    way.is_part = true;
    if (!next->is_part) /* the next one gets what comes to this one */
        way.rest =
            sum(next->rest, cw_optimize_cost(problem, next->op, flow,
                                             next->in_block && !problem->nodes[next->op].is_batch));
    return way;
}

/* Goes on from the ways from a set with this operator as well. */
static void gather_from(struct cw_optimize_search *search, struct cw_optimize_ways *into,
                        uint64_t mask, size_t op, const struct cw_optimize_flow *flow)
{
    const struct cw_optimize_ways others = get(search, mask | cw_optimize_bit(op))->from;
    const size_t place = (size_t)__builtin_popcountll(mask);

    for (uint32_t i = 0; i < others.n; i++) {
        const struct cw_optimize_way next = search->ways[others.first + i];
        struct cw_optimize_way way = step_from(search, flow, op, &next);
        way.link = others.first + i;
        way.moved = (uint8_t)(next.moved + (op != place));
        way.open = search->problem->nodes[op].folds & mask ? (uint8_t)(op + 1) : 0;
        gather(search, into, way);
    }
}

static void find_ways_from(struct cw_optimize_search *search, struct cw_optimize_set *set)
{
    struct cw_optimize_ways ways = {.first = (uint32_t)search->ways_n};
    struct cw_optimize_flow flow = cw_optimize_flow_behind(search, set->mask);

    if (set->mask == cw_optimize_bit(search->problem->n) - 1)
        gather(search, &ways,
               (struct cw_optimize_way){
                   .op = CW_OPTIMIZE_NO_OP,
                   .in_block = cw_optimize_begins_block(search->problem, SIZE_MAX, &flow)});
    for (size_t op = 0; op < search->problem->n; op++)
        if (may_follow(search, set->mask, op))
            gather_from(search, &ways, set->mask, op, &flow);
    set->from = ways;
}

bool cw_optimize_find_ways(struct cw_optimize_search *search)
{
    const struct cw_optimize_problem *problem = search->problem;

    if (!list_sets(search))
        return false;
    for (size_t a = 0; a < problem->n; a++)
        for (size_t b = 0; b < problem->n; b++)
            if (a != b && cw_optimize_folds(problem, a, b))
                search->folded_by[a] |= cw_optimize_bit(b);
    /* Without a cache nothing but the beginning is looked at as a way to a set. */
    for (size_t i = 0; i < (problem->has_store ? search->n : 1); i++)
        find_ways_to(search, &search->sets[i]);
    for (size_t i = search->n; i-- > 0;)
        find_ways_from(search, &search->sets[i]);
    return true;
}

void cw_optimize_ways_fini(struct cw_optimize_search *search)
{
    cw_map_fini(&search->places);
    cw_mem_free(search->sets);
    cw_mem_free(search->ways);
}
