/* SPDX-License-Identifier: Apache-2.0 */
/* A bidirectional stream, on either side: making it, receiving, and freeing it. */
#include "base/clock.h"
#include "base/mem.h"
#include "rpc/relay.h"
#include "rpc/stream_int.h"

#define LINGER_MS 5000 /* how long a freed stream may take to send its queue */

/* ---- receiving ---- */

static void begin_recv(struct cw_stream *stream)
{
    /* a lingering stream reads to its end */
    bool unwanted =
        stream->at_door || !stream->accepted || (stream->freed && !stream->linger.timer);
    if (unwanted || stream->receiving || stream->paused || stream->recv_end ||
        stream->status_done || !stream->call)
        return;
    grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};
    op.data.recv_message.recv_message = &stream->recv_buffer;
    stream->recv_buffer = NULL;
    if (cw_rpc_op_start(&stream->recv_op, stream->call, &op, 1)) {
        stream->receiving = true;
        stream->pending++;
    }
}

static void take_message(struct cw_stream *stream)
{
    struct cw_rpc_msg *msg = cw_rpc_msg_new(stream->recv_buffer);
    stream->recv_buffer = NULL;
    struct cw_server *server = stream->server;
    size_t method = stream->method_index;
    int64_t begin = server ? cw_clock_thread_cpu_ns() : 0;
    if (!stream->freed)
        stream->cb.on_message(stream->arg, msg);
    if (server)
        cw_server_note_time(server, method, cw_clock_thread_cpu_ns() - begin);
    cw_rpc_msg_unref(msg);
}

void cw_stream_note_time(struct cw_stream *stream, int64_t ns)
{
    if (stream->server)
        cw_server_note_later(stream->server, stream->method_index, ns);
}

static void leave_door(struct cw_stream *stream)
{
    if (stream->server)
        cw_door_leave(&stream->server->door, &stream->guest);
}

static void on_received(struct cw_rpc_op *op, bool ok)
{
    struct cw_stream *stream = CW_CONTAINER_OF(op, struct cw_stream, recv_op);
    stream->receiving = false;
    leave_door(stream);
    if (ok && stream->recv_buffer) {
        take_message(stream);
        begin_recv(stream);
    } else {
        stream->recv_end = true;
        if (stream->recv_buffer)
            grpc_byte_buffer_destroy(stream->recv_buffer);
        stream->recv_buffer = NULL;
        if (!stream->channel && !stream->hold_open)
            cw_stream_finish(stream, 0, NULL);
    }
    stream_done(stream);
}

void cw_stream_pause(struct cw_stream *stream, bool paused)
{
    stream->paused = paused;
    if (paused && stream->guest.prev) {
        leave_door(stream);
        stream->at_door = false;
    }
    if (stream->relayed)
        cw_relay_pause(stream->rpc->relay, stream->relayed, paused);
    else
        begin_recv(stream);
}

/* ---- making a stream ---- */

static void on_meta(struct cw_rpc_op *op, bool ok)
{
    (void)ok;
    stream_done(CW_CONTAINER_OF(op, struct cw_stream, meta_op));
}

static void on_status(struct cw_rpc_op *op, bool ok)
{
    (void)ok; /* it is always true for these two operations */
    struct cw_stream *stream = CW_CONTAINER_OF(op, struct cw_stream, status_op);
    stream->status_done = true;
    leave_door(stream);
    stream_done(stream);
}

static struct cw_stream *new_stream(struct cw_rpc *rpc, grpc_call *call, const char *method)
{
    struct cw_stream *stream = CW_NEW(struct cw_stream);
    stream->rpc = rpc;
    stream->call = call;
    stream->method = cw_mem_strdup(method);
    stream->details = grpc_empty_slice();
    grpc_metadata_array_init(&stream->initial_md);
    grpc_metadata_array_init(&stream->trailing_md);
    cw_rpc_op_init(&stream->recv_op, rpc, on_received);
    cw_rpc_op_init(&stream->status_op, rpc, on_status);
    cw_rpc_op_init(&stream->meta_op, rpc, on_meta);
    return stream;
}

static void start(struct cw_stream *stream, struct cw_rpc_op *op, const grpc_op *what)
{
    if (cw_rpc_op_start(op, stream->call, what, 1))
        stream->pending++;
}

struct cw_stream *cw_stream_new_client(struct cw_channel *channel, grpc_call *call,
                                       const char *method, const struct cw_stream_cb *cb, void *arg)
{
    struct cw_stream *stream = new_stream(cw_channel_rpc(channel), call, method);
    cw_channel_ref(channel);
    stream->channel = channel;
    cw_shown_token_init(&stream->token_shown, channel);
    stream->accepted = true;
    stream->cb = *cb;
    stream->arg = arg;
    stream->rpc->objects++;
    grpc_op status = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT};
    status.data.recv_status_on_client.status = &stream->status;
    status.data.recv_status_on_client.status_details = &stream->details;
    status.data.recv_status_on_client.trailing_metadata = &stream->trailing_md;
    start(stream, &stream->status_op, &status);
    stream_send_init(stream);
    grpc_op meta = {.op = GRPC_OP_RECV_INITIAL_METADATA};
    meta.data.recv_initial_metadata.recv_initial_metadata = &stream->initial_md;
    start(stream, &stream->meta_op, &meta);
    begin_recv(stream);
    return stream;
}

struct cw_stream *cw_stream_new_relayed(struct cw_channel *channel, uint64_t relayed,
                                        const char *method, const struct cw_stream_cb *cb,
                                        void *arg)
{
    struct cw_stream *stream = CW_NEW(struct cw_stream);
    stream->rpc = cw_channel_rpc(channel);
    cw_channel_ref(channel);
    stream->channel = channel;
    stream->method = cw_mem_strdup(method);
    stream->peer = cw_mem_strdup("a relay");
    stream->rpc->objects++;
    stream->relayed = cw_relay_stream(stream->rpc->relay, relayed, method, cb, arg);
    return stream;
}

static void free_relayed(struct cw_stream *stream)
{
    cw_relay_stream_free(stream->rpc->relay, stream->relayed);
    stream->rpc->objects--;
    cw_channel_unref(stream->channel);
    cw_mem_free(stream->method);
    cw_mem_free(stream->peer);
    cw_mem_free(stream);
}

static void let_in(void *arg)
{
    struct cw_stream *stream = arg;
    stream->at_door = false;
    begin_recv(stream);
}

const void *cw_stream_caller(const struct cw_stream *stream)
{
    return stream->caller;
}

void cw_stream_serve(struct cw_server *server, grpc_call *call, const struct cw_method *method,
                     void *caller)
{
    struct cw_stream *stream = new_stream(cw_server_rpc(server), call, method->path);
    stream->caller = caller;
    stream->server = server;
    cw_server_enter(server);
    grpc_op close = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};
    close.data.recv_close_on_server.cancelled = &stream->cancelled;
    start(stream, &stream->status_op, &close);
    stream_send_init(stream);
    stream->pending++; /* so that the owner may free the stream in the callback */
    stream->method_index = cw_server_method_index(server, method);
    stream->at_door = true;
    method->stream(method->arg, stream);
    if (stream->paused)
        stream->at_door = false; /* The owner does not want to hear anything yet. */
    if (!stream->accepted && !stream->finishing)
        cw_stream_finish(stream, CW_E_INTERNAL, "the stream was not accepted");
    if (stream->at_door && !stream->finishing && !stream->freed &&
        !cw_door_enter(&server->door, &stream->guest, call, cw_stream_peer(stream), let_in, stream))
        cw_stream_finish(stream, CW_E_LIMIT, "too many calls wait to be read");
    stream_done(stream);
}

void cw_stream_accept(struct cw_stream *stream, const struct cw_stream_cb *cb, void *arg)
{
    CW_ASSERT(!stream->channel && !stream->accepted);
    stream->accepted = true;
    stream->cb = *cb;
    stream->arg = arg;
    stream->rpc->objects++;
}

void cw_stream_hold_open(struct cw_stream *stream)
{
    stream->hold_open = true;
}

/* ---- freeing ---- */

static void cancel(struct cw_stream *stream)
{
    if (stream->call)
        grpc_call_cancel(stream->call, NULL);
}

static void on_linger_end(void *arg)
{
    cancel(arg);
}

static void linger(struct cw_stream *stream)
{
    struct cw_rpc_linger *linger = &stream->linger, **list = &stream->rpc->lingering;
    linger->next = *list;
    linger->prev = list;
    if (*list)
        (*list)->prev = &linger->next;
    *list = linger;
    linger->timer = cw_timer_new(stream->rpc->loop, on_linger_end, stream);
    cw_timer_start(linger->timer, LINGER_MS, 0);
    cw_stream_pause(stream, false);
}

void cw_stream_free(struct cw_stream *stream)
{
    if (!stream)
        return;
    if (stream->relayed) {
        free_relayed(stream);
        return;
    }
    CW_ASSERT(stream->accepted && !stream->freed);
    stream->freed = true;
    stream->rpc->objects--;
    if (stream->pending == 0) {
        stream_destroy(stream);
    } else if (stream->finishing && !stream->status_done) {
        linger(stream);
    } else {
        cancel(stream);
    }
}
