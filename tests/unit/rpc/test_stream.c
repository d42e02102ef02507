/* SPDX-License-Identifier: Apache-2.0 */
/* Streams between two ends in one process. */
#include <stdio.h>
#include <string.h>

#include "world.h"

static void send_bytes(struct cw_stream *stream, const void *p, size_t n)
{
    struct cw_buf *buf = cw_buf_copy(p, n);
    cw_stream_send(stream, &buf, 1);
    cw_buf_unref(buf);
}

static void test_sizes(void **state)
{
    static const size_t sizes[] = {0, 1, 100, 65536, 1u << 20, 8u << 20};
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    struct inbox inbox = {.world = &world};
    inbox.stream = cw_channel_stream(world.channel, "/test.S/Echo", &inbox_cb, &inbox);
    for (size_t i = 0; i < CW_ARRAY_LEN(sizes); i++) {
        struct cw_buf *buf = pattern_buf(sizes[i], (unsigned)i);
        cw_stream_send(inbox.stream, &buf, 1);
        inbox_wait_n(&inbox, i + 1);
        assert_int_equal(inbox.last->len, sizes[i]);
        assert_memory_equal(inbox.last->data, buf->data, buf->len);
        cw_buf_unref(buf);
    }
    assert_int_equal(cw_stream_queued(inbox.stream), 0);
    assert_non_null(strstr(cw_stream_peer(inbox.stream), "127.0.0.1"));
    cw_stream_finish(inbox.stream, 0, NULL);
    world_wait(&world, &inbox.closed);
    assert_int_equal(inbox.code, 0);
    inbox_fini(&inbox);
    world_close(&world);
}

/* One message of several buffers, and the buffers are let go. */
static int released;
static void on_release(void *arg, struct cw_buf *buf)
{
    (void)arg;
    (void)buf;
    __atomic_fetch_add(&released, 1, __ATOMIC_SEQ_CST);
}

static void test_pieces(void **state)
{
    static char text[] = "scatter and gather";
    struct world world;
    (void)state;
    released = 0;
    world_open(&world, "127.0.0.1:0");
    struct inbox inbox = {.world = &world};
    inbox.stream = cw_channel_stream(world.channel, "/test.S/Echo", &inbox_cb, &inbox);
    struct cw_buf *bufs[4] = {
        cw_buf_wrap(text, 8, on_release, NULL), cw_buf_wrap(text, 0, on_release, NULL),
        cw_buf_wrap(text + 8, 1, on_release, NULL), cw_buf_wrap(text + 9, 9, on_release, NULL)};
    cw_stream_send(inbox.stream, bufs, 4);
    for (size_t i = 0; i < 4; i++)
        cw_buf_unref(bufs[i]);
    inbox_wait_n(&inbox, 1);
    assert_int_equal(inbox.last->len, strlen(text));
    assert_memory_equal(inbox.last->data, text, strlen(text));
    inbox_fini(&inbox);
    world_close(&world);
    assert_int_equal(__atomic_load_n(&released, __ATOMIC_SEQ_CST), 4);
}

static void test_many_in_order(void **state)
{
    enum { N = 3000 };
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    struct inbox inbox = {.world = &world};
    inbox.stream = cw_channel_stream(world.channel, "/test.S/Echo", &inbox_cb, &inbox);
    for (uint32_t i = 0; i < N; i++)
        send_bytes(inbox.stream, &i, sizeof i);
    for (uint32_t i = 0; i < N; i += 500) {
        inbox_wait_n(&inbox, i + 1);
        uint32_t last;
        memcpy(&last, inbox.last->data, sizeof last);
        assert_int_equal(last, inbox.n - 1);
    }
    inbox_wait_n(&inbox, N);
    assert_int_equal(inbox.bytes, N * sizeof(uint32_t));
    inbox_fini(&inbox);
    world_close(&world);
}

static bool same_for_a_while(struct world *world, const struct cw_stream *stream)
{
    size_t before = cw_stream_queued(stream);
    struct result result;
    /* round trips on the same connection: time for anything that could move */
    for (int i = 0; i < 20; i++) {
        world_call(world, "/test.T/Echo", "x", 1, 60000, &result);
        result_fini(&result);
        if (cw_stream_queued(stream) != before)
            return false;
    }
    return true;
}

static void test_backpressure(void **state)
{
    enum { N = 64 };
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    struct inbox inbox = {.world = &world};
    inbox.stream = cw_channel_stream(world.channel, "/test.S/Quiet", &inbox_cb, &inbox);
    cw_stream_set_low(inbox.stream, 4u << 20);
    struct cw_buf *buf = pattern_buf(1u << 20, 0);
    for (int i = 0; i < N; i++)
        cw_stream_send(inbox.stream, &buf, 1);
    cw_buf_unref(buf);
    while (!same_for_a_while(&world, inbox.stream))
        ;
    /* flow control holds nearly all of it */
    assert_true(cw_stream_queued(inbox.stream) > (N / 2u) << 20);
    assert_int_equal(world.quiet_messages, 0);
    assert_int_equal(inbox.lows, 0);
    cw_stream_pause(world.quiet, false);
    cw_stream_finish(inbox.stream, 0, NULL);
    world_wait(&world, &inbox.closed);
    assert_int_equal(world.quiet_messages, N);
    assert_int_equal(inbox.lows, 1);
    assert_int_equal(inbox.code, 0);
    inbox_fini(&inbox);
    world_close(&world);
}

static void test_server_ends(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    struct inbox inbox = {.world = &world};
    inbox.stream = cw_channel_stream(world.channel, "/test.S/Echo", &inbox_cb, &inbox);
    send_bytes(inbox.stream, "one", 3);
    send_bytes(inbox.stream, "fail", 4);
    world_wait(&world, &inbox.closed);
    assert_int_equal(inbox.n, 1); /* what was queued before the end came */
    assert_int_equal(inbox.code, cw_err_from_grpc(8));
    assert_string_equal(inbox.msg, "asked to fail");
    send_bytes(inbox.stream, "after", 5); /* dropped */
    assert_int_equal(cw_stream_queued(inbox.stream), 0);
    inbox_fini(&inbox);

    struct inbox refused = {.world = &world};
    refused.stream = cw_channel_stream(world.channel, "/test.S/Refuse", &inbox_cb, &refused);
    world_wait(&world, &refused.closed);
    assert_int_equal(refused.code, CW_E_DENIED);
    assert_string_equal(refused.msg, "not you");
    inbox_fini(&refused);

    struct inbox unknown = {.world = &world};
    unknown.stream = cw_channel_stream(world.channel, "/test.S/None", &inbox_cb, &unknown);
    send_bytes(unknown.stream, "x", 1);
    world_wait(&world, &unknown.closed);
    assert_int_equal(unknown.code, CW_E_UNSUPPORTED);
    inbox_fini(&unknown);
    world_close(&world);
}

static void test_cancel_reaches_server(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    struct inbox inbox = {.world = &world};
    inbox.stream = cw_channel_stream(world.channel, "/test.S/Quiet", &inbox_cb, &inbox);
    while (!world.quiet)
        cw_loop_run(world.loop);
    inbox_fini(&inbox); /* not finished: cancels */
    world_wait(&world, &world.quiet_closed);
    assert_int_equal(world.quiet_code, CW_E_UNAVAILABLE);
    assert_false(inbox.closed);
    world_close(&world);
}

/* Finished, then freed: what is queued arrives all the same. */
static void test_finish_and_free(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    struct inbox inbox = {.world = &world};
    inbox.stream = cw_channel_stream(world.channel, "/test.S/Quiet", &inbox_cb, &inbox);
    while (!world.quiet)
        cw_loop_run(world.loop);
    cw_stream_pause(world.quiet, false);
    for (int i = 0; i < 10; i++)
        send_bytes(inbox.stream, "last words", 10);
    cw_stream_finish(inbox.stream, 0, NULL);
    inbox_fini(&inbox);
    world_wait(&world, &world.quiet_closed);
    assert_int_equal(world.quiet_messages, 10);
    assert_int_equal(world.quiet_code, 0);
    world_close(&world);
}

static void on_message_free(void *arg, struct cw_rpc_msg *msg)
{
    struct inbox *inbox = arg;
    (void)msg;
    cw_stream_free(inbox->stream);
    inbox->stream = NULL;
    inbox->got = true;
    world_poke(inbox->world);
}

static void test_free_in_callback(void **state)
{
    struct cw_stream_cb cb = inbox_cb;
    struct world world;
    (void)state;
    cb.on_message = on_message_free;
    world_open(&world, "127.0.0.1:0");
    for (int i = 0; i < 20; i++) {
        struct inbox inbox = {.world = &world};
        inbox.stream = cw_channel_stream(world.channel, "/test.S/Echo", &cb, &inbox);
        send_bytes(inbox.stream, "a", 1);
        send_bytes(inbox.stream, "b", 1);
        world_wait(&world, &inbox.got);
        assert_false(inbox.closed);
    }
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),           cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_many_in_order),   cmocka_unit_test(test_backpressure),
        cmocka_unit_test(test_server_ends),     cmocka_unit_test(test_cancel_reaches_server),
        cmocka_unit_test(test_finish_and_free), cmocka_unit_test(test_free_in_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
