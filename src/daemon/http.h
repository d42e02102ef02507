/* SPDX-License-Identifier: Apache-2.0 */
/* Serves a few pages of a daemon over HTTP, for scrapers, probes and browsers. A thread of
 * libmicrohttpd speaks the protocol; the pages are made on the loop thread, so that no other thread
 * reads the loop's state, or begun there. If there is no page within seconds, the reply is 503. An
 * answer may also be a stream, to which the loop adds as long as somebody listens. */
#ifndef CW_DAEMON_HTTP_H
#define CW_DAEMON_HTTP_H

#include "base/err.h"
#include "base/str.h"
#include "loop/loop.h"

struct cw_http;
struct cw_page_request; /* A request for a page. */
struct cw_http_page {
    const char *path, *type; /* "/metrics", "text/plain; ..." */
    /* Called on the loop thread. Returns false for a 503, with the text in out as the reason. */
    bool (*print)(void *arg, struct cw_str *out);
    void *arg;
    /* In place of `print`, for a page that takes long: called on the loop thread, and ended by
     * cw_http_answer. */
    void (*begin)(void *arg, struct cw_page_request *request);
    bool takes_post; /* POST is answered as well, with at most CW_HTTP_BODY_MAX bytes of a body */
};
/* What was asked, for `begin`; valid until the request has ended. NULL: there is no such header, or
 * no such argument in the query. */
const char *cw_page_header(const struct cw_page_request *request, const char *name);
const char *cw_page_argument(const struct cw_page_request *request, const char *name);
bool cw_page_is_post(const struct cw_page_request *request);
const char *cw_page_body(const struct cw_page_request *request);
/* What is answered besides the text; called before the request ends. The type is borrowed for good,
 * what is in headers is copied. */
void cw_page_set_status(struct cw_page_request *request, unsigned status);
void cw_page_set_type(struct cw_page_request *request, const char *type);
void cw_page_add_header(struct cw_page_request *request, const char *name, const char *value);
/* Ends a request that a page has begun; exactly once, also after cw_http_stop. ok: false for a 503,
 * unless a status was set. Takes what is in `text`. Any thread. */
void cw_http_answer(struct cw_page_request *request, bool ok, struct cw_str *text);

/* Ends a request with an answer that goes on. `closed` is called on the loop thread when nobody
 * listens any more, and not after cw_http_stream_close. All of these on the loop thread. */
struct cw_http_stream;
struct cw_http_stream *cw_http_stream_begin(struct cw_page_request *request, cw_loop_fn *closed,
                                            void *arg) CW_MUST_CHECK;
void cw_http_stream_send(struct cw_http_stream *stream, const void *text, size_t n);
/* Returns the bytes that were not sent yet; the sender limits them. */
size_t cw_http_stream_waiting(struct cw_http_stream *stream);
/* Ends the answer behind what was sent. Called once for each stream, also when it was closed by the
 * other side. Accepts NULL. */
void cw_http_stream_close(struct cw_http_stream *stream);

/* Starts to listen at HOST:PORT or [v6]:PORT; port 0 means any free port. pages: an array whose
 * last entry has no path; it belongs to the caller. Called on the loop thread, or before the loop
 * runs. */
int cw_http_start(struct cw_loop *loop, const char *listen, const struct cw_http_page *pages,
                  struct cw_http **ret_http, struct cw_err *err);
/* The same over TLS, with a certificate and its key (PEM), which are copied. NULL: without TLS. */
int cw_http_start_tls(struct cw_loop *loop, const char *listen, const struct cw_http_page *pages,
                      const char *cert, const char *key, struct cw_http **ret_http,
                      struct cw_err *err);
uint16_t cw_http_port(const struct cw_http *http);
/* Stops. Called on the loop thread, or after it has ended, but before the loop is freed. Requests
 * in progress get an error. Accepts NULL. */
void cw_http_stop(struct cw_http *http);

#endif
