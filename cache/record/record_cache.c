/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes a record cache, and starts and stops its threads. */
#include "cache/record/record_cache.h"

#include "base/clock.h"
#include "cache/record/record_state.h"
#include "cache/record/chunk_open.h"
#include "cache/record/chunk_set.h"
#include "cache/record/flush.h"
#include "cache/record/maintenance.h"

#define MEMORY ((size_t)256 << 20)
#define CHUNK_BYTES ((size_t)64 << 20)
/* bytes of a segment: whole huge pages, and the most that a store writes at once */
#define SEGMENT_BYTES ((size_t)4 << 20)
#define SEGMENT_MIN ((size_t)64 << 10)
#define TIMEOUT_MS 5000 /* how long a get waits for a read, unless the store's URL sets a timeout */

static void set_sizes(struct cw_cache *cache, const struct cw_cache_options *options)
{
    size_t memory = options->memory ? options->memory : MEMORY;
    size_t chunk = options->chunk_bytes ? options->chunk_bytes : CHUNK_BYTES;

    cache->budget.limit = memory;
    cache->chunk_bytes = CW_MAX(CW_MIN(chunk, memory / 4), (size_t)1);
    cache->segment_bytes = CW_MIN(SEGMENT_BYTES, CW_MAX(cache->chunk_bytes / 8, SEGMENT_MIN));
}

static void start_threads(struct cw_cache *cache)
{
    cw_thread_start(&cache->maintenance, "cache-keep", cw_maintenance_thread, cache);
    for (size_t i = 0; i < CW_CACHE_LOADERS; i++)
        cw_thread_start(&cache->loaders[i], "cache-load", cw_chunk_open_thread, cache);
    for (size_t i = 0; i < CW_CACHE_WRITERS; i++)
        cw_thread_start(&cache->writers[i], "cache-write", cw_flush_thread, cache);
}

struct cw_cache *cw_cache_new(struct cw_store *store, const struct cw_cache_options *options)
{
    struct cw_cache *cache = CW_NEW(struct cw_cache);

    atomic_init(&cache->refs, 1);
    atomic_init(&cache->store_refs, 1);
    cache->store = store;
    cache->drop_chunks = cw_chunk_set_drop_all;
    cache->level = options->level;
    cache->event = options->event;
    cache->event_arg = options->event_arg;
    int64_t said_ms = cw_store_timeout_ms(store);
    cache->timeout_ms = said_ms ? said_ms : TIMEOUT_MS;
    cache->verifies_always = cw_store_verifies_always(store);
    set_sizes(cache, options);
    cw_mutex_init(&cache->budget.lock);
    cw_mutex_init(&cache->lock);
    cw_cond_init(&cache->load_wake);
    cw_cond_init(&cache->write_wake);
    cw_cond_init(&cache->maintenance_wake);
    cw_cond_init(&cache->idle);
    cache->load_end = &cache->load_first;
    start_threads(cache);
    return cache;
}

struct cw_store *cw_cache_store(struct cw_cache *cache)
{
    return cache->store;
}

bool cw_cache_is_writing(const struct cw_cache *cache)
{
    return atomic_load(&cache->unwritten) > 0;
}

/* ---- closing ---- */

#define LOOK_NS 20000000 /* how often it is looked whether there is less time than there was */

static void write_what_waits(struct cw_cache *cache, const _Atomic int64_t *wait_ms)
{
    int64_t begin = cw_clock_ns();

    cw_cache_flush(cache, NULL);
    cw_mutex_lock(&cache->lock);
    while (atomic_load(&cache->unwritten)) {
        int64_t deadline = begin + CW_MAX(atomic_load(wait_ms), 0) * 1000000, now = cw_clock_ns();
        if (now >= deadline)
            break;
        (void)cw_cond_wait_until(&cache->idle, &cache->lock, CW_MIN(deadline, now + LOOK_NS));
    }
    cw_mutex_unlock(&cache->lock);
}

static void stop_threads(struct cw_cache *cache)
{
    cw_mutex_lock(&cache->lock);
    cache->stop = true;
    cw_cond_broadcast(&cache->load_wake);
    cw_cond_broadcast(&cache->write_wake);
    cw_mutex_unlock(&cache->lock);
    for (size_t i = 0; i < CW_CACHE_WRITERS; i++)
        cw_thread_join(&cache->writers[i]);
    for (size_t i = 0; i < CW_CACHE_LOADERS; i++)
        cw_thread_join(&cache->loaders[i]);
}

static void drop_chunks(struct cw_cache *cache)
{
    size_t n;
    struct cw_cache_dataset **datasets = cw_dataset_all(cache, &n);

    for (size_t i = 0; i < n; i++) {
        cw_chunk_set_drop_all(datasets[i]);
        cw_cache_dataset_unref(datasets[i]);
    }
    cw_mem_free(datasets);
}

static void stop_maintenance(struct cw_cache *cache)
{
    cw_mutex_lock(&cache->lock);
    cache->stop_maintenance = true;
    cw_cond_signal(&cache->maintenance_wake);
    cw_mutex_unlock(&cache->lock);
    cw_thread_join(&cache->maintenance);
}

void cw_cache_free(struct cw_cache *cache, int64_t wait_ms)
{
    const _Atomic int64_t constant = wait_ms;

    cw_cache_free_within(cache, &constant);
}

void cw_cache_free_within(struct cw_cache *cache, const _Atomic int64_t *wait_ms)
{
    if (!cache)
        return;
    write_what_waits(cache, wait_ms);
    stop_threads(cache);
    atomic_store(&cache->closed, true);
    cw_flush_discard_all(cache, "the cache was closed before they were written");
    cw_mutex_lock(&cache->lock);
    while (cache->reads)
        cw_cond_wait(&cache->idle, &cache->lock);
    cw_mutex_unlock(&cache->lock);
    drop_chunks(cache);
    stop_maintenance(cache);
    cw_cache_store_unref(cache);
    cw_cache_unref(cache);
}
