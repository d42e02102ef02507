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

static struct cw_cache_service *cache_new(struct cw_dispatcher *d, const char *name,
                                          const char *url, uint64_t quota)
{
    struct cw_cache_service *cache = CW_NEW(struct cw_cache_service);
    cache->d = d;
    cache->name = cw_mem_strdup(name);
    cache->url = cw_mem_strdup(url);
    cache->catalogue = cw_catalogue_new(d->options.cache_evict, quota);
    struct cw_cache_service **at = &d->caches;
    while (*at)
        at = &(*at)->next;
    *at = cache;
    return cache;
}

void cw_cache_service_open(struct cw_dispatcher *d)
{
    const struct cw_options *options = &d->options;
    if (!options->cache_store)
        return;
    struct cw_cache_service *cache =
        cache_new(d, "default", options->cache_store, options->cache_quota);
    cache->tenant = cw_mem_strdup("");
    cache->source_quota = options->source_cache_quota;
    cache->catalogue->tenant_quota = tenant_quota;
    cache->catalogue->tenant_quota_arg = d;
    const char *name;
    void *value;
    /* Tenants with a rule are listed from the start. */
    for (size_t i = 0; cw_strmap_next(&d->tenants, &i, &name, &value);)
        (void)cw_catalogue_tenant(cache->catalogue, name);
    d->cache = cache;
}

/* Quotas of tenants are about the default cache: a named one has its own. */
struct cw_cache_service *cw_cache_new_named(struct cw_dispatcher *d,
                                            const struct cw_state_cache *row)
{
    struct cw_cache_service *cache = cache_new(d, row->name, row->url, row->quota);
    cache->id = cache->catalogue->cache_id = row->id;
    cache->tenant = cw_mem_strdup(row->tenant);
    cache->source_quota = row->source_quota;
    cache->created_ms = row->created_ms;
    cache->used_ms = cache->used_stored_ms = row->used_ms;
    cache->catalogue->high = (uint64_t)row->high;
    cache->catalogue->low = (uint64_t)row->low;
    return cache;
}

/* ---- rows of state.db ---- */

static void store_row(struct cw_state *state, const struct cw_catalogue_key *key)
{
    const struct cw_state_cache_key row = {
        .cache = key->catalogue->cache_id,
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
            cw_state_remove_cache_key(cache->d->state, cache->id, key->tenant->name, key->text);
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
        cw_log_warn(CW_LOG_MOD,
                    "the store of cache %s is unavailable, its jobs compute instead: %s",
                    cache->name, why);
    else
        cw_log_info(CW_LOG_MOD, "the store of cache %s is available again: %s", cache->name,
                    cache->url);
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
                    "cache %s has %llu chunks of %llu bytes: %llu were not known, %llu are gone "
                    "(%llu other files)",
                    cache->name, (unsigned long long)cache->catalogue->chunks_n,
                    (unsigned long long)cache->catalogue->bytes,
                    (unsigned long long)cache->scan_added, (unsigned long long)removed,
                    (unsigned long long)cache->scan_strange);
    } else {
        cache->due.listing = true;
        cache->scan_ms =
            cw_clock_ms() + (is_unavailable(result->rc) ? RETRY_AWAY_MS : RETRY_FAILED_MS);
        if (!is_unavailable(result->rc))
            cw_log_warn(CW_LOG_MOD, "cache %s cannot be listed, it is tried again: %s", cache->name,
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
    case CW_CACHE_IO_LIST_UNWRITTEN:
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
    cw_cache_store_use(cache, false);
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
    const struct cw_cache_service *cache = job->cache;
    return cache && !cache->listed && job->cache_uses_n > 0 &&
           now_ms < cache->listing_wait_until_ms;
}

void cw_cache_cycle_end(struct cw_dispatcher *d)
{
    for (struct cw_cache_service *cache = d->caches; cache; cache = cache->next) {
        cw_cache_enforce_quotas(cache);
        cw_cache_notify_all(cache);
        cw_cache_send_deletes(cache);
        store_rows(cache, cw_clock_ms());
        wake(cache);
    }
}

void cw_cache_begin(struct cw_cache_service *cache)
{
    cache->timer = cw_timer_new(cache->d->loop, on_tick, cache);
    cache->store = cw_cache_io_open(cache->d->loop, cache->url, on_result, cache);
    cw_cache_jobs_changed(cache);
    cache->listing_wait_until_ms = cw_clock_ms() + FIRST_LIST_MS;
    cw_cache_list(cache);
    cw_cache_io_space(cache->store);
    wake(cache);
}

void cw_cache_service_start(struct cw_dispatcher *d)
{
    for (struct cw_cache_service *cache = d->caches; cache; cache = cache->next)
        cw_cache_begin(cache);
    cw_leaving_start(d);
}

static void answer_all(struct cw_cache_service *cache, const char *why)
{
    cw_cache_answer_deletes(cache, CW_E_UNAVAILABLE, why);
    answer_listed(cache, CW_E_UNAVAILABLE, why, 0, true);
}

void cw_cache_service_stop(struct cw_dispatcher *d)
{
    for (struct cw_cache_service *cache = d->caches; cache; cache = cache->next)
        answer_all(cache, "the dispatcher is stopping");
}

void cw_cache_service_close(struct cw_dispatcher *d)
{
    for (struct cw_cache_service *cache = d->caches; cache; cache = cache->next) {
        cache->rows_ms = 0;
        store_rows(cache, INT64_MAX);
        cw_cache_store_use(cache, true);
        cw_timer_free(cw_steal(&cache->timer));
        cw_cache_io_close(cache->store);
    }
    cw_leaving_close(d);
}

/* The object of its I/O is freed by whoever calls, when no result can come any more. */
static void cache_free(struct cw_cache_service *cache)
{
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&cache->pending_deletes, &i, &name, &value);)
        cw_mem_free(value);
    cw_strmap_fini(&cache->pending_deletes);
    cw_catalogue_names_clear(&cache->unsent_deletes);
    cw_catalogue_free(cache->catalogue);
    cw_map_fini_free(&cache->away);
    for (struct cw_cache_source *source; (source = cache->sources) != NULL;) {
        cache->sources = source->next;
        cw_mem_free(source->source);
        cw_mem_free(source);
    }
    cw_mem_free(cache->name);
    cw_mem_free(cache->url);
    cw_mem_free(cache->tenant);
    cw_mem_free(cache);
}

static void free_io(void *arg)
{
    cw_cache_io_free(arg);
}

void cw_cache_end(struct cw_cache_service *cache, const char *why)
{
    struct cw_dispatcher *d = cache->d;
    struct cw_cache_service **at = &d->caches;
    while (*at != cache)
        at = &(*at)->next;
    *at = cache->next;
    answer_all(cache, why);
    cw_cache_unsubscribe_all(cache);
    cw_timer_free(cache->timer);
    cw_cache_io_close(cache->store);
    /* Results that its threads have posted come before this call. */
    cw_loop_post(d->loop, free_io, cache->store);
    cache_free(cache);
}

void cw_cache_service_free(struct cw_dispatcher *d)
{
    for (struct cw_cache_service *cache; (cache = d->caches) != NULL;) {
        d->caches = cache->next;
        cw_cache_io_free(cache->store);
        cache_free(cache);
    }
    d->cache = NULL;
    cw_leaving_free(d);
}
