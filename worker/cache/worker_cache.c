/* SPDX-License-Identifier: Apache-2.0 */
/* The store of this worker's cache. It is opened on a thread when the dispatcher names one, and
 * replaced when the dispatcher names another. The former store is closed, also on a thread, once no
 * item can read or write it any more. */
#include "worker/cache/worker_cache.h"

#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "worker/cache/cache_events.h"
#include "worker/cache/cache_job.h"
#include "worker/cache/cache_keys.h"
#include "worker/cache/cache_prefetch.h"
#include "worker/cache/store_root.h"
#include "worker/message/report_timer.h"

#define CLOSE_MS 10000 /* how long records are still written to a store that was replaced */
#define DATASET_UNUSED_MS 60000 /* how long the indices of a key are kept that no job uses */

static void store_free(struct cw_wcache_store *store)
{
    cw_thread_join(&store->thread);
    cw_mem_free(store->url);
    cw_mem_free(store);
}

static void unlink_retired(struct cw_wcache *c, struct cw_wcache_store *store)
{
    struct cw_wcache_store **at = &c->retired;
    while (*at && *at != store)
        at = &(*at)->next;
    if (*at)
        *at = store->next;
}

/* ---- closing ---- */

/* called on the loop thread */
static void on_closed(void *arg)
{
    struct cw_wcache_store *store = arg;
    struct cw_worker_state *w = store->worker;
    w->cache.threads_n--;
    store_free(store);
    if (w->closing)
        cw_loop_stop(w->loop);
}

static void run_close(void *arg)
{
    struct cw_wcache_store *store = arg;
    cw_cache_free(store->cache, CLOSE_MS);
    store->node = (struct cw_loop_node){.fn = on_closed, .arg = store};
    cw_loop_post_node(store->worker->loop, &store->node);
}

static void close_unused(struct cw_worker_state *w)
{
    for (struct cw_wcache_store *store = w->cache.retired, *next; store; store = next) {
        next = store->next;
        if (store->opening || atomic_load_explicit(&store->refs, memory_order_acquire) > 0)
            continue;
        unlink_retired(&w->cache, store);
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
        cw_log_info("worker", "the cache is at %s: %zu MiB of memory", store->url,
                    store->memory >> 20);
        engage_all(w);
    } else {
        cw_log_error("worker", "there is no cache here: %s", store->error.msg);
        w->cache.unavailable_why = cw_mem_strdup(store->error.msg);
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

static void retire(struct cw_worker_state *w)
{
    struct cw_wcache_store *store = w->cache.store;
    w->cache.store = NULL;
    if (!store)
        return;
    cw_log_info("worker", "the cache at %s is left", store->url);
    for (size_t i = 0; i < w->jobs.n; i++)
        cw_wcache_job_disengage(w->jobs.list[i]);
    cw_wcache_keys_retire(w);
    cw_wcache_drop_events(w);
    store->retired = true;
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

void cw_wcache_set_store(struct cw_worker_state *w, const Cachew__V1__CacheStore *named)
{
    if (named && named->url[0] == '\0')
        named = NULL;
    cw_wcache_keys_release_datasets(w, cw_clock_ms() - DATASET_UNUSED_MS);
    if (is_same(w->cache.store, named))
        return;
    retire(w);
    if (!named || w->closing)
        return;
    struct cw_wcache_store *store = CW_NEW(struct cw_wcache_store);
    store->worker = w;
    store->url = cw_mem_strdup(named->url);
    store->chunk_bytes = named->chunk_bytes;
    store->level = named->level;
    store->memory = w->cache.memory;
    store->opening = true;
    w->cache.store = store;
    w->cache.threads_n++;
    cw_thread_start(&store->thread, "cachew-store", run_open, store);
}

void cw_wcache_beat(struct cw_worker_state *w)
{
    int64_t now = cw_clock_ms();
    for (size_t i = 0; i < w->jobs.n; i++)
        cw_wcache_job_beat(w->jobs.list[i], now);
    cw_wcache_keys_release_datasets(w, now - DATASET_UNUSED_MS);
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
    struct cw_wcache_store *store = w->cache.store;
    if (store) {
        store->next = w->cache.retired;
        w->cache.retired = store;
        w->cache.store = NULL;
    }
    cw_timer_free(w->cache.timer);
    cw_wcache_keys_fini(w);
    while ((store = w->cache.retired) != NULL) {
        w->cache.retired = store->next;
        cw_cache_free(store->cache, 0);
        store_free(store);
    }
    cw_wcache_take_events(w);
    cw_wcache_drop_events(w);
    cw_mem_free(w->cache.events);
    cw_mem_free(w->cache.lost_why);
    cw_mem_free(w->cache.unavailable_why);
}
