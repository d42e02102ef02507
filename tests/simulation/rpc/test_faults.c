/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of streams when the network or a peer fails: one client, one server, one fault. */
#include "support/cm.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "rpc/rpc.h"
#include "simulation/rpc/net.h"

#define MS 1000000ll
#define S 1000000000ll
#define ADDRESS "server:100"

/* What the next world's actors do; and what they saw. [0] the client, [1] the server. */
static struct plan {
    const char *method; /* "/t.T/Sink" takes, "/t.T/Push" sends and finishes */
    size_t n, size;     /* messages, bytes of each */
    bool paused;        /* who receives, until go_on() */
    bool finishes;      /* the client, after its messages */
    int code;           /* what Push finishes with */
} plan;
static struct seen {
    uint32_t got;
    int closes, code;
    int64_t closed_at;
    char msg[256];
    size_t lows, queued;
    struct cw_stream *stream; /* NULL: over */
} seen[2];
static struct sim_actor *client, *server;
static int64_t begun; /* times here count from the world's beginning */

static int64_t now(void)
{
    return sim_now_ns() - begun;
}

/* ---- both sides ---- */

static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    struct seen *end = arg;
    uint32_t number;
    if (cw_rpc_msg_len(msg) != plan.size || cw_rpc_msg_copy(msg, 0, &number, sizeof number) != 0 ||
        number != end->got)
        sim_fail("not the message %u", end->got);
    end->got++;
}

static void on_low(void *arg)
{
    struct seen *end = arg;
    end->lows++;
}

static void on_close(void *arg, int code, const char *msg)
{
    struct seen *end = arg;
    end->closes++;
    end->code = code;
    end->closed_at = now();
    snprintf(end->msg, sizeof end->msg, "%s", msg);
    cw_stream_free(end->stream);
    end->stream = NULL;
}

static const struct cw_stream_cb cb = {
    .on_message = on_message, .on_low = on_low, .on_close = on_close};

static void send_all(struct cw_stream *stream)
{
    for (uint32_t i = 0; i < plan.n; i++) {
        struct cw_buf *buf = cw_buf_new(plan.size);
        memset(buf->data, 0, buf->len);
        memcpy(buf->data, &i, sizeof i);
        cw_stream_send(stream, &buf, 1);
        cw_buf_unref(buf);
    }
}

static void on_sink(void *arg, struct cw_stream *stream)
{
    (void)arg;
    seen[1].stream = stream;
    cw_stream_accept(stream, &cb, &seen[1]);
    cw_stream_pause(stream, plan.paused);
}

static void on_push(void *arg, struct cw_stream *stream)
{
    (void)arg;
    seen[1].stream = stream;
    cw_stream_accept(stream, &cb, &seen[1]);
    send_all(stream);
    cw_stream_finish(stream, plan.code, "so it is");
}

static void serve(void *arg)
{
    (void)arg;
    struct cw_loop *loop = cw_loop_new();
    struct cw_rpc *rpc = cw_rpc_new(loop);
    struct cw_server *listener = cw_server_new(rpc);
    char address[128];
    struct cw_err err;
    cw_server_add(listener, &(struct cw_method){.path = "/t.T/Sink", .stream = on_sink});
    cw_server_add(listener, &(struct cw_method){.path = "/t.T/Push", .stream = on_push});
    if (cw_server_listen(listener, ADDRESS, address, sizeof address, &err) != 0)
        sim_fail("%s", err.msg);
    cw_server_start(listener);
    cw_loop_run(loop);
}

static void be_client(void *arg)
{
    (void)arg;
    struct cw_loop *loop = cw_loop_new();
    struct cw_rpc *rpc = cw_rpc_new(loop);
    struct cw_channel *channel = cw_channel_open(rpc, ADDRESS);
    seen[0].stream = cw_channel_stream(channel, plan.method, &cb, &seen[0]);
    cw_stream_set_low(seen[0].stream, 0);
    if (strcmp(plan.method, "/t.T/Sink") == 0)
        send_all(seen[0].stream);
    else
        cw_stream_pause(seen[0].stream, plan.paused);
    if (plan.finishes)
        cw_stream_finish(seen[0].stream, 0, NULL);
    cw_loop_run(loop);
}

/* ---- the world ---- */

static void begin(uint64_t seed, const struct plan *what)
{
    static const struct net_link link = {.latency_ns = MS, .bytes_per_s = 10000000};
    struct sim_config config = {.seed = seed};
    plan = *what;
    memset(seen, 0, sizeof seen);
    sim_world_begin(&config);
    begun = sim_now_ns();
    net_set_link(NULL, NULL, &link);
    server = sim_spawn("server", "server", serve, NULL);
    client = sim_spawn("client", "client", be_client, NULL);
}

static bool both_closed(void *arg)
{
    (void)arg;
    return seen[0].closes > 0 && (seen[1].closes > 0 || !sim_is_alive(server));
}

static void run_until(int64_t when)
{
    sim_world_run(NULL, NULL, begun + when);
}

/* Both ends are told once; then nothing more happens for a while. */
static void run_to_the_end(void)
{
    assert_int_equal(sim_world_run(both_closed, NULL, sim_now_ns() + 100 * S), SIM_END_DONE);
    run_until(now() + 10 * S);
    assert_int_equal(seen[0].closes, 1);
    assert_true(seen[1].closes == 1 || !sim_is_alive(server));
}

/* In the actor. */
static void go_on(void *arg)
{
    struct seen *end = arg;
    cw_stream_pause(end->stream, false);
}

static void look(void *arg)
{
    struct seen *end = arg;
    end->queued = cw_stream_queued(end->stream);
}

static size_t queued_at(struct sim_actor *actor, struct seen *end, int64_t when)
{
    sim_at(actor, begun + when, look, end);
    run_until(when + MS);
    return end->queued;
}

/* ---- tests ---- */

static void cut_in_the_middle_of_a_message(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        begin(seed, &(struct plan){.method = "/t.T/Sink", .n = 2, .size = 2000000});
        run_until(300 * MS); /* the first takes 200, the second is on its way */
        assert_int_equal(net_cut(client, server), 1);
        run_to_the_end();
        assert_int_equal(seen[1].got, 1);
        assert_int_equal(seen[0].code, CW_E_UNAVAILABLE);
        assert_int_equal(seen[1].code, CW_E_UNAVAILABLE);
        assert_non_null(strstr(seen[0].msg, ADDRESS));
        assert_int_equal(net_connections(), 0);
        sim_world_end();
    }
}

/* On a host that lives the kernel closes what a dead process had open. */
static void a_killed_server_is_heard_of_at_once(void **state)
{
    (void)state;
    begin(1, &(struct plan){.method = "/t.T/Sink", .n = 1, .size = 100});
    run_until(S);
    assert_int_equal(seen[1].got, 1);
    sim_kill(server);
    run_to_the_end();
    assert_int_equal(seen[0].code, CW_E_UNAVAILABLE);
    assert_true(seen[0].closed_at < S + 10 * MS);
    sim_world_end();
}

static void a_silent_peer_is_found_by_keepalive(void **state)
{
    (void)state;
    begin(1, &(struct plan){.method = "/t.T/Sink", .n = 1, .size = 100});
    run_until(S);
    net_host_down("server", true);
    sim_kill(server);
    run_to_the_end();
    assert_int_equal(seen[0].code, CW_E_UNAVAILABLE);
    assert_true(seen[0].closed_at > 50 * S && seen[0].closed_at < 55 * S);
    sim_world_end();
}

/* The client hears the server, the server not the client: it gives up, and the client hears
 * that. */
static void a_partition_one_way(void **state)
{
    (void)state;
    begin(1, &(struct plan){.method = "/t.T/Sink", .n = 100, .size = 100000});
    run_until(500 * MS);
    uint32_t got = seen[1].got;
    assert_true(got > 0 && got < 100);
    net_partition("client", "server");
    run_until(20 * S);
    uint32_t later = seen[1].got;
    assert_int_equal(later, got);
    assert_true(queued_at(client, &seen[0], 21 * S) > 0);
    run_to_the_end();
    assert_int_equal(seen[1].got, later);
    assert_int_equal(seen[0].code, CW_E_UNAVAILABLE);
    assert_int_equal(seen[1].code, CW_E_UNAVAILABLE);
    assert_true(seen[1].closed_at > 50 * S && seen[1].closed_at < 55 * S);
    assert_true(seen[0].closed_at < seen[1].closed_at + 10 * MS);
    sim_world_end();
}

/* What was sent while nothing passed comes when it passes again. */
/* A host that has crashed and is up again knows of no connection: it says so when it hears of one. */
static void a_host_that_is_up_again_knows_nothing(void **state)
{
    (void)state;
    begin(1, &(struct plan){.method = "/t.T/Sink", .n = 100, .size = 100000});
    run_until(500 * MS);
    net_host_down("server", true);
    sim_kill(server);
    run_until(3 * S);
    assert_int_equal(seen[0].closes, 0);
    net_host_down("server", false);
    run_to_the_end();
    assert_int_equal(seen[0].code, CW_E_UNAVAILABLE);
    assert_true(seen[0].closed_at > 3 * S && seen[0].closed_at < 7 * S);
    sim_world_end();
}

static void a_short_partition_loses_nothing(void **state)
{
    (void)state;
    begin(1, &(struct plan){.method = "/t.T/Sink", .n = 100, .size = 100000, .finishes = true});
    run_until(500 * MS);
    net_partition(NULL, "server");
    net_partition("server", NULL);
    run_until(8 * S);
    assert_int_equal(seen[1].closes, 0);
    net_heal_all();
    run_to_the_end();
    assert_int_equal(seen[1].got, 100);
    assert_int_equal(seen[0].code, 0);
    assert_int_equal(seen[1].code, 0);
    sim_world_end();
}

static void flow_control_stands_and_goes_on(void **state)
{
    (void)state;
    begin(1,
          &(struct plan){
              .method = "/t.T/Sink", .n = 200, .size = 100000, .paused = true, .finishes = true});
    size_t queued = queued_at(client, &seen[0], 10 * S);
    assert_true(queued > 10000000);
    assert_int_equal(queued_at(client, &seen[0], 40 * S), queued);
    assert_int_equal(seen[1].got, 0);
    assert_true(net_held(server).unread > 0);
    assert_int_equal(seen[0].lows, 0);
    sim_at(server, sim_now_ns(), go_on, &seen[1]);
    run_to_the_end();
    assert_int_equal(seen[1].got, 200);
    assert_int_equal(seen[0].lows, 1);
    assert_int_equal(net_held(server).unread, 0);
    assert_int_equal(seen[0].code, 0);
    assert_int_equal(seen[1].code, 0);
    sim_world_end();
}

static void too_large_a_message_ends_the_stream(void **state)
{
    (void)state;
    begin(1, &(struct plan){.method = "/t.T/Sink", .n = 1, .size = CW_RPC_CONTROL_MAX + 1});
    run_until(S);
    assert_int_equal(seen[0].closes, 1);
    assert_int_equal(seen[0].code, cw_err_from_grpc(8));
    assert_int_equal(seen[1].got, 0);
    sim_world_end();
    begin(1, &(struct plan){.method = "/t.T/Sink", .n = 1, .size = CW_RPC_CONTROL_MAX});
    run_until(60 * S);
    assert_int_equal(seen[1].got, 1);
    assert_int_equal(seen[0].closes, 0);
    sim_world_end();
}

static void a_server_dies_with_data_queued(void **state)
{
    uint32_t least = UINT32_MAX, most = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        begin(seed, &(struct plan){.method = "/t.T/Push", .n = 1000, .size = 10000});
        run_until(100 * MS);
        uint32_t before = seen[0].got;
        sim_kill(server);
        run_to_the_end();
        assert_int_equal(seen[0].code, CW_E_UNAVAILABLE);
        assert_true(seen[0].got < 1000);
        least = CW_MIN(least, seen[0].got - before);
        most = CW_MAX(most, seen[0].got - before);
        sim_world_end();
    }
    assert_true(most > least); /* the seed chooses how much still arrives */
}

/* The status comes after what was sent before it, also when that is not read at once. */
static void the_end_comes_after_all_messages(void **state)
{
    (void)state;
    begin(1,
          &(struct plan){
              .method = "/t.T/Push", .n = 200, .size = 1000, .paused = true, .code = CW_E_DENIED});
    run_until(5 * S);
    assert_int_equal(seen[0].closes, 0);
    assert_true(seen[0].got <= 1); /* one had been asked for */
    sim_at(client, sim_now_ns(), go_on, &seen[0]);
    run_to_the_end();
    assert_int_equal(seen[0].got, 200);
    assert_int_equal(seen[0].code, CW_E_DENIED);
    assert_string_equal(seen[0].msg, "so it is");
    sim_world_end();
}

static void nobody_answers(void **state)
{
    (void)state;
    begin(1, &(struct plan){.method = "/t.T/Sink", .n = 1, .size = 100});
    sim_kill(server);
    run_until(S); /* refused */
    assert_int_equal(seen[0].closes, 1);
    assert_int_equal(seen[0].code, CW_E_UNAVAILABLE);
    assert_non_null(strstr(seen[0].msg, "refused"));
    sim_world_end();
    begin(1, &(struct plan){.method = "/t.T/Sink", .n = 1, .size = 100});
    net_host_down("server", true);
    run_until(60 * S); /* silence: the attempt has a limit (src/rpc/channel_args.c) */
    assert_int_equal(seen[0].closes, 1);
    assert_int_equal(seen[0].code, CW_E_UNAVAILABLE);
    assert_true(seen[0].closed_at >= 3 * S && seen[0].closed_at < 4 * S);
    sim_world_end();
}

static void what_is_said_is_counted(void **state)
{
    struct net_count count;
    (void)state;
    begin(1, &(struct plan){.method = "/t.T/Sink", .n = 7, .size = 1000, .finishes = true});
    run_to_the_end();
    assert_true(net_count(0, &count));
    assert_string_equal(count.method, "/t.T/Sink");
    assert_true(count.to_server);
    assert_int_equal(count.messages, 7);
    assert_int_equal(count.bytes, 7000);
    net_count_reset();
    assert_true(net_count(0, &count));
    assert_int_equal(count.messages, 0);
    sim_world_end();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(cut_in_the_middle_of_a_message),
    cmocka_unit_test(a_killed_server_is_heard_of_at_once),
    cmocka_unit_test(a_silent_peer_is_found_by_keepalive),
    cmocka_unit_test(a_host_that_is_up_again_knows_nothing),
    cmocka_unit_test(a_partition_one_way),
    cmocka_unit_test(a_short_partition_loses_nothing),
    cmocka_unit_test(flow_control_stands_and_goes_on),
    cmocka_unit_test(too_large_a_message_ends_the_stream),
    cmocka_unit_test(a_server_dies_with_data_queued),
    cmocka_unit_test(the_end_comes_after_all_messages),
    cmocka_unit_test(nobody_answers),
    cmocka_unit_test(what_is_said_is_counted),
};
CW_TESTS_MAIN(tests)
