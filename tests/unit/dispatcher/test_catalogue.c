/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue of the cache with made-up chunks, and with made-up workers and jobs who is told of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "dispatcher/caching.h"

static struct cw_dispatcher d;
static struct cw_catalogue *catalogue;
#define WALL 1000000000000

static int setup(void **state)
{
    (void)state;
    memset(&d, 0, sizeof(d));
    d.loop = cw_loop_new();
    d.options = (struct cw_options){.silence_ms = 3000, .lease_ms = 2000, .max_jobs = 10, .deaths_max = 3, .cache_store = "mem:test"};
    d.options.cache_evict = cw_evict_find("lru");
    cw_caching_open(&d);
    d.caching->timer = cw_timer_new(d.loop, NULL, NULL);
    catalogue = d.caching->catalogue;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cw_fleet_close_all(&d);
    while (d.jobs)
        cw_job_free(d.jobs);
    cw_timer_free(d.tick);
    cw_timer_free(d.caching->timer);
    cw_strmap_fini(&d.jobs_by_id);
    cw_loop_free(d.loop);
    cw_caching_free(&d);
    return 0;
}

static const struct cw_hash key_1 = {1, 1}, key_2 = {2, 2};

/* The n-th chunk of a key: ten records. */
static const char *name_of(const char *tenant, struct cw_hash key, unsigned n)
{
    static char names[4][200];
    static int next;
    char text[CW_HASH_TEXT_BYTES], *name = names[next++ % 4];
    cw_hash_text(key, text);
    snprintf(name, 200, "%s/%s/%u-10-%016x.chunk", tenant, text, 10 * n, n + 1);
    return name;
}

static struct cw_catalogue_chunk *put(const char *tenant, struct cw_hash key, unsigned n, uint64_t bytes, int64_t created_ms)
{
    struct cw_catalogue_chunk *chunk = cw_catalogue_put(catalogue, name_of(tenant, key, n), bytes, created_ms);
    assert_non_null(chunk);
    return chunk;
}

static void sums_are_true(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 5; n++)
        put("a", key_1, n, 100, WALL + n);
    put("a", key_2, 0, 7, WALL);
    put("b", key_1, 0, 30, WALL);
    put("b", key_1, 0, 31, WALL); /* again, of another size */
    struct cw_catalogue_key *key = cw_catalogue_find(catalogue, "a", key_1);
    assert_true(key->chunks_n == 5 && key->records == 50 && key->bytes == 500 && key->created_ms == WALL);
    assert_int_equal(key->tenant->bytes, 507);
    assert_int_equal(cw_catalogue_tenant(catalogue, "b")->bytes, 31);
    assert_true(catalogue->bytes == 538 && catalogue->chunks_n == 7);
    cw_catalogue_remove(cw_catalogue_chunk(catalogue, name_of("a", key_1, 2)));
    cw_catalogue_remove(key->first);
    cw_catalogue_remove(key->last);
    assert_true(key->chunks_n == 2 && key->records == 20 && key->bytes == 200 && catalogue->bytes == 238);
    assert_null(cw_catalogue_chunk(catalogue, name_of("a", key_1, 2)));
    assert_string_equal(key->first->name, name_of("a", key_1, 1));
    assert_ptr_equal(key->first->next, key->last);
    assert_false(cw_catalogue_drop_key(key));
    cw_catalogue_remove(key->first);
    cw_catalogue_remove(key->first);
    assert_true(key->chunks_n == 0 && key->bytes == 0 && !key->first && !key->last);
    assert_true(cw_catalogue_drop_key(key));
    assert_null(cw_catalogue_find(catalogue, "a", key_1));
}

static void other_names_are_no_chunks(void **state)
{
    (void)state;
    static const char *const names[] = {
        "", "a", "a/b", "a/b/c.chunk", "/", "../../etc/passwd", "default/README", "default/00000000000000010000000000000001",
        "default/00000000000000010000000000000001/", "default/00000000000000010000000000000001/x.chunk",
        "default/00000000000000010000000000000001/0-10.chunk", "default/00000000000000010000000000000001/0-10-0000000000000001.chun",
        "default/00000000000000010000000000000001/0-10-0000000000000001.chunk.tmp",
        "default/00000000000000010000000000000001/-1-10-0000000000000001.chunk",
        "default/0000000000000001000000000000000/0-10-0000000000000001.chunk",
        "00000000000000010000000000000001/0-10-0000000000000001.chunk",
        ".hidden/00000000000000010000000000000001/0-10-0000000000000001.chunk",
        "a b/00000000000000010000000000000001/0-10-0000000000000001.chunk",
        "default/00000000000000010000000000000001/99999999999999999999999-10-0000000000000001.chunk",
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        if (cw_catalogue_put(catalogue, names[i], 1, WALL))
            fail_msg("\"%s\" was taken for a chunk", names[i]);
    }
    assert_true(catalogue->chunks_n == 0 && catalogue->keys.n == 0);
}

static uint64_t below(uint64_t *draw, uint64_t n)
{
    return cw_mix64(++*draw * 0x9e3779b97f4a7c15u) % n;
}

/* Chunks' names with bytes changed, cut, doubled: no crash, sums stay true, what is taken has a tenant and a key. */
static void mangled_names_do_no_harm(void **state)
{
    (void)state;
    uint64_t taken = 0, draw = 0;
    for (int round = 0; round < 20000; round++) {
        char name[256];
        snprintf(name, sizeof(name), "%s", name_of("tenant", key_1, (unsigned)round % 100));
        size_t n = strlen(name);
        for (uint64_t k = below(&draw, 3) + 1; k > 0; k--)
            name[below(&draw, n)] = (char)below(&draw, 256);
        if (below(&draw, 4) == 0)
            name[below(&draw, n)] = '\0';
        bool known = cw_catalogue_chunk(catalogue, name) != NULL;
        struct cw_catalogue_chunk *chunk = cw_catalogue_put(catalogue, name, 3, WALL);
        taken += chunk && !known;
        if (chunk)
            assert_true(cw_catalogue_is_tenant(chunk->key->tenant->name));
    }
    assert_int_equal(catalogue->chunks_n, taken);
    assert_int_equal(catalogue->bytes, 3 * taken);
}

static void tenants_names(void **state)
{
    (void)state;
    assert_true(cw_catalogue_is_tenant("") && cw_catalogue_is_tenant("team-a_1.x"));
    assert_false(cw_catalogue_is_tenant(".x") || cw_catalogue_is_tenant("a/b") || cw_catalogue_is_tenant("a b") || cw_catalogue_is_tenant("\xc3\xa4"));
    char tenant[CW_CATALOGUE_TENANT_MAX + 1], longest[CW_CATALOGUE_TENANT_MAX + 2];
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    assert_false(cw_catalogue_is_tenant(longest));
    uint64_t bytes = 0;
    struct cw_err err = {0};
    assert_int_equal(cw_options_tenant_quota("team=2K", tenant, sizeof(tenant), &bytes, &err), 0);
    assert_string_equal(tenant, "team");
    assert_int_equal(bytes, 2048);
    static const char *const bad[] = {"", "team", "team=", "=5", "team=x", "team=0", "te am=5", ".team=5"};
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++)
        assert_int_equal(cw_options_tenant_quota(bad[i], tenant, sizeof(tenant), &bytes, &err), CW_E_INVALID);
    cw_autofree char *text = cw_mem_printf("%s=5", longest);
    assert_int_equal(cw_options_tenant_quota(text, tenant, sizeof(tenant), &bytes, &err), CW_E_INVALID);
}

static void a_listing_corrects(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 4; n++)
        put("a", key_1, n, 10, WALL);
    cw_catalogue_scan_begin(catalogue);
    put("a", key_1, 1, 10, WALL); /* listed */
    put("a", key_1, 3, 12, WALL); /* listed, larger */
    put("a", key_1, 9, 10, WALL); /* listed, new */
    put("a", key_2, 0, 10, WALL); /* written meanwhile */
    assert_int_equal(cw_catalogue_scan_end(catalogue), 2);
    assert_int_equal(catalogue->bytes, 42);
    assert_null(cw_catalogue_chunk(catalogue, name_of("a", key_1, 0)));
    assert_non_null(cw_catalogue_chunk(catalogue, name_of("a", key_2, 0)));
}

static void totals_become_counts(void **state)
{
    (void)state;
    struct cw_catalogue_key *key = cw_catalogue_key(catalogue, "a", key_1);
    key->cost_ns = 1000;
    key->cost_records = 10;
    struct cw_catalogue_seen totals = {.hits = 5, .misses = 2, .lost = 1};
    assert_int_equal(cw_catalogue_count(key, 1, &totals, false), 1);
    totals = (struct cw_catalogue_seen){.hits = 8, .misses = 2, .lost = 3, .heard_ms = 50};
    assert_int_equal(cw_catalogue_count(key, 1, &totals, false), 2);
    assert_true(key->hits == 8 && key->misses == 2 && key->saved_ns == 800 && key->used_ms > 0);
    totals = (struct cw_catalogue_seen){.hits = 3, .heard_ms = 50}; /* it began anew */
    assert_int_equal(cw_catalogue_count(key, 1, &totals, false), 0);
    assert_int_equal(key->hits, 11);
    totals = (struct cw_catalogue_seen){.hits = 100, .heard_ms = 200}; /* it was counting before this dispatcher came */
    cw_catalogue_count(key, 2, &totals, true);
    assert_int_equal(key->hits, 11);
    totals.hits = 104;
    cw_catalogue_count(key, 2, &totals, true);
    assert_int_equal(key->hits, 15);
    cw_catalogue_tidy(catalogue, 250, 100);
    assert_int_equal(key->seen.n, 1);
}

static size_t pick(struct cw_catalogue_pick what, struct cw_catalogue_chunk ***ret_chunks)
{
    what.wall_ms = WALL + 100000;
    return cw_catalogue_pick(catalogue, &what, ret_chunks);
}

static void the_least_worth_leaves_first(void **state)
{
    (void)state;
    const struct cw_hash key_3 = {3, 3}, key_4 = {4, 4};
    for (unsigned n = 0; n < 3; n++) {
        put("a", key_1, n, 100, WALL + n);     /* used lately */
        put("a", key_2, n, 100, WALL + n);     /* not used for long */
        put("b", key_3, n, 100, WALL + n);     /* still less; pinned */
        put("b", key_4, n, 100, WALL + 95000); /* young */
    }
    cw_catalogue_find(catalogue, "a", key_1)->used_ms = WALL + 90000;
    cw_catalogue_find(catalogue, "a", key_2)->used_ms = WALL + 50000;
    cw_catalogue_find(catalogue, "b", key_3)->pinned = true;
    struct cw_catalogue_chunk **chunks;
    size_t n = pick((struct cw_catalogue_pick){.bytes = 350}, &chunks);
    assert_int_equal(n, 4);
    for (unsigned i = 0; i < 3; i++)
        assert_string_equal(chunks[i]->name, name_of("a", key_2, i));
    assert_string_equal(chunks[3]->name, name_of("a", key_1, 0));
    cw_mem_free(chunks);

    cw_catalogue_find(catalogue, "a", key_2)->readers = 1; /* now it leaves last */
    n = pick((struct cw_catalogue_pick){.bytes = 100000}, &chunks);
    assert_int_equal(n, 6);
    assert_ptr_equal(chunks[0]->key, cw_catalogue_find(catalogue, "a", key_1));
    assert_ptr_equal(chunks[5]->key, cw_catalogue_find(catalogue, "a", key_2));
    cw_mem_free(chunks);

    n = pick((struct cw_catalogue_pick){.bytes = 1, .tenant = cw_catalogue_tenant(catalogue, "b")}, &chunks);
    assert_int_equal(n, 0);
    cw_mem_free(chunks);
    n = pick((struct cw_catalogue_pick){.bytes = 1, .young = true, .tenant = cw_catalogue_tenant(catalogue, "b")}, &chunks);
    assert_int_equal(n, 1);
    cw_mem_free(chunks);
    n = pick((struct cw_catalogue_pick){.all = true}, &chunks);
    assert_int_equal(n, 9); /* young ones too, but not what is pinned */
    cw_mem_free(chunks);
    n = pick((struct cw_catalogue_pick){.key = cw_catalogue_find(catalogue, "b", key_4)}, &chunks);
    assert_int_equal(n, 3);
    cw_mem_free(chunks);
}

static void watermarks(void **state)
{
    (void)state;
    assert_int_equal(cw_catalogue_excess(949, 1000), 0);
    assert_int_equal(cw_catalogue_excess(950, 1000), 100);
    assert_int_equal(cw_catalogue_excess(2000, 1000), 1150);
    assert_int_equal(cw_catalogue_excess(5, 0), 5);
    assert_int_equal(cw_catalogue_excess(0, 0), 0);
    assert_int_equal(cw_catalogue_excess(UINT64_MAX - 1, UINT64_MAX), UINT64_MAX - 1 - UINT64_MAX / 100 * 85);
}

/* ---- with jobs and workers ---- */

static struct cw_worker *add_worker(uint64_t id)
{
    struct cw_worker *worker = CW_NEW(struct cw_worker);
    worker->d = &d;
    worker->id = id;
    worker->hello = true;
    worker->threads = 1;
    worker->address = cw_mem_strdup("worker");
    worker->only_job = cw_mem_strdup("");
    worker->next = d.workers;
    d.workers = worker;
    d.workers_n++;
    return worker;
}

static Cachew__V1__Cacheable *cacheable(const char *node, struct cw_hash key, bool asked, const char *why_not)
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
    Cachew__V1__Graph *graph = cachew__v1__graph__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->tenant = cw_mem_strdup(tenant);
    info->items = 100;
    info->n_cacheable = 3;
    info->cacheable = CW_NEW_ARRAY(Cachew__V1__Cacheable *, 3);
    info->cacheable[0] = cacheable("read", key_1, false, "");
    info->cacheable[1] = cacheable("aug", key_1, true, "it is random");
    info->cacheable[2] = cacheable("cached", key_2, true, "");
    struct cw_job *job = cw_job_new(&d, id, options, graph);
    struct cw_err err = {0};
    assert_int_equal(cw_job_set_info(job, info, &err), 0);
    job->status = CW_JOB_RUNNING;
    job->stored = job->want_fill = true;
    job->alone_ms = 0;
    return job;
}

static void jobs_use_what_was_asked_and_chosen(void **state)
{
    (void)state;
    struct cw_job *job = add_job("j", "team");
    assert_int_equal(job->uses_n, 1);
    assert_string_equal(job->uses[0].node, "cached");
    assert_true(job->uses[0].read && job->uses[0].write);
    assert_string_equal(job->uses[0].key->tenant->name, "team");
    cw_job_set_cached_node(job, "read");
    assert_int_equal(job->uses_n, 2);
    assert_string_equal(job->uses[0].node, "read");
    cw_job_set_cached_node(job, "aug"); /* it cannot be */
    assert_int_equal(job->uses_n, 1);
    cw_job_set_cached_node(job, NULL);
    size_t n = 0;
    Cachew__V1__CacheUse **uses = cw_job_cache_uses(job, &n);
    assert_int_equal(n, 1);
    assert_string_equal(uses[0]->node, "cached");
    struct cw_hash key;
    assert_true(cw_wire_hash_from(uses[0]->key, &key) && cw_hash_eq(key, key_2));
    cw_mem_free(uses);
    d.caching->full = true;
    cw_caching_jobs_changed(d.caching);
    assert_true(job->uses[0].read && !job->uses[0].write);
}

static void workers_are_told_of_what_their_jobs_read(void **state)
{
    (void)state;
    struct cw_worker *w1 = add_worker(1), *w2 = add_worker(2);
    put("default", key_2, 0, 10, WALL);
    struct cw_job *job = add_job("j", ""), *other = add_job("k", "");
    cw_lease_fill_all(&d);
    struct cw_catalogue_key *key = cw_catalogue_find(catalogue, "default", key_2);
    assert_int_equal(key->told_n, 2);
    assert_int_equal(w1->cache_keys_n, 1);
    put("default", key_2, 1, 10, WALL);
    put("default", key_1, 1, 10, WALL); /* nobody reads it */
    assert_true(key->tell_due && key->added.n == 1);
    assert_false(cw_catalogue_find(catalogue, "default", key_1)->tell_due);
    cw_catalogue_remove(cw_catalogue_chunk(catalogue, name_of("default", key_2, 1)));
    cw_caching_tell_all(d.caching);
    assert_false(key->tell_due);
    assert_int_equal(key->added.n + key->removed.n, 0);
    cw_job_set_cached_node(job, "read");
    assert_int_equal(w2->cache_keys_n, 2);
    cw_job_set_cached_node(job, NULL);
    assert_int_equal(w2->cache_keys_n, 1);
    cw_job_free(job);
    assert_int_equal(w2->cache_keys_n, 1); /* the other job reads it */
    cw_job_free(other);
    assert_int_equal(w2->cache_keys_n, 0);
    assert_int_equal(key->told_n, 0);
}

static void a_worker_that_went_is_forgotten(void **state)
{
    (void)state;
    struct cw_worker *worker = add_worker(1);
    add_job("j", "");
    cw_lease_fill_all(&d);
    struct cw_catalogue_key *key = cw_catalogue_find(catalogue, "default", key_2);
    assert_int_equal(key->told_n, 1);
    cw_caching_worker_gone(worker);
    assert_int_equal(key->told_n, 0);
    put("default", key_2, 1, 10, WALL);
    assert_false(key->tell_due);
}

static Cachew__V1__Progress *event(Cachew__V1__CacheEvent__Kind kind, const char *name, uint64_t bytes)
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
    struct cw_worker *worker = add_worker(1);
    add_job("j", "");
    const char *name = name_of("default", key_2, 0);
    cw_caching_heard(worker, event(CACHEW__V1__CACHE_EVENT__KIND__WRITTEN, name, 77));
    cw_caching_heard(worker, event(CACHEW__V1__CACHE_EVENT__KIND__WRITTEN, name, 77)); /* again after a reconnect */
    struct cw_catalogue_key *key = cw_catalogue_find(catalogue, "default", key_2);
    assert_true(key->bytes == 77 && key->cost_ns == 1000 && key->cost_records == 10 && key->ids == 100);
    assert_string_equal(key->node, "cached");
    assert_string_equal(key->op, "decode");
    cw_caching_heard(worker, event(CACHEW__V1__CACHE_EVENT__KIND__WRITTEN, "../../etc/passwd", 77));
    assert_int_equal(catalogue->chunks_n, 1);
    cw_caching_heard(worker, event(CACHEW__V1__CACHE_EVENT__KIND__GONE, name, 0));
    assert_true(catalogue->chunks_n == 0 && catalogue->gone == 1);
    cw_caching_heard(worker, event(CACHEW__V1__CACHE_EVENT__KIND__WRITTEN, name, 77));
    cw_caching_heard(worker, event(CACHEW__V1__CACHE_EVENT__KIND__DAMAGED, name, 0));
    assert_int_equal(catalogue->chunks_n, 0);
    assert_int_equal(d.caching->doom.n, 1);
    cw_caching_heard(worker, event(CACHEW__V1__CACHE_EVENT__KIND__DAMAGED, "etc/passwd", 0));
    assert_int_equal(d.caching->doom.n, 1); /* such a file is never deleted */
}

static void quotas_are_kept(void **state)
{
    (void)state;
    struct cw_job *job = add_job("j", "team");
    catalogue->quota = 1000;
    cw_catalogue_tenant(catalogue, "team")->quota = 500;
    for (unsigned n = 0; n < 5; n++)
        put("team", key_1, n, 100, WALL);
    d.caching->quota_due = true;
    cw_caching_quota(d.caching);
    assert_int_equal(cw_catalogue_tenant(catalogue, "team")->bytes, 400);
    assert_true(job->uses[0].write);
    /* What is left is pinned: nothing can leave, nothing is written. */
    cw_catalogue_find(catalogue, "team", key_1)->pinned = true;
    put("team", key_2, 0, 100, cw_clock_wall_ms());
    d.caching->quota_due = true;
    cw_caching_quota(d.caching);
    assert_true(cw_catalogue_tenant(catalogue, "team")->full && !d.caching->full);
    assert_true(job->uses[0].read && !job->uses[0].write);
    cw_catalogue_find(catalogue, "team", key_1)->pinned = false;
    d.caching->quota_ms = 0;
    cw_caching_quota(d.caching);
    assert_int_equal(cw_catalogue_tenant(catalogue, "team")->bytes, 400);
    assert_true(!cw_catalogue_tenant(catalogue, "team")->full && job->uses[0].write);
    /* All tenants together. */
    for (unsigned n = 0; n < 6; n++)
        put("other", key_1, n, 100, WALL);
    d.caching->quota_due = true;
    cw_caching_quota(d.caching);
    assert_int_equal(catalogue->bytes, 800);
    assert_int_equal(d.caching->doomed_n, 4);
    assert_int_equal(catalogue->evicted, 4);
}

/* A job that fills the quota with what it reads keeps it: only what is above the quota itself leaves. */
static void what_is_in_use_is_not_written_over_and_over(void **state)
{
    (void)state;
    struct cw_job *job = add_job("j", "");
    catalogue->quota = 1000;
    for (unsigned n = 0; n < 12; n++)
        put("default", key_2, n, 100, WALL);
    d.caching->quota_due = true;
    cw_caching_quota(d.caching);
    assert_int_equal(catalogue->bytes, 1000);
    assert_true(d.caching->full && !job->uses[0].write);
    job->alone_ms = 5; /* nobody runs it any more */
    d.caching->quota_ms = 0;
    cw_caching_quota(d.caching);
    assert_int_equal(catalogue->bytes, 800);
    assert_true(!d.caching->full && job->uses[0].write);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sums_are_true),
        TEST(other_names_are_no_chunks),
        TEST(mangled_names_do_no_harm),
        TEST(tenants_names),
        TEST(a_listing_corrects),
        TEST(totals_become_counts),
        TEST(the_least_worth_leaves_first),
        TEST(watermarks),
        TEST(jobs_use_what_was_asked_and_chosen),
        TEST(workers_are_told_of_what_their_jobs_read),
        TEST(a_worker_that_went_is_forgotten),
        TEST(what_workers_tell),
        TEST(quotas_are_kept),
        TEST(what_is_in_use_is_not_written_over_and_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
