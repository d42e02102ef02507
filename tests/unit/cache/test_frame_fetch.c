/* SPDX-License-Identifier: Apache-2.0 */
/* Frames on their way into memory: neighbours as one read, damage in the middle of one, reads
 * that fail, memory that is full, what stays. Records are large, so that each is a frame of its
 * own. */
#include "records.h"

#include "fake_store.h"
#include "format/chunk.h"

#define BIG ((size_t)70000)
#define BIG_STORED CW_ALIGN_UP(BIG, (size_t)64)
#define MOST_IN_A_READ (((size_t)1 << 20) / (BIG_STORED + 64))

static void fill_big(unsigned char *data, uint64_t id)
{
    for (size_t i = 0; i < BIG; i++)
        data[i] = (unsigned char)(cw_mix64(id) >> i % 57);
}

static void put_big(struct cw_cache_dataset *node, uint64_t id)
{
    cw_autofree unsigned char *data = cw_mem_new(BIG);
    struct cw_element element = {.n = 2};

    fill_big(data, id);
    element.fields[0] = (struct cw_view){
        .data = data, .bytes = BIG, .dtype = CW_DTYPE_U8, .rank = 1, .dims = {(int64_t)BIG}};
    element.fields[1] =
        (struct cw_view){.data = &id, .bytes = 8, .dtype = CW_DTYPE_U64, .rank = 1, .dims = {1}};
    cw_cache_put(node, id, &element, 1000);
}

/* 1 found and right, 0 not found, -1 wrong. No cmocka assertion: threads call it. */
static int get_big(struct cw_cache_dataset *node, uint64_t id)
{
    cw_autofree unsigned char *data = cw_mem_new(BIG);
    struct cw_cache_pins hold = {0};
    struct cw_element element;
    int found = 0;

    fill_big(data, id);
    if (cw_cache_get(node, id, &hold, &element) == CW_CACHE_HIT)
        found = element.fields[0].bytes == BIG && memcmp(element.fields[0].data, data, BIG) == 0
                    ? 1
                    : -1;
    cw_cache_unpin(&hold);
    return found;
}

static void want(struct fixture *f, uint64_t first, size_t n)
{
    uint64_t ids[256];

    for (size_t i = 0; i < n; i++)
        ids[i] = first + i;
    cw_cache_prefetch(f->node, ids, n);
    wait_pumped(f);
}

/* n records in chunks of `each`, written by another, and a cache with little memory that knows
 * them. */
static void open_with(struct fixture *f, size_t memory, size_t n, size_t each)
{
    struct fixture writer;

    fake_reset();
    fixture_open(&writer, "fake:read", (struct cw_cache_options){.level = CW_CHUNK_PLAIN});
    for (uint64_t id = 0; id < n; id++) {
        put_big(writer.node, id);
        if (id % each == each - 1)
            settle(&writer);
    }
    settle(&writer);
    assert_int_equal(writer.events.names_n, (n + each - 1) / each);
    fixture_open(f, "fake:read?timeout=120s", (struct cw_cache_options){.memory = memory});
    for (size_t i = 0; i < writer.events.names_n; i++) {
        f->events.names[i] = cw_mem_strdup(writer.events.names[i]);
        f->events.names_n++;
    }
    cw_cache_dataset_add(f->node, (const char *const *)f->events.names, f->events.names_n);
    WAIT_FOR(cw_cache_dataset_is_loaded(f->node));
    assert_int_equal(counts_of(f->node).records, n);
    fixture_close(&writer, 0);
}

static void must_get(struct fixture *f, uint64_t first, size_t n)
{
    for (uint64_t id = first; id < first + n; id++)
        assert_int_equal(get_big(f->node, id), 1);
}

/* Neighbours of one chunk are one read of up to 1 MiB; no read goes beyond the end of a chunk. */
static void test_neighbours(void **state)
{
    enum { CHUNKS = 3, EACH = 20 };
    size_t expected = CHUNKS * ((EACH + MOST_IN_A_READ - 1) / MOST_IN_A_READ);
    struct fixture f;

    (void)state;
    open_with(&f, 64 << 20, CHUNKS * EACH, EACH);
    fake_hold_reads(true);
    want(&f, 0, CHUNKS * EACH);
    assert_int_equal(fake_reads_held(), expected);
    fake_hold_reads(false);
    fake_release_reads(0);
    uint64_t begun = fake_reads_begun();
    must_get(&f, 0, CHUNKS * EACH);
    assert_int_equal(fake_reads_begun(), begun);
    fixture_close(&f, 0);
}

/* What is told bit by bit while it waits in line is one read all the same. */
static void test_told_bit_by_bit(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, 8 << 20, 140, 20);
    fake_hold_reads(true);
    want(&f, 0, 120); /* more than may be read ahead */
    size_t held = fake_reads_held();
    assert_true(held > 0 && held < 12);
    for (uint64_t id = 120; id < 120 + MOST_IN_A_READ; id++)
        want(&f, id, 1);
    uint64_t begun = fake_reads_begun();
    fake_hold_reads(false);
    fake_release_reads(0);
    must_get(&f, 120, MOST_IN_A_READ);
    must_get(&f, 0, 120);
    uint64_t whole = (120 / 20) * ((20 + MOST_IN_A_READ - 1) / MOST_IN_A_READ);
    assert_int_equal(fake_reads_begun() - begun, whole - held + 1);
    fixture_close(&f, 0);
}

/* A damaged frame in the middle of a read: those around it are delivered, it is not, and its
 * chunk is not used any more; it can be put anew. */
static void test_damage_in_a_read(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, 64 << 20, 10, 10);
    fake_damage_in_place(0, 4 * BIG_STORED + BIG_STORED / 2);
    uint64_t begun = fake_reads_begun();
    want(&f, 0, 10);
    assert_int_equal(fake_reads_begun(), begun + 1);
    must_get(&f, 0, 4);
    must_get(&f, 5, 5);
    assert_int_equal(events_of(&f.events, CW_CACHE_DAMAGED), 0);
    assert_int_equal(get_big(f.node, 4), 0);
    WAIT_FOR(events_of(&f.events, CW_CACHE_DAMAGED) == 1);
    WAIT_FOR(counts_of(f.node).records == 0);
    put_big(f.node, 4);
    assert_int_equal(get_big(f.node, 4), 1);
    fixture_close(&f, 0);
}

/* A read of many that fails is a miss for each of them, now: the next one reads again. A file
 * that is shorter than it was is damaged. */
static void test_a_read_fails(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, 64 << 20, 10, 10);
    fake_hold_reads(true);
    want(&f, 0, 10);
    assert_int_equal(fake_release_reads(CW_E_IO), 1);
    assert_int_equal(cw_cache_memory_used(f.cache), 0);
    fake_hold_reads(false);
    must_get(&f, 3, 1);
    assert_int_equal(events_of(&f.events, CW_CACHE_DAMAGED), 0);
    fake_hold_reads(true);
    want(&f, 4, 6);
    assert_int_equal(fake_release_reads(CW_E_CORRUPT), 1); /* short */
    WAIT_FOR(events_of(&f.events, CW_CACHE_DAMAGED) == 1);
    for (uint64_t id = 0; id < 10; id++)
        assert_int_equal(get_big(f.node, id), 0);
    fixture_close(&f, 0);
}

/* Memory is full of what was told and nobody has got: what is needed now is read all the same,
 * and out of turn. */
static void test_out_of_turn(void **state)
{
    size_t memory = 2 << 20;
    struct fixture f;

    (void)state;
    open_with(&f, memory, 42, 7);
    fake_hold_reads(true);
    want(&f, 0, 42);
    size_t held = fake_reads_held();
    assert_true(held > 0 && cw_cache_memory_used(f.cache) <= memory / 4 * 3);
    fake_hold_reads(false);
    uint64_t begun = fake_reads_begun();
    must_get(&f, 35, 7);
    assert_int_equal(fake_reads_begun(), begun + 1);
    assert_int_equal(fake_reads_held(), held);
    assert_int_equal(fake_release_reads(0), held);
    must_get(&f, 0, 35);
    must_get(&f, 0, 42);
    assert_true(cw_cache_memory_used(f.cache) <= memory);
    fixture_close(&f, 0);
}

/* A chunk goes while its frames wait in line. */
static void test_gone_in_line(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, 2 << 20, 42, 7);
    fake_hold_reads(true);
    want(&f, 0, 42);
    for (size_t i = 1; i < f.events.names_n; i++) {
        const char *name = f.events.names[i];

        cw_cache_dataset_remove(f.node, &name, 1);
    }
    fake_hold_reads(false);
    fake_release_reads(0);
    WAIT_FOR(counts_of(f.node).records == 7);
    must_get(&f, 0, 7);
    for (uint64_t id = 7; id < 42; id++)
        assert_int_equal(get_big(f.node, id), 0);
    fixture_close(&f, 0);
}

static uint64_t epoch(struct fixture *f, size_t n)
{
    uint64_t begun = fake_reads_begun();

    for (uint64_t id = 0; id < n; id += 7) {
        want(f, id, 7);
        must_get(f, id, 7);
    }
    return fake_reads_begun() - begun;
}

/* More than memory holds, read again and again from the begin: a share of it stays. */
static void test_a_share_stays(void **state)
{
    enum { N = 140 };
    size_t memory = 4 << 20;
    struct fixture f;

    (void)state;
    open_with(&f, memory, N, 14);
    uint64_t first = epoch(&f, N);
    assert_int_equal(first, N / 7);
    for (int i = 0; i < 4; i++) {
        uint64_t reads = epoch(&f, N);

        assert_true(reads <= first * 3 / 4);
        assert_true(cw_cache_memory_used(f.cache) <= memory);
    }
    fixture_close(&f, 0);
}

/* What was told twice, and got once, does not keep others from being read. */
static void test_told_twice(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, 2 << 20, 42, 7);
    for (int i = 0; i < 2; i++)
        want(&f, 0, 14);
    must_get(&f, 0, 42);
    must_get(&f, 0, 42);
    fixture_close(&f, 0);
}

/* Every second record now, those between them much later: they are not read with their
 * neighbours, where they would take the place of what is needed before them. */
static void test_much_later(void **state)
{
    enum { N = 140, UNDER_WAY = 16 };
    uint64_t ids[N];
    struct fixture f;

    (void)state;
    open_with(&f, 4 << 20, N, 14);
    for (uint64_t i = 0; i < N; i++)
        ids[i] = 2 * i % N + 2 * i / N;
    fake_hold_reads(true);
    cw_cache_prefetch(f.node, ids, N);
    wait_pumped(&f);
    assert_int_equal(fake_reads_held(), UNDER_WAY);
    assert_true(cw_cache_memory_used(f.cache) < UNDER_WAY * 3 / 2 * BIG_STORED);
    fake_hold_reads(false);
    fake_release_reads(0);
    for (size_t i = 0; i < N; i++) {
        wait_pumped(&f); /* what the last get made room for */
        uint64_t begun = fake_reads_begun();

        assert_int_equal(get_big(f.node, ids[i]), 1);
        assert_true(i < 20 || i >= N - 40 || fake_reads_begun() <= begun + 1);
        assert_true(cw_cache_memory_used(f.cache) <= 4 << 20);
    }
    fixture_close(&f, 0);
}

/* What is wanted now and again later is kept for the second time if there is room, but not at
 * the cost of what comes before. */
static void test_wanted_again(void **state)
{
    enum { N = 140 };
    size_t memory = 4 << 20;
    struct fixture f;

    (void)state;
    open_with(&f, memory, N, 14);
    for (int i = 0; i < 3; i++)
        want(&f, 0, N);
    uint64_t begun = fake_reads_begun();
    for (int i = 0; i < 3; i++)
        for (uint64_t id = 0; id < N; id++) {
            assert_int_equal(get_big(f.node, id), 1);
            assert_true(cw_cache_memory_used(f.cache) <= memory);
        }
    /* of 3 * N gets: neighbours are read together */
    assert_true(fake_reads_begun() - begun < N / 2);
    fixture_close(&f, 0);
}

/* How many frames, none next to another and none in memory yet, are read ahead at once when
 * nothing else is wanted any more. */
static size_t read_ahead_n(struct fixture *f, uint64_t first)
{
    fake_hold_reads(true);
    for (uint64_t id = first; id < first + 140; id += 2)
        want(f, id, 1);
    size_t held = fake_reads_held();
    fake_hold_reads(false);
    fake_release_reads(0);
    for (uint64_t id = first; id < first + 140; id += 2)
        must_get(f, id, 1);
    return held;
}

/* What was got before its turn has no turn any more. */
static void test_got_before_its_turn(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, 2 << 20, 420, 14);
    size_t most = read_ahead_n(&f, 0);
    assert_true(most > 10);
    fake_hold_reads(true);
    want(&f, 140, 140);
    fake_hold_reads(false);
    for (uint64_t id = 279; id >= 180; id--)
        must_get(&f, id, 1);
    fake_release_reads(0);
    must_get(&f, 140, 40);
    assert_int_equal(read_ahead_n(&f, 280), most);
    fixture_close(&f, 0);
}

static void get_two_by_turns(struct fixture *f, int times)
{
    for (int i = 0; i < 2 * times; i++) {
        struct cw_cache_pins hold = {0};
        struct cw_element element;

        assert_int_equal(cw_cache_get(f->node, i % 2 ? 210 : 200, &hold, &element), CW_CACHE_HIT);
        cw_cache_unpin(&hold);
    }
}

/* More is told than the line has places for: the rest is read when it is needed. And the places
 * come round. */
static void test_line_is_full(void **state)
{
    enum { TIMES = 20000 };
    struct fixture f;

    (void)state;
    open_with(&f, 2 << 20, 420, 14);
    size_t most = read_ahead_n(&f, 0);
    for (int round = 0; round < 2; round++) {
        fake_hold_reads(true);
        for (uint64_t id = 141; id < 190; id += 2)
            want(&f, id, 1);
        for (int i = 0; i < TIMES; i++) {
            want(&f, 200, 1);
            want(&f, 210, 1);
        }
        fake_hold_reads(false);
        fake_release_reads(0);
        for (uint64_t id = 141; id < 190; id += 2)
            must_get(&f, id, 1);
        get_two_by_turns(&f, TIMES);
    }
    assert_int_equal(read_ahead_n(&f, 280), most);
    fixture_close(&f, 0);
}

struct crowd {
    struct fixture f;
    atomic_size_t wrong, missing;
};

static void read_randomly(void *arg, size_t no)
{
    struct crowd *crowd = arg;

    for (uint64_t i = 0; i < 300; i++) {
        uint64_t ids[8];

        for (size_t k = 0; k < 8; k++)
            ids[k] = cw_mix64(no * 1000 + i + k) % 140;
        cw_cache_prefetch(crowd->f.node, ids, i % 3 ? 8 : 0);
        int found = get_big(crowd->f.node, ids[i % 8]);
        atomic_fetch_add(&crowd->wrong, found < 0);
        atomic_fetch_add(&crowd->missing, found == 0);
    }
}

/* Several threads, too little memory. */
static void test_crowd(void **state)
{
    struct crowd *crowd = CW_NEW(struct crowd);

    (void)state;
    open_with(&crowd->f, 2 << 20, 140, 7);
    crew(4, read_randomly, crowd);
    assert_int_equal(crowd->wrong, 0);
    assert_int_equal(crowd->missing, 0);
    fixture_close(&crowd->f, 0);
    cw_mem_free(crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_told_bit_by_bit),
        cmocka_unit_test(test_damage_in_a_read),
        cmocka_unit_test(test_a_read_fails),
        cmocka_unit_test(test_out_of_turn),
        cmocka_unit_test(test_gone_in_line),
        cmocka_unit_test(test_a_share_stays),
        cmocka_unit_test(test_told_twice),
        cmocka_unit_test(test_much_later),
        cmocka_unit_test(test_wanted_again),
        cmocka_unit_test(test_got_before_its_turn),
        cmocka_unit_test(test_line_is_full),
        cmocka_unit_test(test_crowd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
