/* SPDX-License-Identifier: Apache-2.0 */
/* Which chunks made-up workers and jobs use and are told of, what workers tell, and quotas. */
#include "dispatcher/cache/cache_int.h"
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "unit/dispatcher/made_up.h"

static Cachew__V1__Cacheable *cacheable(const char *node, struct cw_hash key, bool asked,
                                        const char *why_not)
{
    Cachew__V1__Cacheable *c = cachew__v1__cacheable__unpack(NULL, 0, NULL);
    c->node = cw_mem_strdup(node);
    c->op = cw_mem_strdup("decode");
    c->why_not = cw_mem_strdup(why_not);
    c->asked = asked;
    c->ids = 100;
    c->key = (ProtobufCBinaryData){CW_WIRE_HASH_BYTES, cw_mem_new(CW_WIRE_HASH_BYTES)};
    cw_wire_hash_to(key, c->key.data);
    return c;
}

/* Nodes "read" (key 1), "aug" (no), "cached" (key 2, asked for). */
static struct cw_job *add_job(const char *id, const char *tenant)
{
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->tenant = cw_mem_strdup(tenant);
    info->items = 100;
    info->n_cacheable = 3;
    info->cacheable = CW_NEW_ARRAY(Cachew__V1__Cacheable *, 3);
    info->cacheable[0] = cacheable("read", KEY_1, false, "");
    info->cacheable[1] = cacheable("aug", KEY_1, true, "it is random");
    info->cacheable[2] = cacheable("cached", KEY_2, true, "");
    return made_up_job(id, options, info);
}

static void jobs_use_what_was_asked_and_chosen(void **state)
{
    (void)state;
    struct cw_job *job = add_job("j", "team");
    assert_int_equal(job->cache_uses_n, 1);
    assert_string_equal(job->cache_uses[0].node, "cached");
    assert_true(job->cache_uses[0].read && job->cache_uses[0].write);
    assert_string_equal(job->cache_uses[0].key->tenant->name, "team");
    cw_job_set_cached_node(job, "read");
    assert_int_equal(job->cache_uses_n, 2);
    assert_string_equal(job->cache_uses[0].node, "read");
    cw_job_set_cached_node(job, "aug"); /* it cannot be */
    assert_int_equal(job->cache_uses_n, 1);
    cw_job_set_cached_node(job, NULL);
    size_t n = 0;
    Cachew__V1__CacheUse **uses = cw_job_cache_uses(job, NULL, &n);
    assert_int_equal(n, 1);
    assert_string_equal(uses[0]->node, "cached");
    struct cw_hash key;
    assert_true(cw_wire_hash_from(uses[0]->key, &key) && cw_hash_eq(key, KEY_2));
    cw_mem_free(uses);
    made_up.cache->full = true;
    cw_cache_jobs_changed(made_up.cache);
    assert_true(job->cache_uses[0].read && !job->cache_uses[0].write);
}

static void workers_are_told_of_what_their_jobs_read(void **state)
{
    (void)state;
    struct cw_worker *w1 = made_up_worker(1, 1), *w2 = made_up_worker(2, 1);
    made_up_chunk("default", KEY_2, 0, 10, WALL);
    struct cw_job *job = add_job("j", ""), *other = add_job("k", "");
    cw_lease_fill_all(&made_up);
    struct cw_catalogue_key *key = cw_catalogue_find(made_up.cache->catalogue, "default", KEY_2);
    assert_int_equal(key->subscribers.n, 2);
    assert_int_equal(w1->cache_keys_n, 1);
    made_up_chunk("default", KEY_2, 1, 10, WALL);
    made_up_chunk("default", KEY_1, 1, 10, WALL); /* nobody reads it */
    assert_true(key->notify_due && key->added.n == 1);
    assert_false(cw_catalogue_find(made_up.cache->catalogue, "default", KEY_1)->notify_due);
    cw_catalogue_remove(
        cw_catalogue_chunk(made_up.cache->catalogue, made_up_name("default", KEY_2, 1)));
    cw_cache_notify_all(made_up.cache);
    assert_false(key->notify_due);
    assert_int_equal(key->added.n + key->removed.n, 0);
    cw_job_set_cached_node(job, "read");
    assert_int_equal(w2->cache_keys_n, 2);
    cw_job_set_cached_node(job, NULL);
    assert_int_equal(w2->cache_keys_n, 1);
    cw_job_free(job);
    assert_int_equal(w2->cache_keys_n, 1); /* the other job reads it */
    cw_job_free(other);
    assert_int_equal(w2->cache_keys_n, 0);
    assert_int_equal(key->subscribers.n, 0);
}

static void a_worker_that_went_is_forgotten(void **state)
{
    (void)state;
    struct cw_worker *worker = made_up_worker(1, 1);
    add_job("j", "");
    cw_lease_fill_all(&made_up);
    struct cw_catalogue_key *key = cw_catalogue_find(made_up.cache->catalogue, "default", KEY_2);
    assert_int_equal(key->subscribers.n, 1);
    cw_cache_worker_gone(worker);
    assert_int_equal(key->subscribers.n, 0);
    made_up_chunk("default", KEY_2, 1, 10, WALL);
    assert_false(key->notify_due);
}

static Cachew__V1__Progress *event(Cachew__V1__CacheEvent__Kind kind, const char *name,
                                   uint64_t bytes)
{
    static Cachew__V1__CacheEvent e, *events[] = {&e};
    static Cachew__V1__Progress progress;
    static char text[256], job[] = "j", node[] = "cached", why[] = "its checksum is wrong";
    snprintf(text, sizeof(text), "%s", name);
    cachew__v1__cache_event__init(&e);
    cachew__v1__progress__init(&progress);
    e.kind = kind;
    e.name = text;
    e.bytes = bytes;
    e.records = 10;
    e.cost_ns = 1000;
    e.job_id = job;
    e.node = node;
    e.why = why;
    progress.cache_events = events;
    progress.n_cache_events = 1;
    return &progress;
}

static void what_workers_tell(void **state)
{
    (void)state;
    struct cw_worker *worker = made_up_worker(1, 1);
    add_job("j", "");
    const char *name = made_up_name("default", KEY_2, 0);
    cw_cache_take_report(worker, event(CACHEW__V1__CACHE_EVENT__KIND__WRITTEN, name, 77));
    /* again after a reconnect */
    cw_cache_take_report(worker, event(CACHEW__V1__CACHE_EVENT__KIND__WRITTEN, name, 77));
    struct cw_catalogue_key *key = cw_catalogue_find(made_up.cache->catalogue, "default", KEY_2);
    assert_true(key->bytes == 77 && key->cost_ns == 1000 && key->cost_records == 10 &&
                key->ids == 100);
    assert_string_equal(key->node, "cached");
    assert_string_equal(key->op, "decode");
    cw_cache_take_report(worker,
                         event(CACHEW__V1__CACHE_EVENT__KIND__WRITTEN, "../../etc/passwd", 77));
    assert_int_equal(made_up.cache->catalogue->chunks_n, 1);
    cw_catalogue_chunk(made_up.cache->catalogue, name)->created_ms = 0; /* long ago */
    cw_cache_take_report(worker, event(CACHEW__V1__CACHE_EVENT__KIND__GONE, name, 0));
    assert_true(made_up.cache->catalogue->chunks_n == 0 && made_up.cache->catalogue->gone == 1);
    cw_cache_take_report(worker, event(CACHEW__V1__CACHE_EVENT__KIND__WRITTEN, name, 77));
    cw_cache_take_report(worker, event(CACHEW__V1__CACHE_EVENT__KIND__DAMAGED, name, 0));
    assert_int_equal(made_up.cache->catalogue->chunks_n, 0);
    assert_int_equal(made_up.cache->unsent_deletes.n, 1);
    cw_cache_take_report(worker, event(CACHEW__V1__CACHE_EVENT__KIND__DAMAGED, "etc/passwd", 0));
    assert_int_equal(made_up.cache->unsent_deletes.n, 1); /* such a file is never deleted */
}

static void quotas_are_kept(void **state)
{
    (void)state;
    struct cw_job *job = add_job("j", "team");
    made_up.cache->catalogue->quota = 1000;
    cw_catalogue_tenant(made_up.cache->catalogue, "team")->quota = 500;
    for (unsigned n = 0; n < 5; n++)
        made_up_chunk("team", KEY_1, n, 100, WALL);
    made_up.cache->due.quotas = true;
    cw_cache_enforce_quotas(made_up.cache);
    assert_int_equal(cw_catalogue_tenant(made_up.cache->catalogue, "team")->bytes, 400);
    assert_true(job->cache_uses[0].write);
    /* What is left is pinned: nothing can leave, nothing is written. */
    cw_catalogue_find(made_up.cache->catalogue, "team", KEY_1)->pinned = true;
    made_up_chunk("team", KEY_2, 0, 100, cw_clock_wall_ms());
    made_up.cache->due.quotas = true;
    cw_cache_enforce_quotas(made_up.cache);
    assert_true(cw_catalogue_tenant(made_up.cache->catalogue, "team")->full &&
                !made_up.cache->full);
    assert_true(job->cache_uses[0].read && !job->cache_uses[0].write);
    cw_catalogue_find(made_up.cache->catalogue, "team", KEY_1)->pinned = false;
    made_up.cache->quota_ms = 0;
    cw_cache_enforce_quotas(made_up.cache);
    assert_int_equal(cw_catalogue_tenant(made_up.cache->catalogue, "team")->bytes, 400);
    assert_true(!cw_catalogue_tenant(made_up.cache->catalogue, "team")->full &&
                job->cache_uses[0].write);
    /* All tenants together. */
    for (unsigned n = 0; n < 6; n++)
        made_up_chunk("other", KEY_1, n, 100, WALL);
    made_up.cache->due.quotas = true;
    cw_cache_enforce_quotas(made_up.cache);
    assert_int_equal(made_up.cache->catalogue->bytes, 800);
    assert_int_equal(made_up.cache->pending_deletes_n, 4);
    assert_int_equal(made_up.cache->catalogue->evicted, 4);
}

/* A job that fills the quota with what it reads keeps it: only what is above the quota itself
 * leaves. */
static void what_is_in_use_is_not_written_over_and_over(void **state)
{
    (void)state;
    struct cw_job *job = add_job("j", "");
    made_up.cache->catalogue->quota = 1000;
    for (unsigned n = 0; n < 12; n++)
        made_up_chunk("default", KEY_2, n, 100, WALL);
    made_up.cache->due.quotas = true;
    cw_cache_enforce_quotas(made_up.cache);
    assert_int_equal(made_up.cache->catalogue->bytes, 1000);
    assert_true(made_up.cache->full && !job->cache_uses[0].write);
    job->no_client_ms = 5; /* nobody runs it any more */
    made_up.cache->quota_ms = 0;
    cw_cache_enforce_quotas(made_up.cache);
    assert_int_equal(made_up.cache->catalogue->bytes, 800);
    assert_true(!made_up.cache->full && job->cache_uses[0].write);
}

/* A store that has no room for two chunks, of whatever is evicted, is full at once, with the reason. */
static void a_store_without_room_for_two_chunks_is_full(void **state)
{
    (void)state;
    struct cw_job *job = add_job("j", "");
    made_up.cache->store_total = (uint64_t)200 << 20;
    made_up.cache->store_free = (uint64_t)128 << 20;
    made_up.cache->due.quotas = true;
    cw_cache_enforce_quotas(made_up.cache);
    assert_true(made_up.cache->full && job->cache_uses[0].read && !job->cache_uses[0].write);
    assert_string_equal(made_up.cache->full_why, "the store has no room for two chunks of 64.0 MiB "
                                                 "(--cache-chunk-bytes)");
    /* One byte more is room. */
    made_up.cache->store_free++;
    made_up.cache->quota_ms = 0;
    cw_cache_enforce_quotas(made_up.cache);
    assert_true(!made_up.cache->full && job->cache_uses[0].write);
    assert_string_equal(made_up.cache->full_why, "");
    /* Smaller chunks fit, and the message tells their size. */
    made_up.cache->d->options.cache_chunk_bytes = (uint64_t)1536 << 10;
    made_up.cache->store_free = (uint64_t)8 << 20;
    made_up.cache->due.quotas = true;
    cw_cache_enforce_quotas(made_up.cache);
    assert_true(!made_up.cache->full && job->cache_uses[0].write);
    made_up.cache->store_free = 0;
    made_up.cache->due.quotas = true;
    cw_cache_enforce_quotas(made_up.cache);
    assert_true(made_up.cache->full);
    assert_non_null(strstr(made_up.cache->full_why, "two chunks of 1.5 MiB"));
}

/* The default cache, which has no row in state.db, knows when it was used as well. */
static void the_default_cache_knows_its_last_use(void **state)
{
    (void)state;
    struct cw_job *job = add_job("j", "");
    assert_true(job->cache == made_up.cache && made_up.cache->id == 0);
    made_up.cache->used_ms = 0;
    cw_cache_store_use(made_up.cache, false); /* as its timer does */
    const int64_t used_ms = made_up.cache->used_ms;
    assert_true(used_ms > 0);
    job->no_client_ms = 5; /* nobody runs it any more */
    cw_cache_store_use(made_up.cache, false);
    assert_true(made_up.cache->used_ms == used_ms);
    cw_cache_used_again(job);
    assert_true(made_up.cache->used_ms >= used_ms);
}

struct waiting {
    struct cw_cache_waiter waiter;
    int calls;
};

static void on_done(struct cw_cache_waiter *waiter)
{
    ((struct waiting *)(void *)waiter)->calls++;
}

/* Chunks leave the catalogue at once; who waits for their files is called when the last is done, with
 * the first error. */
static void who_waits_for_deletions_is_called_once(void **state)
{
    (void)state;
    struct waiting w = {.waiter = {.done = on_done, .left = 3}};
    for (unsigned n = 0; n < 2; n++)
        cw_cache_delete_chunk(made_up.cache, made_up_chunk("team", KEY_1, n, 100, WALL), &w.waiter);
    const char *name = made_up_name("team", KEY_1, 0);
    assert_int_equal(made_up.cache->catalogue->chunks_n, 0);
    assert_true(cw_cache_is_pending_delete(made_up.cache, name, false));
    cw_cache_waiter_done(&w.waiter, 0, "");
    assert_int_equal(w.calls, 0);
    cw_cache_answer_deletes(made_up.cache, CW_E_UNAVAILABLE, "stopping");
    assert_int_equal(w.calls, 1);
    assert_int_equal(w.waiter.rc, CW_E_UNAVAILABLE);
    assert_string_equal(w.waiter.why, "stopping");
    cw_cache_answer_deletes(made_up.cache, CW_E_UNAVAILABLE, "again");
    assert_int_equal(w.calls, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, made_up_begin_caching, made_up_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(jobs_use_what_was_asked_and_chosen),
        TEST(workers_are_told_of_what_their_jobs_read),
        TEST(a_worker_that_went_is_forgotten),
        TEST(what_workers_tell),
        TEST(quotas_are_kept),
        TEST(what_is_in_use_is_not_written_over_and_over),
        TEST(a_store_without_room_for_two_chunks_is_full),
        TEST(the_default_cache_knows_its_last_use),
        TEST(who_waits_for_deletions_is_called_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
