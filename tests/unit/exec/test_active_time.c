/* SPDX-License-Identifier: Apache-2.0 */
/* Time in which at least one thread works counts once, however many do. */
#include "support/cm.h"

#include "exec/active_time.h"

static void overlapping_threads_count_once(void **state)
{
    (void)state;
    struct cw_active_time active = {0};
    cw_active_time_enter(&active, 1000);
    cw_active_time_enter(&active, 1010);
    cw_active_time_leave(&active, 1030);
    cw_active_time_enter(&active, 1035);
    cw_active_time_leave(&active, 1040);
    assert_int_equal(active.ns, 40); /* also while a thread goes on */
    cw_active_time_leave(&active, 1050);
    assert_int_equal(active.ns, 50);
    cw_active_time_enter(&active, 2000); /* idle until then */
    assert_int_equal(active.ns, 50);
    cw_active_time_leave(&active, 2007);
    assert_int_equal(active.ns, 57);
    assert_int_equal(active.inside_n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(overlapping_threads_count_once)};
    return cmocka_run_group_tests_name("exec_active_time", tests, NULL, NULL);
}
