/* SPDX-License-Identifier: Apache-2.0 */
/* The relay's side of the pipes: it carries out with gRPC what the frames ask for, and sends the
 * answers back. */
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "rpc/relay_pipe.h"

struct serve {
    struct cw_rpc *rpc;
    struct cw_relay_pipe *pipe;
    struct cw_map channels, streams; /* maps the numbers of objects to the objects */
};
struct relayed {
    struct serve *serve;
    uint64_t id;
    struct cw_stream *stream; /* NULL: a unary call */
};

static void on_reply(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    struct relayed *call = arg;
    struct cw_frame_head head = {.kind = CW_FRAME_REPLY, .id = call->id, .number = code};
    if (reply)
        cw_relay_pipe_send_msg(call->serve->pipe, &head, reply);
    else
        cw_relay_pipe_send(call->serve->pipe, &head, msg, NULL, 0);
    cw_mem_free(call);
}

static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    struct relayed *stream = arg;
    cw_relay_pipe_send_msg(stream->serve->pipe,
                           &(struct cw_frame_head){.kind = CW_FRAME_MESSAGE, .id = stream->id},
                           msg);
}

static void on_close(void *arg, int code, const char *msg)
{
    struct relayed *stream = arg;
    cw_relay_pipe_send(
        stream->serve->pipe,
        &(struct cw_frame_head){.kind = CW_FRAME_END, .id = stream->id, .number = code}, msg, NULL,
        0);
}

static void open_stream(struct serve *serve, struct cw_channel *channel,
                        const struct cw_frame *frame)
{
    static const struct cw_stream_cb callbacks = {on_message, NULL, on_close};
    struct relayed *stream = CW_NEW(struct relayed);
    stream->serve = serve;
    stream->id = frame->head.id;
    stream->stream = cw_channel_stream(channel, frame->text, &callbacks, stream);
    cw_map_set(&serve->streams, stream->id, stream);
}

static void call_unary(struct serve *serve, struct cw_channel *channel,
                       const struct cw_frame *frame)
{
    struct relayed *call = CW_NEW(struct relayed);
    struct cw_buf *request = cw_buf_copy(frame->bytes, frame->head.bytes_n);
    call->serve = serve;
    call->id = frame->head.id;
    cw_channel_unary(channel, frame->text, request, frame->head.number, on_reply, call);
    cw_buf_unref(request);
}

static void close_stream(struct serve *serve, uint64_t id)
{
    struct relayed *stream = cw_map_remove(&serve->streams, id);
    if (stream)
        cw_stream_free(stream->stream);
    cw_mem_free(stream);
}

static void on_stream_frame(struct relayed *stream, const struct cw_frame *frame)
{
    if (frame->head.kind == CW_FRAME_SEND) {
        struct cw_buf *buf = cw_buf_copy(frame->bytes, frame->head.bytes_n);
        cw_stream_send(stream->stream, &buf, 1);
        cw_buf_unref(buf);
    } else if (frame->head.kind == CW_FRAME_PAUSE) {
        cw_stream_pause(stream->stream, frame->head.number != 0);
    } else if (frame->head.kind == CW_FRAME_FINISH) {
        cw_stream_finish(stream->stream, (int)frame->head.number, frame->text);
    }
}

static void set_token(struct serve *serve, const struct cw_frame *frame)
{
    struct cw_channel *channel = cw_map_get(&serve->channels, frame->head.id);
    bool is_file = frame->head.number != 0;
    if (channel)
        cw_channel_set_token(channel, is_file ? NULL : frame->text, is_file ? frame->text : NULL);
}

/* An error is kept: channels end their calls with it. */
static void set_tls(struct serve *serve, char *text)
{
    struct cw_tls_options options = {0};
    const char *words[4 + CW_ARRAY_LEN(options.roles.v)];
    size_t n = 0;
    for (char *word = text, *end; word && n < CW_ARRAY_LEN(words) - 1; word = end) {
        end = strchr(word, '\n');
        if (end)
            *end++ = '\0';
        words[n++] = word;
    }
    if (n < 3)
        return;
    options.cert = words[0];
    options.key = words[1];
    options.ca = words[2];
    for (size_t i = 3; i < n && options.roles.n < CW_ARRAY_LEN(options.roles.v); i++)
        options.roles.v[options.roles.n++] = words[i];
    (void)cw_rpc_set_tls(serve->rpc, &options, NULL);
}

static void on_frame(void *arg, struct cw_frame *frame)
{
    struct serve *serve = arg;
    const struct cw_frame_head *head = &frame->head;
    struct relayed *stream = cw_map_get(&serve->streams, head->id);
    struct cw_channel *channel = cw_map_get(&serve->channels, head->on);
    if (head->kind == CW_FRAME_GONE) {
        cw_relay_pipe_join_reader(serve->pipe);
        /* the process for which this relay works has ended, and its connections end with it */
        _exit(0);
    }
    if (head->kind == CW_FRAME_CHANNEL)
        cw_map_set(&serve->channels, head->id,
                   cw_channel_open_to(serve->rpc, frame->text, (enum cw_role)head->number));
    else if (head->kind == CW_FRAME_TLS)
        set_tls(serve, frame->text);
    else if (head->kind == CW_FRAME_TOKEN)
        set_token(serve, frame);
    else if (head->kind == CW_FRAME_CHANNEL_CLOSE)
        cw_channel_close(cw_map_remove(&serve->channels, head->id));
    else if (head->kind == CW_FRAME_UNARY && channel)
        call_unary(serve, channel, frame);
    else if (head->kind == CW_FRAME_STREAM && channel)
        open_stream(serve, channel, frame);
    else if (head->kind == CW_FRAME_FREE)
        close_stream(serve, head->id);
    else if (stream)
        on_stream_frame(stream, frame);
}

void cw_rpc_relay(struct cw_loop *loop, int in_fd, int out_fd)
{
    struct serve serve = {.rpc = cw_rpc_new(loop)};
    serve.pipe = cw_relay_pipe_new(loop, in_fd, out_fd, on_frame, &serve);
    cw_loop_run(loop);
}
