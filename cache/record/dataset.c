/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a cache: one object a tenant and key while somebody uses it or something of it waits
 * to be written. */
#include <stdio.h>
#include <string.h>

#include "cache/record/record_int.h"

#define NODE_MAGIC 0x43614e6fu /* "CaNo" */

static struct cw_cache_node *find(struct cw_cache *cache, const char *tenant, struct cw_hash key)
{
    for (struct cw_cache_node *node = cache->nodes; node; node = node->next)
        if (cw_hash_eq(node->key, key) && cw_str_eq(node->tenant, tenant))
            return node;
    return NULL;
}

static struct cw_cache_node *node_new(struct cw_cache *cache, const char *tenant,
                                      struct cw_hash key, const struct cw_spec *spec)
{
    struct cw_cache_node *node = cw_mem_try_aligned(64, sizeof(*node));

    CW_ASSERT(node != NULL);
    memset(node, 0, sizeof(*node));
    node->magic = NODE_MAGIC;
    atomic_init(&node->refs, 1);
    atomic_init(&node->holds, 1);
    node->cache = cache;
    atomic_fetch_add(&cache->refs, 1);
    snprintf(node->tenant, sizeof(node->tenant), "%s", tenant);
    node->key = key;
    node->spec = *spec;
    cw_record_shape_init(&node->shape, &node->spec);
    node->frames_at = cw_chunk_frames_at(&(struct cw_chunk_head){.key = key, .spec = *spec});
    cw_mutex_init(&node->lock);
    return node;
}

struct cw_cache_node *cw_cache_node(struct cw_cache *cache, const char *tenant, struct cw_hash key,
                                    const struct cw_spec *spec)
{
    if (!tenant || !*tenant)
        tenant = "default";
    cw_mutex_lock(&cache->lock);
    struct cw_cache_node *node = find(cache, tenant, key);
    if (node) {
        cw_cache_node_ref(node);
    } else {
        node = node_new(cache, tenant, key, spec);
        node->next = cache->nodes;
        cache->nodes = node;
    }
    cw_mutex_unlock(&cache->lock);
    return node;
}

struct cw_cache_node *cw_cache_node_ref(struct cw_cache_node *node)
{
    atomic_fetch_add_explicit(&node->refs, 1, memory_order_relaxed);
    return node;
}

static void unlink_node(struct cw_cache *cache, struct cw_cache_node *node)
{
    struct cw_cache_node **at = &cache->nodes;

    while (*at && *at != node)
        at = &(*at)->next;
    if (*at)
        *at = node->next;
}

/* The last ref goes under the cache's lock: else it could be found in the list while it ends. */
struct cw_cache_node *cw_cache_node_unref(struct cw_cache_node *node)
{
    if (!node)
        return NULL;
    CW_ASSERT(node->magic == NODE_MAGIC);
    int refs = atomic_load_explicit(&node->refs, memory_order_relaxed);
    while (refs > 1)
        if (atomic_compare_exchange_weak_explicit(&node->refs, &refs, refs - 1,
                                                  memory_order_release, memory_order_relaxed))
            return NULL;
    struct cw_cache *cache = node->cache;
    cw_mutex_lock(&cache->lock);
    bool last = atomic_fetch_sub_explicit(&node->refs, 1, memory_order_acq_rel) == 1;
    if (last)
        unlink_node(cache, node);
    cw_mutex_unlock(&cache->lock);
    if (last) {
        cw_node_drop_chunks(node);
        cw_node_unhold(node);
    }
    return NULL;
}

void cw_node_drop_chunks(struct cw_cache_node *node)
{
    struct cw_cache_chunk *chunks = NULL;
    const char *name;
    void *value;

    cw_mutex_lock(&node->lock);
    for (size_t at = 0; cw_strmap_next(&node->names, &at, &name, &value);) {
        struct cw_cache_chunk *chunk = value;

        chunk->removed = true;
        if (chunk->state == CW_CHUNK_PARKED ||
            (chunk->state == CW_CHUNK_LOADED && cw_slot_kill(chunk->slot))) {
            chunk->next = chunks;
            chunks = chunk;
        }
    }
    cw_strmap_fini(&node->names);
    node->names = (struct cw_strmap){0};
    cw_mutex_unlock(&node->lock);
    while (chunks) {
        struct cw_cache_chunk *chunk = chunks;

        chunks = chunk->next;
        if (chunk->slot) {
            atomic_fetch_sub(&node->chunks, 1);
            cw_slot_drop(chunk->slot);
        } else {
            cw_load_chunk_free(chunk);
        }
    }
}

void cw_node_unhold(struct cw_cache_node *node)
{
    if (atomic_fetch_sub_explicit(&node->holds, 1, memory_order_acq_rel) != 1)
        return;
    struct cw_cache *cache = node->cache;
    for (size_t i = 0; i < CW_SLOT_SEGMENTS; i++)
        cw_mem_free(atomic_load_explicit(&node->segments[i], memory_order_relaxed));
    cw_ids_fini(&node->ids);
    cw_strmap_fini(&node->names);
    cw_mutex_fini(&node->lock);
    node->magic = 0;
    cw_mem_free(node);
    cw_cache_unref(cache);
}

struct cw_cache_node **cw_node_all(struct cw_cache *cache, size_t *ret_n)
{
    struct cw_cache_node **all = NULL;
    size_t n = 0, cap = 0;

    cw_mutex_lock(&cache->lock);
    for (struct cw_cache_node *node = cache->nodes; node; node = node->next) {
        CW_GROW(all, n, cap);
        all[n++] = cw_cache_node_ref(node);
    }
    cw_mutex_unlock(&cache->lock);
    *ret_n = n;
    return all;
}

static bool is_of_chunk(const struct cw_cache_node *node, uint64_t place)
{
    return place && cw_slot_at(node, place)->chunk;
}

bool cw_node_place(struct cw_cache_node *node, uint64_t id, uint64_t place)
{
    bool was = is_of_chunk(node, cw_ids_get(&node->ids, id)), is = is_of_chunk(node, place);

    if (!cw_ids_set(&node->ids, id, place))
        return false;
    if (was && !is)
        atomic_fetch_sub_explicit(&node->records, 1, memory_order_relaxed);
    if (is && !was)
        atomic_fetch_add_explicit(&node->records, 1, memory_order_relaxed);
    return true;
}

struct cw_hash cw_cache_node_key(const struct cw_cache_node *node)
{
    return node->key;
}

const char *cw_cache_node_tenant(const struct cw_cache_node *node)
{
    return node->tenant;
}

/* ---- chunks ---- */

static bool is_ours(const struct cw_cache_node *node, const char *name)
{
    struct cw_chunk_name parsed;

    return cw_chunk_name_parse(name, &parsed) && cw_str_eq(parsed.tenant, node->tenant) &&
           cw_hash_eq(parsed.key, node->key);
}

void cw_cache_node_add(struct cw_cache_node *node, const char *const *names, size_t n)
{
    struct cw_cache *cache = node->cache;

    if (atomic_load(&cache->closed))
        return;
    for (size_t i = 0; i < n; i++) {
        if (!is_ours(node, names[i]))
            continue;
        cw_mutex_lock(&node->lock);
        struct cw_cache_chunk *chunk = cw_strmap_get(&node->names, names[i]);
        if (chunk && chunk->removed && chunk->state != CW_CHUNK_LOADED)
            chunk->removed = false; /* taken back before it was loaded */
        bool known = chunk && (chunk->state != CW_CHUNK_LOADED || cw_slot_is_live(chunk->slot));
        if (!known) {
            chunk = cw_load_chunk_new(node, names[i]);
            cw_strmap_set(&node->names, names[i], chunk);
            atomic_fetch_add(&node->pending, 1);
            cw_cache_node_ref(node);
        }
        cw_mutex_unlock(&node->lock);
        if (!known)
            cw_load_queue(cache, chunk);
    }
}

static void remove_one(struct cw_cache_node *node, const char *name)
{
    cw_mutex_lock(&node->lock);
    struct cw_cache_chunk *chunk = cw_strmap_get(&node->names, name), *parked = NULL,
                          *loaded = NULL;
    if (chunk && chunk->state == CW_CHUNK_PARKED)
        parked = cw_strmap_remove(&node->names, name);
    else if (chunk && chunk->state == CW_CHUNK_LOADED && cw_slot_take(chunk->slot))
        loaded = chunk;
    else if (chunk)
        chunk->removed = true;
    cw_mutex_unlock(&node->lock);
    if (parked)
        cw_load_chunk_free(parked);
    if (loaded) {
        struct cw_slot *slot = loaded->slot;

        cw_keep_retire(loaded, -1, NULL);
        cw_slot_drop(slot);
    }
}

void cw_cache_node_remove(struct cw_cache_node *node, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        remove_one(node, names[i]);
}

bool cw_cache_node_is_loaded(const struct cw_cache_node *node)
{
    return atomic_load(&node->pending) == 0;
}
