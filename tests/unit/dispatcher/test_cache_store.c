/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of deletions when the store fails, and what workers tell of it. */
#include <stdio.h>
#include <string.h>

#include "dispatcher/cache/cache_int.h"
#include "support/soon.h"
#include "unit/dispatcher/peers.h"

/* ---- deletions ---- */
struct waiting {
    struct cw_cache_waiter waiter;
    int calls;
};

static void on_done(struct cw_cache_waiter *waiter)
{
    ((struct waiting *)(void *)waiter)->calls++;
}

/* A chunk that is being deleted: the store was asked, and has not answered. */
static const char *begin_delete(struct waiting *waiting, unsigned n)
{
    const char *name = made_up_name("default", KEY_1, n);
    struct cw_cache_service *cache = made_up.cache;
    *waiting = (struct waiting){.waiter = {.left = 1, .done = on_done}};
    cw_cache_delete_chunk(cache, made_up_chunk("default", KEY_1, n, 100, WALL), &waiting->waiter);
    assert_null(cw_catalogue_chunk(cache->catalogue, name));
    cw_cache_send_deletes(cache);
    assert_int_equal(waiting->calls, 0);
    return name;
}

static void the_store_says_what_became_of_it(void **state)
{
    (void)state;
    static const struct {
        int rc;
        bool again; /* it is asked again later */
    } cases[] = {{0, false}, {CW_E_IO, false}, {CW_E_UNAVAILABLE, true}, {CW_E_TIMEOUT, true}};
    struct cw_cache_service *cache = made_up.cache;
    peers_turn();
    cache->scanning = false; /* the first listing is done */
    for (unsigned i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct waiting waiting;
        const char *name = begin_delete(&waiting, i);
        cw_cache_deleted(cache, name, cases[i].rc, "so it is");
        assert_int_equal(waiting.calls, 1);
        assert_int_equal(waiting.waiter.rc, cases[i].rc);
        assert_string_equal(waiting.waiter.why, cases[i].rc ? "so it is" : "");
        assert_int_equal(cw_cache_is_pending_delete(cache, name, false), cases[i].again);
        cw_cache_deleted(cache, name, 0, ""); /* nobody waits for that any more */
        assert_int_equal(waiting.calls, 1);
        assert_int_equal(cw_cache_is_pending_delete(cache, name, false), cases[i].again);
        cw_cache_send_deletes(cache); /* the store is back */
        cw_cache_deleted(cache, name, 0, "");
        assert_false(cw_cache_is_pending_delete(cache, name, false));
        assert_int_equal(cache->pending_deletes_n, 0);
    }
}

static void nothing_is_asked_of_a_store_that_is_away(void **state)
{
    (void)state;
    struct waiting waiting = {.waiter = {.left = 1, .done = on_done}};
    struct cw_cache_service *cache = made_up.cache;
    const char *name = made_up_name("default", KEY_1, 0);
    cache->unavailable = true;
    cw_cache_delete_name(cache, name, &waiting.waiter);
    cw_cache_send_deletes(cache);
    cw_cache_deleted(cache, name, 0, ""); /* it was not asked */
    assert_int_equal(waiting.calls, 0);
    cw_cache_answer_deletes(cache, CW_E_UNAVAILABLE, "the dispatcher is stopping");
    assert_int_equal(waiting.calls, 1);
    assert_int_equal(waiting.waiter.rc, CW_E_UNAVAILABLE);
    cache->unavailable = false;
    assert_true(cw_cache_is_pending_delete(cache, name, false));
}

static void what_is_written_meanwhile_is_looked_for(void **state)
{
    (void)state;
    struct waiting waiting;
    struct cw_cache_service *cache = made_up.cache;
    peers_turn();
    cache->scanning = false;
    const char *name = begin_delete(&waiting, 0);
    assert_true(cw_cache_is_pending_delete(cache, name, true)); /* a worker wrote it again */
    cw_cache_looked(cache, name, 0, 30);
    assert_int_equal(cache->catalogue->chunks_n, 0); /* it will be deleted */
    cw_cache_deleted(cache, name, 0, "");
    assert_false(cw_cache_is_pending_delete(cache, name, false));
    cw_cache_looked(cache, name, 0, 30); /* it was written after that */
    assert_int_equal(cache->catalogue->bytes, 30);
    cw_cache_looked(cache, name, CW_E_NOT_FOUND, 0);
    assert_int_equal(cache->catalogue->chunks_n, 0);
    cache->due.listing = false;
    cw_cache_looked(cache, name, CW_E_NOT_FOUND, 0);
    assert_false(cache->due.listing);
    cw_cache_looked(cache, name, CW_E_IO, 0);
    assert_true(cache->due.listing);
    /* one whose deletion is done while a listing is under way may be in that listing */
    name = begin_delete(&waiting, 1);
    cache->scanning = true;
    cw_cache_deleted(cache, name, 0, "");
    assert_true(cw_cache_is_pending_delete(cache, name, false));
    cache->catalogue->scan++; /* not in the next one */
    assert_false(cw_cache_is_pending_delete(cache, name, false));
}

/* A worker whose report is late, or comes a second time, does not bring back a chunk that was deleted
 * after it was written. */
static void late_reports_are_not_believed(void **state)
{
    (void)state;
    struct waiting waiting;
    struct cw_cache_service *cache = made_up.cache;
    struct cw_worker *worker = made_up_worker(1, 1);
    Cachew__V1__CacheEvent event = CACHEW__V1__CACHE_EVENT__INIT, *events[] = {&event};
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    peers_turn();
    cache->scanning = false;
    cw_autofree char *name = cw_mem_strdup(begin_delete(&waiting, 0));
    progress.n_cache_events = 1;
    progress.cache_events = events;
    event.kind = CACHEW__V1__CACHE_EVENT__KIND__WRITTEN;
    event.name = name;
    event.bytes = 30;
    cw_cache_deleted(cache, name, 0, "");
    cw_cache_take_report(worker, &progress);
    assert_int_equal(cache->catalogue->chunks_n, 0); /* the store is asked */
    cw_cache_forget_deletes(cache, cw_clock_ms() + 61000);
    cw_cache_take_report(worker, &progress);
    assert_int_equal(cache->catalogue->bytes, 30);
    /* nor does one that did not find it before it was written */
    event.kind = CACHEW__V1__CACHE_EVENT__KIND__GONE;
    cw_cache_take_report(worker, &progress);
    assert_int_equal(cache->catalogue->bytes, 30);
    cw_catalogue_chunk(cache->catalogue, name)->created_ms -= 61000;
    cw_cache_take_report(worker, &progress);
    assert_int_equal(cache->catalogue->bytes, 0);
}

/* ---- what workers tell ---- */
static void of_the_store(void **state)
{
    (void)state;
    struct cw_worker *worker = made_up_worker(1, 1);
    Cachew__V1__StoreState store = CACHEW__V1__STORE_STATE__INIT;
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    char none[] = "", why[] = "it hangs", full[] = "the disk is full";
    progress.store = &store;
    store.why = none;
    cw_cache_take_report(worker, &progress);
    assert_false(worker->store_state->away);
    store.away = true;
    store.why = why;
    cw_cache_take_report(worker, &progress);
    cw_cache_take_report(worker, &progress);
    assert_true(worker->store_state->away);
    assert_string_equal(worker->store_state->why, "it hangs");
    assert_false(made_up.cache->unavailable); /* that is the dispatcher's own */
    store.away = false;
    store.lost_why = full;
    cw_cache_take_report(worker, &progress);
    assert_false(worker->store_state->away);
    assert_string_equal(made_up.cache->lost_why, "the disk is full");
}

static void of_chunks_that_vanish(void **state)
{
    (void)state;
    struct cw_worker *worker = made_up_worker(1, 1);
    Cachew__V1__CacheEvent event = CACHEW__V1__CACHE_EVENT__INIT, *events[] = {&event};
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    progress.n_cache_events = 1;
    progress.cache_events = events;
    event.kind = CACHEW__V1__CACHE_EVENT__KIND__GONE;
    made_up.cache->due.listing = false;
    for (unsigned n = 0; n < 17; n++) {
        assert_false(made_up.cache->due.listing);
        struct cw_catalogue_chunk *chunk = made_up_chunk("default", KEY_1, n, 10, WALL);
        cw_autofree char *name = cw_mem_strdup(chunk->name);
        event.name = name;
        cw_cache_take_report(worker, &progress);
        cw_cache_take_report(worker, &progress); /* it is known to be gone */
    }
    assert_true(made_up.cache->due.listing); /* so many: who knows what else is */
    assert_int_equal(made_up.cache->catalogue->gone, 17);
}

/* A chunk that was written before the stream broke: the first report may have come, and the chunk may
 * have been evicted since. The store is asked for this one file, and not for all that it has. */
static void of_chunks_told_again(void **state)
{
    (void)state;
    struct cw_worker *worker = made_up_worker(1, 1);
    Cachew__V1__CacheEvent event = CACHEW__V1__CACHE_EVENT__INIT, *events[] = {&event};
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    struct cw_cache_service *cache = made_up.cache;
    cw_autofree char *name = cw_mem_strdup(made_up_name("default", KEY_1, 0));
    peers_turn();
    cache->scanning = cache->due.listing = false; /* the first listing is done */
    uint64_t listings = cache->catalogue->scan;
    progress.n_cache_events = 1;
    progress.cache_events = events;
    event.kind = CACHEW__V1__CACHE_EVENT__KIND__WRITTEN;
    event.name = name;
    event.bytes = 30;
    cw_cache_take_report(worker, &progress);
    event.again = true;
    cw_cache_take_report(worker, &progress); /* it is known */
    assert_int_equal(cache->catalogue->bytes, 30);
    cw_catalogue_remove(cw_catalogue_chunk(cache->catalogue, name));
    cw_cache_take_report(worker, &progress);
    assert_int_equal(cache->catalogue->bytes, 30);
    assert_false(cache->due.listing);
    soon((peers_turn(), cache->catalogue->chunks_n == 0)); /* the store has no such file */
    assert_true(!cache->due.listing && cache->catalogue->scan == listings);
}

static void of_keys(void **state)
{
    (void)state;
    struct cw_worker *worker = made_up_worker(1, 1);
    Cachew__V1__CacheCounts counts = CACHEW__V1__CACHE_COUNTS__INIT, *list[] = {&counts};
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    uint8_t key[CW_WIRE_HASH_BYTES];
    char tenant[] = "default", bad[] = "a/b";
    made_up_chunk("default", KEY_1, 0, 10, WALL);
    progress.n_cache = 1;
    progress.cache = list;
    counts.hits = 5, counts.misses = 2, counts.lost = 3;
    counts.tenant = tenant;
    counts.key = (ProtobufCBinaryData){3, key}; /* no hash */
    cw_cache_take_report(worker, &progress);
    cw_wire_hash_to(KEY_2, key);
    counts.key.len = sizeof(key);
    cw_cache_take_report(worker, &progress); /* of a key that is not there */
    cw_wire_hash_to(KEY_1, key);
    counts.tenant = bad;
    cw_cache_take_report(worker, &progress);
    const struct cw_catalogue_key *found =
        cw_catalogue_find(made_up.cache->catalogue, "default", KEY_1);
    assert_int_equal(found->hits, 0);
    counts.tenant = tenant;
    cw_cache_take_report(worker, &progress);
    cw_cache_take_report(worker, &progress); /* totals */
    assert_true(found->hits == 5 && found->misses == 2 && made_up.cache->lost == 3);
    assert_int_equal(made_up.cache->lost_logged, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, peers_begin_caching, peers_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_store_says_what_became_of_it),
        TEST(nothing_is_asked_of_a_store_that_is_away),
        TEST(what_is_written_meanwhile_is_looked_for),
        TEST(late_reports_are_not_believed),
        TEST(of_the_store),
        TEST(of_chunks_that_vanish),
        TEST(of_chunks_told_again),
        TEST(of_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
