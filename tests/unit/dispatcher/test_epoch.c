/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/rng.h"
#include "dispatcher/model/model.h"
#include "support/ranges.h"

static const struct cw_layout single = {CW_MODE_SINGLE, 1, false};

static void check_run(struct cw_epoch *epoch, uint64_t from, uint64_t limit, uint64_t max,
                      uint64_t lo, uint64_t hi)
{
    struct cw_interval run = {99, 99};
    assert_true(cw_epoch_free_run(epoch, from, limit, max, &run));
    assert_int_equal(run.lo, lo);
    assert_int_equal(run.hi, hi);
}

static void free_runs_are_the_lowest(void **state)
{
    (void)state;
    struct cw_epoch epoch;
    struct cw_set fresh = {0};
    cw_epoch_init(&epoch, 3, 100, &single);
    check_run(&epoch, 0, 100, 10, 0, 10);
    cw_set_add(&epoch.leased, 0, 10);
    check_run(&epoch, 0, 12, 10, 10, 12);
    cw_epoch_receive(&epoch, 0, RANGE(10, 20), &fresh);
    check_run(&epoch, 0, 1000, 1000, 20, 100);
    cw_set_add(&epoch.leased, 25, 30);
    check_run(&epoch, 0, 100, 1000, 20, 25);
    struct cw_interval run;
    assert_false(cw_epoch_free_run(&epoch, 0, 20, 5, &run));
    assert_false(cw_epoch_free_run(&epoch, 0, 100, 0, &run));
    cw_set_fini(&fresh);
    cw_epoch_fini(&epoch);
}

static void receiving_ends_a_lease_once(void **state)
{
    (void)state;
    struct cw_epoch epoch;
    struct cw_set fresh = {0};
    cw_epoch_init(&epoch, 0, 50, &single);
    cw_set_add(&epoch.leased, 0, 20);
    cw_epoch_receive(&epoch, 0, RANGE(5, 8), &fresh);
    assert_int_equal(cw_set_count(&fresh), 3);
    assert_false(cw_set_has(&epoch.leased, 5));
    cw_set_clear(&fresh);
    cw_epoch_receive(&epoch, 0, RANGE(4, 9), &fresh); /* again, and more: only what is new counts */
    assert_int_equal(cw_set_count(&fresh), 2);
    assert_false(cw_set_has(&fresh, 6));
    cw_set_clear(&fresh);
    assert_int_equal(cw_epoch_consume(&epoch, 0, RANGE(0, 10), &fresh), 10);
    assert_int_equal(cw_set_count(&fresh), 5);
    assert_int_equal(cw_epoch_consume(&epoch, 0, RANGE(0, 10), &fresh), 0);
    assert_int_equal(cw_epoch_lowest_unconsumed(&epoch), 10);
    /* a peer that exaggerates */
    assert_int_equal(cw_epoch_consume(&epoch, 0, RANGE(10, 1000), &fresh), 40);
    assert_true(cw_epoch_is_done(&epoch));
    cw_set_fini(&fresh);
    cw_epoch_fini(&epoch);
}

static void a_new_process_gets_what_was_not_consumed(void **state)
{
    (void)state;
    struct cw_epoch epoch;
    struct cw_set fresh = {0};
    cw_epoch_init(&epoch, 0, 50, &single);
    cw_epoch_consume(&epoch, 0, RANGE(0, 10), &fresh);
    cw_epoch_receive(&epoch, 0, RANGE(10, 30), &fresh);
    cw_epoch_forget_received(&epoch, 0);
    check_run(&epoch, 0, 50, 100, 10, 50);
    cw_set_fini(&fresh);
    cw_epoch_fini(&epoch);
}

static void dealt_items_belong_to_one_consumer(void **state)
{
    (void)state;
    const struct cw_layout layout = {CW_MODE_COORDINATED, 3, false};
    struct cw_epoch epoch;
    struct cw_set fresh = {0};
    cw_epoch_init(&epoch, 0, 10, &layout);
    cw_epoch_consume(&epoch, 1, RANGE(0, 10), &fresh); /* 1, 4, 7 */
    assert_int_equal(cw_set_count(&epoch.consumed), 3);
    assert_true(cw_set_has(&epoch.consumed, 7));
    assert_int_equal(cw_epoch_next_of(&epoch, 1), 10);
    assert_int_equal(cw_epoch_next_of(&epoch, 0), 0);
    cw_epoch_consume(&epoch, 0, RANGE(0, 4), &fresh); /* 0, 3 */
    assert_int_equal(cw_epoch_next_of(&epoch, 0), 6);
    assert_int_equal(cw_epoch_next_of(&epoch, 2), 2);
    assert_int_equal(cw_epoch_lowest_unconsumed(&epoch), 2);
    cw_epoch_receive(&epoch, 0, RANGE(6, 7), &fresh);
    cw_epoch_forget_received(&epoch, 0);
    assert_false(cw_set_has(&epoch.received, 6));
    assert_true(cw_set_has(&epoch.received, 7)); /* another's */
    cw_epoch_consume(&epoch, 0, RANGE(0, 10), &fresh);
    cw_epoch_consume(&epoch, 2, RANGE(0, 10), &fresh);
    assert_true(cw_epoch_is_done(&epoch));
    cw_set_fini(&fresh);
    cw_epoch_fini(&epoch);
}

/* One message takes a bounded number of dealt items, and looks at a bounded number of those that are
 * known already, whatever it says; the next one brings the rest. */
static void dealt_items_of_a_message_are_bounded(void **state)
{
    (void)state;
    const struct cw_layout dealt = {CW_MODE_COORDINATED, 2, false};
    const uint64_t known = (uint64_t)2 * CW_DEALT_STEPS_MAX, items = 2 * known;
    struct cw_epoch epoch;
    struct cw_set fresh = {0};
    cw_epoch_init(&epoch, 0, items, &dealt);
    for (uint64_t n = 1; n <= 2; n++) {
        cw_epoch_receive(&epoch, 0, RANGE(0, items), &fresh);
        assert_int_equal(cw_set_count(&fresh), n * CW_DEALT_NEW_MAX);
    }
    cw_set_clear(&fresh);
    cw_set_clear(&epoch.received);
    cw_set_add(&epoch.received, 0,
               known); /* half of them this consumer's: as many as are looked at */
    cw_epoch_receive(&epoch, 0, RANGE(0, items), &fresh);
    assert_int_equal(cw_set_count(&fresh), 0);
    cw_epoch_receive(&epoch, 0, RANGE(known, items), &fresh);
    assert_int_equal(cw_set_count(&fresh), CW_DEALT_NEW_MAX);
    cw_set_fini(&fresh);
    cw_epoch_fini(&epoch);
}

static void items_for_all_wait_for_the_slowest(void **state)
{
    (void)state;
    const struct cw_layout layout = {CW_MODE_COORDINATED, 2, true};
    struct cw_epoch epoch;
    struct cw_set fresh = {0};
    cw_epoch_init(&epoch, 0, 10, &layout);
    cw_set_add(&epoch.leased, 0, 4);
    cw_epoch_receive(&epoch, 0, RANGE(0, 4), &fresh);
    assert_int_equal(fresh.n, 0);
    assert_true(cw_set_has(&epoch.leased, 0));
    cw_epoch_receive(&epoch, 1, RANGE(0, 2), &fresh);
    assert_int_equal(cw_set_count(&fresh), 2);
    assert_false(cw_set_has(&epoch.leased, 1));
    assert_int_equal(cw_epoch_consume(&epoch, 0, RANGE(0, 4), &fresh), 0);
    assert_int_equal(cw_epoch_consume(&epoch, 1, RANGE(0, 1), &fresh), 1);
    assert_int_equal(cw_epoch_next_of(&epoch, 0), 4);
    assert_int_equal(cw_epoch_next_of(&epoch, 1), 1);
    /* item 1 was received by both, but the new process has it not */
    cw_epoch_forget_received(&epoch, 1);
    check_run(&epoch, 0, 10, 1, 1, 2);
    cw_set_fini(&fresh);
    cw_epoch_fini(&epoch);
}

static void reset_goes_back_and_forth(void **state)
{
    (void)state;
    struct cw_epoch epoch;
    struct cw_set fresh = {0}, beyond = {0};
    cw_epoch_init(&epoch, 0, 20, &single);
    cw_epoch_consume(&epoch, 0, RANGE(0, 10), &fresh);
    cw_set_add(&beyond, 8, 9);
    cw_epoch_reset(&epoch, 0, 5, &beyond);
    assert_int_equal(cw_epoch_lowest_unconsumed(&epoch), 5);
    assert_true(cw_set_has(&epoch.consumed, 8));
    assert_false(cw_set_has(&epoch.received, 9));
    cw_epoch_reset(&epoch, 0, 15, NULL);
    check_run(&epoch, 0, 20, 100, 15, 20);
    cw_epoch_fini(&epoch);

    const struct cw_layout layout = {CW_MODE_COORDINATED, 2, false};
    cw_epoch_init(&epoch, 0, 20, &layout);
    cw_epoch_consume(&epoch, 0, RANGE(0, 10), &fresh);
    cw_epoch_consume(&epoch, 1, RANGE(0, 10), &fresh);
    cw_epoch_reset(&epoch, 1, 4, NULL); /* 5, 7, 9 again; 0's stay */
    assert_int_equal(cw_epoch_next_of(&epoch, 1), 5);
    assert_true(cw_set_has(&epoch.consumed, 8));
    assert_false(cw_set_has(&epoch.consumed, 9));
    cw_epoch_skip(&epoch, RANGE(7, 8), &fresh);
    cw_epoch_reset(&epoch, 1, 4, NULL); /* what is left out stays so */
    assert_true(cw_set_has(&epoch.consumed, 7));
    cw_set_clear(&beyond);
    cw_set_add(&beyond, 8, 12); /* of these its token has 9 and 11 */
    cw_epoch_reset(&epoch, 0, 4, NULL);
    cw_epoch_reset(&epoch, 1, 4, &beyond);
    assert_true(cw_set_has(&epoch.consumed, 9) && cw_set_has(&epoch.received, 9));
    assert_true(cw_set_has(&epoch.consumed, 11) && cw_set_has(&epoch.received, 11));
    assert_false(cw_set_has(&epoch.consumed, 8) || cw_set_has(&epoch.consumed, 10));
    assert_int_equal(cw_epoch_next_of(&epoch, 1), 5);
    cw_set_fini(&beyond);
    cw_set_fini(&fresh);
    cw_epoch_fini(&epoch);
}

/* Shared: what is left out belongs to nobody any more. */
static void skipped_items_have_no_owner(void **state)
{
    (void)state;
    const struct cw_layout shared = {.mode = CW_MODE_SHARED, .consumers = 2};
    struct cw_epoch epoch;
    struct cw_set fresh = {0};
    cw_epoch_init(&epoch, 0, 20, &shared);
    cw_set_add(&epoch.parts[0].owned, 0, 5);
    cw_set_add(&epoch.parts[1].owned, 5, 10);
    cw_epoch_skip(&epoch, RANGE(3, 8), &fresh);
    assert_int_equal(cw_set_count(&epoch.parts[0].owned), 3);
    assert_int_equal(cw_set_count(&epoch.parts[1].owned), 2);
    assert_true(cw_set_has_range(&epoch.parts[1].owned, 8, 10));
    assert_int_equal(cw_set_count(&fresh), 5);
    cw_set_fini(&fresh);
    cw_epoch_fini(&epoch);
}

static void skipped_items_are_consumed(void **state)
{
    (void)state;
    struct cw_epoch epoch;
    struct cw_set fresh = {0};
    cw_epoch_init(&epoch, 0, 20, &single);
    cw_set_add(&epoch.leased, 0, 8);
    cw_epoch_consume(&epoch, 0, RANGE(0, 3), &fresh);
    cw_set_clear(&fresh);
    cw_epoch_skip(&epoch, RANGE(2, 6), &fresh);
    assert_int_equal(cw_set_count(&fresh), 3);
    assert_int_equal(cw_epoch_lowest_unconsumed(&epoch), 6);
    assert_false(cw_set_has(&epoch.leased, 4));
    assert_true(cw_set_has(&epoch.leased, 6));
    cw_epoch_forget_received(&epoch, 0);
    assert_int_equal(cw_epoch_lowest_unconsumed(&epoch), 6);
    cw_set_fini(&fresh);
    cw_epoch_fini(&epoch);
}

/* Random receipts, repeated and out of order, against a plain array. */
static void sets_agree_with_an_array(void **state)
{
    (void)state;
    enum { N = 64 };
    struct cw_rng rng;
    cw_rng_init(&rng, 1, 2, 3, 4, 5);
    for (uint32_t round = 0, draw = 0; round < 50; round++) {
        bool received[N] = {false};
        struct cw_epoch epoch;
        cw_epoch_init(&epoch, 0, N, &single);
        for (int step = 0; step < 60; step++) {
            uint64_t lo = cw_rng_below(&rng, draw++, N),
                     hi = lo + 1 + cw_rng_below(&rng, draw++, 8);
            struct cw_set fresh = {0};
            cw_epoch_receive(&epoch, 0, RANGE(lo, hi), &fresh);
            for (uint64_t i = lo; i < hi && i < N; i++) {
                assert_int_equal(cw_set_has(&fresh, i), !received[i]);
                received[i] = true;
            }
            cw_set_fini(&fresh);
            struct cw_interval run;
            uint64_t first = 0;
            while (first < N && received[first])
                first++;
            assert_int_equal(cw_epoch_free_run(&epoch, 0, N, N, &run), first < N);
            if (first < N)
                assert_int_equal(run.lo, first);
        }
        cw_epoch_fini(&epoch);
    }
}

/* What is free again, for whatever reason, is found although it was looked above it before. */
static void freed_items_are_found_again(void **state)
{
    (void)state;
    struct cw_epoch epoch;
    struct cw_set fresh = {0};
    cw_epoch_init(&epoch, 0, 100, &single);
    for (uint64_t i = 0; i < 60; i += 3)
        cw_set_add(&epoch.leased, i, i + 2); /* runs of the two kinds in turn */
    for (uint64_t i = 2; i < 60; i += 3)
        cw_epoch_receive(&epoch, 0, RANGE(i, i + 1), &fresh);
    check_run(&epoch, 0, 100, 100, 60, 100);
    cw_epoch_free(&epoch, RANGE(30, 32));
    check_run(&epoch, 0, 100, 100, 30, 32);
    check_run(&epoch, 31, 100, 100, 31, 32);
    check_run(&epoch, 0, 100, 100, 30, 32); /* the one before began above */
    cw_set_add(&epoch.leased, 30, 32);
    check_run(&epoch, 0, 100, 100, 60, 100);
    cw_epoch_forget_received(&epoch, 0);
    check_run(&epoch, 0, 100, 100, 2, 3);
    cw_epoch_receive(&epoch, 0, RANGE(2, 60), &fresh);
    check_run(&epoch, 0, 100, 100, 60, 100);
    cw_set_clear(&epoch.leased);
    cw_epoch_reset(&epoch, 0, 10, NULL);
    check_run(&epoch, 0, 100, 100, 10, 100);
    cw_set_fini(&fresh);
    cw_epoch_fini(&epoch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_runs_are_the_lowest),
        cmocka_unit_test(freed_items_are_found_again),
        cmocka_unit_test(receiving_ends_a_lease_once),
        cmocka_unit_test(a_new_process_gets_what_was_not_consumed),
        cmocka_unit_test(dealt_items_belong_to_one_consumer),
        cmocka_unit_test(dealt_items_of_a_message_are_bounded),
        cmocka_unit_test(items_for_all_wait_for_the_slowest),
        cmocka_unit_test(reset_goes_back_and_forth),
        cmocka_unit_test(skipped_items_are_consumed),
        cmocka_unit_test(skipped_items_have_no_owner),
        cmocka_unit_test(sets_agree_with_an_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
