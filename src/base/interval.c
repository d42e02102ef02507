/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of numbers as sorted arrays of intervals; all lookups are binary searches. */
#include "base/interval.h"

#include <string.h>

#include "base/mem.h"

void cw_set_fini(struct cw_set *set)
{
    if (!set)
        return;
    cw_mem_free(set->v);
    *set = (struct cw_set){0};
}

void cw_set_clear(struct cw_set *set)
{
    set->n = 0;
}

/* Returns the index of the first interval whose hi is at least x (touching counts), or n. */
static size_t find(const struct cw_set *set, uint64_t x)
{
    size_t lo = 0, hi = set->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (set->v[mid].hi < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Replaces the intervals [from, to) by n given ones (n <= 2). */
static void splice(struct cw_set *set, size_t from, size_t to, const struct cw_interval *by,
                   size_t n)
{
    size_t now = set->n - (to - from) + n;
    size_t tail = set->n - to;

    if (now > set->cap) {
        set->cap = CW_MAX(now, 2 * set->cap);
        set->v = cw_mem_grow(set->v, set->cap, sizeof(*set->v));
    }
    if (tail)
        memmove(set->v + from + n, set->v + to, tail * sizeof(*set->v));
    for (size_t i = 0; i < n; i++)
        set->v[from + i] = by[i];
    set->n = now;
}

void cw_set_add(struct cw_set *set, uint64_t lo, uint64_t hi)
{
    if (lo >= hi)
        return;
    struct cw_interval whole = {lo, hi};
    size_t from = find(set, lo);
    size_t to = from;

    for (; to < set->n && set->v[to].lo <= hi; to++) {
        whole.lo = CW_MIN(whole.lo, set->v[to].lo);
        whole.hi = CW_MAX(whole.hi, set->v[to].hi);
    }
    splice(set, from, to, &whole, 1);
}

void cw_set_remove(struct cw_set *set, uint64_t lo, uint64_t hi)
{
    if (lo >= hi)
        return;
    struct cw_interval rest[2];
    size_t n = 0;
    size_t from = find(set, lo);

    if (from < set->n && set->v[from].hi == lo)
        from++; /* that interval only touches from below */
    size_t to = from;
    for (; to < set->n && set->v[to].lo < hi; to++) {
        if (set->v[to].lo < lo)
            rest[n++] = (struct cw_interval){set->v[to].lo, lo};
        if (set->v[to].hi > hi)
            rest[n++] = (struct cw_interval){hi, set->v[to].hi};
    }
    if (to > from)
        splice(set, from, to, rest, n);
}

void cw_set_add_all(struct cw_set *set, const struct cw_set *other)
{
    for (size_t i = 0; i < other->n; i++)
        cw_set_add(set, other->v[i].lo, other->v[i].hi);
}

void cw_set_intersect(struct cw_set *set, const struct cw_set *other)
{
    struct cw_set out = {0};
    for (size_t i = 0, j = 0; i < set->n && j < other->n;) {
        uint64_t lo = CW_MAX(set->v[i].lo, other->v[j].lo),
                 hi = CW_MIN(set->v[i].hi, other->v[j].hi);
        if (lo < hi)
            cw_set_add(&out, lo, hi);
        if (set->v[i].hi < other->v[j].hi)
            i++;
        else
            j++;
    }
    cw_set_fini(set);
    *set = out;
}

void cw_set_copy(struct cw_set *set, const struct cw_set *other)
{
    if (set == other)
        return;
    cw_set_clear(set);
    if (other->n)
        splice(set, 0, 0, other->v, other->n);
}

bool cw_set_has(const struct cw_set *set, uint64_t x)
{
    return x != UINT64_MAX && cw_set_has_range(set, x, x + 1);
}

bool cw_set_has_range(const struct cw_set *set, uint64_t lo, uint64_t hi)
{
    if (lo >= hi)
        return true;
    size_t i = find(set, hi);

    return i < set->n && set->v[i].lo <= lo;
}

uint64_t cw_set_count(const struct cw_set *set)
{
    uint64_t n = 0;

    for (size_t i = 0; i < set->n; i++)
        n += set->v[i].hi - set->v[i].lo;
    return n;
}

/* Returns the index of the first interval that ends above x. */
static size_t find_above(const struct cw_set *set, uint64_t x)
{
    size_t i = find(set, x);

    return i < set->n && set->v[i].hi == x ? i + 1 : i;
}

uint64_t cw_set_first_absent(const struct cw_set *set, uint64_t from)
{
    size_t i = find_above(set, from);

    return i < set->n && set->v[i].lo <= from ? set->v[i].hi : from;
}

bool cw_set_first_present(const struct cw_set *set, uint64_t from, uint64_t *ret)
{
    size_t i = find_above(set, from);

    if (i == set->n)
        return false;
    *ret = CW_MAX(from, set->v[i].lo);
    return true;
}

bool cw_set_eq(const struct cw_set *a, const struct cw_set *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->v, b->v, a->n * sizeof(*a->v)) == 0);
}
