/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of numbers as sorted arrays of intervals: single changes and questions. interval_merge.c has
 * the operations on two sets. */
#include "base/interval.h"

#include <string.h>

#include "base/interval_int.h"
#include "base/mem.h"

void cw_set_fini(struct cw_set *set)
{
    if (!set)
        return;
    if (set->v)
        cw_mem_free(set->v - set->front);
    *set = (struct cw_set){0};
}

void cw_set_clear(struct cw_set *set)
{
    if (set->v)
        set->v -= set->front;
    set->front = 0;
    set->n = 0;
    set->count = 0;
}

size_t cw_set_find_touching(const struct cw_set *set, uint64_t x)
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

size_t cw_set_find(const struct cw_set *set, uint64_t x)
{
    size_t i = cw_set_find_touching(set, x);

    return i < set->n && set->v[i].hi == x ? i + 1 : i;
}

/* Makes room for k more intervals: at the end, or (low) at both ends. A block that is less than half
 * full is used again, so that a set from which the front is taken while its end grows stays as
 * large as it is. */
static void make_room(struct cw_set *set, size_t k, bool low)
{
    size_t now = set->n + k, cap = set->cap < 2 * now ? 2 * now : set->cap;
    size_t front = low ? (cap - set->n) / 2 : 0;
    struct cw_interval *old = set->v ? set->v - set->front : NULL;
    struct cw_interval *block = old;

    if (cap != set->cap)
        block = cw_mem_grow(NULL, cap, sizeof(*block));
    if (set->n)
        memmove(block + front, set->v, set->n * sizeof(*block));
    if (block != old)
        cw_mem_free(old);
    set->v = block + front;
    set->front = front;
    set->cap = cap;
}

/* Opens a hole of k intervals before index `at`. */
static void open_hole(struct cw_set *set, size_t at, size_t k)
{
    bool low = at < set->n - at;

    if (low ? set->front < k : set->cap - set->front - set->n < k)
        make_room(set, k, low);
    if (low) {
        memmove(set->v - k, set->v, at * sizeof(*set->v));
        set->v -= k;
        set->front -= k;
    } else if (at < set->n) {
        memmove(set->v + at + k, set->v + at, (set->n - at) * sizeof(*set->v));
    }
    set->n += k;
}

/* Removes k intervals from index `at` on. */
static void close_hole(struct cw_set *set, size_t at, size_t k)
{
    size_t tail = set->n - at - k;

    if (at < tail) {
        memmove(set->v + k, set->v, at * sizeof(*set->v));
        set->v += k;
        set->front += k;
    } else if (tail) {
        memmove(set->v + at, set->v + at + k, tail * sizeof(*set->v));
    }
    set->n -= k;
}

void cw_set_splice(struct cw_set *set, size_t from, size_t to, const struct cw_interval *by,
                   size_t n)
{
    for (size_t i = from; i < to; i++)
        set->count -= set->v[i].hi - set->v[i].lo;
    if (n > to - from)
        open_hole(set, from, n - (to - from));
    else if (n < to - from)
        close_hole(set, from, to - from - n);
    for (size_t i = 0; i < n; i++) {
        set->v[from + i] = by[i];
        set->count += by[i].hi - by[i].lo;
    }
}

void cw_set_push(struct cw_set *set, uint64_t lo, uint64_t hi)
{
    if (lo >= hi)
        return;
    if (set->n > 0 && lo <= set->v[set->n - 1].hi) {
        struct cw_interval *last = &set->v[set->n - 1];
        if (hi <= last->hi)
            return;
        set->count += hi - last->hi;
        last->hi = hi;
        return;
    }
    if (set->front + set->n == set->cap)
        make_room(set, 1, false);
    set->v[set->n++] = (struct cw_interval){lo, hi};
    set->count += hi - lo;
}

void cw_set_add(struct cw_set *set, uint64_t lo, uint64_t hi)
{
    if (lo >= hi)
        return;
    if (set->n == 0 || lo >= set->v[set->n - 1].lo) { /* most often: at the end */
        cw_set_push(set, lo, hi);
        return;
    }
    struct cw_interval whole = {lo, hi};
    size_t from = cw_set_find_touching(set, lo);
    size_t to = from;

    for (; to < set->n && set->v[to].lo <= hi; to++) {
        whole.lo = CW_MIN(whole.lo, set->v[to].lo);
        whole.hi = CW_MAX(whole.hi, set->v[to].hi);
    }
    cw_set_splice(set, from, to, &whole, 1);
}

void cw_set_remove(struct cw_set *set, uint64_t lo, uint64_t hi)
{
    if (lo >= hi)
        return;
    struct cw_interval rest[2];
    size_t n = 0, from = cw_set_find(set, lo), to = from;

    for (; to < set->n && set->v[to].lo < hi; to++) {
        if (set->v[to].lo < lo)
            rest[n++] = (struct cw_interval){set->v[to].lo, lo};
        if (set->v[to].hi > hi)
            rest[n++] = (struct cw_interval){hi, set->v[to].hi};
    }
    if (to > from)
        cw_set_splice(set, from, to, rest, n);
}

void cw_set_copy(struct cw_set *set, const struct cw_set *other)
{
    if (set == other)
        return;
    cw_set_clear(set);
    if (other->n == 0)
        return;
    if (set->cap < other->n) {
        cw_set_fini(set);
        set->v = cw_mem_grow(NULL, other->n, sizeof(*set->v));
        set->cap = other->n;
    }
    memcpy(set->v, other->v, other->n * sizeof(*set->v));
    set->n = other->n;
    set->count = other->count;
}

bool cw_set_has(const struct cw_set *set, uint64_t x)
{
    return x != UINT64_MAX && cw_set_has_range(set, x, x + 1);
}

bool cw_set_has_range(const struct cw_set *set, uint64_t lo, uint64_t hi)
{
    if (lo >= hi)
        return true;
    size_t i = cw_set_find_touching(set, hi);

    return i < set->n && set->v[i].lo <= lo;
}

uint64_t cw_set_count(const struct cw_set *set)
{
    return set->count;
}

uint64_t cw_set_count_range(const struct cw_set *set, uint64_t lo, uint64_t hi)
{
    uint64_t n = 0;

    for (size_t i = cw_set_find(set, lo); i < set->n && set->v[i].lo < hi; i++)
        n += CW_MIN(hi, set->v[i].hi) - CW_MAX(lo, set->v[i].lo);
    return n;
}

uint64_t cw_set_first_absent(const struct cw_set *set, uint64_t from)
{
    size_t i = cw_set_find(set, from);

    return i < set->n && set->v[i].lo <= from ? set->v[i].hi : from;
}

bool cw_set_first_present(const struct cw_set *set, uint64_t from, uint64_t *ret)
{
    size_t i = cw_set_find(set, from);

    if (i == set->n)
        return false;
    *ret = CW_MAX(from, set->v[i].lo);
    return true;
}

bool cw_set_eq(const struct cw_set *a, const struct cw_set *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->v, b->v, a->n * sizeof(*a->v)) == 0);
}
