/* SPDX-License-Identifier: Apache-2.0 */
/* What the dispatcher is told of the cache. Events come from threads of the store and are taken
 * in on the loop. A chunk that was written is known to nobody else, so it is told until it can
 * be taken for heard: on the present stream, and a while ago. Whoever hears twice of it knows it
 * by its name; and if nobody hears, a scan of the store finds it. */
#include "worker/cache/worker_cache.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "wire/wire.h"
#include "worker/model/state.h"

#define EVENTS_MAX 100000
#define MESSAGE_EVENTS 1000
#define HEARD_MS 30000 /* a stream that lives so long after it has brought the message */

static void event_free(struct cw_wcache_event *event)
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

/* ---- from the store's threads ---- */

void cw_wcache_on_event(void *arg, const struct cw_cache_event *e)
{
    struct cw_wcache_store *store = arg;
    struct cw_worker *w = store->worker;
    struct cw_wcache_event *event = CW_NEW(struct cw_wcache_event);
    event->store = store;
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

/* ---- taken in ---- */

/* Who has it written: a job that is here, or the last one that was. */
static void name_writer(struct cw_worker *w, struct cw_wcache_key *key,
                        struct cw_wcache_event *event)
{
    for (size_t i = 0; i < w->turn_n; i++) {
        const struct cw_wjob *job = w->turn[i];
        for (size_t k = 0; job->cache.nodes && k < job->graph->n; k++) {
            if (job->cache.nodes[k].key != key || !job->cache.nodes[k].write)
                continue;
            event->job_id = cw_mem_strdup(job->id);
            event->node = cw_mem_strdup(job->graph->nodes[k].name);
            return;
        }
    }
    event->job_id = cw_mem_strdup(key->job_id);
    event->node = cw_mem_strdup(key->job_node);
}

static void keep(struct cw_worker *w, struct cw_wcache_event *event)
{
    struct cw_wcache *c = &w->cache;
    if (c->events_n >= EVENTS_MAX) {
        cw_log_warn("worker",
                    "the dispatcher is away for so long that it will not hear of chunk %s",
                    event->name);
        event_free(event);
        return;
    }
    CW_GROW(c->events, c->events_n, c->events_cap);
    c->events[c->events_n++] = event;
    cw_report_soon(w);
}

static void take_chunk(struct cw_worker *w, struct cw_wcache_event *event)
{
    struct cw_wcache_key *key = cw_wcache_key(w, event->tenant, event->key);
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

static void take_lost(struct cw_worker *w, struct cw_wcache_event *event)
{
    w->cache.lost += event->records;
    if (!cw_str_eq(w->cache.lost_why, event->why))
        cw_log_warn("worker", "%llu records were not cached: %s",
                    (unsigned long long)event->records, event->why ? event->why : "unknown reason");
    cw_mem_free(w->cache.lost_why);
    w->cache.lost_why = cw_steal(&event->why);
    event_free(event);
}

static void take_away(struct cw_worker *w, struct cw_wcache_event *event)
{
    bool back = event->kind == CW_CACHE_BACK;
    if (back)
        cw_log_info("worker", "the cache's store %s is back", event->store->url);
    else
        cw_log_warn("worker", "the cache's store %s is away: %s", event->store->url,
                    event->why ? event->why : "it does not answer");
    cw_mem_free(w->cache.away_why);
    w->cache.away_why = back ? NULL : cw_mem_strdup(event->why ? event->why : "it does not answer");
    event_free(event);
    cw_report_soon(w);
}

static void take(struct cw_worker *w, struct cw_wcache_event *event)
{
    if (event->store != w->cache.store || w->closing) {
        event_free(event);
        return;
    }
    cw_fault_point("cache.event");
    switch (event->kind) {
    case CW_CACHE_LOST:
        take_lost(w, event);
        break;
    case CW_CACHE_AWAY:
    case CW_CACHE_BACK:
        take_away(w, event);
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
    struct cw_worker *w = worker;
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

void cw_wcache_drop_events(struct cw_worker *w)
{
    for (size_t i = 0; i < w->cache.events_n; i++)
        event_free(w->cache.events[i]);
    w->cache.events_n = w->cache.sent_n = 0;
    cw_mem_free(w->cache.away_why);
    w->cache.away_why = NULL;
}

bool cw_wcache_is_told(const struct cw_worker *w)
{
    return w->cache.sent_n == w->cache.events_n;
}

bool cw_wcache_wrote_lately(const struct cw_worker *w, const char *name)
{
    for (size_t i = 0; i < w->cache.events_n; i++)
        if (w->cache.events[i]->kind == CW_CACHE_WRITTEN &&
            cw_str_eq(w->cache.events[i]->name, name))
            return true;
    return false;
}

/* ---- told ---- */

void cw_wcache_report_away(struct cw_worker *w)
{
    w->cache.sent_n = 0;
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&w->cache.keys, &i, &name, &value);)
        ((struct cw_wcache_key *)value)->told = (struct cw_cache_counts){0};
}

static void forget_heard(struct cw_wcache *c, int64_t now_ms)
{
    size_t n = 0;
    while (n < c->sent_n && now_ms - c->events[n]->sent_ms > HEARD_MS)
        event_free(c->events[n++]);
    for (size_t i = n; i < c->events_n; i++)
        c->events[i - n] = c->events[i];
    c->events_n -= n;
    c->sent_n -= n;
}

static Cachew__V1__CacheEvent *event_to(const struct cw_wcache_event *from)
{
    static char empty[] = "";
    Cachew__V1__CacheEvent *to = CW_NEW(Cachew__V1__CacheEvent);
    cachew__v1__cache_event__init(to);
    to->kind = from->kind == CW_CACHE_WRITTEN ? CACHEW__V1__CACHE_EVENT__KIND__WRITTEN
               : from->kind == CW_CACHE_GONE  ? CACHEW__V1__CACHE_EVENT__KIND__GONE
                                              : CACHEW__V1__CACHE_EVENT__KIND__DAMAGED;
    to->name = from->name;
    to->records = from->records;
    to->bytes = from->bytes;
    to->cost_ns = from->cost_ns;
    to->job_id = from->job_id ? from->job_id : empty;
    to->node = from->node ? from->node : empty;
    to->why = from->why ? from->why : empty;
    return to;
}

static void add_events(struct cw_wcache *c, Cachew__V1__Progress *progress, int64_t now_ms)
{
    forget_heard(c, now_ms);
    size_t n = CW_MIN(c->events_n - c->sent_n, (size_t)MESSAGE_EVENTS);
    progress->cache_events = CW_NEW_ARRAY(Cachew__V1__CacheEvent *, n);
    for (; n > 0; n--) {
        struct cw_wcache_event *event = c->events[c->sent_n++];
        event->sent_ms = now_ms;
        progress->cache_events[progress->n_cache_events++] = event_to(event);
    }
}

static Cachew__V1__CacheCounts *counts_to(const struct cw_wcache_key *key,
                                          const struct cw_cache_counts *c)
{
    Cachew__V1__CacheCounts *to = CW_NEW(Cachew__V1__CacheCounts);
    cachew__v1__cache_counts__init(to);
    to->key = (ProtobufCBinaryData){CW_WIRE_HASH_BYTES, cw_mem_new(CW_WIRE_HASH_BYTES)};
    cw_wire_hash_to(key->key, to->key.data);
    to->tenant = key->tenant;
    to->hits = c->hits;
    to->misses = c->misses;
    to->hit_bytes = c->hit_bytes;
    to->put = c->put;
    to->lost = c->lost;
    to->written = c->written;
    to->written_bytes = c->written_bytes;
    to->records = c->records;
    to->chunks = c->chunks;
    to->damaged = c->damaged;
    to->get_ns = c->get_ns;
    to->wait_ns = c->wait_ns;
    return to;
}

static bool is_same(const struct cw_cache_counts *a, const struct cw_cache_counts *b)
{
    return a->hits == b->hits && a->misses == b->misses && a->put == b->put && a->lost == b->lost &&
           a->written == b->written && a->records == b->records && a->chunks == b->chunks &&
           a->damaged == b->damaged && a->wait_ns == b->wait_ns;
}

static void add_counts(struct cw_worker *w, Cachew__V1__Progress *progress)
{
    const char *name;
    void *value;
    progress->cache = CW_NEW_ARRAY(Cachew__V1__CacheCounts *, w->cache.keys.n);
    for (size_t i = 0; cw_strmap_next(&w->cache.keys, &i, &name, &value);) {
        struct cw_wcache_key *key = value;
        struct cw_cache_counts now;
        cw_wcache_key_counts(key, &now);
        if (is_same(&now, &key->told))
            continue;
        key->told = now;
        progress->cache[progress->n_cache++] = counts_to(key, &now);
    }
}

static Cachew__V1__StoreState *state_to(struct cw_worker *w)
{
    static char empty[] = "";
    Cachew__V1__StoreState *to = CW_NEW(Cachew__V1__StoreState);
    cachew__v1__store_state__init(to);
    const struct cw_wcache_store *store = w->cache.store;
    to->away = w->cache.away_why != NULL;
    to->why = w->cache.away_why ? w->cache.away_why : empty;
    to->lost = w->cache.lost;
    to->lost_why = w->cache.lost_why ? w->cache.lost_why : empty;
    if (store->opening || !store->cache)
        return to;
    struct cw_store_rates r;
    cw_store_rates(cw_cache_store(store->cache), &r);
    to->reads = r.reads;
    to->read_bytes = r.read_bytes;
    to->read_ns = r.read_ns;
    to->writes = r.writes;
    to->write_bytes = r.write_bytes;
    to->write_ns = r.write_ns;
    to->errors = r.errors;
    return to;
}

void cw_wcache_report(struct cw_worker *w, Cachew__V1__Progress *progress, bool with_counts)
{
    if (!w->cache.store)
        return;
    cw_fault_point("cache.report");
    add_events(&w->cache, progress, cw_clock_ms());
    if (!with_counts)
        return;
    add_counts(w, progress);
    progress->store = state_to(w);
}

void cw_wcache_report_free(Cachew__V1__Progress *progress)
{
    for (size_t i = 0; i < progress->n_cache; i++) {
        cw_mem_free(progress->cache[i]->key.data);
        cw_mem_free(progress->cache[i]);
    }
    for (size_t i = 0; i < progress->n_cache_events; i++)
        cw_mem_free(progress->cache_events[i]);
    cw_mem_free(progress->cache);
    cw_mem_free(progress->cache_events);
    cw_mem_free(progress->store);
}
