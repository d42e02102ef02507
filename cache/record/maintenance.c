/* SPDX-License-Identifier: Apache-2.0 */
/* The maintenance thread does what must not delay threads that compute: it takes retired chunks out
 * of use, reclaims handles without references, reports events to the owner, has old write buffers
 * written, and asks a store that was unavailable whether it answers again. */
#include <stdio.h>

#include "base/clock.h"
#include "cache/record/record_state.h"
#include "cache/record/chunk_open.h"
#include "cache/record/frame_fetch.h"
#include "cache/record/maintenance.h"
#include "cache/record/requests.h"

#define TICK_NS ((int64_t)250 * 1000000)
/* A write buffer is written when its first record is this old, however small the buffer is. */
#define OLD_NS ((int64_t)30 * 1000000000)
/* A dataset has at most one event LOST in this time. */
#define LOST_INTERVAL_NS ((int64_t)1000000000)
#define PROBE_NAME "probe"

/* ---- retired chunks ---- */

static void clear_ids(struct cw_cache_chunk *chunk)
{
    struct cw_cache_dataset *dataset = chunk->dataset;

    for (uint32_t i = 0; i < chunk->index->records_n;) {
        uint32_t end = CW_MIN(i + 4096, chunk->index->records_n);

        cw_mutex_lock(&dataset->lock);
        for (; i < end; i++) {
            uint64_t id = chunk->index->records[i].id;

            if (cw_id_map_get(&dataset->ids, id) == cw_place(chunk->handle->no, i))
                cw_dataset_set_place(dataset, id, 0);
        }
        cw_mutex_unlock(&dataset->lock);
    }
}

/* Enters those ids of a retired chunk that other chunks have as well, so that gets find them
 * there. */
static void enter_shadowed(struct cw_cache_dataset *dataset)
{
    struct cw_cache_chunk **found = NULL;
    size_t n = 0, cap = 0;
    const char *name;
    void *value;

    cw_mutex_lock(&dataset->lock);
    for (size_t at = 0; cw_strmap_next(&dataset->names, &at, &name, &value);) {
        struct cw_cache_chunk *chunk = value;

        if (chunk->state != CW_CHUNK_LOADED || !chunk->shadowed ||
            !cw_cache_handle_acquire(chunk->handle))
            continue;
        CW_GROW(found, n, cap);
        found[n++] = chunk;
    }
    cw_mutex_unlock(&dataset->lock);
    for (size_t i = 0; i < n; i++) {
        struct cw_cache_handle *handle = found[i]->handle;

        cw_chunk_enter_ids(found[i]);
        cw_cache_handle_release(handle);
    }
    cw_mem_free(found);
}

/* Takes one retired chunk out of use. Returns false if a loader is entering its ids; then it is
 * tried again later. */
static bool end_chunk(struct cw_cache *cache, struct cw_cache_chunk *chunk)
{
    struct cw_cache_dataset *dataset = chunk->dataset;
    struct cw_cache_handle *handle = chunk->handle;

    cw_mutex_lock(&dataset->lock);
    bool installing = chunk->installing;
    if (!installing && cw_strmap_get(&dataset->names, chunk->name) == chunk)
        cw_strmap_remove(&dataset->names, chunk->name);
    cw_mutex_unlock(&dataset->lock);
    if (installing)
        return false;
    clear_ids(chunk);
    enter_shadowed(dataset);
    atomic_fetch_sub(&dataset->chunks, 1);
    if (chunk->end >= 0 && !chunk->why)
        cw_intact_explain(chunk);
    if (chunk->end >= 0)
        cw_cache_emit(cache, &(struct cw_cache_event){.kind = (enum cw_cache_event_kind)chunk->end,
                                                      .dataset = dataset,
                                                      .name = chunk->name,
                                                      .why = chunk->why});
    cw_cache_handle_release(handle);
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

static void reclaim_all(struct cw_cache_handle *list)
{
    while (list) {
        struct cw_cache_handle *handle = list;

        list = handle->next;
        cw_chunk_reclaim(handle);
    }
}

/* Reports when the store becomes unavailable or available, each in turn and never twice. */
static void report_availability(struct cw_cache *cache)
{
    char why[sizeof(cache->unavailable_why)];

    cw_mutex_lock(&cache->lock);
    bool unavailable = atomic_load(&cache->unavailable),
         changed = unavailable != cache->unavailable_reported;
    cache->unavailable_reported = unavailable;
    snprintf(why, sizeof(why), "%s", cache->unavailable_why);
    cw_mutex_unlock(&cache->lock);
    if (changed)
        cw_cache_emit(cache,
                      &(struct cw_cache_event){.kind = unavailable ? CW_CACHE_STORE_UNAVAILABLE
                                                                   : CW_CACHE_STORE_AVAILABLE,
                                               .why = unavailable ? why : NULL});
}

/* Asks the store for a file; any answer means that the store is available again. This happens only
 * after the owner was notified that the store is unavailable, since otherwise nothing would be
 * reported. */
static void probe(struct cw_cache *cache)
{
    struct cw_err err = {0};
    uint64_t bytes;

    if (cache->unavailable_reported && atomic_load(&cache->unavailable))
        cw_request_note_result(cache, cw_store_stat(cache->store, PROBE_NAME, &bytes, &err), &err);
}

static void report_lost(struct cw_cache *cache, struct cw_cache_dataset *dataset, int64_t now,
                        bool last)
{
    char why[sizeof(dataset->lost_why)];

    cw_mutex_lock(&dataset->lock);
    uint64_t n =
        last || now - dataset->lost_reported_ns >= LOST_INTERVAL_NS ? dataset->lost_unreported : 0;
    if (n)
        dataset->lost_unreported = 0;
    snprintf(why, sizeof(why), "%s", dataset->lost_why);
    cw_mutex_unlock(&dataset->lock);
    if (!n)
        return;
    dataset->lost_reported_ns = now;
    cw_cache_emit(cache, &(struct cw_cache_event){
                             .kind = CW_CACHE_LOST, .dataset = dataset, .records = n, .why = why});
}

static bool is_old(struct cw_cache_dataset *dataset, int64_t now)
{
    cw_mutex_lock(&dataset->lock);
    bool old = dataset->open && dataset->open->n && now - dataset->open->first_ns >= OLD_NS;
    cw_mutex_unlock(&dataset->lock);
    return old;
}

static size_t open_bytes(struct cw_cache_dataset *dataset)
{
    cw_mutex_lock(&dataset->lock);
    size_t bytes = dataset->open && dataset->open->n ? dataset->open->bytes + 1 : 0;
    cw_mutex_unlock(&dataset->lock);
    return bytes;
}

/* Has the largest open write buffer written when memory is full of them. */
static void write_largest(struct cw_cache *cache, struct cw_cache_dataset **datasets, size_t n)
{
    struct cw_cache_dataset *largest = NULL;
    size_t most = 0;

    if (!atomic_exchange(&cache->pressed, false))
        return;
    cw_mutex_lock(&cache->lock);
    bool busy = cache->writing || cache->write_first;
    cw_mutex_unlock(&cache->lock);
    for (size_t i = 0; i < n && !busy; i++) {
        size_t bytes = open_bytes(datasets[i]);

        if (bytes > most) {
            most = bytes;
            largest = datasets[i];
        }
    }
    if (largest)
        cw_write_buffer_flush(largest);
}

static void tick(struct cw_cache *cache, bool last)
{
    int64_t now = cw_clock_ns();
    size_t n;
    struct cw_cache_dataset **datasets = cw_dataset_all(cache, &n);

    cw_memory_budget_trim(cache);
    cw_frame_fetch_pump(cache);
    write_largest(cache, datasets, n);
    for (size_t i = 0; i < n; i++) {
        if (is_old(datasets[i], now))
            cw_write_buffer_flush(datasets[i]);
        report_lost(cache, datasets[i], now, last);
        cw_cache_dataset_unref(datasets[i]);
    }
    cw_mem_free(datasets);
}

/* Whether there is work for the thread. A retired chunk whose ids are being entered waits in the
 * list, but is no work yet. Called with cache->lock held. */
static bool has_work(const struct cw_cache *cache, bool last)
{
    return cache->has_requests || cache->dead || (last && cache->retired) ||
           atomic_load(&cache->unavailable) != cache->unavailable_reported;
}

/* Does one round of work. Called with cache->lock held, which it gives up meanwhile. */
static void do_round(struct cw_cache *cache, bool last)
{
    struct cw_cache_chunk *retired = cache->retired;
    struct cw_cache_handle *dead = cache->dead;

    cache->has_requests = false;
    cache->retired = NULL;
    cache->dead = NULL;
    cw_mutex_unlock(&cache->lock);
    end_chunks(cache, retired);
    reclaim_all(dead);
    report_availability(cache);
    tick(cache, last);
    if (!last) {
        probe(cache);
        if (!atomic_load(&cache->unavailable))
            cw_chunk_open_parked(cache);
    }
    cw_mutex_lock(&cache->lock);
}

void cw_maintenance_thread(void *arg)
{
    struct cw_cache *cache = arg;

    cw_mutex_lock(&cache->lock);
    while (!cache->stop_maintenance) {
        do_round(cache, false);
        if (!cache->stop_maintenance && !has_work(cache, false))
            cw_cond_wait_until(&cache->maintenance_wake, &cache->lock, cw_clock_ns() + TICK_NS);
    }
    do
        do_round(cache, true);
    while (has_work(cache, true));
    cache->maintenance_ended = true;
    cw_mutex_unlock(&cache->lock);
}
