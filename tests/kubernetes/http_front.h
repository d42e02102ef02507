/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP/1.1 server for tests, on libuv: one request at a time on a connection, which stays open;
 * answers with a length, or in chunks while a stream lasts. */
#ifndef CW_TESTS_KUBERNETES_HTTP_FRONT_H
#define CW_TESTS_KUBERNETES_HTTP_FRONT_H

#include <stdbool.h>
#include <uv.h>
#include "base/err.h"

struct http_front;
struct http_conn;

/* A request, lent for the call. Headers that are not there are NULL. */
struct http_request {
    const char *method, *path, *query; /* query: NULL without "?" */
    const char *content_type, *accept, *authorization, *user_agent;
    const char *body;
    size_t body_n;
};

/* Answers with http_answer, http_begin and http_send, http_silence or http_reset. */
typedef void http_request_fn(void *arg, struct http_conn *conn, const struct http_request *request);
/* The peer is gone, or the server closes: the stream of that connection ends. */
typedef void http_gone_fn(void *stream);

struct http_front *http_front_open(uv_loop_t *loop, const char *host, int port, http_request_fn *fn,
                                   void *arg, struct cw_err *err) CW_MUST_CHECK;
int http_front_port(const struct http_front *front);
/* Closes the listener and all connections; with ms it listens again on the same port after that. */
void http_front_away(struct http_front *front, int64_t ms);
void http_front_close(struct http_front *front);

/* headers: whole lines, each with its end; "" for none. */
void http_answer(struct http_conn *conn, int status, const char *headers, const char *body,
                 size_t n);
/* Begins an answer in chunks. gone(stream) is called once if the connection ends before http_end. */
void http_begin(struct http_conn *conn, int status, const char *headers, http_gone_fn *gone,
                void *stream);
void http_send(struct http_conn *conn, const char *bytes, size_t n);
void http_end(struct http_conn *conn);
void http_silence(struct http_conn *conn); /* this request gets no answer */
void http_reset(struct http_conn *conn);   /* closes with RST */

#endif
