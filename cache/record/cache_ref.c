/* SPDX-License-Identifier: Apache-2.0 */
/* The two reference counts of a cache. One keeps its memory: the owner and every dataset hold a
 * reference. The other keeps its store open: the owner and every open file hold a reference. */
#include "cache/record/record_state.h"

void cw_cache_store_unref(struct cw_cache *cache)
{
    if (atomic_fetch_sub(&cache->store_refs, 1) == 1)
        cw_store_close(cache->store);
}

void cw_cache_unref(struct cw_cache *cache)
{
    if (atomic_fetch_sub(&cache->refs, 1) != 1)
        return;
    cw_memory_budget_fini(&cache->budget);
    cw_cond_fini(&cache->load_wake);
    cw_cond_fini(&cache->write_wake);
    cw_cond_fini(&cache->maintenance_wake);
    cw_cond_fini(&cache->idle);
    cw_mutex_fini(&cache->lock);
    cw_mem_free(cache);
}
