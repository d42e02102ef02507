/* SPDX-License-Identifier: Apache-2.0 */
/* The stream object, shared by stream.c (making, receiving, freeing), stream_send.c (sending),
 * stream_queue.c (the send queue) and stream_end.c (the end).
 *
 * `pending` counts the batches in flight. Every callback of the owner runs inside the completion of
 * a batch, so that the owner may free the stream in it. The call is given back to gRPC as soon as
 * the stream is over and nothing is pending (a server cannot stop before that). The object is freed
 * when its owner has freed it as well. */
#ifndef CW_RPC_STREAM_INT_H
#define CW_RPC_STREAM_INT_H

#include "rpc/gate.h"
#include "rpc/server_int.h"

struct out_msg {
    struct out_msg *next;
    grpc_byte_buffer *buffer;
    size_t bytes;
};
struct cw_stream {
    struct cw_rpc *rpc;
    struct cw_channel *channel; /* client side: holds a reference; otherwise NULL */
    struct cw_server *server;   /* server side: entered until the call is over; otherwise NULL */
    grpc_call *call;            /* NULL when the stream is over */
    /* The relay's number of the stream, for which only rpc, channel, method and peer are used; 0:
     * gRPC is used directly. */
    uint64_t relayed;
    char *method;
    char *peer;
    struct cw_stream_cb cb;
    void *arg;
    size_t pending;
    struct cw_shown_token token_shown; /* client side: the token that it shows */
    void *caller;                      /* server side: what the gate has returned */
    bool accepted;                     /* it has an owner */
    bool freed;                        /* the owner has freed it */
    bool over;                  /* it has ended, and on_close was called if it had an owner then */
    size_t method_index;        /* server side */
    struct cw_door_guest guest; /* server side, until the first message has come */
    bool at_door;               /* It is not its turn yet: nothing is received. */
    bool hold_open;             /* server side: it goes on after the peer has half-closed it */

    /* The fields below are for sending. */
    struct cw_rpc_op start_op, send_op, finish_op;
    struct out_msg *head, **tail; /* the message at the head is in flight while `sending` is set */
    size_t queued, low;
    bool sending, above_low;
    bool unread; /* More waited for the peer than may wait, so the call was cancelled. */
    bool finishing, finish_sent;
    int finish_code;
    char *finish_msg;

    /* The fields below are for receiving. */
    struct cw_rpc_op recv_op;
    grpc_byte_buffer *recv_buffer;
    bool receiving, paused, recv_end;

    /* The fields below are for the end: RECV_STATUS_ON_CLIENT or RECV_CLOSE_ON_SERVER. */
    struct cw_rpc_op status_op; /* the operation that is named above */
    struct cw_rpc_op meta_op;   /* client side: receives the server's initial metadata */
    bool status_done;
    grpc_status_code status;
    grpc_slice details;
    grpc_metadata_array initial_md, trailing_md;
    int cancelled;

    struct cw_rpc_linger linger;   /* used if the stream was freed after it was finished */
    struct cw_timer *unread_timer; /* it runs while a server's end waits for a peer to read */
};

/* ---- the send queue (stream_queue.c) ---- */
void stream_queue_init(struct cw_stream *stream);
/* Appends a message that consists of the buffers; takes a reference to each. */
void stream_add_out(struct cw_stream *stream, struct cw_buf *const *bufs, size_t n);
void stream_remove_head(struct cw_stream *stream);
void stream_drop_queue(struct cw_stream *stream);   /* Removes all messages. */
void stream_drop_waiting(struct cw_stream *stream); /* Removes all that are not in flight. */

/* ---- the end (stream_end.c) ---- */
void stream_destroy(struct cw_stream *stream); /* Frees the stream; no operation may be pending. */
/* Called last in the completion of every batch. Uncounts the batch, calls on_close if the stream is
 * over, and frees what can be freed; so the stream may be gone afterwards. */
void stream_done(struct cw_stream *stream);

/* ---- sending (stream_send.c) ---- */
void stream_send_init(struct cw_stream *stream);

#endif
