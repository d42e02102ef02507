/* SPDX-License-Identifier: Apache-2.0 */
/* The send queue of a stream. Its head is in flight while the stream sends. */
#include "base/mem.h"
#include "rpc/stream_int.h"

/* bytes of memory that gRPC and the queue use for a message in addition to its bytes */
#define MESSAGE_BYTES 512

void stream_queue_init(struct cw_stream *stream)
{
    stream->tail = &stream->head;
}

void stream_add_out(struct cw_stream *stream, struct cw_buf *const *bufs, size_t n)
{
    struct out_msg *msg = CW_NEW(struct out_msg);
    msg->buffer = cw_rpc_buffer_new(bufs, n, &msg->bytes);
    msg->bytes += MESSAGE_BYTES;
    stream->queued += msg->bytes;
    stream->above_low |= stream->queued > stream->low;
    *stream->tail = msg;
    stream->tail = &msg->next;
}

void stream_remove_head(struct cw_stream *stream)
{
    struct out_msg *msg = stream->head;
    stream->head = msg->next;
    if (!stream->head)
        stream->tail = &stream->head;
    stream->queued -= msg->bytes;
    grpc_byte_buffer_destroy(msg->buffer);
    cw_mem_free(msg);
}

void stream_drop_queue(struct cw_stream *stream)
{
    while (stream->head)
        stream_remove_head(stream);
}

void stream_drop_waiting(struct cw_stream *stream)
{
    struct out_msg *head = stream->head;
    if (!stream->sending) {
        stream_drop_queue(stream);
        return;
    }
    for (struct out_msg *msg = head->next, *next; msg; msg = next) {
        next = msg->next;
        stream->queued -= msg->bytes;
        grpc_byte_buffer_destroy(msg->buffer);
        cw_mem_free(msg);
    }
    head->next = NULL;
    stream->tail = &head->next;
}

size_t cw_stream_queued(const struct cw_stream *stream)
{
    return stream->queued;
}

void cw_stream_set_low(struct cw_stream *stream, size_t bytes)
{
    /* on a stream through a relay the queue here is always empty, so the mark is never reached */
    stream->low = bytes;
    stream->above_low = stream->queued > bytes;
}
