/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator against sums that can be done by hand. */
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "policies/simulate.h"
#include "support/cm.h"

static const double at_0[] = {0};
static const struct cw_share_tenant one_tenant[] = {{1, 0}};

static struct cw_sim_scenario scenario_of(const struct cw_sim_job_spec *jobs, size_t n,
                                          double workers, const char *policy)
{
    struct cw_sim_scenario s = {.jobs = jobs,
                                .jobs_n = n,
                                .tenants = one_tenant,
                                .tenants_n = 1,
                                .workers = workers,
                                .start_s = 1,
                                .window_batches = 50,
                                .discard_batches = 10};
    assert_int_equal(cw_autoscale_find(policy, &s.policy, &s.argument, NULL), 0);
    return s;
}

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-3 * fmax(1, fabs(expected))))
        fail_msg("%g, %g is right", value, expected);
}

static void test_one_worker(void **state)
{
    (void)state;
    const double step[] = {0.05};
    const struct cw_sim_job_spec job = {.name = "a",
                                        .batches = 1000,
                                        .epochs = 2,
                                        .step_at_s = at_0,
                                        .step_s = step,
                                        .steps_n = 1,
                                        .worker_s = 0.1,
                                        .weight = 1,
                                        .least = 1,
                                        .remote = 1};
    struct cw_sim_scenario s = scenario_of(&job, 1, 8, "fixed:1");
    struct cw_sim_result r;
    assert_int_equal(cw_simulate(&s, &r, NULL), 0);
    near(r.jobs[0].end_s, 1 + 200); /* the worker starts, then 2000 batches of 0.1 s */
    near(r.jobs[0].remote_s, 200);
    near(r.jobs[0].wait_s, 1 + 100);
    near(r.jobs[0].batches, 2000);
    near(r.jobs[0].last_epoch_s, 100);
    cw_sim_result_fini(&r);
}

static void test_auto_saves_time(void **state)
{
    (void)state;
    const double step[] = {0.05, 0.01}, at[] = {0, 50};
    const struct cw_sim_job_spec job = {.name = "a",
                                        .batches = 20000,
                                        .epochs = 1,
                                        .step_at_s = at,
                                        .step_s = step,
                                        .steps_n = 2,
                                        .worker_s = 0.1,
                                        .weight = 1,
                                        .least = 1,
                                        .remote = 1};
    struct cw_sim_scenario s = scenario_of(&job, 1, 32, "auto");
    struct cw_sim_result r;
    assert_int_equal(cw_simulate(&s, &r, NULL), 0);
    near(r.jobs[0].remote, 10);
    assert_int_equal(r.jobs[0].decisions, 2);
    assert_true(r.jobs[0].wait_s < 0.1 * r.jobs[0].busy_s);
    cw_sim_result_fini(&r);
}

static void test_fleet_is_shared(void **state)
{
    (void)state;
    const double step[] = {0.01};
    struct cw_sim_job_spec jobs[2] = {{.name = "a",
                                       .batches = 1e6,
                                       .epochs = 0,
                                       .step_at_s = at_0,
                                       .step_s = step,
                                       .steps_n = 1,
                                       .worker_s = 0.1,
                                       .weight = 1,
                                       .least = 1,
                                       .remote = 1}};
    jobs[1] = jobs[0];
    jobs[1].weight = 3;
    struct cw_sim_scenario s = scenario_of(jobs, 2, 8, "auto");
    struct cw_sim_result r;
    s.until_s = 500;
    assert_int_equal(cw_simulate(&s, &r, NULL), 0);
    assert_true(r.jobs[0].remote + r.jobs[1].remote <= 8 + 1e-9);
    near(r.jobs[0].remote, 2); /* by weight */
    near(r.jobs[1].remote, 6);
    assert_true(r.jobs[0].end_s < 0);
    cw_sim_result_fini(&r);
}

static void test_policy_refuses(void **state)
{
    (void)state;
    const double step[] = {0.01};
    const struct cw_sim_job_spec job = {.name = "a",
                                        .batches = 1000,
                                        .epochs = 1,
                                        .step_at_s = at_0,
                                        .step_s = step,
                                        .steps_n = 1,
                                        .worker_s = 0.1,
                                        .weight = 1,
                                        .least = 1,
                                        .remote = 1};
    struct cw_sim_scenario s = scenario_of(&job, 1, 8, "fixed:none");
    struct cw_sim_result r;
    struct cw_err err = {0};
    assert_int_equal(cw_simulate(&s, &r, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "fixed:4"));
    cw_sim_result_fini(&r);
}

static void test_repeats(void **state)
{
    (void)state;
    const double step[] = {0.02};
    struct cw_sim_job_spec jobs[50];
    for (size_t j = 0; j < CW_ARRAY_LEN(jobs); j++)
        jobs[j] = (struct cw_sim_job_spec){.name = "a",
                                           .arrive_s = (double)j,
                                           .batches = 5000,
                                           .epochs = 2,
                                           .step_at_s = at_0,
                                           .step_s = step,
                                           .steps_n = 1,
                                           .worker_s = 0.1,
                                           .weight = 1,
                                           .least = 1,
                                           .remote = 1};
    struct cw_sim_scenario s = scenario_of(jobs, CW_ARRAY_LEN(jobs), 60, "cachew");
    s.noise = 0.05;
    struct cw_sim_result a, b;
    assert_int_equal(cw_simulate(&s, &a, NULL), 0);
    assert_int_equal(cw_simulate(&s, &b, NULL), 0);
    for (size_t j = 0; j < a.jobs_n; j++) {
        assert_true(a.jobs[j].end_s > 0 && a.jobs[j].end_s == b.jobs[j].end_s &&
                    a.jobs[j].decisions == b.jobs[j].decisions);
        near(a.jobs[j].batches, 10000);
    }
    cw_sim_result_fini(&a);
    cw_sim_result_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_worker),      cmocka_unit_test(test_auto_saves_time),
        cmocka_unit_test(test_fleet_is_shared), cmocka_unit_test(test_policy_refuses),
        cmocka_unit_test(test_repeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
