/* SPDX-License-Identifier: Apache-2.0 */
/* Who is sent a list of workers, and how many pairs of a job and a worker are looked at for it. */
#include <stdio.h>
#include "base/version.h"
#include "dispatcher/lease/lease.h"
#include "dispatcher/scaling/scaling.h"
#include "unit/dispatcher/peers.h"

#define WORKERS 30
#define JOBS 8 /* without a policy: each uses all workers */
#define LISTS CACHEW__V1__CLIENT_COMMAND__KIND_WORKERS

static size_t pairs_n;

bool __real_cw_job_fetches_from(const struct cw_job *job, const struct cw_worker *worker);
bool __wrap_cw_job_fetches_from(const struct cw_job *job, const struct cw_worker *worker);

bool __wrap_cw_job_fetches_from(const struct cw_job *job, const struct cw_worker *worker)
{
    pairs_n++;
    return __real_cw_job_fetches_from(job, worker);
}

static struct cw_stream *trainers[JOBS + 1];
static struct cw_job *scaled;

/* The trainer of a new job, which worker 1 prepares. */
static struct cw_stream *begin_job(size_t i, char *autoscale)
{
    char name[16];
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    (void)snprintf(name, sizeof(name), "job%zu", i);
    options.name = name;
    options.autoscale = autoscale;
    options.graph = peers_graph(100000);
    struct cw_stream *trainer = peers_trainer(100 + i, &options);
    peers_prepared(peers_worker_of(1)->stream, 100000);
    peers_turn();
    cachew__v1__graph__free_unpacked(options.graph, NULL);
    return trainer;
}

/* Policies decide, and what they have decided is done. */
static void settle(void)
{
    cw_scaling_tick(&made_up, cw_clock_ms());
    peers_turn();
}

/* Notes what comes from now on. */
static void forget(void)
{
    for (size_t i = 0; i <= JOBS; i++)
        peers_forget(trainers[i]);
    pairs_n = 0;
}

/* Returns how many workers the trainer was told of; -1: it was sent no list. */
static int told_n(size_t i)
{
    const Cachew__V1__ClientCommand *command = peers_to_client(trainers[i], LISTS);
    return command ? (int)command->workers->n_workers : -1;
}

static int begin(void **state)
{
    static char off[] = "off", two[] = "fixed:2";
    int rc = peers_begin(state);
    (void)peers_worker(1, 1);
    for (size_t i = 0; i < JOBS; i++)
        trainers[i] = begin_job(i, off);
    trainers[JOBS] = begin_job(JOBS, two);
    for (uint64_t id = 2; id <= WORKERS; id++)
        (void)peers_worker(id, 1);
    settle();
    scaled = cw_job_find(&made_up, "job8");
    assert_non_null(scaled);
    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(told_n(i), WORKERS);
    assert_int_equal(told_n(JOBS), 2);
    forget();
    return rc;
}

/* One job gets workers, or loses some: the others are not looked at. */
static void a_change_of_one_job_is_no_work_for_others(void **state)
{
    (void)state;
    struct cw_err err = {0};
    assert_int_equal(cw_scaling_change(scaled, "fixed:3", false, &err), 0);
    settle();
    assert_int_equal(told_n(JOBS), 3);
    assert_in_range(pairs_n, 1, WORKERS);
    assert_int_equal(cw_scaling_change(scaled, "fixed:1", false, &err), 0);
    settle();
    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(told_n(i), -1);
    assert_in_range(pairs_n, 1, 2 * WORKERS);
}

/* A worker comes, and one goes: what is the same for all that use all workers is made once. */
static void a_change_of_the_fleet_is_listed_once(void **state)
{
    (void)state;
    struct cw_stream *last = peers_worker(WORKERS + 1, 1);
    settle();
    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(told_n(i), WORKERS + 1);
    assert_int_equal(told_n(JOBS), -1); /* It goes on with its two. */
    assert_in_range(pairs_n, 0, WORKERS);
    forget();
    peers_break(last, 0, "");
    settle();
    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(told_n(i), WORKERS);
    assert_in_range(pairs_n, 0, WORKERS);
}

/* A job that uses all workers has one of its own besides. */
static void who_has_an_own_worker_is_told_of_it(void **state)
{
    (void)state;
    static char version[] = "1", address[] = "local:1";
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    Cachew__V1__WorkerHello hello = CACHEW__V1__WORKER_HELLO__INIT;
    hello.protocol = CW_PROTOCOL;
    hello.version = version;
    hello.worker_id = 77;
    hello.address = address;
    hello.threads = 1;
    hello.only_job = cw_job_find(&made_up, "job3")->id;
    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_HELLO;
    message.hello = &hello;
    struct cw_stream *own = peers_attach("Fleet/Attach");
    peers_say(own, &message.base);
    settle();
    assert_int_equal(told_n(3), WORKERS + 1);
    assert_int_equal(told_n(2), -1); /* Its list is as before. */
    forget();
    peers_break(own, 0, "");
    settle();
    assert_int_equal(told_n(3), WORKERS);
    assert_int_equal(told_n(2), -1);
}

/* A job that had a policy uses all workers without it, and the other way round. */
static void a_job_gets_and_loses_its_policy(void **state)
{
    (void)state;
    struct cw_err err = {0};
    assert_int_equal(cw_scaling_change(scaled, "off", false, &err), 0);
    settle();
    assert_int_equal(told_n(JOBS), WORKERS);
    forget();
    assert_int_equal(cw_scaling_change(scaled, "fixed:3", false, &err), 0);
    settle();
    /* All hold something of it still, so its list is the same, and is its own from now on. */
    assert_int_equal(told_n(JOBS), -1);
    assert_false(scaled->lists_all);
    for (uint64_t id = 10; id <= WORKERS; id++)
        cw_lease_free_all(cw_share_find(scaled, peers_worker_of(id)), true);
    peers_turn();
    assert_in_range(told_n(JOBS), 3, WORKERS - 1);
}

/* After an iteration nothing is due that was done, whatever the job waits for. */
static void nothing_is_due_afterwards(void **state)
{
    (void)state;
    peers_turn();
    assert_null(made_up.due_jobs);
    assert_false(made_up.due.worker_lists || made_up.due.job_lists || made_up.due.clients);
    assert_false(made_up.due.stored_rows || made_up.due.stored_leases || made_up.due.held_jobs ||
                 made_up.due.stored_plans);
    peers_ack(trainers[4], 0, 1, 1);
    assert_ptr_equal(made_up.due_jobs, cw_job_find(&made_up, "job4"));
    assert_null(made_up.due_jobs->next_due);
    peers_turn();
    assert_null(made_up.due_jobs);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, peers_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_change_of_one_job_is_no_work_for_others),
        TEST(a_change_of_the_fleet_is_listed_once),
        TEST(who_has_an_own_worker_is_told_of_it),
        TEST(a_job_gets_and_loses_its_policy),
        TEST(nothing_is_due_afterwards),
    };
    return cmocka_run_group_tests_name("dispatcher_worker_lists", tests, NULL, NULL);
}
