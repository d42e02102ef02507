/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the events that threads of the cache raise, and handles them on the loop thread. */
#include "worker/cache/cache_events.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "worker/cache/cache_keys.h"
#include "worker/cache/cache_store.h"
#include "worker/message/report_timer.h"

#define EVENTS_MAX 100000

void cw_wcache_event_free(struct cw_wcache_event *event)
{
    if (!event)
        return;
    cw_mem_free(event->name);
    cw_mem_free(event->tenant);
    cw_mem_free(event->why);
    cw_mem_free(event->job_id);
    cw_mem_free(event->node);
    cw_mem_free(event);
}

/* ---- on the threads of the store ---- */

void cw_wcache_on_event(void *arg, const struct cw_cache_event *e)
{
    struct cw_wcache_store *store = arg;
    struct cw_worker_state *w = store->worker;
    struct cw_wcache_event *event = CW_NEW(struct cw_wcache_event);
    event->store = store;
    event->cache_id = store->id;
    event->kind = e->kind;
    event->name = cw_mem_strdup(e->name);
    event->why = cw_mem_strdup(e->why);
    event->records = e->records;
    event->bytes = e->bytes;
    event->cost_ns = e->cost_ns;
    if (e->dataset) {
        event->tenant = cw_mem_strdup(cw_cache_dataset_tenant(e->dataset));
        event->key = cw_cache_dataset_key(e->dataset);
    }
    struct cw_wcache_event *head = atomic_load_explicit(&w->cache.happened, memory_order_relaxed);
    do
        event->next = head;
    while (!atomic_compare_exchange_weak_explicit(&w->cache.happened, &head, event,
                                                  memory_order_acq_rel, memory_order_relaxed));
    if (!head)
        cw_loop_post_node(w->loop, &w->cache.happened_node);
}

/* ---- on the loop thread ---- */

/* Sets the job and node that wrote the chunk: a job that is here now, or the last one that was. */
static void name_writer(struct cw_worker_state *w, struct cw_wcache_key *key,
                        struct cw_wcache_event *event)
{
    for (size_t i = 0; i < w->jobs.n; i++) {
        const struct cw_wjob *job = w->jobs.list[i];
        for (size_t k = 0; job->cache.nodes && k < cw_plan_graph(job->plan)->n; k++) {
            if (job->cache.nodes[k].key != key || !job->cache.nodes[k].write)
                continue;
            event->job_id = cw_mem_strdup(job->id);
            event->node = cw_mem_strdup(cw_plan_graph(job->plan)->nodes[k].name);
            return;
        }
    }
    event->job_id = cw_mem_strdup(key->job_id);
    event->node = cw_mem_strdup(key->job_node);
}

static void keep(struct cw_worker_state *w, struct cw_wcache_event *event)
{
    struct cw_wcache *c = &w->cache;
    if (c->events_n >= EVENTS_MAX) {
        cw_log_warn("worker",
                    "the dispatcher cannot be reached for so long that chunk %s is not reported",
                    event->name);
        cw_wcache_event_free(event);
        return;
    }
    CW_GROW(c->events, c->events_n, c->events_cap);
    c->events[c->events_n++] = event;
    cw_report_soon(w);
}

static void take_chunk(struct cw_worker_state *w, struct cw_wcache_event *event)
{
    struct cw_wcache_key *key = cw_wcache_key(w, event->cache_id, event->tenant, event->key);
    if (event->kind == CW_CACHE_WRITTEN) {
        (void)cw_strmap_set(&key->chunks, event->name, key);
        name_writer(w, key, event);
        cw_log_debug("worker", "chunk %s: %llu records, %llu bytes", event->name,
                     (unsigned long long)event->records, (unsigned long long)event->bytes);
    } else {
        (void)cw_strmap_remove(&key->chunks, event->name);
        cw_log_warn("worker", "chunk %s is not used any more: %s", event->name,
                    event->why ? event->why : "it is gone");
    }
    keep(w, event);
}

static void take_lost(struct cw_wcache_event *event)
{
    struct cw_wcache_store *store = event->store;
    store->lost += event->records;
    if (!cw_str_eq(store->lost_why, event->why))
        cw_log_warn("worker", "%llu records were not cached: %s",
                    (unsigned long long)event->records, event->why ? event->why : "unknown reason");
    cw_mem_free(store->lost_why);
    store->lost_why = cw_steal(&event->why);
    cw_wcache_event_free(event);
}

static void take_availability(struct cw_worker_state *w, struct cw_wcache_event *event)
{
    bool back = event->kind == CW_CACHE_STORE_AVAILABLE;
    if (back)
        cw_log_info("worker", "the cache's store %s is back", event->store->url);
    else
        cw_log_warn("worker", "the cache's store %s is away: %s", event->store->url,
                    event->why ? event->why : "it does not answer");
    const char *why = event->why ? event->why : "it does not answer";
    cw_wcache_set_away(event->store, back ? NULL : why);
    cw_wcache_event_free(event);
    cw_report_soon(w);
}

static void take(struct cw_worker_state *w, struct cw_wcache_event *event)
{
    if (w->closing || event->store->retired) { /* in this order: at the end the store is freed */
        cw_wcache_event_free(event);
        return;
    }
    cw_fault_point("cache.event");
    switch (event->kind) {
    case CW_CACHE_LOST:
        take_lost(event);
        break;
    case CW_CACHE_STORE_UNAVAILABLE:
    case CW_CACHE_STORE_AVAILABLE:
        take_availability(w, event);
        break;
    case CW_CACHE_WRITTEN:
    case CW_CACHE_DAMAGED:
    case CW_CACHE_GONE:
    default:
        take_chunk(w, event);
    }
}

void cw_wcache_take_events(void *worker)
{
    struct cw_worker_state *w = worker;
    struct cw_wcache_event *list = atomic_exchange_explicit(&w->cache.happened, NULL,
                                                            memory_order_acq_rel),
                           *oldest = NULL;
    while (list) {
        struct cw_wcache_event *next = list->next;
        list->next = oldest;
        oldest = list;
        list = next;
    }
    while (oldest) {
        struct cw_wcache_event *next = oldest->next;
        take(w, oldest);
        oldest = next;
    }
}

void cw_wcache_drop_events(struct cw_worker_state *w, uint64_t cache_id)
{
    struct cw_wcache *c = &w->cache;
    size_t n = 0, sent = 0;
    for (size_t i = 0; i < c->events_n; i++) {
        if (c->events[i]->cache_id == cache_id) {
            cw_wcache_event_free(c->events[i]);
            continue;
        }
        sent += i < c->sent_n;
        c->events[n++] = c->events[i];
    }
    c->events_n = n;
    c->sent_n = sent;
}
