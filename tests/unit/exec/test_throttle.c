/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/throttle.h"
#include "support/cm.h"

#define MS ((int64_t)1000000)
#define BEGIN (1000 * MS)

static void nothing_is_limited_unless_asked(void **state)
{
    struct cw_throttle t = {0};
    (void)state;
    cw_throttle_spend(&t, 1000 * MS);
    assert_int_equal(cw_throttle_until(&t), 0);
}

/* Half a CPU: 10 ms of work are paid for after 20 ms. */
static void debt_is_waited_for(void **state)
{
    struct cw_throttle t;
    (void)state;
    cw_throttle_init(&t, 0.5, BEGIN);
    assert_int_equal(cw_throttle_until_at(&t, BEGIN), 0);
    cw_throttle_spend(&t, 10 * MS);
    int64_t until = cw_throttle_until_at(&t, BEGIN);
    assert_in_range(until, BEGIN + 20 * MS, BEGIN + 20 * MS + 10);
    assert_int_not_equal(cw_throttle_until_at(&t, until - MS), 0);
    assert_int_equal(cw_throttle_until_at(&t, until), 0);
}

/* An idle hour is not saved up: only a burst is. */
static void idle_time_is_lost(void **state)
{
    struct cw_throttle t;
    (void)state;
    cw_throttle_init(&t, 2, BEGIN);
    int64_t now = BEGIN + 3600 * 1000 * MS;
    assert_int_equal(cw_throttle_until_at(&t, now), 0);
    cw_throttle_spend(&t, 100 * MS);
    assert_in_range(cw_throttle_until_at(&t, now), now + 25 * MS, now + 35 * MS);
}

/* Over a long time exactly the share: each run is 7 ms of CPU that takes 7 ms. */
static void the_mean_is_the_limit(void **state)
{
    struct cw_throttle t;
    int64_t now = BEGIN, used = 0;
    (void)state;
    cw_throttle_init(&t, 0.25, now);
    while (now < BEGIN + 10000 * MS) {
        int64_t until = cw_throttle_until_at(&t, now);
        now = until ? until : now + 7 * MS;
        if (!until) {
            cw_throttle_spend(&t, 7 * MS);
            used += 7 * MS;
        }
    }
    assert_in_range(used, 2450 * MS, 2550 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_limited_unless_asked),
        cmocka_unit_test(debt_is_waited_for),
        cmocka_unit_test(idle_time_is_lost),
        cmocka_unit_test(the_mean_is_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
