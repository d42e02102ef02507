/* SPDX-License-Identifier: Apache-2.0 */
/* The present store of the cache: references, flushing, and whether anything is left to write. */
#include "worker/cache/cache_store.h"

#include "base/log.h"

struct cw_cache *cw_wcache_open_one(const struct cw_worker_state *w)
{
    const struct cw_wcache_store *store = w->cache.store;
    return store && !store->opening ? store->cache : NULL;
}

struct cw_wcache_store *cw_wcache_use(struct cw_worker_state *w)
{
    struct cw_wcache_store *store = w->cache.store;
    if (!cw_wcache_open_one(w))
        return NULL;
    atomic_fetch_add_explicit(&store->refs, 1, memory_order_relaxed);
    return store;
}

void cw_wcache_release(struct cw_wcache_store *store)
{
    if (store)
        atomic_fetch_sub_explicit(&store->refs, 1, memory_order_release);
}

size_t cw_wcache_used(const struct cw_worker_state *w)
{
    return cw_wcache_open_one(w) ? cw_cache_memory_used(cw_wcache_open_one(w)) : 0;
}

void cw_wcache_flush(struct cw_worker_state *w)
{
    if (cw_wcache_open_one(w))
        cw_cache_flush(cw_wcache_open_one(w), NULL);
}

bool cw_wcache_is_writing(const struct cw_worker_state *w)
{
    return cw_wcache_open_one(w) && cw_cache_is_writing(cw_wcache_open_one(w));
}

bool cw_wcache_is_reported(const struct cw_worker_state *w)
{
    return w->cache.sent_n == w->cache.events_n;
}

bool cw_wcache_is_busy(const struct cw_worker_state *w)
{
    /* A worker that leaves does not wait for a store that is unavailable. */
    bool writes = cw_wcache_is_writing(w) &&
                  !cw_store_is_unavailable(cw_cache_store(cw_wcache_open_one(w)), NULL);
    return writes || atomic_load_explicit(&w->cache.happened, memory_order_acquire) ||
           (w->session.attached && !cw_wcache_is_reported(w));
}

void cw_wcache_log_lost(const struct cw_worker_state *w)
{
    struct cw_err why = {0};
    if (!cw_wcache_is_writing(w))
        return;
    bool away = cw_store_is_unavailable(cw_cache_store(cw_wcache_open_one(w)), &why);
    cw_log_warn("worker", "what waits for the cache's store at %s is lost%s%s", w->cache.store->url,
                away ? ", which is away: " : ": it is not written yet", away ? why.msg : "");
}
