/* SPDX-License-Identifier: Apache-2.0 */
/* Where thread time and CPU time depend on the order in different ways, a set keeps every way that no other beats in
 * both; and what may still become part of another operator, or may be called for many elements at once, is kept
 * apart. */
#include "policies/optimize_ways.h"

#include <string.h>

#include "base/mem.h"

#define WAYS_MAX 32 /* of a set; more are cut off */

/* ---- sets ---- */

/* Goes on to a set that stands further on in the list. Returns NULL if it is not there. */
static struct cw_optimize_set *go_on(const struct cw_optimize_search *search, size_t *at,
                                     uint64_t mask)
{
    const uint64_t *masks = search->masks;
    size_t i = *at;

    while (i < search->n && cw_optimize_comes_before(masks[i], mask))
        i++;
    *at = i;
    return i < search->n && masks[i] == mask ? &search->sets[i] : NULL;
}

/* The same towards the beginning of the list; `at` is a place behind those that are looked at. */
static struct cw_optimize_set *go_back(const struct cw_optimize_search *search, size_t *at,
                                       uint64_t mask)
{
    const uint64_t *masks = search->masks;
    size_t i = *at;

    while (i > 0 && cw_optimize_comes_before(mask, masks[i - 1]))
        i--;
    *at = i;
    return i > 0 && masks[i - 1] == mask ? &search->sets[i - 1] : NULL;
}

/* A set, and the sets that have one operator more. */
struct reach {
    uint64_t mask;
    size_t place; /* how many operators it has: where the next one stands */
    struct cw_optimize_set *set;
    struct cw_optimize_flow flow; /* what comes out of it */
    size_t n;
    uint8_t op[CW_OPTIMIZE_NODES_MAX]; /* what the others have more */
    struct cw_optimize_set *more[CW_OPTIMIZE_NODES_MAX];
};
/* Goes through the list in its order, or back from its end. It is one set ahead of who asks, so that the first ways of
 * what the next one reaches, which lie far from each other, can be fetched meanwhile. */
struct steps {
    bool is_back;
    size_t seen; /* sets that were looked at */
    struct cw_optimize_flows flows;
    size_t
        cursor[CW_OPTIMIZE_NODES_MAX]; /* by operator: where the search for such sets has come to */
    struct reach reach[2];             /* of the set in turn, and of the next one */
};

static void look(struct cw_optimize_search *search, size_t at, struct steps *steps,
                 struct reach *reach)
{
    reach->mask = search->masks[at];
    reach->place = (size_t)__builtin_popcountll(reach->mask);
    reach->set = &search->sets[at];
    reach->flow = *cw_optimize_flows_behind(&steps->flows, reach->mask);
    reach->n = 0;
    for (uint64_t left = search->all & ~reach->mask; left; left &= left - 1) {
        const size_t op = (size_t)__builtin_ctzll(left);
        if (search->behind[op] & ~reach->mask)
            continue;
        const uint64_t mask = reach->mask | cw_optimize_bit(op);
        struct cw_optimize_set *more = steps->is_back ? go_back(search, &steps->cursor[op], mask)
                                                      : go_on(search, &steps->cursor[op], mask);
        if (!more)
            continue;
        __builtin_prefetch(&search->ways[steps->is_back ? more->from : more->to]);
        reach->op[reach->n] = (uint8_t)op;
        reach->more[reach->n++] = more;
    }
}

static void look_ahead(struct cw_optimize_search *search, struct steps *steps)
{
    const size_t at = steps->is_back ? search->n - 1 - steps->seen : steps->seen;

    if (steps->seen < search->n)
        look(search, at, steps, &steps->reach[steps->seen % 2]);
    steps->seen++;
}

static void steps_begin(struct cw_optimize_search *search, bool is_back, struct steps *ret_steps)
{
    ret_steps->is_back = is_back;
    ret_steps->seen = 0;
    cw_optimize_flows_begin(search->problem, search->is_whole, &ret_steps->flows);
    for (size_t op = 0; op < search->problem->n; op++)
        ret_steps->cursor[op] = is_back ? search->n : 0;
    look_ahead(search, ret_steps);
}

/* Returns the set in turn. */
static const struct reach *steps_next(struct cw_optimize_search *search, struct steps *steps)
{
    look_ahead(search, steps);
    return &steps->reach[steps->seen % 2];
}

/* ---- ways ---- */

static inline struct cw_optimize_sums cost_of(const struct cw_optimize_search *search, size_t op,
                                              const struct cw_optimize_flow *flow, bool many)
{
    return search->idle & cw_optimize_bit(op)
               ? (struct cw_optimize_sums){0}
               : cw_optimize_call_cost(search->problem, op, flow, many);
}

static struct cw_optimize_sums sum(struct cw_optimize_sums a, struct cw_optimize_sums b)
{
    return (struct cw_optimize_sums){a.thread_ns + b.thread_ns, a.cpu_ns + b.cpu_ns};
}

static bool costs_no_more(struct cw_optimize_sums a, struct cw_optimize_sums b)
{
    return a.thread_ns <= b.thread_ns * (1 + CW_OPTIMIZE_EQUAL) &&
           a.cpu_ns <= b.cpu_ns * (1 + CW_OPTIMIZE_EQUAL);
}

/* Goes on along a way to where its first operator with an effect stands, or to its end, and returns that part of it.
 * passed: those without are added, as bits. */
static const struct cw_optimize_way *next_called(const struct cw_optimize_search *search,
                                                 const struct cw_optimize_way *way,
                                                 uint64_t *passed)
{
    while (way->op != CW_OPTIMIZE_NO_OP && (search->idle & cw_optimize_bit(way->op))) {
        *passed |= cw_optimize_bit(way->op);
        way = &search->ways[way->link];
    }
    return way;
}

/* What a way costs without its nearest operator that has an effect. */
static struct cw_optimize_sums rest_of(const struct cw_optimize_search *search,
                                       const struct cw_optimize_way *way)
{
    uint64_t passed = 0;

    return search->ways[next_called(search, way, &passed)->link].sums;
}

/* Of two ways that cost the same, the one with fewer operators moved is better. What is open may make a difference
 * later. */
static inline bool is_beaten(const struct cw_optimize_search *search,
                             const struct cw_optimize_way *a, const struct cw_optimize_way *by)
{
    return a->open == by->open && a->is_part == by->is_part && a->in_block == by->in_block &&
           a->many == by->many && costs_no_more(by->sums, a->sums) &&
           (!a->open || costs_no_more(rest_of(search, by), rest_of(search, a))) &&
           (by->moved <= a->moved || !costs_no_more(a->sums, by->sums));
}

/* Returns the number of a way that is not in use. */
static uint32_t take_way(struct cw_optimize_search *search)
{
    const uint32_t unused = search->unused;

    if (unused) {
        search->unused = search->ways[unused].next;
        return unused;
    }
    CW_GROW(search->ways, search->ways_n, search->ways_cap);
    return (uint32_t)search->ways_n++;
}

/* Adds a way to those of a set, unless one of them beats it; those that it beats are taken out. */
static void gather(struct cw_optimize_search *search, uint32_t *first,
                   const struct cw_optimize_way *way)
{
    size_t n = 0;

    for (uint32_t *at = first; *at;) {
        const uint32_t number = *at;
        struct cw_optimize_way *other = &search->ways[number];
        if (is_beaten(search, way, other))
            return;
        if (is_beaten(search, other, way)) {
            *at = other->next;
            other->next = search->unused;
            search->unused = number;
            continue;
        }
        n++;
        at = &other->next;
    }
    if (n == WAYS_MAX) {
        search->is_cut = true;
        return;
    }
    const uint32_t number = take_way(search);
    search->ways[number] = *way;
    search->ways[number].next = *first;
    *first = number;
}

/* Whether operator op, at the end of a way to a set, is open there: who does its work is not in the set. */
static uint8_t open_to(const struct cw_optimize_search *search, size_t op, uint64_t mask)
{
    return op != CW_OPTIMIZE_NO_OP && (search->folded_by[op] & ~mask) ? (uint8_t)(op + 1) : 0;
}

/* Sets the costs of a way to a set to which an operator is added that has an effect. It may do the work of the last
 * one that has one, too; one that is not called does nobody's. */
static void set_to(const struct cw_optimize_search *search, uint64_t mask,
                   const struct cw_optimize_way *before, struct cw_optimize_sums cost,
                   struct cw_optimize_way *way)
{
    const struct cw_optimize_problem *problem = search->problem;
    uint64_t left = 0;

    way->sums = sum(before->sums, cost);
    way->open = open_to(search, way->op, mask);
    if (!before->open)
        return;
    const struct cw_optimize_way *last = next_called(search, before, &left);
    if (cw_optimize_folds(problem, last->op, way->op)) {
        struct cw_optimize_flow less;
        left |= cw_optimize_bit(last->op);
        cw_optimize_flow_behind(problem, search->is_whole, mask & ~left, &less);
        way->sums = sum(rest_of(search, before), cw_optimize_cost(problem, way->op, &less, false));
    }
}

/* Goes on from the ways to a set to one with an operator more. */
static void gather_to(struct cw_optimize_search *search, const struct reach *reach, size_t k)
{
    const size_t op = reach->op[k];
    const bool is_idle = search->idle & cw_optimize_bit(op);
    const struct cw_optimize_sums cost = cost_of(search, op, &reach->flow, false);

    for (uint32_t i = reach->set->to; i; i = search->ways[i].next) {
        const struct cw_optimize_way *before = &search->ways[i];
        struct cw_optimize_way way = {.sums = before->sums, .link = i, .op = (uint8_t)op};
        way.moved = (uint8_t)(before->moved + (op != reach->place));
        if (!is_idle)
            set_to(search, reach->mask, before, cost, &way);
        else if (before->open)
            way.open = open_to(search, (size_t)before->open - 1, reach->mask);
        gather(search, &reach->more[k]->to, &way);
    }
}

/* Goes through the list from its beginning: all ways to a set are known when its turn comes. */
static void find_ways_to(struct cw_optimize_search *search)
{
    const struct cw_optimize_way none = {.op = CW_OPTIMIZE_NO_OP};
    struct steps steps;

    steps_begin(search, false, &steps);
    gather(search, &search->sets[0].to, &none);
    /* Without a cache nothing but the beginning is looked at as a way to a set. */
    for (size_t i = 0; search->problem->has_store && i < search->n; i++) {
        const struct reach *reach = steps_next(search, &steps);
        for (size_t k = 0; k < reach->n; k++)
            gather_to(search, reach, k);
    }
}

/* An operator that is put before ways from a set on. */
struct first {
    size_t op;
    const struct cw_optimize_flow *flow; /* what comes to it */
    uint64_t mask;                       /* of the set that it is put behind */
    bool begins, may_be_many, is_idle;
    bool
        is_alone; /* it does nobody's work, nobody does its own, and it works on one element at a time */
    struct cw_optimize_sums one, many; /* what it costs for one element, and as one of many */
};

static struct first first_of(const struct cw_optimize_search *search, const struct reach *reach,
                             size_t op)
{
    const struct cw_optimize_problem *problem = search->problem;
    struct first first = {.op = op, .flow = &reach->flow, .mask = reach->mask};

    first.is_idle = search->idle & cw_optimize_bit(op);
    first.is_alone = search->alone & cw_optimize_bit(op);
    first.one = cost_of(search, op, first.flow, false);
    if (!(search->blocks & cw_optimize_bit(op)))
        return first;
    first.begins = cw_optimize_begins_block(problem, op, first.flow);
    first.may_be_many = cw_optimize_is_in_block(problem, op, first.flow);
    if (first.may_be_many)
        first.many = cost_of(search, op, first.flow, true);
    return first;
}

/* Sets what depends on the next operator that has an effect. */
static void set_from(const struct cw_optimize_search *search, const struct first *first,
                     const struct cw_optimize_way *next, struct cw_optimize_way *way)
{
    const struct cw_optimize_problem *problem = search->problem;
    uint64_t passed = 0;

    way->open = problem->nodes[first->op].folds & first->mask ? (uint8_t)(first->op + 1) : 0;
    way->many = way->in_block;
    if (!next->open || next->is_part ||
        !cw_optimize_folds(problem, first->op, (size_t)next->open - 1))
        return;
    const struct cw_optimize_way *called = next_called(search, next, &passed);
    const bool many = called->in_block && !problem->nodes[called->op].is_batch;
    way->is_part = true; /* the next one gets what comes to this one */
    way->sums =
        sum(rest_of(search, next), cw_optimize_cost(problem, called->op, first->flow, many));
}

/* One way from a set on, with an operator first, then another way. */
static struct cw_optimize_way step_from(const struct cw_optimize_search *search,
                                        const struct first *first,
                                        const struct cw_optimize_way *next)
{
    if (first->is_alone)
        return (struct cw_optimize_way){.sums = sum(next->sums, first->one),
                                        .op = (uint8_t)first->op};
    const bool many = next->in_block && first->may_be_many;
    struct cw_optimize_way way = {.sums = sum(next->sums, many ? first->many : first->one),
                                  .op = (uint8_t)first->op,
                                  .in_block = first->begins || many};

    if (!first->is_idle) {
        set_from(search, first, next, &way);
        return way;
    }
    way.is_part = next->is_part;
    way.many = next->many;
    if (next->open && (search->problem->nodes[next->open - 1].folds & first->mask))
        way.open = next->open;
    return way;
}

/* Goes on from the ways from a set with an operator more to those from the set without it. */
static void gather_from(struct cw_optimize_search *search, const struct reach *reach, size_t k)
{
    const struct first first = first_of(search, reach, reach->op[k]);

    for (uint32_t i = reach->more[k]->from; i; i = search->ways[i].next) {
        const struct cw_optimize_way *next = &search->ways[i];
        struct cw_optimize_way way = step_from(search, &first, next);
        way.link = i;
        way.moved = (uint8_t)(next->moved + (first.op != reach->place));
        gather(search, &reach->set->from, &way);
    }
}

/* Goes through the list from its end. */
static void find_ways_from(struct cw_optimize_search *search)
{
    struct cw_optimize_way end = {.op = CW_OPTIMIZE_NO_OP};
    struct steps steps;

    steps_begin(search, true, &steps);
    for (size_t i = search->n; i-- > 0;) {
        const struct reach *reach = steps_next(search, &steps);
        if (i == search->n - 1) {
            end.in_block = cw_optimize_begins_block(search->problem, SIZE_MAX, &reach->flow);
            gather(search, &reach->set->from, &end);
        }
        for (size_t k = 0; k < reach->n; k++)
            gather_from(search, reach, k);
    }
}

static void set_bits(struct cw_optimize_search *search)
{
    const struct cw_optimize_problem *problem = search->problem;

    for (size_t a = 0; a < problem->n; a++) {
        search->all |= cw_optimize_bit(a);
        search->behind[a] = problem->nodes[a].behind;
        if (problem->nodes[a].is_batch || problem->nodes[a].by_batch)
            search->blocks |= cw_optimize_bit(a);
        if (cw_optimize_is_idle(problem, a))
            search->idle |= cw_optimize_bit(a);
        if (problem->nodes[a].crops && !problem->apart)
            search->crops |= cw_optimize_bit(a);
        for (size_t b = 0; b < problem->n; b++)
            if (a != b && cw_optimize_folds(problem, a, b))
                search->folded_by[a] |= cw_optimize_bit(b);
        if (!search->folded_by[a] && !problem->nodes[a].folds &&
            !(search->blocks & cw_optimize_bit(a)))
            search->alone |= cw_optimize_bit(a);
    }
}

void cw_optimize_find_ways(struct cw_optimize_search *search, const struct cw_optimize_masks *masks)
{
    search->masks = masks->masks;
    search->n = masks->n;
    search->sets = CW_NEW_ARRAY(struct cw_optimize_set, masks->n);
    for (size_t i = 0; i < masks->n; i++)
        search->sets[i] = (struct cw_optimize_set){.least = -1};
    set_bits(search);
    const uint32_t none = take_way(search);
    search->ways[none] = (struct cw_optimize_way){0}; /* number 0 */
    find_ways_to(search);
    find_ways_from(search);
}

void cw_optimize_ways_fini(struct cw_optimize_search *search)
{
    cw_mem_free(search->sets);
    cw_mem_free(search->ways);
}
