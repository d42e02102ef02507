/* SPDX-License-Identifier: Apache-2.0 */
/* Leaving in good order: what is handed back, what is waited for, and what happens at the limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unit/worker/bare_worker.h"
#include "worker/session/drain.h"

#define LONG_MS 1000000

struct end {
    struct cw_loop *loop;
    unsigned drained;
};

static void on_drained(void *arg)
{
    struct end *end = arg;
    end->drained++;
    cw_loop_stop(end->loop);
}

static void on_stopped(void *arg)
{
    cw_loop_stop(arg);
}

static struct cw_worker_state *worker_new(struct end *end)
{
    struct cw_worker_state *w = bare_new();
    w->loop = cw_loop_new();
    w->rpc = cw_rpc_new(w->loop);
    w->server = cw_server_new(w->rpc);
    w->drain.limit_ms = LONG_MS;
    *end = (struct end){.loop = w->loop};
    return w;
}

static void worker_free(struct cw_worker_state *w)
{
    struct cw_loop *loop = w->loop;
    struct cw_rpc *rpc = w->rpc;
    cw_timer_free(w->drain.timer);
    cw_server_stop(w->server, 0, on_stopped, loop);
    cw_loop_run(loop);
    bare_free(w);
    cw_rpc_free(rpc);
    cw_loop_free(loop);
}

/* What is not begun goes back, also when the dispatcher is another one by then; what is begun is
 * kept. */
static void test_announce(void **state)
{
    (void)state;
    struct end end;
    struct cw_worker_state *w = worker_new(&end);
    struct cw_wjob *job = bare_job(w, "j", 1);
    bare_lease(job, 1, 0, 0, 10);
    (void)bare_output(job, 0, 20, 100, false);
    cw_drain_start(w, on_drained, &end);
    assert_true(w->drain.active);
    assert_int_equal(job->leases_n, 0);
    assert_int_equal(cw_set_count(&cw_wjob_epoch(job, 0)->held), 1);
    bare_lease(job, 2, 0, 5, 6);
    cw_drain_announce(w);
    assert_int_equal(job->leases_n, 0);
    assert_int_equal(job->queued_n, 1);
    assert_int_equal(end.drained, 0);
    worker_free(w);
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    struct end end;
    struct cw_worker_state *w = worker_new(&end);
    (void)bare_job(w, "j", 1);
    w->drain.fn = on_drained;
    w->drain.arg = &end;
    cw_drain_start(w, NULL, NULL); /* as the dispatcher's command does */
    cw_drain_start(w, NULL, NULL);
    assert_int_equal(end.drained, 0); /* never at once: the caller is still at work */
    cw_loop_run(w->loop);
    assert_int_equal(end.drained, 1);
    assert_true(w->drain.done);
    assert_false(w->drain.over);
    worker_free(w);
}

/* At the limit outputs and items are handed back, and items are not waited for. */
static void test_limit(void **state)
{
    (void)state;
    struct end end;
    struct cw_worker_state *w = worker_new(&end);
    struct cw_wjob *job = bare_job(w, "j", 1);
    struct cw_wtask task = {.job = job};
    task.exec.item = 7;
    job->tasks = &task;
    job->tasks_n = w->tasks_n = 1;
    (void)bare_output(job, 0, 3, 100, false);
    w->drain.limit_ms = 0;
    cw_drain_start(w, on_drained, &end);
    cw_loop_run(w->loop);
    assert_int_equal(end.drained, 1);
    assert_true(w->drain.over);
    assert_int_equal(job->queued_n, 0);
    assert_true(task.revoked);
    job->tasks = NULL;
    worker_free(w);
}

/* Nobody wants the outputs: no item and no client is waited for. */
static void test_abandon(void **state)
{
    (void)state;
    struct end end;
    struct cw_worker_state *w = worker_new(&end);
    struct cw_wjob *job = bare_job(w, "j", 1);
    bare_lease(job, 1, 0, 0, 10);
    (void)bare_output(job, 0, 20, 100, false);
    (void)bare_job(w, "k", 1);
    w->tasks_n = 1;
    cw_drain_abandon(w, on_drained, &end);
    assert_int_equal(w->jobs.n, 0);
    assert_int_equal(w->memory.bytes, 0);
    cw_loop_run(w->loop);
    assert_int_equal(end.drained, 1);
    assert_false(w->drain.over);
    worker_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_announce), cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_limit), cmocka_unit_test(test_abandon)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
