/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes frames on two threads; frames that were read are posted to the loop. */
#include "rpc/relay_pipe.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

#define TEXT_MAX (1u << 20)

struct out {
    struct out *next;
    size_t n;
    unsigned char bytes[];
};
struct in {
    struct cw_loop_node node;
    struct cw_relay_pipe *pipe;
    struct cw_frame frame;
};
struct cw_relay_pipe {
    struct cw_loop *loop;
    int in_fd, out_fd;
    cw_frame_fn *fn;
    void *arg;
    struct cw_thread reader, writer;
    struct cw_mutex mutex;
    struct cw_cond cond;
    struct out *head, **tail; /* guarded by mutex */
    bool closing;             /* guarded by mutex */
    bool freed;               /* loop thread: frames that still come are dropped */
};

/* ---- reading ---- */

static bool read_all(int fd, void *dst, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = read(fd, (char *)dst + done, n - done);
        if (got > 0)
            done += (size_t)got;
        else if (got == 0 || errno != EINTR)
            return false;
    }
    return true;
}

static void in_free(struct in *in)
{
    cw_mem_free(in->frame.text);
    cw_mem_free(in->frame.bytes);
    cw_mem_free(in);
}

static bool read_frame(int fd, struct cw_frame *frame)
{
    struct cw_frame_head *head = &frame->head;
    if (!read_all(fd, head, sizeof(*head)) || head->text_n > TEXT_MAX ||
        head->bytes_n > CW_RPC_DATA_MAX)
        return false;
    frame->text = cw_mem_new(head->text_n + 1u);
    frame->bytes = cw_mem_try(head->bytes_n);
    return frame->bytes && read_all(fd, frame->text, head->text_n) &&
           read_all(fd, frame->bytes, head->bytes_n);
}

static void on_frame(void *arg)
{
    struct in *in = arg;
    if (!in->pipe->freed)
        in->pipe->fn(in->pipe->arg, &in->frame);
    in_free(in);
}

static void read_thread(void *arg)
{
    struct cw_relay_pipe *pipe = arg;
    bool more = true;
    while (more) {
        struct in *in = CW_NEW(struct in);
        in->pipe = pipe;
        in->node = (struct cw_loop_node){.fn = on_frame, .arg = in};
        more = read_frame(pipe->in_fd, &in->frame);
        if (!more)
            in->frame.head = (struct cw_frame_head){.kind = CW_FRAME_GONE};
        cw_loop_post_node(pipe->loop, &in->node);
    }
}

/* ---- writing ---- */

static bool write_all(int fd, const void *src, size_t n)
{
    for (size_t done = 0; done < n;) {
        /* signals are blocked in this thread, SIGPIPE as well */
        ssize_t put = write(fd, (const char *)src + done, n - done);
        if (put > 0)
            done += (size_t)put;
        else if (errno != EINTR)
            return false;
    }
    return true;
}

static struct out *take(struct cw_relay_pipe *pipe)
{
    cw_mutex_lock(&pipe->mutex);
    while (!pipe->head && !pipe->closing)
        cw_cond_wait(&pipe->cond, &pipe->mutex);
    struct out *out = pipe->head;
    if (out) {
        pipe->head = out->next;
        pipe->tail = pipe->head ? pipe->tail : &pipe->head;
    }
    cw_mutex_unlock(&pipe->mutex);
    return out;
}

/* The thread that writes. What cannot be written any more is dropped, since the reader sees the
 * end. */
static void write_thread(void *arg)
{
    struct cw_relay_pipe *pipe = arg;
    bool well = true;
    for (struct out *out; (out = take(pipe)) != NULL; cw_mem_free(out))
        well = well && write_all(pipe->out_fd, out->bytes, out->n);
}

static struct out *out_new(const struct cw_frame_head *head, const char *text, size_t bytes_n)
{
    size_t text_n = text ? CW_MIN(strlen(text), (size_t)TEXT_MAX) : 0;
    struct out *out = cw_mem_grow(NULL, 1, sizeof(*out) + sizeof(*head) + text_n + bytes_n);
    out->next = NULL;
    struct cw_frame_head filled = *head;
    filled.text_n = (uint32_t)text_n;
    filled.bytes_n = bytes_n;
    memcpy(out->bytes, &filled, sizeof(filled));
    if (text_n > 0)
        memcpy(out->bytes + sizeof(filled), text, text_n);
    out->n = sizeof(filled) + text_n;
    return out;
}

static void enqueue(struct cw_relay_pipe *pipe, struct out *out)
{
    cw_mutex_lock(&pipe->mutex);
    *pipe->tail = out;
    pipe->tail = &out->next;
    cw_cond_signal(&pipe->cond);
    cw_mutex_unlock(&pipe->mutex);
}

void cw_relay_pipe_send(struct cw_relay_pipe *pipe, const struct cw_frame_head *head,
                        const char *text, struct cw_buf *const *bufs, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += bufs[i]->len;
    struct out *out = out_new(head, text, bytes);
    for (size_t i = 0; i < n; i++) {
        if (bufs[i]->len > 0)
            memcpy(out->bytes + out->n, bufs[i]->data, bufs[i]->len);
        out->n += bufs[i]->len;
    }
    enqueue(pipe, out);
}

void cw_relay_pipe_send_msg(struct cw_relay_pipe *pipe, const struct cw_frame_head *head,
                            const struct cw_rpc_msg *msg)
{
    size_t bytes = msg ? cw_rpc_msg_len(msg) : 0;
    struct out *out = out_new(head, NULL, bytes);
    struct cw_rpc_reader reader = {.msg = msg};
    if (bytes > 0)
        out->n += cw_rpc_reader_read(&reader, out->bytes + out->n, bytes);
    enqueue(pipe, out);
}

/* ---- life ---- */

struct cw_relay_pipe *cw_relay_pipe_new(struct cw_loop *loop, int in_fd, int out_fd,
                                        cw_frame_fn *fn, void *arg)
{
    struct cw_relay_pipe *pipe = CW_NEW(struct cw_relay_pipe);
    pipe->loop = loop;
    pipe->in_fd = in_fd;
    pipe->out_fd = out_fd;
    pipe->fn = fn;
    pipe->arg = arg;
    pipe->tail = &pipe->head;
    cw_mutex_init(&pipe->mutex);
    cw_cond_init(&pipe->cond);
    cw_thread_start(&pipe->reader, "relay-read", read_thread, pipe);
    cw_thread_start(&pipe->writer, "relay-write", write_thread, pipe);
    return pipe;
}

void cw_relay_pipe_join_reader(struct cw_relay_pipe *pipe)
{
    cw_thread_join(&pipe->reader);
}

static void last_on_loop(void *arg)
{
    struct cw_relay_pipe *pipe = arg;
    cw_cond_fini(&pipe->cond);
    cw_mutex_fini(&pipe->mutex);
    cw_mem_free(pipe);
}

void cw_relay_pipe_free(struct cw_relay_pipe *pipe)
{
    if (!pipe)
        return;
    pipe->freed = true;
    cw_mutex_lock(&pipe->mutex);
    pipe->closing = true;
    cw_cond_signal(&pipe->cond);
    cw_mutex_unlock(&pipe->mutex);
    cw_thread_join(&pipe->writer);
    cw_thread_join(&pipe->reader);
    cw_loop_post(pipe->loop, last_on_loop, pipe); /* this is posted after all frames */
}
