/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the cache's own threads: lists that every thread may append to under cache->lock,
 * and that the maintenance thread (maintenance.c), the loaders (chunk_open.c) and the writers
 * (flush.c) work off. Nothing here calls them, so that every file may ask. */
#include <stdio.h>

#include "cache/record/record_state.h"
#include "cache/record/requests.h"

void cw_cache_emit(struct cw_cache *cache, const struct cw_cache_event *event)
{
    if (cache->event)
        cache->event(cache->event_arg, event);
}

void cw_request_retire(struct cw_cache_chunk *chunk, int end, const char *why)
{
    struct cw_cache *cache = chunk->dataset->cache;

    if (!cw_cache_handle_invalidate(chunk->handle))
        return;
    if (end == CW_CACHE_DAMAGED)
        atomic_fetch_add(&chunk->dataset->damaged, 1);
    chunk->end = end;
    chunk->why = why ? cw_mem_strdup(why) : NULL;
    cw_mutex_lock(&cache->lock);
    chunk->next = cache->retired;
    cache->retired = chunk;
    cache->has_requests = true;
    cw_cond_signal(&cache->maintenance_wake);
    cw_mutex_unlock(&cache->lock);
}

bool cw_request_reclaim(struct cw_cache *cache, struct cw_cache_handle *handle)
{
    cw_mutex_lock(&cache->lock);
    bool ok = !cache->maintenance_ended;
    if (ok) {
        handle->next = cache->dead;
        cache->dead = handle;
        cw_cond_signal(&cache->maintenance_wake);
    }
    cw_mutex_unlock(&cache->lock);
    return ok;
}

void cw_request_note_result(struct cw_cache *cache, int rc, const struct cw_err *err)
{
    bool unavailable = rc == CW_E_TIMEOUT || rc == CW_E_UNAVAILABLE;

    if (CW_LIKELY(unavailable == atomic_load_explicit(&cache->unavailable, memory_order_relaxed)))
        return;
    cw_mutex_lock(&cache->lock);
    atomic_store(&cache->unavailable, unavailable);
    if (unavailable)
        snprintf(cache->unavailable_why, sizeof(cache->unavailable_why), "%.*s",
                 (int)sizeof(cache->unavailable_why) - 1, err->msg);
    cw_cond_signal(&cache->maintenance_wake);
    cw_cond_broadcast(&cache->write_wake);
    cw_mutex_unlock(&cache->lock);
}

void cw_request_report_lost(struct cw_cache_dataset *dataset, uint64_t records, const char *why)
{
    atomic_fetch_add_explicit(&dataset->lost, records, memory_order_relaxed);
    cw_mutex_lock(&dataset->lock);
    dataset->lost_unreported += records;
    snprintf(dataset->lost_why, sizeof(dataset->lost_why), "%.*s",
             (int)sizeof(dataset->lost_why) - 1, why);
    cw_mutex_unlock(&dataset->lock);
}

void cw_request_flush(struct cw_cache *cache, struct cw_write_buffer *buffer)
{
    cw_mutex_lock(&cache->lock);
    struct cw_write_buffer **at = &cache->write_first;
    while (*at)
        at = &(*at)->next;
    buffer->next = NULL;
    *at = buffer;
    cw_cond_signal(&cache->write_wake);
    cw_mutex_unlock(&cache->lock);
}

void cw_request_open(struct cw_cache *cache, struct cw_cache_chunk *chunk)
{
    cw_mutex_lock(&cache->lock);
    chunk->next = NULL;
    *cache->load_end = chunk;
    cache->load_end = &chunk->next;
    cw_cond_signal(&cache->load_wake);
    cw_mutex_unlock(&cache->lock);
}
