/* SPDX-License-Identifier: Apache-2.0 */
/* Detects that the process which started us has exited, in whatever way: our standard input
 * ends, since it held the other end; or the process itself is gone while the pipe lives on in a
 * child that it had forked. Loop thread. */
#ifndef CW_LOOP_PARENT_H
#define CW_LOOP_PARENT_H

#include "loop/loop.h"

struct cw_parent_watch;
/* fn is called once. */
int cw_parent_watch(struct cw_loop *loop, cw_loop_fn *fn, void *arg,
                    struct cw_parent_watch **ret_watch, struct cw_err *err);
void cw_parent_unwatch(struct cw_parent_watch *watch); /* accepts NULL; also from fn */

#endif
