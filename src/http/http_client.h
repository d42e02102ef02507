/* SPDX-License-Identifier: Apache-2.0 */
/* Requests over HTTP and HTTPS on a loop, by libcurl; nothing of it shows here, so that something
 * else can stand behind this header. All functions are called on the loop thread (or before the loop
 * runs), none of them blocks, and no thread waits for a reply: only names are looked up by a short-
 * lived thread of the library.
 *
 * Connections are kept and used again, and several calls share one where the server speaks HTTP/2.
 * A redirect is never followed: it is a response like others, so what a request carries, such as a
 * token, goes nowhere else. Proxies and other settings of the environment are not looked at.
 * The program ignores SIGPIPE, which writing to a connection that was closed may raise. */
#ifndef CW_HTTP_HTTP_CLIENT_H
#define CW_HTTP_HTTP_CLIENT_H

#include <stdbool.h>
#include "base/err.h"
#include "base/str.h"
#include "loop/loop.h"

/* Whom to trust and what to show: texts in PEM form, NULL for none. */
struct cw_http_identity {
    const char *ca;         /* certificates that may sign a server's; NULL: the system's */
    const char *cert, *key; /* the own certificate with what it was signed by, and its key */
};
struct cw_http_client;
/* Makes a client. What it is given is copied. INVALID if certificate and key do not belong together
 * or are none; the message says which. */
int cw_http_client_new(struct cw_loop *loop, const char *user_agent,
                       const struct cw_http_identity *identity, struct cw_http_client **ret_client,
                       struct cw_err *err);
/* Cancels the calls that are left, closes all connections, and frees the client. It may not be
 * called from a callback of a call. Accepts NULL. */
void cw_http_client_free(struct cw_http_client *client);

struct cw_http_request {
    const char *method;         /* "GET", "PATCH", ...; in capitals */
    const char *url;            /* http:// or https:// */
    const char *const *headers; /* "Name: value", the last one is NULL; NULL: none */
    const char *body;           /* NULL: none */
    size_t body_n;
    int64_t connect_ms; /* at most so long until the connection is there; 0: 30 s */
    int64_t timeout_ms; /* at most so long for the whole call; 0: no limit */
    int64_t silence_ms; /* ends the call when no byte came for so long; 0: no limit */
    size_t body_max; /* LIMIT when the response's body is longer; 0: no limit. Not for on_bytes */
};
struct cw_http_response {
    int status;                /* 200, ...; 0: there was no response */
    struct cw_str body;        /* empty if on_bytes took it */
    const struct cw_str *head; /* the header lines as they came, each with \r\n */
};
/* Finds a header, whatever the case of its name. Copies its value, cut if it is longer than cap - 1,
 * and returns true; false: there is none. `nth` counts those of one name from 0. */
bool cw_http_header(const struct cw_http_response *response, const char *name, size_t nth,
                    char *ret_value, size_t cap);

struct cw_http_call;
/* What a call tells. */
struct cw_http_events {
    /* Takes a piece of the body as it comes; the response has its status and headers by then. What
     * is not CW_OK ends the call with that error. NULL: the body is collected. */
    int (*on_bytes)(void *arg, const struct cw_http_response *response, const char *bytes, size_t n,
                    struct cw_err *err);
    /* Called once at the end, never from within cw_http_call_new; the call is freed after it. code:
     * CW_OK if there is a whole response, whatever its status. UNAVAILABLE: no connection, or it
     * broke; TIMEOUT; LIMIT; DENIED: the certificates do not suffice; INVALID: the request is no
     * request. err names the server and the cause. */
    void (*on_end)(void *arg, int code, const struct cw_http_response *response,
                   const struct cw_err *err);
    void *arg;
};
/* Begins a call. What it is given is copied. The request is written as soon as the loop's present
 * callback has returned. It always returns a call: whatever is wrong is told by on_end. */
struct cw_http_call *cw_http_call_new(struct cw_http_client *client,
                                      const struct cw_http_request *request,
                                      const struct cw_http_events *events) CW_MUST_CHECK;
/* Ends a call without a word, and frees it; from any callback but its own on_end. Accepts NULL. */
void cw_http_call_cancel(struct cw_http_call *call);

#endif
