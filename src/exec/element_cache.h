/* SPDX-License-Identifier: Apache-2.0 */
/* What the walk does at nodes that are cached: takes elements from there, and puts there what was
 * not. A walk that came to such a node and found nothing has an entry on its stack, which is
 * reached on the way up when the node's element is complete. */
#ifndef CW_EXEC_ELEMENT_CACHE_H
#define CW_EXEC_ELEMENT_CACHE_H

#include "exec/thread_context.h"

enum cw_element_cache_answer {
    CW_ELEMENT_CACHE_MISS = 0,
    CW_ELEMENT_CACHE_HIT = 1,
    CW_ELEMENT_CACHE_DROPPED = 2
};
/* At a node on the way down. FOUND: *element is its element. */
enum cw_element_cache_answer cw_element_cache_find(struct cw_thread_context *work,
                                                   struct cw_walk_at *at,
                                                   struct cw_element *element);
/* Elements with these ids will be asked for next, at a node or below it. */
void cw_element_cache_touch(const struct cw_plan *plan, size_t node, const int64_t *ids, size_t n);
/* At an entry on the way up. */
void cw_element_cache_put(struct cw_thread_context *work, const struct cw_walk_pending *pending,
                          const struct cw_element *element);
/* The element was left out: so it is to all that wait for it on the stack from base on. */
void cw_element_cache_drop(struct cw_thread_context *work, size_t base);
/* Whether a cache is used at one of the nodes from here down to where ids come from. */
bool cw_element_cache_below(const struct cw_plan *plan, size_t node);

static inline const struct cw_plan_use *cw_element_cache_use(const struct cw_plan_node *node)
{
    return atomic_load_explicit(&node->use, memory_order_acquire);
}
static inline bool cw_element_cache_any(const struct cw_plan *plan)
{
    return atomic_load_explicit(&plan->uses_n, memory_order_relaxed) > 0;
}

#endif
