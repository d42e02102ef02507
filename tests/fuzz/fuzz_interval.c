/* SPDX-License-Identifier: Apache-2.0 */
/* Any order of operations on two sets of intervals, against arrays of bits. Four bytes are one
 * operation: which one and on which set, where, how long, and how far the pattern is repeated. */
#include <string.h>

#include "base/interval.h"
#include "base/mem.h"

#define N 1024u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct both {
    struct cw_set set;
    bool bits[N];
};

static void range(struct both *b, bool add, uint64_t lo, uint64_t hi)
{
    if (add)
        cw_set_add(&b->set, lo, hi);
    else
        cw_set_remove(&b->set, lo, hi);
    for (uint64_t x = lo; x < hi; x++)
        b->bits[x] = add;
}

static void pattern(struct both *b, bool add, const uint8_t *p)
{
    uint64_t lo = (uint64_t)p[1] * 4, len = p[2] % 32, step = len + 1 + p[2] / 32;
    for (unsigned k = 0; k <= p[3] && lo < N; k++, lo += step)
        range(b, add, lo, CW_MIN(lo + len, (uint64_t)N));
}

static void combine(struct both *a, const struct both *b, unsigned op)
{
    if (op == 0)
        cw_set_add_all(&a->set, &b->set);
    else if (op == 1)
        cw_set_remove_all(&a->set, &b->set);
    else if (op == 2)
        cw_set_intersect(&a->set, &b->set);
    else
        cw_set_copy(&a->set, &b->set);
    for (size_t x = 0; x < N; x++) {
        bool both[] = {a->bits[x] || b->bits[x], a->bits[x] && !b->bits[x],
                       a->bits[x] && b->bits[x], b->bits[x]};
        a->bits[x] = both[op];
    }
}

static void check(const struct both *b)
{
    uint64_t count = 0, absent = 0, present = 0;
    for (size_t i = 0; i < b->set.n; i++) {
        CW_ASSERT(b->set.v[i].lo < b->set.v[i].hi);
        CW_ASSERT(i == 0 || b->set.v[i - 1].hi < b->set.v[i].lo);
    }
    for (size_t x = 0; x < N; x++) {
        count += b->bits[x];
        CW_ASSERT(cw_set_has(&b->set, x) == b->bits[x]);
    }
    CW_ASSERT(cw_set_count(&b->set) == count);
    CW_ASSERT(cw_set_count_range(&b->set, 0, N) == count);
    while (absent < N && b->bits[absent])
        absent++;
    CW_ASSERT(cw_set_first_absent(&b->set, 0) == absent);
    CW_ASSERT(cw_set_first_present(&b->set, 0, &present) == (count > 0));
    CW_ASSERT(count == 0 || b->bits[present]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct both both[2];
    memset(both, 0, sizeof(both));
    for (size_t i = 0; i + 4 <= n && i < 4096; i += 4) {
        struct both *b = &both[data[i] & 1];
        unsigned op = (data[i] >> 1) % 6;
        if (op < 2)
            pattern(b, op == 0, data + i);
        else
            combine(b, &both[!(data[i] & 1)], op - 2);
        check(b);
    }
    cw_set_fini(&both[0].set);
    cw_set_fini(&both[1].set);
    return 0;
}
