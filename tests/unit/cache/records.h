/* SPDX-License-Identifier: Apache-2.0 */
/* Elements whose content follows from their id, and a cache that notes its events. */
#ifndef CW_TESTS_RECORDS_H
#define CW_TESTS_RECORDS_H

#include "support/cm.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/thread.h"
#include "cache/record/record_state.h"

#define DEADLINE_NS ((int64_t)120 * 1000000000)
#define NAMES_MAX 4096

struct events {
    struct cw_mutex lock;
    uint64_t n[CW_CACHE_STORE_AVAILABLE + 1];
    uint64_t lost, written; /* records */
    char *names[NAMES_MAX]; /* of chunks that were written */
    size_t names_n;
    char damaged[256], damaged_why[1024]; /* the last one */
};

static inline void on_event(void *arg, const struct cw_cache_event *event)
{
    struct events *events = arg;

    cw_mutex_lock(&events->lock);
    events->n[event->kind]++;
    if (event->kind == CW_CACHE_LOST)
        events->lost += event->records;
    if (event->kind == CW_CACHE_DAMAGED) {
        snprintf(events->damaged, sizeof(events->damaged), "%s", event->name);
        snprintf(events->damaged_why, sizeof(events->damaged_why), "%s", event->why);
    }
    if (event->kind == CW_CACHE_WRITTEN) {
        events->written += event->records;
        assert_true(events->names_n < NAMES_MAX);
        events->names[events->names_n++] = cw_mem_strdup(event->name);
    }
    cw_mutex_unlock(&events->lock);
}

static inline uint64_t events_of(struct events *events, enum cw_cache_event_kind kind)
{
    cw_mutex_lock(&events->lock);
    uint64_t n = events->n[kind];
    cw_mutex_unlock(&events->lock);
    return n;
}

static inline uint64_t events_lost(struct events *events)
{
    cw_mutex_lock(&events->lock);
    uint64_t n = events->lost;
    cw_mutex_unlock(&events->lock);
    return n;
}

struct fixture {
    struct events events;
    struct cw_cache *cache;
    struct cw_cache_dataset *node;
};

static inline struct cw_hash test_key(uint64_t n)
{
    return (struct cw_hash){0x1234, n};
}

static inline void test_spec(struct cw_spec *spec)
{
    int64_t any = -1, one = 1;

    *spec = (struct cw_spec){0};
    assert_int_equal(cw_spec_add(spec, "bytes", CW_DTYPE_U8, 1, &any, NULL), 0);
    assert_int_equal(cw_spec_add(spec, "id", CW_DTYPE_U64, 1, &one, NULL), 0);
}

static inline void fixture_open(struct fixture *f, const char *url, struct cw_cache_options options)
{
    struct cw_store *store;
    CW_SPEC_AUTO spec = {0};

    memset(f, 0, sizeof(*f));
    cw_mutex_init(&f->events.lock);
    assert_int_equal(cw_store_open(url, &store, NULL), 0);
    options.event = on_event;
    options.event_arg = &f->events;
    f->cache = cw_cache_new(store, &options);
    test_spec(&spec);
    f->node = cw_cache_dataset(f->cache, "", test_key(1), &spec);
}

static inline void fixture_fini_events(struct fixture *f)
{
    for (size_t i = 0; i < f->events.names_n; i++)
        cw_mem_free(f->events.names[i]);
    cw_mutex_fini(&f->events.lock);
}

static inline void fixture_close(struct fixture *f, int64_t wait_ms)
{
    cw_cache_dataset_unref(f->node);
    cw_cache_free(f->cache, wait_ms);
    fixture_fini_events(f);
}

/* ---- elements ---- */

struct sample {
    struct cw_element element;
    uint64_t id;
    unsigned char *bytes;
};

/* Small ones, some of more than a frame's end, now and then a large one. */
static inline size_t sample_size(uint64_t id)
{
    uint64_t h = cw_mix64(id + 77);

    return h % 64 == 0 ? 70000 + h % 100000 : h % 3000;
}

static inline void sample_init(struct sample *s, uint64_t id)
{
    size_t n = sample_size(id);

    memset(s, 0, sizeof(*s));
    s->id = id;
    s->bytes = cw_mem_new(n + 1);
    for (size_t i = 0; i < n; i++)
        s->bytes[i] = (unsigned char)(cw_mix64(id) >> i % 57);
    s->element.n = 2;
    s->element.fields[0] = (struct cw_view){
        .data = s->bytes, .bytes = n, .dtype = CW_DTYPE_U8, .rank = 1, .dims = {(int64_t)n}};
    s->element.fields[1] =
        (struct cw_view){.data = &s->id, .bytes = 8, .dtype = CW_DTYPE_U64, .rank = 1, .dims = {1}};
}

static inline void sample_fini(struct sample *s)
{
    cw_mem_free(s->bytes);
}

static inline void put_sample(struct cw_cache_dataset *node, uint64_t id)
{
    struct sample s;

    sample_init(&s, id);
    cw_cache_put(node, id, &s.element, 1000);
    sample_fini(&s);
}

/* No cmocka assertion: threads call it. */
static inline bool is_sample(const struct cw_element *element, uint64_t id)
{
    struct sample s;

    sample_init(&s, id);
    bool ok = element->n == 2 && element->fields[0].bytes == s.element.fields[0].bytes &&
              element->fields[0].rank == 1 &&
              element->fields[0].dims[0] == s.element.fields[0].dims[0] &&
              memcmp(element->fields[0].data, s.bytes, s.element.fields[0].bytes) == 0 &&
              element->fields[1].bytes == 8 && memcmp(element->fields[1].data, &id, 8) == 0;
    sample_fini(&s);
    return ok;
}

/* 1 found and right, 0 not found; -1 wrong */
static inline int get_sample(struct cw_cache_dataset *node, uint64_t id)
{
    struct cw_cache_pins hold = {0};
    struct cw_element element;
    int found = 0;

    if (cw_cache_get(node, id, &hold, &element) == CW_CACHE_HIT)
        found = is_sample(&element, id) ? 1 : -1;
    cw_cache_unpin(&hold);
    return found;
}

#define WAIT_FOR(condition)                                                                        \
    do {                                                                                           \
        int64_t deadline_ = cw_clock_ns() + DEADLINE_NS;                                           \
        while (!(condition) && cw_clock_ns() < deadline_)                                          \
            cw_clock_sleep_ns(1000000);                                                            \
        assert_true(condition);                                                                    \
    } while (0)

static inline void settle(struct fixture *f)
{
    cw_cache_flush(f->cache, NULL);
    WAIT_FOR(!cw_cache_is_writing(f->cache));
    WAIT_FOR(cw_cache_dataset_is_loaded(f->node));
}

static inline bool is_pumping(struct cw_cache *cache)
{
    cw_mutex_lock(&cache->budget.lock);
    bool is = cache->budget.pumping;
    cw_mutex_unlock(&cache->budget.lock);
    return is;
}

/* Of what was told, all that may be read by now has been begun, whichever thread does it. */
static inline void wait_pumped(struct fixture *f)
{
    bool seen = false; /* the keeper looks again and again */

    WAIT_FOR((seen = seen || !is_pumping(f->cache)));
}

static inline struct cw_cache_counts counts_of(const struct cw_cache_dataset *node)
{
    struct cw_cache_counts counts;

    cw_cache_counts(node, &counts);
    return counts;
}

/* n threads: fn(arg, number of the thread) */
#define THREADS_MAX 8
struct crew_member {
    struct cw_thread thread;
    void (*fn)(void *arg, size_t no);
    void *arg;
    size_t no;
};

static inline void crew_run(void *arg)
{
    struct crew_member *member = arg;

    member->fn(member->arg, member->no);
}

static inline void crew(size_t n, void (*fn)(void *arg, size_t no), void *arg)
{
    struct crew_member members[THREADS_MAX] = {0};

    for (size_t i = 0; i < n; i++) {
        members[i] = (struct crew_member){.fn = fn, .arg = arg, .no = i};
        cw_thread_start(&members[i].thread, "crew", crew_run, &members[i]);
    }
    for (size_t i = 0; i < n; i++)
        cw_thread_join(&members[i].thread);
}

#endif
