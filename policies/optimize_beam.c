/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/optimize_beam.h"

#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "policies/optimize_bound.h"

struct state {
    uint64_t mask;
    double spent_ns,
        least_ns; /* what it takes threads up to the set; and what any order through it takes at least */
};
struct states {
    struct state *states;
    size_t n, cap;
};
struct beam {
    const struct cw_optimize_problem
        *problem; /* its operators stand behind others as this beam has it */
    struct cw_optimize_least least;
    struct states now, next; /* sets of a size; and those with one operator more */
    struct cw_map places;    /* key_of(mask) -> place + 1 in next */
    size_t width;            /* so many of a size are kept */
    double dropped_ns;
};

static uint64_t key_of(uint64_t mask)
{
    return mask | cw_optimize_bit(63);
}

/* Adds a set to those that come next, or a cheaper way to one that is there. */
static void offer(struct beam *beam, uint64_t mask, double spent_ns)
{
    const size_t place = (size_t)(uintptr_t)cw_map_get(&beam->places, key_of(mask));

    if (place) {
        struct state *there = &beam->next.states[place - 1];
        there->spent_ns = fmin(there->spent_ns, spent_ns);
        return;
    }
    CW_GROW(beam->next.states, beam->next.n, beam->next.cap);
    beam->next.states[beam->next.n++] = (struct state){.mask = mask, .spent_ns = spent_ns};
    cw_map_set(&beam->places, key_of(mask), (void *)(uintptr_t)beam->next.n);
}

static void step(struct beam *beam, const struct state *from)
{
    struct cw_optimize_flow flow;

    cw_optimize_flow_behind(beam->problem, false, from->mask, &flow);
    for (size_t op = 0; op < beam->problem->n; op++)
        if (cw_optimize_may_follow(beam->problem, from->mask, op))
            offer(beam, from->mask | cw_optimize_bit(op),
                  from->spent_ns +
                      cw_optimize_least_step(beam->problem, &beam->least, op, &flow).thread_ns);
}

static int compare_states(const void *a, const void *b)
{
    const struct state *x = a, *y = b;

    if (x->least_ns != y->least_ns)
        return x->least_ns < y->least_ns ? -1 : 1;
    return cw_optimize_comes_before(x->mask, y->mask) ? -1 : x->mask != y->mask;
}

static void set_least(const struct beam *beam, struct state *state)
{
    struct cw_optimize_flow flow;

    cw_optimize_flow_behind(beam->problem, false, state->mask, &flow);
    state->least_ns = state->spent_ns + cw_optimize_least_rest_ns(&beam->least, state->mask, &flow);
}

/* Keeps the sets that promise most, and the one of the written order. */
static void keep_best(struct beam *beam, uint64_t written)
{
    struct states *all = &beam->next;
    size_t kept = 0;

    for (size_t i = 0; i < all->n; i++)
        set_least(beam, &all->states[i]);
    qsort(all->states, all->n, sizeof(*all->states), compare_states);
    for (size_t i = 0; i < all->n; i++) {
        const struct state state = all->states[i];
        if (i < beam->width || state.mask == written)
            all->states[kept++] = state;
        else
            beam->dropped_ns = fmin(beam->dropped_ns, state.least_ns);
    }
    all->n = kept;
}

static void add_masks(const struct states *states, struct cw_optimize_masks *masks)
{
    for (size_t i = 0; i < states->n; i++) {
        CW_GROW(masks->masks, masks->n, masks->cap);
        masks->masks[masks->n++] = states->states[i].mask;
    }
}

static void next_size(struct beam *beam, size_t size)
{
    const struct states now = beam->now;

    cw_map_fini(&beam->places);
    beam->places = (struct cw_map){0};
    beam->next.n = 0;
    for (size_t i = 0; i < now.n; i++)
        step(beam, &now.states[i]);
    keep_best(beam, cw_optimize_bit(size) - 1);
    beam->now = beam->next;
    beam->next = now;
}

/* Adds its sets to the list. Returns what every order takes threads at least that goes through another set. */
static double search(const struct cw_optimize_problem *problem, size_t sets,
                     struct cw_optimize_masks *masks)
{
    struct beam beam = {
        .problem = problem, .width = CW_MAX(sets / problem->n, 1), .dropped_ns = HUGE_VAL};

    cw_optimize_least_init(problem, &beam.least);
    offer(&beam, 0, 0);
    beam.now = beam.next;
    beam.next = (struct states){0};
    add_masks(&beam.now, masks);
    for (size_t size = 1; size <= problem->n; size++) {
        next_size(&beam, size);
        add_masks(&beam.now, masks);
    }
    cw_map_fini(&beam.places);
    cw_mem_free(beam.now.states);
    cw_mem_free(beam.next.states);
    cw_optimize_least_fini(&beam.least);
    return beam.dropped_ns;
}

/* Where a cache may stand, orders that have as much as possible before it are looked at by themselves: what no cache can
 * stand behind comes behind all that it need not come before. */
static void search_cached(const struct cw_optimize_problem *problem, size_t sets,
                          struct cw_optimize_masks *masks)
{
    const uint64_t late = cw_optimize_uncacheable(problem);
    const uint64_t all = cw_optimize_bit(problem->n) - 1;

    if (!problem->has_store || late == 0 || late == all)
        return;
    cw_autofree struct cw_optimize_problem *cached = CW_NEW(struct cw_optimize_problem);
    *cached = *problem;
    for (size_t i = 0; i < problem->n; i++)
        if (late >> i & 1)
            cached->nodes[i].behind |= all & ~late;
    search(cached, sets, masks);
}

static int compare_masks(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return cw_optimize_comes_before(x, y) ? -1 : x != y;
}

void cw_optimize_beam(const struct cw_optimize_problem *problem, size_t sets,
                      struct cw_optimize_masks *ret_masks)
{
    size_t n = 0;

    ret_masks->n = 0;
    ret_masks->dropped_ns = search(problem, sets, ret_masks);
    search_cached(problem, sets, ret_masks);
    qsort(ret_masks->masks, ret_masks->n, sizeof(*ret_masks->masks), compare_masks);
    for (size_t i = 0; i < ret_masks->n; i++)
        if (i == 0 || ret_masks->masks[i] != ret_masks->masks[n - 1])
            ret_masks->masks[n++] = ret_masks->masks[i];
    ret_masks->n = n;
}
