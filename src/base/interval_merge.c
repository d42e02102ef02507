/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on two sets of intervals. A few intervals are added or removed one by one; many are
 * merged in one pass over both sets, or over that part of the larger one which lies between the
 * first and the last interval of the other. */
#include "base/interval.h"
#include "base/interval_int.h"

/* Returns whether m single changes of a set of n intervals cost more than a pass over both, that is
 * over k of the n. A change in the middle moves a quarter of the set, which is some thirty times as
 * fast for each interval as the pass. */
static bool is_many(size_t n, size_t k, size_t m)
{
    return m > 8 && m * (20 + n / 32) > 2 * (k + m) + n / 32;
}

static void take_over(struct cw_set *set, struct cw_set *from)
{
    cw_set_fini(set);
    *set = *from;
}

/* Returns the first index at or above i of an interval that ends above x. */
static size_t skip_to(const struct cw_set *set, size_t i, uint64_t x)
{
    size_t step = 1;

    while (i < set->n && set->v[i].hi <= x) {
        if (i + step < set->n && set->v[i + step].hi <= x) {
            i += step;
            step *= 2;
        } else {
            step = 1;
            i++;
        }
    }
    return i;
}

void cw_set_add_all(struct cw_set *set, const struct cw_set *other)
{
    if (set == other || other->n == 0)
        return;
    if (set->n == 0) {
        cw_set_copy(set, other);
        return;
    }
    uint64_t last = other->v[other->n - 1].hi;
    size_t from = cw_set_find_touching(set, other->v[0].lo), to = cw_set_find_touching(set, last);
    to += to < set->n && set->v[to].lo <= last;
    if (from == set->n || !is_many(set->n, to - from, other->n)) {
        for (size_t i = 0; i < other->n; i++)
            cw_set_add(set, other->v[i].lo, other->v[i].hi);
        return;
    }
    struct cw_set out = {0};
    for (size_t i = from, j = 0; i < to || j < other->n;) {
        bool first = j == other->n || (i < to && set->v[i].lo <= other->v[j].lo);
        struct cw_interval next = first ? set->v[i++] : other->v[j++];
        cw_set_push(&out, next.lo, next.hi);
    }
    cw_set_splice(set, from, to, out.v, out.n);
    cw_set_fini(&out);
}

/* Adds to `out` what of the interval is not in the set, and returns the first index of the set that
 * may matter for higher ones. */
static size_t push_rest(struct cw_set *out, struct cw_interval part, const struct cw_set *set,
                        size_t i)
{
    i = skip_to(set, i, part.lo);
    while (i < set->n && set->v[i].lo < part.hi) {
        cw_set_push(out, part.lo, set->v[i].lo);
        part.lo = set->v[i].hi;
        if (part.lo >= part.hi)
            return i;
        i++;
    }
    cw_set_push(out, part.lo, part.hi);
    return i;
}

void cw_set_remove_all(struct cw_set *set, const struct cw_set *other)
{
    if (set == other || cw_set_eq(set, other)) {
        cw_set_clear(set);
        return;
    }
    if (set->n == 0 || other->n == 0)
        return;
    size_t from = cw_set_find(other, set->v[0].lo),
           to = cw_set_find(other, set->v[set->n - 1].hi - 1);
    to = to < other->n ? to + 1 : to;
    if (from == to)
        return;
    size_t begin = cw_set_find(set, other->v[from].lo),
           end = cw_set_find(set, other->v[to - 1].hi - 1);
    end = end < set->n ? end + 1 : end;
    if (!is_many(set->n, end - begin, to - from)) {
        for (size_t i = from; i < to; i++)
            cw_set_remove(set, other->v[i].lo, other->v[i].hi);
        return;
    }
    struct cw_set out = {0};
    for (size_t i = begin, j = from; i < end; i++)
        j = push_rest(&out, set->v[i], other, j);
    cw_set_splice(set, begin, end, out.v, out.n);
    cw_set_fini(&out);
}

void cw_set_intersect(struct cw_set *set, const struct cw_set *other)
{
    struct cw_set out = {0};

    if (set == other || cw_set_eq(set, other))
        return;
    for (size_t i = 0, j = 0; i < set->n && j < other->n;) {
        j = skip_to(other, j, set->v[i].lo);
        if (j == other->n)
            break;
        i = skip_to(set, i, other->v[j].lo);
        if (i == set->n)
            break;
        cw_set_push(&out, CW_MAX(set->v[i].lo, other->v[j].lo),
                    CW_MIN(set->v[i].hi, other->v[j].hi));
        if (set->v[i].hi < other->v[j].hi)
            i++;
        else
            j++;
    }
    take_over(set, &out);
}
