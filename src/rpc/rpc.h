/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC (core C API) behind three objects: environment, channel, server; and two shapes of call:
 * unary, and bidirectional stream. Every callback runs on the loop thread given to cw_rpc_new,
 * and every function here is for that thread. One pump thread takes events off the completion
 * queue. */
#ifndef CW_RPC_RPC_H
#define CW_RPC_RPC_H

#include "base/buf.h"
#include "base/err.h"
#include "loop/loop.h"

struct cw_rpc;
/* Where gRPC is dead, because this process was forked from one that has used it, calls go by a
 * program that is started for them, cachew-relay; STATE ends each call when that cannot be.
 * Clients only: servers cannot be there. */
struct cw_rpc *cw_rpc_new(struct cw_loop *loop) CW_MUST_CHECK;
/* That program: the frames that it is told on in_fd it obeys, and answers on out_fd. Does not
 * return. */
#define CW_RELAY_OTHER 2 /* it ends with this status when it is of another version */
void cw_rpc_relay(struct cw_loop *loop, int in_fd, int out_fd);
/* Many peers with little to say, as a dispatcher has: gRPC does not look for the bandwidth of
 * each connection, whose pings cost more than small messages do. Before servers and channels are
 * made. */
void cw_rpc_set_small(struct cw_rpc *rpc);
/* All channels, servers, calls and streams must be closed before; runs the loop until the queue
 * is dry (so: not in a callback). */
void cw_rpc_free(struct cw_rpc *rpc);

/* A received message: a chain of slices. Valid in the callback only, unless a ref is taken;
 * cw_rpc_msg_unref is for any thread. */
struct cw_rpc_msg;
size_t cw_rpc_msg_len(const struct cw_rpc_msg *msg);
/* INVALID out of bounds */
int cw_rpc_msg_copy(const struct cw_rpc_msg *msg, size_t offset, void *dst, size_t n);
/* The first n bytes as one piece (copied once when they are spread over slices). n <= len. NULL
 * when memory is short; valid until it is called with a larger n, or the last unref. */
const void *cw_rpc_msg_flat(struct cw_rpc_msg *msg, size_t n);
struct cw_rpc_msg *cw_rpc_msg_ref(struct cw_rpc_msg *msg);
struct cw_rpc_msg *cw_rpc_msg_unref(struct cw_rpc_msg *msg);
/* A message made of a copy of n bytes, in slices of `piece` bytes: for tests. */
struct cw_rpc_msg *cw_rpc_msg_from(const void *p, size_t n, size_t piece) CW_MUST_CHECK;
/* Going through a message in order, each slice once: {.msg = msg}. */
struct cw_rpc_reader {
    const struct cw_rpc_msg *msg;
    size_t slice, at; /* where it is */
    size_t pos;       /* bytes passed */
};
/* The next piece, at most max (> 0) bytes, in place; returns its length, 0 at the end. */
size_t cw_rpc_reader_next(struct cw_rpc_reader *reader, size_t max, const void **ret_p);
/* bytes passed: less than n only at the end */
size_t cw_rpc_reader_skip(struct cw_rpc_reader *reader, size_t n);
size_t cw_rpc_reader_read(struct cw_rpc_reader *reader, void *dst, size_t n);

/* largest control message: also the most that a server accepts */
#define CW_RPC_CONTROL_MAX (64u << 20)
/* largest data message: servers send those, clients receive them */
#define CW_RPC_DATA_MAX (2047u << 20)

/* ---- streams: the same object on both sides ----
 *
 * Each way messages come in the order in which they were sent, once each, and none is left out
 * before one that came. Nothing holds between streams, not even of one channel.
 *
 * A good end, which is the server's status, comes after all that was sent before it; so a client
 * that has paused hears of it when it goes on. When the connection breaks, or the peer cancels or
 * dies, what was not taken yet is lost, on both sides, and each side hears UNAVAILABLE at its own
 * time: at once as a rule, but a peer that falls silent is found by keepalive alone, which asks
 * after 30 s and gives up 20 s later. What the sender's queue has let go may be lost: it is on its
 * way, no more. */
struct cw_stream;
struct cw_stream_cb {
    void (*on_message)(void *arg, struct cw_rpc_msg *msg);
    /* The send queue fell to or below the low mark (set with cw_stream_set_low). May be NULL. */
    void (*on_low)(void *arg);
    /* The last callback: the stream is over. code 0 = the peer ended it well; else a cw_code.
     * Not called after cw_stream_free. */
    void (*on_close)(void *arg, int code, const char *msg);
};
/* Queues one message made of the buffers (a ref of each is taken; no copy: buffers must not
 * change). Unbounded here: bound it by cw_stream_queued. Nothing when the stream is over or our
 * side is finished. A message larger than the limit ends the stream with gRPC's status 8. */
void cw_stream_send(struct cw_stream *stream, struct cw_buf *const *bufs, size_t n);
/* memory of messages not yet accepted by flow control */
size_t cw_stream_queued(const struct cw_stream *stream);
/* neither is known by way of a relay: 0, and never */
void cw_stream_set_low(struct cw_stream *stream, size_t bytes);
/* Receiving can be held: the peer then stops by flow control. One more message may come: the one
 * that was being waited for. */
void cw_stream_pause(struct cw_stream *stream, bool paused);
/* Ends our side after what is queued; a server's end carries the status. on_close still comes. Only
 * the first call counts. When a server has taken all that a client sent before it finished, its
 * side is finished, too, with code 0 and after what it has queued: what it sends later is
 * dropped. */
void cw_stream_finish(struct cw_stream *stream, int code, const char *msg);
/* No callback comes after. Cancels if it is not over: a client then hears CANCELLED, a server
 * UNAVAILABLE. But one that was finished before gets some seconds to send what is queued, by
 * itself. Accepts NULL. */
void cw_stream_free(struct cw_stream *stream);
const char *cw_stream_peer(const struct cw_stream *stream); /* "ipv4:127.0.0.1:1234" */

/* ---- client side ---- */
struct cw_channel;
/* address: "host:port" or "unix:/path". Connects when first used, and again when it is used after
 * the connection broke. Calls wait for that, 10 s at most. When it failed, calls fail at once with
 * UNAVAILABLE while it is tried again, after pauses of 0.1 s to 1 s, and a call has the next
 * attempt begin at once: whoever calls again gets through soon after the server is back. */
struct cw_channel *cw_channel_open(struct cw_rpc *rpc, const char *address) CW_MUST_CHECK;
void cw_channel_close(struct cw_channel *channel); /* its streams must be freed; accepts NULL */
/* method: "/cachew.v1.Fleet/Attach". Failure to connect comes as on_close(UNAVAILABLE). */
struct cw_stream *cw_channel_stream(struct cw_channel *channel, const char *method,
                                    const struct cw_stream_cb *cb, void *arg) CW_MUST_CHECK;
/* reply NULL: code and msg say why. Always called once, unless the channel is closed first (then
 * never). TIMEOUT says nothing of whether the server has done it. */
typedef void cw_unary_fn(void *arg, struct cw_rpc_msg *reply, int code, const char *msg);
void cw_channel_unary(struct cw_channel *channel, const char *method, struct cw_buf *request,
                      int64_t timeout_ms, cw_unary_fn *fn, void *arg);

/* ---- server side ---- */
struct cw_server;
struct cw_call; /* an open unary call: answer exactly once */
struct cw_method {
    const char *path; /* "/cachew.v1.Admin/ListJobs" */
    /* one of the two */
    void (*unary)(void *arg, struct cw_call *call, struct cw_rpc_msg *request);
    /* A new stream: set its callbacks with cw_stream_accept before returning, or finish it. */
    void (*stream)(void *arg, struct cw_stream *stream);
    void *arg;
};
/* Answers are due also when the client is gone: it is not told here. */
void cw_call_reply(struct cw_call *call, struct cw_buf *reply);
void cw_call_fail(struct cw_call *call, int code, const char *msg);
void cw_stream_accept(struct cw_stream *stream, const struct cw_stream_cb *cb, void *arg);

struct cw_server *cw_server_new(struct cw_rpc *rpc) CW_MUST_CHECK;
/* copied; before start */
void cw_server_add(struct cw_server *server, const struct cw_method *method);
/* Health (grpc.health.v1 Check and Watch) and reflection (v1 and v1alpha) for the services added
 * so far; descriptors: a serialized FileDescriptorSet. The methods added are told by themselves. */
void cw_server_add_health(struct cw_server *server);
void cw_server_set_serving(struct cw_server *server, bool serving);
void cw_server_add_reflection(struct cw_server *server, const void *descriptors, size_t n);
/* "127.0.0.1:0", "[::]:8080", "unix:/path"; ret_address: the same with the real port. A live
 * peer on the same port or path is an error (EXISTS); a dead socket file is replaced. */
int cw_server_listen(struct cw_server *server, const char *address, char *ret_address, size_t cap,
                     struct cw_err *err);
void cw_server_start(struct cw_server *server);
/* Refuses new calls, ends open ones after grace_ms, then calls fn; the server is freed before
 * fn. */
void cw_server_stop(struct cw_server *server, int64_t grace_ms, cw_loop_fn *fn, void *arg);

#endif
