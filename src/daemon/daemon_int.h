/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. "The HTTP thread" is libmicrohttpd's. */
#ifndef CW_DAEMON_DAEMON_INT_H
#define CW_DAEMON_DAEMON_INT_H

#include <microhttpd.h>

#include "base/thread.h"
#include "daemon/http.h"

struct cw_http {
    struct cw_loop *loop;
    const struct cw_http_page *pages;
    struct MHD_Daemon *daemon;
    char *cert, *key; /* NULL: no TLS */
    /* guards `stopping`, `peers` and `streams`, `done` and `left` of all requests, and the streams */
    struct cw_mutex mutex;
    struct cw_cond cond;
    bool stopping;
    struct cw_http_peer *peers;
    struct cw_http_stream *streams;
    struct cw_timer *sweep; /* ends connections that are slow */
    uint32_t refs;          /* atomic: references of the owner, of requests and of streams */
};
/* ---- http_ref.c ---- */
void cw_http_ref(struct cw_http *http);
void cw_http_unref(struct cw_http *http);

/* ---- http_request.c ---- */
struct cw_http_pair { /* A header, or an argument of the query. */
    struct cw_http_pair *next;
    char *name, *value;
};
struct cw_page_request { /* The HTTP thread refers to it, and whoever makes the page. */
    struct cw_loop_node node;
    struct cw_http *http;
    const struct cw_http_page *page;
    /* What was asked: copies, since the connection may be gone by the time they are looked at. */
    struct cw_http_pair *headers, *arguments;
    bool is_post;
    struct cw_str body;
    /* The answer: set by whoever makes it before `done`, read by the HTTP thread after it. */
    unsigned status; /* 0: 200 or 503, by `ok` */
    const char *type;
    struct cw_http_pair *added;
    struct cw_str text;
    struct cw_http_stream *stream; /* in place of the text */
    bool done, ok, left;           /* left: the HTTP thread waits no more */
    uint32_t refs;                 /* atomic */
};
/* Notes what is asked. The caller holds the one reference. On the HTTP thread. */
struct cw_page_request *cw_page_request_new(struct cw_http *http, struct MHD_Connection *connection,
                                            const struct cw_http_page *page) CW_MUST_CHECK;
void cw_page_request_unref(struct cw_page_request *request);
/* Says that the request is answered, and gives up the reference of who has made the page. */
void cw_page_request_end(struct cw_page_request *request);
/* Queues the answer of a request that is done. */
enum MHD_Result cw_page_request_send(struct cw_page_request *request,
                                     struct MHD_Connection *connection);

/* ---- http_stream.c ---- */
/* Makes a stream with a reference of its owner and one of its connection. On the loop thread. */
struct cw_http_stream *cw_http_stream_new(struct cw_http *http, cw_loop_fn *closed,
                                          void *arg) CW_MUST_CHECK;
/* Makes the response to a request whose answer is a stream; NULL: there is no memory. */
struct MHD_Response *cw_http_stream_response(struct cw_http_stream *stream,
                                             struct MHD_Connection *connection);
/* The connection of a stream is gone, or there never was one. */
void cw_http_stream_gone(struct cw_http_stream *stream);
/* Wakes all streams, so that they end. Called once `stopping` is set. */
void cw_http_streams_wake(struct cw_http *http);

#endif
