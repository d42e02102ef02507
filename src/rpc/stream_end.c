/* SPDX-License-Identifier: Apache-2.0 */
/* How a stream ends: each completion calls stream_done last. It reports the end to the owner once,
 * gives the call back to gRPC, and frees the stream when its owner has freed it, too. */
#include <grpc/support/alloc.h>
#include <stdio.h>

#include "base/mem.h"
#include "rpc/stream_int.h"

static void unlink_linger(struct cw_rpc_linger *linger)
{
    if (!linger->prev)
        return;
    *linger->prev = linger->next;
    if (linger->next)
        linger->next->prev = linger->prev;
    linger->prev = NULL;
}

void stream_destroy(struct cw_stream *stream)
{
    unlink_linger(&stream->linger);
    cw_timer_free(stream->linger.timer);
    cw_timer_free(stream->unread_timer);
    stream_drop_queue(stream);
    grpc_slice_unref(stream->details);
    cw_channel_unref(stream->channel);
    cw_shown_token_fini(&stream->token_shown);
    cw_mem_free(stream->caller);
    cw_mem_free(stream->method);
    cw_mem_free(stream->peer);
    cw_mem_free(stream->finish_msg);
    cw_mem_free(stream);
}

static void keep_peer(struct cw_stream *stream)
{
    if (stream->server) { /* The listener forgets it when the connection ends. */
        if (!stream->peer)
            stream->peer = cw_listener_peer(&stream->server->listener, stream->call);
        return;
    }
    cw_mem_free(stream->peer);
    char *peer = grpc_call_get_peer(stream->call);
    stream->peer = cw_mem_strdup(peer ? peer : "unknown");
    gpr_free(peer);
}

const char *cw_stream_peer(const struct cw_stream *stream)
{
    if (stream->call)
        /* the address is cached in the stream, which is const to the caller */
        keep_peer((struct cw_stream *)(uintptr_t)stream);
    return stream->peer;
}

/* Frees what gRPC wrote into the stream, which belongs to the call, and then the call itself. */
static void drop_call(struct cw_stream *stream)
{
    if (!stream->call)
        return;
    keep_peer(stream);
    grpc_metadata_array_destroy(&stream->initial_md);
    grpc_metadata_array_destroy(&stream->trailing_md);
    stream_drop_queue(stream);
    grpc_call_unref(stream->call);
    stream->call = NULL;
}

static int end_code(struct cw_stream *stream, char *ret_msg, size_t cap)
{
    if (stream->channel)
        (void)cw_channel_note_asked(stream->channel, &stream->token_shown, stream->status);
    if (stream->channel)
        return cw_channel_status(stream->channel, stream->status, stream->details, stream->method,
                                 ret_msg, cap);
    snprintf(ret_msg, cap, "%s", "");
    if (!stream->cancelled)
        return 0;
    snprintf(ret_msg, cap, "%s: %s", cw_stream_peer(stream),
             stream->unread ? "it does not read what it is sent"
                            : "the peer is gone or has cancelled");
    return CW_E_UNAVAILABLE;
}

static void close_stream(struct cw_stream *stream)
{
    stream->over = true;
    stream_drop_queue(stream);
    if (stream->freed || !stream->accepted)
        return;
    char msg[CW_RPC_STATUS_MSG_BYTES];
    int code = end_code(stream, msg, sizeof msg);
    stream->cb.on_close(stream->arg, code, msg);
}

void stream_done(struct cw_stream *stream)
{
    /* The status may arrive before the last message has been taken. */
    if (stream->status_done && !stream->receiving && !stream->sending && !stream->over)
        close_stream(stream);
    if (--stream->pending > 0)
        return;
    struct cw_server *server = stream->server;
    drop_call(stream);
    stream->over = true;
    if (stream->freed || !stream->accepted)
        stream_destroy(stream);
    if (server)
        cw_server_leave(server);
}
