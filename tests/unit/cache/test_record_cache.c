/* SPDX-License-Identifier: Apache-2.0 */
/* What a cache promises, with a store that does as it is told. */
#include "records.h"

#include "fake_store.h"

#define N 3000
#define CREW 4

enum ids { IDS_SEQUENTIAL, IDS_SHUFFLED, IDS_FAR };
struct run {
    struct cw_cache_dataset *node;
    enum ids ids;
    /* a record that is just moving from its block to a chunk may not be found; but a moment
     * later */
    bool may_miss;
    atomic_size_t hits, wrong;
};

static uint64_t id_at(enum ids ids, uint64_t i)
{
    struct cw_perm perm;

    if (ids == IDS_SEQUENTIAL)
        return i;
    if (ids == IDS_FAR)
        return cw_mix64(i + 12345);
    cw_perm_init(&perm, N, 1, 2, 3, 4);
    return cw_perm_at(&perm, i);
}

/* Every id is put by two threads. */
static void fill(void *arg, size_t no)
{
    struct run *run = arg;

    for (uint64_t i = no / 2; i < N; i += CREW / 2)
        put_sample(run->node, id_at(run->ids, i));
}

static void read_back(void *arg, size_t no)
{
    struct run *run = arg;

    for (uint64_t i = no; i < N; i += CREW) {
        int found = get_sample(run->node, id_at(run->ids, i));

        if (found == 0 && run->may_miss)
            found = get_sample(run->node, id_at(run->ids, i));
        atomic_fetch_add(&run->hits, found == 1);
        atomic_fetch_add(&run->wrong, found < 0);
    }
}

static void expect(struct cw_cache_dataset *node, enum ids ids, bool may_miss)
{
    struct run run = {.node = node, .ids = ids, .may_miss = may_miss};

    crew(CREW, read_back, &run);
    assert_int_equal(run.wrong, 0);
    assert_int_equal(run.hits, N);
}

static void expect_all(struct cw_cache_dataset *node, enum ids ids)
{
    expect(node, ids, false);
}

static void add_all(struct cw_cache_dataset *node)
{
    for (size_t i = 0; i < fake_files(); i++) {
        const char *name = fake_name(i);

        cw_cache_dataset_add(node, &name, 1);
    }
    WAIT_FOR(cw_cache_dataset_is_loaded(node));
}

static void fill_and_read(const char *url, enum ids ids, int level)
{
    struct cw_cache_options options = {.memory = 64 << 20, .chunk_bytes = 1 << 20, .level = level};
    struct fixture f, other;

    fake_reset();
    fixture_open(&f, url, options);
    struct run run = {.node = f.node, .ids = ids};
    crew(CREW, fill, &run);
    expect(f.node, ids, true); /* whether they wait still or are written */
    uint64_t missed = counts_of(f.node).misses;
    settle(&f);
    expect_all(f.node, ids);
    expect_all(f.node, ids);
    struct cw_cache_counts counts = counts_of(f.node);
    assert_int_equal(counts.put, N);
    assert_int_equal(counts.written, N);
    assert_int_equal(counts.records, N);
    assert_int_equal(counts.lost, 0);
    assert_int_equal(counts.damaged, 0);
    assert_int_equal(counts.hits, 3 * N);
    assert_int_equal(counts.misses, missed);
    assert_int_equal(counts.chunks, fake_files());
    assert_int_equal(counts.chunks_written, fake_files());
    assert_true(fake_files() > 3);
    assert_int_equal(f.events.written, N);
    assert_int_equal(events_of(&f.events, CW_CACHE_WRITTEN), fake_files());
    assert_false(cw_cache_has(f.node, (uint64_t)1 << 39));
    assert_int_equal(get_sample(f.node, UINT64_MAX), 0);

    fixture_open(&other, url, options);
    add_all(other.node);
    add_all(other.node); /* known: skipped */
    assert_int_equal(counts_of(other.node).records, N);
    assert_int_equal(counts_of(other.node).chunks, fake_files());
    expect_all(other.node, ids);
    fixture_close(&other, 0);
    fixture_close(&f, 0);
}

static void test_fill_and_read(void **state)
{
    (void)state;
    for (enum ids ids = IDS_SEQUENTIAL; ids <= IDS_FAR; ids++) {
        fill_and_read("fake:map", ids, CW_CHUNK_PLAIN);
        fill_and_read("fake:read?timeout=120s", ids, CW_CHUNK_PLAIN);
    }
    fill_and_read("fake:map", IDS_SHUFFLED, 3);
    fill_and_read("fake:read?timeout=120s", IDS_SHUFFLED, 3);
}

static void test_left_out(void **state)
{
    struct cw_cache_pins hold = {0};
    struct cw_element element;
    struct fixture f;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:map", (struct cw_cache_options){0});
    for (uint64_t id = 0; id < 9000; id++) {
        if (id % 1000 == 5)
            put_sample(f.node, id);
        else
            cw_cache_put(f.node, id, NULL, 0);
    }
    for (int round = 0; round < 2; round++) {
        for (uint64_t id = 0; id < 9000; id++)
            assert_int_equal(cw_cache_get(f.node, id, &hold, &element),
                             id % 1000 == 5 ? CW_CACHE_HIT : CW_CACHE_LEFT_OUT);
        settle(&f);
    }
    cw_cache_unpin(&hold);
    assert_int_equal(counts_of(f.node).records, 9000);
    fixture_close(&f, 0);
}

/* The store takes nothing in: what is too much is lost and counted, nobody waits, and the rest
 * is written in the end. */
static void test_memory(void **state)
{
    struct cw_cache_options options = {.memory = 8 << 20, .chunk_bytes = 1 << 20};
    struct fixture f;

    (void)state;
    fake_reset();
    fake_hold_puts(true);
    fixture_open(&f, "fake:map", options);
    for (uint64_t id = 0; id < 20000; id++) {
        put_sample(f.node, id);
        assert_true(cw_cache_memory_used(f.cache) <= options.memory);
    }
    struct cw_cache_counts counts = counts_of(f.node);
    assert_true(counts.lost > 0);
    assert_int_equal(counts.put + counts.lost, 20000);
    assert_int_equal(get_sample(f.node, 0), 1);
    assert_int_equal(get_sample(f.node, 19999), 0);
    WAIT_FOR(events_of(&f.events, CW_CACHE_LOST) > 0);
    fake_hold_puts(false);
    settle(&f);
    assert_int_equal(counts_of(f.node).written, counts.put);
    put_sample(f.node, 19999);
    assert_int_equal(get_sample(f.node, 19999), 1);
    WAIT_FOR(events_lost(&f.events) == counts.lost);
    assert_true(events_of(&f.events, CW_CACHE_LOST) < 1000);
    settle(&f);
    WAIT_FOR(cw_cache_memory_used(f.cache) == 0);
    fixture_close(&f, 0);
}

/* Many nodes whose blocks are open take all memory, and none is full: one is written all the
 * same. */
static void test_memory_in_open_blocks(void **state)
{
    enum { NODES = 30 };
    struct cw_cache_options options = {.memory = 2 << 20, .chunk_bytes = 512 << 10};
    struct cw_cache_dataset *nodes[NODES];
    CW_SPEC_AUTO spec = {0};
    struct fixture f;
    uint64_t id = 0;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:map", options);
    test_spec(&spec);
    for (size_t i = 0; i < NODES; i++)
        nodes[i] = cw_cache_dataset(f.cache, "tenant", test_key(100 + i), &spec);
    for (int64_t deadline = cw_clock_ns() + DEADLINE_NS;
         fake_files() == 0 && cw_clock_ns() < deadline; id++)
        put_sample(nodes[id % NODES], id);
    assert_true(fake_files() > 0);
    for (size_t i = 0; i < NODES; i++)
        cw_cache_dataset_unref(nodes[i]);
    fixture_close(&f, 60000);
}

static void test_away(void **state)
{
    struct fixture f, other;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:read", (struct cw_cache_options){.chunk_bytes = 1 << 20});
    put_sample(f.node, 1);
    settle(&f);
    fixture_open(&other, "fake:read", (struct cw_cache_options){0});
    fake_away(true);
    const char *name = fake_name(0);
    cw_cache_dataset_add(other.node, &name, 1);
    WAIT_FOR(cw_cache_dataset_is_loaded(other.node));
    assert_int_equal(get_sample(other.node, 1), 0);
    assert_int_equal(get_sample(f.node, 1), 0); /* at once: a miss */
    for (uint64_t id = 10; id < 20; id++)
        put_sample(f.node, id);
    cw_cache_flush(f.cache, f.node);
    for (uint64_t id = 10; id < 20; id++)
        assert_int_equal(get_sample(f.node, id), 1); /* from memory */
    WAIT_FOR(events_of(&other.events, CW_CACHE_STORE_UNAVAILABLE) == 1);
    assert_true(cw_cache_is_writing(f.cache));
    fake_away(false);
    WAIT_FOR(!cw_cache_is_writing(f.cache));
    WAIT_FOR(get_sample(other.node, 1) == 1); /* loaded by itself */
    WAIT_FOR(events_of(&other.events, CW_CACHE_STORE_AVAILABLE) == 1);
    assert_int_equal(get_sample(f.node, 1), 1);
    assert_int_equal(counts_of(f.node).written, 11);
    assert_int_equal(counts_of(f.node).lost, 0);
    fixture_close(&other, 0);
    fixture_close(&f, 0);
}

static void test_full(void **state)
{
    struct fixture f;

    (void)state;
    fake_reset();
    fake_capacity(1000);
    fixture_open(&f, "fake:map", (struct cw_cache_options){0});
    for (uint64_t id = 0; id < 100; id++)
        put_sample(f.node, id);
    cw_cache_flush(f.cache, NULL);
    for (uint64_t id = 0; id < 100; id++)
        assert_int_equal(get_sample(f.node, id), 1);
    cw_cache_dataset_ref(f.node);
    cw_cache_free(f.cache, 0);
    assert_int_equal(f.events.lost, 100);
    assert_int_equal(fake_files(), 0);
    assert_int_equal(get_sample(f.node, 5), 0); /* nodes outlive the cache */
    put_sample(f.node, 5);
    assert_false(cw_cache_has(f.node, 5));
    cw_cache_dataset_unref(f.node);
    cw_cache_dataset_unref(f.node);
    fixture_fini_events(&f);
}

static size_t hits_of(struct cw_cache_dataset *node, uint64_t n)
{
    size_t hits = 0;

    for (uint64_t id = 0; id < n; id++) {
        int found = get_sample(node, id);

        assert_true(found >= 0);
        hits += found == 1;
    }
    return hits;
}

/* A bit flipped anywhere: what was damaged is not delivered, is told once, and can be written
 * anew. */
static void damaged(const char *url, uint64_t from_end, int level)
{
    struct cw_cache_options options = {.level = level};
    struct fixture f, other;

    fake_reset();
    fixture_open(&f, url, options);
    for (uint64_t id = 0; id < 300; id++)
        put_sample(f.node, id);
    settle(&f);
    assert_int_equal(fake_files(), 1);
    fake_damage(0, from_end ? fake_bytes(0) - from_end : fake_bytes(0) / 2);
    fixture_open(&other, url, options);
    add_all(other.node);
    (void)hits_of(other.node, 300);
    WAIT_FOR(events_of(&other.events, CW_CACHE_DAMAGED) == 1);
    assert_string_equal(other.events.damaged, fake_name(0));
    assert_int_equal(counts_of(other.node).damaged, 1);
    assert_int_equal(hits_of(other.node, 300), 0);
    WAIT_FOR(counts_of(other.node).records == 0);
    WAIT_FOR(counts_of(other.node).chunks == 0);
    for (uint64_t id = 0; id < 300; id++)
        put_sample(other.node, id);
    settle(&other);
    assert_int_equal(hits_of(other.node, 300), 300);
    assert_int_equal(fake_files(), 1);
    assert_int_equal(hits_of(f.node, 300), 300); /* it had the old one open */
    assert_int_equal(events_of(&other.events, CW_CACHE_DAMAGED), 1);
    fixture_close(&other, 0);
    fixture_close(&f, 0);
}

static void test_damaged(void **state)
{
    (void)state;
    damaged("fake:map", 0, CW_CHUNK_PLAIN);
    damaged("fake:read", 0, CW_CHUNK_PLAIN);
    damaged("fake:map", 0, 3);
    damaged("fake:read", 0, 3);
    damaged("fake:map", 1, CW_CHUNK_PLAIN);
    damaged("fake:read", 70, CW_CHUNK_PLAIN);
}

/* An index that cannot be read, by the bytes at its end or by all of it: one failure is no damage; a
 * chunk that fails again and again is told as damaged, by name, once. */
static void unreadable_index(const char *url)
{
    struct fixture f, once, never;

    fake_reset();
    fixture_open(&f, url, (struct cw_cache_options){0});
    for (uint64_t id = 0; id < 300; id++)
        put_sample(f.node, id);
    settle(&f);
    assert_int_equal(fake_files(), 1);
    fixture_open(&once, url, (struct cw_cache_options){0});
    fake_fail_reads(2);
    add_all(once.node);
    WAIT_FOR(cw_cache_dataset_is_loaded(once.node));
    assert_int_equal(hits_of(once.node, 300), 300);
    assert_int_equal(events_of(&once.events, CW_CACHE_DAMAGED), 0);
    fixture_open(&never, url, (struct cw_cache_options){0});
    fake_fail_reads(SIZE_MAX);
    add_all(never.node);
    WAIT_FOR(cw_cache_dataset_is_loaded(never.node));
    assert_int_equal(events_of(&never.events, CW_CACHE_DAMAGED), 1);
    assert_string_equal(never.events.damaged, fake_name(0));
    assert_non_null(strstr(never.events.damaged_why, "cannot read"));
    assert_int_equal(counts_of(never.node).damaged, 1);
    assert_int_equal(counts_of(never.node).chunks, 0);
    fake_fail_reads(0);
    fixture_close(&never, 0);
    fixture_close(&once, 0);
    fixture_close(&f, 0);
}

static void test_unreadable_index(void **state)
{
    (void)state;
    unreadable_index("fake:map");
    unreadable_index("fake:read");
}

static void test_not_there(void **state)
{
    const char *const names[] = {
        /* ours, and not there */
        "default/00000000000012340000000000000001/0-10-0123456789abcdef.chunk",
        /* of another node */
        "default/00000000000012340000000000000002/0-10-0123456789abcdef.chunk",
        "nonsense",
    };
    struct fixture f;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:map", (struct cw_cache_options){0});
    cw_cache_dataset_add(f.node, names, 3);
    WAIT_FOR(events_of(&f.events, CW_CACHE_GONE) == 1);
    WAIT_FOR(cw_cache_dataset_is_loaded(f.node));
    cw_cache_dataset_remove(f.node, names, 3);
    assert_int_equal(counts_of(f.node).chunks, 0);
    fixture_close(&f, 0);
}

/* Two that write the same, the second backwards and with two threads: one file, equal bytes. */
static void backwards(void *arg, size_t no)
{
    for (uint64_t i = no; i < 2000; i += 2)
        put_sample(arg, 1999 - i);
}

static void test_equal_chunks(void **state)
{
    struct fixture f, other;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:map", (struct cw_cache_options){0});
    for (uint64_t id = 0; id < 2000; id++)
        put_sample(f.node, id);
    settle(&f);
    assert_int_equal(fake_files(), 1);
    uint64_t n = fake_bytes(0);
    cw_autofree void *first = cw_mem_dup(fake_data(0), n);
    fixture_open(&other, "fake:map", (struct cw_cache_options){0});
    crew(2, backwards, other.node);
    settle(&other);
    assert_int_equal(fake_files(), 1);
    assert_int_equal(fake_bytes(0), n);
    assert_memory_equal(fake_data(0), first, n);
    assert_int_equal(hits_of(f.node, 2000) + hits_of(other.node, 2000), 4000);
    fixture_close(&other, 0);
    fixture_close(&f, 0);
}

/* Half of the records come from another worker's chunk while they wait here: only the others are
 * written. When that chunk goes, its records that two had are found in the other. */
static void test_overlap(void **state)
{
    struct fixture f, other;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:map", (struct cw_cache_options){0});
    fixture_open(&other, "fake:map", (struct cw_cache_options){0});
    for (uint64_t id = 0; id < 100; id++)
        put_sample(f.node, id);
    for (uint64_t id = 50; id < 150; id++)
        put_sample(other.node, id);
    settle(&other);
    const char *name = other.events.names[0];
    cw_cache_dataset_add(f.node, &name, 1);
    WAIT_FOR(cw_cache_dataset_is_loaded(f.node));
    settle(&f);
    assert_int_equal(counts_of(f.node).written, 50);
    assert_int_equal(counts_of(f.node).records, 150);

    /* the other's second chunk holds what the first of f holds, and more */
    for (uint64_t id = 0; id < 100; id++)
        put_sample(other.node, id);
    settle(&other);
    const char *mine = f.events.names[0];
    cw_cache_dataset_add(other.node, &mine, 1);
    WAIT_FOR(cw_cache_dataset_is_loaded(other.node));
    assert_int_equal(counts_of(other.node).chunks, 2); /* equal chunks: known already */
    fixture_close(&other, 0);
    fixture_close(&f, 0);
}

static void test_shadowed(void **state)
{
    struct fixture a, b;

    (void)state;
    fake_reset();
    fixture_open(&a, "fake:map", (struct cw_cache_options){0});
    fixture_open(&b, "fake:map", (struct cw_cache_options){0});
    for (uint64_t id = 0; id < 100; id++)
        put_sample(a.node, id);
    for (uint64_t id = 50; id < 150; id++)
        put_sample(b.node, id);
    settle(&a);
    settle(&b);
    const char *of_a = a.events.names[0], *of_b = b.events.names[0];
    cw_cache_dataset_add(a.node, &of_b, 1);
    WAIT_FOR(cw_cache_dataset_is_loaded(a.node));
    assert_int_equal(hits_of(a.node, 150), 150);
    cw_cache_dataset_remove(a.node, &of_a, 1);
    WAIT_FOR(counts_of(a.node).chunks == 1 && counts_of(a.node).records == 100);
    assert_int_equal(hits_of(a.node, 150), 100);
    fixture_close(&a, 0);
    fixture_close(&b, 0);
}

/* One chunk stays pinned from element to element; until another is needed, or none. */
static void test_kept_from_element_to_element(void **state)
{
    struct cw_cache_pins hold = {0};
    struct cw_element element;
    struct fixture f;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:map", (struct cw_cache_options){0});
    for (uint64_t id = 0; id < 20; id++) {
        put_sample(f.node, id);
        if (id % 10 == 9)
            settle(&f);
    }
    WAIT_FOR(fake_files() == 2);
    for (uint64_t id = 0; id < 10; id++) {
        assert_int_equal(cw_cache_get(f.node, id, &hold, &element), CW_CACHE_HIT);
        assert_int_equal(hold.n, 1);
        cw_cache_unpin_element(&hold);
        assert_true(hold.n == 1 && hold.is_kept && is_sample(&element, id));
    }
    assert_int_equal(cw_cache_get(f.node, 15, &hold, &element), CW_CACHE_HIT);
    assert_true(hold.n == 2 && !hold.is_kept);
    cw_cache_unpin_element(&hold);
    assert_int_equal(hold.n, 0);
    assert_int_equal(cw_cache_get(f.node, 15, &hold, &element), CW_CACHE_HIT);
    cw_cache_unpin_element(&hold);
    assert_int_equal(cw_cache_get(f.node, 1000, &hold, &element), CW_CACHE_MISS);
    assert_int_equal(hold.n, 0);
    /* What an element has used stays, whatever is missing for it. */
    assert_int_equal(cw_cache_get(f.node, 5, &hold, &element), CW_CACHE_HIT);
    assert_int_equal(cw_cache_get(f.node, 1000, &hold, &element), CW_CACHE_MISS);
    assert_true(hold.n == 1 && is_sample(&element, 5));
    cw_cache_unpin_element(&hold);
    /* Nothing more comes from a chunk that is gone, and the pin does not keep it. */
    for (size_t i = 0; i < 2; i++) {
        const char *name = fake_name(i);
        cw_cache_dataset_remove(f.node, &name, 1);
    }
    assert_int_equal(cw_cache_get(f.node, 5, &hold, &element), CW_CACHE_MISS);
    assert_int_equal(hold.n, 0);
    WAIT_FOR(counts_of(f.node).chunks == 0);
    while (f.events.names_n)
        cw_mem_free(f.events.names[--f.events.names_n]);
    fixture_close(&f, 0);
}

/* More chunks under one hold than it has places for, each once however many of its records are
 * got. */
static void test_many_held(void **state)
{
    struct cw_cache_pins hold = {0};
    struct cw_element *elements = CW_NEW_ARRAY(struct cw_element, 300);
    struct fixture f;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:read", (struct cw_cache_options){0});
    for (uint64_t id = 0; id < 300; id++) {
        put_sample(f.node, id);
        settle(&f);
    }
    for (uint64_t id = 0; id < 300; id++)
        assert_int_equal(cw_cache_get(f.node, id, &hold, &elements[id]), CW_CACHE_HIT);
    while (f.events.names_n)
        cw_mem_free(f.events.names[--f.events.names_n]);
    for (size_t i = 0; i < fake_files(); i++) {
        const char *name = fake_name(i);

        cw_cache_dataset_remove(f.node, &name, 1);
    }
    for (uint64_t id = 0; id < 300; id++)
        assert_true(is_sample(&elements[id], id));
    cw_mem_free(elements);
    cw_cache_unpin(&hold);
    WAIT_FOR(counts_of(f.node).chunks == 0);
    WAIT_FOR(cw_cache_memory_used(f.cache) == 0);
    fixture_close(&f, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept_from_element_to_element),
        cmocka_unit_test(test_fill_and_read),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_memory_in_open_blocks),
        cmocka_unit_test(test_away),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_unreadable_index),
        cmocka_unit_test(test_not_there),
        cmocka_unit_test(test_equal_chunks),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_shadowed),
        cmocka_unit_test(test_many_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
