/* SPDX-License-Identifier: Apache-2.0 */
/* Caches are attached and detached while the dispatcher runs, and loaded from state.db; also what was
 * warmed into them. */
#include <string.h>

#include "base/name.h"
#include "cache/store/store.h"
#include "dispatcher/cache/cache_int.h"

#define CACHES_MAX 1000

void cw_cache_load(struct cw_dispatcher *d, const struct cw_state_cache *row)
{
    d->last_cache_id = CW_MAX(d->last_cache_id, row->id);
    if (row->leaving || row->gone)
        cw_leaving_begin(d, row);
    else
        (void)cw_cache_new_named(d, row);
}

static struct cw_cache_source *source_of(struct cw_cache_service *cache, const char *name)
{
    struct cw_cache_source **at = &cache->sources;
    while (*at && strcmp((*at)->source, name) != 0)
        at = &(*at)->next;
    if (!*at) {
        *at = CW_NEW(struct cw_cache_source);
        (*at)->source = cw_mem_strdup(name);
    }
    return *at;
}

void cw_cache_load_source(struct cw_dispatcher *d, const struct cw_state_cache_source *row)
{
    struct cw_cache_service *cache = cw_cache_by_id(d, row->cache);
    if (!cache)
        return;
    struct cw_cache_source *source = source_of(cache, row->source);
    source->bytes = row->bytes;
    source->files = row->files;
    source->cached_bytes = row->cached_bytes;
    source->time_ms = row->time_ms;
}

void cw_cache_set_source(struct cw_cache_service *cache, const struct cw_state_cache_source *row)
{
    cw_cache_load_source(cache->d, row);
    cw_state_put_cache_source(cache->d->state, row);
}

/* ---- attach ---- */

static int check_place(const struct cw_dispatcher *d, const char *url, struct cw_err *err)
{
    for (const struct cw_cache_service *cache = d->caches; cache; cache = cache->next)
        if (cw_store_urls_overlap(cache->url, url))
            return cw_err_set(err, CW_E_EXISTS,
                              "the store %s is that of cache \"%s\", or lies in it or around it",
                              url, cache->name);
    for (const struct cw_leaving_cache *left = NULL; (left = cw_leaving_next(d, left));)
        if (cw_store_urls_overlap(cw_leaving_facts(left).url, url))
            return cw_err_set(err, CW_E_EXISTS,
                              "the files of the store %s are still being deleted, since cache "
                              "\"%s\" was detached",
                              url, cw_leaving_facts(left).name);
    return 0;
}

static int check_row(const struct cw_dispatcher *d, const struct cw_state_cache *row,
                     struct cw_err *err)
{
    int rc = cw_name_check_cache(row->name, err);
    if (rc == 0 && cw_cache_is_default(row->name))
        rc = cw_err_set(err, CW_E_INVALID,
                        "the cache \"default\" is the store of --cache-store: give another name");
    if (rc == 0)
        rc = cw_name_check_tenant(row->tenant, err);
    if (rc == 0)
        rc = cw_store_url_check(row->url, err);
    if (rc == 0 && !(row->high > 0 && row->high <= 100 && row->low >= 0 && row->low < row->high))
        rc = cw_err_set(err, CW_E_INVALID,
                        "watermarks %g and %g: give percents, the low one below the high one",
                        row->high, row->low);
    size_t n = 0;
    for (const struct cw_cache_service *cache = d->caches; cache; cache = cache->next)
        n++;
    if (rc == 0 && n >= CACHES_MAX)
        rc = cw_err_set(err, CW_E_LIMIT, "there are %zu caches already", n);
    return rc;
}

static void change(struct cw_cache_service *cache, const struct cw_state_cache *row)
{
    cache->source_quota = row->source_quota;
    cache->catalogue->quota = row->quota;
    cache->catalogue->high = (uint64_t)row->high;
    cache->catalogue->low = (uint64_t)row->low;
    cache->closed_until_ms = 0;
    cache->due.quotas = true;
    cache->quota_ms = 0;
    cw_cache_store_row(cache);
}

/* Jobs that name the cache have it from now on. */
static void give_to_jobs(struct cw_cache_service *cache)
{
    for (struct cw_job *job = cache->d->jobs; job; job = job->next)
        if ((job->status == CW_JOB_PREPARING || job->status == CW_JOB_RUNNING) &&
            cw_cache_of_job(job) == cache)
            cw_job_set_cache(job, cache);
}

void cw_cache_attached_stored(struct cw_dispatcher *d)
{
    for (struct cw_cache_service *cache = d->caches; cache; cache = cache->next)
        if (cache->due_to_jobs && cw_state_is_stored(d->state, cache->row_seq)) {
            cache->due_to_jobs = false;
            give_to_jobs(cache);
        }
}

int cw_cache_attach(struct cw_dispatcher *d, const struct cw_state_cache *row,
                    struct cw_cache_service **ret_cache, struct cw_err *err)
{
    int rc = check_row(d, row, err);
    if (rc != 0)
        return rc;
    struct cw_cache_service *cache = cw_cache_find(d, row->name);
    if (cache && (strcmp(cache->url, row->url) != 0 || strcmp(cache->tenant, row->tenant) != 0))
        return cw_err_set(err, CW_E_EXISTS,
                          "cache \"%s\" is attached with another store (%s) or tenant: detach it "
                          "first",
                          row->name, cache->url);
    if (cache) {
        change(cache, row);
        *ret_cache = cache;
        return 0;
    }
    rc = check_place(d, row->url, err);
    if (rc != 0)
        return rc;
    struct cw_state_cache fresh = *row;
    int64_t wall_ms = cw_clock_wall_ms();
    /* A number that is above the time of day is new, also if an older state.db was put back. */
    fresh.id = d->last_cache_id = CW_MAX(d->last_cache_id + 1, (uint64_t)CW_MAX(wall_ms, 1));
    fresh.created_ms = wall_ms;
    cache = cw_cache_new_named(d, &fresh);
    cw_cache_store_row(cache);
    cache->row_seq = cw_state_seq(d->state);
    cache->due_to_jobs = true;
    cw_leaving_forget(d, cache->url);
    cw_cache_begin(cache);
    cw_log_info(CW_LOG_MOD, "cache %s is attached: %s", cache->name, cache->url);
    cw_fault_point("dispatcher.cache_attach");
    cw_cache_attached_stored(d);
    *ret_cache = cache;
    return 0;
}

/* ---- detach ---- */

size_t cw_cache_detach(struct cw_cache_service *cache, bool keep)
{
    struct cw_dispatcher *d = cache->d;
    size_t users = 0;
    int64_t now = cw_clock_ms();
    (void)cw_cache_last_use(cache);
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        users += cw_cache_is_user(cache, job, now);
        if (job->cache == cache)
            cw_job_set_cache(job, NULL);
    }
    cw_log_info(CW_LOG_MOD, "cache %s is detached: %zu jobs go on without it, its files %s",
                cache->name, users, keep ? "stay" : "are deleted");
    struct cw_state_cache row = cw_cache_row(cache);
    row.leaving = true;
    if (keep)
        cw_state_remove_cache(d->state, row.id);
    else
        cw_state_put_cache(d->state, &row);
    if (!keep)
        cw_state_forget_cache(d->state, row.id);
    cw_fault_point("dispatcher.cache_detach");
    cw_leaving_tell(d, row.id, keep);
    if (!keep) {
        cw_leaving_begin(d, &row);
        cw_leaving_start(d);
    }
    cw_cache_end(cache, "the cache was detached");
    return users;
}
