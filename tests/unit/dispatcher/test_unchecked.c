/* SPDX-License-Identifier: Apache-2.0 */
/* A job with operators of plugins that comes before any worker: it waits, and is checked when a worker has
 * said what they are. */
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "dispatcher/job/job.h"
#include "dispatcher/job/waits_for.h"
#include "graph/graph.h"
#include "unit/dispatcher/peers.h"

#define HASH "0123456789abcdef0123456789abcdef"
#define GAIN                                                                                       \
    "{\"name\":\"lab.gain\",\"hash\":\"" HASH "\",\"library\":\"lab 1\",\"kind\":\"element\","     \
    "\"version\":3,\"fieldwise\":1,\"traits\":0,\"options\":["                                     \
    "{\"name\":\"by\",\"type\":2,\"default\":\"1.5\",\"min\":0.5,\"max\":9.0}]}"

static struct cw_stream *trainer_with(const char *nodes)
{
    char text[256];
    struct cw_graph *graph = NULL;
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    static char name[] = "early";
    int n =
        snprintf(text, sizeof(text), "{\"pipeline\":[{\"op\":\"range\",\"stop\":4},%s]}", nodes);
    assert_int_equal(cw_graph_parse(text, (size_t)n, "test", &graph, NULL), 0);
    options.name = name;
    options.graph = cw_wire_graph_to(graph);
    struct cw_stream *stream = peers_trainer(100, &options);
    cw_wire_graph_free(options.graph);
    cw_graph_unref(graph);
    peers_turn();
    return stream;
}

static struct cw_stream *worker_with(uint64_t id, const char *operator_text)
{
    struct cw_stream *stream = peers_attach("Fleet/Attach");
    char address[32], version[] = CW_VERSION, *operators[] = {(char *)(uintptr_t)operator_text};
    Cachew__V1__WorkerHello hello = CACHEW__V1__WORKER_HELLO__INIT;
    snprintf(address, sizeof(address), "worker%llu:1", (unsigned long long)id);
    hello.protocol = CW_PROTOCOL;
    hello.version = version;
    hello.worker_id = id;
    hello.address = address;
    hello.threads = 1;
    hello.operators = operators;
    hello.n_operators = operator_text ? 1 : 0;
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_HELLO;
    message.hello = &hello;
    peers_say(stream, &message.base);
    peers_turn();
    return stream;
}

static void assert_waits_for(struct cw_job *job, const char *says)
{
    struct cw_job_waits waits;
    assert_true(cw_job_waits(job, cw_clock_ms() + 5000, &waits));
    if (!strstr(cw_str_text(&waits.text), says))
        fail_msg("\"%s\" does not say \"%s\"", cw_str_text(&waits.text), says);
    cw_job_waits_fini(&waits);
}

static void it_waits_for_a_worker(void **state)
{
    (void)state;
    struct cw_stream *trainer = trainer_with("{\"op\":\"lab.gain\",\"by\":2}");
    struct cw_job *job = cw_job_find(&made_up, "early");
    assert_false(peers_is_ended(trainer));
    assert_non_null(job);
    assert_int_equal(job->status, CW_JOB_PREPARING);
    assert_waits_for(job, "operators of plugins: start cachew-worker");
    const struct cw_hash before = job->graph_fingerprint;
    (void)worker_with(1, NULL);
    assert_null(job->preparing);
    assert_waits_for(job, "worker1:1 lacks lab.gain");
    struct cw_stream *worker = worker_with(2, GAIN);
    assert_non_null(peers_to_worker(worker, CACHEW__V1__WORKER_COMMAND__KIND_PREPARE));
    assert_false(job->is_unchecked);
    assert_false(cw_hash_eq(before, job->graph_fingerprint));
    peers_break(worker, 0, "");
}

/* The operator of the first test is known by now: this process is one dispatcher. */
static void what_is_wrong_is_found_late(void **state)
{
    (void)state;
    struct cw_stream *trainer = trainer_with("{\"op\":\"lab.later\",\"by\":99}");
    struct cw_job *job = cw_job_find(&made_up, "early");
    assert_non_null(job);
    (void)worker_with(1, "{\"name\":\"lab.later\",\"hash\":\"" HASH
                         "\",\"library\":\"lab 1\",\"kind\":\"element\",\"version\":3,"
                         "\"fieldwise\":1,\"traits\":0,\"options\":[{\"name\":\"by\",\"type\":2,"
                         "\"default\":\"1.5\",\"min\":0.5,\"max\":9.0}]}");
    assert_int_equal(job->status, CW_JOB_FAILED);
    assert_non_null(strstr(job->error, "by"));
    assert_true(peers_is_ended(trainer));
}

static void a_wrong_name_is_refused_at_once(void **state)
{
    (void)state;
    struct cw_stream *trainer =
        trainer_with("{\"op\":\"lab.unknown\"},{\"op\":\"no_such_operator\"}");
    assert_true(peers_is_ended(trainer));
    assert_int_equal(peers_end_code(trainer), CW_E_NOT_FOUND);
    (void)worker_with(1, NULL); /* there is a fleet, and nobody in it has the operator */
    trainer = trainer_with("{\"op\":\"lab.unknown\"}");
    assert_true(peers_is_ended(trainer));
    assert_non_null(strstr(peers_end_msg(trainer), "no such operator"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_waits_for_a_worker, peers_begin, peers_end),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_found_late, peers_begin, peers_end),
        cmocka_unit_test_setup_teardown(a_wrong_name_is_refused_at_once, peers_begin, peers_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
