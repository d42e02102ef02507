/* SPDX-License-Identifier: Apache-2.0 */
/* What operations on sets of intervals cost, in ns: those of each message (acknowledgements of one
 * item in order, leases that lose their first item, questions), and those of a peer that names many
 * intervals. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/interval.h"

static uint64_t sink;

static void print(const char *what, uint64_t n, int64_t begin)
{
    printf("%-44s %10.1f ns\n", what, (double)(cw_clock_ns() - begin) / (double)n);
}

static void acks_in_order(uint64_t n)
{
    struct cw_set received = {0}, leased = {0};
    cw_set_add(&leased, 0, n);
    int64_t begin = cw_clock_ns();
    for (uint64_t i = 0; i < n; i++) {
        struct cw_set own = {0};
        cw_set_add(&own, i, i + 1);
        for (size_t k = 0; k < own.n; k++)
            cw_set_remove(&leased, own.v[k].lo, own.v[k].hi);
        cw_set_add_all(&received, &own);
        sink += cw_set_first_absent(&received, 0) + cw_set_count(&received);
        cw_set_fini(&own);
    }
    print("an ack of one item, in order", n, begin);
    cw_set_fini(&received);
    cw_set_fini(&leased);
}

static void adds_in_order(uint64_t n)
{
    struct cw_set set = {0};
    int64_t begin = cw_clock_ns();
    for (uint64_t i = 0; i < n; i++) {
        cw_set_add(&set, i, i + 1);
        sink += cw_set_has(&set, i / 2);
    }
    print("add the next item, ask for one", n, begin);
    cw_set_fini(&set);
}

/* As with a fleet: 64 workers, each of which sends its items in order. */
static void adds_of_a_fleet(uint64_t n)
{
    struct cw_set set = {0};
    int64_t begin = cw_clock_ns();
    for (uint64_t i = 0; i < n; i++) {
        uint64_t base = i / 4096 * 4096, at = base + i % 64 * 64 + i % 4096 / 64;
        cw_set_add(&set, at, at + 1);
    }
    print("add an item, 64 runs that grow", n, begin);
    cw_set_fini(&set);
}

static void fragments(uint64_t n)
{
    struct cw_set set = {0}, odd = {0};
    int64_t begin = cw_clock_ns();
    for (uint64_t i = 0; i < n; i++)
        cw_set_add(&set, 4 * i, 4 * i + 1);
    print("add an interval at the end", n, begin);
    for (uint64_t i = 0; i < n; i++)
        cw_set_add(&odd, 4 * i + 2, 4 * i + 3);
    begin = cw_clock_ns();
    cw_set_add_all(&set, &odd);
    print("add_all of as many intervals, each", n, begin);
    begin = cw_clock_ns();
    cw_set_intersect(&odd, &set);
    print("intersect, each", n, begin);
    begin = cw_clock_ns();
    for (uint64_t i = 0; i < n; i++)
        cw_set_remove(&set, set.v[0].lo, set.v[0].hi);
    print("remove the first interval", n, begin);
    cw_set_fini(&set);
    cw_set_fini(&odd);
}

int main(void)
{
    acks_in_order(4000000);
    adds_in_order(4000000);
    adds_of_a_fleet(4000000);
    fragments(20000);
    return sink == 0;
}
