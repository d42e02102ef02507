/* SPDX-License-Identifier: Apache-2.0 */
/* When a decision that stands is refuted, and to what it gives way. */
#include "support/cm.h"

#include "policies/standing.h"

/* An epoch of 2 s was predicted: up to 3.1 s, and down to 1.23 s, it may be. */
static void test_side(void **state)
{
    const struct cw_standing_rule *rule = &cw_standing_epoch;
    (void)state;
    assert_int_equal(cw_standing_side(rule, 3.09e9, 2e9), 0);
    assert_int_equal(cw_standing_side(rule, 3.11e9, 2e9), 1);
    assert_int_equal(cw_standing_side(rule, 1.24e9, 2e9), 0);
    assert_int_equal(cw_standing_side(rule, 1.23e9, 2e9), -1);
    assert_int_equal(cw_standing_side(&cw_standing_cost, 119, 100), 0);
    assert_int_equal(cw_standing_side(&cw_standing_cost, 121, 100), 1);
    assert_int_equal(cw_standing_side(&cw_standing_cost, 81, 100), 0);
    assert_int_equal(cw_standing_side(&cw_standing_cost, 79, 100), -1);
    assert_int_equal(cw_standing_side(&cw_standing_demand, 89, 100), -1);
    assert_int_equal(cw_standing_side(&cw_standing_demand, 111, 100), 1);
}

/* Short epochs differ for other reasons than a wrong prediction. */
static void test_least(void **state)
{
    (void)state;
    assert_int_equal(cw_standing_side(&cw_standing_epoch, 0.11e9, 0.01e9), 0);
    assert_int_equal(cw_standing_side(&cw_standing_epoch, 0.01e9, 0.15e9), 0);
}

/* 0 may be what was measured (nothing passes a filter), or that nothing was. */
static void test_not_known(void **state)
{
    const struct cw_standing_rule *rule = &cw_standing_cost;
    (void)state;
    assert_int_equal(cw_standing_side(rule, 0, 1), -1);
    assert_int_equal(cw_standing_side(rule, 1, 0), 1);
    assert_int_equal(cw_standing_side(rule, 0, 0), 0);
    assert_false(cw_standing_is_off(rule, 0, 1));
    assert_false(cw_standing_is_off(rule, 1, 0));
    assert_true(cw_standing_is_off(rule, 2, 1));
}

static void test_differs(void **state)
{
    (void)state;
    assert_false(cw_standing_differs(104, 100, 0.05));
    assert_true(cw_standing_differs(106, 100, 0.05));
    assert_true(cw_standing_differs(94, 100, 0.05));
    assert_false(cw_standing_differs(0, 100, 0.05));
    assert_false(cw_standing_differs(1, 100, 1.5)); /* so much noise allows anything below */
}

static void test_count(void **state)
{
    unsigned n = 0;
    (void)state;
    assert_false(cw_standing_count(&cw_standing_cost, true, &n));
    assert_false(cw_standing_count(&cw_standing_cost, true, &n));
    assert_false(cw_standing_count(&cw_standing_cost, false, &n)); /* so it begins anew */
    assert_false(cw_standing_count(&cw_standing_cost, true, &n));
    assert_false(cw_standing_count(&cw_standing_cost, true, &n));
    assert_true(cw_standing_count(&cw_standing_cost, true, &n));
    assert_true(cw_standing_count(&cw_standing_cost, true, &n));
    n = 0;
    assert_true(cw_standing_count(&cw_standing_epoch, true, &n));
}

static void test_yields(void **state)
{
    (void)state;
    assert_false(cw_standing_yields(&cw_standing_epoch, false, 100, 91));
    assert_true(cw_standing_yields(&cw_standing_epoch, false, 100, 89));
    assert_false(cw_standing_yields(&cw_standing_epoch, true, 100, 96));
    assert_true(cw_standing_yields(&cw_standing_epoch, true, 100, 94));
    assert_false(cw_standing_yields(&cw_standing_cost, false, 100, 91));
    assert_false(cw_standing_yields(&cw_standing_cost, true, 100, 99));
    assert_true(cw_standing_yields(&cw_standing_cost, true, 100, 97));
    assert_false(cw_standing_yields(&cw_standing_cost, true, 0, 0)); /* there is nothing to save */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_side),      cmocka_unit_test(test_least),
        cmocka_unit_test(test_not_known), cmocka_unit_test(test_differs),
        cmocka_unit_test(test_count),     cmocka_unit_test(test_yields)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
