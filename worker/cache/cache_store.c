/* SPDX-License-Identifier: Apache-2.0 */
/* The stores of the caches: references, flushing, and whether anything is left to write. */
#include "worker/cache/cache_store.h"

#include "base/log.h"
#include "base/mem.h"

struct cw_wcache_store *cw_wcache_store_of(const struct cw_worker_state *w, uint64_t cache_id)
{
    struct cw_wcache_store *store = cache_id == 0 ? w->cache.store : w->cache.named;
    while (cache_id != 0 && store && store->id != cache_id)
        store = store->next;
    return store;
}

struct cw_wcache_store *cw_wcache_next(const struct cw_worker_state *w,
                                       const struct cw_wcache_store *store)
{
    if (!store && w->cache.store)
        return w->cache.store;
    return store && store->id != 0 ? store->next : w->cache.named;
}

struct cw_cache *cw_wcache_open_one(const struct cw_wcache_store *store)
{
    return store && !store->opening ? store->cache : NULL;
}

struct cw_wcache_store *cw_wcache_use(const struct cw_wjob *job)
{
    struct cw_wcache_store *store = cw_wcache_store_of(job->worker, job->cache.cache_id);
    if (!cw_wcache_open_one(store))
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
    size_t bytes = 0;
    for (const struct cw_wcache_store *store = NULL; (store = cw_wcache_next(w, store));)
        bytes += cw_wcache_open_one(store) ? cw_cache_memory_used(cw_wcache_open_one(store)) : 0;
    return bytes;
}

void cw_wcache_flush(struct cw_worker_state *w)
{
    for (const struct cw_wcache_store *store = NULL; (store = cw_wcache_next(w, store));)
        if (cw_wcache_open_one(store))
            cw_cache_flush(cw_wcache_open_one(store), NULL);
}

static bool is_writing(const struct cw_wcache_store *store)
{
    return cw_wcache_open_one(store) && cw_cache_is_writing(cw_wcache_open_one(store));
}

bool cw_wcache_is_writing(const struct cw_worker_state *w)
{
    for (const struct cw_wcache_store *store = NULL; (store = cw_wcache_next(w, store));)
        if (is_writing(store))
            return true;
    return false;
}

bool cw_wcache_can_write(const struct cw_wcache_store *store)
{
    return is_writing(store) &&
           !cw_store_is_unavailable(cw_cache_store(cw_wcache_open_one(store)), NULL);
}

bool cw_wcache_is_reported(const struct cw_worker_state *w)
{
    return w->cache.sent_n == w->cache.events_n;
}

bool cw_wcache_is_busy(const struct cw_worker_state *w)
{
    /* A worker that leaves does not wait for a store that is unavailable. */
    bool writes = false;
    for (const struct cw_wcache_store *store = NULL; (store = cw_wcache_next(w, store));)
        writes = writes || cw_wcache_can_write(store);
    /* A store that was left is written for a while, and its dispatcher may want the place. */
    return writes || w->cache.retired || w->cache.closing ||
           atomic_load_explicit(&w->cache.happened, memory_order_acquire) ||
           (w->session.attached && !cw_wcache_is_reported(w));
}

void cw_wcache_log_lost(const struct cw_worker_state *w)
{
    for (const struct cw_wcache_store *store = NULL; (store = cw_wcache_next(w, store));) {
        struct cw_err why = {0};
        if (!is_writing(store))
            continue;
        bool away = cw_store_is_unavailable(cw_cache_store(cw_wcache_open_one(store)), &why);
        cw_log_warn("worker", "what waits for the cache's store at %s is lost%s%s", store->url,
                    away ? ", which is away: " : ": it is not written yet", away ? why.msg : "");
    }
}

void cw_wcache_set_away(struct cw_wcache_store *store, const char *why)
{
    cw_mem_free(store->unavailable_why);
    store->unavailable_why = cw_mem_strdup(why);
}
