/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that are made only to know what they cost, or what they say: those for many elements where one by one is
 * worked on, the other way round, and filters that an element would not have come to. They are few enough not to
 * matter, and show in nothing but what is measured. */
#ifndef CW_EXEC_OP_TRY_H
#define CW_EXEC_OP_TRY_H

#include "exec/thread_context.h"

/* One element of so many is shown to all filters, and each of the first ones. */
#define CW_TRY_EVERY 256
#define CW_TRY_FIRST 64
/* Before an operator is called for an element, which stays as it is; n calls were made before. */
void cw_op_try_slow(struct cw_thread_context *work, size_t i, const struct cw_element *element,
                    uint32_t n);
/* Before it is called for many elements at once. */
void cw_op_try_before_many(struct cw_thread_context *work, size_t i,
                           const struct cw_element *element);
/* op_filters.c: shows the element to all filters that it can be shown to here (cw_plan.filters). */
void cw_op_filters_show(struct cw_thread_context *work, const struct cw_element *element);

static inline void cw_op_try_before(struct cw_thread_context *work, size_t i,
                                    const struct cw_element *element)
{
    struct cw_node_context *mine = &work->nodes[i];
    if (CW_LIKELY(!work->plan->nodes[i].has_tries))
        return;
    const uint32_t n = mine->tries_n++;
    if (CW_UNLIKELY(n <= CW_TRY_FIRST || n % CW_TRY_EVERY == 0 || mine->left <= 1))
        cw_op_try_slow(work, i, element, n);
}

#endif
