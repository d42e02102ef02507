/* SPDX-License-Identifier: Apache-2.0 */
/* The server. It keeps some requests for "any call" posted with gRPC and dispatches each call that
 * arrives by its path. (If methods were registered with gRPC, calls to unknown paths would hang
 * until the client's deadline.) A server that stops refuses new calls, waits for the grace period,
 * cancels the calls that are still open, and is freed when gRPC reports that it has shut down and
 * the last call has ended (server_ref.c). */
#include "rpc/rpc.h"

#include <grpc/support/alloc.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "rpc/gate.h"
#include "rpc/server_int.h"

/* ---- making a server ---- */

static void on_incoming(struct cw_rpc_op *op, bool ok);
static void on_shut(struct cw_rpc_op *op, bool ok);

struct cw_server *cw_server_new(struct cw_rpc *rpc)
{
    CW_ASSERT(!rpc->relay);
    struct cw_server *server = CW_NEW(struct cw_server);
    struct cw_rpc_args args;
    cw_rpc_args_server(&args, rpc->small, rpc->received_max, &server->listener.acceptor);
    server->rpc = rpc;
    cw_door_init(&server->door, rpc->loop);
    server->server = grpc_server_create(&args.args, NULL);
    cw_listener_init(&server->listener, rpc->loop, server->server);
    grpc_server_register_completion_queue(server->server, rpc->queue, NULL);
    cw_rpc_op_init(&server->shut_op, rpc, on_shut);
    rpc->objects++;
    return server;
}

void cw_server_add(struct cw_server *server, const struct cw_method *method)
{
    CW_ASSERT(!server->started && (!method->unary != !method->stream));
    CW_GROW(server->methods, server->methods_n, server->methods_cap);
    struct cw_method *mine = &server->methods[server->methods_n++];
    *mine = *method;
    mine->path = cw_mem_strdup(method->path);
    server->times = cw_mem_grow(server->times, server->methods_n, sizeof(*server->times));
    server->times[server->methods_n - 1] = (struct cw_method_stat){.request_max = CW_REQUEST_MAX};
}

void cw_server_add_part(struct cw_server *server, struct cw_server_part *part)
{
    part->next = server->parts;
    server->parts = part;
}

/* Gets "pkg.Service" from "/pkg.Service/Method"; returns false if the path has another form. */
static bool service_of(const char *path, char *ret_name, size_t cap)
{
    const char *slash = path[0] == '/' ? strchr(path + 1, '/') : NULL;
    if (!slash || (size_t)(slash - path) > cap)
        return false;
    snprintf(ret_name, cap, "%.*s", (int)(slash - path - 1), path + 1);
    return true;
}

static bool is_first_of(const struct cw_server *server, size_t method, const char *name)
{
    char other[256];
    for (size_t i = 0; i < method; i++)
        if (service_of(server->methods[i].path, other, sizeof other) && cw_str_eq(other, name))
            return false;
    return true;
}

bool cw_server_next_service(const struct cw_server *server, size_t *i, char *ret_name, size_t cap)
{
    while (*i < server->methods_n) {
        size_t at = (*i)++;
        if (service_of(server->methods[at].path, ret_name, cap) &&
            is_first_of(server, at, ret_name))
            return true;
    }
    return false;
}

bool cw_server_has_service(const struct cw_server *server, const char *name)
{
    char other[256];
    for (size_t i = 0; cw_server_next_service(server, &i, other, sizeof other);)
        if (cw_str_eq(other, name))
            return true;
    return false;
}

int cw_server_listen(struct cw_server *server, const char *address, char *ret_address, size_t cap,
                     struct cw_err *err)
{
    int code = cw_rpc_address_check(address, err);
    bool is_unix = cw_rpc_address_is_unix(address);
    if (code == 0 && is_unix)
        code = cw_rpc_address_clear(address, err);
    if (code)
        return code;
    int port = cw_listener_open(&server->listener, address, server->rpc->tls, err);
    if (port < 0)
        return port;
    int host_n = (int)(strrchr(address, ':') - address);
    if (is_unix)
        snprintf(ret_address, cap, "%s", address);
    else
        snprintf(ret_address, cap, "%.*s:%d", host_n, address, port);
    return 0;
}

/* ---- serving ---- */

static void post(struct cw_incoming *in)
{
    struct cw_server *server = in->server;
    struct cw_rpc *rpc = server->rpc;
    grpc_call_details_init(&in->details);
    grpc_metadata_array_init(&in->md);
    in->call = NULL;
    cw_rpc_op_begin(&in->op);
    grpc_call_error error = grpc_server_request_call(server->server, &in->call, &in->details,
                                                     &in->md, rpc->queue, rpc->queue, &in->op);
    CW_ASSERT(error == GRPC_CALL_OK);
    server->posted++;
}

void cw_server_start(struct cw_server *server)
{
    CW_ASSERT(!server->started);
    server->started = true;
    for (size_t i = 0; i < server->methods_n; i++)
        cw_strmap_set(&server->by_path, server->methods[i].path, &server->methods[i]);
    grpc_server_start(server->server);
    for (size_t i = 0; i < CW_SERVER_INCOMING; i++) {
        server->incoming[i].server = server;
        cw_rpc_op_init(&server->incoming[i].op, server->rpc, on_incoming);
        post(&server->incoming[i]);
    }
    cw_listener_start(&server->listener);
}

static void dispatch(struct cw_server *server, grpc_call *call, const char *path, void *caller)
{
    const struct cw_method *method = cw_strmap_get(&server->by_path, path);
    if (method && method->stream)
        cw_stream_serve(server, call, method, caller);
    else
        cw_call_serve(server, call, method, path, caller);
}

void cw_server_ask_gate_again(struct cw_server *server, const char *token)
{
    cw_server_enter(server);
    cw_gate_ask_again(server, token, dispatch);
    cw_server_leave(server);
}

/* ---- stopping ---- */

static void on_incoming(struct cw_rpc_op *op, bool ok)
{
    struct cw_incoming *in = CW_CONTAINER_OF(op, struct cw_incoming, op);
    struct cw_server *server = in->server;
    server->posted--;
    grpc_call *call = in->call;
    char *path = ok ? grpc_slice_to_c_string(in->details.method) : NULL;
    void *caller = NULL;
    server->calls++; /* so that the server is not freed in here */
    bool passes = ok && cw_gate_passes(server, call, path, &in->md, &caller);
    grpc_call_details_destroy(&in->details);
    grpc_metadata_array_destroy(&in->md);
    if (ok) {
        if (!server->stopping) /* posting again during a shutdown would end in an endless loop */
            post(in);
        if (passes)
            dispatch(server, call, path, caller);
        gpr_free(path);
    }
    cw_server_leave(server);
}

static void on_shut(struct cw_rpc_op *op, bool ok)
{
    (void)ok;
    struct cw_server *server = CW_CONTAINER_OF(op, struct cw_server, shut_op);
    server->shut = true;
    cw_server_free_if_stopped(server);
}

static void on_grace_end(void *arg)
{
    struct cw_server *server = arg;
    grpc_server_cancel_all_calls(server->server);
}

void cw_server_stop(struct cw_server *server, int64_t grace_ms, cw_loop_fn *fn, void *arg)
{
    CW_ASSERT(!server->stopping);
    if (!server->started)
        cw_server_start(server);
    server->stopping = true;
    cw_listener_close(&server->listener);
    cw_gate_refuse_waiting(server);
    server->stopped = fn;
    server->arg = arg;
    for (struct cw_server_part *part = server->parts; part; part = part->next)
        if (part->stop)
            part->stop(part);
    cw_rpc_op_begin(&server->shut_op);
    grpc_server_shutdown_and_notify(server->server, server->rpc->queue, &server->shut_op);
    server->grace = cw_timer_new(server->rpc->loop, on_grace_end, server);
    if (grace_ms > 0)
        cw_timer_start(server->grace, grace_ms, 0);
    else
        grpc_server_cancel_all_calls(server->server);
}
