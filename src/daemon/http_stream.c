/* SPDX-License-Identifier: Apache-2.0 */
/* An answer that goes on: the loop adds text to it, and the HTTP thread sends that. While there is
 * none the connection is suspended, so that the thread does not turn for nothing. */
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "daemon/daemon_int.h"

#define BLOCK_BYTES 16384

struct cw_http_stream {
    struct cw_http_stream *next, **prev; /* of the server's */
    struct cw_http *http;
    /* The mutex of the server guards these. */
    struct MHD_Connection *connection;
    struct cw_str text; /* what was not sent yet begins at `at` */
    size_t at;
    bool suspended, ended, gone;
    /* On the loop thread. */
    cw_loop_fn *closed;
    void *arg;
    bool given_up;
    struct cw_loop_node node; /* that the connection is gone */
    uint32_t refs;            /* atomic: of the owner, of the connection, of `node` */
};

static void unref(struct cw_http_stream *stream)
{
    if (__atomic_sub_fetch(&stream->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    cw_mutex_lock(&stream->http->mutex);
    *stream->prev = stream->next;
    if (stream->next)
        stream->next->prev = stream->prev;
    cw_mutex_unlock(&stream->http->mutex);
    cw_str_fini(&stream->text);
    cw_http_unref(stream->http);
    cw_mem_free(stream);
}

/* ---- on the loop thread ---- */

static void on_gone(void *arg)
{
    struct cw_http_stream *stream = arg;
    if (!stream->given_up)
        stream->closed(stream->arg);
    unref(stream);
}

struct cw_http_stream *cw_http_stream_new(struct cw_http *http, cw_loop_fn *closed, void *arg)
{
    struct cw_http_stream *stream = CW_NEW(struct cw_http_stream);
    cw_http_ref(http);
    *stream = (struct cw_http_stream){.http = http, .closed = closed, .arg = arg, .refs = 2};
    stream->node = (struct cw_loop_node){.fn = on_gone, .arg = stream};
    cw_mutex_lock(&http->mutex);
    stream->next = http->streams;
    stream->prev = &http->streams;
    if (stream->next)
        stream->next->prev = &stream->next;
    http->streams = stream;
    cw_mutex_unlock(&http->mutex);
    return stream;
}

/* Has the HTTP thread look at the stream. The mutex is locked. */
static void wake(struct cw_http_stream *stream)
{
    if (!stream->suspended)
        return;
    stream->suspended = false;
    MHD_resume_connection(stream->connection);
}

void cw_http_stream_send(struct cw_http_stream *stream, const void *text, size_t n)
{
    cw_mutex_lock(&stream->http->mutex);
    if (!stream->gone) {
        cw_str_add_bytes(&stream->text, text, n);
        wake(stream);
    }
    cw_mutex_unlock(&stream->http->mutex);
}

size_t cw_http_stream_waiting(struct cw_http_stream *stream)
{
    cw_mutex_lock(&stream->http->mutex);
    size_t n = stream->text.len - stream->at;
    cw_mutex_unlock(&stream->http->mutex);
    return n;
}

void cw_http_stream_close(struct cw_http_stream *stream)
{
    if (!stream)
        return;
    stream->given_up = true;
    cw_mutex_lock(&stream->http->mutex);
    stream->ended = true;
    wake(stream);
    cw_mutex_unlock(&stream->http->mutex);
    unref(stream);
}

/* ---- on the HTTP thread ---- */

void cw_http_stream_gone(struct cw_http_stream *stream)
{
    cw_mutex_lock(&stream->http->mutex);
    stream->gone = true;
    stream->suspended = false;
    cw_mutex_unlock(&stream->http->mutex);
    cw_loop_post_node(stream->http->loop, &stream->node); /* It takes over the reference. */
}

void cw_http_streams_wake(struct cw_http *http)
{
    cw_mutex_lock(&http->mutex);
    for (struct cw_http_stream *stream = http->streams; stream; stream = stream->next)
        wake(stream);
    cw_mutex_unlock(&http->mutex);
}

static void on_response_freed(void *arg)
{
    cw_http_stream_gone(arg);
}

/* Gives what there is to be sent. */
static ssize_t on_read(void *arg, uint64_t position, char *ret_bytes, size_t max)
{
    struct cw_http_stream *stream = arg;
    (void)position;
    cw_mutex_lock(&stream->http->mutex);
    size_t n = CW_MIN(stream->text.len - stream->at, max);
    ssize_t given = (ssize_t)n;
    if (n > 0) {
        memcpy(ret_bytes, &stream->text.s[stream->at], n);
        stream->at += n;
        if (stream->at == stream->text.len) {
            cw_str_clear(&stream->text);
            stream->at = 0;
        }
    } else if (stream->ended || stream->http->stopping) {
        given = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        stream->suspended = true;
        MHD_suspend_connection(stream->connection);
    }
    cw_mutex_unlock(&stream->http->mutex);
    return given;
}

struct MHD_Response *cw_http_stream_response(struct cw_http_stream *stream,
                                             struct MHD_Connection *connection)
{
    stream->connection = connection;
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_read, stream, on_response_freed);
    if (!response)
        cw_http_stream_gone(stream);
    return response;
}
