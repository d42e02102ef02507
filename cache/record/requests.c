/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the cache's own threads: lists that every thread may append to under cache->lock,
 * and that the maintenance thread (maintenance.c), the loaders (chunk_open.c) and the writers
 * (flush.c) work off. Nothing here calls them, so that every file may ask. */
#include <stdio.h>

#include "cache/record/record_int.h"

void cw_keep_event(struct cw_cache *cache, const struct cw_cache_event *event)
{
    if (cache->event)
        cache->event(cache->event_arg, event);
}

void cw_keep_retire(struct cw_cache_chunk *chunk, int end, const char *why)
{
    struct cw_cache *cache = chunk->node->cache;

    if (!cw_slot_kill(chunk->slot))
        return;
    if (end == CW_CACHE_DAMAGED)
        atomic_fetch_add(&chunk->node->damaged, 1);
    chunk->end = end;
    chunk->why = why ? cw_mem_strdup(why) : NULL;
    cw_mutex_lock(&cache->lock);
    chunk->next = cache->retired;
    cache->retired = chunk;
    cache->keep_work = true;
    cw_cond_signal(&cache->keep_wake);
    cw_mutex_unlock(&cache->lock);
}

void cw_keep_bury(struct cw_cache *cache, struct cw_slot *slot)
{
    cw_mutex_lock(&cache->lock);
    bool mine = cache->keeper_gone;
    if (!mine) {
        slot->next = cache->dead;
        cache->dead = slot;
        cw_cond_signal(&cache->keep_wake);
    }
    cw_mutex_unlock(&cache->lock);
    if (mine)
        cw_slot_bury(slot);
}

void cw_keep_result(struct cw_cache *cache, int rc, const struct cw_err *err)
{
    bool away = rc == CW_E_TIMEOUT || rc == CW_E_UNAVAILABLE;

    if (CW_LIKELY(away == atomic_load_explicit(&cache->away, memory_order_relaxed)))
        return;
    cw_mutex_lock(&cache->lock);
    atomic_store(&cache->away, away);
    if (away)
        snprintf(cache->away_why, sizeof(cache->away_why), "%.*s", (int)sizeof(cache->away_why) - 1,
                 err->msg);
    cw_cond_signal(&cache->keep_wake);
    cw_cond_broadcast(&cache->write_wake);
    cw_mutex_unlock(&cache->lock);
}

void cw_keep_lost(struct cw_cache_node *node, uint64_t records, const char *why)
{
    atomic_fetch_add_explicit(&node->lost, records, memory_order_relaxed);
    cw_mutex_lock(&node->lock);
    node->lost_untold += records;
    snprintf(node->lost_why, sizeof(node->lost_why), "%.*s", (int)sizeof(node->lost_why) - 1, why);
    cw_mutex_unlock(&node->lock);
}

void cw_write_queue(struct cw_cache *cache, struct cw_block *block)
{
    cw_mutex_lock(&cache->lock);
    struct cw_block **at = &cache->write_first;
    while (*at)
        at = &(*at)->next;
    block->next = NULL;
    *at = block;
    cw_cond_signal(&cache->write_wake);
    cw_mutex_unlock(&cache->lock);
}

void cw_load_queue(struct cw_cache *cache, struct cw_cache_chunk *chunk)
{
    cw_mutex_lock(&cache->lock);
    chunk->next = NULL;
    *cache->load_end = chunk;
    cache->load_end = &chunk->next;
    cw_cond_signal(&cache->load_wake);
    cw_mutex_unlock(&cache->lock);
}
