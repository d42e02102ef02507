/* SPDX-License-Identifier: Apache-2.0 */
/* What the constraints of a chain allow: which operators may change sides, how many orders that makes,
 * and the cheapest of them. What an operator costs depends only on the set of those before it, so both
 * follow from one pass over the sets that can stand before something; fixed operators cut the chain
 * into parts that do so by themselves. */
#include "policies/cedar_int.h"

#include <string.h>

#include "base/map.h"
#include "base/mem.h"

#define SETS_MAX ((size_t)1 << 20) /* of one part */

static uint64_t bit(size_t i)
{
    return UINT64_C(1) << i;
}

/* The places from which an operator is reached by way of depends_on. */
static uint64_t reached_from(const struct cw_cedar_chain *chain, size_t op)
{
    uint64_t all = chain->ops[op].depends_on, before;

    do {
        before = all;
        for (size_t i = 0; i < chain->n; i++)
            if (all & bit(i))
                all |= chain->ops[i].depends_on;
    } while (all != before);
    return all;
}

void cw_cedar_walls(const struct cw_cedar_chain *chain, uint64_t ret_walls[CW_CEDAR_OPS_MAX])
{
    memset(ret_walls, 0, CW_CEDAR_OPS_MAX * sizeof(*ret_walls));
    for (size_t i = 0; i < chain->n; i++) {
        uint64_t others = reached_from(chain, i);
        if (chain->ops[i].is_fixed || chain->ops[i].is_source)
            others = bit(chain->n) - 1;
        ret_walls[i] |= others;
        for (size_t j = 0; j < chain->n; j++)
            if (others & bit(j))
                ret_walls[j] |= bit(i);
    }
}

/* ---- one part of the chain between fixed operators ---- */

/* A set of operators of a part that may stand before all others of it. */
struct set {
    uint64_t mask;              /* places of the chain */
    double orders, cost, bytes; /* bytes come out of the last one, whichever that is */
    uint8_t last;               /* in the cheapest order of the set */
};
struct part {
    const struct cw_cedar_chain *chain;
    const uint64_t *walls;
    uint64_t all; /* the part's operators */
    double in_bytes, base_ms[CW_CEDAR_OPS_MAX];
    struct set *sets;
    size_t n, cap;
    struct cw_map places; /* mask -> its place in sets + 1 */
};

/* Notes one way to a set: by `op` behind those of `from`. */
static void reach(struct part *part, struct set from, size_t op)
{
    const struct cw_cedar_op *it = &part->chain->ops[op];
    double cost = from.cost + part->base_ms[op] * (from.bytes / it->in_bytes);
    uint64_t mask = from.mask | bit(op);
    size_t place = (size_t)(uintptr_t)cw_map_get(&part->places, mask);

    if (place == 0) {
        CW_GROW(part->sets, part->n, part->cap);
        part->sets[part->n++] = (struct set){
            mask, from.orders, cost, from.bytes * (it->out_bytes / it->in_bytes), (uint8_t)op};
        cw_map_set(&part->places, mask, (void *)(uintptr_t)part->n);
        return;
    }
    struct set *set = &part->sets[place - 1];
    set->orders += from.orders;
    if (cost < set->cost) {
        set->cost = cost;
        set->last = (uint8_t)op;
    }
}

/* Whether all that must stand before an operator is in the set. */
static bool may_follow(const struct part *part, uint64_t mask, size_t op)
{
    return (part->walls[op] & part->all & (bit(op) - 1) & ~mask) == 0;
}

static void expand(struct part *part, struct set set)
{
    for (size_t op = 0; op < part->chain->n; op++)
        if ((part->all & ~set.mask & bit(op)) && may_follow(part, set.mask, op))
            reach(part, set, op);
}

/* Puts the part's operators in their cheapest order. Returns the number of orders, 0: there is too much
 * to look at, and they stay as written. */
static double order_part(struct part *part, size_t *ret_order, size_t n)
{
    double orders = 0;

    CW_GROW(part->sets, part->n, part->cap);
    part->sets[part->n++] = (struct set){.orders = 1, .bytes = part->in_bytes};
    for (size_t op = 0; op < part->chain->n; op++)
        part->base_ms[op] = cw_cedar_base_ms(part->chain, op);
    size_t i = 0;
    for (; i < part->n && part->n <= SETS_MAX; i++) {
        struct set set = part->sets[i];
        expand(part, set);
    }
    if (i == part->n) {
        struct set set = part->sets[part->n - 1]; /* the largest set comes last */
        orders = set.orders;
        for (size_t at = n; at-- > 0;) {
            ret_order[at] = set.last;
            size_t before = (size_t)(uintptr_t)cw_map_get(&part->places, set.mask & ~bit(set.last));
            set = part->sets[before ? before - 1 : 0];
        }
    }
    cw_map_fini(&part->places);
    cw_mem_free(part->sets);
    return orders;
}

/* ---- the chain ---- */

/* Finds the cheapest order part by part; returns the number of orders, 0: too much to look at. */
static double find_least(const struct cw_cedar_chain *chain, const uint64_t *walls, size_t *order)
{
    double orders = 1, bytes = chain->ops[0].out_bytes;

    for (size_t i = 0; i < chain->n; i++)
        order[i] = i;
    for (size_t from = 1, to; from < chain->n; from = to + 1) {
        uint64_t all = 0;
        for (to = from; to < chain->n && !chain->ops[to].is_fixed; to++)
            all |= bit(to);
        struct part part = {.chain = chain, .walls = walls, .all = all, .in_bytes = bytes};
        double here = all ? order_part(&part, order + from, to - from) : 1;
        orders *= here;
        for (size_t i = from; i < chain->n && i <= to; i++)
            bytes *= chain->ops[i].out_bytes / chain->ops[i].in_bytes;
    }
    return orders;
}

void cw_cedar_find_order(const struct cw_cedar_chain *chain, struct cw_cedar_plan *plan)
{
    uint64_t walls[CW_CEDAR_OPS_MAX];

    cw_cedar_walls(chain, walls);
    plan->orders = find_least(chain, walls, plan->order);
    plan->is_least = plan->orders > 0;
    plan->is_complete = plan->is_least && plan->orders <= CW_CEDAR_ORDERS_MAX &&
                        cw_cedar_enumerate(chain, walls, plan->order);
}
