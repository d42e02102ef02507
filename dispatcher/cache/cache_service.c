/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes the cache; its timer, its listings, and its rows in state.db. */
#include <stdio.h>

#include "dispatcher/cache/cache_int.h"

#define TICK_MS 1000
#define FIRST_LIST_MS 2000
#define ROWS_MS 1000 /* Rows of keys are written at most this often. */
#define TIDY_MS 60000
/* The totals of a worker that has reported nothing of a key for this long are forgotten. */
#define SILENT_MS 600000
#define SPACE_MS 5000
/* The pause before an unavailable store is tried again. The store itself limits how often it really
 * tries. */
#define RETRY_AWAY_MS 1000
#define RETRY_FAILED_MS 10000
/* A file of a store benchmark that is older than this is removed. */
#define OLD_BENCHMARK_FILE_MS 3600000

static uint64_t tenant_quota(void *dispatcher, const char *name)
{
    const struct cw_dispatcher *d = dispatcher;
    uint64_t quota = cw_tenant_limits_of(&d->options.tenants, name).cache_quota;
    return quota == CW_NO_LIMIT ? 0 : quota;
}

void cw_cache_service_open(struct cw_dispatcher *d)
{
    const struct cw_options *options = &d->options;
    if (!options->cache_store)
        return;
    struct cw_cache_service *cache = CW_NEW(struct cw_cache_service);
    cache->d = d;
    cache->catalogue = cw_catalogue_new(options->cache_evict, options->cache_quota);
    cache->catalogue->tenant_quota = tenant_quota;
    cache->catalogue->tenant_quota_arg = d;
    const char *name;
    void *value;
    /* Tenants with a rule are listed from the start. */
    for (size_t i = 0; cw_strmap_next(&d->tenants, &i, &name, &value);)
        (void)cw_catalogue_tenant(cache->catalogue, name);
    d->cache = cache;
}

/* ---- rows of state.db ---- */

static void store_row(struct cw_state *state, const struct cw_catalogue_key *key)
{
    const struct cw_state_cache_key row = {
        .tenant = key->tenant->name,
        .key = key->text,
        .pipeline = key->pipeline,
        .node = key->node,
        .op = key->op,
        .ids = key->ids,
        .hits = key->hits,
        .misses = key->misses,
        .saved_ns = key->saved_ns,
        .cost_ns = key->cost_ns,
        .cost_records = key->cost_records,
        .created_ms = key->created_ms,
        .used_ms = key->used_ms,
        .pinned = key->pinned,
    };
    cw_state_put_cache_key(state, &row);
}

void cw_cache_store_key(struct cw_cache_service *cache, const struct cw_catalogue_key *key)
{
    store_row(cache->d->state, key);
}

/* Writes the rows of keys that have changed. A key without chunks and users is forgotten here. */
static void store_rows(struct cw_cache_service *cache, int64_t now)
{
    struct cw_catalogue *catalogue = cache->catalogue;
    if (!catalogue->row_first || now < cache->rows_ms)
        return;
    /* When the dispatcher stops, all rows are written, whatever the time. */
    cache->rows_ms = now < INT64_MAX - ROWS_MS ? now + ROWS_MS : now;
    while (catalogue->row_first) {
        struct cw_catalogue_key *key = catalogue->row_first;
        catalogue->row_first = key->next_row;
        key->row_dirty = false;
        if (key->chunks_n > 0 || key->pinned || key->holders > 0)
            store_row(cache->d->state, key);
        else
            cw_state_remove_cache_key(cache->d->state, key->tenant->name, key->text);
        (void)cw_catalogue_drop_key(key);
    }
}

/* ---- listings and the state of the store ---- */

void cw_cache_list(struct cw_cache_service *cache)
{
    if (cache->scanning)
        return;
    cache->scanning = true;
    cache->due.listing = false;
    cache->scan_strange = cache->scan_added = cache->gone_since_scan = 0;
    cw_catalogue_scan_begin(cache->catalogue);
    cw_cache_io_list(cache->store);
}

/* Answers those who wait for the listing that has ended; with `all`, everybody, since nothing will
 * be listed any more. */
static void answer_listed(struct cw_cache_service *cache, int rc, const char *why, uint64_t removed,
                          bool all)
{
    for (struct cw_cache_waiter **at = &cache->scan_waiters; *at;) {
        struct cw_cache_waiter *waiter = *at;
        if (waiter->scan > cache->catalogue->scan && !all) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        waiter->chunks = cache->catalogue->chunks_n;
        waiter->bytes = cache->catalogue->bytes;
        waiter->added = cache->scan_added;
        waiter->removed = removed;
        cw_cache_waiter_done(waiter, rc, why);
    }
}

static bool is_unavailable(int rc)
{
    return rc == CW_E_UNAVAILABLE || rc == CW_E_TIMEOUT;
}

static void set_unavailable(struct cw_cache_service *cache, bool unavailable, const char *why)
{
    snprintf(cache->unavailable_why, sizeof(cache->unavailable_why), "%s", unavailable ? why : "");
    if (cache->unavailable == unavailable)
        return;
    cache->unavailable = unavailable;
    if (unavailable)
        cw_log_warn(CW_LOG_MOD, "the cache's store is unavailable, jobs compute instead: %s", why);
    else
        cw_log_info(CW_LOG_MOD, "the cache's store is available again: %s",
                    cache->d->options.cache_store);
    /* When the store is available again, its contents may have changed. */
    cache->due.listing = true;
    cw_cache_jobs_changed(cache);
}

/* Returns whether a store benchmark that ended long ago left the file. The dispatcher that made it
 * died before it could remove it, or the store was not available by then. */
static bool is_old_benchmark_file(const struct cw_cache_io_file *file)
{
    return cw_str_starts(file->name, CW_BENCHMARK_FILE_PREFIX) &&
           cw_clock_wall_ms() - file->mtime_ms > OLD_BENCHMARK_FILE_MS;
}

static void take_files(struct cw_cache_service *cache, const struct cw_cache_io_result *result)
{
    struct cw_catalogue *catalogue = cache->catalogue;
    for (size_t i = 0; i < result->files_n; i++) {
        const struct cw_cache_io_file *file = &result->files[i];
        if (cw_cache_is_pending_delete(cache, file->name, false))
            continue;
        if (is_old_benchmark_file(file)) {
            cw_cache_delete_name(cache, file->name, NULL);
            continue;
        }
        bool known = cw_catalogue_chunk(catalogue, file->name) != NULL;
        if (!cw_catalogue_put(catalogue, file->name, file->bytes, file->mtime_ms)) {
            cache->scan_strange++;
        } else if (!known) {
            cache->scan_added++;
        }
    }
}

static void listed(struct cw_cache_service *cache, const struct cw_cache_io_result *result)
{
    take_files(cache, result);
    if (result->more)
        return;
    cache->scanning = false;
    cache->listed = true;
    uint64_t removed = 0;
    if (result->rc == 0) {
        removed = cw_catalogue_scan_end(cache->catalogue);
        cw_log_info(CW_LOG_MOD,
                    "the cache has %llu chunks of %llu bytes: %llu were not known, %llu are gone "
                    "(%llu other files)",
                    (unsigned long long)cache->catalogue->chunks_n,
                    (unsigned long long)cache->catalogue->bytes,
                    (unsigned long long)cache->scan_added, (unsigned long long)removed,
                    (unsigned long long)cache->scan_strange);
    } else {
        cache->due.listing = true;
        cache->scan_ms =
            cw_clock_ms() + (is_unavailable(result->rc) ? RETRY_AWAY_MS : RETRY_FAILED_MS);
        if (!is_unavailable(result->rc))
            cw_log_warn(CW_LOG_MOD, "the cache cannot be listed, it is tried again: %s",
                        result->err.msg);
    }
    answer_listed(cache, result->rc, result->err.msg, removed, false);
    if (cache->scan_waiters) /* These requests for a listing came while this one was going on. */
        cw_cache_list(cache);
    cache->due.quotas = true;
}

static void on_result(void *arg, const struct cw_cache_io_result *result)
{
    struct cw_cache_service *cache = arg;
    if (is_unavailable(result->rc))
        set_unavailable(cache, true, result->err.msg);
    else if (!result->more && result->rc == 0)
        set_unavailable(cache, false, "");
    switch (result->kind) {
    case CW_CACHE_IO_LIST:
        listed(cache, result);
        break;
    case CW_CACHE_IO_SPACE:
        if (result->rc == 0 || !is_unavailable(result->rc)) {
            /* The total is 0 if the store does not know its size. */
            cache->store_total = result->total;
            cache->store_free = result->free;
        }
        cache->due.quotas = true;
        break;
    case CW_CACHE_IO_LOOK:
        cw_cache_looked(cache, result->name, result->rc, result->total);
        break;
    case CW_CACHE_IO_REMOVE:
    default:
        cw_cache_deleted(cache, result->name, result->rc, result->err.msg);
        break;
    }
}

/* ---- the timer ---- */

static void on_tick(void *arg)
{
    struct cw_cache_service *cache = arg;
    int64_t now = cw_clock_ms();
    if (now >= cache->tidy_ms) {
        cache->tidy_ms = now + TIDY_MS;
        cw_catalogue_forget_silent(cache->catalogue, now, SILENT_MS);
        cw_cache_forget_deletes(cache, now);
    }
    if (now >= cache->space_ms) {
        cache->space_ms = now + SPACE_MS;
        cw_cache_io_space(cache->store);
    }
    if (cache->due.listing && !cache->scanning && now >= cache->scan_ms)
        cw_cache_list(cache);
}

/* The timer runs while somebody may use the cache, or while something is to be done for it. */
static bool is_busy(const struct cw_cache_service *cache)
{
    return cache->d->workers || cache->catalogue->row_first || cache->due.quotas ||
           cache->due.listing || cache->scanning || cache->pending_deletes_n > 0;
}

static void wake(struct cw_cache_service *cache)
{
    bool active = cw_timer_is_active(cache->timer), busy = is_busy(cache);
    if (busy && !active)
        cw_timer_start(cache->timer, TICK_MS, TICK_MS);
    else if (!busy && active)
        cw_timer_stop(cache->timer);
}

bool cw_cache_awaits_listing(const struct cw_job *job, int64_t now_ms)
{
    const struct cw_cache_service *cache = job->d->cache;
    return cache && !cache->listed && job->cache_uses_n > 0 &&
           now_ms < cache->listing_wait_until_ms;
}

void cw_cache_cycle_end(struct cw_dispatcher *d)
{
    struct cw_cache_service *cache = d->cache;
    if (!cache)
        return;
    cw_cache_enforce_quotas(cache);
    cw_cache_notify_all(cache);
    cw_cache_send_deletes(cache);
    store_rows(cache, cw_clock_ms());
    wake(cache);
}

void cw_cache_service_start(struct cw_dispatcher *d)
{
    struct cw_cache_service *cache = d->cache;
    if (!cache)
        return;
    cache->timer = cw_timer_new(d->loop, on_tick, cache);
    cache->store = cw_cache_io_open(d->loop, d->options.cache_store, on_result, cache);
    cw_cache_jobs_changed(cache);
    cache->listing_wait_until_ms = cw_clock_ms() + FIRST_LIST_MS;
    cw_cache_list(cache);
    cw_cache_io_space(cache->store);
    wake(cache);
}

void cw_cache_service_stop(struct cw_dispatcher *d)
{
    static const char why[] = "the dispatcher is stopping";
    if (!d->cache)
        return;
    cw_cache_answer_deletes(d->cache, CW_E_UNAVAILABLE, why);
    answer_listed(d->cache, CW_E_UNAVAILABLE, why, 0, true);
}

void cw_cache_service_close(struct cw_dispatcher *d)
{
    struct cw_cache_service *cache = d->cache;
    if (!cache)
        return;
    cache->rows_ms = 0;
    store_rows(cache, INT64_MAX);
    cw_timer_free(cw_steal(&cache->timer));
    cw_cache_io_close(cache->store);
}

void cw_cache_service_free(struct cw_dispatcher *d)
{
    struct cw_cache_service *cache = d->cache;
    if (!cache)
        return;
    cw_cache_io_free(cache->store);
    const char *name;
    void *pending;
    for (size_t i = 0; cw_strmap_next(&cache->pending_deletes, &i, &name, &pending);)
        cw_mem_free(pending);
    cw_strmap_fini(&cache->pending_deletes);
    cw_catalogue_names_clear(&cache->unsent_deletes);
    cw_catalogue_free(cache->catalogue);
    cw_mem_free(cw_steal(&d->cache));
}
