/* SPDX-License-Identifier: Apache-2.0 */
/* Reports events of the cache to the dispatcher. Nobody else knows a chunk that this worker has
 * written, so its event is sent again until the dispatcher has surely received it: it was sent on
 * the present stream, and some time ago. A dispatcher that gets an event twice recognizes the chunk
 * by its name, or lists the store if it does not know that chunk; if it gets none, a listing of the
 * store finds the chunk. */
#include "worker/cache/cache_report.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "wire/wire.h"
#include "worker/cache/cache_events.h"
#include "worker/cache/cache_keys.h"

#define MESSAGE_EVENTS 1000
/* a stream that is still up this long after a message was sent has delivered it */
#define DELIVERED_MS 30000

void cw_wcache_report_detached(struct cw_worker_state *w)
{
    w->cache.sent_n = 0;
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&w->cache.keys, &i, &name, &value);)
        ((struct cw_wcache_key *)value)->reported = (struct cw_cache_counts){0};
}

static void drop_delivered(struct cw_wcache *c, int64_t now_ms)
{
    size_t n = 0;
    while (n < c->sent_n && now_ms - c->events[n]->sent_ms > DELIVERED_MS)
        cw_wcache_event_free(c->events[n++]);
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
    to->again = from->sent_ms > 0;
    to->cache = from->cache_id;
    return to;
}

static void add_events(struct cw_wcache *c, Cachew__V1__Progress *progress, int64_t now_ms)
{
    drop_delivered(c, now_ms);
    size_t n = CW_MIN(c->events_n - c->sent_n, (size_t)MESSAGE_EVENTS);
    progress->cache_events = CW_NEW_ARRAY(Cachew__V1__CacheEvent *, n);
    for (; n > 0; n--) {
        struct cw_wcache_event *event = c->events[c->sent_n++];
        progress->cache_events[progress->n_cache_events++] = event_to(event);
        event->sent_ms = now_ms;
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
    to->cache = key->cache_id;
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

static void add_counts(struct cw_worker_state *w, Cachew__V1__Progress *progress)
{
    const char *name;
    void *value;
    progress->cache = CW_NEW_ARRAY(Cachew__V1__CacheCounts *, w->cache.keys.n);
    for (size_t i = 0; cw_strmap_next(&w->cache.keys, &i, &name, &value);) {
        struct cw_wcache_key *key = value;
        struct cw_cache_counts now;
        cw_wcache_key_counts(key, &now);
        if (is_same(&now, &key->reported))
            continue;
        key->reported = now;
        progress->cache[progress->n_cache++] = counts_to(key, &now);
    }
}

static Cachew__V1__StoreState *state_to(const struct cw_wcache_store *store)
{
    static char empty[] = "";
    Cachew__V1__StoreState *to = CW_NEW(Cachew__V1__StoreState);
    cachew__v1__store_state__init(to);
    to->cache = store->id;
    to->away = store->unavailable_why != NULL;
    to->why = store->unavailable_why ? store->unavailable_why : empty;
    to->lost = store->lost;
    to->lost_why = store->lost_why ? store->lost_why : empty;
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

static void add_named_stores(const struct cw_worker_state *w, Cachew__V1__Progress *progress)
{
    size_t n = 0;
    for (const struct cw_wcache_store *store = w->cache.named; store; store = store->next)
        n++;
    progress->named_stores = CW_NEW_ARRAY(Cachew__V1__StoreState *, n);
    for (const struct cw_wcache_store *store = w->cache.named; store; store = store->next)
        progress->named_stores[progress->n_named_stores++] = state_to(store);
}

/* A dispatcher that does not get them asks again when this worker is back. */
static void add_left(struct cw_wcache *c, Cachew__V1__Progress *progress)
{
    progress->caches_left = cw_steal(&c->left);
    progress->n_caches_left = c->left_n;
    c->left_n = c->left_cap = 0;
}

void cw_wcache_report(struct cw_worker_state *w, Cachew__V1__Progress *progress, bool with_counts)
{
    add_left(&w->cache, progress);
    if (!w->cache.store && !w->cache.named && w->cache.events_n == 0)
        return;
    cw_fault_point("cache.report");
    add_events(&w->cache, progress, cw_clock_ms());
    if (!with_counts)
        return;
    add_counts(w, progress);
    if (w->cache.store)
        progress->store = state_to(w->cache.store);
    add_named_stores(w, progress);
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
    for (size_t i = 0; i < progress->n_named_stores; i++)
        cw_mem_free(progress->named_stores[i]);
    cw_mem_free(progress->named_stores);
    cw_mem_free(progress->caches_left);
}
