/* SPDX-License-Identifier: Apache-2.0 */
/* cedar's enumeration of orders. It is repeated as it is, since of several orders that cost the same
 * the first one in it is taken. An order is kept as a link to the order of one operator less, so that
 * a million of them need no more than a few dozen megabytes. */
#include "policies/cedar_int.h"

#include <math.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

#define ENTRIES_MAX (8 * CW_CEDAR_ORDERS_MAX)
#define ALIKE_MS 1e-9 /* costs so near to each other are equal */

/* An order: another one and an operator behind it. */
struct entry {
    uint32_t before;
    uint8_t op;
    double cost, bytes;
};
/* All orders of one sub-chain: a range of entries. */
struct orders {
    size_t first, n;
};
struct search {
    const struct cw_cedar_chain *chain;
    const uint64_t *walls;
    double base_ms[CW_CEDAR_OPS_MAX];
    struct entry *entries;
    size_t n, cap;
    struct cw_strmap known; /* a sub-chain, one byte an operator -> struct orders */
    bool is_too_large;
};

static void push(struct search *search, struct entry entry)
{
    if (search->n == ENTRIES_MAX) {
        search->is_too_large = true;
        return;
    }
    CW_GROW(search->entries, search->n, search->cap);
    search->entries[search->n++] = entry;
}

static void push_source(struct search *search, uint8_t op)
{
    push(search, (struct entry){0, op, search->base_ms[op], search->chain->ops[op].out_bytes});
}

static void push_behind(struct search *search, size_t before, uint8_t op)
{
    const struct cw_cedar_op *it = &search->chain->ops[op];
    const struct entry *rest = &search->entries[before];

    push(search, (struct entry){(uint32_t)before, op,
                                rest->cost + search->base_ms[op] * (rest->bytes / it->in_bytes),
                                rest->bytes * (it->out_bytes / it->in_bytes)});
}

static struct orders orders_of(struct search *search, const char *key, size_t n);

/* Where two operators at the end may change sides: the sub-chain with the last one in the place of
 * `last`, found by way of an order that ends in `last`. */
static struct orders swapped(struct search *search, size_t entry, uint8_t end, size_t n)
{
    char key[CW_CEDAR_OPS_MAX + 1] = {0};

    key[n - 1] = (char)(end + 1);
    entry = search->entries[entry].before;
    for (size_t i = n - 1; i-- > 0; entry = search->entries[entry].before)
        key[i] = (char)(search->entries[entry].op + 1);
    return orders_of(search, key, n);
}

static bool may_swap(const struct search *search, uint8_t a, uint8_t b)
{
    return !(search->walls[a] >> b & 1);
}

/* The orders of a chain that ends in `end`: those of the rest with `end` behind them, and where one of
 * them ends in an operator that may change sides with it, when that is met first, those with it last. */
static struct orders extend(struct search *search, struct orders rest, uint8_t end, size_t n)
{
    struct orders others[CW_CEDAR_OPS_MAX];
    uint64_t seen = 0;

    for (size_t i = 0; i < rest.n && !search->is_too_large; i++) {
        uint8_t last = search->entries[rest.first + i].op;
        if (!(seen >> last & 1) && may_swap(search, last, end))
            others[last] = swapped(search, rest.first + i, end, n - 1);
        seen |= UINT64_C(1) << last;
    }
    struct orders all = {.first = search->n};
    seen = 0;
    for (size_t i = 0; i < rest.n && !search->is_too_large; i++) {
        uint8_t last = search->entries[rest.first + i].op;
        push_behind(search, rest.first + i, end);
        if (!(seen >> last & 1) && may_swap(search, last, end))
            for (size_t j = 0; j < others[last].n && !search->is_too_large; j++)
                push_behind(search, others[last].first + j, last);
        seen |= UINT64_C(1) << last;
    }
    all.n = search->n - all.first;
    return all;
}

static struct orders orders_of(struct search *search, const char *key, size_t n)
{
    struct orders *known = cw_strmap_get(&search->known, key);
    char shorter[CW_CEDAR_OPS_MAX + 1] = {0};
    struct orders all = {0};

    if (known || search->is_too_large)
        return known ? *known : all;
    uint8_t end = (uint8_t)(key[n - 1] - 1);
    if (n == 1) {
        all = (struct orders){.first = search->n, .n = 1};
        push_source(search, end);
    } else {
        memcpy(shorter, key, n - 1);
        all = extend(search, orders_of(search, shorter, n - 1), end, n);
    }
    known = CW_NEW(struct orders);
    *known = all;
    cw_strmap_set(&search->known, key, known);
    return all;
}

static size_t cheapest(const struct search *search, struct orders all)
{
    double least = HUGE_VAL;

    for (size_t i = 0; i < all.n; i++)
        least = fmin(least, search->entries[all.first + i].cost);
    for (size_t i = 0;; i++)
        if (search->entries[all.first + i].cost <= least + ALIKE_MS)
            return all.first + i;
}

static void free_search(struct search *search)
{
    const char *key;
    void *value;

    for (size_t i = 0; cw_strmap_next(&search->known, &i, &key, &value);)
        cw_mem_free(value);
    cw_strmap_fini(&search->known);
    cw_mem_free(search->entries);
}

bool cw_cedar_enumerate(const struct cw_cedar_chain *chain, const uint64_t *walls,
                        size_t *ret_order)
{
    struct search search = {.chain = chain, .walls = walls};
    char key[CW_CEDAR_OPS_MAX + 1] = {0};

    for (size_t i = 0; i < chain->n; i++) {
        key[i] = (char)(i + 1);
        search.base_ms[i] = cw_cedar_base_ms(chain, i);
    }
    struct orders all = orders_of(&search, key, chain->n);
    if (!search.is_too_large)
        for (size_t i = chain->n, at = cheapest(&search, all); i-- > 0;) {
            ret_order[i] = search.entries[at].op;
            at = search.entries[at].before;
        }
    free_search(&search);
    return !search.is_too_large;
}
