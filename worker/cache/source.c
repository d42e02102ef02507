/* SPDX-License-Identifier: Apache-2.0 */
/* The source cache of this worker (cache/source/block_cache.h). It exists if an option asks for it,
 * or if the dispatcher gives it space in the cluster's store. Operators reach it through the hook
 * of format/source_file.h. */
#include "worker/cache/source.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "cache/index/index_home.h"
#include "io/copies.h"
#include "worker/cache/store_root.h"
#include "worker/model/budget.h"

#define NAMED_MAX 100 /* stores of more named caches are not reported */

int cw_wsource_start(struct cw_worker_state *w, uint64_t memory, const char *dir,
                     uint64_t dir_bytes, struct cw_err *err)
{
    w->source.dir = cw_mem_strdup(dir);
    w->source.options = (struct cw_source_cache_options){
        .memory = memory, .dir = w->source.dir, .dir_bytes = dir_bytes};
    if (!dir && dir_bytes > 0)
        return cw_err_set(err, CW_E_INVALID,
                          "option --source-cache-dir-bytes: goes with --source-cache-dir only");
    cw_index_home_start();
    w->source.keeps_indices = true;
    if (dir)
        cw_index_home_set_dir(dir);
    if (!dir && memory == 0)
        return 0;
    int rc = cw_source_cache_new(&w->source.options, &w->source.cache, err);
    if (rc == 0)
        cw_source_hook_set(cw_source_cache_hook(w->source.cache));
    return rc;
}

void cw_wsource_set_store(struct cw_worker_state *w, const Cachew__V1__CacheStore *store)
{
    struct cw_err err = {0};
    if (!store || store->url[0] == '\0') {
        cw_index_home_drop_store(0);
        return;
    }
    if (cw_store_root_check(&w->store_roots, w->dispatcher, store->url, &err) < 0) {
        cw_log_warn("worker", "blocks and indices of source files are not kept in a store: %s",
                    err.msg);
        return;
    }
    cw_index_home_set_store(store->id, store->url);
    if (store->source_bytes == 0)
        return;
    if (!w->source.cache) {
        if (cw_source_cache_new(&w->source.options, &w->source.cache, &err) < 0) {
            cw_log_warn("worker", "no source cache: %s", err.msg);
            return;
        }
        cw_source_hook_set(cw_source_cache_hook(w->source.cache));
    }
    cw_source_cache_set_store(w->source.cache, store->id, store->url, store->source_bytes);
}

void cw_wsource_drop_store(struct cw_worker_state *w, uint64_t cache_id)
{
    cw_index_home_drop_store(cache_id);
    if (w->source.cache)
        cw_source_cache_drop_store(w->source.cache, cache_id);
}

void cw_wsource_stop(struct cw_worker_state *w)
{
    if (w->source.keeps_indices)
        cw_index_home_stop();
    w->source.keeps_indices = false;
    if (!w->source.cache)
        return;
    cw_source_hook_set(NULL);
    cw_source_cache_free(w->source.cache);
    w->source.cache = NULL;
}

/* ---- reports ---- */

static void fill_tier(Cachew__V1__SourceTier *t, const struct cw_source_counts *c, const char *name)
{
    cachew__v1__source_tier__init(t);
    t->tier = cw_mem_strdup(name);
    t->bytes = c->bytes;
    t->capacity = c->capacity;
    t->hits = c->hits;
    t->hit_bytes = c->hit_bytes;
    t->misses = c->misses;
    t->filled_bytes = c->filled_bytes;
    t->refused = c->refused;
    t->damaged = c->damaged;
    t->pending = c->pending;
    t->trouble = cw_mem_strdup(c->trouble);
}

static void report_named(struct cw_worker_state *w, Cachew__V1__Progress *progress)
{
    uint64_t ids[NAMED_MAX];
    cw_autofree struct cw_source_counts *counts = CW_NEW_ARRAY(struct cw_source_counts, NAMED_MAX);
    size_t n = cw_source_cache_named_counts(w->source.cache, ids, counts, NAMED_MAX);
    progress->named_source = CW_NEW_ARRAY(Cachew__V1__SourceTier *, n);
    for (size_t i = 0; i < n; i++) {
        Cachew__V1__SourceTier *t = CW_NEW(Cachew__V1__SourceTier);
        fill_tier(t, &counts[i], cw_source_tier_name(CW_SOURCE_STORE));
        t->cache = ids[i];
        progress->named_source[progress->n_named_source++] = t;
    }
}

static void add_tier(Cachew__V1__Progress *progress, const struct cw_source_counts *counts,
                     const char *name)
{
    Cachew__V1__SourceTier *t = CW_NEW(Cachew__V1__SourceTier);
    fill_tier(t, counts, name);
    progress->source[progress->n_source++] = t;
}

/* What is read ahead is reported like a tier, once there is something to report. */
static void report_ahead(const struct cw_worker_state *w, Cachew__V1__Progress *progress)
{
    struct cw_ahead_counts ahead;
    cw_ahead_counts(&ahead);
    const struct cw_source_counts counts = {.bytes = ahead.bytes,
                                            .capacity = cw_budget(w) / CW_AHEAD_SHARE,
                                            .hits = ahead.reads,
                                            .hit_bytes = ahead.read_bytes,
                                            .misses = cw_io_waited(),
                                            .filled_bytes = ahead.requested_bytes};
    if (counts.misses + ahead.requests > 0)
        add_tier(progress, &counts, "ahead");
}

/* So are copies of objects of servers without ranges. */
static void report_copies(Cachew__V1__Progress *progress)
{
    struct cw_io_copies copies;
    cw_io_copies_get(&copies);
    const struct cw_source_counts counts = {
        .bytes = copies.bytes, .capacity = copies.max, .filled_bytes = copies.copied};
    if (copies.copied > 0)
        add_tier(progress, &counts, "copies");
}

static void report_tiers(struct cw_worker_state *w, Cachew__V1__Progress *progress)
{
    cw_autofree struct cw_source_counts *counts =
        CW_NEW_ARRAY(struct cw_source_counts, CW_SOURCE_TIERS_N);
    cw_source_cache_counts(w->source.cache, counts);
    for (int i = 0; i < CW_SOURCE_TIERS_N; i++)
        if (counts[i].there)
            add_tier(progress, &counts[i], cw_source_tier_name((enum cw_source_tier)i));
    report_named(w, progress);
}

void cw_wsource_report(struct cw_worker_state *w, Cachew__V1__Progress *progress)
{
    progress->source = CW_NEW_ARRAY(Cachew__V1__SourceTier *, CW_SOURCE_TIERS_N + 2);
    if (w->source.cache)
        report_tiers(w, progress);
    report_ahead(w, progress);
    report_copies(progress);
}

void cw_wsource_report_free(Cachew__V1__Progress *progress)
{
    for (size_t i = 0; i < progress->n_source; i++) {
        cw_mem_free(progress->source[i]->tier);
        cw_mem_free(progress->source[i]->trouble);
        cw_mem_free(progress->source[i]);
    }
    cw_mem_free(progress->source);
    for (size_t i = 0; i < progress->n_named_source; i++) {
        cw_mem_free(progress->named_source[i]->tier);
        cw_mem_free(progress->named_source[i]->trouble);
        cw_mem_free(progress->named_source[i]);
    }
    cw_mem_free(progress->named_source);
}
