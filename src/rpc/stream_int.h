/* SPDX-License-Identifier: Apache-2.0 */
/* The stream object, shared by stream.c (life, receiving) and stream_send.c.
 *
 * pending counts batches in flight; every callback into the owner happens inside the completion
 * of one, so that the owner may free the stream there. gRPC's call is let go as soon as the
 * stream is over and nothing is pending (a server cannot stop before); the object when its owner
 * has let go as well. */
#ifndef CW_RPC_STREAM_INT_H
#define CW_RPC_STREAM_INT_H

#include "rpc/rpc_int.h"

struct out_msg {
    struct out_msg *next;
    grpc_byte_buffer *buffer;
    size_t bytes;
};
struct cw_stream {
    struct cw_rpc *rpc;
    struct cw_channel *channel; /* client side: one ref; else NULL */
    struct cw_server *server;   /* server side: it waits for the call; else NULL */
    grpc_call *call;            /* NULL when over */
    /* not 0: the relay's number of it; then only rpc, channel, method and peer are used */
    uint64_t relayed;
    char *method;
    char *peer;
    struct cw_stream_cb cb;
    void *arg;
    size_t pending;
    bool accepted;  /* the owner has it */
    bool freed;     /* and let go */
    bool over;      /* on_close was due */
    bool hold_open; /* server: half-closing by the peer does not end it */

    /* sending */
    struct cw_rpc_op start_op, send_op, finish_op;
    struct out_msg *head, **tail; /* head is in flight while sending */
    size_t queued, low;
    bool sending, above_low;
    bool finishing, finish_sent;
    int finish_code;
    char *finish_msg;

    /* receiving */
    struct cw_rpc_op recv_op;
    grpc_byte_buffer *recv_buffer;
    bool receiving, paused, recv_end;

    /* the end: RECV_STATUS_ON_CLIENT or RECV_CLOSE_ON_SERVER */
    struct cw_rpc_op status_op, meta_op;
    bool status_done;
    grpc_status_code status;
    grpc_slice details;
    grpc_metadata_array initial_md, trailing_md;
    int cancelled;

    /* freed after finish: sends what is queued by itself, for a while */
    struct cw_timer *linger;
    struct cw_stream *linger_next, **linger_prev;
};

/* At the end of every completion: gives the batch back and ends what can be ended. */
void stream_done(struct cw_stream *stream);
void stream_begin_recv(struct cw_stream *stream);

/* stream_send.c */
void stream_send_init(struct cw_stream *stream);
void stream_pump_out(struct cw_stream *stream); /* starts the next batch if none is in flight */
void stream_drop_queue(struct cw_stream *stream);

#endif
