/* SPDX-License-Identifier: Apache-2.0 */
/* What workers say of their threads, added up: growth of totals, workers that begin again, and
 * leases that nobody needs. */
#include "dispatcher/model/model.h"
#include "unit/dispatcher/made_up.h"

static struct cw_job *begin_job(void)
{
    static uint8_t none[1];
    return made_up_job("j1", cachew__v1__job_options__unpack(NULL, 0, NULL),
                       cachew__v1__plan_info__unpack(NULL, 0, none));
}

static void report(struct cw_worker *worker, uint64_t source, uint64_t lease)
{
    static char job[] = "j1";
    Cachew__V1__ThreadUse use = CACHEW__V1__THREAD_USE__INIT, *list[] = {&use};
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    use.job_id = job;
    use.source = source;
    use.lease = lease;
    progress.threads = list;
    progress.n_threads = 1;
    cw_thread_use_take(worker, &progress);
}

static void totals_grow(void **state)
{
    (void)state;
    struct cw_job *job = begin_job();
    struct cw_worker *one = made_up_worker(1, 2), *two = made_up_worker(2, 2),
                     *old = made_up_worker(3, 2);
    report(one, 100, 0);
    report(one, 150, 0);
    report(two, 30, 0);
    assert_true(job->threads.total.source == 180);
    report(one, 20, 0); /* it began again */
    assert_true(job->threads.total.source == 200);
    old->counted_before = true;
    report(old, 5000, 0); /* an earlier dispatcher has counted it */
    report(old, 5001, 0);
    assert_true(job->threads.total.source == 201);
}

/* A thread without a lease waits for the trainer, unless a trainer waits for a batch. */
static void leases_that_nobody_needs(void **state)
{
    (void)state;
    struct cw_job *job = begin_job();
    struct cw_worker *one = made_up_worker(1, 2);
    struct cw_client client = {.job = NULL};
    report(one, 0, 10); /* no trainer is there */
    assert_true(job->threads.total.trainer == 10 && job->threads.total.lease == 0);
    job->consumers[0].client = &client;
    report(one, 0, 30);
    assert_true(job->threads.total.trainer == 10 && job->threads.total.lease == 20);
    job->consumers[0].ready = 1;
    report(one, 0, 31);
    assert_true(job->threads.total.trainer == 11 && job->threads.total.lease == 20);
    job->consumers[0].client = NULL;
}

static void shares(void **state)
{
    (void)state;
    const struct cw_thread_use before = {.computing = 1000, .source = 500},
                               now = {.computing = 1010, .source = 520, .trainer = 10};
    struct cw_thread_use share = cw_thread_use_shares(&now, &before);
    assert_true(share.computing == 0.25 && share.source == 0.5 && share.trainer == 0.25);
    assert_true(share.cpu == 0 && share.lease == 0);
    share = cw_thread_use_shares(&now, &now);
    assert_true(share.computing == 0 && share.source == 0);
}

static void report_time(struct cw_worker *worker, uint64_t busy, uint64_t active)
{
    static char job[] = "j1";
    Cachew__V1__ThreadUse use = CACHEW__V1__THREAD_USE__INIT, *list[] = {&use};
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    use.job_id = job;
    use.busy = busy;
    use.active = active;
    progress.threads = list;
    progress.n_threads = 1;
    cw_thread_use_take(worker, &progress);
}

/* Of all workers together; one of an earlier version says nothing, and one that begins again counts. */
static void threads_inside(void **state)
{
    (void)state;
    struct cw_job *job = begin_job();
    struct cw_worker *one = made_up_worker(1, 4), *two = made_up_worker(2, 4),
                     *older = made_up_worker(3, 4);
    report_time(older, 0, 0);
    assert_true(cw_thread_use_inside(&job->threads) == 0);
    report_time(one, 300, 100);
    assert_true(cw_thread_use_inside(&job->threads) == 3);
    report_time(two, 100, 100);
    assert_true(cw_thread_use_inside(&job->threads) == 2);
    report_time(two, 50, 50); /* it began again */
    assert_true(cw_thread_use_inside(&job->threads) == 1.8);
    report_time(one, 300, 1000);
    assert_true(cw_thread_use_inside(&job->threads) == 1); /* no less than one */
}

/* A demand window, which policies are shown, has the shares of its own time. */
static void in_a_window(void **state)
{
    (void)state;
    struct cw_job *job = begin_job();
    struct cw_worker *one = made_up_worker(1, 2);
    struct cw_demand_sums sums;
    report(one, 1000, 0);
    cw_demand_begin(job, &sums);
    assert_true(cw_demand_window(job, &sums, 0, 1).threads.source == 0);
    report(one, 1030, 10);
    const struct cw_scale_window w = cw_demand_window(job, &sums, 0, 1);
    assert_true(w.threads.source == 0.75 && w.threads.trainer == 0.25);
}

/* The use of CPUs that workers report is that which the policy hpa decides by. */
static void cpu_in_a_window(void **state)
{
    (void)state;
    static const struct cw_scale_available available = {.remote = 8};
    static const struct cw_scale_options options = {0};
    struct cw_job *job = begin_job();
    struct cw_demand_sums sums;
    const struct cw_scale_policy *policy;
    const char *argument;
    struct cw_scale_state s = {0};
    struct cw_policy_decision decision = {0};
    made_up_worker(1, 1)->cpu_share = 1;
    made_up_worker(2, 1)->cpu_share = 0.75;
    cw_demand_begin(job, &sums);
    const struct cw_scale_window w = cw_demand_window(job, &sums, 0, 2);
    assert_true(w.cpu == 0.875 && w.remote == 2);
    assert_int_equal(cw_autoscale_find("hpa:cpu=0.5", &policy, &argument, NULL), 0);
    assert_int_equal(policy->decide(&w, &available, &options, argument, &s, &decision, NULL), 0);
    assert_true(decision.remote == 4);
    cw_policy_decision_fini(&decision);
}

/* A worker that serves the job and was never leased anything of it has waited all the time. */
static void workers_that_have_nothing(void **state)
{
    (void)state;
    struct cw_job *job = begin_job();
    struct cw_worker *one = made_up_worker(1, 1);
    struct cw_client client = {.job = job};
    struct cw_demand_sums sums;
    job->consumers[0].client = &client;
    job->clients = &client;
    (void)made_up_worker(2, 2);
    cw_demand_begin(job, &sums);
    assert_true(cw_demand_window(job, &sums, 0, 2).threads.lease == 0); /* nothing is reported */
    report(one, 2000000, 0);
    struct cw_scale_window w = cw_demand_window(job, &sums, 0, 2);
    assert_true(w.threads.source == 0.333 && w.threads.lease == 0.667);
    job->consumers[0].ready = 1;
    w = cw_demand_window(job, &sums, 0, 2);
    assert_true(w.threads.trainer == 0.667 && w.threads.lease == 0);
    job->consumers[0].client = NULL;
    job->clients = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(totals_grow, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(leases_that_nobody_needs, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(threads_inside, made_up_begin, made_up_end),
        cmocka_unit_test(shares),
        cmocka_unit_test_setup_teardown(in_a_window, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(cpu_in_a_window, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(workers_that_have_nothing, made_up_begin, made_up_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
