/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper: a thread that does what must not hold up those who compute: takes chunks out of
 * use, frees what nobody holds, tells the owner, sees to blocks that grow old, and asks a store
 * that was away whether it is back. */
#include <stdio.h>

#include "base/clock.h"
#include "cache/record/record_int.h"

#define TICK_NS ((int64_t)250 * 1000000)
/* a block's first record: then it is written, however small */
#define OLD_NS ((int64_t)30 * 1000000000)
/* at most one event of lost records a node in this time */
#define TELL_NS ((int64_t)1000000000)
#define PROBE_NAME "probe"

/* ---- chunks that are not used any more ---- */

static void clear_ids(struct cw_cache_chunk *chunk)
{
    struct cw_cache_node *node = chunk->node;

    for (uint32_t i = 0; i < chunk->index->records_n;) {
        uint32_t end = CW_MIN(i + 4096, chunk->index->records_n);

        cw_mutex_lock(&node->lock);
        for (; i < end; i++) {
            uint64_t id = chunk->index->records[i].id;

            if (cw_ids_get(&node->ids, id) == cw_place(chunk->slot->no, i))
                cw_node_place(node, id, 0);
        }
        cw_mutex_unlock(&node->lock);
    }
}

/* Records that others have, too, are found there from now on. */
static void enter_shadowed(struct cw_cache_node *node)
{
    struct cw_cache_chunk **found = NULL;
    size_t n = 0, cap = 0;
    const char *name;
    void *value;

    cw_mutex_lock(&node->lock);
    for (size_t at = 0; cw_strmap_next(&node->names, &at, &name, &value);) {
        struct cw_cache_chunk *chunk = value;

        if (chunk->state != CW_CHUNK_LOADED || !chunk->shadowed || !cw_slot_take(chunk->slot))
            continue;
        CW_GROW(found, n, cap);
        found[n++] = chunk;
    }
    cw_mutex_unlock(&node->lock);
    for (size_t i = 0; i < n; i++) {
        struct cw_slot *slot = found[i]->slot;

        cw_load_enter(found[i]);
        cw_slot_drop(slot);
    }
    cw_mem_free(found);
}

/* false: its ids are just being entered. */
static bool end_chunk(struct cw_cache *cache, struct cw_cache_chunk *chunk)
{
    struct cw_cache_node *node = chunk->node;
    struct cw_slot *slot = chunk->slot;

    cw_mutex_lock(&node->lock);
    bool installing = chunk->installing;
    if (!installing && cw_strmap_get(&node->names, chunk->name) == chunk)
        cw_strmap_remove(&node->names, chunk->name);
    cw_mutex_unlock(&node->lock);
    if (installing)
        return false;
    clear_ids(chunk);
    enter_shadowed(node);
    atomic_fetch_sub(&node->chunks, 1);
    if (chunk->end >= 0 && !chunk->why)
        cw_intact_explain(chunk);
    if (chunk->end >= 0)
        cw_keep_event(cache, &(struct cw_cache_event){.kind = (enum cw_cache_event_kind)chunk->end,
                                                      .node = node,
                                                      .name = chunk->name,
                                                      .why = chunk->why});
    cw_slot_drop(slot);
    return true;
}

/* ---- the thread ---- */

static void end_chunks(struct cw_cache *cache, struct cw_cache_chunk *list)
{
    while (list) {
        struct cw_cache_chunk *chunk = list;

        list = chunk->next;
        if (end_chunk(cache, chunk))
            continue;
        cw_mutex_lock(&cache->lock);
        chunk->next = cache->retired;
        cache->retired = chunk;
        cw_mutex_unlock(&cache->lock);
    }
}

static void bury_all(struct cw_slot *list)
{
    while (list) {
        struct cw_slot *slot = list;

        list = slot->next;
        cw_slot_bury(slot);
    }
}

/* Away and back in turn, and never one twice. */
static void tell_away(struct cw_cache *cache)
{
    char why[sizeof(cache->away_why)];

    cw_mutex_lock(&cache->lock);
    bool away = atomic_load(&cache->away), changed = away != cache->away_told;
    cache->away_told = away;
    snprintf(why, sizeof(why), "%s", cache->away_why);
    cw_mutex_unlock(&cache->lock);
    if (changed)
        cw_keep_event(cache, &(struct cw_cache_event){.kind = away ? CW_CACHE_AWAY : CW_CACHE_BACK,
                                                      .why = away ? why : NULL});
}

/* Whatever it answers, it answers. Only after the owner was told that it is away, or it would be
 * back unheard. */
static void probe(struct cw_cache *cache)
{
    struct cw_err err = {0};
    uint64_t bytes;

    if (cache->away_told && atomic_load(&cache->away))
        cw_keep_result(cache, cw_store_stat(cache->store, PROBE_NAME, &bytes, &err), &err);
}

static void tell_lost(struct cw_cache *cache, struct cw_cache_node *node, int64_t now, bool last)
{
    char why[sizeof(node->lost_why)];

    cw_mutex_lock(&node->lock);
    uint64_t n = last || now - node->lost_told_ns >= TELL_NS ? node->lost_untold : 0;
    if (n)
        node->lost_untold = 0;
    snprintf(why, sizeof(why), "%s", node->lost_why);
    cw_mutex_unlock(&node->lock);
    if (!n)
        return;
    node->lost_told_ns = now;
    cw_keep_event(cache, &(struct cw_cache_event){
                             .kind = CW_CACHE_LOST, .node = node, .records = n, .why = why});
}

static bool is_old(struct cw_cache_node *node, int64_t now)
{
    cw_mutex_lock(&node->lock);
    bool old = node->open && node->open->n && now - node->open->first_ns >= OLD_NS;
    cw_mutex_unlock(&node->lock);
    return old;
}

static size_t open_bytes(struct cw_cache_node *node)
{
    cw_mutex_lock(&node->lock);
    size_t bytes = node->open && node->open->n ? node->open->bytes + 1 : 0;
    cw_mutex_unlock(&node->lock);
    return bytes;
}

/* Memory is full of open blocks: the largest goes. */
static void relieve(struct cw_cache *cache, struct cw_cache_node **nodes, size_t n)
{
    struct cw_cache_node *largest = NULL;
    size_t most = 0;

    if (!atomic_exchange(&cache->pressed, false))
        return;
    cw_mutex_lock(&cache->lock);
    bool busy = cache->writing || cache->write_first;
    cw_mutex_unlock(&cache->lock);
    for (size_t i = 0; i < n && !busy; i++) {
        size_t bytes = open_bytes(nodes[i]);

        if (bytes > most) {
            most = bytes;
            largest = nodes[i];
        }
    }
    if (largest)
        cw_block_flush(largest);
}

static void tick(struct cw_cache *cache, bool last)
{
    int64_t now = cw_clock_ns();
    size_t n;
    struct cw_cache_node **nodes = cw_node_all(cache, &n);

    cw_room_tick(cache);
    cw_fetch_pump(cache);
    relieve(cache, nodes, n);
    for (size_t i = 0; i < n; i++) {
        if (is_old(nodes[i], now))
            cw_block_flush(nodes[i]);
        tell_lost(cache, nodes[i], now, last);
        cw_cache_node_unref(nodes[i]);
    }
    cw_mem_free(nodes);
}

/* A chunk whose ids are just being entered waits in the list without being work. */
static bool has_work(const struct cw_cache *cache, bool last)
{
    return cache->keep_work || cache->dead || (last && cache->retired) ||
           atomic_load(&cache->away) != cache->away_told;
}

/* cache->lock, given up meanwhile */
static void turn(struct cw_cache *cache, bool last)
{
    struct cw_cache_chunk *retired = cache->retired;
    struct cw_slot *dead = cache->dead;

    cache->keep_work = false;
    cache->retired = NULL;
    cache->dead = NULL;
    cw_mutex_unlock(&cache->lock);
    end_chunks(cache, retired);
    bury_all(dead);
    tell_away(cache);
    tick(cache, last);
    if (!last) {
        probe(cache);
        if (!atomic_load(&cache->away))
            cw_load_parked(cache);
    }
    cw_mutex_lock(&cache->lock);
}

void cw_keep_thread(void *arg)
{
    struct cw_cache *cache = arg;

    cw_mutex_lock(&cache->lock);
    while (!cache->stop_keeper) {
        turn(cache, false);
        if (!cache->stop_keeper && !has_work(cache, false))
            cw_cond_wait_until(&cache->keep_wake, &cache->lock, cw_clock_ns() + TICK_NS);
    }
    do
        turn(cache, true);
    while (has_work(cache, true));
    cache->keeper_gone = true;
    cw_mutex_unlock(&cache->lock);
}
