/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC's core, as much of its API as src/rpc uses, on the simulated network: so that src/rpc
 * itself runs in the simulation, as it is. All of this is in the memory of the actor that made
 * it, but for what net_int.h calls the world's.
 *
 *  grpc_completion_queue  what is done, for the pump of src/rpc
 *  grpc_channel           a client: connects, and gives calls to its transport
 *  grpc_server            listens; a transport for each connection; calls that wait to be asked for
 *  struct transport       an actor's end of a connection, and the calls on it
 *  grpc_call              one call on either side
 */
#ifndef TESTS_SIMULATION_RPC_GRPC_INT_H
#define TESTS_SIMULATION_RPC_GRPC_INT_H

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "simulation/rpc/net_int.h"

/* ---- queue ---- */
void queue_begin(grpc_completion_queue *queue); /* one more will come */
void queue_push(grpc_completion_queue *queue, void *tag, bool ok);

/* What was started together is told together. */
struct batch {
    grpc_completion_queue *queue;
    void *tag;
    size_t left;
    bool ok;
};
void batch_done(struct batch **batch, bool ok); /* one operation of it; clears the pointer */

/* ---- what channel arguments say ---- */
struct settings {
    int64_t keepalive_ns, keepalive_timeout_ns;
    int64_t backoff_ns, backoff_max_ns, connect_timeout_ns;
    size_t send_max, receive_max;
};
void settings_read(struct settings *settings, const grpc_channel_args *args);

/* ---- transport ---- */
struct transport {
    struct net_end *end; /* NULL: the connection is over */
    grpc_channel *channel;
    grpc_server *server;            /* one of the two */
    struct transport *next, **prev; /* of the server's */
    const struct settings *settings;
    grpc_call *calls, **calls_tail;
    uint32_t next_stream;
    bool draining; /* no new calls; over with the last */
    size_t window; /* bytes that may be sent on a stream and not be taken: both ends have one */
    size_t piece_max;
    int64_t heard_at;
    struct net_timer *keepalive;
    int64_t pinged_at; /* 0: it is not waiting for an answer */
    size_t busy;       /* not to be freed */
    char peer[128];
};
struct transport *transport_client(grpc_channel *channel, const struct settings *settings,
                                   const char *host, const char *path, uint16_t port);
struct transport *transport_server(grpc_server *server, const struct settings *settings,
                                   struct net_end *end);
void transport_add(struct transport *transport, grpc_call *call);
void transport_remove(grpc_call *call); /* may free the transport */
void transport_send(struct transport *transport, enum net_kind kind, grpc_call *call, int status,
                    const char *text);
void transport_drain(struct transport *transport);
/* All its calls end with that; the connection is closed. Frees it. */
void transport_close(struct transport *transport, const char *why);
/* Lets the calls send what they have. */
void transport_pump(struct transport *transport);

/* ---- calls ---- */
struct message {
    struct message *next;
    struct net_bytes *bytes;
    size_t owed; /* bytes of it that the sender has not been given back */
};
struct grpc_call {
    grpc_completion_queue *queue;
    grpc_channel *channel; /* the client's; a reference */
    grpc_server *server;
    struct transport *transport; /* NULL: not begun, or over */
    grpc_call *next, **prev;     /* of the transport's, or of those that wait for one */
    bool waiting;                /* for a transport */
    uint32_t stream;
    char *path;
    char *cert;                  /* of the client, with TLS; NULL: none */
    size_t cert_n;               /* bytes of it, with its end */
    grpc_auth_property property; /* what was asked for last of it */
    char *shown; /* the value of "authorization" that the client sends; NULL: none */
    char *peer;
    int64_t timeout_ns; /* 0: none */
    struct net_timer *deadline;
    struct net_counter *sends;
    const struct settings *settings;
    bool over;   /* its end is known here; what was read before may still be taken */
    bool failed; /* it broke: what is unread is lost */

    /* sending */
    struct batch *meta_out, *send, *half, *trailers;
    bool begun;            /* the headers are on their way */
    struct net_bytes *out; /* of send */
    size_t out_at;
    size_t in_flight; /* sent, and not taken by the peer */
    bool half_sent;
    int trailers_status;
    char *trailers_text;

    /* receiving */
    struct batch *meta_in, *recv, *status;
    bool meta_came;
    grpc_byte_buffer **recv_to;
    struct message *unread, **unread_tail;
    size_t part_owed; /* of the message that is coming, not given back */
    size_t give_back; /* to be told the peer */
    bool read_end;    /* no more messages come */
    int code;
    char *text;
    grpc_status_code *status_to;
    grpc_slice *details_to;
    int *cancelled_to;
};
grpc_call *call_new_client(grpc_channel *channel, grpc_completion_queue *queue, const char *path,
                           gpr_timespec deadline, const struct settings *settings);
grpc_call *call_new_server(struct transport *transport, const struct net_piece *headers);
void call_bind(grpc_call *call, grpc_completion_queue *queue);
void call_begin(grpc_call *call, struct transport *transport); /* the client's */
void call_on_piece(grpc_call *call, struct net_piece *piece);
void call_pump(grpc_call *call);
/* It broke, on this side: the peer is not told. */
void call_fail(grpc_call *call, int status, const char *text);
/* It is given up on this side, with this status: the peer is told. */
void call_give_up(grpc_call *call, int status, const char *text);
/* What a part of a message takes of a window: with gRPC's own head of five bytes. */
static inline size_t data_cost(const struct net_piece *piece)
{
    return piece->n + (piece->last ? 5 : 0);
}
/* grpc_receive.c */
void receive_piece(grpc_call *call, struct net_piece *piece);
void receive_try(grpc_call *call);
void receive_drop(grpc_call *call);
void call_maybe_end(grpc_call *call);

/* ---- credentials ---- */
grpc_channel_credentials *creds_ref(grpc_channel_credentials *creds);
grpc_server_credentials *server_creds_ref(grpc_server_credentials *creds);
/* What a server shows; NULL: it speaks no TLS. */
const char *server_creds_cert(grpc_server_credentials *creds);
/* Why a channel refuses a server that shows this; the caller frees it. NULL: it does not. */
char *creds_refuse(const grpc_channel_credentials *creds, const char *cert);
const char *creds_cert(const grpc_channel_credentials *creds);
bool server_creds_accept(const grpc_server_credentials *creds, const char *cert);
const grpc_channel_credentials *channel_creds(const grpc_channel *channel);
grpc_server_credentials *server_creds(const grpc_server *server); /* NULL: none yet */

/* ---- channel ---- */
void channel_want(grpc_channel *channel, grpc_call *call);
void channel_unwant(grpc_call *call);
void channel_unref(grpc_channel *channel);
void channel_is_ready(grpc_channel *channel);
/* The transport is going: it failed before it was ready, or broke, or drains. */
void channel_lost(grpc_channel *channel, struct transport *transport, const char *why);

/* ---- server ---- */
void server_offer(grpc_server *server, grpc_call *call);
void server_forget(grpc_server *server, grpc_call *call); /* it ended before anybody asked for it */
void server_lost(grpc_server *server);

/* ---- buffers ---- */
struct net_bytes *bytes_of(const grpc_byte_buffer *buffer);
grpc_byte_buffer *buffer_of(const struct net_bytes *bytes);
/* "host:port", "[v6]:port", "unix:/path", with "dns:///" before it or not. */
bool address_split(const char *address, char *ret_host, size_t cap, char *ret_path, size_t path_cap,
                   uint16_t *ret_port);

#endif
