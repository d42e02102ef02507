/* SPDX-License-Identifier: Apache-2.0 */
/* What workers report of the cache. Their reports are trusted, except for names, since those name
 * files that will be deleted one day. */
#include "dispatcher/access/access.h"
#include "dispatcher/cache/cache_int.h"

#include <stdio.h>
#include <string.h>

#define GONE_FEW 16 /* If more chunks than this are reported missing, the store is listed again. */
/* A worker may report a chunk missing so long after another has written it anew. */
#define GONE_LATE_MS 60000
#define LOST_LOG_MS 10000

static const Cachew__V1__Cacheable *find_node(const struct cw_job *job, const char *node)
{
    for (size_t i = 0; job && job->info && i < job->info->n_cacheable; i++) {
        if (strcmp(job->info->cacheable[i]->node, node) == 0)
            return job->info->cacheable[i];
    }
    return NULL;
}

static const char *pipeline_of(const struct cw_job *job)
{
    if (job->graph->name && job->graph->name[0] != '\0')
        return job->graph->name;
    return job->name[0] != '\0' ? job->name : job->id;
}

static void set_builder(struct cw_cache_service *cache, struct cw_catalogue_key *key,
                        const Cachew__V1__CacheEvent *event)
{
    const struct cw_job *job = cw_strmap_get(&cache->d->jobs_by_id, event->job_id);
    const Cachew__V1__Cacheable *node = find_node(job, event->node);
    if (node)
        cw_catalogue_set_builder(key, pipeline_of(job), node->node, node->op, node->ids);
}

static void on_written(struct cw_cache_service *cache, const Cachew__V1__CacheEvent *event)
{
    struct cw_catalogue *catalogue = cache->catalogue;
    /* The chunk may be reported again, by another worker or after a reconnect. Its cost was counted
     * then. */
    bool known = cw_catalogue_chunk(catalogue, event->name) != NULL;
    if (cw_cache_is_pending_delete(cache, event->name, true))
        return;
    struct cw_catalogue_chunk *chunk =
        cw_catalogue_put(catalogue, event->name, event->bytes, cw_clock_wall_ms());
    if (!chunk) {
        cw_log_warn(CW_LOG_MOD, "a worker wrote \"%.200s\", which is no chunk's name", event->name);
        return;
    }
    struct cw_catalogue_key *key = chunk->key;
    set_builder(cache, key, event);
    if (!known && event->cost_ns > 0 && event->records > 0) {
        key->cost_ns += event->cost_ns;
        key->cost_records += event->records;
    }
    cw_catalogue_mark_dirty(key);
    cache->due.quotas = true;
    /* It may have been known by the first report, and evicted since: only the store knows. */
    if (!known && event->again)
        cw_cache_io_look(cache->store, chunk->name);
}

/* A worker has not found the chunk. If the chunk is young, the worker may have looked for it before
 * it was written, since two workers' reports arrive in any order: only the store knows. */
static void on_gone(struct cw_cache_service *cache, struct cw_catalogue_chunk *chunk)
{
    if (!chunk)
        return;
    cache->catalogue->gone++;
    cache->gone_since_scan++;
    if (cache->gone_since_scan > GONE_FEW)
        cache->due.listing = true;
    if (cw_clock_wall_ms() - chunk->created_ms < GONE_LATE_MS)
        cw_cache_io_look(cache->store, chunk->name);
    else
        cw_catalogue_remove(chunk);
}

static void on_bad(struct cw_cache_service *cache, const struct cw_worker *worker,
                   const Cachew__V1__CacheEvent *event)
{
    struct cw_catalogue *catalogue = cache->catalogue;
    struct cw_catalogue_chunk *chunk = cw_catalogue_chunk(catalogue, event->name);
    struct cw_chunk_name parts;
    if (event->kind == CACHEW__V1__CACHE_EVENT__KIND__GONE) {
        on_gone(cache, chunk);
        return;
    }
    if (cw_cache_is_pending_delete(cache, event->name, false) ||
        !cw_chunk_name_parse(event->name, &parts))
        return;
    catalogue->damaged++;
    cw_log_warn(CW_LOG_MOD, "chunk %s is damaged, it is deleted: %s (worker %s)", event->name,
                event->why, worker->address);
    if (chunk)
        cw_cache_delete_chunk(cache, chunk, NULL);
    else
        cw_cache_delete_name(cache, event->name, NULL);
}

static void on_counts(struct cw_cache_service *cache, const struct cw_worker *worker,
                      const Cachew__V1__CacheCounts *counts)
{
    struct cw_hash hash;
    if (!cw_wire_hash_from(counts->key, &hash) || cw_name_check_tenant(counts->tenant, NULL) != 0)
        return;
    if (cw_access_job_of(worker->caller) && !cw_access_sees_tenant(worker->caller, counts->tenant))
        return;
    struct cw_catalogue_key *key = cw_catalogue_find(cache->catalogue, counts->tenant, hash);
    if (!key)
        return;
    const struct cw_catalogue_totals totals = {counts->hits, counts->misses, counts->lost,
                                               cw_clock_ms()};
    cache->lost += cw_catalogue_count(key, worker->id, &totals, worker->counted_before);
}

/* Everybody who may see the cache is shown this. */
static void note_store(struct cw_cache_service *cache, const struct cw_worker *worker,
                       const Cachew__V1__StoreState *state)
{
    if (state->lost_why[0] != '\0')
        snprintf(cache->lost_why, sizeof(cache->lost_why), "%s", state->lost_why);
    char *was_away = cw_map_remove(&cache->away, worker->id);
    if (state->away)
        (void)cw_map_set(&cache->away, worker->id, cw_mem_strdup(state->why));
    if (state->away && !was_away)
        cw_log_warn(CW_LOG_MOD,
                    "worker=%s cannot reach the store of cache %s, it computes instead: %s",
                    worker->address, cache->name, state->why);
    else if (!state->away && was_away)
        cw_log_info(CW_LOG_MOD, "worker=%s can reach the store of cache %s again", worker->address,
                    cache->name);
    cw_mem_free(was_away);
}

static void on_store(struct cw_cache_service *cache, struct cw_worker *worker,
                     const Cachew__V1__StoreState *state)
{
    /* A worker of one job runs on its tenant's host, who could have others read anything here. */
    if (!cw_access_job_of(worker->caller))
        note_store(cache, worker, state);
    if (cache->id != 0)
        return;
    if (worker->store_state)
        cachew__v1__store_state__free_unpacked(worker->store_state, NULL);
    struct cw_buf *packed = cw_wire_pack(&state->base);
    worker->store_state = cachew__v1__store_state__unpack(NULL, packed->len, packed->data);
    cw_buf_unref(packed);
}

/* Whether the worker may report of a chunk: that of one job only of its tenant's. */
static bool may_report(const struct cw_worker *worker, const char *chunk)
{
    struct cw_chunk_name parts;
    return !worker->caller || !cw_access_job_of(worker->caller) ||
           (cw_chunk_name_parse(chunk, &parts) &&
            cw_access_sees_tenant(worker->caller, parts.tenant));
}

static void log_lost(struct cw_cache_service *cache)
{
    int64_t now = cw_clock_ms();
    if (cache->lost == cache->lost_logged || now < cache->lost_logged_ms + LOST_LOG_MS)
        return;
    cw_log_warn(CW_LOG_MOD, "%llu records were computed and could not be kept in the cache: %s",
                (unsigned long long)(cache->lost - cache->lost_logged),
                cache->lost_why[0] ? cache->lost_why : "their worker did not say why");
    cache->lost_logged = cache->lost;
    cache->lost_logged_ms = now;
}

void cw_cache_take_report(struct cw_worker *worker, const Cachew__V1__Progress *progress)
{
    struct cw_dispatcher *d = worker->d;
    struct cw_cache_service *cache;
    for (size_t i = 0; i < progress->n_cache_events; i++) {
        const Cachew__V1__CacheEvent *event = progress->cache_events[i];
        cache = cw_cache_by_id(d, event->cache);
        if (!cache || !may_report(worker, event->name))
            continue;
        if (event->kind == CACHEW__V1__CACHE_EVENT__KIND__WRITTEN)
            on_written(cache, event);
        else
            on_bad(cache, worker, event);
    }
    for (size_t i = 0; i < progress->n_cache; i++)
        if ((cache = cw_cache_by_id(d, progress->cache[i]->cache)) != NULL)
            on_counts(cache, worker, progress->cache[i]);
    if (progress->store && d->cache)
        on_store(d->cache, worker, progress->store);
    for (size_t i = 0; i < progress->n_named_stores; i++)
        if ((cache = cw_cache_by_id(d, progress->named_stores[i]->cache)) != NULL && cache->id != 0)
            on_store(cache, worker, progress->named_stores[i]);
    for (size_t i = 0; i < progress->n_caches_left; i++)
        cw_leaving_confirmed(worker, progress->caches_left[i]);
    for (cache = d->caches; cache; cache = cache->next)
        log_lost(cache);
    cw_fault_point("dispatcher.cache_event");
}
