/* SPDX-License-Identifier: Apache-2.0 */
/* What tools ask about the cache. Evictions and listings are answered when the store has done
 * them. */
#include "dispatcher/admin/admin_int.h"
#include "dispatcher/cache/cache.h"

#include <stddef.h>
#include <string.h>

struct cache_call { /* A call that is answered when the store is done. */
    struct cw_cache_waiter waiter;
    struct cw_call *call;
};

static struct cache_call *call_of(struct cw_cache_waiter *waiter)
{
    return (struct cache_call *)(void *)((char *)waiter - offsetof(struct cache_call, waiter));
}

static struct cache_call *cache_call_new(struct cw_call *call,
                                         void (*done)(struct cw_cache_waiter *waiter))
{
    struct cache_call *waiting = CW_NEW(struct cache_call);
    waiting->call = call;
    waiting->waiter.left = 1;
    waiting->waiter.done = done;
    return waiting;
}

struct cw_cache_service *cw_svc_find_cache(struct cw_dispatcher *d, struct cw_call *call,
                                           const char *name)
{
    struct cw_cache_service *cache = cw_cache_find(d, name);
    const char *own = cw_access_tenant_of(cw_call_caller(call));
    if (cache && own && cache->tenant[0] != '\0' && strcmp(cache->tenant, own) != 0)
        cache = NULL;  /* Nobody learns which caches others have. */
    if (d->stopping) { /* The call would wait for an answer that never comes. */
        cw_call_fail(call, CW_E_UNAVAILABLE, "the dispatcher is stopping");
        return NULL;
    }
    if (cache)
        return cache;
    cw_autofree char *msg = cw_mem_printf("there is no cache \"%.300s\"", name);
    if (name[0] == '\0' || strcmp(name, "default") == 0)
        cw_call_fail(call, CW_E_STATE, "the dispatcher has no cache: start it with --cache-store");
    else
        cw_call_fail(call, CW_E_NOT_FOUND, msg);
    return NULL;
}

static bool fits(const struct cw_catalogue_key *key, const char *prefix, const char *tenant)
{
    return (key->chunks_n > 0 || key->pinned) && cw_str_starts(key->text, prefix) &&
           (tenant[0] == '\0' || strcmp(tenant, key->tenant->name) == 0);
}

/* Returns the only key that begins with the prefix; NULL after failing the call. */
static struct cw_catalogue_key *find_key(struct cw_cache_service *cache, struct cw_call *call,
                                         const char *prefix, const char *tenant)
{
    struct cw_catalogue_key *found = NULL;
    size_t n = 0;
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&cache->catalogue->keys, &i, &name, &value);) {
        if (fits(value, prefix, tenant)) {
            found = value;
            n++;
        }
    }
    if (n == 1)
        return found;
    cw_autofree char *msg =
        n == 0 ? cw_mem_printf("the cache has no key that begins with \"%.40s\"", prefix)
               : cw_mem_printf("%zu keys begin with \"%.40s\": give more of it, or the tenant", n,
                               prefix);
    cw_call_fail(call, n == 0 ? CW_E_NOT_FOUND : CW_E_INVALID, msg);
    return NULL;
}

/* ---- list ---- */

static Cachew__V1__CacheChunkRow **chunk_rows(const struct cw_catalogue_key *key)
{
    char *block = cw_mem_new_array(key->chunks_n + 1, sizeof(Cachew__V1__CacheChunkRow *) +
                                                          sizeof(Cachew__V1__CacheChunkRow));
    Cachew__V1__CacheChunkRow **list = (Cachew__V1__CacheChunkRow **)(void *)block;
    Cachew__V1__CacheChunkRow *rows =
        (Cachew__V1__CacheChunkRow *)(void *)(block + (key->chunks_n + 1) * sizeof(*list));
    size_t n = 0;
    for (const struct cw_catalogue_chunk *chunk = key->first; chunk; chunk = chunk->next, n++) {
        cachew__v1__cache_chunk_row__init(&rows[n]);
        rows[n].name = (char *)(uintptr_t)chunk->name;
        rows[n].records = chunk->records;
        rows[n].bytes = chunk->bytes;
        rows[n].created_ms = chunk->created_ms;
        rows[n].used_ms = CW_MAX(chunk->created_ms, key->used_ms);
        list[n] = &rows[n];
    }
    return list;
}

static void fill_row(struct cw_catalogue_key *key, bool chunks, Cachew__V1__CacheRow *row)
{
    cachew__v1__cache_row__init(row);
    row->tenant = key->tenant->name;
    row->key = key->text;
    row->pipeline = key->pipeline;
    row->node = key->node;
    row->op = key->op;
    row->chunks = key->chunks_n;
    row->records = key->records;
    row->bytes = key->bytes;
    row->ids = key->ids;
    row->hits = key->hits;
    row->saved_ns = key->saved_ns;
    if (key->cost_records > 0)
        row->cost_ns =
            (uint64_t)((double)key->cost_ns / (double)key->cost_records * (double)key->records);
    row->created_ms = key->created_ms;
    row->used_ms = key->used_ms;
    row->pinned = key->pinned;
    row->readers = key->readers;
    if (chunks) {
        row->chunk = chunk_rows(key);
        row->n_chunk = key->chunks_n;
    }
}

static Cachew__V1__CacheTenant **tenant_rows(const struct cw_catalogue *catalogue, const char *own,
                                             size_t *ret_n)
{
    size_t max = catalogue->tenants.n, n = 0;
    char *block = cw_mem_new_array(max + 1, sizeof(Cachew__V1__CacheTenant *) +
                                                sizeof(Cachew__V1__CacheTenant));
    Cachew__V1__CacheTenant **list = (Cachew__V1__CacheTenant **)(void *)block;
    Cachew__V1__CacheTenant *rows =
        (Cachew__V1__CacheTenant *)(void *)(block + (max + 1) * sizeof(*list));
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&catalogue->tenants, &i, &name, &value);) {
        struct cw_catalogue_tenant *tenant = value;
        if ((tenant->chunks_n == 0 && tenant->quota == 0) ||
            (own && strcmp(own, tenant->name) != 0))
            continue;
        cachew__v1__cache_tenant__init(&rows[n]);
        rows[n].tenant = tenant->name;
        rows[n].bytes = tenant->bytes;
        rows[n].quota = tenant->quota;
        rows[n].chunks = tenant->chunks_n;
        rows[n].full = tenant->full;
        list[n] = &rows[n];
        n++;
    }
    *ret_n = n;
    return list;
}

/* own: the only tenant that is told of; NULL: all. */
static void fill_reply(struct cw_cache_service *cache, const char *own,
                       Cachew__V1__CacheListReply *answer)
{
    const struct cw_catalogue *catalogue = cache->catalogue;
    answer->url = cache->url;
    answer->bytes = catalogue->bytes;
    answer->chunks = catalogue->chunks_n;
    answer->quota = catalogue->quota;
    answer->away = cache->unavailable;
    answer->why = cache->unavailable_why;
    answer->store_free = cache->store_free;
    answer->store_total = cache->store_total;
    answer->evicted = catalogue->evicted;
    answer->damaged = catalogue->damaged;
    answer->lost = cache->lost;
    answer->lost_why = cache->lost_why;
    answer->scanning = cache->scanning;
    answer->full = cache->full;
    answer->full_why = cache->full_why;
    answer->evict = (char *)(uintptr_t)catalogue->evict->name;
    answer->generation = cache->d->generation;
    answer->tenants = tenant_rows(catalogue, own, &answer->n_tenants);
}

static void list(struct cw_cache_service *cache, struct cw_call *call,
                 const Cachew__V1__CacheListRequest *request)
{
    const char *own = cw_access_tenant_of(cw_call_caller(call));
    cw_cache_count_readers(cache);
    size_t max = cache->catalogue->keys.n, n = 0;
    Cachew__V1__CacheRow *rows = CW_NEW_ARRAY(Cachew__V1__CacheRow, max + 1);
    Cachew__V1__CacheRow **list = CW_NEW_ARRAY(Cachew__V1__CacheRow *, max + 1);
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&cache->catalogue->keys, &i, &name, &value);) {
        if (!fits(value, request->key, own ? own : ""))
            continue;
        fill_row(value, request->chunks, &rows[n]);
        list[n] = &rows[n];
        n++;
    }
    Cachew__V1__CacheListReply answer = CACHEW__V1__CACHE_LIST_REPLY__INIT;
    fill_reply(cache, own, &answer);
    answer.rows = list;
    answer.n_rows = n;
    cw_svc_reply(call, &answer.base);
    for (size_t i = 0; i < n; i++)
        cw_mem_free(rows[i].chunk);
    cw_mem_free(answer.tenants);
    cw_mem_free(list);
    cw_mem_free(rows);
}

static void handle_list(void *arg, struct cw_call *call, struct cw_rpc_msg *message)
{
    ProtobufCMessage *unpacked =
        cw_svc_unpack(&cachew__v1__cache_list_request__descriptor, call, message);
    if (!unpacked)
        return;
    const Cachew__V1__CacheListRequest *request = (const Cachew__V1__CacheListRequest *)unpacked;
    struct cw_cache_service *cache = cw_svc_find_cache(arg, call, request->cache);
    if (cache)
        list(cache, call, request);
    protobuf_c_message_free_unpacked(unpacked, NULL);
}

/* ---- scan ---- */

static void on_listed(struct cw_cache_waiter *waiter)
{
    struct cache_call *waiting = call_of(waiter);
    if (waiter->rc != 0) {
        cw_call_fail(waiting->call, waiter->rc, waiter->why);
    } else {
        Cachew__V1__CacheScanReply answer = CACHEW__V1__CACHE_SCAN_REPLY__INIT;
        answer.chunks = waiter->chunks;
        answer.bytes = waiter->bytes;
        answer.added = waiter->added;
        answer.removed = waiter->removed;
        cw_svc_reply(waiting->call, &answer.base);
    }
    cw_mem_free(waiting);
}

static void handle_scan(void *arg, struct cw_call *call, struct cw_rpc_msg *message)
{
    ProtobufCMessage *unpacked =
        cw_svc_unpack(&cachew__v1__cache_scan_request__descriptor, call, message);
    if (!unpacked)
        return;
    struct cw_cache_service *cache =
        cw_svc_find_cache(arg, call, ((const Cachew__V1__CacheScanRequest *)unpacked)->cache);
    protobuf_c_message_free_unpacked(unpacked, NULL);
    if (!cache)
        return;
    struct cw_cache_waiter *waiter = &cache_call_new(call, on_listed)->waiter;
    /* A listing that is going on may have passed what the caller has just changed, so the call
     * waits for the next one. */
    waiter->scan = cache->catalogue->scan + 1;
    waiter->next = cache->scan_waiters;
    cache->scan_waiters = waiter;
    cw_cache_list(cache);
}

/* ---- evict ---- */

static void reply_evicted(struct cw_call *call, uint64_t chunks, uint64_t bytes)
{
    Cachew__V1__CacheEvictReply answer = CACHEW__V1__CACHE_EVICT_REPLY__INIT;
    answer.chunks = chunks;
    answer.bytes = bytes;
    cw_svc_reply(call, &answer.base);
}

static void on_evicted(struct cw_cache_waiter *waiter)
{
    struct cache_call *waiting = call_of(waiter);
    if (waiter->rc != 0) {
        cw_call_fail(waiting->call, waiter->rc, waiter->why);
    } else {
        reply_evicted(waiting->call, waiter->chunks, waiter->bytes);
    }
    cw_mem_free(waiting);
}

static void evict(struct cw_cache_service *cache, struct cw_call *call,
                  const struct cw_catalogue_pick *pick)
{
    struct cw_cache_waiter *waiter = &cache_call_new(call, on_evicted)->waiter;
    struct cw_catalogue_chunk **chunks;
    cw_cache_count_readers(cache);
    size_t n = cw_catalogue_pick(cache->catalogue, pick, &chunks);
    /* The count is one too high until all deletions have begun, so that the waiter does not end
     * before that. */
    waiter->left += n;
    for (size_t i = 0; i < n; i++) {
        waiter->chunks++;
        waiter->bytes += chunks[i]->bytes;
        cache->catalogue->evicted++;
        cw_cache_delete_chunk(cache, chunks[i], waiter);
    }
    cw_mem_free(chunks);
    cache->due.quotas = true; /* The change may have made space, so quotas are checked again. */
    cache->quota_ms = 0;
    cw_log_info(CW_LOG_MOD, "cache: %zu chunks (%llu bytes) are evicted on request", n,
                (unsigned long long)waiter->bytes);
    cw_cache_waiter_done(waiter, 0, "");
}

/* Finds the tenant to whose things a request is restricted; "": all. NULL after failing the call. */
static const char *tenant_asked(struct cw_call *call, const char *asked)
{
    const char *own = cw_access_tenant_of(cw_call_caller(call));
    if (asked[0] == '\0' || cw_access_sees_tenant(cw_call_caller(call), asked))
        return own ? own : asked;
    cw_call_fail(call, CW_E_DENIED, "the token that was shown is another tenant's");
    return NULL;
}

static void evict_asked(struct cw_cache_service *cache, struct cw_call *call,
                        const Cachew__V1__CacheEvictRequest *request,
                        struct cw_catalogue_pick *pick)
{
    const char *tenant = tenant_asked(call, request->tenant);
    if (!tenant)
        return;
    if (request->key[0] != '\0') {
        pick->key = find_key(cache, call, request->key, tenant);
        if (pick->key && pick->key->pinned)
            cw_call_fail(call, CW_E_STATE, "it is pinned: unpin it first");
        else if (pick->key)
            evict(cache, call, pick);
        return;
    }
    if (tenant[0] != '\0')
        pick->tenant = cw_strmap_get(&cache->catalogue->tenants, tenant);
    if (tenant[0] != '\0' && !pick->tenant)
        reply_evicted(call, 0, 0); /* It has nothing in the cache. */
    else
        evict(cache, call, pick);
}

static void handle_evict(void *arg, struct cw_call *call, struct cw_rpc_msg *message)
{
    ProtobufCMessage *unpacked =
        cw_svc_unpack(&cachew__v1__cache_evict_request__descriptor, call, message);
    if (!unpacked)
        return;
    const Cachew__V1__CacheEvictRequest *request = (const Cachew__V1__CacheEvictRequest *)unpacked;
    struct cw_cache_service *cache = cw_svc_find_cache(arg, call, request->cache);
    struct cw_catalogue_pick pick = {
        .all = request->all, .bytes = request->bytes, .young = true, .wall_ms = cw_clock_wall_ms()};
    bool by_key = request->key[0] != '\0';
    struct cw_err err = {0};
    if (!cache) {
        protobuf_c_message_free_unpacked(unpacked, NULL);
        return;
    }
    if (by_key + (request->all != 0) + (request->bytes > 0) != 1) {
        cw_call_fail(call, CW_E_INVALID, "what is to be evicted? a key, all, or a number of bytes");
    } else if (cw_name_check_tenant(request->tenant, &err) != 0) {
        cw_call_fail(call, err.code, err.msg);
    } else if (cache->unavailable) {
        cw_autofree char *msg =
            cw_mem_printf("the cache's store is unavailable: %s", cache->unavailable_why);
        cw_call_fail(call, CW_E_UNAVAILABLE, msg);
    } else {
        evict_asked(cache, call, request, &pick);
    }
    protobuf_c_message_free_unpacked(unpacked, NULL);
}

/* ---- pin ---- */

static void pin(struct cw_cache_service *cache, struct cw_call *call, struct cw_catalogue_key *key,
                bool pinned)
{
    key->pinned = pinned;
    cw_cache_store_key(cache, key);
    cache->due.quotas = true;
    cache->quota_ms = 0;
    cw_catalogue_mark_dirty(key); /* The row is then dropped if nothing is left of the key. */
    Cachew__V1__CachePinReply answer = CACHEW__V1__CACHE_PIN_REPLY__INIT;
    answer.keys = 1;
    cw_svc_reply_stored(cache->d, call, &answer.base);
}

static void handle_pin(void *arg, struct cw_call *call, struct cw_rpc_msg *message)
{
    ProtobufCMessage *unpacked =
        cw_svc_unpack(&cachew__v1__cache_pin_request__descriptor, call, message);
    if (!unpacked)
        return;
    const Cachew__V1__CachePinRequest *request = (const Cachew__V1__CachePinRequest *)unpacked;
    struct cw_cache_service *cache = cw_svc_find_cache(arg, call, request->cache);
    const char *tenant = cache ? tenant_asked(call, request->tenant) : NULL;
    struct cw_catalogue_key *key = tenant ? find_key(cache, call, request->key, tenant) : NULL;
    if (key)
        pin(cache, call, key, request->pin != 0);
    protobuf_c_message_free_unpacked(unpacked, NULL);
}

void cw_svc_cache_add(struct cw_dispatcher *d)
{
    const struct cw_method methods[] = {
        {"/cachew.v1.Admin/CacheList", handle_list, NULL, d},
        {"/cachew.v1.Admin/CacheScan", handle_scan, NULL, d},
        {"/cachew.v1.Admin/CacheEvict", handle_evict, NULL, d},
        {"/cachew.v1.Admin/CachePin", handle_pin, NULL, d},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(methods); i++)
        cw_server_add(d->server, &methods[i]);
}
