/* SPDX-License-Identifier: Apache-2.0 */
#include "base/run_delay.h"
#include "support/cm.h"

static void texts(void **state)
{
    (void)state;
    assert_int_equal(cw_run_delay_parse("52688105 759282803 75\n"), 759282803);
    assert_int_equal(cw_run_delay_parse("52688105\n"), 0);
    assert_int_equal(cw_run_delay_parse("nothing\n"), 0);
    assert_int_equal(cw_run_delay_parse(""), 0);
}

/* A thread that there is not has waited for nothing. */
static void threads(void **state)
{
    (void)state;
    assert_true(cw_run_delay_thread() > 0);
    (void)cw_run_delay_ns(cw_run_delay_thread());
    assert_int_equal(cw_run_delay_ns(0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
