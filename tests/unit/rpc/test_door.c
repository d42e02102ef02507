/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that say nothing, requests that are too large, and peers that do not read. In virtual time
 * only: the limit is ten seconds. */
#include "base/limits.h"
#include "base/mem.h"
#include "world.h"

#define SILENT 100

/* More streams than may be read at a time say nothing. Others are answered all the while, also when
 * they come from the same host, and each silent one is ended. */
static void test_silent(void **state)
{
    static struct inbox silent[SILENT];
    struct world world;
    struct result result;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    for (size_t i = 0; i < SILENT; i++) {
        silent[i] = (struct inbox){.world = &world};
        silent[i].stream = cw_channel_stream(world.channel, "/test.S/Echo", &inbox_cb, &silent[i]);
    }
    world_call(&world, "/test.T/Echo", "y", 1, 60000, &result);
    assert_int_equal(result.code, 0);
    result_fini(&result);
    for (size_t i = 0; i < SILENT; i++) {
        world_wait(&world, &silent[i].closed);
        assert_int_equal(silent[i].code, CW_E_TIMEOUT);
        inbox_fini(&silent[i]);
    }
    struct cw_server_calls calls = cw_server_calls(world.server);
    assert_int_equal(calls.timed_out, SILENT);
    assert_int_equal(calls.silent, 0);
    world_call(&world, "/test.T/Echo", "y", 1, 60000, &result);
    assert_int_equal(result.code, 0);
    result_fini(&result);
    world_close(&world);
}

/* Who has spoken is not asked to speak again. */
static void test_spoken(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    struct inbox spoken = {.world = &world}, silent = {.world = &world};
    struct cw_buf *buf = cw_buf_copy("x", 1);
    spoken.stream = cw_channel_stream(world.channel, "/test.S/Echo", &inbox_cb, &spoken);
    cw_stream_send(spoken.stream, &buf, 1);
    cw_buf_unref(buf);
    silent.stream = cw_channel_stream(world.channel, "/test.S/Echo", &inbox_cb, &silent);
    world_wait(&world, &silent.closed);
    assert_false(spoken.closed);
    inbox_fini(&silent);
    inbox_fini(&spoken);
    world_close(&world);
}

/* A client sends and never reads, and its echo waits in the server: it is ended, and another client
 * is answered. */
static void test_unread(void **state)
{
    struct world world;
    struct result result;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    cw_server_set_queue_max(world.server, 8u << 20);
    struct inbox deaf = {.world = &world};
    struct cw_buf *buf = pattern_buf(1u << 20, 1);
    deaf.stream = cw_channel_stream(world.channel, "/test.S/Echo", &inbox_cb, &deaf);
    cw_stream_pause(deaf.stream, true);
    for (size_t i = 0; i < 64; i++)
        cw_stream_send(deaf.stream, &buf, 1);
    cw_buf_unref(buf);
    while (cw_stream_queued(deaf.stream) > 0) {
        world_call(&world, "/test.T/Echo", "y", 1, 60000, &result);
        assert_int_equal(result.code, 0);
        result_fini(&result);
    }
    cw_stream_pause(deaf.stream, false);
    world_wait(&world, &deaf.closed);
    assert_int_equal(deaf.code, CW_E_LIMIT);
    assert_true(deaf.n < 64);
    inbox_fini(&deaf);
    world_close(&world);
}

static void look_for_end(void *arg)
{
    struct world *world = arg;
    if (cw_server_calls(world->server).open == 0)
        world_poke(world);
    world->quiet_closed = cw_server_calls(world->server).open == 0;
}

/* The server ends the stream of a client that reads nothing: what waited for it is given back although
 * it stays. */
static void test_end_unread(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    struct inbox deaf = {.world = &world};
    struct cw_buf *buf = pattern_buf(1u << 20, 1), *last = cw_buf_copy("fail", 4);
    deaf.stream = cw_channel_stream(world.channel, "/test.S/Echo", &inbox_cb, &deaf);
    cw_stream_pause(deaf.stream, true);
    for (size_t i = 0; i < 8; i++)
        cw_stream_send(deaf.stream, &buf, 1);
    cw_stream_send(deaf.stream, &last, 1);
    cw_buf_unref(buf);
    cw_buf_unref(last);
    struct cw_timer *timer = cw_timer_new(world.loop, look_for_end, &world);
    cw_timer_start(timer, 100, 100);
    world_wait(&world, &world.quiet_closed);
    assert_true(deaf.n < 8);
    cw_timer_free(timer);
    inbox_fini(&deaf);
    world_close(&world);
}

static void test_large_request(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    for (size_t more = 0; more < 2; more++) {
        struct result result;
        cw_autofree char *bytes = cw_mem_new(CW_REQUEST_MAX + more);
        world_call(&world, "/test.T/Fail", bytes, CW_REQUEST_MAX + more, 60000, &result);
        assert_int_equal(result.code, more ? CW_E_LIMIT : CW_E_NOT_FOUND);
        result_fini(&result);
    }
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silent), cmocka_unit_test(test_spoken), cmocka_unit_test(test_unread),
        cmocka_unit_test(test_end_unread), cmocka_unit_test(test_large_request)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
