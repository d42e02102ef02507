/* SPDX-License-Identifier: Apache-2.0 */
/* Writer threads: each takes a write buffer, builds a chunk from it (chunk_build.c), puts the chunk
 * into the store, and opens it for gets. A write that failed is tried again or given up. */
#include "base/clock.h"
#include "base/fault.h"
#include "cache/record/chunk_build.h"
#include "cache/record/chunk_open.h"
#include "cache/record/flush.h"
#include "cache/record/record_state.h"
#include "cache/record/requests.h"

/* for how long nothing is written to a store that was full */
#define FULL_NS ((int64_t)10 * 1000000000)
#define FULL_TRIES 2
/* wait after the first failed write of a buffer; it doubles with each further one */
#define RETRY_NS ((int64_t)100 * 1000000)
#define RETRY_MAX_NS ((int64_t)5 * 1000000000)
/* number of writes of a buffer that may fail with an error that says nothing about the store as a
 * whole */
#define ERROR_TRIES 3

/* ---- after the write ---- */

static bool is_there(struct cw_cache_dataset *dataset, const char *name)
{
    cw_mutex_lock(&dataset->lock);
    bool there = cw_strmap_get(&dataset->names, name) != NULL;
    cw_mutex_unlock(&dataset->lock);
    return there;
}

/* Opens the chunk that was written: its records are read from the store from now on. */
static void open_written(struct cw_cache *cache, struct cw_cache_dataset *dataset, const char *name)
{
    cw_mutex_lock(&dataset->lock);
    struct cw_cache_chunk *chunk =
        cw_strmap_get(&dataset->names, name) ? NULL : cw_cache_chunk_new(dataset, name);
    if (chunk) {
        chunk->state = CW_CHUNK_LOADING;
        cw_strmap_set(&dataset->names, name, chunk);
    }
    cw_mutex_unlock(&dataset->lock);
    if (chunk)
        cw_chunk_open(cache, chunk);
}

static void handle_success(struct cw_chunk_build *build, uint64_t bytes)
{
    struct cw_write_buffer *buffer = build->buffer;
    struct cw_cache_dataset *dataset = buffer->dataset;
    long long cost = atomic_load(&buffer->cost_ns);
    struct cw_cache_event event = {.kind = CW_CACHE_WRITTEN,
                                   .dataset = dataset,
                                   .name = cw_str_text(&build->name),
                                   .records = build->n,
                                   .bytes = bytes};

    event.cost_ns = cost > 0 ? (uint64_t)((double)cost * (double)build->n / buffer->n) : 0;
    atomic_fetch_add(&dataset->written, build->n);
    atomic_fetch_add(&dataset->written_bytes, bytes);
    atomic_fetch_add(&dataset->chunks_written, 1);
    open_written(build->cache, dataset, event.name);
    cw_cache_emit(build->cache, &event);
}

static void give_up(struct cw_write_buffer *buffer, uint64_t records, const char *why)
{
    if (records)
        cw_request_report_lost(buffer->dataset, records, why);
    cw_write_buffer_retire(buffer);
}

void cw_flush_discard_all(struct cw_cache *cache, const char *why)
{
    cw_mutex_lock(&cache->lock);
    struct cw_write_buffer *buffer = cache->write_first;
    cache->write_first = NULL;
    cw_mutex_unlock(&cache->lock);
    while (buffer) {
        struct cw_write_buffer *next = buffer->next;

        give_up(buffer, buffer->n, why);
        buffer = next;
    }
}

static void retry_at(struct cw_cache *cache, struct cw_write_buffer *buffer, int64_t at_ns)
{
    buffer->retry_ns = at_ns;
    cw_request_flush(cache, buffer);
}

/* Decides what happens after a failed write. If the store is unavailable, the buffer waits until it
 * answers. If the store is full, the write is tried once more, later; if the store is still full
 * then, all waiting records are given up to free memory. After any other error a few more tries
 * follow. */
static void handle_failure(struct cw_chunk_build *build, int rc, const struct cw_err *err)
{
    struct cw_write_buffer *buffer = build->buffer;
    struct cw_cache *cache = build->cache;
    int64_t now = cw_clock_ns(), wait = RETRY_NS << CW_MIN(buffer->tries, 10u);

    if (rc == CW_E_LIMIT) {
        cw_mutex_lock(&cache->lock);
        cache->full_until_ns = now + FULL_NS;
        cw_mutex_unlock(&cache->lock);
        if (++buffer->full_tries < FULL_TRIES) {
            retry_at(cache, buffer, now + FULL_NS);
        } else {
            give_up(buffer, build->n, err->msg);
            cw_flush_discard_all(cache, err->msg);
        }
        return;
    }
    buffer->tries++;
    if (rc != CW_E_TIMEOUT && rc != CW_E_UNAVAILABLE && buffer->tries >= ERROR_TRIES)
        give_up(buffer, build->n, err->msg);
    else
        retry_at(cache, buffer, now + CW_MIN(wait, RETRY_MAX_NS));
}

static int put(struct cw_chunk_build *build, uint64_t *ret_bytes, bool *ret_new, struct cw_err *err)
{
    int rc = cw_chunk_build_run(build, ret_bytes, err);

    if (rc != 0)
        return rc;
    cw_fault_point("cache.chunk_built");
    *ret_new = !is_there(build->buffer->dataset, cw_str_text(&build->name));
    if (!*ret_new)
        return 0;
    cw_fault_point("cache.before_put");
    const struct cw_store_held held = {cw_write_buffer_keep_segments(build->buffer),
                                       build->is_held};
    rc = cw_store_put_held(build->cache->store, cw_str_text(&build->name), build->parts,
                           build->parts_n, &held, err);
    cw_fault_point("cache.after_put");
    cw_request_note_result(build->cache, rc, err);
    return rc;
}

static void write_one(struct cw_cache *cache, struct cw_write_buffer *buffer)
{
    struct cw_chunk_build build = {.cache = cache, .buffer = buffer};
    struct cw_err err = {0};
    uint64_t bytes = 0;
    bool is_new = false;
    int rc = 0;

    if (cw_store_is_unavailable(cache->store, &err))
        rc = CW_E_UNAVAILABLE;
    else if (!cw_chunk_build_collect(&build))
        rc = cw_err_set(&err, CW_E_NOMEM, "no memory to order the records of a chunk");
    else if (build.n)
        rc = put(&build, &bytes, &is_new, &err);
    if (rc != 0) {
        handle_failure(&build, rc, &err);
    } else {
        if (is_new)
            handle_success(&build, bytes);
        cw_write_buffer_retire(buffer);
    }
    cw_chunk_build_fini(&build);
}

/* Returns the first buffer whose time to be written has come. If there is none, returns NULL and
 * writes to *ret_until the time when there will be one. Called with cache->lock held. */
static struct cw_write_buffer *next_buffer(struct cw_cache *cache, int64_t now, int64_t *ret_until)
{
    *ret_until = INT64_MAX;
    for (struct cw_write_buffer **at = &cache->write_first; *at; at = &(*at)->next) {
        struct cw_write_buffer *buffer = *at;
        int64_t when = CW_MAX(buffer->retry_ns, cache->full_until_ns);

        if (when <= now) {
            *at = buffer->next;
            return buffer;
        }
        *ret_until = CW_MIN(*ret_until, when);
    }
    return NULL;
}

void cw_flush_thread(void *arg)
{
    struct cw_cache *cache = arg;
    int64_t until;

    cw_mutex_lock(&cache->lock);
    while (!cache->stop) {
        struct cw_write_buffer *buffer = next_buffer(cache, cw_clock_ns(), &until);

        if (!buffer && until == INT64_MAX)
            cw_cond_wait(&cache->write_wake, &cache->lock);
        else if (!buffer)
            cw_cond_wait_until(&cache->write_wake, &cache->lock, until);
        if (!buffer)
            continue;
        cache->writing++;
        cw_mutex_unlock(&cache->lock);
        write_one(cache, buffer);
        cw_mutex_lock(&cache->lock);
        cache->writing--;
    }
    cw_mutex_unlock(&cache->lock);
}
