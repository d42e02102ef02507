/* SPDX-License-Identifier: Apache-2.0 */
/* Workers forget a job that is over: when it has ended and nobody uses it, and when they come back
 * after that. */
#include "base/version.h"
#include "dispatcher/job/job.h"
#include "dispatcher/session/session.h"
#include "unit/dispatcher/peers.h"

static const Cachew__V1__Forget *told_to_forget(const struct cw_stream *worker)
{
    const Cachew__V1__WorkerCommand *told =
        peers_to_worker(worker, CACHEW__V1__WORKER_COMMAND__KIND_FORGET);
    return told ? told->forget : NULL;
}

/* A worker that has a job, and holds nothing of it, comes back. */
static struct cw_stream *worker_with(char *job_id)
{
    Cachew__V1__HeldLease held = CACHEW__V1__HELD_LEASE__INIT, *list[] = {&held};
    Cachew__V1__WorkerHello hello = CACHEW__V1__WORKER_HELLO__INIT;
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    char address[] = "worker1:1";
    held.job_id = job_id;
    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_HELLO;
    message.hello = &hello;
    hello.protocol = CW_PROTOCOL;
    hello.worker_id = 1;
    hello.address = address;
    hello.threads = 2;
    hello.n_held = 1, hello.held = list;
    struct cw_stream *stream = peers_attach("Fleet/Attach");
    peers_say(stream, &message.base);
    return stream;
}

static struct cw_job *finished(struct cw_stream **ret_trainer)
{
    struct cw_job *job = peers_running("a", ret_trainer);
    peers_ack(*ret_trainer, 0, 10, 10);
    peers_ack(*ret_trainer, 1, 10, 10);
    assert_int_equal(job->status, CW_JOB_FINISHED);
    return job;
}

static void workers_forget_what_is_finished(void **state)
{
    (void)state;
    struct cw_stream *trainer;
    struct cw_job *job = finished(&trainer);
    cw_job_tick(job, cw_clock_ms() + 1000000); /* its trainer is there */
    assert_null(told_to_forget(peers_worker_of(1)->stream));
    peers_break(trainer, 0, "");
    cw_job_tick(job, job->no_client_ms + 9999);
    assert_null(told_to_forget(peers_worker_of(1)->stream));
    cw_job_tick(job, job->no_client_ms + 10000);
    const Cachew__V1__Forget *forget = told_to_forget(peers_worker_of(1)->stream);
    assert_non_null(forget);
    assert_string_equal(forget->job_id, job->id);
    assert_string_equal(forget->reason, "it is finished");
    peers_forget(peers_worker_of(1)->stream);
    cw_job_tick(job, job->no_client_ms + 20000);
    assert_null(told_to_forget(peers_worker_of(1)->stream)); /* once */
    /* a token sets it back: the worker is sent the job anew */
    const struct cw_token token = {.epoch = 1, .item = 6, .consumers = 1};
    cw_job_resume_at(job, 0, &token);
    cw_job_leases_due(job);
    peers_turn();
    assert_non_null(
        peers_to_worker(peers_worker_of(1)->stream, CACHEW__V1__WORKER_COMMAND__KIND_JOB));
    assert_false(job->forgotten);
}

/* A worker was away when the job ended; or the dispatcher is another one. */
static void who_comes_back_forgets_too(void **state)
{
    (void)state;
    struct cw_stream *trainer;
    struct cw_job *job = finished(&trainer);
    cw_autofree char *id = cw_mem_strdup(job->id);
    peers_break(trainer, 0, "");
    peers_break(peers_worker_of(1)->stream, CW_E_UNAVAILABLE, "gone");
    struct cw_stream *worker = worker_with(id);
    assert_null(told_to_forget(worker)); /* its trainer may still come back */
    cw_job_tick(job, job->no_client_ms + 10000);
    assert_non_null(told_to_forget(worker));
    peers_break(worker, CW_E_UNAVAILABLE, "gone");
    worker = worker_with(id);
    assert_non_null(told_to_forget(worker));
    assert_string_equal(told_to_forget(worker)->reason, "it is over");
    peers_turn();
    peers_restart();
    worker = worker_with(id);
    assert_null(told_to_forget(worker));
    cw_job_tick(made_up.jobs, made_up.jobs->no_client_ms + 20000);
    assert_non_null(told_to_forget(worker));
}

/* A worker that came back with the job was leased nothing since. */
static void who_came_back_is_told_of_the_end(void **state)
{
    (void)state;
    struct cw_stream *trainer;
    struct cw_job *job = peers_running("a", &trainer);
    cw_autofree char *id = cw_mem_strdup(job->id);
    peers_break(trainer, 0, "");
    peers_break(peers_worker_of(1)->stream, CW_E_UNAVAILABLE, "gone");
    struct cw_stream *worker = worker_with(id);
    assert_null(told_to_forget(worker));
    cw_clients_end_job(job, "by request");
    assert_non_null(told_to_forget(worker));
    peers_break(worker, CW_E_UNAVAILABLE, "gone");
    worker = worker_with(id);
    assert_non_null(told_to_forget(worker));
    assert_string_equal(told_to_forget(worker)->reason, "the job was removed");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, peers_begin, peers_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(workers_forget_what_is_finished),
        TEST(who_comes_back_forgets_too),
        TEST(who_came_back_is_told_of_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
