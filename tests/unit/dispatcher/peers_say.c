/* SPDX-License-Identifier: Apache-2.0 */
/* What tools, workers and trainers say (peers.h). */
#include "unit/dispatcher/peers.h"

#include "base/version.h"
#include "dispatcher/job/job.h"
#include "graph/graph.h"

#include <stdio.h>

Cachew__V1__Graph *peers_graph(unsigned elements)
{
    char text[128];
    struct cw_graph *graph = NULL;
    struct cw_err err = {0};
    int n =
        snprintf(text, sizeof(text), "{\"pipeline\":[{\"op\":\"range\",\"stop\":%u}]}", elements);
    if (cw_graph_parse(text, (size_t)n, "test", &graph, &err) != 0)
        fail_msg("%s", err.msg);
    Cachew__V1__Graph *message = cw_wire_graph_to(graph);
    cw_graph_unref(graph);
    return message;
}

struct cw_stream *peers_worker(uint64_t id, uint32_t threads)
{
    struct cw_stream *stream = peers_attach("Fleet/Attach");
    char address[32], version[] = CW_VERSION;
    snprintf(address, sizeof(address), "worker%llu:1", (unsigned long long)id);
    Cachew__V1__WorkerHello hello = CACHEW__V1__WORKER_HELLO__INIT;
    hello.protocol = CW_PROTOCOL;
    hello.version = version;
    hello.worker_id = id;
    hello.address = address;
    hello.threads = threads;
    hello.named_caches = true;
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_HELLO;
    message.hello = &hello;
    peers_say(stream, &message.base);
    return stream;
}

struct cw_worker *peers_worker_of(uint64_t id)
{
    struct cw_worker *worker = made_up.workers;
    while (worker && worker->id != id)
        worker = worker->next;
    return worker;
}

struct cw_stream *peers_trainer(uint64_t id, Cachew__V1__JobOptions *options)
{
    struct cw_stream *stream = peers_attach("Jobs/Attach");
    char version[] = CW_VERSION;
    Cachew__V1__Graph *own = options->graph ? NULL : peers_graph(10);
    if (own)
        options->graph = own;
    Cachew__V1__ClientHello hello = CACHEW__V1__CLIENT_HELLO__INIT;
    hello.protocol = CW_PROTOCOL;
    hello.version = version;
    hello.client_id = id;
    hello.job = options;
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_HELLO;
    message.hello = &hello;
    peers_say(stream, &message.base);
    if (own) {
        options->graph = NULL;
        cachew__v1__graph__free_unpacked(own, NULL);
    }
    return stream;
}

static void say_client(struct cw_stream *stream, Cachew__V1__ClientMessage__KindCase kind,
                       void *what)
{
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    message.kind_case = kind;
    message.hello = what; /* a union of pointers */
    peers_say(stream, &message.base);
}

struct cw_stream *peers_back(uint64_t id, const char *job_id)
{
    struct cw_stream *stream = peers_attach("Jobs/Attach");
    char version[] = CW_VERSION;
    cw_autofree char *text = cw_mem_strdup(job_id);
    Cachew__V1__ClientHello hello = CACHEW__V1__CLIENT_HELLO__INIT;
    hello.protocol = CW_PROTOCOL;
    hello.version = version;
    hello.client_id = id;
    hello.job_id = text;
    say_client(stream, CACHEW__V1__CLIENT_MESSAGE__KIND_HELLO, &hello);
    return stream;
}

void peers_ack(struct cw_stream *trainer, uint64_t epoch, uint64_t received, uint64_t consumed)
{
    Cachew__V1__Ack ack = CACHEW__V1__ACK__INIT;
    Cachew__V1__Interval in[2] = {CACHEW__V1__INTERVAL__INIT, CACHEW__V1__INTERVAL__INIT},
                         *items[2][1] = {{&in[0]}, {&in[1]}};
    Cachew__V1__EpochSet set[2] = {CACHEW__V1__EPOCH_SET__INIT, CACHEW__V1__EPOCH_SET__INIT},
                         *sets[2][1] = {{&set[0]}, {&set[1]}};
    Cachew__V1__Position position = CACHEW__V1__POSITION__INIT;
    in[0].hi = received, in[1].hi = consumed;
    for (int i = 0; i < 2; i++) {
        set[i].epoch = epoch;
        set[i].n_items = in[i].hi > 0;
        set[i].items = items[i];
    }
    ack.n_received = ack.n_consumed = 1;
    ack.received = sets[0], ack.consumed = sets[1];
    position.epoch = epoch;
    position.item = position.batches = consumed;
    ack.position = &position;
    say_client(trainer, CACHEW__V1__CLIENT_MESSAGE__KIND_ACK, &ack);
}

void peers_bye(struct cw_stream *trainer)
{
    Cachew__V1__Bye bye = CACHEW__V1__BYE__INIT;
    say_client(trainer, CACHEW__V1__CLIENT_MESSAGE__KIND_BYE, &bye);
}

static void say_prepared(struct cw_stream *worker, Cachew__V1__Prepared *prepared)
{
    const Cachew__V1__WorkerCommand *asked =
        peers_to_worker(worker, CACHEW__V1__WORKER_COMMAND__KIND_PREPARE);
    assert_non_null(asked);
    prepared->job_id = asked->prepare->job_id;
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PREPARED;
    message.prepared = prepared;
    peers_say(worker, &message.base);
}

void peers_not_prepared(struct cw_stream *worker, int code, const char *error)
{
    cw_autofree char *text = cw_mem_strdup(error);
    Cachew__V1__Prepared prepared = CACHEW__V1__PREPARED__INIT;
    prepared.code = code;
    prepared.error = text;
    say_prepared(worker, &prepared);
}

void peers_prepared(struct cw_stream *worker, uint64_t items)
{
    Cachew__V1__PlanInfo info = CACHEW__V1__PLAN_INFO__INIT;
    info.items = items;
    info.elements = (int64_t)items;
    info.batch = 1;
    info.fingerprint_hi = info.fingerprint_lo = 7;
    Cachew__V1__Prepared prepared = CACHEW__V1__PREPARED__INIT;
    prepared.info = &info;
    say_prepared(worker, &prepared);
}

struct cw_job *peers_running(const char *name, struct cw_stream **ret_trainer)
{
    cw_autofree char *text = cw_mem_strdup(name);
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    options.name = text;
    options.epochs = 2;
    struct cw_worker *worker = peers_worker_of(1);
    struct cw_stream *stream = worker ? worker->stream : peers_worker(1, 2);
    struct cw_stream *trainer = peers_trainer(100, &options);
    peers_prepared(stream, 10);
    peers_turn();
    if (ret_trainer)
        *ret_trainer = trainer;
    struct cw_job *job = made_up.jobs;
    while (job->next)
        job = job->next;
    assert_int_equal(job->status, CW_JOB_RUNNING);
    return job;
}
