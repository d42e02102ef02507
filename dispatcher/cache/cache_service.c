/* SPDX-License-Identifier: Apache-2.0 */
/* The cache opened and closed, its timer, and what of it is kept in state.db. */
#include <stdio.h>

#include "dispatcher/cache/cache_int.h"

#define TICK_MS 1000
#define FIRST_LIST_MS 2000
#define ROWS_MS 1000 /* rows of keys are written at most so often */
#define TIDY_MS 60000
#define SILENT_MS 600000 /* a worker that tells nothing of a key for so long counts anew */
#define SPACE_MS 5000
#define RETRY_AWAY_MS 1000 /* the store itself says how often it really looks */
#define RETRY_FAILED_MS 10000

static uint64_t tenant_quota(void *dispatcher, const char *name)
{
    const struct cw_dispatcher *d = dispatcher;
    uint64_t quota = cw_tenant_limits_of(&d->options.tenants, name).cache_quota;
    return quota == CW_NO_LIMIT ? 0 : quota;
}

void cw_caching_open(struct cw_dispatcher *d)
{
    const struct cw_options *options = &d->options;
    if (!options->cache_store)
        return;
    struct cw_caching *caching = CW_NEW(struct cw_caching);
    caching->d = d;
    caching->catalogue = cw_catalogue_new(options->cache_evict, options->cache_quota);
    caching->catalogue->tenant_quota = tenant_quota;
    caching->catalogue->tenant_quota_arg = d;
    const char *name;
    void *value;
    /* those with a rule are listed from the start */
    for (size_t i = 0; cw_strmap_next(&d->tenants, &i, &name, &value);)
        (void)cw_catalogue_tenant(caching->catalogue, name);
    d->caching = caching;
}

/* ---- rows ---- */

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

void cw_caching_store_key(struct cw_caching *caching, const struct cw_catalogue_key *key)
{
    store_row(caching->d->state, key);
}

/* A key of which nothing is left is forgotten here. */
static void store_rows(struct cw_caching *caching, int64_t now)
{
    struct cw_catalogue *catalogue = caching->catalogue;
    if (!catalogue->row_first || now < caching->rows_ms)
        return;
    /* at the end: all of them, whatever the time */
    caching->rows_ms = now < INT64_MAX - ROWS_MS ? now + ROWS_MS : now;
    while (catalogue->row_first) {
        struct cw_catalogue_key *key = catalogue->row_first;
        catalogue->row_first = key->next_row;
        key->row_dirty = false;
        if (key->chunks_n > 0 || key->pinned || key->holders > 0)
            store_row(caching->d->state, key);
        else
            cw_state_remove_cache_key(caching->d->state, key->tenant->name, key->text);
        (void)cw_catalogue_drop_key(key);
    }
}

/* ---- the store ---- */

void cw_caching_list(struct cw_caching *caching)
{
    if (caching->scanning)
        return;
    caching->scanning = true;
    caching->scan_due = false;
    caching->scan_strange = caching->scan_added = caching->gone_since_scan = 0;
    cw_catalogue_scan_begin(caching->catalogue);
    cw_caching_store_list(caching->store);
}

/* Those whose listing this was; all: nobody will list any more. */
static void answer_listed(struct cw_caching *caching, int rc, const char *why, uint64_t removed,
                          bool all)
{
    for (struct cw_cache_waiter **at = &caching->scan_waiters; *at;) {
        struct cw_cache_waiter *waiter = *at;
        if (waiter->scan > caching->catalogue->scan && !all) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        waiter->chunks = caching->catalogue->chunks_n;
        waiter->bytes = caching->catalogue->bytes;
        waiter->added = caching->scan_added;
        waiter->removed = removed;
        cw_cache_waiter_done(waiter, rc, why);
    }
}

static bool is_away(int rc)
{
    return rc == CW_E_UNAVAILABLE || rc == CW_E_TIMEOUT;
}

static void set_away(struct cw_caching *caching, bool away, const char *why)
{
    snprintf(caching->why, sizeof(caching->why), "%s", away ? why : "");
    if (caching->away == away)
        return;
    caching->away = away;
    if (away)
        cw_log_warn(CW_LOG_MOD, "the cache is away, jobs compute: %s", why);
    else
        cw_log_info(CW_LOG_MOD, "the cache is there again: %s", caching->d->options.cache_store);
    caching->scan_due = true; /* when it is back: who knows what happened to it */
    cw_caching_jobs_changed(caching);
}

static void take_files(struct cw_caching *caching, const struct cw_cache_io_result *result)
{
    struct cw_catalogue *catalogue = caching->catalogue;
    for (size_t i = 0; i < result->files_n; i++) {
        const struct cw_cache_io_file *file = &result->files[i];
        if (cw_caching_is_doomed(caching, file->name, false))
            continue;
        bool known = cw_catalogue_chunk(catalogue, file->name) != NULL;
        if (!cw_catalogue_put(catalogue, file->name, file->bytes, file->mtime_ms)) {
            caching->scan_strange++;
        } else if (!known) {
            caching->scan_added++;
        }
    }
}

static void listed(struct cw_caching *caching, const struct cw_cache_io_result *result)
{
    take_files(caching, result);
    if (result->more)
        return;
    caching->scanning = false;
    caching->listed = true;
    uint64_t removed = 0;
    if (result->rc == 0) {
        removed = cw_catalogue_scan_end(caching->catalogue);
        cw_log_info(CW_LOG_MOD,
                    "the cache has %llu chunks of %llu bytes: %llu were not known, %llu are gone "
                    "(%llu files are none)",
                    (unsigned long long)caching->catalogue->chunks_n,
                    (unsigned long long)caching->catalogue->bytes,
                    (unsigned long long)caching->scan_added, (unsigned long long)removed,
                    (unsigned long long)caching->scan_strange);
    } else {
        caching->scan_due = true;
        caching->scan_ms = cw_clock_ms() + (is_away(result->rc) ? RETRY_AWAY_MS : RETRY_FAILED_MS);
        if (!is_away(result->rc))
            cw_log_warn(CW_LOG_MOD, "the cache cannot be listed, it is tried again: %s",
                        result->err.msg);
    }
    cw_caching_doomed_forget(caching);
    answer_listed(caching, result->rc, result->err.msg, removed, false);
    if (caching->scan_waiters) /* who came while it was under way */
        cw_caching_list(caching);
    caching->quota_due = true;
}

static void on_result(void *arg, const struct cw_cache_io_result *result)
{
    struct cw_caching *caching = arg;
    if (is_away(result->rc))
        set_away(caching, true, result->err.msg);
    else if (!result->more && result->rc == 0)
        set_away(caching, false, "");
    switch (result->kind) {
    case CW_CACHE_IO_LIST:
        listed(caching, result);
        break;
    case CW_CACHE_IO_SPACE:
        if (result->rc == 0 || !is_away(result->rc)) {
            caching->store_total = result->total; /* 0: it does not know */
            caching->store_free = result->free;
        }
        caching->quota_due = true;
        break;
    case CW_CACHE_IO_REMOVE:
    default:
        cw_caching_deleted(caching, result->name, result->rc, result->err.msg);
        break;
    }
}

/* ---- time ---- */

static void on_tick(void *arg)
{
    struct cw_caching *caching = arg;
    int64_t now = cw_clock_ms();
    if (now >= caching->tidy_ms) {
        caching->tidy_ms = now + TIDY_MS;
        cw_catalogue_tidy(caching->catalogue, now, SILENT_MS);
    }
    if (now >= caching->space_ms) {
        caching->space_ms = now + SPACE_MS;
        cw_caching_store_space(caching->store);
    }
    if (caching->scan_due && !caching->scanning && now >= caching->scan_ms)
        cw_caching_list(caching);
}

/* It ticks while somebody may use the cache, or something of it is to be done. */
static bool is_busy(const struct cw_caching *caching)
{
    return caching->d->workers || caching->catalogue->row_first || caching->quota_due ||
           caching->scan_due || caching->scanning || caching->doomed_n > 0;
}

static void wake(struct cw_caching *caching)
{
    bool active = cw_timer_is_active(caching->timer), busy = is_busy(caching);
    if (busy && !active)
        cw_timer_start(caching->timer, TICK_MS, TICK_MS);
    else if (!busy && active)
        cw_timer_stop(caching->timer);
}

bool cw_caching_is_blind(const struct cw_job *job, int64_t now_ms)
{
    const struct cw_caching *caching = job->d->caching;
    return caching && !caching->listed && job->uses_n > 0 && now_ms < caching->blind_until_ms;
}

void cw_caching_turn(struct cw_dispatcher *d)
{
    struct cw_caching *caching = d->caching;
    if (!caching)
        return;
    cw_caching_quota(caching);
    cw_caching_tell_all(caching);
    cw_caching_hand_doomed(caching);
    store_rows(caching, cw_clock_ms());
    wake(caching);
}

void cw_caching_start(struct cw_dispatcher *d)
{
    struct cw_caching *caching = d->caching;
    if (!caching)
        return;
    caching->timer = cw_timer_new(d->loop, on_tick, caching);
    caching->store = cw_caching_store_open(d->loop, d->options.cache_store, on_result, caching);
    cw_caching_jobs_changed(caching);
    caching->blind_until_ms = cw_clock_ms() + FIRST_LIST_MS;
    cw_caching_list(caching);
    cw_caching_store_space(caching->store);
    wake(caching);
}

void cw_caching_stop(struct cw_dispatcher *d)
{
    static const char why[] = "the dispatcher is stopping";
    if (!d->caching)
        return;
    cw_caching_evict_answer(d->caching, CW_E_UNAVAILABLE, why);
    answer_listed(d->caching, CW_E_UNAVAILABLE, why, 0, true);
}

void cw_caching_close(struct cw_dispatcher *d)
{
    struct cw_caching *caching = d->caching;
    if (!caching)
        return;
    caching->rows_ms = 0;
    store_rows(caching, INT64_MAX);
    cw_timer_free(cw_steal(&caching->timer));
    cw_caching_store_close(caching->store);
}

void cw_caching_free(struct cw_dispatcher *d)
{
    struct cw_caching *caching = d->caching;
    if (!caching)
        return;
    cw_caching_store_free(caching->store);
    const char *name;
    void *doomed;
    for (size_t i = 0; cw_strmap_next(&caching->doomed, &i, &name, &doomed);)
        cw_mem_free(doomed);
    cw_strmap_fini(&caching->doomed);
    cw_catalogue_names_clear(&caching->doom);
    cw_catalogue_free(caching->catalogue);
    cw_mem_free(cw_steal(&d->caching));
}
