/* SPDX-License-Identifier: Apache-2.0 */
/* The cache opened and closed, its timer, and what of it is kept in state.db. */
#include "dispatcher/cache/cache_int.h"

#define TICK_MS 1000
#define FIRST_LIST_MS 2000
#define ROWS_MS 1000 /* rows of keys are written at most so often */
#define TIDY_MS 60000
#define SILENT_MS 600000 /* a worker that tells nothing of a key for so long counts anew */
#define SPACE_MS 5000

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
        cw_caching_store_list(caching->store);
}

/* It ticks while somebody may use the cache, or something of it is to be done. */
static bool is_busy(const struct cw_caching *caching)
{
    return caching->d->workers || caching->catalogue->row_first || caching->quota_due ||
           caching->scan_due || caching->scanning || caching->doomed_n > 0;
}

void cw_caching_wake(struct cw_caching *caching)
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
    cw_caching_wake(caching);
}

void cw_caching_start(struct cw_dispatcher *d)
{
    struct cw_caching *caching = d->caching;
    if (!caching)
        return;
    caching->timer = cw_timer_new(d->loop, on_tick, caching);
    caching->store = cw_caching_store_open(caching, d->options.cache_store);
    cw_caching_jobs_changed(caching);
    caching->blind_until_ms = cw_clock_ms() + FIRST_LIST_MS;
    cw_caching_store_list(caching->store);
    cw_caching_store_space(caching->store);
    cw_caching_wake(caching);
}

void cw_caching_stop(struct cw_dispatcher *d)
{
    static const char why[] = "the dispatcher is stopping";
    if (!d->caching)
        return;
    cw_caching_evict_answer(d->caching, CW_E_UNAVAILABLE, why);
    cw_caching_scan_answer(d->caching, CW_E_UNAVAILABLE, why, 0, true);
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
