/* SPDX-License-Identifier: Apache-2.0 */
/* Servers: addresses, connections, calls that wait to be asked for; stopping. */
#include "simulation/rpc/grpc_int.h"

#include <errno.h>
#include <grpc/slice.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "rpc/rpc_int.h"

struct request {
    struct request *next;
    grpc_call **call;
    grpc_call_details *details;
    grpc_metadata_array *md;
    grpc_completion_queue *queue;
    void *tag;
};
struct port {
    struct port *next;
    struct net_listener *listener;
};
struct early {
    struct early *next;
    struct net_end *end; /* NULL: it has gone */
};
struct grpc_server {
    grpc_server_credentials *creds; /* of its ports; NULL: it has none yet */
    struct settings settings;
    struct port *ports;
    struct early *early; /* connections that came before the start */
    struct transport *transports;
    struct request *requests, **requests_tail;
    struct offered *offered, **offered_tail; /* calls not asked for yet */
    bool started, stopping;
    grpc_completion_queue *stop_queue;
    void *stop_tag;
};
struct offered {
    struct offered *next;
    grpc_call *call;
};

/* ---- addresses ---- */

bool address_split(const char *address, char *ret_host, size_t cap, char *ret_path, size_t path_cap,
                   uint16_t *ret_port)
{
    static const char *const own[] = {"127.0.0.1", "localhost", "::1", "0.0.0.0", "::"};
    char host[CW_RPC_HOST_BYTES];
    const char *port;
    uint64_t number;
    ret_host[0] = ret_path[0] = '\0';
    *ret_port = 0;
    if (cw_rpc_address_is_unix(address)) {
        snprintf(ret_path, path_cap, "%s", cw_rpc_address_path(address));
        return true;
    }
    if (cw_rpc_address_split(address, host, &port, NULL) != 0 || strlen(host) >= cap ||
        !cw_str_to_u64(port, &number))
        return false;
    *ret_port = (uint16_t)number;
    for (size_t i = 0; i < CW_ARRAY_LEN(own); i++)
        if (cw_str_eq(host, own[i]))
            return true;
    snprintf(ret_host, cap, "%s", host);
    return true;
}

/* ---- why a server could not be bound: for src/rpc ---- */

int cw_rpc_address_clear(const char *address, struct cw_err *err)
{
    const char *path = cw_rpc_address_path(address);
    if (!net_find_listener(net_host_of(sim_self()), path, 0))
        return 0;
    return cw_err_set(err, CW_E_EXISTS, "%s: another process listens on this socket", path);
}

int cw_rpc_address_explain(const char *address, struct cw_err *err)
{
    char host[NET_HOST_BYTES], path[128];
    uint16_t port;
    if (address_split(address, host, sizeof host, path, sizeof path, &port) &&
        net_find_listener(net_host_of(sim_self()), path, port))
        return cw_err_set(err, CW_E_EXISTS, "cannot listen on %s: another process uses this port",
                          address);
    return cw_err_errno(err, EADDRNOTAVAIL, "cannot listen on %s", address);
}

/* ---- connections ---- */

static void serve(grpc_server *server, struct net_end *end)
{
    struct transport *transport = transport_server(server, &server->settings, end);
    transport->next = server->transports;
    transport->prev = &server->transports;
    if (transport->next)
        transport->next->prev = &transport->next;
    server->transports = transport;
}

/* Clients say nothing before they are answered, so this is their end. */
static void on_early_piece(void *arg, struct net_piece *piece)
{
    struct early *early = arg;
    CW_ASSERT(piece->kind == NET_FIN || piece->kind == NET_RESET);
    early->end = NULL;
}

static void on_accept(void *arg, struct net_end *end)
{
    grpc_server *server = arg;
    if (server->started) {
        serve(server, end);
        return;
    }
    struct early *early = CW_NEW(struct early);
    early->end = end;
    end->owner = early;
    end->on_piece = on_early_piece;
    early->next = server->early;
    server->early = early;
}

int grpc_server_add_http2_port(grpc_server *server, const char *addr,
                               grpc_server_credentials *creds)
{
    char host[NET_HOST_BYTES], path[128];
    uint16_t number;
    if (!server->creds)
        server->creds = server_creds_ref(creds);
    if (!address_split(addr, host, sizeof host, path, sizeof path, &number))
        return 0;
    if (host[0] && strcmp(host, net_host_of(sim_self())->name) != 0)
        return 0; /* not an address of this host */
    struct net_listener *listener = net_listen(path, number, on_accept, server);
    if (!listener)
        return 0;
    struct port *port = CW_NEW(struct port);
    port->listener = listener;
    port->next = server->ports;
    server->ports = port;
    return path[0] ? 1 : listener->port;
}

grpc_server_credentials *server_creds(const grpc_server *server)
{
    return server->creds;
}

/* ---- making ---- */

grpc_server *grpc_server_create(const grpc_channel_args *args, void *reserved)
{
    (void)reserved;
    grpc_server *server = CW_NEW(grpc_server);
    settings_read(&server->settings, args);
    server->requests_tail = &server->requests;
    server->offered_tail = &server->offered;
    return server;
}

void grpc_server_register_completion_queue(grpc_server *server, grpc_completion_queue *queue,
                                           void *reserved)
{
    (void)server;
    (void)queue;
    (void)reserved;
}

void grpc_server_start(grpc_server *server)
{
    server->started = true;
    while (server->early) {
        struct early *early = server->early;
        server->early = early->next;
        if (early->end)
            serve(server, early->end);
        cw_mem_free(early);
    }
}

/* ---- calls ---- */

static void fill_metadata(grpc_metadata_array *md, const char *shown)
{
    md->metadata = CW_NEW(grpc_metadata);
    md->count = md->capacity = 1;
    md->metadata[0].key = grpc_slice_from_copied_string("authorization");
    md->metadata[0].value = grpc_slice_from_copied_string(shown);
}

static void match(grpc_server *server)
{
    while (server->requests && server->offered) {
        struct request *request = server->requests;
        struct offered *offered = server->offered;
        server->requests = request->next;
        server->offered = offered->next;
        if (!server->requests)
            server->requests_tail = &server->requests;
        if (!server->offered)
            server->offered_tail = &server->offered;
        call_bind(offered->call, request->queue);
        *request->call = offered->call;
        request->details->method = grpc_slice_from_copied_string(offered->call->path);
        if (offered->call->shown)
            fill_metadata(request->md, offered->call->shown);
        queue_push(request->queue, request->tag, true);
        cw_mem_free(request);
        cw_mem_free(offered);
    }
}

void server_offer(grpc_server *server, grpc_call *call)
{
    struct offered *offered = CW_NEW(struct offered);
    offered->call = call;
    *server->offered_tail = offered;
    server->offered_tail = &offered->next;
    match(server);
}

void server_forget(grpc_server *server, grpc_call *call)
{
    struct offered **at = &server->offered;
    while (*at && (*at)->call != call)
        at = &(*at)->next;
    struct offered *offered = *at;
    if (!offered)
        return;
    *at = offered->next;
    if (!*at)
        server->offered_tail = at;
    cw_mem_free(offered);
}

grpc_call_error grpc_server_request_call(grpc_server *server, grpc_call **call,
                                         grpc_call_details *details,
                                         grpc_metadata_array *request_metadata,
                                         grpc_completion_queue *cq_bound_to_call,
                                         grpc_completion_queue *cq_for_notification, void *tag_new)
{
    CW_ASSERT(cq_bound_to_call == cq_for_notification);
    queue_begin(cq_bound_to_call);
    if (server->stopping) {
        queue_push(cq_bound_to_call, tag_new, false);
        return GRPC_CALL_OK;
    }
    struct request *request = CW_NEW(struct request);
    *request = (struct request){.call = call,
                                .details = details,
                                .md = request_metadata,
                                .queue = cq_bound_to_call,
                                .tag = tag_new};
    *server->requests_tail = request;
    server->requests_tail = &request->next;
    match(server);
    return GRPC_CALL_OK;
}

/* ---- stopping ---- */

static void maybe_stopped(grpc_server *server)
{
    if (!server->stopping || server->transports || !server->stop_queue)
        return;
    grpc_completion_queue *queue = server->stop_queue;
    server->stop_queue = NULL;
    queue_push(queue, server->stop_tag, true);
}

void server_lost(grpc_server *server)
{
    maybe_stopped(server);
}

static void close_ports(grpc_server *server)
{
    while (server->ports) {
        struct port *port = server->ports;
        server->ports = port->next;
        net_unlisten(port->listener);
        cw_mem_free(port);
    }
}

static void refuse_requests(grpc_server *server)
{
    while (server->requests) {
        struct request *request = server->requests;
        server->requests = request->next;
        queue_push(request->queue, request->tag, false);
        cw_mem_free(request);
    }
    server->requests_tail = &server->requests;
    while (server->offered)
        call_give_up(server->offered->call, GRPC_STATUS_UNAVAILABLE, "the server is stopping");
}

void grpc_server_shutdown_and_notify(grpc_server *server, grpc_completion_queue *queue, void *tag)
{
    CW_ASSERT(!server->stopping);
    queue_begin(queue);
    server->stopping = true;
    server->stop_queue = queue;
    server->stop_tag = tag;
    close_ports(server);
    refuse_requests(server);
    struct transport *next;
    for (struct transport *transport = server->transports; transport; transport = next) {
        next = transport->next;
        transport_send(transport, NET_GOAWAY, NULL, 0, "");
        transport_drain(transport);
    }
    maybe_stopped(server);
}

void grpc_server_cancel_all_calls(grpc_server *server)
{
    while (server->transports)
        transport_close(server->transports, "Cancelling all calls");
}

void grpc_server_destroy(grpc_server *server)
{
    CW_ASSERT(!server->transports && !server->requests);
    if (server->creds)
        grpc_server_credentials_release(server->creds);
    cw_mem_free(server);
}
