/* SPDX-License-Identifier: Apache-2.0 */
/* The circuit breaker and the meters of a store, in virtual time. */
#include "support/cm.h"

#include <string.h>

#include "cache/store/breaker.h"
#include "cache/store/meter.h"

#define SECOND ((int64_t)1000000000)

static const struct cw_err timed_out = {.code = CW_E_TIMEOUT, .msg = "no answer"};

static struct cw_store_breaker away_since(int64_t now)
{
    struct cw_store_breaker breaker = {0};

    assert_true(cw_store_breaker_note(&breaker, CW_E_TIMEOUT, &timed_out, now));
    return breaker;
}

static void test_what_opens_it(void **state)
{
    static const int harmless[] = {0, CW_E_NOT_FOUND, CW_E_CORRUPT, CW_E_LIMIT, CW_E_IO};
    struct cw_store_breaker breaker = {0};
    struct cw_err err = {0};

    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(harmless); i++) {
        assert_false(cw_store_breaker_note(&breaker, harmless[i], &timed_out, SECOND));
        assert_int_equal(cw_store_breaker_refuse(&breaker, "mem:x", SECOND, &err), 0);
    }
    assert_true(cw_store_breaker_note(&breaker, CW_E_UNAVAILABLE, &timed_out, SECOND));
    assert_false(cw_store_breaker_note(&breaker, CW_E_TIMEOUT, &timed_out, 5 * SECOND));
    assert_int_equal(breaker.since_ns, SECOND); /* the first failure counts */
}

static void test_refuses_and_says_why(void **state)
{
    struct cw_store_breaker breaker = away_since(2 * SECOND);
    struct cw_err err = {0};

    (void)state;
    assert_int_equal(cw_store_breaker_refuse(&breaker, "mem:x", 9 * SECOND, &err),
                     CW_E_UNAVAILABLE);
    assert_string_equal(err.msg, "store mem:x is away since 7 s: no answer");
}

static void test_tries_back_off(void **state)
{
    struct cw_store_breaker breaker = away_since(0);
    int64_t now = 0, waits[8];

    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(waits); i++) {
        int64_t at = INT64_MAX;

        assert_false(cw_store_breaker_may_try(&breaker, now, &at));
        waits[i] = at - now;
        now = at;
        assert_true(cw_store_breaker_may_try(&breaker, now, &at));
        assert_false(cw_store_breaker_may_try(&breaker, now, &at)); /* one at a time */
        assert_false(cw_store_breaker_tried(&breaker, CW_E_TIMEOUT, &timed_out, now));
    }
    assert_int_equal(waits[0], SECOND / 2);
    for (size_t i = 1; i < CW_ARRAY_LEN(waits); i++)
        assert_int_equal(waits[i], CW_MIN(2 * waits[i - 1], 10 * SECOND));
    assert_int_equal(waits[CW_ARRAY_LEN(waits) - 1], 10 * SECOND);
}

static void test_a_good_try_closes_it(void **state)
{
    struct cw_store_breaker breaker = away_since(0);
    int64_t at = INT64_MAX;

    (void)state;
    assert_true(cw_store_breaker_may_try(&breaker, SECOND, &at));
    assert_true(cw_store_breaker_tried(&breaker, 0, NULL, SECOND));
    assert_int_equal(cw_store_breaker_refuse(&breaker, "mem:x", SECOND, NULL), 0);
    assert_false(cw_store_breaker_may_try(&breaker, 100 * SECOND, &at));
    assert_int_equal(at, INT64_MAX);
    /* the next time it begins with short waits again */
    assert_true(cw_store_breaker_note(&breaker, CW_E_TIMEOUT, &timed_out, 100 * SECOND));
    assert_false(cw_store_breaker_may_try(&breaker, 100 * SECOND, &at));
    assert_int_equal(at, 100 * SECOND + SECOND / 2);
}

static void test_meter_counts_time_once(void **state)
{
    struct cw_store_meter meter = {0};

    (void)state;
    cw_store_meter_begin(&meter, 10);
    cw_store_meter_begin(&meter, 20); /* beside the first: no time of its own */
    assert_int_equal(cw_store_meter_busy_ns(&meter, 25), 15);
    cw_store_meter_end(&meter, 100, 0, 30);
    cw_store_meter_end(&meter, 50, 0, 40);
    assert_int_equal(cw_store_meter_busy_ns(&meter, 90), 30); /* idle time does not count */
    cw_store_meter_begin(&meter, 100);
    cw_store_meter_end(&meter, 7, CW_E_IO, 105);
    assert_int_equal(cw_store_meter_busy_ns(&meter, 200), 35);
    assert_int_equal(meter.n, 2);
    assert_int_equal(meter.bytes, 150);
    assert_int_equal(meter.errors, 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_what_opens_it),          cmocka_unit_test(test_refuses_and_says_why),
    cmocka_unit_test(test_tries_back_off),         cmocka_unit_test(test_a_good_try_closes_it),
    cmocka_unit_test(test_meter_counts_time_once),
};

CW_TESTS_MAIN(tests)
