/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that are made only to know what they cost, or what they say: those for many elements where one by one is
 * worked on, the other way round, and filters that an element would not have come to. They are few enough not to
 * matter, and show in nothing but what is measured. */
#ifndef CW_EXEC_OP_TRY_H
#define CW_EXEC_OP_TRY_H

#include "exec/thread_context.h"

/* Before an operator is called for an element, which stays as it is. */
void cw_op_try_slow(struct cw_thread_context *work, size_t i, const struct cw_element *element);
/* Before it is called for many elements at once. */
void cw_op_try_before_many(struct cw_thread_context *work, size_t i,
                           const struct cw_element *element);
/* op_filters.c: shows the element to all filters that it can be shown to here (cw_plan.filters). */
void cw_op_filters_show(struct cw_thread_context *work, const struct cw_element *element);

static inline void cw_op_try_before(struct cw_thread_context *work, size_t i,
                                    const struct cw_element *element)
{
    if (CW_UNLIKELY(work->plan->nodes[i].has_tries))
        cw_op_try_slow(work, i, element);
}

#endif
