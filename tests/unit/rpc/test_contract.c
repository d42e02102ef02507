/* SPDX-License-Identifier: Apache-2.0 */
/* What rpc.h promises at the edges of a stream's life: the same of gRPC and of the simulated
 * network. */
#include <string.h>

#include "world.h"

static void send_bytes(struct cw_stream *stream, size_t n)
{
    struct cw_buf *buf = pattern_buf(n, 0);
    cw_stream_send(stream, &buf, 1);
    cw_buf_unref(buf);
}

static void open_quiet(struct world *world, struct inbox *inbox)
{
    world_open(world, "127.0.0.1:0");
    *inbox = (struct inbox){.world = world};
    inbox->stream = cw_channel_stream(world->channel, "/test.S/Quiet", &inbox_cb, inbox);
    while (!world->quiet)
        cw_loop_run(world->loop);
}

/* Round trips on the same connection: time for what could come. */
static void let_come(struct world *world)
{
    struct result result;
    for (int i = 0; i < 20; i++) {
        world_call(world, "/test.T/Echo", "x", 1, 60000, &result);
        result_fini(&result);
    }
}

/* The status waits for those who have not read all that was sent before it. */
static void test_end_waits_for_reader(void **state)
{
    struct world world;
    struct inbox inbox;
    (void)state;
    open_quiet(&world, &inbox);
    cw_stream_pause(inbox.stream, true);
    for (int i = 0; i < 10; i++)
        send_bytes(world.quiet, 100);
    cw_stream_finish(world.quiet, CW_E_DENIED, "enough");
    let_come(&world);
    assert_true(inbox.n <= 1); /* the one that was being waited for */
    assert_false(inbox.closed);
    cw_stream_pause(inbox.stream, false);
    world_wait(&world, &inbox.closed);
    assert_int_equal(inbox.n, 10);
    assert_int_equal(inbox.code, CW_E_DENIED);
    inbox_fini(&inbox);
    world_close(&world);
}

/* A client's end is the server's, too: what is queued still comes, what is sent later does not. */
static void test_half_close_ends_server(void **state)
{
    struct world world;
    struct inbox inbox;
    (void)state;
    open_quiet(&world, &inbox);
    cw_stream_pause(world.quiet, false);
    send_bytes(world.quiet, 100);
    cw_stream_finish(inbox.stream, 0, NULL);
    send_bytes(inbox.stream, 100); /* dropped */
    world_wait(&world, &inbox.closed);
    assert_int_equal(inbox.code, 0);
    assert_int_equal(inbox.n, 1);
    world_wait(&world, &world.quiet_closed);
    assert_int_equal(world.quiet_code, 0);
    assert_int_equal(world.quiet_messages, 0);
    inbox_fini(&inbox);
    world_close(&world);
}

/* A server's stream that is freed and was not finished. */
static void test_server_frees(void **state)
{
    struct world world;
    struct inbox inbox;
    (void)state;
    open_quiet(&world, &inbox);
    cw_stream_free(world.quiet);
    world.quiet = NULL;
    world_wait(&world, &inbox.closed);
    assert_int_equal(inbox.code, CW_E_CANCELLED);
    assert_false(world.quiet_closed);
    inbox_fini(&inbox);
    world_close(&world);
}

static void test_too_large_on_stream(void **state)
{
    struct world world;
    struct inbox inbox;
    (void)state;
    open_quiet(&world, &inbox);
    cw_stream_pause(world.quiet, false);
    send_bytes(inbox.stream, (size_t)CW_RPC_CONTROL_MAX + 1);
    world_wait(&world, &inbox.closed);
    assert_int_equal(inbox.code, cw_err_from_grpc(8));
    world_wait(&world, &world.quiet_closed);
    assert_int_equal(world.quiet_code, CW_E_UNAVAILABLE);
    assert_int_equal(world.quiet_messages, 0);
    inbox_fini(&inbox);
    world_close(&world);
}

/* The server has stopped with the stream open. */
static void test_stopped_server(void **state)
{
    struct world world;
    struct inbox inbox;
    (void)state;
    open_quiet(&world, &inbox);
    world_stop_server(&world, 0);
    world_wait(&world, &inbox.closed);
    assert_int_equal(inbox.code, CW_E_UNAVAILABLE);
    assert_non_null(strstr(inbox.msg, world.address));
    world_wait(&world, &world.stopped);
    assert_true(world.quiet_closed);
    assert_int_equal(world.quiet_code, CW_E_UNAVAILABLE);
    inbox_fini(&inbox);
    world_close(&world);
}

/* While a failed attempt is repeated calls fail at once; and each of them has the next attempt
 * begin, so that whoever calls again is served soon after the server is back. */
static void test_server_comes_back(void **state)
{
    struct world world;
    struct result result;
    char address[256];
    int refused = 0;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    memcpy(address, world.address, sizeof address);
    world_stop_server(&world, 0);
    world_wait(&world, &world.stopped);
    for (int i = 0; i < 3; i++) {
        world_call(&world, "/test.T/Echo", "x", 1, 60000, &result);
        assert_int_equal(result.code, CW_E_UNAVAILABLE);
    }
    world_serve(&world, address);
    do {
        world_call(&world, "/test.T/Echo", "x", 1, 60000, &result);
        result_fini(&result);
    } while (result.code == CW_E_UNAVAILABLE && ++refused < 100000);
    assert_int_equal(result.code, 0);
    world_close(&world);
}

/* Freed with messages that were queued and not finished: they may be lost, and nobody hears. */
static void test_nothing_after_free(void **state)
{
    struct world world;
    struct inbox inbox;
    (void)state;
    open_quiet(&world, &inbox);
    for (int i = 0; i < 100; i++)
        send_bytes(world.quiet, 1000);
    inbox_wait_n(&inbox, 1);
    cw_stream_free(inbox.stream);
    inbox.stream = NULL;
    size_t n = inbox.n;
    let_come(&world);
    world_wait(&world, &world.quiet_closed);
    assert_int_equal(world.quiet_code, CW_E_UNAVAILABLE);
    assert_int_equal(inbox.n, n);
    assert_false(inbox.closed);
    inbox_fini(&inbox);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end_waits_for_reader), cmocka_unit_test(test_half_close_ends_server),
        cmocka_unit_test(test_server_frees),         cmocka_unit_test(test_too_large_on_stream),
        cmocka_unit_test(test_stopped_server),       cmocka_unit_test(test_server_comes_back),
        cmocka_unit_test(test_nothing_after_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
