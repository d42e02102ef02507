/* SPDX-License-Identifier: Apache-2.0 */
/* Sending on a stream. One message of the queue is in flight at a time, since gRPC takes no more.
 * The end of our side is sent after the queue. */
#include "base/limits.h"
#include "base/mem.h"
#include "rpc/relay.h"
#include "rpc/stream_int.h"

static void send_head(struct cw_stream *stream)
{
    grpc_op op = {.op = GRPC_OP_SEND_MESSAGE};
    op.data.send_message.send_message = stream->head->buffer;
    stream->sending = true;
    if (cw_rpc_op_start(&stream->send_op, stream->call, &op, 1)) {
        stream->pending++;
    } else {
        stream->sending = false;
        stream_drop_queue(stream);
    }
}

static void send_finish(struct cw_stream *stream)
{
    stream->finish_sent = true;
    grpc_op op = {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT};
    grpc_slice details = grpc_empty_slice();
    if (!stream->channel) {
        details = cw_rpc_status_details(stream->finish_code, stream->finish_msg);
        op.op = GRPC_OP_SEND_STATUS_FROM_SERVER;
        op.data.send_status_from_server.status =
            (grpc_status_code)cw_err_to_grpc(stream->finish_code);
        op.data.send_status_from_server.status_details = &details;
    }
    if (cw_rpc_op_start(&stream->finish_op, stream->call, &op, 1))
        stream->pending++;
    grpc_slice_unref(details);
}

/* Starts the next batch if none is in flight. */
static void pump_out(struct cw_stream *stream)
{
    if (stream->sending || !stream->call || stream->over)
        return;
    if (stream->head)
        send_head(stream);
    else if (stream->finishing && !stream->finish_sent)
        send_finish(stream);
}

static void on_sent(struct cw_rpc_op *op, bool ok)
{
    struct cw_stream *stream = CW_CONTAINER_OF(op, struct cw_stream, send_op);
    stream->sending = false;
    stream_remove_head(stream);
    if (!ok)
        stream_drop_queue(stream); /* the call is broken; its status will follow */
    else
        pump_out(stream);
    if (stream->above_low && stream->queued <= stream->low) {
        stream->above_low = false;
        if (ok && !stream->freed && !stream->over && stream->cb.on_low)
            stream->cb.on_low(stream->arg);
    }
    stream_done(stream);
}

static void on_finish_sent(struct cw_rpc_op *op, bool ok)
{
    (void)ok;
    stream_done(CW_CONTAINER_OF(op, struct cw_stream, finish_op));
}

static void on_started(struct cw_rpc_op *op, bool ok)
{
    (void)ok;
    stream_done(CW_CONTAINER_OF(op, struct cw_stream, start_op));
}

void stream_send_init(struct cw_stream *stream)
{
    stream_queue_init(stream);
    cw_rpc_op_init(&stream->send_op, stream->rpc, on_sent);
    cw_rpc_op_init(&stream->finish_op, stream->rpc, on_finish_sent);
    cw_rpc_op_init(&stream->start_op, stream->rpc, on_started);
    grpc_op op = {.op = GRPC_OP_SEND_INITIAL_METADATA};
    op.data.send_initial_metadata.count = stream->token_shown.n;
    op.data.send_initial_metadata.metadata = &stream->token_shown.entry;
    if (cw_rpc_op_start(&stream->start_op, stream->call, &op, 1))
        stream->pending++;
}

/* The peer does not read. What waits for it is dropped, but for the message that gRPC has. */
static void overflow(struct cw_stream *stream)
{
    stream->finishing = stream->finish_sent = stream->unread = true;
    stream_drop_waiting(stream);
    grpc_call_cancel_with_status(stream->call, GRPC_STATUS_RESOURCE_EXHAUSTED,
                                 "what waits to be read is more than may wait", NULL);
}

void cw_stream_send(struct cw_stream *stream, struct cw_buf *const *bufs, size_t n)
{
    if (stream->relayed)
        cw_relay_send(stream->rpc->relay, stream->relayed, bufs, n);
    if (stream->finishing || stream->over || stream->relayed)
        return;
    stream_add_out(stream, bufs, n);
    pump_out(stream);
    if (stream->server && stream->call && stream->server->queue_max > 0 &&
        stream->queued > stream->server->queue_max)
        overflow(stream);
}

static void on_unread(void *arg)
{
    struct cw_stream *stream = arg;
    if (!stream->over && stream->call && stream->head)
        overflow(stream);
}

/* The end of a server's stream stands behind what waits for the peer, which may never read it. */
static void limit_waiting(struct cw_stream *stream)
{
    if (!stream->server || !stream->head)
        return;
    stream->unread_timer = cw_timer_new(stream->rpc->loop, on_unread, stream);
    cw_timer_start(stream->unread_timer, CW_UNREAD_MS, 0);
}

void cw_stream_finish(struct cw_stream *stream, int code, const char *msg)
{
    if (stream->relayed)
        cw_relay_finish(stream->rpc->relay, stream->relayed, code, msg);
    if (stream->finishing || stream->over || stream->relayed)
        return;
    stream->finishing = true;
    stream->finish_code = code;
    stream->finish_msg = cw_mem_strdup(msg);
    pump_out(stream);
    limit_waiting(stream);
}
