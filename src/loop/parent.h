/* SPDX-License-Identifier: Apache-2.0 */
/* Detects that the process which started this one has exited, in whatever way: standard input ends,
 * since the parent held the other end; or the process itself is gone while the pipe is still open
 * in a child that it had forked. Used on the loop thread. */
#ifndef CW_LOOP_PARENT_H
#define CW_LOOP_PARENT_H

#include "loop/loop.h"

struct cw_parent_watch;
/* Begins to watch; fn is called once. */
int cw_parent_watch(struct cw_loop *loop, cw_loop_fn *fn, void *arg,
                    struct cw_parent_watch **ret_watch, struct cw_err *err);
/* Ends watching; may be called from fn. Accepts NULL. */
void cw_parent_unwatch(struct cw_parent_watch *watch);

#endif
