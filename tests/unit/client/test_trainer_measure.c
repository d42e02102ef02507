/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "base/thread.h"
#include "client/model/trainer_measure.h"
#include "support/cm.h"

static int64_t now;

static void batch(struct cw_trainer_measure *m, int64_t step, int64_t wait)
{
    now += step;
    cw_trainer_measure_asked(m, now);
    now += wait;
    cw_trainer_measure_given(m, now);
}

static void test_sums(void **state)
{
    (void)state;
    cw_autofree struct cw_trainer_measure *m = CW_NEW(struct cw_trainer_measure);
    struct cw_trainer_measure_sum sum;
    cw_trainer_measure_take(m, &sum);
    assert_true(sum.batches == 0 && sum.ns == 0 && sum.step_ns == 0);
    batch(m, 1000, 70); /* the first has no step before it */
    batch(m, 10, 5);
    batch(m, 30, 0);
    batch(m, 20, 15);
    cw_trainer_measure_take(m, &sum);
    assert_true(sum.batches == 4 && sum.wait_ns == 90 && sum.ns == 150 && sum.step_ns == 20);
    cw_trainer_measure_break(m); /* an epoch ended: the time until the next batch is no step */
    batch(m, 100000, 7);
    cw_trainer_measure_take(m, &sum);
    assert_true(sum.batches == 1 && sum.wait_ns == 7 && sum.ns == 7 && sum.step_ns == 0);
}

/* A trainer that asks again and again, with a timeout, waits since the first time: none of that
 * is its own step. */
static void test_asks_again(void **state)
{
    (void)state;
    cw_autofree struct cw_trainer_measure *m = CW_NEW(struct cw_trainer_measure);
    struct cw_trainer_measure_sum sum;
    batch(m, 0, 1);
    now += 60;
    for (int i = 0; i < 4; i++) {
        cw_trainer_measure_asked(m, now);
        now += 200;
    }
    cw_trainer_measure_asked(m, now);
    cw_trainer_measure_given(m, now += 50);
    batch(m, 60, 0);
    cw_trainer_measure_take(m, &sum);
    assert_true(sum.batches == 3 && sum.wait_ns == 851 && sum.ns == 971 && sum.step_ns == 60);
    cw_trainer_measure_asked(m, now += 60);
    cw_trainer_measure_break(m); /* the epoch's end came */
    batch(m, 100, 5);
    cw_trainer_measure_take(m, &sum);
    assert_true(sum.batches == 1 && sum.wait_ns == 5 && sum.ns == 5);
}

static void test_more_than_the_ring(void **state)
{
    (void)state;
    cw_autofree struct cw_trainer_measure *m = CW_NEW(struct cw_trainer_measure);
    struct cw_trainer_measure_sum sum;
    for (int i = 0; i < 10 * CW_TRAINER_MEASURE_RING; i++)
        batch(m, 30, 10);
    cw_trainer_measure_take(m, &sum);
    assert_int_equal(sum.batches, 10 * CW_TRAINER_MEASURE_RING);
    assert_true(sum.ns == 40ll * 10 * CW_TRAINER_MEASURE_RING &&
                sum.wait_ns == 10ll * 10 * CW_TRAINER_MEASURE_RING && sum.step_ns == 30);
}

static void trainer(void *arg)
{
    struct cw_trainer_measure *m = arg;
    for (int64_t i = 0; i < 1000000; i++) {
        cw_trainer_measure_asked(m, i * 10 + 7);
        cw_trainer_measure_given(m, i * 10 + 10);
    }
}

/* Whatever the threads do, no record is half of one and half of another. */
static void test_two_threads(void **state)
{
    (void)state;
    cw_autofree struct cw_trainer_measure *m = CW_NEW(struct cw_trainer_measure);
    struct cw_thread thread;
    uint64_t batches = 0;
    cw_thread_start(&thread, "trainer", trainer, m);
    while (batches < 1000000) {
        struct cw_trainer_measure_sum sum;
        cw_trainer_measure_take(m, &sum);
        batches += sum.batches;
        assert_true(sum.step_ns == 0 || sum.step_ns == 7);
    }
    cw_thread_join(&thread);
    assert_int_equal(batches, 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_asks_again),
        cmocka_unit_test(test_more_than_the_ring),
        cmocka_unit_test(test_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
