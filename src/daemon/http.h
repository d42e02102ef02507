/* SPDX-License-Identifier: Apache-2.0 */
/* Serves a few pages of a daemon over HTTP (GET only), for scrapers and probes. A thread of
 * libmicrohttpd speaks the protocol; the pages are made on the loop thread, so that no other thread
 * reads the loop's state, or begun there. If there is no page within seconds, the reply is 503. */
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
};
/* Ends a request that a page has begun; exactly once, also after cw_http_stop. ok: false for a 503.
 * Takes what is in `text`. Any thread. */
void cw_http_answer(struct cw_page_request *request, bool ok, struct cw_str *text);
/* Starts to listen at HOST:PORT or [v6]:PORT; port 0 means any free port. pages: an array whose
 * last entry has no path; it belongs to the caller. Called on the loop thread, or before the loop
 * runs. */
int cw_http_start(struct cw_loop *loop, const char *listen, const struct cw_http_page *pages,
                  struct cw_http **ret_http, struct cw_err *err);
uint16_t cw_http_port(const struct cw_http *http);
/* Stops. Called on the loop thread, or after it has ended, but before the loop is freed. Requests
 * in progress get an error. Accepts NULL. */
void cw_http_stop(struct cw_http *http);

#endif
