/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the cache. For each key the worker remembers the chunks that the dispatcher has
 * announced, even before a job that uses the key is open. The key has a dataset in the cache while
 * a job uses it, and for a while afterwards, so that the next job of the same pipeline finds the
 * indices loaded. */
#include "worker/cache/cache_keys.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/name.h"
#include "base/str.h"
#include "wire/wire.h"
#include "worker/cache/cache_store.h"

struct cw_wcache_key *cw_wcache_key(struct cw_worker_state *w, uint64_t cache_id,
                                    const char *tenant, struct cw_hash hash)
{
    char hex[CW_HASH_TEXT_BYTES];
    cw_hash_text(hash, hex);
    tenant = tenant && tenant[0] ? tenant : CW_TENANT_DEFAULT;
    cw_autofree char *name =
        cache_id == 0 ? cw_mem_printf("%s/%s", tenant, hex)
                      : cw_mem_printf("%llu:%s/%s", (unsigned long long)cache_id, tenant, hex);
    struct cw_wcache_key *key = cw_strmap_get(&w->cache.keys, name);
    if (key)
        return key;
    key = CW_NEW(struct cw_wcache_key);
    key->name = cw_steal(&name);
    key->cache_id = cache_id;
    key->tenant = cw_mem_strdup(tenant);
    key->key = hash;
    key->unused_ms = cw_clock_ms();
    (void)cw_strmap_set(&w->cache.keys, key->name, key);
    return key;
}

static void key_free(struct cw_wcache_key *key)
{
    cw_cache_dataset_unref(key->dataset);
    cw_strmap_fini(&key->chunks);
    cw_mem_free(key->name);
    cw_mem_free(key->tenant);
    cw_mem_free(key->job_id);
    cw_mem_free(key->job_node);
    cw_mem_free(key);
}

/* ---- counts ---- */

/* Adds counters; records and chunks are present values, and all others are sums. */
static void add_counts(struct cw_cache_counts *sum, const struct cw_cache_counts *c)
{
    sum->hits += c->hits;
    sum->misses += c->misses;
    sum->hit_bytes += c->hit_bytes;
    sum->put += c->put;
    sum->lost += c->lost;
    sum->written += c->written;
    sum->written_bytes += c->written_bytes;
    sum->chunks_written += c->chunks_written;
    sum->damaged += c->damaged;
    sum->get_ns += c->get_ns;
    sum->wait_ns += c->wait_ns;
    sum->records = c->records;
    sum->chunks = c->chunks;
}

void cw_wcache_key_counts(const struct cw_wcache_key *key, struct cw_cache_counts *ret_counts)
{
    struct cw_cache_counts now;
    *ret_counts = key->before;
    if (!key->dataset)
        return;
    cw_cache_counts(key->dataset, &now);
    add_counts(ret_counts, &now);
}

/* ---- chunks ---- */

struct names {
    const char **v;
    size_t n, cap;
};

static void names_add(struct names *names, const char *name)
{
    CW_GROW(names->v, names->n, names->cap);
    names->v[names->n++] = name;
}

/* Whether this worker wrote the chunk, and the dispatcher may not know it yet. */
static bool wrote_lately(const struct cw_worker_state *w, uint64_t cache_id, const char *name)
{
    for (size_t i = 0; i < w->cache.events_n; i++)
        if (w->cache.events[i]->kind == CW_CACHE_WRITTEN &&
            w->cache.events[i]->cache_id == cache_id && cw_str_eq(w->cache.events[i]->name, name))
            return true;
    return false;
}

/* Removes the chunks that the dispatcher does not list, except those that this worker has written
 * and that the dispatcher may not know yet. */
static void remove_others(struct cw_worker_state *w, struct cw_wcache_key *key,
                          const Cachew__V1__CacheChunks *m)
{
    struct cw_strmap there = {0};
    struct names gone = {0};
    const char *name;
    void *value;
    for (size_t i = 0; i < m->n_added; i++)
        (void)cw_strmap_set(&there, m->added[i], key);
    for (size_t i = 0; cw_strmap_next(&key->chunks, &i, &name, &value);)
        if (!cw_strmap_get(&there, name) && !wrote_lately(w, key->cache_id, name))
            names_add(&gone, name);
    if (key->dataset && gone.n > 0)
        cw_cache_dataset_remove(key->dataset, gone.v, gone.n);
    for (size_t i = 0; i < gone.n; i++)
        (void)cw_strmap_remove(&key->chunks, gone.v[i]);
    cw_mem_free(gone.v);
    cw_strmap_fini(&there);
}

/* Whether the name is a valid name of a chunk of this key. */
static bool is_name(const struct cw_wcache_key *key, const char *name)
{
    struct cw_chunk_name parsed;
    return cw_chunk_name_parse(name, &parsed) && cw_hash_eq(parsed.key, key->key) &&
           cw_str_eq(parsed.tenant, key->tenant);
}

static size_t chunks_told(const struct cw_worker_state *w)
{
    size_t n = 0;
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&w->cache.keys, &i, &name, &value);)
        n += ((const struct cw_wcache_key *)value)->chunks.n;
    return n;
}

static void add_chunks(struct cw_wcache_key *key, const Cachew__V1__CacheChunks *m)
{
    struct names fresh = {0};
    for (size_t i = 0; i < m->n_added; i++) {
        if (!is_name(key, m->added[i])) {
            cw_log_warn("worker", "chunk %.300s is not of %s: left out", m->added[i], key->name);
            continue;
        }
        (void)cw_strmap_set(&key->chunks, m->added[i], key);
        names_add(&fresh, m->added[i]);
    }
    if (key->dataset && fresh.n > 0)
        cw_cache_dataset_add(key->dataset, fresh.v, fresh.n);
    cw_mem_free(fresh.v);
}

const char *cw_wcache_chunks(struct cw_worker_state *w, const Cachew__V1__CacheChunks *m)
{
    struct cw_hash hash;
    if (!cw_wire_hash_from(m->key, &hash))
        return "it sent chunks of the cache without a key";
    cw_fault_point("cache.chunks");
    if (w->cache.keys.n >= CW_CACHE_KEYS_MAX || chunks_told(w) + m->n_added > CW_CACHE_CHUNKS_MAX)
        return "it names more chunks of the cache than a worker keeps";
    struct cw_wcache_key *key = cw_wcache_key(w, m->cache, m->tenant, hash);
    if (m->reset)
        remove_others(w, key, m);
    add_chunks(key, m);
    if (key->dataset && m->n_removed > 0)
        cw_cache_dataset_remove(key->dataset, (const char *const *)m->removed, m->n_removed);
    for (size_t i = 0; i < m->n_removed; i++)
        (void)cw_strmap_remove(&key->chunks, m->removed[i]);
    cw_log_debug("worker", "cache %s: %zu chunks", key->name, key->chunks.n);
    return NULL;
}

/* ---- use ---- */

struct cw_cache_dataset *cw_wcache_key_use(struct cw_worker_state *w, struct cw_wcache_key *key,
                                           const struct cw_spec *spec)
{
    key->jobs_n++;
    if (key->dataset)
        return key->dataset;
    key->dataset =
        cw_cache_dataset(cw_wcache_store_of(w, key->cache_id)->cache, key->tenant, key->key, spec);
    struct names all = {0};
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&key->chunks, &i, &name, &value);)
        names_add(&all, name);
    if (all.n > 0)
        cw_cache_dataset_add(key->dataset, all.v, all.n);
    cw_mem_free(all.v);
    return key->dataset;
}

void cw_wcache_key_leave(struct cw_wcache_key *key)
{
    key->jobs_n--;
    key->unused_ms = cw_clock_ms();
}

static void release_dataset(struct cw_wcache_key *key)
{
    if (!key->dataset)
        return;
    struct cw_cache_counts now;
    cw_cache_counts(key->dataset, &now);
    add_counts(&key->before, &now);
    key->dataset = cw_cache_dataset_unref(key->dataset);
}

void cw_wcache_keys_release_datasets(struct cw_worker_state *w, int64_t unused_since_ms)
{
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&w->cache.keys, &i, &name, &value);) {
        struct cw_wcache_key *key = value;
        if (key->jobs_n == 0 && key->unused_ms < unused_since_ms)
            release_dataset(key);
    }
}

void cw_wcache_keys_retire(struct cw_worker_state *w, uint64_t cache_id)
{
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&w->cache.keys, &i, &name, &value);) {
        struct cw_wcache_key *key = value;
        if (key->cache_id != cache_id)
            continue;
        release_dataset(key);
        key->before.records = key->before.chunks = 0;
        cw_strmap_fini(&key->chunks);
        key->chunks = (struct cw_strmap){0};
    }
}

void cw_wcache_keys_fini(struct cw_worker_state *w)
{
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&w->cache.keys, &i, &name, &value);)
        key_free(value);
    cw_strmap_fini(&w->cache.keys);
}
