/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens in the metadata: who is asked shows one, nobody else does, and who is refused has not been
 * read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "world.h"

#define RIGHT "right-token-0123456789"
#define OTHER "other-token-0123456789"
#define OLD "older-token-0123456789"

static struct {
    size_t asked, without, with; /* questions, and those of them without and with a token */
    char last[64];               /* the token that was shown last */
    const char *rotated;         /* where OLD is replaced by RIGHT when it is shown; or NULL */
} seen;

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* Lets RIGHT do everything, OTHER nothing but Echo, and nobody else anything. */
static enum cw_gate gate(void *arg, const struct cw_gate_question *question, void **ret_caller,
                         const char **ret_why)
{
    (void)arg;
    seen.asked++;
    seen.without += question->token == NULL;
    seen.with += question->token != NULL;
    snprintf(seen.last, sizeof(seen.last), "%s", question->token ? question->token : "");
    assert_non_null(question->peer);
    if (seen.rotated && question->token && cw_str_eq(question->token, OLD))
        write_file(seen.rotated, RIGHT "\n");
    bool right = question->token && cw_str_eq(question->token, RIGHT);
    bool other = question->token && cw_str_eq(question->token, OTHER);
    if (right || (other && cw_str_eq(question->method, "/test.T/Echo"))) {
        *ret_caller = cw_mem_strdup(right ? "right" : "other");
        return CW_GATE_PASS;
    }
    *ret_why = other ? "not you" : "who are you";
    return other ? CW_GATE_DENY : CW_GATE_ASK;
}

static void open_world(struct world *world)
{
    memset(&seen, 0, sizeof(seen));
    world_open(world, "127.0.0.1:0");
    world_stop_server(world, 0);
    world_wait(world, &world->stopped);
    char address[256];
    snprintf(address, sizeof(address), "%s", world->address);
    world->gate = gate;
    world_serve(world, address);
}

static void call(struct world *world, const char *method, int expect)
{
    struct result result;
    world_call(world, method, "x", 1, 60000, &result);
    if (result.code != expect)
        fail_msg("%s: %d, %s", method, result.code, result.msg);
    assert_null(strstr(result.msg, RIGHT));
    if (expect == 0) { /* Echo: the second attempt has sent what the first one did */
        assert_int_equal(result.reply->len, 1);
        assert_memory_equal(result.reply->data, "x", 1);
    }
    result_fini(&result);
}

static void test_without_token(void **state)
{
    struct world world;
    (void)state;
    open_world(&world);
    call(&world, "/test.T/Echo", CW_E_DENIED);
    call(&world, "/test.T/Hold", CW_E_DENIED);
    call(&world, "/test.T/Nothing", CW_E_DENIED); /* nobody learns which methods there are */
    assert_null(world.held);
    assert_int_equal(seen.with, 0);
    world_close(&world);
}

static void test_right_token(void **state)
{
    struct world world;
    (void)state;
    open_world(&world);
    cw_channel_set_token(world.channel, RIGHT, NULL);
    call(&world, "/test.T/Echo", 0);
    assert_int_equal(seen.without, 1); /* it was asked, */
    assert_int_equal(seen.with, 1);    /* and asked itself no more */
    call(&world, "/test.T/Echo", 0);
    assert_int_equal(seen.without, 1);
    assert_string_equal(seen.last, RIGHT);
    call(&world, "/test.T/Nothing", CW_E_UNSUPPORTED);
    call(&world, "/test.T/Fail", CW_E_NOT_FOUND);
    world_close(&world);
}

/* Calls that are under way together are all refused without the token, and all made again with it. */
static void test_together(void **state)
{
    struct world world;
    struct result results[3];
    (void)state;
    open_world(&world);
    cw_channel_set_token(world.channel, RIGHT, NULL);
    for (size_t i = 0; i < CW_ARRAY_LEN(results); i++) {
        struct cw_buf *buf = cw_buf_copy("x", 1);
        results[i] = (struct result){.world = &world};
        cw_channel_unary(world.channel, "/test.T/Echo", buf, 60000, result_of, &results[i]);
        cw_buf_unref(buf);
    }
    for (size_t i = 0; i < CW_ARRAY_LEN(results); i++) {
        world_wait(&world, &results[i].done);
        assert_int_equal(results[i].code, 0);
        result_fini(&results[i]);
    }
    assert_int_equal(seen.without, CW_ARRAY_LEN(results));
    assert_int_equal(seen.with, CW_ARRAY_LEN(results));
    world_close(&world);
}

static void test_denied(void **state)
{
    struct world world;
    (void)state;
    open_world(&world);
    cw_channel_set_token(world.channel, OTHER, NULL);
    call(&world, "/test.T/Echo", 0);
    call(&world, "/test.T/Hold", CW_E_DENIED);
    cw_channel_set_token(world.channel, "wrong-token-0123456789", NULL);
    call(&world, "/test.T/Echo", CW_E_DENIED);
    assert_null(world.held);
    world_close(&world);
}

/* A server that does not ask sees no token. */
static void test_not_asked(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    cw_channel_set_token(world.channel, RIGHT, NULL);
    call(&world, "/test.T/Echo", 0);
    call(&world, "/test.S/Refuse", CW_E_DENIED);
    struct inbox inbox = {.world = &world};
    inbox.stream = cw_channel_stream(world.channel, "/test.S/Refuse", &inbox_cb, &inbox);
    world_wait(&world, &inbox.closed);
    assert_int_equal(inbox.code, CW_E_DENIED);
    assert_false(cw_channel_was_asked(world.channel)); /* "not you" asks for nothing */
    inbox_fini(&inbox);
    world_close(&world);
}

static void open_stream(struct world *world, struct inbox *inbox)
{
    *inbox = (struct inbox){.world = world};
    inbox->stream = cw_channel_stream(world->channel, "/test.S/Echo", &inbox_cb, inbox);
    struct cw_buf *buf = cw_buf_copy("hello", 5);
    cw_stream_send(inbox->stream, &buf, 1);
    cw_buf_unref(buf);
}

static void test_stream(void **state)
{
    struct world world;
    struct inbox inbox;
    (void)state;
    open_world(&world);
    cw_channel_set_token(world.channel, RIGHT, NULL);
    open_stream(&world, &inbox);
    world_wait(&world, &inbox.closed);
    assert_int_equal(inbox.code, CW_E_DENIED);
    assert_int_equal(inbox.n, 0);
    inbox_fini(&inbox);
    assert_true(cw_channel_was_asked(world.channel));
    assert_false(cw_channel_was_asked(world.channel));
    open_stream(&world, &inbox);
    inbox_wait_n(&inbox, 1);
    inbox_fini(&inbox);
    world_close(&world);
}

/* A file is read for each call, and its errors are told. */
static void test_file(void **state)
{
    struct world world;
    struct result result;
    char path[] = "/tmp/cw_test_gate_XXXXXX";
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    open_world(&world);
    write_file(path, OTHER "\n");
    cw_channel_set_token(world.channel, NULL, path);
    call(&world, "/test.T/Echo", 0);
    call(&world, "/test.T/Fail", CW_E_DENIED);
    write_file(path, RIGHT "\n");
    call(&world, "/test.T/Fail", CW_E_NOT_FOUND);
    remove(path);
    world_call(&world, "/test.T/Fail", "x", 1, 60000, &result);
    assert_int_equal(result.code, CW_E_DENIED);
    assert_non_null(strstr(result.msg, path));
    result_fini(&result);
    world_close(&world);
}

/* The token is replaced while the old one is under way: another attempt shows the new one. */
static void test_rotated(void **state)
{
    struct world world;
    struct inbox inbox;
    char path[] = "/tmp/cw_test_gate_XXXXXX";
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    open_world(&world);
    write_file(path, RIGHT "\n");
    cw_channel_set_token(world.channel, NULL, path);
    call(&world, "/test.T/Echo", 0); /* it was asked */
    seen.rotated = path;
    write_file(path, OLD "\n");
    call(&world, "/test.T/Echo", 0);
    assert_string_equal(seen.last, RIGHT);
    write_file(path, OLD "\n");
    open_stream(&world, &inbox);
    world_wait(&world, &inbox.closed);
    assert_int_equal(inbox.code, CW_E_DENIED);
    inbox_fini(&inbox);
    assert_true(cw_channel_was_asked(world.channel));
    open_stream(&world, &inbox);
    inbox_wait_n(&inbox, 1);
    inbox_fini(&inbox);
    /* One that stays wrong is refused. */
    seen.rotated = NULL;
    write_file(path, OLD "\n");
    call(&world, "/test.T/Echo", CW_E_DENIED);
    assert_false(cw_channel_was_asked(world.channel));
    remove(path);
    world_close(&world);
}

static struct {
    size_t n, bytes;
    int code;
    char first;
} answered;

static void on_answer(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    (void)arg;
    assert_non_null(msg);
    answered.n++;
    answered.code = code;
    answered.bytes = reply ? cw_rpc_msg_len(reply) : 0;
    if (reply)
        assert_int_equal(cw_rpc_msg_copy(reply, 0, &answered.first, 1), 0);
}

static void ask(struct world *world, const char *method, const char *token, int expect)
{
    const struct cw_gate_question question = {.method = method, .token = token, .peer = "here"};
    struct cw_buf *request = cw_buf_copy("x", 1);
    size_t before = answered.n;
    cw_server_ask(world->server, &question, request, on_answer, NULL);
    cw_buf_unref(request);
    assert_int_equal(answered.n, before + 1);
    assert_int_equal(answered.code, expect);
}

/* The own process is asked for its token as well, and gets the same answers. */
static void test_own_process(void **state)
{
    struct world world;
    (void)state;
    open_world(&world);
    ask(&world, "/test.T/Echo", NULL, CW_E_DENIED);
    ask(&world, "/test.T/Echo", "wrong-token-0123456789", CW_E_DENIED);
    ask(&world, "/test.T/Hold", OTHER, CW_E_DENIED);
    assert_null(world.held);
    ask(&world, "/test.T/Echo", OTHER, 0);
    assert_int_equal(answered.bytes, 1);
    assert_int_equal(answered.first, 'x');
    ask(&world, "/test.T/Fail", RIGHT, CW_E_NOT_FOUND);
    ask(&world, "/test.T/Nothing", RIGHT, CW_E_UNAVAILABLE);
    ask(&world, "/test.S/Echo", RIGHT, CW_E_UNAVAILABLE);
    assert_int_equal(seen.asked, 5); /* not for methods that there are not */
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_token), cmocka_unit_test(test_right_token),
        cmocka_unit_test(test_together),      cmocka_unit_test(test_denied),
        cmocka_unit_test(test_not_asked),     cmocka_unit_test(test_stream),
        cmocka_unit_test(test_file),          cmocka_unit_test(test_rotated),
        cmocka_unit_test(test_own_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
