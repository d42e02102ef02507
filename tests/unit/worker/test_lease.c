/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker has not begun: which items of a lease are taken, in which order, and what becomes
 * of them when they are revoked or put back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unit/worker/bare_worker.h"
#include "worker/model/lease.h"
#include "support/ranges.h"

static void expect_next(struct cw_wjob *job, uint64_t epoch, uint64_t item)
{
    uint64_t got_epoch = 99, got_item = 99;
    assert_true(cw_wlease_peek(job, &got_epoch, &got_item));
    assert_int_equal(got_epoch, epoch);
    assert_int_equal(got_item, item);
}

static struct cw_wtask take(struct cw_wjob *job, uint64_t epoch, uint64_t item, uint64_t lease)
{
    struct cw_wtask task = {0};
    expect_next(job, epoch, item);
    cw_wlease_take(job, &task);
    assert_int_equal(task.exec.epoch, epoch);
    assert_int_equal(task.exec.item, item);
    assert_int_equal(task.lease.counter, lease);
    return task;
}

static void expect_nothing(const struct cw_wjob *job)
{
    uint64_t epoch, item;
    assert_false(cw_wlease_peek(job, &epoch, &item));
    assert_int_equal(job->leases_n, 0);
}

/* The lowest item of all leases is next, whatever the order in which the leases came. */
static void test_order(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 1);
    expect_nothing(job);
    bare_lease(job, 1, 1, 0, 1);
    bare_lease(job, 2, 0, 10, 12);
    bare_lease(job, 3, 0, 2, 3);
    (void)take(job, 0, 2, 3);
    (void)take(job, 0, 10, 2);
    bare_lease(job, 4, 0, 5, 6); /* before the rest of lease 2 */
    (void)take(job, 0, 5, 4);
    (void)take(job, 0, 11, 2);
    (void)take(job, 1, 0, 1);
    expect_nothing(job);
    assert_true(cw_set_has(&cw_wjob_epoch(job, 0)->held, 2)); /* it is being computed */
    bare_free(w);
}

/* A second lease of items that are held here already is ignored, item by item. */
static void test_held(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 1);
    bare_lease(job, 1, 0, 4, 6);
    (void)take(job, 0, 4, 1);
    bare_lease(job, 2, 0, 3, 8);
    (void)take(job, 0, 3, 2);
    (void)take(job, 0, 5, 1);
    (void)take(job, 0, 6, 2);
    (void)take(job, 0, 7, 2);
    expect_nothing(job);
    bare_lease(job, 3, 0, 3, 8);
    expect_nothing(job);
    cw_wjob_release_item(job, 0, 5);
    bare_lease(job, 4, 0, 3, 8);
    (void)take(job, 0, 5, 4);
    expect_nothing(job);
    bare_lease(job, 5, 0, 8, 8); /* an empty interval */
    expect_nothing(job);
    bare_free(w);
}

/* A revoked item is neither pending nor held, so it can be leased again; one that was begun stays
 * held, since tasks.c looks after it. */
static void test_revoke(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 1);
    bare_lease(job, 1, 0, 0, 10);
    bare_lease(job, 2, 0, 20, 22);
    bare_lease(job, 3, 1, 0, 2);
    (void)take(job, 0, 0, 1);
    cw_wlease_revoke(job, 0, RANGE(0, 5));
    struct cw_set *held = &cw_wjob_epoch(job, 0)->held;
    assert_true(cw_set_has(held, 0));
    assert_false(cw_set_has(held, 1));
    assert_false(cw_set_has(held, 4));
    assert_true(cw_set_has(held, 5));
    cw_wlease_revoke(job, 0, RANGE(7, 21));
    (void)take(job, 0, 5, 1);
    (void)take(job, 0, 6, 1);
    (void)take(job, 0, 21, 2);
    (void)take(job, 1, 0, 3);
    bare_lease(job, 4, 0, 8, 9);
    (void)take(job, 0, 8, 4); /* epoch 0 comes before the rest of lease 3 */
    cw_wlease_revoke(job, 1, RANGE(0, UINT64_MAX));
    expect_nothing(job);
    bare_free(w);
}

static void test_put_back(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 2);
    job->shared = true;
    bare_lease(job, 1, 0, 3, 6);
    struct cw_wtask task = take(job, 0, 3, 1);
    task.consumer = 1;
    (void)take(job, 0, 4, 1);
    cw_wlease_put_back(job, &task);
    task = take(job, 0, 3, 1);
    assert_int_equal(task.consumer, 1);
    (void)take(job, 0, 5, 1);
    expect_nothing(job);
    cw_wlease_put_back(job, &task);
    cw_wlease_clear(job);
    expect_nothing(job);
    assert_true(cw_set_has(&cw_wjob_epoch(job, 0)->held, 3));
    bare_free(w);
}

/* Items that are not given out as they come belong to consumers in turn. */
static void test_consumer(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 3);
    assert_int_equal(cw_wjob_consumer(job, 7), 1);
    job->to_all = true;
    assert_int_equal(cw_wjob_consumer(job, 7), 0);
    assert_ptr_equal(cw_wjob_get(w, "j"), job);
    assert_null(cw_wjob_get(w, "k"));
    bare_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order), cmocka_unit_test(test_held), cmocka_unit_test(test_revoke),
        cmocka_unit_test(test_put_back), cmocka_unit_test(test_consumer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
