/* SPDX-License-Identifier: Apache-2.0 */
/* What is set in an operator's context before it is called for an element. */
#ifndef CW_EXEC_OP_CONTEXT_H
#define CW_EXEC_OP_CONTEXT_H

#include "exec/thread_context.h"

/* The random stream of a node for an element. */
void cw_op_context_stream(const struct cw_thread_context *work, const struct cw_plan_node *node,
                          struct cw_op_ctx *ctx, uint64_t id, uint64_t rep);
/* Where the result of this field is written, if `live` and `shift` (struct cw_walk_pending) give it a place. */
void cw_op_context_slot(const struct cw_thread_context *work, struct cw_op_ctx *ctx, uint64_t live,
                        size_t field, uint32_t shift);
/* Which part of the node's image is needed, by what is on the stack above it. whole: it is to make the whole
 * image all the same. */
void cw_op_context_want(struct cw_thread_context *work, const struct cw_plan_node *node,
                        struct cw_op_ctx *ctx, const struct cw_element *element, bool whole);

#endif
