/* SPDX-License-Identifier: Apache-2.0 */
/* When the first counters of a job are due. */
#include "support/cm.h"
#include "unit/worker/bare_worker.h"
#include "worker/message/report_timer.h"

#define MS 1000000

/* After 1,000 elements, once. */
static void after_elements(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "a", 1), *other = bare_job(w, "b", 1);
    assert_false(cw_report_counts_are_due(job, 600, MS));
    assert_false(cw_report_counts_are_due(other, 600, MS)); /* jobs count by themselves */
    assert_false(cw_report_counts_are_due(job, 399, MS));
    assert_true(cw_report_counts_are_due(job, 1, MS));
    assert_false(cw_report_counts_are_due(job, 100000, 1000 * MS));
    assert_true(cw_report_counts_are_due(other, 400, MS));
    bare_free(w);
}

/* After 100 ms of threads, however few elements that are: a filter may keep none. */
static void after_time(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "a", 1);
    assert_false(cw_report_counts_are_due(job, 0, 60 * MS));
    assert_true(cw_report_counts_are_due(job, 0, 40 * MS));
    assert_false(cw_report_counts_are_due(job, 0, 100 * MS));
    bare_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(after_elements),
                                       cmocka_unit_test(after_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
