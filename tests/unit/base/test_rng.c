/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

/* The known answers that come with Random123 for philox4x32-10. */
static void philox_gives_known_answers(void **state)
{
    static const struct {
        uint32_t ctr[4], key[2], out[4];
    } rows[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };

    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++) {
        uint32_t out[4];
        cw_philox(rows[i].key, rows[i].ctr, out);
        assert_memory_equal(out, rows[i].out, sizeof(out));
    }
}

/* Every part of a stream's name changes it; the values are the same for ever (they are in the
 * data). */
static void streams_are_named(void **state)
{
    uint64_t seen[16];
    size_t n = 0;

    (void)state;
    for (int which = 0; which < 6; which++) {
        struct cw_rng rng;
        cw_rng_init(&rng, which == 1, which == 2, which == 3, which == 4, which == 5);
        seen[n++] = cw_rng_u64(&rng, 0);
        seen[n++] = cw_rng_u64(&rng, 1);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            assert_true(seen[i] != seen[k]);
    struct cw_rng rng;
    cw_rng_init(&rng, 1, 2, 3, 4, 5);
    assert_int_equal(cw_rng_u64(&rng, 6), UINT64_C(0xbd56287083800f70));
}

static void draws_are_uniform(void **state)
{
    struct cw_rng rng;
    double sum = 0;
    size_t hits[10] = {0};

    (void)state;
    for (uint64_t id = 0; id < 20000; id++) {
        cw_rng_init(&rng, 7, 1, 0, 0, id);
        double unit = cw_rng_unit(&rng, 0);
        assert_true(unit >= 0 && unit < 1);
        double ranged = cw_rng_range(&rng, 1, -2, 3);
        assert_true(ranged >= -2 && ranged < 3);
        sum += unit;
        hits[cw_rng_below(&rng, 2, 10)]++;
    }
    assert_true(sum > 9800 && sum < 10200); /* fixed streams: not a matter of luck */
    for (int i = 0; i < 10; i++)
        assert_true(hits[i] > 1800 && hits[i] < 2200);
}

static void check_bijection(uint64_t n)
{
    struct cw_perm perm;
    cw_autofree unsigned char *seen = cw_mem_new(n + 1);

    cw_perm_init(&perm, n, 11, 22, 33, 44);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = cw_perm_at(&perm, i);
        assert_true(at < n);
        assert_int_equal(seen[at], 0);
        seen[at] = 1;
    }
    uint64_t run[7];
    for (uint64_t i = 0; i + CW_ARRAY_LEN(run) <= n; i += n / 3 + 1) {
        for (size_t k = 0; k < CW_ARRAY_LEN(run); k++)
            run[k] = i + k;
        cw_perm_run(&perm, run, CW_ARRAY_LEN(run));
        for (size_t k = 0; k < CW_ARRAY_LEN(run); k++)
            assert_int_equal(run[k], cw_perm_at(&perm, i + k));
    }
}

/* More than are mapped at a time, in any order, and some twice. */
static void long_runs_are_mapped_alike(void **state)
{
    static const uint64_t sizes[] = {1, 2, 3, 129, 1025, 1000003, UINT64_C(1) << 40};
    uint64_t from[300], run[300];
    (void)state;
    for (size_t s = 0; s < CW_ARRAY_LEN(sizes); s++) {
        struct cw_perm perm;
        cw_perm_init(&perm, sizes[s], 1, 2, 3, 4);
        for (size_t n = 0; n <= 300; n += n < 9 ? 1 : 97) {
            for (size_t k = 0; k < n; k++)
                run[k] = from[k] = k * k * 7919 % sizes[s];
            cw_perm_run(&perm, run, n);
            for (size_t k = 0; k < n; k++)
                assert_int_equal(run[k], cw_perm_at(&perm, from[k]));
        }
    }
}

static void permutations_are_bijections(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 300; n++)
        check_bijection(n);
    for (uint64_t n = 1u << 10; n <= 1u << 16; n <<= 2) {
        check_bijection(n - 1);
        check_bijection(n);
        check_bijection(n + 1);
    }
}

static void huge_permutations_stay_inside(void **state)
{
    static const uint64_t sizes[] = {UINT64_C(1) << 40, (UINT64_C(1) << 62) + 1, UINT64_C(1) << 63,
                                     UINT64_MAX};
    struct cw_perm perm;

    (void)state;
    for (size_t k = 0; k < CW_ARRAY_LEN(sizes); k++) {
        cw_perm_init(&perm, sizes[k], 1, 2, 3, 4);
        for (uint64_t i = 0; i < 1000; i++) {
            assert_true(cw_perm_at(&perm, i) < sizes[k]);
            assert_true(cw_perm_at(&perm, sizes[k] - 1 - i) < sizes[k]);
            assert_true(cw_perm_at(&perm, i) != cw_perm_at(&perm, i + 1));
        }
    }
}

/* All 24 orders of 4 come about equally often over the epochs. */
static void small_permutations_are_uniform(void **state)
{
    size_t hits[256] = {0}, orders = 0;

    (void)state;
    for (uint64_t epoch = 0; epoch < 24000; epoch++) {
        struct cw_perm perm;
        unsigned name = 0;
        cw_perm_init(&perm, 4, 5, 0, epoch, 0);
        for (uint64_t i = 0; i < 4; i++)
            name = name << 2 | (unsigned)cw_perm_at(&perm, i);
        hits[name]++;
    }
    for (size_t i = 0; i < 256; i++) {
        assert_true(hits[i] == 0 || (hits[i] > 850 && hits[i] < 1150));
        orders += hits[i] > 0;
    }
    assert_int_equal(orders, 24);
}

/* Neighbours are thrown apart: mean distance of a uniform permutation is n / 3. */
static void big_permutations_scatter(void **state)
{
    const uint64_t n = 100000;
    struct cw_perm perm;
    double moved = 0, step = 0;

    (void)state;
    cw_perm_init(&perm, n, 1, 0, 0, 0);
    for (uint64_t i = 0; i + 1 < n; i++) {
        double a = (double)cw_perm_at(&perm, i), b = (double)cw_perm_at(&perm, i + 1);
        moved += a > (double)i ? a - (double)i : (double)i - a;
        step += a > b ? a - b : b - a;
    }
    double third = (double)n / 3;
    assert_true(moved / (double)n > 0.97 * third && moved / (double)n < 1.03 * third);
    assert_true(step / (double)n > 0.97 * third && step / (double)n < 1.03 * third);
    assert_int_equal(cw_perm_at(&perm, 0), 23467);
    assert_int_equal(cw_perm_at(&perm, 99999), 55354);
}

static void process_ids_differ(void **state)
{
    uint64_t a = cw_rng_process_id(), b = cw_rng_process_id();

    (void)state;
    assert_true(a != 0 && b != 0 && a != b);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(philox_gives_known_answers),
    cmocka_unit_test(streams_are_named),
    cmocka_unit_test(draws_are_uniform),
    cmocka_unit_test(long_runs_are_mapped_alike),
    cmocka_unit_test(permutations_are_bijections),
    cmocka_unit_test(huge_permutations_stay_inside),
    cmocka_unit_test(small_permutations_are_uniform),
    cmocka_unit_test(big_permutations_scatter),
    cmocka_unit_test(process_ids_differ),
};
CW_TESTS_MAIN(tests)
