/* SPDX-License-Identifier: Apache-2.0 */
/* Which cache a job has, and who uses a cache. A job names its cache; while no cache of that name is
 * attached, or it is another tenant's, the job has none. */
#include <string.h>

#include "dispatcher/cache/cache_int.h"

#define USER_GONE_MS 60000 /* A job whose client has been away for longer does not use its cache. */
#define USE_STORED_MS 10000

bool cw_cache_is_default(const char *name)
{
    return name[0] == '\0' || strcmp(name, "default") == 0;
}

struct cw_cache_service *cw_cache_find(const struct cw_dispatcher *d, const char *name)
{
    if (cw_cache_is_default(name))
        return d->cache;
    for (struct cw_cache_service *cache = d->caches; cache; cache = cache->next)
        if (strcmp(cache->name, name) == 0)
            return cache;
    return NULL;
}

struct cw_cache_service *cw_cache_by_id(const struct cw_dispatcher *d, uint64_t id)
{
    for (struct cw_cache_service *cache = d->caches; cache; cache = cache->next)
        if (cache->id == id)
            return cache;
    return NULL;
}

static bool may_use(const struct cw_cache_service *cache, const char *tenant)
{
    return cache->tenant[0] == '\0' ||
           strcmp(cache->tenant, tenant[0] != '\0' ? tenant : "default") == 0;
}

struct cw_cache_service *cw_cache_of_job(const struct cw_job *job)
{
    struct cw_cache_service *cache = cw_cache_find(job->d, job->options->cache);
    bool is_stored = cache && !cache->due_to_jobs;
    return is_stored && may_use(cache, cw_job_tenant(job)) ? cache : NULL;
}

bool cw_cache_is_closed(const struct cw_cache_service *cache)
{
    return cw_clock_ms() < cache->closed_until_ms;
}

int cw_cache_admits(const struct cw_dispatcher *d, const char *name, const char *tenant,
                    struct cw_err *err)
{
    if (cw_cache_is_default(name))
        return 0;
    const struct cw_cache_service *cache = cw_cache_find(d, name);
    /* Nobody learns which caches others have. */
    if (!cache || !may_use(cache, tenant))
        return cw_err_set(err, CW_E_STATE,
                          "there is no cache \"%s\" that tenant \"%s\" may use: cachew cache "
                          "describe shows those that there are",
                          name, tenant[0] != '\0' ? tenant : "default");
    if (cw_cache_is_closed(cache))
        return cw_err_set(err, CW_E_UNAVAILABLE,
                          "cache \"%s\" is closed, since it is about to be detached", name);
    return 0;
}

/* ---- use ---- */

bool cw_cache_is_user(const struct cw_cache_service *cache, const struct cw_job *job,
                      int64_t now_ms)
{
    bool alive = job->status == CW_JOB_PREPARING || job->status == CW_JOB_RUNNING;
    return job->cache == cache && alive &&
           (job->no_client_ms == 0 || now_ms - job->no_client_ms < USER_GONE_MS);
}

static bool is_used(const struct cw_cache_service *cache)
{
    int64_t now = cw_clock_ms();
    for (const struct cw_job *job = cache->d->jobs; job; job = job->next)
        if (cw_cache_is_user(cache, job, now))
            return true;
    return false;
}

int64_t cw_cache_last_use(struct cw_cache_service *cache)
{
    if (is_used(cache))
        cache->used_ms = cw_clock_wall_ms();
    return cache->used_ms;
}

void cw_cache_used_again(struct cw_job *job)
{
    if (!job->cache)
        return;
    job->cache->closed_until_ms = 0;
    job->cache->used_ms = cw_clock_wall_ms();
}

/* ---- rows of state.db ---- */

struct cw_state_cache cw_cache_row(const struct cw_cache_service *cache)
{
    return (struct cw_state_cache){.id = cache->id,
                                   .name = cache->name,
                                   .url = cache->url,
                                   .tenant = cache->tenant,
                                   .quota = cache->catalogue->quota,
                                   .source_quota = cache->source_quota,
                                   .high = (double)cache->catalogue->high,
                                   .low = (double)cache->catalogue->low,
                                   .created_ms = cache->created_ms,
                                   .used_ms = cache->used_ms};
}

void cw_cache_store_row(struct cw_cache_service *cache)
{
    const struct cw_state_cache row = cw_cache_row(cache);
    cache->used_stored_ms = cache->used_ms;
    cw_state_put_cache(cache->d->state, &row);
}

void cw_cache_store_use(struct cw_cache_service *cache, bool now)
{
    int64_t later = cw_cache_last_use(cache) - cache->used_stored_ms;
    if (cache->id == 0)
        return; /* It has no row. */
    if (later > (now ? 0 : USE_STORED_MS))
        cw_cache_store_row(cache);
}
