/* SPDX-License-Identifier: Apache-2.0 */
/* Quotas: when a tenant, or all together, use 95 % of what they may (or another watermark of a named
 * cache), the policy says which chunks are evicted until 85 % are used. Chunks that running jobs read are evicted only as far as the
 * quota itself demands, since writing a chunk in the place of one that is needed as much would be
 * wasted work. When only such chunks are left, nothing more is written.
 *
 * An evicted chunk leaves the catalogue at once. Workers are notified at the end of the loop
 * iteration, and then its file is deleted. */
#include <stdio.h>
#include <string.h>

#include "dispatcher/cache/cache_int.h"

/* If the chunks could not be evicted, quotas are checked again after this time, when young chunks
 * are older. */
#define RETRY_MS 1000

/* So long after a deletion a worker may still report that it has written the file: the report was
 * late, or it was sent again because the dispatcher may not have got it (DELIVERED_MS of
 * worker/cache/cache_report.c). */
#define LATE_MS 60000

struct pending_delete {
    enum { DELETE_WAITS, DELETE_SENT, DELETE_DONE } state;
    bool written; /* A worker wrote the file again while it was being deleted. */
    int64_t done_ms;
    uint64_t scan; /* The listing that was going on when the file was deleted; 0: none. */
    struct cw_cache_waiter *waiter;
};

static uint64_t chunk_bytes(const struct cw_cache_service *cache)
{
    uint64_t chunk = cache->d->options.cache_chunk_bytes;
    return chunk > 0 ? chunk : (uint64_t)64 << 20;
}

uint64_t cw_cache_limit(const struct cw_cache_service *cache)
{
    uint64_t limit = cache->catalogue->quota > 0 ? cache->catalogue->quota : UINT64_MAX;
    if (cache->store_total == 0)
        return limit;
    /* The store may use what the disk has left, except the space of two chunks that may be under
     * way. */
    uint64_t under_way = 2 * chunk_bytes(cache);
    uint64_t has = cache->catalogue->bytes + cache->store_free;
    return CW_MIN(limit, has > under_way ? has - under_way : 0);
}

void cw_cache_waiter_done(struct cw_cache_waiter *waiter, int rc, const char *why)
{
    if (rc != 0 && waiter->rc == 0) {
        waiter->rc = rc;
        snprintf(waiter->why, sizeof(waiter->why), "%s", why);
    }
    if (--waiter->left == 0)
        waiter->done(waiter);
}

/* ---- pending deletes ---- */

void cw_cache_delete_name(struct cw_cache_service *cache, const char *name,
                          struct cw_cache_waiter *waiter)
{
    struct pending_delete *pending = CW_NEW(struct pending_delete);
    pending->waiter = waiter;
    struct pending_delete *old = cw_strmap_set(&cache->pending_deletes, name, pending);
    cw_mem_free(old); /* The file of the old entry is deleted already. */
    cache->pending_deletes_n++;
    cw_catalogue_names_add(&cache->unsent_deletes, name);
}

void cw_cache_delete_chunk(struct cw_cache_service *cache, struct cw_catalogue_chunk *chunk,
                           struct cw_cache_waiter *waiter)
{
    cw_cache_delete_name(cache, chunk->name, waiter);
    cw_catalogue_remove(chunk);
}

bool cw_cache_is_pending_delete(struct cw_cache_service *cache, const char *name, bool written)
{
    struct pending_delete *pending = cw_strmap_get(&cache->pending_deletes, name);
    if (!pending)
        return false;
    if (pending->state != DELETE_DONE) {
        pending->written = pending->written || written;
        return true;
    }
    if (written)
        cw_cache_io_look(cache->store, name);
    /* The listing that is going on may still contain the file. */
    return written || (cache->scanning && pending->scan == cache->catalogue->scan);
}

void cw_cache_send_deletes(struct cw_cache_service *cache)
{
    if (cache->unsent_deletes.n == 0 || cache->unavailable)
        return;
    cw_fault_point("dispatcher.before_evict");
    for (size_t i = 0; i < cache->unsent_deletes.n; i++) {
        struct pending_delete *pending =
            cw_strmap_get(&cache->pending_deletes, cache->unsent_deletes.v[i]);
        if (!pending || pending->state != DELETE_WAITS)
            continue;
        pending->state = DELETE_SENT;
        cw_cache_io_remove(cache->store, cache->unsent_deletes.v[i]);
    }
    cw_catalogue_names_clear(&cache->unsent_deletes);
}

void cw_cache_deleted(struct cw_cache_service *cache, const char *name, int rc, const char *why)
{
    struct pending_delete *pending = cw_strmap_get(&cache->pending_deletes, name);
    if (!pending || pending->state != DELETE_SENT)
        return;
    if (pending->waiter)
        cw_cache_waiter_done(pending->waiter, rc, why);
    pending->waiter = NULL;
    bool away = rc == CW_E_UNAVAILABLE || rc == CW_E_TIMEOUT;
    if (rc != 0 && !away) /* The next listing will contain the file again. */
        cw_log_warn(CW_LOG_MOD, "chunk %s cannot be deleted: %s", name, why);
    if (away) { /* The deletion is tried again when the store is available. */
        pending->state = DELETE_WAITS;
        cw_catalogue_names_add(&cache->unsent_deletes, name);
        return;
    }
    pending->state = DELETE_DONE;
    pending->done_ms = cw_clock_ms();
    pending->scan = cache->scanning ? cache->catalogue->scan : 0;
    cache->pending_deletes_n--;
    /* Only the store knows whether the file was written before or after it was deleted. */
    if (pending->written)
        cw_cache_io_look(cache->store, name);
}

void cw_cache_looked(struct cw_cache_service *cache, const char *name, int rc, uint64_t bytes)
{
    struct cw_catalogue_chunk *chunk = cw_catalogue_chunk(cache->catalogue, name);
    if (rc == CW_E_NOT_FOUND && chunk) {
        cw_catalogue_remove(chunk);
    } else if (rc == 0 && !chunk && !cw_cache_is_pending_delete(cache, name, false)) {
        chunk = cw_catalogue_put(cache->catalogue, name, bytes, cw_clock_wall_ms());
        if (chunk)
            cw_catalogue_mark_dirty(chunk->key);
        cache->due.quotas = true;
    } else if (rc != 0 && rc != CW_E_NOT_FOUND) {
        cache->due.listing = true;
    }
}

void cw_cache_answer_deletes(struct cw_cache_service *cache, int rc, const char *why)
{
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&cache->pending_deletes, &i, &name, &value);) {
        struct pending_delete *pending = value;
        if (pending->waiter)
            cw_cache_waiter_done(pending->waiter, rc, why);
        pending->waiter = NULL;
    }
}

void cw_cache_forget_deletes(struct cw_cache_service *cache, int64_t now_ms)
{
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&cache->pending_deletes, &i, &name, &value);) {
        struct pending_delete *pending = value;
        if (pending->state != DELETE_DONE || now_ms - pending->done_ms < LATE_MS)
            continue;
        cw_strmap_remove(&cache->pending_deletes, name);
        cw_mem_free(pending);
    }
}

/* ---- quotas ---- */

static void record(struct cw_cache_service *cache, const struct cw_catalogue_tenant *tenant,
                   size_t chunks, uint64_t freed, uint64_t bytes, uint64_t limit)
{
    CW_STR_AUTO inputs = {0};
    cw_str_add(&inputs, "{\"tenant\":");
    if (tenant)
        cw_str_add_json(&inputs, tenant->name, strlen(tenant->name));
    else
        cw_str_add(&inputs, "null");
    if (cache->id != 0) {
        cw_str_add(&inputs, ",\"cache\":");
        cw_str_add_json(&inputs, cache->name, strlen(cache->name));
    }
    cw_str_addf(&inputs, ",\"chunks\":%zu,\"freed\":%llu,\"bytes\":%llu,\"limit\":%llu}", chunks,
                (unsigned long long)freed, (unsigned long long)bytes, (unsigned long long)limit);
    cw_autofree char *choice = cw_mem_printf("%zu chunk%s, %llu bytes", chunks,
                                             chunks == 1 ? "" : "s", (unsigned long long)freed);
    cw_autofree char *reason =
        cw_mem_printf("%llu of %llu bytes %s%s were used: these are worth the least.",
                      (unsigned long long)bytes, (unsigned long long)limit,
                      tenant           ? "of tenant "
                      : cache->id != 0 ? "of cache "
                                       : "of the cache",
                      tenant           ? tenant->name
                      : cache->id != 0 ? cache->name
                                       : "");
    const struct cw_state_decision row = {.kind = "evict",
                                          .policy = cache->catalogue->evict->name,
                                          .choice = choice,
                                          .reason = reason,
                                          .inputs = cw_str_text(&inputs)};
    cw_decision_record(cache->d, NULL, &row);
}

static uint64_t evict(struct cw_cache_service *cache, const struct cw_catalogue_tenant *tenant,
                      uint64_t bytes, uint64_t limit)
{
    struct cw_catalogue *catalogue = cache->catalogue;
    const struct cw_catalogue_pick pick = {.tenant = tenant,
                                           .bytes = cw_catalogue_excess(catalogue, bytes, limit),
                                           .wall_ms = cw_clock_wall_ms()};
    struct cw_catalogue_chunk **chunks;
    uint64_t freed = 0;
    size_t n = cw_catalogue_pick(catalogue, &pick, &chunks), i = 0;
    for (; i < n && (chunks[i]->key->readers == 0 || bytes - freed > limit); i++) {
        freed += chunks[i]->bytes;
        catalogue->evicted++;
        cw_cache_delete_chunk(cache, chunks[i], NULL);
    }
    cw_mem_free(chunks);
    if (i > 0)
        record(cache, tenant, i, freed, bytes, limit);
    return freed;
}

/* Enforces one quota. Returns whether the cache is full: too much is used and cannot be evicted. */
static bool enforce(struct cw_cache_service *cache, const struct cw_catalogue_tenant *tenant,
                    uint64_t limit)
{
    const uint64_t *bytes = tenant ? &tenant->bytes : &cache->catalogue->bytes;
    if (limit == UINT64_MAX || cw_catalogue_excess(cache->catalogue, *bytes, limit) == 0)
        return false;
    cw_cache_count_readers(cache);
    evict(cache, tenant, *bytes, limit);
    return cw_catalogue_excess(cache->catalogue, *bytes, limit) > 0;
}

/* A limit of 0 is no quota, but a store without room for two chunks. Returns whether it is so. */
static bool set_no_room(struct cw_cache_service *cache, uint64_t limit)
{
    const bool was = cache->full_why[0] != '\0';
    CW_STR_AUTO chunk = {0};
    if (was == (limit == 0))
        return was;
    cache->full_why[0] = '\0';
    if (was)
        return false;
    cw_str_add_size(&chunk, (double)chunk_bytes(cache));
    snprintf(cache->full_why, sizeof(cache->full_why),
             "the store has no room for two chunks of %s (--cache-chunk-bytes)",
             cw_str_text(&chunk));
    cw_log_warn(CW_LOG_MOD, "cache %s: nothing is written: %s", cache->name, cache->full_why);
    return true;
}

/* is_told: the log has the reason already. */
static void set_full(bool *full, bool now, const char *tenant, bool is_told, bool *ret_changed)
{
    if (*full == now)
        return;
    *full = now;
    *ret_changed = true;
    if (now && !is_told)
        cw_log_info(CW_LOG_MOD,
                    "cache%s%s: full of what is pinned, new or in use: nothing more is written",
                    tenant ? " of tenant " : "", tenant ? tenant : "");
    else if (!now)
        cw_log_info(CW_LOG_MOD, "cache%s%s: there is room again", tenant ? " of tenant " : "",
                    tenant ? tenant : "");
}

void cw_cache_enforce_quotas(struct cw_cache_service *cache)
{
    struct cw_catalogue *catalogue = cache->catalogue;
    int64_t now = cw_clock_ms();
    if (!cache->due.quotas || now < cache->quota_ms)
        return;
    cache->due.quotas = false;
    bool changed = false, any_full = false;
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&catalogue->tenants, &i, &name, &value);) {
        struct cw_catalogue_tenant *tenant = value;
        bool full = tenant->quota > 0 && enforce(cache, tenant, tenant->quota);
        set_full(&tenant->full, full, tenant->name, false, &changed);
        any_full = any_full || full;
    }
    const uint64_t limit = cw_cache_limit(cache);
    bool full = enforce(cache, NULL, limit);
    full = set_no_room(cache, limit) || full;
    set_full(&cache->full, full, NULL, cache->full_why[0] != '\0', &changed);
    if (any_full || full) {
        cache->due.quotas = true;
        cache->quota_ms = now + RETRY_MS;
    }
    if (changed)
        cw_cache_jobs_changed(cache);
}
