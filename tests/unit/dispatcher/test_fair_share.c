/* SPDX-License-Identifier: Apache-2.0 */
/* Fair shares of real jobs: who has which workers, and what part of each. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "dispatcher/job/job.h"
#include "dispatcher/scaling/scaling.h"
#include "unit/dispatcher/made_up.h"

struct wish {
    const char *tenant;
    double target; /* of its policy; 0 = it has none */
    uint32_t most, least;
    int priority;
    double weight;
};

static struct cw_job *add_job(struct wish wish)
{
    static unsigned made;
    char id[20];
    snprintf(id, sizeof(id), "j%u", made++);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    info->items = 1000;
    info->item_bytes = -1;
    options->tenant = cw_mem_strdup(wish.tenant ? wish.tenant : "");
    options->autoscale = cw_mem_strdup(wish.target > 0 ? "fixed:1" : "off");
    options->max_workers = wish.most;
    options->min_workers = wish.least;
    options->priority = wish.priority;
    options->weight = wish.weight;
    struct cw_job *job = made_up_job(id, options, info);
    if (wish.target > 0)
        job->scaling->target = wish.target;
    return job;
}

static void add_workers(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        made_up_worker(made_up.workers_n + 1, 2);
}

/* What turns do one after the other. */
static void settle(void)
{
    made_up.due.assignment = true;
    for (int i = 0; i < 30; i++)
        (void)cw_scaling_assign(&made_up, 1000 + i);
}

static double time_of(const struct cw_job *job)
{
    double sum = 0;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job)
        sum += cw_share_is_used(share) ? share->slice : 0;
    return sum;
}

static unsigned workers_of(const struct cw_job *job)
{
    unsigned n = 0;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job)
        n += cw_share_is_used(share);
    return n;
}

/* Granted, used workers (0: as many as it takes), and time on them within a twentieth. */
static void check(const struct cw_job *job, double granted, unsigned workers)
{
    if (fabs(job->granted - granted) > 1e-6 || (workers > 0 && workers_of(job) != workers) ||
        fabs(time_of(job) - granted) > granted / 20)
        fail_msg("%s: granted %g, %u workers, time %g; expected %g on %u", job->id, job->granted,
                 workers_of(job), time_of(job), granted, workers);
}

static void test_off_shares_time(void **state)
{
    (void)state;
    made_up.options.tenants = (struct cw_arg_list){.v = {"a:weight=2"}, .n = 1};
    add_workers(3);
    struct cw_job *a = add_job((struct wish){.tenant = "a"});
    settle();
    check(a, 3, 3); /* alone: all */
    struct cw_job *b = add_job((struct wish){.tenant = "b"});
    settle();
    check(a, 2, 3);
    check(b, 1, 3);
    for (const struct cw_share *share = b->shares; share; share = share->next_of_job)
        assert_float_equal(share->slice, 1. / 3, 0.02);
    b->no_client_ms = 1; /* its trainer has gone */
    settle();
    check(a, 3, 3);
    assert_true(b->granted == 0 && workers_of(b) == 0);
}

static void test_policies_share_workers(void **state)
{
    (void)state;
    made_up.options.tenants = (struct cw_arg_list){.v = {"a:weight=2"}, .n = 1};
    add_workers(3);
    struct cw_job *a = add_job((struct wish){.tenant = "a", .target = 3}),
                  *b = add_job((struct wish){.tenant = "b", .target = 3});
    settle();
    check(a, 2, 2);
    check(b, 1, 1);
    add_workers(3);
    settle();
    check(a, 3, 3);
    check(b, 3, 3);
    for (const struct cw_worker *w = made_up.workers; w; w = w->next) /* each has its own */
        assert_true(time_of(a) == 3 && time_of(b) == 3);
}

static void test_priority_and_limits(void **state)
{
    (void)state;
    add_workers(6);
    struct cw_job *high = add_job((struct wish){.target = 6, .priority = 5}),
                  *low = add_job((struct wish){.target = 6, .least = 2}),
                  *limited = add_job((struct wish){.most = 1});
    settle();
    check(high, 3, 3);
    check(low, 2, 2); /* what it has a right to */
    check(limited, 1, 1);
    high->no_client_ms = 1;
    settle();
    check(low, 5, 5);
    check(limited, 1, 1);
}

static void test_weights_within_a_tenant(void **state)
{
    (void)state;
    add_workers(4);
    struct cw_job *a = add_job((struct wish){.weight = 3}),
                  *b = add_job((struct wish){.weight = 1});
    settle();
    check(a, 3, 4);
    check(b, 1, 4);
}

/* Not more workers than the tenant may have, however many jobs it has; and they share them. */
static void test_most_of_a_tenant(void **state)
{
    (void)state;
    made_up.options.tenants = (struct cw_arg_list){.v = {"a:max-workers=2"}, .n = 1};
    add_workers(5);
    struct cw_job *jobs[4], *other = add_job((struct wish){.tenant = "b"});
    for (int i = 0; i < 4; i++)
        jobs[i] = add_job((struct wish){.tenant = "a", .target = i < 2 ? 3 : 0});
    settle();
    unsigned used = 0;
    for (const struct cw_worker *w = made_up.workers; w; w = w->next) {
        bool has = false;
        for (const struct cw_share *share = w->shares; share; share = share->next_of_worker)
            has = has || (share->job != other && cw_share_is_used(share));
        used += has;
    }
    assert_int_equal(used, 2);
    for (int i = 0; i < 4; i++) {
        assert_float_equal(jobs[i]->granted, 0.5, 1e-6);
        assert_float_equal(time_of(jobs[i]), 0.5, 0.05);
    }
    check(other, 3, 5);
}

static void test_more_jobs_than_workers(void **state)
{
    (void)state;
    add_workers(1);
    struct cw_job *jobs[5];
    for (int i = 0; i < 5; i++)
        jobs[i] = add_job((struct wish){.target = i % 2 ? 4 : 0});
    settle();
    for (int i = 0; i < 5; i++)
        check(jobs[i], 0.2, 1);
}

/* Four workers for three jobs that want all: a whole one and a third each, and nobody is idle. */
static void test_fractions(void **state)
{
    (void)state;
    add_workers(4);
    struct cw_job *jobs[3];
    for (int i = 0; i < 3; i++)
        jobs[i] = add_job((struct wish){.target = 4});
    settle();
    for (int i = 0; i < 3; i++)
        check(jobs[i], 4. / 3, 0);
    /* With and without a policy. */
    jobs[2]->no_client_ms = jobs[1]->no_client_ms = 1;
    jobs[0]->scaling->target = 2;
    struct cw_job *off = add_job((struct wish){.target = 0});
    settle();
    check(jobs[0], 2, 2);
    check(off, 2, 4);
}

/* How many workers an assignment looks at for jobs: each one is asked for its files. */
static size_t looked_at_n;
bool __real_cw_other_files_is_barred(const struct cw_job *job, const struct cw_worker *worker);
bool __wrap_cw_other_files_is_barred(const struct cw_job *job, const struct cw_worker *worker);
bool __wrap_cw_other_files_is_barred(const struct cw_job *job, const struct cw_worker *worker)
{
    looked_at_n++;
    return __real_cw_other_files_is_barred(job, worker);
}

/* Jobs that come at once to a large fleet do not look at all of it, each. They get the first workers
 * that are free, as if they did. */
static void test_many_jobs_at_once(void **state)
{
    (void)state;
    enum { WORKERS = 2000, JOBS = 100, EACH = 10 };
    struct cw_job *jobs[JOBS];
    add_workers(WORKERS);
    for (int i = 0; i < JOBS; i++)
        jobs[i] = add_job((struct wish){.target = EACH});
    made_up.due.assignment = true;
    looked_at_n = 0;
    (void)cw_scaling_assign(&made_up, 1000);
    assert_in_range(looked_at_n, JOBS * EACH, 2 * JOBS * EACH);
    const struct cw_worker *w = made_up.workers;
    for (int i = 0; i < JOBS; i++)
        for (int k = 0; k < EACH; k++, w = w->next) {
            const struct cw_share *share = cw_share_find(jobs[i], w);
            assert_true(share && share->assigned);
        }
    looked_at_n = 0;
    (void)cw_scaling_assign(&made_up, 1001);
    assert_int_equal(looked_at_n, 0);
}

/* Two on one worker, and one on another which ends: they do not stay together. */
static void test_moves_to_what_is_free(void **state)
{
    (void)state;
    add_workers(2);
    struct cw_job *jobs[3];
    for (int i = 0; i < 3; i++)
        jobs[i] = add_job((struct wish){.target = 1});
    settle();
    for (int i = 0; i < 3; i++) {
        jobs[i]->no_client_ms = 1;
        settle();
        for (int k = 0; k < 3; k++)
            if (k != i)
                check(jobs[k], 1, 1);
        jobs[i]->no_client_ms = 0;
        settle();
    }
}

static void check_all(void)
{
    double granted = 0;
    for (const struct cw_job *job = made_up.jobs; job; job = job->next) {
        granted += job->granted;
        bool wants = cw_job_wants_workers(job) && made_up.workers_n > 0;
        if (wants != (job->granted > 0) || wants != (workers_of(job) > 0) ||
            (wants && time_of(job) <= 0))
            fail_msg("%s: granted %g, %u workers, time %g", job->id, job->granted, workers_of(job),
                     time_of(job));
        if (workers_of(job) > cw_job_max_workers(job) ||
            job->granted > (double)cw_job_max_workers(job) + 1e-6)
            fail_msg("%s: more than it may have", job->id);
    }
    if (granted > (double)made_up.workers_n + 1e-6)
        fail_msg("%g granted of %zu", granted, made_up.workers_n);
    for (const struct cw_worker *w = made_up.workers; w; w = w->next) {
        double sum = 0;
        for (const struct cw_share *share = w->shares; share; share = share->next_of_worker)
            sum += cw_share_is_used(share) ? share->slice : 0;
        if (sum != 0 && fabs(sum - 1) > 1e-6)
            fail_msg("a worker's parts are %g together", sum);
    }
}

/* Whatever comes and goes: nobody is without, nobody has more than he may, and nothing changes
 * when nothing has changed. */
static void test_come_and_go(void **state)
{
    (void)state;
    static const char *const tenants[] = {"", "a", "b", "c"};
    made_up.options.tenants = (struct cw_arg_list){
        .v = {"a:weight=3,max-workers=4", "b:weight=0.2", "*:max-workers=30"}, .n = 3};
    uint64_t dice = 7;
    for (int round = 0; round < 300; round++) {
        dice = cw_mix64(dice + 0x9e3779b97f4a7c15u);
        uint64_t roll = dice >> 8;
        if (roll % 5 == 0 && made_up.workers_n < 12) {
            add_workers(1 + roll / 5 % 3);
        } else if (roll % 5 == 1 && made_up.jobs_n < 20) {
            (void)add_job(
                (struct wish){.tenant = tenants[roll / 5 % 4],
                              .target = (double)(roll / 20 % 6),
                              .most = roll / 120 % 3 == 0 ? (uint32_t)(1 + roll / 360 % 4) : 0,
                              .least = (uint32_t)(roll / 1440 % 3),
                              .priority = (int)(roll / 5000 % 3),
                              .weight = (double)(roll / 20000 % 3)});
        } else {
            struct cw_job *job = made_up.jobs;
            for (uint64_t n = made_up.jobs_n > 0 ? roll / 5 % made_up.jobs_n : 0; n > 0; n--)
                job = job->next;
            if (job && roll % 5 == 2)
                cw_job_free(job);
            else if (job)
                job->no_client_ms = job->no_client_ms ? 0 : 1;
        }
        settle();
        check_all();
        cw_autofree double *before = CW_NEW_ARRAY(double, made_up.jobs_n + 1);
        size_t n = 0;
        for (const struct cw_job *job = made_up.jobs; job; job = job->next)
            before[n++] = time_of(job) + workers_of(job);
        settle();
        n = 0;
        for (const struct cw_job *job = made_up.jobs; job; job = job->next, n++)
            if (before[n] != time_of(job) + workers_of(job))
                fail_msg("round %d: %s has changed from %g to %g for nothing", round, job->id,
                         before[n], time_of(job) + workers_of(job));
    }
}

/* Clients learn of workers that their job uses or that have something of it, never of those
 * beside another trainer. */
static void test_workers_that_clients_learn_of(void **state)
{
    (void)state;
    struct cw_job *scaled = add_job((struct wish){.target = 1}), *off = add_job((struct wish){0});
    add_workers(3);
    struct cw_worker *local = made_up_worker(9, 1);
    cw_mem_free(local->only_job);
    local->only_job = cw_mem_strdup(off->id);
    settle();
    unsigned told = 0;
    const struct cw_worker *other = NULL;
    for (const struct cw_worker *w = made_up.workers; w; w = w->next) {
        told += cw_job_fetches_from(scaled, w);
        other = w != local && !cw_job_fetches_from(scaled, w) ? w : other;
        assert_true(cw_job_fetches_from(off, w));
    }
    assert_int_equal(told, 1);
    assert_false(cw_job_fetches_from(scaled, local));
    struct cw_share *share = cw_share_get(scaled, (struct cw_worker *)(uintptr_t)other);
    struct cw_lease lease = {0};
    share->leases = &lease; /* it was the job's, and has not handed over everything */
    assert_true(cw_job_fetches_from(scaled, other));
    share->leases = NULL;
    assert_false(cw_job_fetches_from(scaled, other));
}

/* A policy is shown how many of the workers that it wants it gets, when there are no more. */
static void test_what_others_leave(void **state)
{
    (void)state;
    static const struct cw_provisioner none = {.name = "none", .fixed = true};
    const struct cw_scale_window window = {0};
    struct cw_scale_inputs inputs;
    made_up.provision.kind = &none;
    struct cw_job *a = add_job((struct wish){.target = 4}),
                  *b = add_job((struct wish){.target = 1});
    add_workers(5);
    settle();
    cw_scaling_inputs(a, &window, &inputs);
    assert_true(inputs.available.remote == 5 && inputs.available.granted == 0);
    b->scaling->target = 4;
    settle();
    cw_scaling_inputs(a, &window, &inputs);
    /* two and a half: two, and a part of one */
    assert_true(inputs.available.remote == 5 && inputs.available.granted == 3);
    made_up.provision.kind = NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, made_up_begin, made_up_end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_off_shares_time),
        TEST(test_policies_share_workers),
        TEST(test_priority_and_limits),
        TEST(test_weights_within_a_tenant),
        TEST(test_most_of_a_tenant),
        TEST(test_more_jobs_than_workers),
        TEST(test_fractions),
        TEST(test_many_jobs_at_once),
        TEST(test_moves_to_what_is_free),
        TEST(test_come_and_go),
        TEST(test_workers_that_clients_learn_of),
        TEST(test_what_others_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
