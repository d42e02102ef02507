/* SPDX-License-Identifier: Apache-2.0 */
/* Reads in flight, and ahead. */
#include "records.h"

#include "fake_store.h"

static void test_prefetch(void **state)
{
    uint64_t ids[400];
    struct fixture f;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:read?timeout=120s", (struct cw_cache_options){0});
    for (uint64_t id = 0; id < 400; id++)
        put_sample(f.node, ids[id] = id);
    settle(&f);
    fake_hold_reads(true);
    cw_cache_prefetch(f.node, ids, 400);
    wait_pumped(&f);
    size_t held = fake_reads_held();
    assert_true(held > 0 && held < 10); /* about 650 KB: neighbours are read together */
    cw_cache_prefetch(f.node, ids, 400);
    wait_pumped(&f);
    assert_int_equal(fake_reads_held(), held); /* they are under way */
    assert_int_equal(fake_release_reads(0), held);
    uint64_t begun = fake_reads_begun();
    for (uint64_t id = 0; id < 400; id++)
        assert_int_equal(get_sample(f.node, id), 1);
    assert_int_equal(fake_reads_begun(), begun);
    fixture_close(&f, 0);
}

/* What does not fit into memory is not read ahead, and what was read ahead and is not needed yet
 * stays. */
static void test_prefetch_is_bounded(void **state)
{
    struct cw_cache_options options = {.memory = 2 << 20, .chunk_bytes = 512 << 10};
    uint64_t ids[3000];
    struct fixture f;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:read", options);
    for (uint64_t id = 0; id < 3000; id++) {
        ids[id] = id;
        put_sample(f.node, id);
        if (id % 100 == 0)
            settle(&f);
    }
    settle(&f);
    WAIT_FOR(cw_cache_memory_used(f.cache) == 0);
    cw_cache_prefetch(f.node, ids, 3000);
    /* another thread may be about to begin the reads */
    WAIT_FOR(cw_cache_memory_used(f.cache) > options.memory / 2);
    assert_true(cw_cache_memory_used(f.cache) <= options.memory);
    fake_hold_reads(true);
    for (uint64_t id = 0; id < 100; id++)
        assert_int_equal(get_sample(f.node, id), 1); /* a read that would begin now would not end */
    fake_hold_reads(false);
    fake_release_reads(0);
    for (uint64_t id = 0; id < 3000; id++)
        /* a miss while all that has the memory is being read */
        WAIT_FOR(get_sample(f.node, id) == 1);
    assert_true(cw_cache_memory_used(f.cache) <= options.memory);
    for (uint64_t id = 5000; id < 5100; id++)
        put_sample(f.node, id); /* frames give way */
    assert_int_equal(counts_of(f.node).lost, 0);
    fixture_close(&f, 0);
}

struct one {
    struct cw_cache_dataset *node;
    uint64_t id;
};

static void get_one(void *arg, size_t no)
{
    const struct one *one = arg;

    (void)no;
    CW_ASSERT(get_sample(one->node, one->id) == 1);
}

static void release_soon(void *arg)
{
    (void)arg;
    while (!fake_reads_held())
        cw_clock_sleep_ns(1000000);
    fake_hold_reads(false);
    fake_release_reads(0);
}

static void want_at_once(struct fixture *f, uint64_t id)
{
    struct one one = {f->node, id};
    struct cw_thread thread = {0};

    put_sample(f->node, id);
    settle(f);
    uint64_t begun = fake_reads_begun();
    fake_hold_reads(true);
    cw_thread_start(&thread, "release", release_soon, NULL);
    crew(4, get_one, &one);
    cw_thread_join(&thread);
    assert_int_equal(fake_reads_begun(), begun + 1);
}

/* Several want a record at once: one read, and the time that they wait is counted (the read may
 * end before one of them waits). */
static void test_wait_for_one_read(void **state)
{
    struct fixture f;
    uint64_t id = 0;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:read?timeout=120s", (struct cw_cache_options){0});
    do
        want_at_once(&f, id++);
    while (counts_of(f.node).wait_ns == 0 && id < 1000);
    assert_true(counts_of(f.node).wait_ns > 0);
    fixture_close(&f, 0);
}

/* A read that does not end is a miss after the timeout; one that fails is a miss, too; both can
 * be tried again. */
static void test_slow_and_failing_reads(void **state)
{
    struct fixture f;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:read?timeout=50ms", (struct cw_cache_options){0});
    put_sample(f.node, 7);
    settle(&f);
    fake_hold_reads(true);
    assert_int_equal(get_sample(f.node, 7), 0);
    assert_int_equal(fake_release_reads(CW_E_TIMEOUT), 1);
    WAIT_FOR(events_of(&f.events, CW_CACHE_STORE_UNAVAILABLE) == 1);
    WAIT_FOR(events_of(&f.events, CW_CACHE_STORE_AVAILABLE) == 1);
    assert_int_equal(get_sample(f.node, 7), 0);
    assert_int_equal(fake_release_reads(CW_E_IO), 1);
    assert_int_equal(get_sample(f.node, 7), 0);
    assert_int_equal(fake_release_reads(0), 1); /* late, but there */
    fake_hold_reads(false);
    assert_int_equal(get_sample(f.node, 7), 1);
    assert_int_equal(counts_of(f.node).misses, 3);

    put_sample(f.node, 8);
    settle(&f);
    fake_hold_reads(true);
    /* three in a row, and nothing wrong with the store: it is the chunk */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(get_sample(f.node, 8), 0);
        assert_int_equal(fake_release_reads(CW_E_IO), 1);
    }
    WAIT_FOR(events_of(&f.events, CW_CACHE_DAMAGED) == 1);
    assert_int_equal(get_sample(f.node, 8), 0);
    fake_hold_reads(false);
    assert_int_equal(get_sample(f.node, 7), 1);
    fixture_close(&f, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefetch),
        cmocka_unit_test(test_prefetch_is_bounded),
        cmocka_unit_test(test_wait_for_one_read),
        cmocka_unit_test(test_slow_and_failing_reads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
