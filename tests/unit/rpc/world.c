/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "proto/descriptors.h"

/* ---- server's methods ---- */

static void handle_echo(void *arg, struct cw_call *call, struct cw_rpc_msg *msg)
{
    (void)arg;
    struct cw_buf *buf = cw_buf_new(cw_rpc_msg_len(msg));
    assert_int_equal(cw_rpc_msg_copy(msg, 0, buf->data, buf->len), 0);
    cw_call_reply(call, buf);
    cw_buf_unref(buf);
}

static void handle_fail(void *arg, struct cw_call *call, struct cw_rpc_msg *msg)
{
    (void)arg;
    (void)msg;
    cw_call_fail(call, CW_E_NOT_FOUND, "no such job: \"x\"\nnor \xc3\xa4");
}

static void handle_hold(void *arg, struct cw_call *call, struct cw_rpc_msg *msg)
{
    struct world *world = arg;
    (void)msg;
    if (world->too_late)
        cw_call_fail(call, CW_E_CANCELLED, "too late");
    else
        world->held = call;
    world_poke(world);
}

struct echo {
    struct cw_stream *stream;
};

static void on_echo_message(void *arg, struct cw_rpc_msg *msg)
{
    struct echo *echo = arg;
    struct cw_buf *buf = cw_buf_new(cw_rpc_msg_len(msg));
    assert_int_equal(cw_rpc_msg_copy(msg, 0, buf->data, buf->len), 0);
    if (buf->len == 4 && memcmp(buf->data, "fail", 4) == 0)
        cw_stream_finish(echo->stream, CW_E_LIMIT, "asked to fail");
    else
        cw_stream_send(echo->stream, &buf, 1);
    cw_buf_unref(buf);
}

static void on_echo_close(void *arg, int code, const char *msg)
{
    (void)code;
    (void)msg;
    struct echo *echo = arg;
    cw_stream_free(echo->stream);
    cw_mem_free(echo);
}

static void handle_echo_stream(void *arg, struct cw_stream *stream)
{
    static const struct cw_stream_cb cb = {.on_message = on_echo_message,
                                           .on_close = on_echo_close};
    (void)arg;
    struct echo *echo = CW_NEW(struct echo);
    echo->stream = stream;
    cw_stream_accept(stream, &cb, echo);
}

static void on_quiet_message(void *arg, struct cw_rpc_msg *msg)
{
    struct world *world = arg;
    (void)msg;
    world->quiet_messages++;
    world_poke(world);
}

static void on_quiet_close(void *arg, int code, const char *msg)
{
    struct world *world = arg;
    (void)msg;
    world->quiet_code = code;
    world->quiet_closed = true;
    cw_stream_free(world->quiet);
    world->quiet = NULL;
    world_poke(world);
}

static void handle_quiet(void *arg, struct cw_stream *stream)
{
    static const struct cw_stream_cb cb = {.on_message = on_quiet_message,
                                           .on_close = on_quiet_close};
    struct world *world = arg;
    world->quiet = stream;
    cw_stream_accept(stream, &cb, world);
    cw_stream_pause(stream, true);
    world_poke(world);
}

static void handle_refuse(void *arg, struct cw_stream *stream)
{
    (void)arg;
    cw_stream_finish(stream, CW_E_DENIED, "not you");
}

static void add_methods(struct world *world)
{
    const struct cw_method methods[] = {
        {.path = "/test.T/Echo", .unary = handle_echo, .arg = world},
        {.path = "/test.T/Fail", .unary = handle_fail, .arg = world},
        {.path = "/test.T/Hold", .unary = handle_hold, .arg = world},
        {.path = "/test.S/Echo", .stream = handle_echo_stream, .arg = world},
        {.path = "/test.S/Quiet", .stream = handle_quiet, .arg = world},
        {.path = "/test.S/Refuse", .stream = handle_refuse, .arg = world},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(methods); i++)
        cw_server_add(world->server, &methods[i]);
    cw_server_set_request_max(world->server, "/test.T/Echo", CW_RPC_CONTROL_MAX);
}

/* ---- world ---- */

static void on_guard(void *arg)
{
    (void)arg;
    fprintf(stderr, "nothing happened for a minute\n");
    cw_assert_failed("the test goes on", __FILE__, __LINE__);
}

void world_serve(struct world *world, const char *address)
{
    struct cw_err err = {0};
    world->stopped = false;
    world->server = cw_server_new(world->rpc);
    add_methods(world);
    if (world->gate)
        cw_server_set_gate(world->server, world->gate, world);
    cw_server_add_health(world->server);
    cw_server_add_reflection(world->server, cw_proto_descriptors, cw_proto_descriptors_n);
    int code =
        cw_server_listen(world->server, address, world->address, sizeof world->address, &err);
    if (code)
        fail_msg("%s", err.msg);
    cw_server_start(world->server);
}

void world_open(struct world *world, const char *address)
{
    world_open_tls(world, address, NULL);
}

void world_open_tls(struct world *world, const char *address, const struct cw_tls_options *tls)
{
    struct cw_err err = {0};
    *world = (struct world){0};
    world->loop = cw_loop_new();
    world->rpc = cw_rpc_new(world->loop);
    if (tls && cw_rpc_set_tls(world->rpc, tls, &err) != 0)
        fail_msg("%s", err.msg);
    world->guard = cw_timer_new(world->loop, on_guard, world);
    world_serve(world, address);
    world->channel = cw_channel_open(world->rpc, world->address);
}

static void on_stopped(void *arg)
{
    struct world *world = arg;
    world->stopped = true;
    world->server = NULL;
    world_poke(world);
}

void world_stop_server(struct world *world, int64_t grace_ms)
{
    cw_server_stop(world->server, grace_ms, on_stopped, world);
}

int world_listen(struct world *world, const char *address, struct cw_err *err)
{
    struct cw_server *server = cw_server_new(world->rpc);
    char text[256];
    *err = (struct cw_err){0};
    int code = cw_server_listen(server, address, text, sizeof text, err);
    bool stopped_before = world->stopped;
    struct cw_server *mine = world->server;
    world->server = server;
    world_stop_server(world, 0);
    world->stopped = false;
    world_wait(world, &world->stopped);
    world->stopped = stopped_before;
    world->server = mine;
    return code;
}

void world_close(struct world *world)
{
    cw_channel_close(world->channel);
    if (!world->stopped) {
        world_stop_server(world, 0);
        world_wait(world, &world->stopped);
    }
    cw_timer_free(world->guard);
    cw_rpc_free(world->rpc);
    cw_loop_free(world->loop);
}

void world_poke(struct world *world)
{
    cw_loop_stop(world->loop);
}

void world_wait(struct world *world, const bool *flag)
{
    cw_timer_start(world->guard, 60000, 0);
    while (!*flag)
        cw_loop_run(world->loop);
    cw_timer_stop(world->guard);
}

/* ---- calls ---- */

void result_of(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    struct result *result = arg;
    result->done = true;
    result->code = code;
    snprintf(result->msg, sizeof result->msg, "%s", msg);
    if (reply) {
        result->reply = cw_buf_new(cw_rpc_msg_len(reply));
        assert_int_equal(cw_rpc_msg_copy(reply, 0, result->reply->data, result->reply->len), 0);
    }
    world_poke(result->world);
}

void world_call(struct world *world, const char *method, const void *p, size_t n,
                int64_t timeout_ms, struct result *ret)
{
    *ret = (struct result){.world = world};
    struct cw_buf *buf = cw_buf_copy(p, n);
    cw_channel_unary(world->channel, method, buf, timeout_ms, result_of, ret);
    cw_buf_unref(buf);
    world_wait(world, &ret->done);
}

void result_fini(struct result *result)
{
    result->reply = cw_buf_unref(result->reply);
}

/* ---- streams ---- */

static void on_inbox_message(void *arg, struct cw_rpc_msg *msg)
{
    struct inbox *inbox = arg;
    inbox->n++;
    inbox->bytes += cw_rpc_msg_len(msg);
    cw_buf_unref(inbox->last);
    inbox->last = cw_buf_new(cw_rpc_msg_len(msg));
    assert_int_equal(cw_rpc_msg_copy(msg, 0, inbox->last->data, inbox->last->len), 0);
    inbox->got = true;
    world_poke(inbox->world);
}

static void on_inbox_low(void *arg)
{
    struct inbox *inbox = arg;
    inbox->lows++;
    world_poke(inbox->world);
}

static void on_inbox_close(void *arg, int code, const char *msg)
{
    struct inbox *inbox = arg;
    assert_false(inbox->closed);
    inbox->closed = true;
    inbox->code = code;
    snprintf(inbox->msg, sizeof inbox->msg, "%s", msg);
    world_poke(inbox->world);
}

const struct cw_stream_cb inbox_cb = {
    .on_message = on_inbox_message, .on_low = on_inbox_low, .on_close = on_inbox_close};

void inbox_fini(struct inbox *inbox)
{
    cw_stream_free(inbox->stream);
    inbox->stream = NULL;
    inbox->last = cw_buf_unref(inbox->last);
}

void inbox_wait_n(struct inbox *inbox, size_t n)
{
    while (inbox->n < n) {
        inbox->got = false;
        world_wait(inbox->world, &inbox->got);
    }
}

struct cw_buf *pattern_buf(size_t n, unsigned seed)
{
    struct cw_buf *buf = cw_buf_new(n);
    unsigned char *p = buf->data;
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)((i * 2654435761u + seed) >> 7);
    return buf;
}
