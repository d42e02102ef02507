/* SPDX-License-Identifier: Apache-2.0 */
/* An actor's end of a connection: hands what comes to the calls, and asks a silent peer whether it
 * is still there. */
#include "simulation/rpc/grpc_int.h"

#include <stdio.h>
#include <string.h>

static void on_keepalive(void *arg);

static struct transport *transport_new(const struct settings *settings)
{
    struct transport *transport = CW_NEW(struct transport);
    transport->settings = settings;
    transport->calls_tail = &transport->calls;
    transport->piece_max = (size_t)16384 << net_random(8);
    transport->heard_at = sim_now_ns();
    transport->keepalive = net_timer_start(settings->keepalive_ns, on_keepalive, transport);
    return transport;
}

/* ---- calls ---- */

void transport_add(struct transport *transport, grpc_call *call)
{
    call->transport = transport;
    call->next = NULL;
    call->prev = transport->calls_tail;
    *transport->calls_tail = call;
    transport->calls_tail = &call->next;
}

static void transport_free(struct transport *transport)
{
    net_timer_stop(transport->keepalive);
    if (transport->server) {
        *transport->prev = transport->next;
        if (transport->next)
            transport->next->prev = transport->prev;
        server_lost(transport->server);
    }
    cw_mem_free(transport);
}

/* What drains is over with its last call. */
static void maybe_over(struct transport *transport)
{
    if (transport->busy > 0 || transport->calls || (transport->end && !transport->draining))
        return;
    if (transport->end)
        net_close(transport->end);
    transport_free(transport);
}

void transport_remove(grpc_call *call)
{
    struct transport *transport = call->transport;
    if (!transport)
        return;
    call->transport = NULL;
    *call->prev = call->next;
    if (call->next)
        call->next->prev = call->prev;
    else
        transport->calls_tail = call->prev;
    for (const struct message *message = call->unread; message && transport->end;
         message = message->next)
        net_unread(transport->end, -1);
    maybe_over(transport);
}

void transport_send(struct transport *transport, enum net_kind kind, grpc_call *call, int status,
                    const char *text)
{
    if (!transport->end)
        return;
    struct net_piece *piece = net_piece_new(kind, call ? call->stream : 0);
    piece->status = status;
    if (text[0])
        net_piece_set_text(piece, text);
    net_send(transport->end, piece);
}

/* Which of the calls goes first is chosen: between streams anything goes. */
void transport_pump(struct transport *transport)
{
    size_t n = 0;
    for (grpc_call *call = transport->calls; call; call = call->next)
        n += call->out != NULL;
    uint64_t skip = n > 1 ? net_random(n) : 0;
    transport->busy++;
    for (int round = 0; round < 2; round++) {
        grpc_call *next;
        for (grpc_call *call = transport->calls; call; call = next) {
            next = call->next;
            if (round == 0 && call->out && skip > 0)
                skip--;
            else
                call_pump(call);
        }
    }
    transport->busy--;
    maybe_over(transport);
}

/* ---- the end ---- */

static void end_calls(struct transport *transport, const char *why)
{
    net_unread(transport->end, -(int64_t)transport->end->unread);
    transport->end = NULL;
    transport->busy++;
    if (transport->channel)
        channel_lost(transport->channel, transport, why);
    while (transport->calls)
        call_fail(transport->calls, GRPC_STATUS_UNAVAILABLE, why);
    transport->busy--;
}

void transport_close(struct transport *transport, const char *why)
{
    struct net_end *end = transport->end;
    end_calls(transport, why);
    net_close(end);
    maybe_over(transport);
}

void transport_drain(struct transport *transport)
{
    transport->draining = true;
    maybe_over(transport);
}

static void on_keepalive(void *arg)
{
    struct transport *transport = arg;
    const struct settings *settings = transport->settings;
    int64_t now = sim_now_ns();
    transport->keepalive = NULL;
    if (transport->pinged_at && transport->heard_at < transport->pinged_at) {
        transport_close(transport, "keepalive watchdog timeout");
        return;
    }
    int64_t next = transport->heard_at + settings->keepalive_ns - now;
    transport->pinged_at = 0;
    if (next <= 0) {
        transport->pinged_at = now;
        transport_send(transport, NET_PING, NULL, 0, "");
        next = settings->keepalive_timeout_ns;
    }
    transport->keepalive = net_timer_start(next, on_keepalive, transport);
}

/* ---- what comes ---- */

static grpc_call *find_call(const struct transport *transport, uint32_t stream)
{
    grpc_call *call = transport->calls;
    while (call && call->stream != stream)
        call = call->next;
    return call;
}

static void refuse_call(struct transport *transport, const struct net_piece *piece, const char *why)
{
    struct net_piece *refusal = net_piece_new(NET_RST, piece->stream);
    refusal->status = GRPC_STATUS_UNAVAILABLE;
    net_piece_set_text(refusal, why);
    net_send(transport->end, refusal);
}

static void on_new_call(struct transport *transport, const struct net_piece *piece)
{
    if (transport->draining) {
        refuse_call(transport, piece, "the stream was refused");
        return;
    }
    const char *shown = strchr(piece->text, '\n'), *cert = shown ? strchr(shown + 1, '\n') : NULL;
    if (!server_creds_accept(server_creds(transport->server), cert ? cert + 1 : NULL)) {
        refuse_call(transport, piece, "Socket closed");
        return;
    }
    server_offer(transport->server, call_new_server(transport, piece));
}

static void on_stream_piece(struct transport *transport, struct net_piece *piece)
{
    grpc_call *call = find_call(transport, piece->stream);
    if (call)
        call_on_piece(call, piece); /* of one that is over nothing is wanted */
    else if (transport->server && piece->kind == NET_HEADERS)
        on_new_call(transport, piece);
}

/* The certificate of a server that speaks TLS comes with its settings. */
static void on_settings(struct transport *transport, const struct net_piece *piece)
{
    const char *cert = piece->text && piece->text[0] ? piece->text : NULL;
    cw_autofree char *refusal = creds_refuse(channel_creds(transport->channel), cert);
    if (refusal)
        transport_close(transport, refusal);
    else
        channel_is_ready(transport->channel);
}

static void dispatch(struct transport *transport, struct net_piece *piece)
{
    switch (piece->kind) {
    case NET_SETTINGS:
        on_settings(transport, piece);
        break;
    case NET_GOAWAY:
        transport->draining = true;
        channel_lost(transport->channel, transport, "the server is stopping");
        break;
    case NET_PING:
        transport_send(transport, NET_PONG, NULL, 0, "");
        break;
    case NET_PONG:
        break;
    case NET_FIN:
        end_calls(transport, "Socket closed");
        break;
    case NET_RESET:
        end_calls(transport, piece->text);
        break;
    default:
        on_stream_piece(transport, piece);
        break;
    }
}

static void on_piece(void *arg, struct net_piece *piece)
{
    struct transport *transport = arg;
    transport->heard_at = sim_now_ns();
    transport->busy++;
    dispatch(transport, piece);
    transport->busy--;
    maybe_over(transport);
}

static void on_room(void *arg)
{
    transport_pump(arg);
}

/* ---- making ---- */

struct transport *transport_client(grpc_channel *channel, const struct settings *settings,
                                   const char *host, const char *path, uint16_t port)
{
    struct transport *transport = transport_new(settings);
    transport->channel = channel;
    transport->next_stream = 1;
    transport->end = net_connect(host, path, port, transport, on_piece, on_room);
    transport->window = transport->end->conn->stream_window;
    snprintf(transport->peer, sizeof transport->peer, "%s", transport->end->peer->name);
    return transport;
}

struct transport *transport_server(grpc_server *server, const struct settings *settings,
                                   struct net_end *end)
{
    struct transport *transport = transport_new(settings);
    transport->server = server;
    transport->end = end;
    transport->window = end->conn->stream_window;
    end->owner = transport;
    end->on_piece = on_piece;
    end->on_room = on_room;
    snprintf(transport->peer, sizeof transport->peer, "%s", end->peer->name);
    struct net_piece *settings_piece = net_piece_new(NET_SETTINGS, 0);
    grpc_server_credentials *creds = server_creds(server);
    const char *cert = creds ? server_creds_cert(creds) : NULL;
    if (cert)
        net_piece_set_text(settings_piece, cert);
    net_send(end, settings_piece);
    return transport;
}
