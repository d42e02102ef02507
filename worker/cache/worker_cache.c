/* SPDX-License-Identifier: Apache-2.0 */
/* The stores of this worker's caches. That of the default cache is opened on a thread when the
 * dispatcher names one, and replaced when the dispatcher names another; that of a named cache is
 * opened for the first job that has it, and left a minute after the last. A store that was left is
 * closed, also on a thread, once no item can read or write it any more. */
#include "worker/cache/worker_cache.h"

#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "cache/store/store.h"
#include "worker/cache/cache_events.h"
#include "worker/cache/cache_job.h"
#include "worker/cache/cache_keys.h"
#include "worker/cache/cache_prefetch.h"
#include "worker/cache/cache_store.h"
#include "worker/cache/source.h"
#include "worker/cache/store_root.h"
#include "worker/message/report_timer.h"

#define CLOSE_MS 10000  /* how long records are still written to a store that was replaced */
#define UNUSED_MS 60000 /* how long the store of a named cache stays open without a job */
#define NAMED_MEMORY_MIN ((size_t)8 << 20)
#define DATASET_UNUSED_MS 60000 /* how long the indices of a key are kept that no job uses */

static void store_free(struct cw_wcache_store *store)
{
    cw_thread_join(&store->thread);
    cw_mem_free(store->name);
    cw_mem_free(store->url);
    cw_mem_free(store->lost_why);
    cw_mem_free(store->unavailable_why);
    cw_mem_free(store);
}

static void unlink_from(struct cw_wcache_store **at, struct cw_wcache_store *store)
{
    while (*at && *at != store)
        at = &(*at)->next;
    if (*at)
        *at = store->next;
}

/* ---- closing ---- */

static bool is_meant(const struct cw_wcache_store *store, const struct cw_wcache_leave *leave)
{
    return store->id != 0 &&
           (store->id == leave->cache_id ||
            (leave->url[0] != '\0' && cw_store_urls_overlap(store->url, leave->url)));
}

/* Nothing that waits is written any more to these stores. */
static void hurry(struct cw_wcache_store *list, const struct cw_wcache_leave *leave)
{
    for (; list && leave; list = list->next)
        if (is_meant(list, leave))
            list->write_ms = 0;
}

static bool is_awaited(const struct cw_wcache_store *list, const struct cw_wcache_leave *leave)
{
    while (list && !is_meant(list, leave))
        list = list->next;
    return list != NULL;
}

/* Reports the caches that are left now. */
static void report_left(struct cw_worker_state *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->cache.leaves_n; i++) {
        struct cw_wcache_leave *leave = &w->cache.leaves[i];
        if (is_awaited(w->cache.retired, leave) || is_awaited(w->cache.closing, leave)) {
            w->cache.leaves[n++] = *leave;
            continue;
        }
        CW_GROW(w->cache.left, w->cache.left_n, w->cache.left_cap);
        w->cache.left[w->cache.left_n++] = leave->cache_id;
        cw_mem_free(leave->url);
        cw_report_soon(w);
    }
    w->cache.leaves_n = n;
}

/* The store of a named cache was closed, with its tier of source blocks, and is open again already:
 * so is its tier. */
static void keep_source_tier(struct cw_worker_state *w, uint64_t cache_id)
{
    const struct cw_wcache_store *again = cw_wcache_store_of(w, cache_id);
    if (cache_id == 0 || !again || w->closing)
        return;
    Cachew__V1__CacheStore named = CACHEW__V1__CACHE_STORE__INIT;
    named.id = cache_id;
    named.url = again->url;
    named.source_bytes = again->source_bytes;
    cw_wsource_set_store(w, &named);
}

/* called on the loop thread */
static void on_closed(void *arg)
{
    struct cw_wcache_store *store = arg;
    struct cw_worker_state *w = store->worker;
    w->cache.threads_n--;
    unlink_from(&w->cache.closing, store);
    bool told = false;
    for (size_t i = 0; i < w->cache.leaves_n; i++)
        told = told || w->cache.leaves[i].cache_id == store->id;
    if (!told)
        keep_source_tier(w, store->id);
    report_left(w);
    store_free(store);
    if (w->closing)
        cw_loop_stop(w->loop);
}

static void run_close(void *arg)
{
    struct cw_wcache_store *store = arg;
    cw_cache_free_within(store->cache, &store->write_ms);
    if (store->id != 0)
        cw_wsource_drop_store(store->worker, store->id);
    store->node = (struct cw_loop_node){.fn = on_closed, .arg = store};
    cw_loop_post_node(store->worker->loop, &store->node);
}

static void close_unused(struct cw_worker_state *w)
{
    for (struct cw_wcache_store *store = w->cache.retired, *next; store; store = next) {
        next = store->next;
        if (store->opening || atomic_load_explicit(&store->refs, memory_order_acquire) > 0)
            continue;
        unlink_from(&w->cache.retired, store);
        store->next = w->cache.closing;
        w->cache.closing = store;
        w->cache.threads_n++;
        cw_thread_start(&store->thread, "cachew-store", run_close, store);
    }
}

/* ---- opening ---- */

static void engage_all(struct cw_worker_state *w)
{
    for (size_t i = 0; i < w->jobs.n; i++)
        cw_wcache_job_engage(w->jobs.list[i]);
}

/* called on the loop thread */
static void on_opened(void *arg)
{
    struct cw_wcache_store *store = arg;
    struct cw_worker_state *w = store->worker;
    cw_thread_join(&store->thread); /* the thread ends after posting this call */
    store->thread = (struct cw_thread){0};
    w->cache.threads_n--;
    store->opening = false;
    if (w->closing) {
        cw_loop_stop(w->loop);
        return;
    }
    cw_fault_point("cache.opened");
    if (store->retired) {
        close_unused(w);
        return;
    }
    if (store->cache) {
        cw_log_info("worker", "cache %s is at %s: %zu MiB of memory", store->name, store->url,
                    store->memory >> 20);
        engage_all(w);
    } else {
        cw_log_error("worker", "cache %s cannot be used here: %s", store->name, store->error.msg);
        cw_wcache_set_away(store, store->error.msg);
    }
    cw_report_soon(w);
    w->cache.may_begin(w);
}

static void run_open(void *arg)
{
    struct cw_wcache_store *store = arg;
    struct cw_store *opened = NULL;
    const struct cw_worker_state *w = store->worker;
    if (cw_store_root_check(&w->store_roots, w->dispatcher, store->url, &store->error) == 0 &&
        cw_store_open_lazily(store->url, &opened, &store->error) == 0) {
        const struct cw_cache_options options = {.memory = store->memory,
                                                 .chunk_bytes = (size_t)store->chunk_bytes,
                                                 .level = store->level,
                                                 .event = cw_wcache_on_event,
                                                 .event_arg = store};
        store->cache = cw_cache_new(opened, &options);
    }
    store->node = (struct cw_loop_node){.fn = on_opened, .arg = store};
    cw_loop_post_node(store->worker->loop, &store->node);
}

/* The store is not in its list any more. */
static void retire(struct cw_wcache_store *store, int64_t write_ms)
{
    struct cw_worker_state *w = store->worker;
    cw_log_info("worker", "cache %s at %s is left", store->name, store->url);
    for (size_t i = 0; i < w->jobs.n; i++)
        if (w->jobs.list[i]->cache.cache_id == store->id)
            cw_wcache_job_disengage(w->jobs.list[i]);
    cw_wcache_keys_retire(w, store->id);
    store->retired = true;
    store->write_ms = write_ms;
    store->next = w->cache.retired;
    w->cache.retired = store;
    close_unused(w);
}

static bool is_same(const struct cw_wcache_store *store, const Cachew__V1__CacheStore *named)
{
    if (!store || !named)
        return !store && !named;
    return cw_str_eq(store->url, named->url) && store->chunk_bytes == named->chunk_bytes &&
           store->level == named->level;
}

static struct cw_wcache_store *open_store(struct cw_worker_state *w,
                                          const Cachew__V1__CacheStore *named, size_t memory)
{
    struct cw_wcache_store *store = CW_NEW(struct cw_wcache_store);
    store->worker = w;
    store->id = named->id;
    store->name = cw_mem_strdup(named->id == 0 ? "default" : named->name);
    store->url = cw_mem_strdup(named->url);
    store->chunk_bytes = named->chunk_bytes;
    store->level = named->level;
    store->source_bytes = named->source_bytes;
    store->memory = memory;
    store->opening = true;
    w->cache.threads_n++;
    cw_thread_start(&store->thread, "cachew-store", run_open, store);
    return store;
}

void cw_wcache_set_store(struct cw_worker_state *w, const Cachew__V1__CacheStore *named)
{
    if (named && named->url[0] == '\0')
        named = NULL;
    cw_wcache_keys_release_datasets(w, cw_clock_ms() - DATASET_UNUSED_MS);
    if (is_same(w->cache.store, named))
        return;
    struct cw_wcache_store *old = cw_steal(&w->cache.store);
    if (old) {
        cw_wcache_drop_events(w, 0);
        retire(old, CLOSE_MS);
    }
    if (named && !w->closing)
        w->cache.store = open_store(w, named, w->cache.memory);
}

/* ---- named caches ---- */

/* Each store gets less than the ones before it; what all have together grows slowly. */
static size_t named_memory(const struct cw_worker_state *w)
{
    size_t n = 2;
    for (const struct cw_wcache_store *store = w->cache.named; store; store = store->next)
        n++;
    return CW_MAX(w->cache.memory / n, CW_MIN(NAMED_MEMORY_MIN, w->cache.memory));
}

static void leave_named(struct cw_wcache_store *store, int64_t write_ms)
{
    unlink_from(&store->worker->cache.named, store);
    retire(store, write_ms);
}

static void need_named(struct cw_worker_state *w, const Cachew__V1__CacheStore *named)
{
    struct cw_wcache_store *store = cw_wcache_store_of(w, named->id);
    cw_wsource_set_store(w, named);
    if (store && is_same(store, named)) {
        store->unused_ms = 0;
        return;
    }
    if (store) /* Another state.db has given the id to another store. */
        leave_named(store, CLOSE_MS);
    if (w->closing)
        return;
    store = open_store(w, named, named_memory(w));
    store->next = w->cache.named;
    w->cache.named = store;
}

/* The id of the cache that a message names for a job; its store is opened. */
static uint64_t cache_of(struct cw_worker_state *w, const Cachew__V1__CacheStore *store)
{
    if (!store)
        return 0;
    if (store->url[0] == '\0' || store->id == 0)
        return CW_SOURCE_NO_STORE;
    need_named(w, store);
    return store->id;
}

void cw_wcache_job_given(struct cw_wjob *job, const Cachew__V1__CacheStore *store,
                         Cachew__V1__CacheUse *const *uses, size_t n)
{
    cw_wcache_job_set(job, cache_of(job->worker, store), uses, n);
}

uint64_t cw_wcache_prepared_in(struct cw_worker_state *w, const Cachew__V1__CacheStore *store)
{
    return cache_of(w, store);
}

void cw_wcache_leave(struct cw_worker_state *w, const Cachew__V1__LeaveCache *leave)
{
    const struct cw_wcache_leave mine = {.cache_id = leave->cache,
                                         .url = cw_mem_strdup(leave->keep ? "" : leave->url)};
    CW_GROW(w->cache.leaves, w->cache.leaves_n, w->cache.leaves_cap);
    w->cache.leaves[w->cache.leaves_n++] = mine;
    /* A cache that was kept, and attached there before, may be written still. */
    hurry(w->cache.retired, leave->keep ? NULL : &mine);
    hurry(w->cache.closing, leave->keep ? NULL : &mine);
    for (struct cw_wcache_store *store = w->cache.named, *next; store; store = next) {
        next = store->next;
        if (!is_meant(store, &mine))
            continue;
        cw_wcache_drop_events(w, store->id);
        leave_named(store, leave->keep ? CLOSE_MS : 0);
    }
    report_left(w);
}

void cw_wcache_hurry(struct cw_worker_state *w)
{
    struct cw_wcache_store *const lists[] = {w->cache.retired, w->cache.closing};
    for (size_t i = 0; i < CW_ARRAY_LEN(lists); i++)
        for (struct cw_wcache_store *store = lists[i]; store; store = store->next)
            store->write_ms = 0;
}

static void look_at_named(struct cw_worker_state *w, int64_t now)
{
    for (struct cw_wcache_store *store = w->cache.named, *next; store; store = next) {
        next = store->next;
        bool used = false;
        for (size_t i = 0; i < w->jobs.n; i++)
            used = used || w->jobs.list[i]->cache.cache_id == store->id;
        if (used || store->unused_ms == 0)
            store->unused_ms = used ? 0 : now;
        else if (now - store->unused_ms >= UNUSED_MS && !cw_wcache_can_write(store))
            leave_named(store, CLOSE_MS);
    }
}

void cw_wcache_beat(struct cw_worker_state *w)
{
    int64_t now = cw_clock_ms();
    for (size_t i = 0; i < w->jobs.n; i++)
        cw_wcache_job_beat(w->jobs.list[i], now);
    cw_wcache_keys_release_datasets(w, now - DATASET_UNUSED_MS);
    look_at_named(w, now);
    close_unused(w);
}

/* ---- beginning and end ---- */

void cw_wcache_start(struct cw_worker_state *w, size_t memory, cw_loop_fn *may_begin)
{
    w->cache.may_begin = may_begin;
    w->cache.memory = memory;
    w->cache.happened_node = (struct cw_loop_node){.fn = cw_wcache_take_events, .arg = w};
    w->cache.timer = cw_timer_new(w->loop, may_begin, w);
}

void cw_wcache_stop(struct cw_worker_state *w)
{
    cw_wcache_prefetch_stop(w);
    while (w->cache.threads_n > 0)
        cw_loop_run(w->loop); /* on_opened and on_closed stop the loop */
}

/* Exec has ended, so nothing reads or writes. A drained worker has written its records before. */
void cw_wcache_free(struct cw_worker_state *w)
{
    struct cw_wcache_store *store;
    while ((store = cw_wcache_next(w, NULL)) != NULL) {
        if (store == w->cache.store)
            w->cache.store = NULL;
        else
            w->cache.named = store->next;
        store->next = w->cache.retired;
        w->cache.retired = store;
    }
    cw_timer_free(w->cache.timer);
    cw_wcache_keys_fini(w);
    while ((store = w->cache.retired) != NULL) {
        w->cache.retired = store->next;
        cw_cache_free(store->cache, 0);
        store_free(store);
    }
    cw_wcache_take_events(w);
    for (size_t i = 0; i < w->cache.events_n; i++)
        cw_wcache_event_free(w->cache.events[i]);
    cw_mem_free(w->cache.events);
    cw_mem_free(w->cache.left);
    for (size_t i = 0; i < w->cache.leaves_n; i++)
        cw_mem_free(w->cache.leaves[i].url);
    cw_mem_free(w->cache.leaves);
}
