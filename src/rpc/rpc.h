/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC (its core C API) as three objects: environment, channel, server; and two kinds of call:
 * unary call, and bidirectional stream. Every callback runs on the loop thread that was given to
 * cw_rpc_new, and every function here is called on that thread. One pump thread takes events off
 * the completion queue. */
#ifndef CW_RPC_RPC_H
#define CW_RPC_RPC_H

#include "auth/tls_options.h"
#include "base/buf.h"
#include "base/err.h"
#include "loop/loop.h"

struct cw_rpc;
/* Makes an environment. In a process that was forked from one that has used gRPC, gRPC does not
 * work; calls then go through a relay, the program cachew-relay, which is started for them. If it
 * cannot be started, each call ends with STATE. A relay is for clients only: such a process can
 * have no servers. */
struct cw_rpc *cw_rpc_new(struct cw_loop *loop) CW_MUST_CHECK;
/* The main function of that program: it carries out the frames that it reads from in_fd, and writes
 * the answers to out_fd. It does not return. */
#define CW_RELAY_OTHER 2 /* the exit status of a relay of another version */
void cw_rpc_relay(struct cw_loop *loop, int in_fd, int out_fd);
/* Prepares for many peers that send little, as a dispatcher has: gRPC then does not probe the
 * bandwidth of each connection, with pings that cost more than small messages. It must be called
 * before servers and channels are made. */
void cw_rpc_set_small(struct cw_rpc *rpc);
/* Sets the largest message that servers accept, which is CW_RPC_CONTROL_MAX otherwise. It must be
 * called before servers are made. */
void cw_rpc_set_received_max(struct cw_rpc *rpc, size_t bytes);
/* Has fn called before anything is given to gRPC to be sent. It may end the process: what is not sent
 * by then is not sent at all. Not with a relay. */
void cw_rpc_set_before_calls(struct cw_rpc *rpc, cw_loop_fn *fn, void *arg);
/* From now on connections of channels and servers that are made speak TLS, but for those of unix
 * sockets, and both sides show certificates. The files are read now, and again when they change: calls
 * that are under way go on, and connections that are made later show what is new. If the files cannot
 * be used, the error says why, and channels to other addresses than unix sockets end each call with
 * it. The options' texts are copied. Once it
 * has succeeded it does nothing more. Loop thread. */
int cw_rpc_set_tls(struct cw_rpc *rpc, const struct cw_tls_options *options, struct cw_err *err);
/* Frees the environment. All channels, servers, calls and streams must be closed before. It runs
 * the loop until the completion queue is empty, so it may not be called in a callback. */
void cw_rpc_free(struct cw_rpc *rpc);

/* A received message: a chain of slices. It is valid only during the callback, unless a reference
 * is taken; any thread may call cw_rpc_msg_unref. */
struct cw_rpc_msg;
size_t cw_rpc_msg_len(const struct cw_rpc_msg *msg);
/* Copies n bytes; INVALID if they are not all inside of the message. */
int cw_rpc_msg_copy(const struct cw_rpc_msg *msg, size_t offset, void *dst, size_t n);
/* Returns the first n bytes in one piece (they are copied once if they are spread over slices). n
 * <= len. NULL if there is no memory. The result is valid until it is called with a larger n, or
 * the last reference is given up. */
const void *cw_rpc_msg_flat(struct cw_rpc_msg *msg, size_t n);
struct cw_rpc_msg *cw_rpc_msg_ref(struct cw_rpc_msg *msg);
struct cw_rpc_msg *cw_rpc_msg_unref(struct cw_rpc_msg *msg);
/* Makes a message that came by other means. Takes the bytes, which cw_mem_free frees. */
struct cw_rpc_msg *cw_rpc_msg_own(void *bytes, size_t n) CW_MUST_CHECK;
/* Makes a message of a copy of n bytes, in slices of `piece` bytes: for tests. */
struct cw_rpc_msg *cw_rpc_msg_from(const void *p, size_t n, size_t piece) CW_MUST_CHECK;
/* Reads a message in order, each slice once; it begins as {.msg = msg}. */
struct cw_rpc_reader {
    const struct cw_rpc_msg *msg;
    size_t slice, at; /* the present position */
    size_t pos;       /* number of bytes before the position */
};
/* Returns the length of the next piece, at most max (> 0) bytes, and its place; 0 at the end. */
size_t cw_rpc_reader_next(struct cw_rpc_reader *reader, size_t max, const void **ret_p);
/* Skips n bytes. Returns the number of bytes skipped, which is less than n only at the end. */
size_t cw_rpc_reader_skip(struct cw_rpc_reader *reader, size_t n);
size_t cw_rpc_reader_read(struct cw_rpc_reader *reader, void *dst, size_t n);

/* the most bytes of a control message, and the most that a server accepts */
#define CW_RPC_CONTROL_MAX (64u << 20)
/* the most bytes of a data message; servers send data messages, and clients receive them */
#define CW_RPC_DATA_MAX (2047u << 20)

/* ---- streams: the same object on both sides ----
 *
 * Messages of one direction arrive in the order in which they were sent, each once, and none is
 * missing before one that arrived. There is no order between streams, not even between those of one
 * channel.
 *
 * A successful end, which is the server's status, arrives after everything that was sent before it;
 * so a client that has paused receiving learns of it when it continues. If the connection breaks,
 * or the peer cancels or dies, messages that were not taken yet are lost on both sides, and each
 * side gets UNAVAILABLE at its own time: usually at once, but a peer that falls silent is detected
 * by keepalive alone, which asks after 30 s and gives up 20 s later. A message that has left the
 * sender's queue is on its way, but may still be lost. */
struct cw_stream;
struct cw_stream_cb {
    void (*on_message)(void *arg, struct cw_rpc_msg *msg);
    /* The send queue has shrunk to the low mark (cw_stream_set_low), or below. May be NULL. */
    void (*on_low)(void *arg);
    /* The last callback: the stream is over. code 0: the peer ended it successfully; otherwise a
     * cw_code. It is not called after cw_stream_free. */
    void (*on_close)(void *arg, int code, const char *msg);
};
/* Queues one message that consists of the buffers. A reference to each is taken and nothing is
 * copied, so the buffers must not change. The queue has no limit: callers limit it by
 * cw_stream_queued. It does nothing if the stream is over or our side is finished. A message larger
 * than the limit ends the stream with gRPC's status 8. */
void cw_stream_send(struct cw_stream *stream, struct cw_buf *const *bufs, size_t n);
/* Returns the bytes of memory of messages that flow control has not accepted yet. */
size_t cw_stream_queued(const struct cw_stream *stream);
/* Sets the low mark. On a stream through a relay cw_stream_queued is always 0, and on_low is never
 * called. */
void cw_stream_set_low(struct cw_stream *stream, size_t bytes);
/* Pauses or continues receiving; while it is paused, flow control stops the peer. One more message
 * may come: the one for which the stream was waiting. */
void cw_stream_pause(struct cw_stream *stream, bool paused);
/* Ends our side after the messages that are queued; a server's end carries the status, and the
 * stream is cancelled if the peer has not read all that is queued after 10 s. on_close is called
 * later. Only the first call counts. When a server has received everything that a client
 * sent before it finished, the server's side is finished, too, with code 0 and after its queue:
 * what the server sends later is dropped. */
void cw_stream_finish(struct cw_stream *stream, int code, const char *msg);
/* Frees the stream; no callback is called afterwards. If the stream is not over, it is cancelled:
 * a peer that is a client then gets CANCELLED, and a server UNAVAILABLE. But if it was finished
 * before, it gets some seconds to send what is queued. Accepts NULL. */
void cw_stream_free(struct cw_stream *stream);
/* Says that a message of a server's stream has taken the loop's thread so much CPU time after
 * on_message had returned (cw_server_next_method). */
void cw_stream_note_time(struct cw_stream *stream, int64_t ns);
/* Returns the address of the peer: "ipv4:127.0.0.1:1234". */
const char *cw_stream_peer(const struct cw_stream *stream);

/* Checks the form of an address, and for unix sockets also the length of the path. */
int cw_rpc_address_check(const char *address, struct cw_err *err);
/* Whether only processes of this host can be at the address: a unix socket, 127.0.0.0/8, [::1] or
 * "localhost". Other names are not looked up. */
bool cw_rpc_address_is_loopback(const char *address);
bool cw_rpc_address_is_unix(const char *address);
/* Makes "HOST:PORT" of a host and the port of the address `listening`. The host is a name, an IPv4
 * address or an IPv6 address, with or without brackets. What no other host can reach by this text is
 * refused: 0.0.0.0 and ::, a zone, a unix socket. */
int cw_rpc_address_of_host(const char *host, const char *listening, char *ret_address, size_t cap,
                           struct cw_err *err);

/* ---- client side ---- */
struct cw_channel;
/* Opens a channel to "host:port" or "unix:/path". It connects when it is first used, and again when
 * it is used after the connection broke. All addresses of a host's name are tried, one after the
 * other, each for 3 s at most; after all have failed the name is looked up again, every 5 s at most. Calls wait for the connection, 10 s at most. After a
 * failure calls fail at once with UNAVAILABLE while gRPC connects again, after pauses of 0.1 s to 1
 * s; a call also makes the next attempt begin at once, so whoever calls again succeeds soon after
 * the server is back. */
struct cw_channel *cw_channel_open(struct cw_rpc *rpc, const char *address) CW_MUST_CHECK;
/* The same to a peer that must have the role, with TLS; cw_channel_open is for dispatchers. A client of
 * the own tenant may also stand for a worker: that is one beside its trainer. */
struct cw_channel *cw_channel_open_to(struct cw_rpc *rpc, const char *address,
                                      enum cw_role role) CW_MUST_CHECK;
/* Closes the channel. Its streams must have been freed. Accepts NULL. */
void cw_channel_close(struct cw_channel *channel);
/* Sets the token that calls show to a server that asks for one, and to no other: `text`, or what
 * `file` says at the time of each call (auth/token_file.h). Both may be NULL. With TLS, where the
 * server is known, it is shown at once. */
void cw_channel_set_token(struct cw_channel *channel, const char *text, const char *file);
/* Returns true, once, after a stream has ended with DENIED because the server asked for the token, or
 * the file has another one by now: the next stream shows it. A unary call is made again by
 * itself. */
bool cw_channel_was_asked(struct cw_channel *channel);
/* Opens a stream. method: "/cachew.v1.Fleet/Attach". A failure to connect is reported by
 * on_close(UNAVAILABLE). */
struct cw_stream *cw_channel_stream(struct cw_channel *channel, const char *method,
                                    const struct cw_stream_cb *cb, void *arg) CW_MUST_CHECK;
/* Receives the reply of a unary call, or NULL with code and msg. It is always called once, unless
 * the channel is closed before (then never). TIMEOUT does not say whether the server has carried
 * out the call. */
typedef void cw_unary_fn(void *arg, struct cw_rpc_msg *reply, int code, const char *msg);
void cw_channel_unary(struct cw_channel *channel, const char *method, struct cw_buf *request,
                      int64_t timeout_ms, cw_unary_fn *fn, void *arg);

/* ---- server side ---- */
struct cw_server;
struct cw_call; /* an open unary call; it must be answered exactly once */
struct cw_method {
    const char *path; /* path, such as "/cachew.v1.Admin/ListJobs" */
    /* Exactly one of the two is set. */
    void (*unary)(void *arg, struct cw_call *call, struct cw_rpc_msg *request);
    /* A new stream: set its callbacks with cw_stream_accept before returning, or finish it. */
    void (*stream)(void *arg, struct cw_stream *stream);
    void *arg;
};
/* What names in certificates stand for here (cw_rpc_set_tls); NULL: there is no TLS. */
const struct cw_role_rules *cw_rpc_tls_rules(const struct cw_rpc *rpc);
/* Who calls: what the gate has returned; NULL without a gate. It lives as long as the call. */
const void *cw_call_caller(const struct cw_call *call);
const void *cw_stream_caller(const struct cw_stream *stream);
/* Answers a call. An answer is due even if the client is gone, which is not reported here. */
void cw_call_reply(struct cw_call *call, struct cw_buf *reply);
/* The same with a reply that consists of several buffers, which are not copied. */
void cw_call_reply_parts(struct cw_call *call, struct cw_buf *const *bufs, size_t n);
void cw_call_fail(struct cw_call *call, int code, const char *msg);
/* Says that a call which is not answered yet has taken the loop's thread so much CPU time after its
 * method had returned (cw_server_next_method). */
void cw_call_note_time(struct cw_call *call, int64_t ns);
void cw_stream_accept(struct cw_stream *stream, const struct cw_stream_cb *cb, void *arg);

struct cw_server *cw_server_new(struct cw_rpc *rpc) CW_MUST_CHECK;
/* Adds a method, which is copied; called before the server starts. */
void cw_server_add(struct cw_server *server, const struct cw_method *method);
/* A gate decides about each call by its metadata, before a message of it is read. */
struct cw_gate_question {
    const char *method; /* the path that is called, whether or not there is such a method */
    const char *token;  /* what the caller shows; NULL: no token */
    const char *peer;
    /* With TLS: the DNS names in the caller's certificate. */
    bool tls;
    const char *const *names;
    size_t names_n;
};
enum cw_gate {
    CW_GATE_PASS,
    CW_GATE_ASK,  /* refused: another token is needed (UNAUTHENTICATED) */
    CW_GATE_DENY, /* refused: who has this token may not do this (PERMISSION_DENIED) */
    CW_GATE_AWAY, /* refused: who knows it cannot be asked now, so the peer may try again (UNAVAILABLE) */
    CW_GATE_LATER /* not known yet: the call waits, unread, for cw_server_ask_gate_again */
};
/* *ret_caller, if it passes: memory of cw_mem_new that says who calls; the call frees it. *ret_why,
 * if not: a text that stays valid until the gate is asked again, for the caller. */
typedef enum cw_gate cw_gate_fn(void *arg, const struct cw_gate_question *question,
                                void **ret_caller, const char **ret_why);
/* Called before the server starts. Without a gate all calls pass. */
void cw_server_set_gate(struct cw_server *server, cw_gate_fn *fn, void *arg);
/* Asks the gate once more about the calls that wait and show this token. Not from within the gate. */
void cw_server_ask_gate_again(struct cw_server *server, const char *token);
/* Calls a unary method of a server of this process, without a connection: the gate is asked, and the
 * method sees the call as any other. question->method is what is called. fn is called once, maybe
 * before this returns; a refusal of the gate is DENIED, and a server that does not serve, or has no
 * such method, UNAVAILABLE, as is what the gate does not know yet: nothing waits here. */
void cw_server_ask(struct cw_server *server, const struct cw_gate_question *question,
                   struct cw_buf *request, cw_unary_fn *fn, void *arg);
/* Add the health service (grpc.health.v1 Check and Watch), and reflection (v1 and v1alpha) for the
 * services added so far; descriptors: a serialized FileDescriptorSet. Their own methods are added
 * by these calls. */
void cw_server_add_health(struct cw_server *server);
void cw_server_set_serving(struct cw_server *server, bool serving);
/* Says whether a server that serves can do its work now: what the health service says of "readiness"
 * (SERVING from the start), beside "liveness", which is SERVING whenever it answers. */
void cw_server_set_ready(struct cw_server *server, bool ready);
void cw_server_add_reflection(struct cw_server *server, const void *descriptors, size_t n);
/* Has the server asked whether it serves, once a second and over a connection of its own to its own
 * port, for which descriptors are reserved. Called after cw_server_add_health and cw_server_listen.
 * cw_server_trouble says what was wrong with the last answer; NULL: it serves, or is not asked. */
void cw_server_add_probe(struct cw_server *server);
const char *cw_server_trouble(const struct cw_server *server);
/* Sets the largest request of a unary method that was added; it is CW_REQUEST_MAX otherwise. */
void cw_server_set_request_max(struct cw_server *server, const char *path, size_t bytes);
/* Sets how many bytes may wait for one peer of a stream. When more wait, the stream ends, for both
 * sides with an error; on_close is not called before cw_stream_send has returned. */
void cw_server_set_queue_max(struct cw_server *server, size_t bytes);
/* What the messages of a method have cost: iterates over the methods, from *i = 0 until it returns
 * false. Times are CPU time of the loop's thread. */
struct cw_method_time {
    const char *path;
    uint64_t messages;
    int64_t longest_ns;
    uint64_t long_n; /* Messages that took more than CW_MESSAGE_LONG_NS (base/limits.h). */
};
bool cw_server_next_method(const struct cw_server *server, size_t *i,
                           struct cw_method_time *ret_time);
/* The calls and streams of a server: those that are open, those of them that have not said anything;
 * and those that were refused since it was made since too many of these were there, or ended
 * because their first message did not come in time. Then the connections that it took, and those
 * that it refused because descriptors ran short. */
struct cw_server_calls {
    size_t open, silent;
    uint64_t refused, timed_out;
    uint64_t connections, connections_refused;
    bool full; /* Connections are refused now. */
};
struct cw_server_calls cw_server_calls(const struct cw_server *server);
/* Listens at "127.0.0.1:0", "[::]:8080" or "unix:/path". *ret_address receives the address with the
 * real port. A live peer on the same port or path is an error (EXISTS); a dead socket file is
 * replaced. */
int cw_server_listen(struct cw_server *server, const char *address, char *ret_address, size_t cap,
                     struct cw_err *err);
void cw_server_start(struct cw_server *server);
/* Refuses new calls, ends open ones after grace_ms, then frees the server and calls fn. */
void cw_server_stop(struct cw_server *server, int64_t grace_ms, cw_loop_fn *fn, void *arg);

#endif
