/* SPDX-License-Identifier: Apache-2.0 */
/* Frames over a pair of pipes between a process and its relay, by a thread for each direction,
 * so that neither side's loop ever waits for the other. How much is on its way is bounded by
 * those who send: by windows and credit. */
#ifndef CW_RPC_RELAY_PIPE_H
#define CW_RPC_RELAY_PIPE_H

#include "base/thread.h"
#include "loop/loop.h"
#include "rpc/rpc.h"

enum cw_frame_kind {
    /* to the relay */
    CW_FRAME_CHANNEL = 1, /* id; text: address */
    CW_FRAME_CHANNEL_CLOSE,
    CW_FRAME_UNARY,  /* id, on: channel; number: timeout_ms; text: method; bytes: request */
    CW_FRAME_STREAM, /* id, on: channel; text: method */
    CW_FRAME_SEND,   /* bytes */
    CW_FRAME_PAUSE,  /* number: paused */
    CW_FRAME_FINISH, /* number: code; text */
    CW_FRAME_FREE,
    /* from it */
    CW_FRAME_REPLY,   /* to a UNARY; number: code; text: why; bytes: the reply */
    CW_FRAME_MESSAGE, /* bytes */
    CW_FRAME_END,     /* of a STREAM; number: code; text: why */
    CW_FRAME_GONE     /* made by the reader: the other side has ended */
};
struct cw_frame_head {
    uint32_t kind, text_n;
    uint64_t id, on, bytes_n;
    int64_t number;
};
struct cw_frame {
    struct cw_frame_head head;
    char *text;  /* NUL-terminated; never NULL when received */
    void *bytes; /* taken by the receiver when it sets this to NULL */
};
typedef void cw_frame_fn(void *arg, struct cw_frame *frame);

struct cw_relay_pipe;
/* The descriptors stay the caller's. fn runs on the loop thread. */
struct cw_relay_pipe *cw_relay_pipe_new(struct cw_loop *loop, int in_fd, int out_fd,
                                        cw_frame_fn *fn, void *arg) CW_MUST_CHECK;
/* The other side must have ended, or end by this: closing out_fd is the caller's. No fn runs
 * after it. */
void cw_relay_pipe_free(struct cw_relay_pipe *pipe);
/* After CW_FRAME_GONE, for who ends the process instead of freeing the pipe: its reader has
 * ended. */
void cw_relay_pipe_join_reader(struct cw_relay_pipe *pipe);
/* Copies text; takes a ref of each buffer. */
void cw_relay_pipe_send(struct cw_relay_pipe *pipe, const struct cw_frame_head *head,
                        const char *text, struct cw_buf *const *bufs, size_t n);
/* Bytes of a message, in one piece. */
void cw_relay_pipe_send_msg(struct cw_relay_pipe *pipe, const struct cw_frame_head *head,
                            const struct cw_rpc_msg *msg);

#endif
