/* SPDX-License-Identifier: Apache-2.0 */
/* The call of an element operator itself, for those who count and measure it (op_call.c) or try it (op_try.c). */
#ifndef CW_EXEC_OP_BARE_H
#define CW_EXEC_OP_BARE_H

#include "exec/thread_context.h"

/* Calls an element operator; nothing is counted. pending: the node, and which fields are written into slots. *bytes
 * grows by those of the fields that it works on. */
int cw_op_call_bare(struct cw_thread_context *work, const struct cw_walk_pending *pending,
                    struct cw_op_ctx *ctx, void *scratch, struct cw_element *element,
                    uint64_t *bytes, struct cw_err *err);
#endif
