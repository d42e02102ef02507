/* SPDX-License-Identifier: Apache-2.0 */
/* Caches that end in the middle of something, and nodes that come and go. */
#include "records.h"

#include "fake_store.h"

static void free_cache(void *arg)
{
    cw_cache_free(arg, 0);
}

static bool is_stopping(struct cw_cache *cache)
{
    cw_mutex_lock(&cache->lock);
    bool is = cache->stop;
    cw_mutex_unlock(&cache->lock);
    return is;
}

static void test_free_while_writing(void **state)
{
    struct cw_thread thread = {0};
    struct fixture f;

    (void)state;
    fake_reset();
    fake_hold_puts(true);
    fixture_open(&f, "fake:map", (struct cw_cache_options){.chunk_bytes = 64 << 10});
    for (uint64_t id = 0; id < 600; id++)
        put_sample(f.node, id);
    WAIT_FOR(fake_puts_held() == 2);
    cw_thread_start(&thread, "free", free_cache, f.cache);
    WAIT_FOR(is_stopping(f.cache));
    fake_hold_puts(false);
    cw_thread_join(&thread);
    struct cw_cache_counts counts = counts_of(f.node);
    assert_int_equal(counts.put, 600);
    assert_int_equal(counts.written + counts.lost, 600);
    assert_int_equal(counts.lost, f.events.lost);
    assert_true(counts.written > 0);
    cw_cache_dataset_unref(f.node);
    fixture_fini_events(&f);
}

static void test_free_with_wait(void **state)
{
    struct fixture f;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:read", (struct cw_cache_options){0});
    for (uint64_t id = 0; id < 600; id++)
        put_sample(f.node, id);
    cw_cache_dataset_unref(f.node); /* what waits keeps the node */
    cw_cache_free(f.cache, 120000);
    assert_int_equal(f.events.written, 600);
    fixture_fini_events(&f);
}

/* When it waits for them. */
static void release_late(void *arg)
{
    struct cw_cache *cache = arg;

    while (!atomic_load(&cache->closed))
        cw_clock_sleep_ns(1000000);
    fake_release_reads(0);
}

static void test_free_with_reads(void **state)
{
    struct cw_thread thread = {0};
    uint64_t ids[100];
    struct fixture f;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:read", (struct cw_cache_options){0});
    for (uint64_t id = 0; id < 100; id++)
        put_sample(f.node, ids[id] = id);
    settle(&f);
    fake_hold_reads(true);
    cw_cache_prefetch(f.node, ids, 100);
    wait_pumped(&f); /* none is begun after those that are released */
    assert_true(fake_reads_held() > 0);
    cw_thread_start(&thread, "release", release_late, f.cache);
    fixture_close(&f, 0);
    cw_thread_join(&thread);
}

/* ---- what a node is ---- */

/* A new one knows nothing. The cache's threads may still have the former one in hand, then it is
 * found. */
static bool is_new(struct fixture *f, const struct cw_spec *spec)
{
    cw_cache_dataset_unref(f->node);
    f->node = cw_cache_dataset(f->cache, "", test_key(1), spec);
    return !cw_cache_has(f->node, 1);
}

static void test_nodes(void **state)
{
    CW_SPEC_AUTO spec = {0};
    struct fixture f;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:map", (struct cw_cache_options){0});
    test_spec(&spec);
    struct cw_cache_dataset *same = cw_cache_dataset(f.cache, "default", test_key(1), &spec);
    struct cw_cache_dataset *other = cw_cache_dataset(f.cache, "t2", test_key(1), &spec);
    assert_ptr_equal(same, f.node);
    assert_ptr_not_equal(other, f.node);
    assert_string_equal(cw_cache_dataset_tenant(other), "t2");
    assert_true(cw_hash_eq(cw_cache_dataset_key(other), test_key(1)));
    put_sample(f.node, 1);
    assert_int_equal(get_sample(other, 1), 0);
    settle(&f);
    const char *name = f.events.names[0];
    cw_cache_dataset_add(other, &name, 1); /* another tenant's: not ours */
    assert_true(cw_cache_dataset_is_loaded(other));
    assert_false(cw_cache_has(other, 1));
    cw_cache_dataset_unref(same);
    cw_cache_dataset_unref(f.node);
    f.node = cw_cache_dataset(f.cache, "", test_key(1), &spec);
    WAIT_FOR(is_new(&f, &spec));
    cw_cache_dataset_unref(other);
    fixture_close(&f, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_free_while_writing),
        cmocka_unit_test(test_free_with_wait),
        cmocka_unit_test(test_free_with_reads),
        cmocka_unit_test(test_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
