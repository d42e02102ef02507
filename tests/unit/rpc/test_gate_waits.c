/* SPDX-License-Identifier: Apache-2.0 */
/* A gate that has to ask somebody: calls wait, unread, until it is asked again, and go on then, or are
 * refused. */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "world.h"

#define SLOW "slow-token-0123456789"
#define OTHER "other-token-0123456789"

static struct {
    enum cw_gate answer; /* about those who show a token */
    size_t later;        /* times that it was LATER */
    bool all_wait;       /* set when `wanted` calls wait */
    size_t wanted;
} now;

static enum cw_gate gate(void *arg, const struct cw_gate_question *question, void **ret_caller,
                         const char **ret_why)
{
    *ret_why = "ask again";
    if (!question->token)
        return CW_GATE_ASK;
    if (now.answer == CW_GATE_LATER) {
        now.all_wait = ++now.later == now.wanted;
        world_poke(arg);
    } else if (now.answer == CW_GATE_PASS) {
        *ret_caller = cw_mem_strdup(question->token);
    }
    return now.answer;
}

static void open_world(struct world *world)
{
    memset(&now, 0, sizeof(now));
    now.answer = CW_GATE_LATER;
    world_open(world, "127.0.0.1:0");
    world_stop_server(world, 0);
    world_wait(world, &world->stopped);
    char address[256];
    snprintf(address, sizeof(address), "%s", world->address);
    world->gate = gate;
    world_serve(world, address);
    cw_channel_set_token(world->channel, SLOW, NULL);
}

/* Begins a call and waits until it waits. */
static void begin_call(struct world *world, const char *method, struct result *result)
{
    struct cw_buf *buf = cw_buf_copy("x", 1);
    *result = (struct result){.world = world};
    now.all_wait = false;
    now.wanted = now.later + 1;
    cw_channel_unary(world->channel, method, buf, 60000, result_of, result);
    cw_buf_unref(buf);
    world_wait(world, &now.all_wait);
    assert_false(result->done);
}

static void decide(struct world *world, enum cw_gate answer, const char *token)
{
    now.answer = answer;
    cw_server_ask_gate_again(world->server, token);
}

static void expect(struct world *world, struct result *result, int code)
{
    world_wait(world, &result->done);
    if (result->code != code)
        fail_msg("%d %s", result->code, result->msg);
    result_fini(result);
}

static void passes_later(void **state)
{
    struct world world;
    struct result result;
    (void)state;
    open_world(&world);
    begin_call(&world, "/test.T/Echo", &result);
    assert_null(world.held);
    decide(&world, CW_GATE_PASS, SLOW);
    expect(&world, &result, 0);
    /* What is known is not asked again. */
    world_call(&world, "/test.T/Echo", "x", 1, 60000, &result);
    assert_int_equal(result.code, 0);
    assert_int_equal(now.later, 1);
    result_fini(&result);
    world_close(&world);
}

static void is_refused_later(void **state)
{
    static const struct {
        enum cw_gate answer;
        int code;
    } cases[] = {
        {CW_GATE_ASK, CW_E_DENIED}, {CW_GATE_DENY, CW_E_DENIED}, {CW_GATE_AWAY, CW_E_UNAVAILABLE}};
    struct world world;
    struct result result;
    (void)state;
    open_world(&world);
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        now.answer = CW_GATE_LATER;
        begin_call(&world, "/test.T/Hold", &result);
        decide(&world, cases[i].answer, SLOW);
        expect(&world, &result, cases[i].code);
        assert_null(world.held);
    }
    world_close(&world);
}

/* Only those who show the token that is known now are asked about. */
static void each_by_its_token(void **state)
{
    struct world world;
    struct result one, two;
    (void)state;
    open_world(&world);
    begin_call(&world, "/test.T/Echo", &one);
    cw_channel_set_token(world.channel, OTHER, NULL);
    begin_call(&world, "/test.T/Fail", &two);
    decide(&world, CW_GATE_PASS, OTHER);
    expect(&world, &two, CW_E_NOT_FOUND);
    assert_false(one.done);
    decide(&world, CW_GATE_LATER, SLOW); /* it is not known yet */
    assert_int_equal(now.later, 3);
    assert_false(one.done);
    decide(&world, CW_GATE_PASS, SLOW);
    expect(&world, &one, 0);
    decide(&world, CW_GATE_PASS, SLOW); /* nobody waits */
    world_close(&world);
}

static void streams_wait(void **state)
{
    struct world world;
    struct inbox inbox = {.world = &world};
    (void)state;
    open_world(&world);
    now.wanted = 1;
    inbox.stream = cw_channel_stream(world.channel, "/test.S/Echo", &inbox_cb, &inbox);
    world_wait(&world, &inbox.closed); /* it was asked for the token */
    inbox_fini(&inbox);
    assert_true(cw_channel_was_asked(world.channel));
    inbox = (struct inbox){.world = &world};
    inbox.stream = cw_channel_stream(world.channel, "/test.S/Echo", &inbox_cb, &inbox);
    struct cw_buf *buf = cw_buf_copy("hello", 5);
    cw_stream_send(inbox.stream, &buf, 1);
    cw_buf_unref(buf);
    world_wait(&world, &now.all_wait);
    assert_int_equal(inbox.n, 0);
    decide(&world, CW_GATE_PASS, SLOW);
    inbox_wait_n(&inbox, 1);
    inbox_fini(&inbox);
    world_close(&world);
}

/* A server that ends leaves nobody waiting, and is freed. */
static void ends_meanwhile(void **state)
{
    struct world world;
    struct result result;
    (void)state;
    open_world(&world);
    begin_call(&world, "/test.T/Echo", &result);
    world_stop_server(&world, 0);
    expect(&world, &result, CW_E_UNAVAILABLE);
    world_wait(&world, &world.stopped);
    world_close(&world);
}

/* Who waits may go: the answer then finds nobody. */
static void caller_goes(void **state)
{
    struct world world;
    struct result result;
    (void)state;
    open_world(&world);
    begin_call(&world, "/test.T/Echo", &result);
    cw_channel_close(world.channel);
    decide(&world, CW_GATE_PASS, SLOW);
    world.channel = cw_channel_open(world.rpc, world.address);
    cw_channel_set_token(world.channel, SLOW, NULL);
    world_call(&world, "/test.T/Echo", "x", 1, 60000, &result);
    assert_int_equal(result.code, 0);
    result_fini(&result);
    world_close(&world);
}

static int own_code;

static void on_answer(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    (void)arg;
    (void)reply;
    assert_non_null(msg);
    own_code = code;
}

/* A call of this process does not wait. */
static void own_process(void **state)
{
    const struct cw_gate_question question = {
        .method = "/test.T/Echo", .token = SLOW, .peer = "here"};
    struct world world;
    struct cw_buf *request = cw_buf_copy("x", 1);
    (void)state;
    open_world(&world);
    cw_server_ask(world.server, &question, request, on_answer, NULL);
    assert_int_equal(own_code, CW_E_UNAVAILABLE);
    now.answer = CW_GATE_AWAY;
    cw_server_ask(world.server, &question, request, on_answer, NULL);
    assert_int_equal(own_code, CW_E_UNAVAILABLE);
    now.answer = CW_GATE_PASS;
    cw_server_ask(world.server, &question, request, on_answer, NULL);
    assert_int_equal(own_code, 0);
    cw_buf_unref(request);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_later),      cmocka_unit_test(is_refused_later),
        cmocka_unit_test(each_by_its_token), cmocka_unit_test(streams_wait),
        cmocka_unit_test(ends_meanwhile),    cmocka_unit_test(caller_goes),
        cmocka_unit_test(own_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
