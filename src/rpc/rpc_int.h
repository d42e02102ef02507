/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. All functions are called on the loop thread, unless their
 * comment says otherwise. */
#ifndef CW_RPC_RPC_INT_H
#define CW_RPC_RPC_INT_H

#include "rpc/rpc.h"

#include <grpc/grpc.h>
#include <stdbool.h>
#include <string.h>

#include "base/thread.h"
#include "rpc/rpc_op.h"

/* ---- environment (rpc.c) ---- */
/* A stream that its owner has finished and freed lingers: it sends what is still queued, until the
 * timer cancels it. */
struct cw_rpc_linger {
    struct cw_timer *timer; /* NULL: the stream does not linger */
    struct cw_rpc_linger *next, **prev;
};
struct cw_rpc {
    struct cw_loop *loop;
    grpc_completion_queue *queue;
    struct cw_thread pump;
    size_t live; /* number of operations in flight */
    /* number of channels, servers and streams that their owners have not freed yet */
    size_t objects;
    bool closing;                    /* cw_rpc_free waits until live is 0 */
    bool small;                      /* cw_rpc_set_small was called */
    size_t received_max;             /* cw_rpc_set_received_max; 0: CW_RPC_CONTROL_MAX */
    struct cw_rpc_linger *lingering; /* the streams that linger */
    cw_loop_fn *before_calls;        /* cw_rpc_set_before_calls; NULL: nobody asks */
    void *before_calls_arg;
    struct cw_tls *tls;     /* tls.h; NULL: no TLS */
    struct cw_err tls_bad;  /* why TLS, which was wanted, is not there */
    struct cw_relay *relay; /* set in a forked child, where gRPC cannot be used; otherwise NULL */
};

/* ---- messages (msg.c) ---- */
/* Takes ownership of the byte buffer. */
struct cw_rpc_msg *cw_rpc_msg_new(grpc_byte_buffer *buffer) CW_MUST_CHECK;
/* Makes a byte buffer whose slices point into the buffers; it takes a reference of each. */
grpc_byte_buffer *cw_rpc_buffer_new(struct cw_buf *const *bufs, size_t n,
                                    size_t *ret_bytes) CW_MUST_CHECK;

/* ---- channel arguments (channel_args.c) ---- */
/* time without an answer after which a connection is given up */
#define CW_RPC_UNANSWERED_MS 20000
#define CW_RPC_ARGS_MAX 24
struct cw_rpc_args {
    grpc_arg v[CW_RPC_ARGS_MAX];
    grpc_channel_args args;
};
/* the name of what takes connections with TLS, and the address under which gRPC listens for them */
#define CW_RPC_ACCEPTOR "external:cachew"
void cw_rpc_args_client(struct cw_rpc_args *args, bool small);
/* acceptor: where gRPC puts what takes connections with TLS (listen_tls.c) */
void cw_rpc_args_server(struct cw_rpc_args *args, bool small, size_t received_max, void **acceptor);

/* ---- the form of addresses (address.c) ---- */
#define CW_RPC_HOST_BYTES 256
/* Returns the path of a unix socket's address, or NULL. */
const char *cw_rpc_address_path(const char *address);
/* Splits "host:port" and "[v6]:port". */
int cw_rpc_address_split(const char *address, char ret_host[CW_RPC_HOST_BYTES],
                         const char **ret_port, struct cw_err *err);

/* ---- what the host has at an address (address_bind.c) ---- */
/* Removes the file of a unix socket that no process listens on. Fails with EXISTS if a process
 * answers on it or if the file is not a socket. */
int cw_rpc_address_clear(const char *address, struct cw_err *err);
/* Finds out why a server could not be bound to the address; returns that as an error. */
int cw_rpc_address_explain(const char *address, struct cw_err *err);

/* ---- the status of a call (status.c) ---- */
#define CW_RPC_STATUS_MSG_BYTES 2048
/* Converts the status that a client's call ended with into a code and a message. Messages about the
 * connection name the address. */
int cw_rpc_status(grpc_status_code status, grpc_slice details, const char *address,
                  const char *method, char *ret_msg, size_t cap);
/* Converts a message into the details of a status, cut to what a peer accepts as metadata. */
grpc_slice cw_rpc_status_details(int code, const char *msg);

/* ---- streams (stream.c) ---- */
struct cw_stream *cw_stream_new_client(struct cw_channel *channel, grpc_call *call,
                                       const char *method, const struct cw_stream_cb *cb,
                                       void *arg) CW_MUST_CHECK;
/* Makes a stream through a relay; relayed: the relay's number of the channel. */
struct cw_stream *cw_stream_new_relayed(struct cw_channel *channel, uint64_t relayed,
                                        const char *method, const struct cw_stream_cb *cb,
                                        void *arg) CW_MUST_CHECK;
/* Takes ownership of the call and of the caller, makes a stream of the call, and gives that to the
 * method. */
void cw_stream_serve(struct cw_server *server, grpc_call *call, const struct cw_method *method,
                     void *caller);
/* Keeps a server's stream open when the peer half-closes it; by default that ends the stream. */
void cw_stream_hold_open(struct cw_stream *stream);

/* ---- references to channels (channel_ref.c) ---- */
struct cw_rpc *cw_channel_rpc(const struct cw_channel *channel);
/* Converts the status of a call on the channel, as cw_rpc_status does. If the channel's address is
 * malformed, the result is the error that says so. */
int cw_channel_status(const struct cw_channel *channel, grpc_status_code status, grpc_slice details,
                      const char *method, char *ret_msg, size_t cap);
void cw_channel_ref(struct cw_channel *channel);
void cw_channel_unref(struct cw_channel *channel); /* Accepts NULL. */

/* ---- unary calls of a server (call.c) ---- */
/* Takes ownership of the call and of the caller. If method is NULL, the answer is UNIMPLEMENTED. */
void cw_call_serve(struct cw_server *server, grpc_call *call, const struct cw_method *method,
                   const char *path, void *caller);
/* Takes ownership of the call, and ends it without reading a message of it. */
void cw_call_refuse(struct cw_server *server, grpc_call *call, grpc_status_code status,
                    const char *why);

/* ---- references to servers (server_ref.c) ---- */
struct cw_rpc *cw_server_rpc(const struct cw_server *server);
/* Each open call enters the server once and leaves it once. The last to leave a server that has
 * shut down frees it. */
void cw_server_enter(struct cw_server *server);
void cw_server_leave(struct cw_server *server);

#endif
