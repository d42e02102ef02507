/* SPDX-License-Identifier: Apache-2.0 */
/* Does the work of a run of operators on an image by strips (ops/strip.h), so that what one makes is still
 * in the first-level cache when the next reads it, and the result is written once. */
#ifndef CW_EXEC_OP_STRIPS_H
#define CW_EXEC_OP_STRIPS_H

#include "exec/thread_context.h"

/* Applies the operator of *pending, which was taken off the stack, and those that come next on the stack
 * and are part of its run; these are taken off as well. Each of them counts as called, and is measured
 * where the first one is. Returns false if nothing is to be done together: nothing has happened then. Else
 * *ret_rc is 0 or an error. */
bool cw_op_strips_apply(struct cw_thread_context *work, const struct cw_walk_pending *pending,
                        struct cw_element *element, int *ret_rc, struct cw_err *err);

#endif
