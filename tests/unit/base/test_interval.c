/* SPDX-License-Identifier: Apache-2.0 */
/* Against a plain array of bits, with many random operations. */
#include "support/cm.h"

#include <string.h>

#include "base/interval.h"
#include "base/rng.h"

#define N 96u

static void count_range_agrees(const struct cw_set *set, const bool *bits, uint64_t lo)
{
    uint64_t n = 0;

    for (uint64_t hi = lo; hi < N; n += bits[hi++])
        assert_int_equal(cw_set_count_range(set, lo, hi), n);
}

static void check(const struct cw_set *set, const bool *bits)
{
    uint64_t count = 0;

    for (size_t i = 0; i < set->n; i++) {
        assert_true(set->v[i].lo < set->v[i].hi);
        assert_true(i == 0 || set->v[i - 1].hi < set->v[i].lo);
    }
    for (uint64_t x = 0; x < N; x++) {
        uint64_t absent = x, present = x, found = 0;
        count += bits[x];
        assert_int_equal(cw_set_has(set, x), bits[x]);
        while (absent < N && bits[absent])
            absent++;
        while (present < N && !bits[present])
            present++;
        assert_int_equal(cw_set_first_absent(set, x), absent);
        assert_int_equal(cw_set_first_present(set, x, &found), present < N);
        assert_true(present == N || found == present);
        assert_int_equal(cw_set_has_range(set, x, absent), true);
        assert_int_equal(cw_set_has_range(set, x, absent + 1), false);
    }
    assert_int_equal(cw_set_count(set), count);
    assert_int_equal(cw_set_count_range(set, 0, UINT64_MAX), count);
    for (uint64_t lo = 0; lo < N; lo += 7)
        count_range_agrees(set, bits, lo);
}

static void agrees_with_bits(void **state)
{
    struct cw_set set = {0}, copy = {0};
    bool bits[N] = {false};
    struct cw_rng rng;

    (void)state;
    cw_rng_init(&rng, 1, 2, 3, 4, 5);
    for (uint32_t i = 0; i < 1500; i++) {
        uint64_t lo = cw_rng_below(&rng, 4 * i, N),
                 hi = lo + cw_rng_below(&rng, 4 * i + 1, CW_MIN(12u, N - lo));
        bool add = cw_rng_below(&rng, 4 * i + 2, 2) == 0;
        if (add)
            cw_set_add(&set, lo, hi);
        else
            cw_set_remove(&set, lo, hi);
        for (uint64_t x = lo; x < hi; x++)
            bits[x] = add;
        check(&set, bits);
    }
    cw_set_copy(&copy, &set);
    assert_true(cw_set_eq(&copy, &set));
    cw_set_add(&copy, N + 5, N + 6);
    assert_false(cw_set_eq(&copy, &set));
    cw_set_add_all(&set, &copy);
    assert_true(cw_set_eq(&copy, &set));
    cw_set_clear(&copy);
    assert_int_equal(cw_set_count(&copy), 0);
    cw_set_fini(&copy);
    cw_set_fini(&set);
    cw_set_fini(&set);
}

static void works_at_the_ends(void **state)
{
    struct cw_set set = {0};
    uint64_t found = 0;

    (void)state;
    assert_false(cw_set_first_present(&set, 0, &found));
    assert_int_equal(cw_set_first_absent(&set, 7), 7);
    assert_true(cw_set_has_range(&set, 3, 3));
    cw_set_add(&set, 0, UINT64_MAX);
    assert_true(cw_set_has(&set, UINT64_MAX - 1));
    assert_false(cw_set_has(&set, UINT64_MAX));
    assert_int_equal(cw_set_first_absent(&set, 0), UINT64_MAX);
    cw_set_remove(&set, 5, 6);
    assert_int_equal(set.n, 2);
    assert_int_equal(cw_set_count(&set), UINT64_MAX - 1);
    cw_set_fini(&set);
}

/* Few and long intervals, or many and short ones. */
static void fill(struct cw_set *set, bool *bits, const struct cw_rng *rng, uint32_t at)
{
    bool many = cw_rng_below(rng, at + 99, 2) == 0;
    for (uint32_t k = (uint32_t)cw_rng_below(rng, at, many ? 45 : 7); k > 0; k--) {
        uint64_t lo = cw_rng_below(rng, at + 2 * k, N);
        uint64_t hi = lo + cw_rng_below(rng, at + 2 * k + 1, CW_MIN(many ? 2u : 20u, N - lo) + 1);
        cw_set_add(set, lo, hi);
        for (uint64_t x = lo; x < hi; x++)
            bits[x] = true;
    }
}

typedef void both_fn(struct cw_set *set, const struct cw_set *other);
enum both { ADD_ALL, REMOVE_ALL, INTERSECT };
static both_fn *const both_fns[] = {cw_set_add_all, cw_set_remove_all, cw_set_intersect};

static bool both_bit(enum both op, bool a, bool b)
{
    return op == ADD_ALL ? a || b : op == REMOVE_ALL ? a && !b : a && b;
}

static void round_of(enum both op, const struct cw_rng *rng, uint32_t at)
{
    struct cw_set a = {0}, b = {0}, before = {0};
    bool a_bits[N] = {false}, b_bits[N] = {false};
    fill(&a, a_bits, rng, at);
    fill(&b, b_bits, rng, at + 150);
    cw_set_copy(&before, &b);
    both_fns[op](&a, &b);
    for (size_t x = 0; x < N; x++)
        a_bits[x] = both_bit(op, a_bits[x], b_bits[x]);
    check(&a, a_bits);
    assert_true(cw_set_eq(&b, &before));
    both_fns[op](&b, &b);
    if (op == REMOVE_ALL)
        memset(b_bits, 0, sizeof(b_bits));
    check(&b, b_bits);
    cw_set_fini(&a);
    cw_set_fini(&b);
    cw_set_fini(&before);
}

static void works_on_two_sets(void **state)
{
    struct cw_rng rng;

    (void)state;
    cw_rng_init(&rng, 6, 7, 8, 9, 10);
    for (uint32_t round = 0; round < 3000; round++)
        round_of((enum both)(round % 3), &rng, 300 * round);
}

/* What a peer may say: none of it may cost more than what was said. Each of these took minutes while
 * each interval was looked for in all others. */
static void many_intervals_are_cheap(void **state)
{
    const uint64_t n = 1u << 19;
    struct cw_set set = {0}, odd = {0};

    (void)state;
    for (uint64_t i = 0; i < n; i++) {
        cw_set_add(&set, 4 * i, 4 * i + 1);
        cw_set_add(&odd, 4 * i + 2, 4 * i + 3);
    }
    cw_set_add_all(&set, &odd);
    assert_int_equal(set.n, 2 * n);
    cw_set_remove_all(&set, &odd);
    assert_int_equal(set.n, n);
    for (uint64_t i = 0; i < n; i++) { /* as a worker takes its items, and as acks come in order */
        uint64_t first = 0;
        assert_true(cw_set_first_present(&set, 0, &first));
        cw_set_remove(&set, first, first + 1);
        cw_set_remove(&odd, 4 * (n - i) - 2, 4 * (n - i) - 1);
    }
    assert_int_equal(set.n + odd.n, 0);
    cw_set_fini(&set);
    cw_set_fini(&odd);
}

/* A queue: taken from the front, added at the end. The block does not grow with what went through. */
static void room_is_used_again(void **state)
{
    struct cw_set set = {0};

    (void)state;
    for (uint64_t i = 0; i < 100000; i++) {
        cw_set_add(&set, 2 * i, 2 * i + 1);
        if (i >= 10)
            cw_set_remove(&set, 2 * (i - 10), 2 * (i - 10) + 1);
    }
    assert_int_equal(set.n, 10);
    assert_true(set.cap <= 64);
    cw_set_fini(&set);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(agrees_with_bits), cmocka_unit_test(works_on_two_sets),
    cmocka_unit_test(many_intervals_are_cheap), cmocka_unit_test(room_is_used_again),
    cmocka_unit_test(works_at_the_ends)};
CW_TESTS_MAIN(tests)
