/* SPDX-License-Identifier: Apache-2.0 */
/* The cache learns of chunks by their names. Threads called loaders open them, read and check their
 * indices, and enter the ids into the dataset's id map. A chunk whose store is unavailable is
 * parked until the store answers again. */
#include <string.h>

#include "base/fault.h"
#include "cache/record/record_state.h"
#include "cache/record/chunk_open.h"
#include "cache/record/frame_cache.h"
#include "cache/record/requests.h"

/* bytes read first from a chunk's end, in the hope that the whole index is among them */
#define TAIL_BYTES ((size_t)64 << 10)
#define AT_ONCE 4096u /* number of ids that are entered in one hold of the lock */
/* An index that could not be read so many times, while the store answered, is damaged. */
#define ATTEMPTS 3

struct cw_cache_chunk *cw_cache_chunk_new(struct cw_cache_dataset *dataset, const char *name)
{
    struct cw_cache_chunk *chunk = CW_NEW(struct cw_cache_chunk);

    chunk->dataset = dataset;
    chunk->name = cw_mem_strdup(name);
    chunk->end = -1;
    cw_mutex_init(&chunk->lock);
    cw_cond_init(&chunk->arrived);
    return chunk;
}

void cw_cache_chunk_free(struct cw_cache_chunk *chunk)
{
    if (chunk->index)
        cw_frame_cache_drop_all(chunk);
    if (chunk->file) {
        cw_store_file_close(chunk->file);
        cw_cache_store_unref(chunk->dataset->cache);
    }
    cw_chunk_index_free(chunk->index);
    cw_mem_free(chunk->checked);
    cw_mem_free(chunk->stored);
    cw_mem_free(chunk->plain);
    cw_mem_free(chunk->queued);
    cw_cond_fini(&chunk->arrived);
    cw_mutex_fini(&chunk->lock);
    cw_mem_free(chunk->name);
    cw_mem_free(chunk->why);
    cw_mem_free(chunk);
}

void cw_chunk_reclaim(struct cw_cache_handle *handle)
{
    struct cw_cache_dataset *dataset = handle->chunk->dataset;

    cw_cache_chunk_free(handle->chunk);
    cw_dataset_handle_recycle(dataset, handle);
}

/* The reclaim function of a chunk's handle. The thread that gave up the last reference computes,
 * and closing the file may take long, so the work is left to the maintenance thread. */
static void reclaim_later(struct cw_cache_handle *handle)
{
    if (!cw_request_reclaim(handle->chunk->dataset->cache, handle))
        cw_chunk_reclaim(handle);
}

/* ---- the index ---- */

static int read_index(struct cw_cache_chunk *chunk, uint64_t bytes, struct cw_err *err)
{
    size_t tail_n = (size_t)CW_MIN(bytes, (uint64_t)TAIL_BYTES), n;
    uint64_t offset;

    if (bytes < CW_CHUNK_FOOTER_BYTES)
        return cw_err_set(err, CW_E_CORRUPT, "%s: %llu bytes are too few for a chunk", chunk->name,
                          (unsigned long long)bytes);
    cw_autofree unsigned char *tail = cw_mem_try(tail_n);
    if (!tail)
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory for its index", chunk->name);
    int rc = cw_store_file_read(chunk->file, bytes - tail_n, tail, tail_n, err);
    if (rc == 0)
        rc = cw_chunk_footer_read(tail + tail_n - CW_CHUNK_FOOTER_BYTES, bytes, &offset, &n, err);
    if (rc != 0)
        return rc;
    if (offset >= bytes - tail_n)
        return cw_chunk_index_read(tail + (offset - (bytes - tail_n)), (size_t)(bytes - offset),
                                   bytes, &chunk->index, err);
    size_t whole_n = (size_t)(bytes - offset);
    cw_autofree unsigned char *whole = cw_mem_try(whole_n);
    if (!whole)
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory for its index of %zu bytes", chunk->name,
                          whole_n);
    rc = cw_store_file_read(chunk->file, offset, whole, whole_n, err);
    return rc ? rc : cw_chunk_index_read(whole, whole_n, bytes, &chunk->index, err);
}

/* Checks that the index agrees with the chunk's name and with its dataset. */
static int check_identity(const struct cw_cache_chunk *chunk, struct cw_err *err)
{
    const struct cw_chunk_index *index = chunk->index;
    struct cw_chunk_name name;

    if (!cw_hash_eq(index->head.key, chunk->dataset->key) ||
        !cw_spec_eq(&index->head.spec, &chunk->dataset->spec))
        return cw_err_set(err, CW_E_CORRUPT, "%s: what is in it belongs to another node",
                          chunk->name);
    if (!cw_chunk_name_parse(chunk->name, &name) || name.count != index->records_n ||
        (index->records_n && name.first != index->records[0].id))
        return cw_err_set(err, CW_E_CORRUPT, "%s: what is in it is not what its name says",
                          chunk->name);
    return 0;
}

/* Whether the records are so large that each is a frame by itself, which is read alone. */
static bool are_large(const struct cw_chunk_index *index)
{
    return index->frames_n && index->frames_n == index->records_n &&
           index->frames[0].plain >= CW_CHUNK_FRAME_BYTES;
}

static void make_tables(struct cw_cache_chunk *chunk)
{
    const struct cw_chunk_index *index = chunk->index;
    bool packed = false;

    for (uint32_t i = 0; i < index->frames_n && !packed; i++)
        packed = index->frames[i].stored != index->frames[i].plain;
    if (chunk->map)
        chunk->checked = CW_NEW_ARRAY(struct cw_bits, index->frames_n / 64 + 1);
    if (!chunk->map || (are_large(index) && cw_store_file_may_read_past(chunk->file))) {
        chunk->stored = CW_NEW_ARRAY(struct cw_span *, index->frames_n + 1);
        chunk->queued = CW_NEW_ARRAY(struct cw_queued_frame, index->frames_n + 1);
    }
    if (packed)
        chunk->plain = CW_NEW_ARRAY(struct cw_span *, index->frames_n + 1);
}

static int open_chunk(struct cw_cache *cache, struct cw_cache_chunk *chunk, struct cw_err *err)
{
    uint64_t bytes = 0;
    int rc = cw_store_file_open(cache->store, chunk->name, &chunk->file, &bytes, err);

    if (rc != 0)
        return rc;
    atomic_fetch_add(&cache->store_refs, 1);
    /* The index is read into memory of its own also where the file is mapped: then nothing can
     * change it while it is used. */
    rc = read_index(chunk, bytes, err);
    if (rc == 0 && (chunk->map = cw_store_file_map(chunk->file)) != NULL)
        chunk->map_end = chunk->map + bytes - CW_CHUNK_END_BYTES;
    if (rc == 0)
        rc = check_identity(chunk, err);
    if (rc == 0)
        make_tables(chunk);
    return rc;
}

/* ---- ids ---- */

/* Enters one record's id. A record that is found in another chunk stays there. A record that is
 * found in a write buffer is found in this chunk from now on, and need not be written any more.
 * Called with dataset->lock held. */
static void enter_id(struct cw_cache_chunk *chunk, uint32_t record)
{
    struct cw_cache_dataset *dataset = chunk->dataset;
    uint64_t id = chunk->index->records[record].id, old = cw_id_map_get(&dataset->ids, id);

    if (old) {
        struct cw_cache_handle *handle = cw_dataset_handle(dataset, old);

        if (handle == chunk->handle)
            return;
        if (cw_cache_handle_is_live(handle) && handle->chunk) {
            chunk->shadowed = true;
            return;
        }
    }
    cw_dataset_set_place(dataset, id, cw_place(chunk->handle->no, record));
}

void cw_chunk_enter_ids(struct cw_cache_chunk *chunk)
{
    struct cw_cache_dataset *dataset = chunk->dataset;

    for (uint32_t i = 0; i < chunk->index->records_n;) {
        uint32_t end = CW_MIN(i + AT_ONCE, chunk->index->records_n);

        cw_mutex_lock(&dataset->lock);
        for (; i < end; i++)
            enter_id(chunk, i);
        cw_mutex_unlock(&dataset->lock);
    }
}

/* Gives the chunk a handle and enters its ids. Returns false if the owner removed the chunk
 * meanwhile, or there is no memory for a handle. */
static bool install(struct cw_cache_chunk *chunk)
{
    struct cw_cache_dataset *dataset = chunk->dataset;
    struct cw_cache *cache = dataset->cache;

    cw_mutex_lock(&dataset->lock);
    bool ok = !chunk->removed &&
              (chunk->handle = cw_dataset_handle_new(dataset, chunk, NULL, reclaim_later)) != NULL;
    if (ok) {
        chunk->state = CW_CHUNK_LOADED;
        if (!chunk->map || are_large(chunk->index))
            atomic_store_explicit(&dataset->wants_prefetch, true, memory_order_relaxed);
        chunk->installing = true;
        cw_cache_handle_ref(chunk->handle);
        atomic_fetch_add(&dataset->chunks, 1);
    }
    cw_mutex_unlock(&dataset->lock);
    if (!ok)
        return false;
    cw_chunk_enter_ids(chunk);
    cw_mutex_lock(&dataset->lock);
    chunk->installing = false;
    cw_mutex_unlock(&dataset->lock);
    struct cw_cache_handle *handle = chunk->handle;
    cw_cache_handle_release(handle);
    /* The chunk may have been retired while its ids were entered. Then the maintenance thread waits
     * for this. */
    cw_mutex_lock(&cache->lock);
    cw_cond_signal(&cache->maintenance_wake);
    cw_mutex_unlock(&cache->lock);
    return true;
}

static void forget(struct cw_cache_chunk *chunk)
{
    struct cw_cache_dataset *dataset = chunk->dataset;

    cw_mutex_lock(&dataset->lock);
    if (cw_strmap_get(&dataset->names, chunk->name) == chunk)
        cw_strmap_remove(&dataset->names, chunk->name);
    cw_mutex_unlock(&dataset->lock);
    cw_cache_chunk_free(chunk);
}

/* Parks the chunk until the store answers again. Returns false if the owner removed the chunk
 * meanwhile, or the cache is closed. */
static bool park(struct cw_cache_chunk *chunk)
{
    struct cw_cache_dataset *dataset = chunk->dataset;

    cw_mutex_lock(&dataset->lock);
    bool ok = !chunk->removed && !atomic_load(&dataset->cache->closed);
    if (ok)
        chunk->state = CW_CHUNK_PARKED;
    cw_mutex_unlock(&dataset->lock);
    return ok;
}

static void close_file(struct cw_cache *cache, struct cw_cache_chunk *chunk)
{
    if (!chunk->file)
        return;
    cw_store_file_close(chunk->file);
    cw_cache_store_unref(cache);
    chunk->file = NULL;
    chunk->map = NULL;
}

/* Returns whether what could not be opened is told: the chunk is gone, or nobody can read it. Memory
 * and descriptors that are short, and rights, are troubles of this process alone. */
static bool is_told(int rc)
{
    return rc == CW_E_NOT_FOUND || rc == CW_E_CORRUPT || rc == CW_E_IO;
}

static void give_up(struct cw_cache *cache, struct cw_cache_chunk *chunk, int rc,
                    const struct cw_err *err)
{
    bool unavailable = rc == CW_E_TIMEOUT || rc == CW_E_UNAVAILABLE;
    struct cw_cache_event event = {.kind = rc == CW_E_NOT_FOUND ? CW_CACHE_GONE : CW_CACHE_DAMAGED,
                                   .dataset = chunk->dataset,
                                   .name = chunk->name,
                                   .why = err->msg};

    if (unavailable)
        close_file(cache, chunk);
    if (unavailable && park(chunk)) {
        atomic_fetch_add(&cache->parked, 1);
        return;
    }
    if (is_told(rc)) {
        if (event.kind == CW_CACHE_DAMAGED)
            atomic_fetch_add(&chunk->dataset->damaged, 1);
        cw_cache_emit(cache, &event);
    }
    forget(chunk);
}

void cw_chunk_open(struct cw_cache *cache, struct cw_cache_chunk *chunk)
{
    struct cw_err err = {0};
    int rc = open_chunk(cache, chunk, &err);

    for (int i = 1; i < ATTEMPTS && rc == CW_E_IO; i++) {
        close_file(cache, chunk);
        rc = open_chunk(cache, chunk, &err);
    }
    cw_request_note_result(cache, rc, &err);
    cw_fault_point("cache.index_loaded");
    if (rc != 0)
        give_up(cache, chunk, rc, &err);
    else if (!install(chunk))
        forget(chunk);
}

/* ---- the loader thread ---- */

static void load_one(struct cw_cache *cache, struct cw_cache_chunk *chunk, bool stopping)
{
    struct cw_cache_dataset *dataset = chunk->dataset;

    cw_mutex_lock(&dataset->lock);
    bool removed = chunk->removed || stopping;
    chunk->state = CW_CHUNK_LOADING;
    cw_mutex_unlock(&dataset->lock);
    if (removed)
        forget(chunk);
    else
        cw_chunk_open(cache, chunk);
    atomic_fetch_sub(&dataset->pending, 1);
    cw_cache_dataset_unref(dataset);
}

void cw_chunk_open_thread(void *arg)
{
    struct cw_cache *cache = arg;

    cw_mutex_lock(&cache->lock);
    for (;;) {
        struct cw_cache_chunk *chunk = cache->load_first;

        if (!chunk && cache->stop)
            break;
        if (!chunk) {
            cw_cond_wait(&cache->load_wake, &cache->lock);
            continue;
        }
        cache->load_first = chunk->next;
        if (!cache->load_first)
            cache->load_end = &cache->load_first;
        bool stopping = cache->stop;
        cw_mutex_unlock(&cache->lock);
        load_one(cache, chunk, stopping);
        cw_mutex_lock(&cache->lock);
    }
    cw_mutex_unlock(&cache->lock);
}

void cw_chunk_open_parked(struct cw_cache *cache)
{
    size_t n;

    if (atomic_exchange(&cache->parked, 0) == 0)
        return;
    struct cw_cache_dataset **datasets = cw_dataset_all(cache, &n);

    for (size_t i = 0; i < n; i++) {
        struct cw_cache_dataset *dataset = datasets[i];
        const char *name;
        void *value;

        cw_mutex_lock(&dataset->lock);
        struct cw_cache_chunk *list = NULL;
        for (size_t at = 0; cw_strmap_next(&dataset->names, &at, &name, &value);) {
            struct cw_cache_chunk *chunk = value;

            if (chunk->state != CW_CHUNK_PARKED)
                continue;
            chunk->state = CW_CHUNK_QUEUED;
            atomic_fetch_add(&dataset->pending, 1);
            cw_cache_dataset_ref(dataset);
            chunk->next = list;
            list = chunk;
        }
        cw_mutex_unlock(&dataset->lock);
        while (list) {
            struct cw_cache_chunk *next = list->next;

            cw_request_open(cache, list);
            list = next;
        }
        cw_cache_dataset_unref(dataset);
    }
    cw_mem_free(datasets);
}
