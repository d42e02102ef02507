/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets are made and freed here; so are their handles, and the entries of their id maps. */
#include <stdio.h>
#include <string.h>

#include "cache/record/record_state.h"

#define DATASET_MAGIC 0x43614e6fu /* "CaNo", to recognise the struct */

static struct cw_cache_dataset *find(struct cw_cache *cache, const char *tenant, struct cw_hash key)
{
    for (struct cw_cache_dataset *dataset = cache->datasets; dataset; dataset = dataset->next)
        if (cw_hash_eq(dataset->key, key) && cw_str_eq(dataset->tenant, tenant))
            return dataset;
    return NULL;
}

static struct cw_cache_dataset *dataset_new(struct cw_cache *cache, const char *tenant,
                                            struct cw_hash key, const struct cw_spec *spec)
{
    struct cw_cache_dataset *dataset = cw_mem_try_aligned(64, sizeof(*dataset));

    CW_ASSERT(dataset != NULL);
    memset(dataset, 0, sizeof(*dataset));
    dataset->magic = DATASET_MAGIC;
    atomic_init(&dataset->refs, 1);
    atomic_init(&dataset->memory_refs, 1);
    dataset->cache = cache;
    atomic_fetch_add(&cache->refs, 1);
    snprintf(dataset->tenant, sizeof(dataset->tenant), "%s", tenant);
    dataset->key = key;
    dataset->spec = cw_spec_copy(spec);
    cw_record_shape_init(&dataset->shape, &dataset->spec);
    dataset->frames_at =
        cw_chunk_frames_at(&(struct cw_chunk_head){.key = key, .spec = cw_spec_borrow(spec)});
    cw_mutex_init(&dataset->lock);
    return dataset;
}

struct cw_cache_dataset *cw_cache_dataset(struct cw_cache *cache, const char *tenant,
                                          struct cw_hash key, const struct cw_spec *spec)
{
    if (!tenant || !*tenant)
        tenant = "default";
    cw_mutex_lock(&cache->lock);
    struct cw_cache_dataset *dataset = find(cache, tenant, key);
    if (dataset) {
        cw_cache_dataset_ref(dataset);
    } else {
        dataset = dataset_new(cache, tenant, key, spec);
        dataset->next = cache->datasets;
        cache->datasets = dataset;
    }
    cw_mutex_unlock(&cache->lock);
    return dataset;
}

struct cw_cache_dataset *cw_cache_dataset_ref(struct cw_cache_dataset *dataset)
{
    atomic_fetch_add_explicit(&dataset->refs, 1, memory_order_relaxed);
    return dataset;
}

static void unlink_dataset(struct cw_cache *cache, struct cw_cache_dataset *dataset)
{
    struct cw_cache_dataset **at = &cache->datasets;

    while (*at && *at != dataset)
        at = &(*at)->next;
    if (*at)
        *at = dataset->next;
}

static void memory_unref(struct cw_cache_dataset *dataset)
{
    if (atomic_fetch_sub_explicit(&dataset->memory_refs, 1, memory_order_acq_rel) != 1)
        return;
    struct cw_cache *cache = dataset->cache;
    cw_handle_table_fini(&dataset->handles);
    cw_id_map_fini(&dataset->ids);
    cw_strmap_fini(&dataset->names);
    cw_mutex_fini(&dataset->lock);
    dataset->magic = 0;
    cw_record_shape_fini(&dataset->shape);
    cw_spec_fini(&dataset->spec);
    cw_mem_free(dataset);
    cw_cache_unref(cache);
}

struct cw_cache_handle *cw_dataset_handle_new(struct cw_cache_dataset *dataset,
                                              struct cw_cache_chunk *chunk,
                                              struct cw_write_buffer *buffer,
                                              void (*reclaim)(struct cw_cache_handle *handle))
{
    struct cw_cache_handle *handle = cw_cache_handle_new(&dataset->handles, chunk, buffer, reclaim);

    if (handle)
        atomic_fetch_add(&dataset->memory_refs, 1);
    return handle;
}

void cw_dataset_handle_recycle(struct cw_cache_dataset *dataset, struct cw_cache_handle *handle)
{
    cw_mutex_lock(&dataset->lock);
    cw_cache_handle_recycle(&dataset->handles, handle);
    cw_mutex_unlock(&dataset->lock);
    memory_unref(dataset);
}

/* The last reference is given up under the cache's lock: otherwise another thread could find the
 * dataset in the list while it is being freed. */
struct cw_cache_dataset *cw_cache_dataset_unref(struct cw_cache_dataset *dataset)
{
    if (!dataset)
        return NULL;
    CW_ASSERT(dataset->magic == DATASET_MAGIC);
    int refs = atomic_load_explicit(&dataset->refs, memory_order_relaxed);
    while (refs > 1)
        if (atomic_compare_exchange_weak_explicit(&dataset->refs, &refs, refs - 1,
                                                  memory_order_release, memory_order_relaxed))
            return NULL;
    struct cw_cache *cache = dataset->cache;
    cw_mutex_lock(&cache->lock);
    bool last = atomic_fetch_sub_explicit(&dataset->refs, 1, memory_order_acq_rel) == 1;
    if (last)
        unlink_dataset(cache, dataset);
    cw_mutex_unlock(&cache->lock);
    if (last) {
        cache->drop_chunks(dataset);
        memory_unref(dataset);
    }
    return NULL;
}

struct cw_cache_dataset **cw_dataset_all(struct cw_cache *cache, size_t *ret_n)
{
    struct cw_cache_dataset **all = NULL;
    size_t n = 0, cap = 0;

    cw_mutex_lock(&cache->lock);
    for (struct cw_cache_dataset *dataset = cache->datasets; dataset; dataset = dataset->next) {
        CW_GROW(all, n, cap);
        all[n++] = cw_cache_dataset_ref(dataset);
    }
    cw_mutex_unlock(&cache->lock);
    *ret_n = n;
    return all;
}

static bool is_of_chunk(const struct cw_cache_dataset *dataset, uint64_t place)
{
    return place && cw_dataset_handle(dataset, place)->chunk;
}

bool cw_dataset_set_place(struct cw_cache_dataset *dataset, uint64_t id, uint64_t place)
{
    bool was = is_of_chunk(dataset, cw_id_map_get(&dataset->ids, id)),
         is = is_of_chunk(dataset, place);

    if (!cw_id_map_set(&dataset->ids, id, place))
        return false;
    if (was && !is)
        atomic_fetch_sub_explicit(&dataset->records, 1, memory_order_relaxed);
    if (is && !was)
        atomic_fetch_add_explicit(&dataset->records, 1, memory_order_relaxed);
    return true;
}

struct cw_hash cw_cache_dataset_key(const struct cw_cache_dataset *dataset)
{
    return dataset->key;
}

const char *cw_cache_dataset_tenant(const struct cw_cache_dataset *dataset)
{
    return dataset->tenant;
}
