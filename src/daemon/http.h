/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of a daemon by HTTP, for scrapers and probes: GET of a few paths, nothing else. A thread
 * of libmicrohttpd speaks the protocol; what it hands out is made on the loop's thread, so that
 * nobody else looks at the loop's state. A loop that does not answer within seconds is a 503. */
#ifndef CW_DAEMON_HTTP_H
#define CW_DAEMON_HTTP_H

#include "base/err.h"
#include "base/str.h"
#include "loop/loop.h"

struct cw_http;
struct cw_http_page {
    const char *path, *type; /* "/metrics", "text/plain; ..." */
    /* On the loop's thread. False: 503, with what is in out as the reason. */
    bool (*print)(void *arg, struct cw_str *out);
    void *arg;
};
/* listen: HOST:PORT, [v6]:PORT; port 0 = any. pages: ended by one without a path; they stay the
 * caller's. The loop's thread, or before it runs. */
int cw_http_start(struct cw_loop *loop, const char *listen, const struct cw_http_page *pages,
                  struct cw_http **ret_http, struct cw_err *err);
uint16_t cw_http_port(const struct cw_http *http);
/* The loop's thread, or after it ran; before the loop is freed. Who is waiting is told that it
 * ends. Accepts NULL. */
void cw_http_stop(struct cw_http *http);

#endif
