/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of the dispatcher: what is not valid, what is for a job that is not here, and what each
 * changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "graph/graph.h"
#include "unit/worker/bare_worker.h"
#include "wire/wire.h"
#include "worker/cache/cache_events.h"
#include "worker/cache/cache_keys.h"
#include "worker/cache/cache_report.h"
#include "worker/job/job_plan.h"
#include "worker/session/commands.h"

static char job_id[] = "job", other_id[] = "other", empty[] = "";

static Cachew__V1__WorkerCommand command_of(Cachew__V1__WorkerCommand__KindCase kind)
{
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = kind;
    return command;
}

static const char *run_job(struct cw_worker_state *w, char *id, uint32_t consumers, double part)
{
    Cachew__V1__WorkerCommand command = command_of(CACHEW__V1__WORKER_COMMAND__KIND_JOB);
    Cachew__V1__JobSpec spec = CACHEW__V1__JOB_SPEC__INIT;
    spec.job_id = id;
    spec.consumers = consumers;
    spec.part = part;
    command.job = &spec; /* without a pipeline: it is here, and cannot be opened */
    return cw_commands_run(w, &command);
}

static void run_forget(struct cw_worker_state *w, char *id)
{
    Cachew__V1__WorkerCommand command = command_of(CACHEW__V1__WORKER_COMMAND__KIND_FORGET);
    Cachew__V1__Forget forget = CACHEW__V1__FORGET__INIT;
    forget.job_id = id;
    command.forget = &forget;
    assert_null(cw_commands_run(w, &command));
}

static const char *run_revoke(struct cw_worker_state *w, char *id, uint64_t lo, uint64_t hi)
{
    Cachew__V1__WorkerCommand command = command_of(CACHEW__V1__WORKER_COMMAND__KIND_REVOKE);
    Cachew__V1__Interval interval = CACHEW__V1__INTERVAL__INIT, *intervals[] = {&interval};
    Cachew__V1__Revoke revoke = CACHEW__V1__REVOKE__INIT;
    interval.lo = lo;
    interval.hi = hi;
    revoke.job_id = id;
    revoke.items = intervals;
    revoke.n_items = 1;
    command.revoke = &revoke;
    return cw_commands_run(w, &command);
}

static void test_job(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    char *long_id = cw_mem_new(CW_JOB_ID_MAX + 2);
    memset(long_id, 'x', CW_JOB_ID_MAX + 1);
    assert_non_null(run_job(w, empty, 1, 1));
    assert_non_null(run_job(w, long_id, 1, 1));
    assert_non_null(run_job(w, job_id, CW_CONSUMERS_MAX + 1, 1));
    assert_int_equal(w->jobs.n, 0);
    assert_null(run_job(w, job_id, 0, 2.5));
    struct cw_wjob *job = cw_wjob_get(w, job_id);
    assert_non_null(job);
    assert_int_equal(job->consumers, 1);
    assert_int_equal(job->state, CW_WJOB_FAILED);
    assert_true(job->part > 2.4 && job->part < 2.6);
    /* The same again changes its weight; another one replaces it. */
    assert_null(run_job(w, job_id, 1, 0));
    assert_ptr_equal(cw_wjob_get(w, job_id), job);
    assert_true(job->part > 0.9 && job->part < 1.1);
    assert_null(run_job(w, job_id, 2, 1));
    assert_int_equal(w->jobs.n, 1);
    assert_int_equal(cw_wjob_get(w, job_id)->consumers, 2);
    run_forget(w, other_id);
    assert_int_equal(w->jobs.n, 1);
    run_forget(w, job_id);
    assert_int_equal(w->jobs.n, 0);
    assert_null(cw_wjob_get(w, job_id));
    cw_mem_free(long_id);
    bare_free(w);
}

/* Each item goes to the one that it was leased for, and each to all: no dispatcher says both. (An output
 * that is queued for each of very many consumers would take more than the budget counts.) */
static void test_shared_and_to_all(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    for (int flags = 0; flags < 4; flags++) {
        Cachew__V1__WorkerCommand command = command_of(CACHEW__V1__WORKER_COMMAND__KIND_JOB);
        Cachew__V1__JobSpec spec = CACHEW__V1__JOB_SPEC__INIT;
        spec.job_id = job_id;
        spec.consumers = CW_CONSUMERS_MAX;
        spec.shared = (flags & 1) != 0;
        spec.each_item_to_all = (flags & 2) != 0;
        command.job = &spec;
        assert_int_equal(cw_commands_run(w, &command) != NULL, flags == 3);
        assert_int_equal(w->jobs.n, flags != 3);
        run_forget(w, job_id);
    }
    bare_free(w);
}

/* A lease says how often the worker is to be heard of; one of an older dispatcher does not. */
static void test_heartbeat(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    Cachew__V1__WorkerCommand command = command_of(CACHEW__V1__WORKER_COMMAND__KIND_LEASE);
    Cachew__V1__LeaseId id = CACHEW__V1__LEASE_ID__INIT;
    Cachew__V1__Interval interval = CACHEW__V1__INTERVAL__INIT, *intervals[] = {&interval};
    Cachew__V1__Lease lease = CACHEW__V1__LEASE__INIT;
    static const struct {
        uint32_t said;
        int64_t beat_ms;
    } cases[] = {{0, 250}, {2500, 2500}, {0, 2500}, {1, 20}};
    (void)bare_job(w, job_id, 1);
    w->report.beat_ms = w->report.idle_beat_ms = 250;
    interval.hi = 1;
    lease.lease = &id;
    lease.job_id = job_id;
    lease.items = intervals;
    lease.n_items = 1;
    command.lease = &lease;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        lease.heartbeat_ms = cases[i].said;
        assert_null(cw_commands_run(w, &command));
        assert_int_equal(w->report.beat_ms, cases[i].beat_ms);
        assert_int_equal(w->report.idle_beat_ms, cases[i].beat_ms);
    }
    bare_free(w);
}

static void test_revoke(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, job_id, 1);
    struct cw_wtask task = {.job = job};
    bare_lease(job, 1, 0, 10, 20);
    (void)bare_output(job, 0, 3, 10, false);
    task.exec.item = 4;
    job->tasks = &task;
    cw_set_add(&cw_wjob_epoch(job, 0)->held, 4, 5);
    assert_null(run_revoke(w, other_id, 0, 100));
    assert_non_null(run_revoke(w, job_id, 5, 5)); /* no dispatcher says that */
    assert_int_equal(cw_set_count(&cw_wjob_epoch(job, 0)->held), 12);
    assert_null(run_revoke(w, job_id, 0, 12));
    assert_int_equal(job->queued_n, 0);
    assert_true(task.revoked);
    assert_int_equal(cw_set_count(&cw_wjob_epoch(job, 0)->held), 8);
    assert_int_equal(cw_set_count(&job->leases[0].pending), 8);
    job->tasks = NULL;
    bare_free(w);
}

static void test_parts(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, job_id, 1);
    Cachew__V1__WorkerCommand command = command_of(CACHEW__V1__WORKER_COMMAND__KIND_PARTS);
    Cachew__V1__JobPart one = CACHEW__V1__JOB_PART__INIT, two = CACHEW__V1__JOB_PART__INIT,
                        *parts[] = {&one, &two};
    Cachew__V1__Parts message = CACHEW__V1__PARTS__INIT;
    one.job_id = other_id;
    one.part = 9;
    two.job_id = job_id;
    two.part = 4;
    message.parts = parts;
    message.n_parts = 2;
    command.parts = &message;
    assert_null(cw_commands_run(w, &command));
    assert_true(job->part > 3.9 && job->part < 4.1);
    two.part = -1; /* none: as one that says nothing */
    assert_null(cw_commands_run(w, &command));
    assert_true(job->part > 0.9 && job->part < 1.1);
    bare_free(w);
}

static void test_chunks(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    Cachew__V1__WorkerCommand command = command_of(CACHEW__V1__WORKER_COMMAND__KIND_CACHE_CHUNKS);
    Cachew__V1__CacheChunks chunks = CACHEW__V1__CACHE_CHUNKS__INIT;
    uint8_t key[16] = {1};
    command.cache_chunks = &chunks;
    assert_non_null(cw_commands_run(w, &command)); /* without a key */
    assert_int_equal(w->cache.keys.n, 0);
    chunks.key.data = key;
    chunks.key.len = sizeof(key);
    assert_null(cw_commands_run(w, &command));
    assert_int_equal(w->cache.keys.n, 1);
    cw_wcache_keys_fini(w);
    bare_free(w);
}

/* Whether each event of the cache that is reported now was reported before, as digits. */
static void expect_reported(struct cw_worker_state *w, const char *want)
{
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    cw_wcache_report(w, &progress, false);
    assert_int_equal(progress.n_cache_events, strlen(want));
    for (size_t i = 0; i < progress.n_cache_events; i++)
        assert_int_equal(progress.cache_events[i]->again, want[i] == '1');
    cw_wcache_report_free(&progress);
}

static void add_event(struct cw_worker_state *w)
{
    struct cw_wcache_event *event = CW_NEW(struct cw_wcache_event);
    event->name = cw_mem_strdup("a chunk");
    CW_GROW(w->cache.events, w->cache.events_n, w->cache.events_cap);
    w->cache.events[w->cache.events_n++] = event;
}

/* On the next stream to a dispatcher all is reported again that it may not have heard. */
static void test_reported_again(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wcache_store store = {0};
    w->cache.store = &store;
    add_event(w);
    expect_reported(w, "0");
    expect_reported(w, "");
    cw_wcache_report_detached(w);
    add_event(w);
    expect_reported(w, "10");
    cw_wcache_drop_events(w, 0);
    cw_mem_free(w->cache.events);
    bare_free(w);
}

/* Gives plan 1 to the job, with so many elements in its graph. */
static void give_plan(struct cw_worker_state *w, const char *stop, bool only_try)
{
    Cachew__V1__WorkerCommand command = command_of(CACHEW__V1__WORKER_COMMAND__KIND_JOB_PLAN);
    Cachew__V1__JobPlan plan = CACHEW__V1__JOB_PLAN__INIT;
    struct cw_graph *graph = NULL;
    cw_autofree char *text = cw_mem_printf("{\"pipeline\":[{\"op\":\"range\",\"stop\":%s},"
                                           "{\"op\":\"batch\",\"size\":2}]}",
                                           stop);
    assert_int_equal(cw_graph_parse(text, strlen(text), "test", &graph, NULL), 0);
    plan.job_id = job_id;
    plan.number = 1;
    plan.only_try = only_try;
    plan.graph = cw_wire_graph_to(graph);
    command.job_plan = &plan;
    assert_null(cw_commands_run(w, &command));
    cw_wire_graph_free(plan.graph);
    cw_graph_unref(graph);
}

/* A plan that was tried is the one that is used, unless another one comes with its number: the
 * dispatcher had died before it stored the first. */
static void test_number_given_again(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, job_id, 1); /* its sources are not open yet */
    give_plan(w, "10", true);
    struct cw_graph *first = cw_graph_ref(job->next_plan.graph);
    give_plan(w, "10", true);
    assert_ptr_equal(job->next_plan.graph, first);
    assert_true(job->next_plan.only_try);
    give_plan(w, "10", false);
    assert_ptr_equal(job->next_plan.graph, first);
    assert_false(job->next_plan.only_try);
    give_plan(w, "20", false);
    assert_ptr_not_equal(job->next_plan.graph, first);
    assert_false(job->next_plan.only_try);
    cw_graph_unref(first);
    cw_wjob_plan_free(job);
    bare_free(w);
}

/* A command that a newer dispatcher knows is passed over. */
static void test_unknown(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    Cachew__V1__WorkerCommand command = command_of(CACHEW__V1__WORKER_COMMAND__KIND__NOT_SET);
    assert_null(cw_commands_run(w, &command));
    bare_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_job),
                                       cmocka_unit_test(test_shared_and_to_all),
                                       cmocka_unit_test(test_heartbeat),
                                       cmocka_unit_test(test_revoke),
                                       cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_chunks),
                                       cmocka_unit_test(test_unknown),
                                       cmocka_unit_test(test_reported_again),
                                       cmocka_unit_test(test_number_given_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
