/* SPDX-License-Identifier: Apache-2.0 */
/* What threads did for a job, and what a job waits for while they are idle. */
#include "base/mem.h"
#include "support/cm.h"
#include "unit/worker/bare_worker.h"
#include "worker/compute/thread_use_count.h"

#define NEAR(a, b) assert_true((a) - (b) < 1e-6 && (b) - (a) < 1e-6)

static double sum(const struct cw_thread_use *use)
{
    double all = 0;
#define ADD(field, words) all += use->field;
    CW_THREAD_USES(ADD)
#undef ADD
    return all;
}

/* 100 ns busy, 20 of them on a CPU: the other 80 are divided by what operators were seen to wait
 * for. */
static void within_items(void **state)
{
    (void)state;
    struct cw_thread_use use = {0};
    struct cw_exec_plan_time spent = {
        .busy_ns = 100, .cpu_ns = 20, .source_ns = 30, .inside_ns = 10};
    cw_wthread_use_divide(&spent, 0, &use);
    NEAR(use.computing, 20);
    NEAR(use.source, 60);
    NEAR(use.inside, 20);
    NEAR(sum(&use), 100);
    /* A quarter of it without a CPU: the rest in the same parts. */
    use = (struct cw_thread_use){0};
    cw_wthread_use_divide(&spent, 40, &use);
    NEAR(use.cpu, 40);
    NEAR(use.source, 30);
    NEAR(sum(&use), 100);
    /* More than there can be. */
    use = (struct cw_thread_use){0};
    cw_wthread_use_divide(&spent, 1000, &use);
    NEAR(use.cpu, 80);
    NEAR(sum(&use), 100);
    /* Nothing is known of where it waited. */
    use = (struct cw_thread_use){0};
    spent.source_ns = spent.inside_ns = 0;
    cw_wthread_use_divide(&spent, 0, &use);
    NEAR(use.inside, 80);
    /* Records came from the cache: what was waited outside of operators was the store. */
    use = (struct cw_thread_use){0};
    spent.source_ns = 10;
    spent.hits = 1;
    cw_wthread_use_divide(&spent, 0, &use);
    NEAR(use.store, 70);
    NEAR(use.source, 10);
}

/* A lease for a job without a plan. */
static void lease(struct cw_wjob *job)
{
    job->state = CW_WJOB_OPENING;
    bare_lease(job, 1, 0, 0, 10);
    job->state = CW_WJOB_READY;
}

static enum cw_widle idle_of(struct cw_worker_state *w, const struct cw_wjob *job)
{
    cw_wthread_use_look(w);
    return job->threads.idle;
}

static void while_idle(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 1);
    assert_int_equal(idle_of(w, job), CW_WIDLE_NOTHING); /* its plan is being opened */
    job->state = CW_WJOB_READY;
    assert_int_equal(idle_of(w, job), CW_WIDLE_LEASE);
    lease(job);
    job->cache.waits_ms = 1;
    assert_int_equal(idle_of(w, job), CW_WIDLE_STORE);
    job->cache.waits_ms = 0;
    assert_int_equal(idle_of(w, job), CW_WIDLE_TRAINER); /* the budget is full, say */
    job->tasks_n = 2;
    assert_int_equal(idle_of(w, job), CW_WIDLE_NOTHING); /* of one thread */
    job->tasks_n = 0;
    cw_wlease_clear(job);
    (void)bare_output(job, 0, 1, 1000, false);
    assert_int_equal(idle_of(w, job), CW_WIDLE_TRAINER);
    bare_free(w);
}

static size_t queued_bytes;

size_t __wrap_cw_stream_queued(const struct cw_stream *stream);
size_t __wrap_cw_stream_queued(const struct cw_stream *stream)
{
    (void)stream;
    return queued_bytes;
}

/* Outputs wait for the network if their client has room for them and its stream takes no more, and
 * for the trainer if the client has none, or is not there. */
static void outputs_wait(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 2);
    struct cw_wclient client = {.credit = 100};
    client.stream = (struct cw_stream *)&client; /* it is only handed on */
    job->state = CW_WJOB_READY;
    job->clients[0] = &client;
    (void)bare_output(job, 0, 1, 1000, false);
    assert_int_equal(idle_of(w, job), CW_WIDLE_TRAINER); /* about to be sent */
    queued_bytes = CW_WCLIENT_STREAM_LOW;
    assert_int_equal(idle_of(w, job), CW_WIDLE_NETWORK);
    client.credit = 0;
    assert_int_equal(idle_of(w, job), CW_WIDLE_TRAINER);
    client.credit = 100;
    job->clients[0] = NULL;
    assert_int_equal(idle_of(w, job), CW_WIDLE_TRAINER);
    bare_free(w);
}

/* Idle time goes to what the job waited for while it passed, and is not counted twice. */
static void idle_time(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 1);
    job->state = CW_WJOB_READY;
    cw_wthread_use_count(w);
    NEAR(job->threads.total.trainer, 0);
    while (job->threads.total.lease == 0)
        cw_wthread_use_count(w);
    double waited = job->threads.total.lease;
    lease(job);
    cw_wthread_use_look(w); /* up to here it waited for a lease */
    assert_true(job->threads.total.lease >= waited);
    waited = job->threads.total.lease;
    while (job->threads.total.trainer == 0)
        cw_wthread_use_count(w);
    assert_true(job->threads.total.lease == waited);
    bare_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(within_items), cmocka_unit_test(while_idle),
                                       cmocka_unit_test(outputs_wait), cmocka_unit_test(idle_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
