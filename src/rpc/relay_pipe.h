/* SPDX-License-Identifier: Apache-2.0 */
/* Frames over a pair of pipes between a process and its relay. Each direction has a thread, so that
 * the loop of neither side ever waits for the other side. The queue here has no limit of its own:
 * the windows and the credit of the streams limit what senders queue. */
#ifndef CW_RPC_RELAY_PIPE_H
#define CW_RPC_RELAY_PIPE_H

#include "base/thread.h"
#include "loop/loop.h"
#include "rpc/rpc.h"

enum cw_frame_kind {
    /* Frames to the relay. Each is about the object that has the number head.id. */
    CW_FRAME_CHANNEL = 1, /* opens a channel; number: the peer's role; text: address */
    CW_FRAME_TLS,   /* the relay speaks TLS; text: the files, and the rules of roles, one a line */
    CW_FRAME_TOKEN, /* sets a channel's token; number 1: text is a file's name; 0: the token */
    CW_FRAME_CHANNEL_CLOSE,
    /* begins a unary call; on: the channel; number: timeout_ms; text: method; bytes: request */
    CW_FRAME_UNARY,
    CW_FRAME_STREAM, /* opens a stream; on: the channel; text: method */
    CW_FRAME_SEND,   /* sends bytes on a stream */
    CW_FRAME_PAUSE,  /* pauses receiving on a stream (number 1), or continues (0) */
    CW_FRAME_FINISH, /* finishes our side of a stream; number: code; text: message */
    CW_FRAME_FREE,
    /* Frames from the relay. */
    CW_FRAME_REPLY,   /* the reply to a unary call; number: code; text: message; bytes: the reply */
    CW_FRAME_MESSAGE, /* a message of a stream, in bytes */
    CW_FRAME_END,     /* the end of a stream; number: code; text: message */
    CW_FRAME_GONE     /* never sent: the reader makes it when the other side has ended */
};
struct cw_frame_head {
    uint32_t kind, text_n;
    uint64_t id, on, bytes_n;
    int64_t number;
};
struct cw_frame {
    struct cw_frame_head head;
    char *text;  /* NUL-terminated; never NULL when received */
    void *bytes; /* the receiver may take them, and then sets this to NULL */
};
typedef void cw_frame_fn(void *arg, struct cw_frame *frame);

struct cw_relay_pipe;
/* fn is called on the loop thread. The caller keeps the descriptors, and closes them. */
struct cw_relay_pipe *cw_relay_pipe_new(struct cw_loop *loop, int in_fd, int out_fd,
                                        cw_frame_fn *fn, void *arg) CW_MUST_CHECK;
/* Waits for both threads: the caller must have stopped the other side. fn is not called
 * afterwards. */
void cw_relay_pipe_free(struct cw_relay_pipe *pipe);
/* Waits for the reader, which ends after CW_FRAME_GONE. For a caller that then ends the process
 * instead of freeing the pipe. */
void cw_relay_pipe_join_reader(struct cw_relay_pipe *pipe);
/* Queues a frame with copies of the text and of the buffers' bytes. */
void cw_relay_pipe_send(struct cw_relay_pipe *pipe, const struct cw_frame_head *head,
                        const char *text, struct cw_buf *const *bufs, size_t n);
/* Queues a frame with a copy of the message's bytes. */
void cw_relay_pipe_send_msg(struct cw_relay_pipe *pipe, const struct cw_frame_head *head,
                            const struct cw_rpc_msg *msg);

#endif
