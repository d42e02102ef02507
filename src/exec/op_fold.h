/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that need not be called (graph/fold.h). */
#ifndef CW_EXEC_OP_FOLD_H
#define CW_EXEC_OP_FOLD_H

#include "exec/thread_context.h"

/* For an operator with `folds_to`, on the way down: whether it is left out for this element. It is then counted as
 * called. Some calls are made all the same, so that it is known what they cost where it stands elsewhere. */
bool cw_op_fold(struct cw_thread_context *work, size_t i);
/* The same for so many elements at once, where it is known that the operator may be left out. */
bool cw_op_fold_calls(struct cw_thread_context *work, size_t i, size_t elements);
/* Notes what a call that was made has given: the others count as much. */
static inline void cw_op_fold_made(struct cw_node_context *mine, uint64_t bytes,
                                   uint64_t element_bytes)
{
    mine->fold_bytes = bytes;
    mine->fold_element_bytes = element_bytes;
}

#endif
