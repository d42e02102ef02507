/* SPDX-License-Identifier: Apache-2.0 */
/* How jobs use the cache: at operators `cache`, and at the node that a policy chose. They always
 * read; they write while there is space. */
#include "dispatcher/cache/cache_int.h"
#include "dispatcher/message/message.h"

#include <string.h>

/* Which nodes there are to be cached at, in the order that cached_node is meant in. A plan of which no worker
 * has told its keys yet uses those caches that the pipeline asks for. */
static const Cachew__V1__PlanInfo *info_of(const struct cw_job *job, bool *ret_told)
{
    bool of_plan = job->plan.decides_cache && job->plan.graph;
    *ret_told = !of_plan || job->plan.info;
    return of_plan && job->plan.info ? job->plan.info : job->info;
}

static bool is_used(const struct cw_job *job, bool told, const Cachew__V1__Cacheable *node,
                    struct cw_hash *ret_key)
{
    bool chosen = told && job->cached_node && strcmp(job->cached_node, node->node) == 0;
    bool wanted = node->asked || chosen;
    return wanted && node->why_not[0] == '\0' && cw_wire_hash_from(node->key, ret_key);
}

/* Returns how the job should use the cache now. */
static struct cw_cache_use *compute_uses(struct cw_job *job, size_t *ret_n)
{
    struct cw_cache_service *cache = job->cache;
    bool told = false;
    const Cachew__V1__PlanInfo *info = info_of(job, &told);
    struct cw_cache_use *uses = CW_NEW_ARRAY(struct cw_cache_use, info->n_cacheable + 1);
    size_t n = 0;
    for (size_t i = 0; cache && i < info->n_cacheable; i++) {
        struct cw_hash hash;
        if (!is_used(job, told, info->cacheable[i], &hash))
            continue;
        struct cw_catalogue_key *key = cw_catalogue_key(cache->catalogue, cw_job_tenant(job), hash);
        bool room = !cache->unavailable && !cache->full && !key->tenant->full;
        uses[n++] = (struct cw_cache_use){.node = cw_mem_strdup(info->cacheable[i]->node),
                                          .key = key,
                                          .read = true,
                                          .write = room};
    }
    *ret_n = n;
    return uses;
}

static bool is_equal(const struct cw_job *job, const struct cw_cache_use *uses, size_t n)
{
    if (n != job->cache_uses_n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct cw_cache_use *a = &job->cache_uses[i], *b = &uses[i];
        if (strcmp(a->node, b->node) != 0 || a->key != b->key || a->read != b->read ||
            a->write != b->write)
            return false;
    }
    return true;
}

static void set_uses(struct cw_job *job, struct cw_cache_use *uses, size_t n)
{
    for (size_t i = 0; i < n; i++)
        uses[i].key->holders++;
    for (size_t i = 0; i < job->cache_uses_n; i++) {
        job->cache_uses[i].key->holders--;
        cw_mem_free(job->cache_uses[i].node);
    }
    cw_mem_free(job->cache_uses);
    job->cache_uses = uses;
    job->cache_uses_n = n;
}

Cachew__V1__CacheStore *cw_job_cache_store(const struct cw_job *job, Cachew__V1__CacheStore *store)
{
    const struct cw_cache_service *cache = job->cache;
    if (cache == job->d->cache)
        return NULL;
    cachew__v1__cache_store__init(store);
    if (!cache)
        return store;
    store->url = cache->url;
    store->chunk_bytes = job->d->options.cache_chunk_bytes;
    store->level = job->d->options.cache_level;
    store->source_bytes = cache->source_quota;
    store->id = cache->id;
    store->name = cache->name;
    return store;
}

Cachew__V1__CacheUse **cw_job_cache_uses(const struct cw_job *job, const struct cw_worker *worker,
                                         size_t *ret_n)
{
    struct item {
        Cachew__V1__CacheUse use;
        uint8_t key[CW_WIRE_HASH_BYTES];
    };
    size_t n = cw_cache_is_known_to(job->cache, worker) ? job->cache_uses_n : 0;
    char *block = cw_mem_new_array(n + 1, sizeof(Cachew__V1__CacheUse *) + sizeof(struct item));
    Cachew__V1__CacheUse **list = (Cachew__V1__CacheUse **)(void *)block;
    struct item *items = (struct item *)(void *)(block + (n + 1) * sizeof(Cachew__V1__CacheUse *));
    for (size_t i = 0; i < n; i++) {
        struct item *item = &items[i];
        cachew__v1__cache_use__init(&item->use);
        cw_wire_hash_to(job->cache_uses[i].key->key, item->key);
        item->use.node = job->cache_uses[i].node;
        item->use.read = job->cache_uses[i].read;
        item->use.write = job->cache_uses[i].write;
        item->use.key = (ProtobufCBinaryData){sizeof(item->key), item->key};
        list[i] = &item->use;
    }
    *ret_n = n;
    return list;
}

static void send_plans(struct cw_job *job)
{
    Cachew__V1__CachePlan plan = CACHEW__V1__CACHE_PLAN__INIT;
    Cachew__V1__CacheStore store;
    plan.job_id = job->id;
    plan.store = cw_job_cache_store(job, &store);
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_CACHE_PLAN;
    command.cache_plan = &plan;
    for (struct cw_share *share = job->shares; share; share = share->next_of_job) {
        if (!share->spec_sent)
            continue;
        cw_cache_subscribe(share);
        plan.cache = cw_job_cache_uses(job, share->worker, &plan.n_cache);
        cw_worker_send(share->worker, &command);
        cw_mem_free(plan.cache);
        cw_cache_unsubscribe(share->worker);
    }
}

void cw_job_cache_changed(struct cw_job *job)
{
    if (!job->info)
        return;
    size_t n = 0;
    struct cw_cache_use *uses = compute_uses(job, &n);
    bool same = is_equal(job, uses, n);
    set_uses(job, uses, n);
    if (!same)
        send_plans(job);
}

void cw_job_set_cache(struct cw_job *job, struct cw_cache_service *cache)
{
    if (job->cache == cache)
        return;
    job->cache = cache;
    if (!job->info)
        return;
    size_t n = 0;
    struct cw_cache_use *uses = compute_uses(job, &n);
    set_uses(job, uses, n);
    send_plans(job);
}

void cw_job_set_cached_node(struct cw_job *job, const char *node)
{
    if (cw_str_eq(job->cached_node, node))
        return;
    cw_mem_free(job->cached_node);
    job->cached_node = cw_mem_strdup(node);
    cw_job_cache_changed(job);
}

void cw_job_cache_fini(struct cw_job *job)
{
    if (job->cache && cw_cache_is_user(job->cache, job, cw_clock_ms()))
        job->cache->used_ms = cw_clock_wall_ms();
    set_uses(job, NULL, 0);
    cw_mem_free(cw_steal(&job->cached_node));
}

void cw_cache_jobs_changed(struct cw_cache_service *cache)
{
    for (struct cw_job *job = cache->d->jobs; job; job = job->next)
        if (job->cache == cache)
            cw_job_cache_changed(job);
}

void cw_cache_count_readers(struct cw_cache_service *cache)
{
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&cache->catalogue->keys, &i, &name, &value);)
        ((struct cw_catalogue_key *)value)->readers = 0;
    for (const struct cw_job *job = cache->d->jobs; job; job = job->next) {
        bool runs = job->status == CW_JOB_RUNNING && job->no_client_ms == 0;
        for (size_t i = 0; runs && job->cache == cache && i < job->cache_uses_n; i++)
            job->cache_uses[i].key->readers++;
    }
}
