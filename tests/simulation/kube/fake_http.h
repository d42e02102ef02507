/* SPDX-License-Identifier: Apache-2.0 */
/* http/http_client.h without sockets: requests go to a fake API server in the same process, and what
 * it answers comes late, in pieces of any length, or not at all, as the seed wants it. */
#ifndef CW_TESTS_FAKE_HTTP_H
#define CW_TESTS_FAKE_HTTP_H

#include "kubernetes/fk.h"
#include "loop/loop.h"

/* Says to which server all clients speak from now on; lent. late_ms: the longest time that a request
 * or a piece takes. */
void fake_http_begin(struct cw_loop *loop, struct fk_server *server, int64_t late_ms);
void fake_http_end(void);
/* Has the server do what is due, and finds out when it next is: after each use of it from outside. */
void fake_http_settle(void);
/* The method of the call that was begun last; "" before the first. */
const char *fake_http_last_begun(void);
/* The server is not reached until it is told so again: what goes on breaks. */
void fake_http_set_away(bool away);

#endif
