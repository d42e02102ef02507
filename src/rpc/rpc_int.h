/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. Everything is for the loop thread unless it says
 * otherwise. */
#ifndef CW_RPC_RPC_INT_H
#define CW_RPC_RPC_INT_H

#include "rpc/rpc.h"

#include <grpc/grpc.h>
#include <stdbool.h>
#include <string.h>

#include "base/thread.h"
#include "rpc/rpc_op.h"

/* ---- environment (rpc.c) ---- */
struct cw_rpc {
    struct cw_loop *loop;
    grpc_completion_queue *queue;
    struct cw_thread pump;
    size_t live;    /* operations in flight */
    size_t objects; /* channels, servers and streams whose owner has not let go */
    bool closing;   /* cw_rpc_free waits for live == 0 */
    bool small;     /* cw_rpc_set_small */
    struct cw_stream *lingering;
    struct cw_relay *relay; /* NULL: gRPC works here, and is used; else nothing of it is */
};

/* ---- messages (msg.c) ---- */
/* Takes the byte buffer. */
struct cw_rpc_msg *cw_rpc_msg_new(grpc_byte_buffer *buffer) CW_MUST_CHECK;
struct cw_rpc_msg *cw_rpc_msg_own(void *bytes, size_t n) CW_MUST_CHECK; /* takes them */
/* A byte buffer whose slices point into the buffers; a ref of each is taken. */
grpc_byte_buffer *cw_rpc_buffer_new(struct cw_buf *const *bufs, size_t n,
                                    size_t *ret_bytes) CW_MUST_CHECK;

/* ---- channel arguments (channel_args.c) ---- */
#define CW_RPC_ARGS_MAX 20
struct cw_rpc_args {
    grpc_arg v[CW_RPC_ARGS_MAX];
    grpc_channel_args args;
};
void cw_rpc_args_client(struct cw_rpc_args *args, bool small);
void cw_rpc_args_server(struct cw_rpc_args *args, bool small);

/* ---- addresses: their form (address.c) ---- */
#define CW_RPC_HOST_BYTES 256
/* Checks the form; for unix sockets also the length. */
int cw_rpc_address_check(const char *address, struct cw_err *err);
bool cw_rpc_address_is_unix(const char *address);
const char *cw_rpc_address_path(const char *address); /* of a unix socket */
/* Splits "host:port" and "[v6]:port". */
int cw_rpc_address_split(const char *address, char ret_host[CW_RPC_HOST_BYTES],
                         const char **ret_port, struct cw_err *err);

/* ---- addresses: what is there (address_bind.c) ---- */
/* A unix socket's file: EXISTS when somebody answers on it or it is no socket, else it is
 * removed. */
int cw_rpc_address_clear(const char *address, struct cw_err *err);
/* Why a server could not be bound to the address. */
int cw_rpc_address_explain(const char *address, struct cw_err *err);

/* ---- a call's status (status.c) ---- */
#define CW_RPC_STATUS_MSG_BYTES 2048
/* Code and message of what a client call ended with; messages of the transport name the address. */
int cw_rpc_status(grpc_status_code status, grpc_slice details, const char *address,
                  const char *method, char *ret_msg, size_t cap);
/* A message as the details of a status: cut to what fits into a peer's metadata limit. */
grpc_slice cw_rpc_status_details(int code, const char *msg);

/* ---- streams (stream.c) ---- */
struct cw_stream *cw_stream_new_client(struct cw_channel *channel, grpc_call *call,
                                       const char *method, const struct cw_stream_cb *cb,
                                       void *arg) CW_MUST_CHECK;
struct cw_stream *cw_stream_new_relayed(struct cw_channel *channel, uint64_t relayed,
                                        const char *method, const struct cw_stream_cb *cb,
                                        void *arg) CW_MUST_CHECK;
/* Takes the call; hands a new stream to the method. */
void cw_stream_serve(struct cw_server *server, grpc_call *call, const struct cw_method *method);
/* A server's stream goes on after the peer has half-closed it (the default is to end it then). */
void cw_stream_hold_open(struct cw_stream *stream);
/* Lingering streams get no more than this long from now. */
void cw_stream_hurry(struct cw_rpc *rpc, int64_t ms);

/* ---- channels (channel.c) ---- */
struct cw_rpc *cw_channel_rpc(const struct cw_channel *channel);
/* What a call on it ended with. */
int cw_channel_status(const struct cw_channel *channel, grpc_status_code status, grpc_slice details,
                      const char *method, char *ret_msg, size_t cap);
void cw_channel_ref(struct cw_channel *channel);
void cw_channel_unref(struct cw_channel *channel);

/* ---- server (call.c, server.c) ---- */
/* Takes the call; method NULL: answers UNIMPLEMENTED. */
void cw_call_serve(struct cw_server *server, grpc_call *call, const struct cw_method *method,
                   const char *path);
struct cw_rpc *cw_server_rpc(const struct cw_server *server);
/* gRPC's word that a server has shut down does not mean that its calls are gone: they are
 * counted. Leaving may free the server. */
void cw_server_enter(struct cw_server *server);
void cw_server_leave(struct cw_server *server);

/* ---- health (health.c), reflection (reflect.c) ---- */
struct cw_health;
struct cw_health *cw_health_new(struct cw_server *server) CW_MUST_CHECK;
void cw_health_set(struct cw_health *health, bool serving); /* tells the watchers */
void cw_health_stop(struct cw_health *health);              /* ends the watchers */
void cw_health_free(struct cw_health *health);
struct cw_reflect;
struct cw_reflect *cw_reflect_new(struct cw_server *server, const void *descriptors,
                                  size_t n) CW_MUST_CHECK;
void cw_reflect_free(struct cw_reflect *reflect);
/* ---- services (server.c) ---- */
/* Names of the services that methods were added for, in the order added; until it returns false. */
bool cw_server_next_service(const struct cw_server *server, size_t *i, char *ret_name, size_t cap);
bool cw_server_has_service(const struct cw_server *server, const char *name);

#endif
