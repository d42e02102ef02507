/* SPDX-License-Identifier: Apache-2.0 */
/* Unary calls, and what goes wrong with them. */
#include <string.h>

#include "world.h"

static void test_echo(void **state)
{
    static const size_t sizes[] = {0, 1, 5000, 5u << 20};
    struct world world;
    struct result result;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    for (size_t i = 0; i < CW_ARRAY_LEN(sizes); i++) {
        struct cw_buf *buf = pattern_buf(sizes[i], 3);
        world_call(&world, "/test.T/Echo", buf->data, buf->len, 60000, &result);
        assert_int_equal(result.code, 0);
        assert_int_equal(result.reply->len, sizes[i]);
        assert_memory_equal(result.reply->data, buf->data, buf->len);
        result_fini(&result);
        cw_buf_unref(buf);
    }
    world_close(&world);
}

static void test_failures(void **state)
{
    struct world world;
    struct result result;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    world_call(&world, "/test.T/Fail", "x", 1, 60000, &result);
    assert_int_equal(result.code, CW_E_NOT_FOUND);
    assert_string_equal(result.msg, "no such job: \"x\"\nnor \xc3\xa4");
    assert_null(result.reply);

    world_call(&world, "/test.T/Nothing", "x", 1, 600000, &result);
    assert_int_equal(result.code, CW_E_UNSUPPORTED);
    assert_non_null(strstr(result.msg, "/test.T/Nothing"));
    assert_non_null(strstr(result.msg, world.address));

    world_call(&world, "/test.T/Hold", "x", 1, 50, &result);
    assert_int_equal(result.code, CW_E_TIMEOUT);
    assert_non_null(strstr(result.msg, world.address));
    world.too_late = true; /* the deadline may have passed before it arrived */
    if (world.held)
        cw_call_fail(world.held, CW_E_CANCELLED, "too late");
    world_close(&world);
}

static void test_too_large(void **state)
{
    struct world world;
    struct result result;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    struct cw_buf *buf = cw_buf_new(CW_RPC_CONTROL_MAX + 1);
    memset(buf->data, 0, buf->len);
    result = (struct result){.world = &world};
    cw_channel_unary(world.channel, "/test.T/Echo", buf, 60000, result_of, &result);
    cw_buf_unref(buf);
    world_wait(&world, &result.done);
    assert_int_equal(result.code, cw_err_from_grpc(8));
    world_close(&world);
}

/* A call whose channel is closed says nothing more. */
static void test_closed_channel(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    struct result result = {.world = &world};
    struct cw_buf *buf = cw_buf_copy("x", 1);
    struct cw_channel *other = cw_channel_open(world.rpc, world.address);
    cw_channel_unary(other, "/test.T/Echo", buf, 60000, result_of, &result);
    cw_channel_close(other);
    cw_buf_unref(buf);
    world_call(&world, "/test.T/Echo", "y", 1, 60000, &result);
    assert_int_equal(result.code, 0);
    result_fini(&result);
    world_close(&world);
}

static void test_bad_address(void **state)
{
    static const char *const addresses[] = {"nonsense", "127.0.0.1:99999", "::1:80", "unix:"};
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    for (size_t i = 0; i < CW_ARRAY_LEN(addresses); i++) {
        struct inbox inbox = {.world = &world};
        struct cw_channel *channel = cw_channel_open(world.rpc, addresses[i]);
        inbox.stream = cw_channel_stream(channel, "/test.S/Echo", &inbox_cb, &inbox);
        world_wait(&world, &inbox.closed);
        assert_int_equal(inbox.code, CW_E_INVALID);
        assert_non_null(strstr(inbox.msg, addresses[i]));
        inbox_fini(&inbox);
        cw_channel_close(channel);
    }
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_echo),        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_too_large),   cmocka_unit_test(test_closed_channel),
        cmocka_unit_test(test_bad_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
