/* SPDX-License-Identifier: Apache-2.0 */
/* The server side of a unary call: reads the request, passes it to the method, sends the one
 * answer. A call is freed when it is answered and no operation of it is in flight; gRPC reports its
 * end in a batch of its own (close_op). A call of this process (cw_server_ask) knows no gRPC: it is
 * freed when it is answered. */
#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "rpc/server_int.h"

struct cw_call {
    struct cw_server *server;
    struct cw_method method;
    size_t method_index, request_max;
    grpc_call *call;
    void *caller; /* what the gate has returned */
    struct cw_rpc_op close_op, recv_op, reply_op;
    size_t pending;
    bool answered;
    struct cw_door_guest guest;
    grpc_byte_buffer *request, *reply;
    int cancelled;
    cw_unary_fn *own; /* who gets the answer to a call of this process; NULL: it came by gRPC */
    void *own_arg;
};

static void put(struct cw_call *call)
{
    if (--call->pending > 0 || !call->answered)
        return;
    if (call->reply)
        grpc_byte_buffer_destroy(call->reply);
    grpc_call_unref(call->call);
    struct cw_server *server = call->server;
    cw_mem_free(call->caller);
    cw_mem_free(call);
    cw_server_leave(server);
}

static void on_closed(struct cw_rpc_op *op, bool ok)
{
    (void)ok;
    struct cw_call *call = CW_CONTAINER_OF(op, struct cw_call, close_op);
    if (call->guest.prev && !call->guest.reading) { /* It is over before it was its turn. */
        cw_door_leave(&call->server->door, &call->guest);
        cw_call_fail(call, CW_E_TIMEOUT, "the call is over");
    }
    put(call);
}

static void on_replied(struct cw_rpc_op *op, bool ok)
{
    (void)ok;
    put(CW_CONTAINER_OF(op, struct cw_call, reply_op));
}

static void start(struct cw_call *call, struct cw_rpc_op *op, const grpc_op *ops, size_t n)
{
    if (cw_rpc_op_start(op, call->call, ops, n))
        call->pending++;
}

const void *cw_call_caller(const struct cw_call *call)
{
    return call->caller;
}

static void answer(struct cw_call *call, grpc_status_code status, grpc_slice details)
{
    CW_ASSERT(!call->answered);
    call->answered = true;
    grpc_op ops[3] = {{.op = GRPC_OP_SEND_INITIAL_METADATA},
                      {.op = GRPC_OP_SEND_STATUS_FROM_SERVER},
                      {.op = GRPC_OP_SEND_MESSAGE}};
    ops[1].data.send_status_from_server.status = status;
    ops[1].data.send_status_from_server.status_details = &details;
    ops[2].data.send_message.send_message = call->reply;
    call->pending++; /* so that the call is not freed in here if no operation could be started */
    start(call, &call->reply_op, ops, call->reply ? 3 : 2);
    grpc_slice_unref(details);
    put(call);
}

/* Answers a call of this process, and frees it. */
static void answer_own(struct cw_call *call, struct cw_rpc_msg *reply, int code, const char *msg)
{
    struct cw_server *server = call->server;
    CW_ASSERT(!call->answered);
    call->answered = true;
    call->own(call->own_arg, reply, code, msg);
    cw_rpc_msg_unref(reply);
    cw_mem_free(call->caller);
    cw_mem_free(call);
    cw_server_leave(server);
}

static struct cw_rpc_msg *msg_of(struct cw_buf *const *bufs, size_t n)
{
    size_t bytes;
    return cw_rpc_msg_new(cw_rpc_buffer_new(bufs, n, &bytes));
}

void cw_call_reply_parts(struct cw_call *call, struct cw_buf *const *bufs, size_t n)
{
    size_t bytes;
    if (call->own) {
        answer_own(call, msg_of(bufs, n), 0, "");
        return;
    }
    call->reply = cw_rpc_buffer_new(bufs, n, &bytes);
    answer(call, GRPC_STATUS_OK, cw_rpc_status_details(0, NULL));
}

void cw_call_reply(struct cw_call *call, struct cw_buf *reply)
{
    cw_call_reply_parts(call, &reply, 1);
}

void cw_call_fail(struct cw_call *call, int code, const char *msg)
{
    if (code == 0)
        code = CW_E_INTERNAL;
    if (call->own) {
        answer_own(call, NULL, code, msg);
        return;
    }
    answer(call, (grpc_status_code)cw_err_to_grpc(code), cw_rpc_status_details(code, msg));
}

void cw_call_note_time(struct cw_call *call, int64_t ns)
{
    cw_server_note_later(call->server, call->method_index, ns);
}

static void take_request(struct cw_call *call)
{
    struct cw_rpc_msg *msg = cw_rpc_msg_new(call->request);
    call->request = NULL;
    size_t n = cw_rpc_msg_len(msg);
    if (n > call->request_max) {
        char text[96];
        snprintf(text, sizeof(text), "a request of %zu bytes: this method takes %zu", n,
                 call->request_max);
        cw_call_fail(call, CW_E_LIMIT, text);
    } else {
        int64_t begin = cw_clock_thread_cpu_ns();
        struct cw_server *server = call->server;
        size_t index = call->method_index;
        call->method.unary(call->method.arg, call, msg);
        cw_server_note_time(server, index, cw_clock_thread_cpu_ns() - begin);
    }
    cw_rpc_msg_unref(msg);
}

static void on_request(struct cw_rpc_op *op, bool ok)
{
    struct cw_call *call = CW_CONTAINER_OF(op, struct cw_call, recv_op);
    cw_door_leave(&call->server->door, &call->guest);
    if (ok && call->request) {
        take_request(call);
    } else {
        cw_call_fail(call, CW_E_INVALID, "the request is missing");
    }
    put(call);
}

static void read_request(void *arg)
{
    struct cw_call *call = arg;
    grpc_op recv = {.op = GRPC_OP_RECV_MESSAGE};
    recv.data.recv_message.recv_message = &call->request;
    start(call, &call->recv_op, &recv, 1);
}

static struct cw_call *call_new(struct cw_server *server, grpc_call *grpc)
{
    struct cw_rpc *rpc = cw_server_rpc(server);
    struct cw_call *call = CW_NEW(struct cw_call);
    call->server = server;
    cw_server_enter(server);
    call->call = grpc;
    cw_rpc_op_init(&call->close_op, rpc, on_closed);
    cw_rpc_op_init(&call->recv_op, rpc, on_request);
    cw_rpc_op_init(&call->reply_op, rpc, on_replied);
    grpc_op close = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};
    close.data.recv_close_on_server.cancelled = &call->cancelled;
    start(call, &call->close_op, &close, 1);
    return call;
}

void cw_call_refuse(struct cw_server *server, grpc_call *grpc, grpc_status_code status,
                    const char *why)
{
    answer(call_new(server, grpc), status, cw_rpc_status_details(CW_E_DENIED, why));
}

void cw_call_serve(struct cw_server *server, grpc_call *grpc, const struct cw_method *method,
                   const char *path, void *caller)
{
    struct cw_call *call = call_new(server, grpc);
    call->caller = caller;
    if (!method) {
        cw_autofree char *msg = cw_mem_printf("there is no method %s here", path);
        cw_call_fail(call, CW_E_UNSUPPORTED, msg);
        return;
    }
    call->method = *method;
    call->method_index = cw_server_method_index(server, method);
    call->request_max = server->times[call->method_index].request_max;
    cw_autofree char *peer = cw_listener_peer(&server->listener, grpc);
    if (!cw_door_enter(&server->door, &call->guest, grpc, peer, read_request, call))
        cw_call_fail(call, CW_E_LIMIT, "too many calls wait to be read");
}

/* ---- calls of this process ---- */

static void run_own(struct cw_server *server, const struct cw_method *method, struct cw_call *call,
                    struct cw_buf *request)
{
    size_t index = cw_server_method_index(server, method);
    struct cw_rpc_msg *msg = msg_of(&request, 1);
    int64_t begin = cw_clock_thread_cpu_ns();
    cw_server_enter(server);
    method->unary(method->arg, call, msg);
    cw_server_note_time(server, index, cw_clock_thread_cpu_ns() - begin);
    cw_server_leave(server);
    cw_rpc_msg_unref(msg);
}

void cw_server_ask(struct cw_server *server, const struct cw_gate_question *question,
                   struct cw_buf *request, cw_unary_fn *fn, void *arg)
{
    void *caller = NULL;
    const char *why = "";
    const struct cw_method *method = cw_strmap_get(&server->by_path, question->method);
    if (server->stopping || !server->started || !method || !method->unary) {
        fn(arg, NULL, CW_E_UNAVAILABLE, "the server ends, or has no such method");
        return;
    }
    enum cw_gate answer =
        server->gate ? server->gate(server->gate_arg, question, &caller, &why) : CW_GATE_PASS;
    if (answer != CW_GATE_PASS) {
        bool is_refused = answer == CW_GATE_ASK || answer == CW_GATE_DENY;
        fn(arg, NULL, is_refused ? CW_E_DENIED : CW_E_UNAVAILABLE, why);
        return;
    }
    struct cw_call *call = CW_NEW(struct cw_call);
    *call = (struct cw_call){.server = server,
                             .method = *method,
                             .method_index = cw_server_method_index(server, method),
                             .caller = caller,
                             .own = fn,
                             .own_arg = arg};
    cw_server_enter(server);
    run_own(server, method, call, request);
}
