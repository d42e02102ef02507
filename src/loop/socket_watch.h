/* SPDX-License-Identifier: Apache-2.0 */
/* Watches a socket for reading, writing or both, for libraries that tell which of these they wait
 * for (src/http). Used on the loop thread. */
#ifndef CW_LOOP_SOCKET_WATCH_H
#define CW_LOOP_SOCKET_WATCH_H

#include "loop/loop.h"

enum { CW_SOCKET_READ = 1, CW_SOCKET_WRITE = 2 };
/* events: which of CW_SOCKET_READ and CW_SOCKET_WRITE hold. An error of the socket is told as both:
 * whoever uses the socket then sees it. */
typedef void cw_socket_fn(void *arg, int fd, int events);

struct cw_socket_watch;
/* Makes a watch that waits for nothing yet. The socket belongs to the caller, who frees the watch
 * before he closes the socket. */
struct cw_socket_watch *cw_socket_watch_new(struct cw_loop *loop, int fd, cw_socket_fn *fn,
                                            void *arg, struct cw_err *err) CW_MUST_CHECK;
/* Says what is waited for from now on; 0: nothing. */
void cw_socket_watch_set(struct cw_socket_watch *watch, int events);
/* Frees the watch; fn is not called any more. It may be called from fn. Accepts NULL. */
void cw_socket_watch_free(struct cw_socket_watch *watch);

#endif
