/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include "base/stop.h"
#include "base/thread.h"

static void not_set(void **state)
{
    struct cw_stop stop = {0};
    struct cw_err err = {0};
    (void)state;
    assert_false(cw_stop_is_set(NULL));
    assert_false(cw_stop_is_set(&stop));
    assert_int_equal(cw_stop_check(NULL, &err), 0);
    assert_int_equal(cw_stop_sleep_ns(NULL, 1000, &err), 0);
    assert_int_equal(cw_stop_sleep_ns(&stop, 1000, &err), 0);
    cw_stop_set(&stop);
    assert_true(cw_stop_is_set(&stop));
    assert_int_equal(cw_stop_check(&stop, &err), CW_E_CANCELLED);
}

static void refs(void **state)
{
    struct cw_stop *stop = cw_stop_new(), *same = cw_stop_ref(stop);
    (void)state;
    assert_int_equal(cw_stop_looks(stop), 0);
    assert_int_equal(cw_stop_check(same, NULL), 0);
    assert_int_equal(cw_stop_looks(stop), 1);
    stop = cw_stop_unref(stop);
    assert_null(stop);
    cw_stop_set(same);
    assert_true(cw_stop_is_set(same));
    assert_null(cw_stop_unref(same));
    assert_null(cw_stop_unref(NULL));
}

static void set_it(void *arg)
{
    cw_stop_set(arg);
}

/* A year would not be over. */
static void wakes_a_sleeper(void **state)
{
    struct cw_stop stop = {0};
    struct cw_thread thread = {0};
    struct cw_err err = {0};
    (void)state;
    cw_thread_start(&thread, "setter", set_it, &stop);
    assert_int_equal(cw_stop_sleep_ns(&stop, INT64_C(365) * 86400 * 1000000000, &err),
                     CW_E_CANCELLED);
    cw_thread_join(&thread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(not_set), cmocka_unit_test(refs),
                                       cmocka_unit_test(wakes_a_sleeper)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
