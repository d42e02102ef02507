/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator against sums that can be done by hand. */
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "policies/simulate_job.h"
#include "support/cm.h"

static const double at_0[] = {0}, a_tenth[] = {0.1};
static const struct cw_sim_series worker_s = {at_0, a_tenth, 1};
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
                                        .step_s = {at_0, step, 1},
                                        .worker_s = worker_s,
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

struct told {
    size_t calls;
    double now_s;
};

static void on_progress(void *arg, double now_s, const struct cw_sim_result *so_far)
{
    struct told *told = arg;
    assert_int_equal(so_far->jobs_n, 1);
    assert_true(now_s >= told->now_s);
    told->now_s = now_s;
    told->calls++;
}

/* Whoever waits is told of each event. */
static void test_progress(void **state)
{
    (void)state;
    const double step[] = {0.05};
    const struct cw_sim_job_spec job = {.name = "a",
                                        .batches = 1,
                                        .epochs = 5000,
                                        .step_s = {at_0, step, 1},
                                        .worker_s = worker_s,
                                        .weight = 1,
                                        .least = 1,
                                        .remote = 1};
    struct cw_sim_scenario s = scenario_of(&job, 1, 8, "fixed:1");
    struct told told = {0};
    struct cw_sim_result r;
    s.progress = on_progress;
    s.progress_arg = &told;
    assert_int_equal(cw_simulate(&s, &r, NULL), 0);
    assert_true(told.calls >= job.epochs);
    assert_true(told.now_s > 100 && told.now_s <= r.jobs[0].end_s);
    cw_sim_result_fini(&r);
}

static void test_auto_saves_time(void **state)
{
    (void)state;
    const double step[] = {0.05, 0.01}, at[] = {0, 50};
    const struct cw_sim_job_spec job = {.name = "a",
                                        .batches = 20000,
                                        .epochs = 1,
                                        .step_s = {at, step, 2},
                                        .worker_s = worker_s,
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
                                       .step_s = {at_0, step, 1},
                                       .worker_s = worker_s,
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
                                        .step_s = {at_0, step, 1},
                                        .worker_s = worker_s,
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

static struct cw_sim_job_spec job_of(const struct cw_sim_series *step)
{
    return (struct cw_sim_job_spec){.name = "a",
                                    .batches = 1000,
                                    .epochs = 1,
                                    .step_s = *step,
                                    .worker_s = worker_s,
                                    .weight = 1,
                                    .least = 1,
                                    .remote = 1};
}
static const double a_hundredth[] = {0.01}, ceiling_20[] = {20};
static const struct cw_sim_series fast = {at_0, a_hundredth, 1};

static struct cw_sim_job run_one(const struct cw_sim_job_spec *job, const char *policy,
                                 double workers, double local, int *ret_code)
{
    struct cw_sim_scenario s =
        scenario_of(job, 1, workers, strncmp(policy, "place:", 6) ? policy : "auto");
    struct cw_sim_result r;
    struct cw_err err = {0};
    s.local = local;
    if (strncmp(policy, "place:", 6) == 0)
        assert_int_equal(cw_autoplace_find(policy + 6, &s.policy, &s.argument, NULL), 0);
    *ret_code = cw_simulate(&s, &r, &err);
    struct cw_sim_job result = r.jobs[0];
    cw_sim_result_fini(&r);
    return result;
}

/* 1000 batches: of 0.1 s on four workers; of 20 a second; (with a tenth for each further worker)
 * of 0.1 * 1.3 s on four; (with a hundredth for each pair) of 0.1 * 1.12 s on four. From the
 * beginning: no window with one worker. */
static void test_what_holds_it_up(void **state)
{
    (void)state;
    int rc;
    struct cw_sim_job_spec job = job_of(&fast);
    near(run_one(&job, "fixed:4", 8, 0, &rc).end_s, 1 + 25);
    job.ceiling = (struct cw_sim_series){at_0, ceiling_20, 1};
    near(run_one(&job, "fixed:4", 8, 0, &rc).end_s, 1 + 50);
    job.ceiling = (struct cw_sim_series){0};
    job.loss = 0.1;
    near(run_one(&job, "fixed:4", 8, 0, &rc).end_s, 1 + 32.5);
    job.loss = 0, job.slower = 0.01;
    near(run_one(&job, "fixed:4", 8, 0, &rc).end_s, 1 + 28);
}

/* Epochs of 100, 80, 60, 50, 40, 30 s with (0, 0), (0, 1), (0, 2), (1, 0), ... */
static void test_table_of_both(void **state)
{
    (void)state;
    static const double epoch_s[] = {100, 80, 60, 50, 40, 30};
    int rc;
    struct cw_sim_job_spec job = job_of(&fast);
    job.epoch_s = epoch_s, job.epoch_s_n = 6, job.columns = 3;
    near(run_one(&job, "place:fixed:1,0", 1, 2, &rc).end_s, 1 + 50);
    near(run_one(&job, "place:fixed:1,2", 1, 2, &rc).end_s, 1 + 30);
    near(run_one(&job, "place:fixed:0,1", 0, 2, &rc).end_s, 80);
}

static void test_no_worker_is_an_error(void **state)
{
    (void)state;
    int rc;
    struct cw_sim_job_spec job = job_of(&fast);
    run_one(&job, "place:fixed:0,4", 8, 0, &rc);
    assert_int_equal(rc, CW_E_INVALID);
    run_one(&job, "place:fixed:0,4", 8, 4, &rc);
    assert_int_equal(rc, 0);
    run_one(&job, "auto", 0, 4, &rc); /* it wants a worker, and the fleet has none */
    assert_int_equal(rc, CW_E_INVALID);
    /* local ones only, of half the speed */
    job.local_speed = 0.5;
    struct cw_sim_job done = run_one(&job, "place:fixed:0,4", 0, 4, &rc);
    near(done.local_s, 1000 * 0.1 / 0.5);
    near(done.remote_s, 0);
}

/* 1000 batches of 0.1 s: on four workers, from 11 s on (10 s after the first began) on two; what the
 * job was in between is noted. A host that bears two local workers, and then none: the trainer needs
 * 0.06 s for a batch, and then 0.06 * (1 + 0.5 * 2); in the first second there is one worker. */
static void test_what_changes(void **state)
{
    (void)state;
    static const double at[] = {0, 11}, most[] = {4, 2}, room[] = {2, 0}, six[] = {0.06};
    int rc;
    struct cw_sim_job_spec job = job_of(&fast);
    job.mosts = (struct cw_sim_series){at, most, 2};
    struct cw_sim_job done = run_one(&job, "fixed:4", 8, 0, &rc);
    near(done.end_s, 11 + (1000 - 10 / 0.1 * 4) * 0.1 / 2);
    near(done.remote, 2);
    job.mosts.n = 0;
    job.step_s = (struct cw_sim_series){at_0, six, 1};
    job.rooms = (struct cw_sim_series){at, room, 2}, job.slow = 0.5;
    near(run_one(&job, "place:fixed:0,2", 0, 2, &rc).end_s, 11 + (1000 - 10 - 10 / 0.06) * 0.12);
}

static void test_a_time_is_marked(void **state)
{
    (void)state;
    struct cw_sim_job_spec job = job_of(&fast);
    struct cw_sim_scenario s = scenario_of(&job, 1, 8, "fixed:4");
    struct cw_sim_result r;
    s.mark_s = 5;
    s.until_s = 20;
    assert_int_equal(cw_simulate(&s, &r, NULL), 0);
    assert_true(r.jobs[0].mark.remote == 4);
    assert_true(r.jobs[0].mark.windows > 0 && r.jobs[0].mark.windows < r.jobs[0].windows);
    cw_sim_result_fini(&r);
}

/* Four workers that take 0.1 s of which 0.02 s is CPU time, and a trainer that takes 0.05 s. */
static const double a_twentieth[] = {0.05};

static struct cw_sim_now four_workers(struct cw_sim_job_spec *job)
{
    *job = job_of(&fast);
    job->step_s = (struct cw_sim_series){at_0, a_twentieth, 1};
    job->cpu_s = 0.02;
    return (struct cw_sim_now){.spec = job, .remote = 4};
}

/* Length, wait, step and rate of a window have noise, each its own; and it says how much CPU time
 * the workers used, for hpa: of a rate of 20 a second each of four uses a tenth. */
static void test_noise_of_windows(void **state)
{
    (void)state;
    struct cw_sim_job_spec job;
    const struct cw_sim_now now = four_workers(&job);
    const struct cw_sim_sums sums = {.batches = 40, .seconds = 2, .wait_s = 0.5};
    double differ[4] = {0};
    for (uint64_t i = 0; i < 100; i++) {
        const struct cw_scale_window w = cw_sim_window(&now, &sums, 0.05, i);
        double off[] = {w.seconds / 2, w.wait_share / 0.25, w.step_s / 0.05, w.rate / 10};
        for (size_t k = 0; k < CW_ARRAY_LEN(off); k++) {
            assert_true(fabs(off[k] - 1) <= 0.05 + 1e-9);
            differ[k] += fabs(off[k] - 1) / 100;
            assert_true(k == 0 || fabs(off[k] - off[k - 1]) > 1e-9);
        }
        near(w.cpu, 0.1);
    }
    for (size_t k = 0; k < CW_ARRAY_LEN(differ); k++)
        assert_true(differ[k] > 0.015);
    const struct cw_scale_window exact = cw_sim_window(&now, &sums, 0, 1);
    assert_true(exact.seconds == 2 && exact.wait_share == 0.25 && exact.step_s == 0.05);
}

/* One window of ten stands for 3 s; the trainer waits then, or it does not. */
static void test_odd_windows(void **state)
{
    (void)state;
    struct cw_sim_job_spec job;
    const struct cw_sim_now now = four_workers(&job);
    const struct cw_sim_sums sums = {.batches = 40, .seconds = 2, .wait_s = 0.5};
    job.odd_every = 10, job.odd_s = 3;
    for (int waits = 0; waits < 2; waits++) {
        unsigned odd = 0;
        job.odd_waits = waits;
        for (uint64_t i = 0; i < 1000; i++) {
            const struct cw_scale_window w = cw_sim_window(&now, &sums, 0, i);
            assert_true(w.seconds == 2 || w.seconds == 5);
            near(w.wait_share, w.seconds == 2 ? 0.25 : waits ? 0.7 : 0.1);
            odd += w.seconds == 5;
        }
        assert_true(odd > 60 && odd < 150);
    }
}

/* A policy's constants are part of its name here, too: a trainer that needs five workers, and after a
 * while one. As published the policy does not get there. */
static void test_constants_of_a_policy(void **state)
{
    (void)state;
    static const double at[] = {0, 200}, step[] = {0.02, 0.2};
    static const char *const policies[] = {"cachew", "cachew:quirks=corrected",
                                           "cachew:quirks=published"};
    for (size_t i = 0; i < CW_ARRAY_LEN(policies); i++) {
        int rc;
        struct cw_sim_job_spec job = job_of(&(struct cw_sim_series){at, step, 2});
        job.batches = 20000;
        struct cw_sim_job done = run_one(&job, policies[i], 8, 0, &rc);
        assert_int_equal(rc, 0);
        if (i < 2)
            near(done.remote, 1);
        else
            assert_true(done.remote > 1);
    }
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
                                           .step_s = {at_0, step, 1},
                                           .worker_s = worker_s,
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
        cmocka_unit_test(test_one_worker),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_auto_saves_time),
        cmocka_unit_test(test_fleet_is_shared),
        cmocka_unit_test(test_policy_refuses),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_what_holds_it_up),
        cmocka_unit_test(test_table_of_both),
        cmocka_unit_test(test_no_worker_is_an_error),
        cmocka_unit_test(test_what_changes),
        cmocka_unit_test(test_a_time_is_marked),
        cmocka_unit_test(test_noise_of_windows),
        cmocka_unit_test(test_odd_windows),
        cmocka_unit_test(test_constants_of_a_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
