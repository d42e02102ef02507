/* SPDX-License-Identifier: Apache-2.0 */
/* When a client acknowledges: soon enough, and not more often than is of use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client/session/ack_schedule.h"

#define MS 1000000

static void what_is_consumed_is_told_by_the_quarter(void **state)
{
    (void)state;
    struct cw_ack_schedule ack = {.news = true, .window = 100, .consumed_n = 24, .age_ns = 10 * MS};
    assert_false(cw_ack_schedule_is_due(&ack));
    ack.consumed_n = 25;
    assert_true(cw_ack_schedule_is_due(&ack));
    ack.age_ns = MS;
    assert_false(cw_ack_schedule_is_due(&ack));
    ack.window = 8;
    assert_true(cw_ack_schedule_is_due(&ack));
    ack = (struct cw_ack_schedule){.news = true, .window = 100, .age_ns = 200 * MS};
    assert_true(cw_ack_schedule_is_due(&ack));
}

/* Of many clients each speaks less often, as long as nothing waits for it. */
static void the_dispatcher_says_how_often(void **state)
{
    (void)state;
    struct cw_ack_schedule ack = {.news = true,
                                  .window = 100,
                                  .age_ns = 999 * (int64_t)MS,
                                  .interval_ns = 1000 * (int64_t)MS};
    assert_false(cw_ack_schedule_is_due(&ack));
    ack.consumed_n = 25;
    assert_true(cw_ack_schedule_is_due(&ack));
    ack.consumed_n = 0;
    ack.age_ns = 1000 * (int64_t)MS;
    assert_true(cw_ack_schedule_is_due(&ack));
    ack.interval_ns = INT64_MAX;
    ack.age_ns = 2000 * (int64_t)MS;
    assert_true(cw_ack_schedule_is_due(&ack));
}

/* A dense client, or one that has a batch waiting: what comes is told when its time has come. */
static void what_has_come_does_not_hurry_while_a_batch_waits(void **state)
{
    (void)state;
    struct cw_ack_schedule ack = {
        .news = true, .window = 1, .first_missing = 1000, .age_ns = 10 * MS};
    assert_false(cw_ack_schedule_is_due(&ack));
}

static void a_starving_client_tells_at_the_end_of_the_window(void **state)
{
    (void)state;
    for (uint64_t window = 1; window <= 1000; window++) {
        struct cw_ack_schedule ack = {
            .news = true, .window = window, .starving = true, .sent = {true, 5000, 40}};
        ack.first_missing = 5000 + window;
        assert_true(cw_ack_schedule_is_due(&ack)); /* at once */
        ack.first_missing = 5000;
        ack.age_ns = 199 * MS;
        assert_false(cw_ack_schedule_is_due(&ack));
        ack.first_missing = 5000 + (window / 4 > 1 ? window / 4 : 1);
        assert_true(cw_ack_schedule_is_due(&ack));
    }
}

static void a_batch_that_was_taken_is_told(void **state)
{
    (void)state;
    struct cw_ack_schedule ack = {.news = true,
                                  .window = 1000,
                                  .starving = true,
                                  .age_ns = MS,
                                  .first_missing = 600,
                                  .sent = {false, 600, 100}};
    assert_false(cw_ack_schedule_is_due(&ack)); /* what was told lasts for a while */
    ack.first_missing = 1100;
    assert_true(cw_ack_schedule_is_due(&ack));
    ack.first_missing = 600;
    ack.age_ns = 10 * MS;
    assert_true(cw_ack_schedule_is_due(&ack));
}

/* Else a client that waits would not notice for a minute that the dispatcher's host has crashed. */
static void without_news_it_says_now_and_then_that_it_is_there(void **state)
{
    (void)state;
    struct cw_ack_schedule ack = {.window = 100, .consumed_n = 100, .age_ns = 1999 * (int64_t)MS};
    assert_false(cw_ack_schedule_is_due(&ack));
    ack.age_ns = 2000 * (int64_t)MS;
    assert_true(cw_ack_schedule_is_due(&ack));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_consumed_is_told_by_the_quarter),
        cmocka_unit_test(the_dispatcher_says_how_often),
        cmocka_unit_test(what_has_come_does_not_hurry_while_a_batch_waits),
        cmocka_unit_test(a_starving_client_tells_at_the_end_of_the_window),
        cmocka_unit_test(a_batch_that_was_taken_is_told),
        cmocka_unit_test(without_news_it_says_now_and_then_that_it_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
