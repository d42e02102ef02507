/* SPDX-License-Identifier: Apache-2.0 */
/* The chunks of a dataset. The owner adds chunks that exist in the store, and removes those that do
 * not exist any more. */
#include "cache/record/record_state.h"
#include "cache/record/chunk_open.h"
#include "cache/record/chunk_set.h"
#include "cache/record/requests.h"

void cw_chunk_set_drop_all(struct cw_cache_dataset *dataset)
{
    struct cw_cache_chunk *chunks = NULL;
    const char *name;
    void *value;

    cw_mutex_lock(&dataset->lock);
    for (size_t at = 0; cw_strmap_next(&dataset->names, &at, &name, &value);) {
        struct cw_cache_chunk *chunk = value;

        chunk->removed = true;
        if (chunk->state == CW_CHUNK_PARKED ||
            (chunk->state == CW_CHUNK_LOADED && cw_cache_handle_invalidate(chunk->handle))) {
            chunk->next = chunks;
            chunks = chunk;
        }
    }
    cw_strmap_fini(&dataset->names);
    dataset->names = (struct cw_strmap){0};
    cw_mutex_unlock(&dataset->lock);
    while (chunks) {
        struct cw_cache_chunk *chunk = chunks;

        chunks = chunk->next;
        if (chunk->handle) {
            atomic_fetch_sub(&dataset->chunks, 1);
            cw_cache_handle_release(chunk->handle);
        } else {
            cw_cache_chunk_free(chunk);
        }
    }
}

static bool is_ours(const struct cw_cache_dataset *dataset, const char *name)
{
    struct cw_chunk_name parsed;

    return cw_chunk_name_parse(name, &parsed) && cw_str_eq(parsed.tenant, dataset->tenant) &&
           cw_hash_eq(parsed.key, dataset->key);
}

void cw_cache_dataset_add(struct cw_cache_dataset *dataset, const char *const *names, size_t n)
{
    struct cw_cache *cache = dataset->cache;

    if (atomic_load(&cache->closed))
        return;
    for (size_t i = 0; i < n; i++) {
        if (!is_ours(dataset, names[i]))
            continue;
        cw_mutex_lock(&dataset->lock);
        struct cw_cache_chunk *chunk = cw_strmap_get(&dataset->names, names[i]);
        if (chunk && chunk->removed && chunk->state != CW_CHUNK_LOADED)
            chunk->removed = false; /* the owner added the chunk again before it was opened */
        bool known =
            chunk && (chunk->state != CW_CHUNK_LOADED || cw_cache_handle_is_live(chunk->handle));
        if (!known) {
            chunk = cw_cache_chunk_new(dataset, names[i]);
            cw_strmap_set(&dataset->names, names[i], chunk);
            atomic_fetch_add(&dataset->pending, 1);
            cw_cache_dataset_ref(dataset);
        }
        cw_mutex_unlock(&dataset->lock);
        if (!known)
            cw_request_open(cache, chunk);
    }
}

static void remove_one(struct cw_cache_dataset *dataset, const char *name)
{
    cw_mutex_lock(&dataset->lock);
    struct cw_cache_chunk *chunk = cw_strmap_get(&dataset->names, name), *parked = NULL,
                          *loaded = NULL;
    if (chunk && chunk->state == CW_CHUNK_PARKED)
        parked = cw_strmap_remove(&dataset->names, name);
    else if (chunk && chunk->state == CW_CHUNK_LOADED && cw_cache_handle_acquire(chunk->handle))
        loaded = chunk;
    else if (chunk)
        chunk->removed = true;
    cw_mutex_unlock(&dataset->lock);
    if (parked)
        cw_cache_chunk_free(parked);
    if (loaded) {
        struct cw_cache_handle *handle = loaded->handle;

        cw_request_retire(loaded, -1, NULL);
        cw_cache_handle_release(handle);
    }
}

void cw_cache_dataset_remove(struct cw_cache_dataset *dataset, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        remove_one(dataset, names[i]);
}

bool cw_cache_dataset_is_loaded(const struct cw_cache_dataset *dataset)
{
    return atomic_load(&dataset->pending) == 0;
}
