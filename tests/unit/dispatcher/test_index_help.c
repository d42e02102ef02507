/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that make parts of the index of a job that another one prepares: who is offered, what goes
 * on to whom, and what becomes of it when one of them is gone. */
#include <string.h>

#include "dispatcher/job/job.h"
#include "unit/dispatcher/made_up.h"
#include "unit/dispatcher/peers.h"

#define KIND(name) CACHEW__V1__WORKER_COMMAND__KIND_##name

static char op[] = "tfrecord", options[] = "{}", none[] = "";

static struct cw_stream *worker(uint64_t id)
{
    struct cw_stream *stream = peers_worker(id, 1);
    peers_worker_of(id)->index_parts = true;
    return stream;
}

/* A job that worker 1 prepares, since it is alone. */
static struct cw_job *begin_job(struct cw_stream **ret_first)
{
    Cachew__V1__JobOptions job = CACHEW__V1__JOB_OPTIONS__INIT;
    *ret_first = worker(1);
    peers_trainer(100, &job);
    peers_turn();
    assert_non_null(peers_to_worker(*ret_first, KIND(PREPARE)));
    return made_up.jobs;
}

/* What the dispatcher offers to the preparing worker; 0: nobody. */
static uint64_t offered(struct cw_stream *first)
{
    cw_job_index_offer(made_up.jobs);
    const Cachew__V1__WorkerCommand *command = peers_to_worker(first, KIND(INDEX_ASK));
    return command ? command->index_ask->number : 0;
}

static void say_lease(struct cw_stream *stream, const struct cw_job *job, uint64_t number)
{
    Cachew__V1__IndexLease lease = CACHEW__V1__INDEX_LEASE__INIT;
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    lease.job_id = job->id;
    lease.number = number;
    lease.op = op;
    lease.options = options;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_INDEX_LEASE;
    m.index_lease = &lease;
    peers_say(stream, &m.base);
}

static void say_made(struct cw_stream *stream, const struct cw_job *job, uint64_t number)
{
    Cachew__V1__IndexMade made = CACHEW__V1__INDEX_MADE__INIT;
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    made.job_id = job->id;
    made.number = number;
    made.error = none;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_INDEX_MADE;
    m.index_made = &made;
    peers_say(stream, &m.base);
}

static void goes_there_and_back(void **state)
{
    struct cw_stream *first, *second;
    struct cw_job *job = begin_job(&first);
    (void)state;
    assert_int_equal(offered(first), 0);
    second = worker(2);
    (void)peers_worker(3, 1); /* it knows nothing of indices */
    const uint64_t number = offered(first);
    assert_true(number > 0);
    assert_int_equal(job->index_helps_n, 1);
    say_lease(first, job, number);
    const Cachew__V1__WorkerCommand *command = peers_to_worker(second, KIND(INDEX_LEASE));
    assert_non_null(command);
    assert_string_equal(command->index_lease->op, op);
    assert_int_equal(command->index_lease->number, number);
    /* Only the one that has it can answer. */
    say_made(first, job, number);
    assert_null(peers_to_worker(first, KIND(INDEX_MADE)));
    say_made(second, job, number);
    command = peers_to_worker(first, KIND(INDEX_MADE));
    assert_non_null(command);
    assert_int_equal(command->index_made->code, 0);
    /* It is offered again, and its old number is of nobody. */
    assert_true(offered(first) > number);
    peers_forget(first);
    say_made(second, job, number);
    assert_null(peers_to_worker(first, KIND(INDEX_MADE)));
}

/* Under a number of nobody nothing is leased: it comes back. */
static void unknown_numbers_come_back(void **state)
{
    struct cw_stream *first, *second;
    struct cw_job *job = begin_job(&first);
    (void)state;
    second = worker(2);
    say_lease(first, job, offered(first) + 7);
    const Cachew__V1__WorkerCommand *command = peers_to_worker(first, KIND(INDEX_MADE));
    assert_non_null(command);
    assert_int_equal(command->index_made->code, CW_E_UNAVAILABLE);
    /* One that does not prepare it leases nothing. */
    say_lease(second, job, offered(first));
    assert_null(peers_to_worker(second, KIND(INDEX_LEASE)));
}

static void dead_ones_cost_their_own(void **state)
{
    struct cw_stream *first, *second;
    struct cw_job *job = begin_job(&first);
    (void)state;
    second = worker(2);
    const uint64_t number = offered(first);
    say_lease(first, job, number);
    peers_break(second, CW_E_UNAVAILABLE, "killed");
    const Cachew__V1__WorkerCommand *command = peers_to_worker(first, KIND(INDEX_MADE));
    assert_non_null(command);
    assert_int_equal(command->index_made->number, number);
    assert_int_equal(command->index_made->code, CW_E_UNAVAILABLE);
    assert_int_equal(job->index_helps_n, 0);
    /* The preparing one dies: what another one still makes is nobody's. */
    struct cw_stream *third = worker(3);
    peers_forget(first);
    say_lease(first, job, offered(first));
    peers_break(first, CW_E_UNAVAILABLE, "killed");
    assert_int_equal(job->index_helps_n, 0);
    assert_int_equal(peers_worker_of(3)->index_helps_n, 0);
    cw_job_prepare(job);
    assert_non_null(peers_to_worker(third, KIND(PREPARE)));
}

/* A job that ends tells those who make parts of it. */
static void they_forget_it(void **state)
{
    struct cw_stream *first, *second;
    struct cw_job *job = begin_job(&first);
    (void)state;
    second = worker(2);
    say_lease(first, job, offered(first));
    cw_job_send_forget(job, "it is over");
    assert_non_null(peers_to_worker(first, KIND(FORGET)));
    assert_non_null(peers_to_worker(second, KIND(FORGET)));
    assert_int_equal(job->index_helps_n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(goes_there_and_back, peers_begin, peers_end),
        cmocka_unit_test_setup_teardown(unknown_numbers_come_back, peers_begin, peers_end),
        cmocka_unit_test_setup_teardown(dead_ones_cost_their_own, peers_begin, peers_end),
        cmocka_unit_test_setup_teardown(they_forget_it, peers_begin, peers_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
