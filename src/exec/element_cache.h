/* SPDX-License-Identifier: Apache-2.0 */
/* Caches of single elements, as the walk of eval.c uses them. At a node with a cache the walk
 * looks the element up. On a miss it leaves an entry on its stack, which is reached on the way
 * up when the node's element is complete, and the element is put into the cache. */
#ifndef CW_EXEC_ELEMENT_CACHE_H
#define CW_EXEC_ELEMENT_CACHE_H

#include "exec/thread_context.h"

enum cw_element_cache_answer {
    CW_ELEMENT_CACHE_MISS = 0,
    CW_ELEMENT_CACHE_HIT = 1,
    CW_ELEMENT_CACHE_DROPPED = 2
};
/* Looks up the node's element on the way down. HIT: *element receives it. DROPPED: the cache knows
 * that a filter leaves it out. */
enum cw_element_cache_answer cw_element_cache_find(struct cw_thread_context *work,
                                                   struct cw_walk_at *at,
                                                   struct cw_element *element);
/* Copies rows 0, 1, ... of the node's elements from the cache at it or below it, if they are in one as
 * they are; positions belong to the next source, merge or group below. Returns how many it has
 * copied. */
size_t cw_element_cache_rows(struct cw_thread_context *work, size_t node, const int64_t *positions,
                             size_t n, const struct cw_cache_rows *rows);
/* Prefetches into the processor's cache what lookups of these ids, at the node or below it, will
 * read. */
void cw_element_cache_cpu_prefetch(const struct cw_plan *plan, size_t node, const int64_t *ids,
                                   size_t n);
/* Puts the element of a stack entry into its cache, on the way up. */
void cw_element_cache_put(struct cw_thread_context *work, const struct cw_walk_pending *pending,
                          const struct cw_element *element);
/* Tells the caches that have entries on the stack, from base on, that a filter has left the element
 * out. */
void cw_element_cache_drop(struct cw_thread_context *work, size_t base);
/* Whether a cache is used at the node, or at one below it down to the source, merge or batch. */
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
