/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/cache.h"

#include "base/mem.h"

void cw_cache_release(struct cw_cache_hold *hold)
{
    hold->n = 0;
}
enum cw_cache_found cw_cache_get(struct cw_cache_node *node, uint64_t id, struct cw_cache_hold *hold, struct cw_element *element)
{
    (void)node, (void)id, (void)hold, (void)element;
    return CW_CACHE_MISS;
}
bool cw_cache_has(struct cw_cache_node *node, uint64_t id)
{
    (void)node, (void)id;
    return false;
}
void cw_cache_prefetch(struct cw_cache_node *node, const uint64_t *ids, size_t n)
{
    (void)node, (void)ids, (void)n;
}
void cw_cache_put(struct cw_cache_node *node, uint64_t id, const struct cw_element *element, int64_t cost_ns)
{
    (void)node, (void)id, (void)element, (void)cost_ns;
}
struct cw_cache_node *cw_cache_node_ref(struct cw_cache_node *node)
{
    return node;
}
struct cw_cache_node *cw_cache_node_unref(struct cw_cache_node *node)
{
    (void)node;
    return NULL;
}
