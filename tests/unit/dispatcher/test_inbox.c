/* SPDX-License-Identifier: Apache-2.0 */
/* Large messages of peers: a thread unpacks them, and what comes behind them waits. */
#include <string.h>

#include "base/limits.h"
#include "base/version.h"
#include "dispatcher/session/session.h"
#include "loop/offload.h"
#include "support/soon.h"
#include "unit/dispatcher/peers.h"

#define LARGE (CW_UNPACKED_HERE_MAX + 1000)

struct hello {
    Cachew__V1__ClientMessage message;
    Cachew__V1__ClientHello hello;
    Cachew__V1__JobOptions options;
    char *version;
};

/* A hello that is large for its version. */
static void hello_init(struct hello *h)
{
    *h = (struct hello){.version = cw_mem_new(LARGE + 1)};
    memset(h->version, '1', LARGE);
    cachew__v1__client_message__init(&h->message);
    cachew__v1__client_hello__init(&h->hello);
    cachew__v1__job_options__init(&h->options);
    h->message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_HELLO;
    h->message.hello = &h->hello;
    h->hello.protocol = CW_PROTOCOL;
    h->hello.version = h->version;
    h->hello.client_id = 7;
    h->hello.job = &h->options;
    h->options.graph = peers_graph(10);
    h->options.epochs = 2;
}

static void hello_fini(struct hello *h)
{
    cachew__v1__graph__free_unpacked(h->options.graph, NULL);
    cw_mem_free(h->version);
}

static int begin(void **state)
{
    if (peers_begin(state) != 0)
        return -1;
    made_up.offload = cw_offload_queue_new(made_up.loop, "unpack");
    return 0;
}

static void on_turn(void *arg)
{
    cw_loop_stop(arg);
}

/* What the thread has read comes to nobody. No turn is ended any more: the jobs still name workers
 * that are gone, which the check of derived numbers would find. */
static int end(void **state)
{
    cw_client_sessions_close(&made_up);
    cw_worker_sessions_close(&made_up);
    cw_offload_queue_free(cw_steal(&made_up.offload));
    cw_loop_post(made_up.loop, on_turn, made_up.loop);
    cw_loop_run(made_up.loop);
    return peers_end(state);
}

static struct cw_stream *say_large(struct hello *h)
{
    struct cw_stream *stream = peers_attach("Jobs/Attach");
    peers_say(stream, &h->message.base);
    assert_true(peers_is_paused(stream));
    assert_null(made_up.jobs);
    return stream;
}

static void a_large_hello_begins_a_job(void **state)
{
    (void)state;
    struct hello h;
    hello_init(&h);
    struct cw_buf *graph = cw_wire_pack(&h.options.graph->base);
    struct cw_stream *stream = say_large(&h);
    /* It takes its time, which nobody calls silence. */
    cw_client_sessions_tick(&made_up, cw_clock_ms() + 3600000);
    soon((peers_turn(), made_up.jobs != NULL));
    assert_false(peers_is_paused(stream));
    assert_int_equal(peers_noted_n(stream), 1);
    /* The pipeline is kept as it came, and besides without the options of its nodes. */
    const struct cw_job *job = made_up.jobs;
    assert_int_equal(job->graph_packed->len, graph->len);
    assert_memory_equal(job->graph_packed->data, graph->data, graph->len);
    for (size_t i = 0; i < job->graph->n_nodes; i++)
        assert_null(job->graph->nodes[i]->options);
    struct cw_stream *worker = peers_worker(1, 1);
    const Cachew__V1__WorkerCommand *command =
        peers_to_worker(worker, CACHEW__V1__WORKER_COMMAND__KIND_PREPARE);
    assert_non_null(command);
    assert_int_equal(protobuf_c_message_get_packed_size(&command->prepare->graph->base),
                     graph->len);
    peers_break(stream, 0, "");
    cw_buf_unref(graph);
    hello_fini(&h);
}

/* To look for a plan takes long, however small the hello is. */
static void a_hello_that_asks_for_a_plan_is_read_by_the_thread(void **state)
{
    (void)state;
    struct hello h;
    char version[] = CW_VERSION, pecan[] = "pecan";
    hello_init(&h);
    h.hello.version = version;
    h.options.optimize = pecan;
    h.options.relaxed = true;
    struct cw_stream *stream = say_large(&h);
    peers_bye(stream); /* what comes behind it waits */
    assert_false(peers_is_ended(stream));
    soon((peers_turn(), peers_is_ended(stream)));
    assert_int_equal(peers_end_code(stream), 0);
    peers_break(stream, 0, "");
    stream = say_large(&h);
    soon((peers_turn(), made_up.jobs != NULL));
    assert_false(peers_is_paused(stream));
    peers_break(stream, 0, "");
    hello_fini(&h);
}

static void what_comes_behind_it_waits(void **state)
{
    (void)state;
    struct hello h;
    hello_init(&h);
    struct cw_stream *stream = say_large(&h);
    peers_bye(stream);
    assert_false(peers_is_ended(stream));
    soon((peers_turn(), peers_is_ended(stream)));
    assert_int_equal(peers_end_code(stream), 0);
    assert_null(made_up.jobs);
    peers_break(stream, 0, "");
    hello_fini(&h);
}

static void its_sender_may_go_meanwhile(void **state)
{
    (void)state;
    struct hello h;
    hello_init(&h);
    struct cw_stream *stream = say_large(&h);
    peers_bye(stream);
    peers_break(stream, CW_E_UNAVAILABLE, "gone");
    assert_int_equal(made_up.clients_n, 0);
    cw_offload_queue_free(cw_steal(&made_up.offload));
    peers_turn();
    assert_null(made_up.jobs);
    hello_fini(&h);
}

static void its_errors_are_told(void **state)
{
    (void)state;
    struct hello h;
    hello_init(&h);
    h.version[LARGE / 2] = '\n';
    struct cw_stream *stream = say_large(&h);
    soon((peers_turn(), peers_is_ended(stream)));
    assert_int_equal(peers_end_code(stream), CW_E_INVALID);
    peers_break(stream, 0, "");
    h.version[LARGE / 2] = '1';
    h.options.graph->nodes[0]->op[0] = 'x';
    stream = say_large(&h);
    soon((peers_turn(), peers_is_ended(stream)));
    assert_int_equal(peers_end_code(stream), CW_E_NOT_FOUND);
    peers_break(stream, 0, "");
    hello_fini(&h);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_large_hello_begins_a_job), TEST(a_hello_that_asks_for_a_plan_is_read_by_the_thread),
        TEST(what_comes_behind_it_waits), TEST(its_sender_may_go_meanwhile),
        TEST(its_errors_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
