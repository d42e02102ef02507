/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks that come, go and are damaged under readers; caches that share a store. */
#include "records.h"

#include "fake_store.h"

/* ---- chunks that come and go ---- */

struct churn {
    struct fixture f;
    atomic_bool stop;
    atomic_size_t hits, wrong;
};

static void read_on(void *arg, size_t no)
{
    struct churn *churn = arg;

    for (uint64_t i = no; !atomic_load(&churn->stop); i++) {
        uint64_t ids[CW_CACHE_CPU_PREFETCH + 1];
        int found = get_sample(churn->f.node, cw_mix64(i) % 600);

        atomic_fetch_add(&churn->hits, found == 1);
        atomic_fetch_add(&churn->wrong, found < 0);
        for (size_t k = 0; k < CW_ARRAY_LEN(ids); k++)
            ids[k] = cw_mix64(i + 1 + k) % 1300; /* also such as nobody has put */
        if (i % 16 == 0)
            cw_cache_prefetch(churn->f.node, ids, 8);
        if (i % 16 == 8)
            cw_cache_cpu_prefetch(churn->f.node, ids, CW_ARRAY_LEN(ids));
        if (i % 64 == 0)
            put_sample(churn->f.node, 600 + cw_mix64(i) % 600);
    }
}

static void churn_main(void *arg, size_t no)
{
    struct churn *churn = arg;
    struct cw_cache_dataset *node = churn->f.node;

    if (no) {
        read_on(arg, no);
        return;
    }
    for (int round = 0; round < 60; round++) {
        const char *name = churn->f.events.names[round % 6];

        cw_cache_dataset_remove(node, &name, 1);
        if (round % 3 == 0)
            cw_cache_dataset_add(node, &name, 1);
        cw_clock_sleep_ns(1000000);
        cw_cache_dataset_add(node, &name, 1);
        if (round % 7 == 0)
            cw_cache_flush(churn->f.cache, NULL);
    }
    size_t seen = atomic_load(&churn->hits);
    for (int64_t deadline = cw_clock_ns() + DEADLINE_NS;
         atomic_load(&churn->hits) < seen + 100 && cw_clock_ns() < deadline;)
        cw_clock_sleep_ns(1000000);
    atomic_store(&churn->stop, true);
}

static void churn(const char *url, int level)
{
    struct churn *churn = CW_NEW(struct churn);
    struct fixture *f = &churn->f;

    fake_reset();
    fixture_open(
        f, url,
        (struct cw_cache_options){.memory = 4 << 20, .chunk_bytes = 1 << 20, .level = level});
    for (uint64_t id = 0; id < 600; id++) {
        put_sample(f->node, id);
        if (id % 100 == 99)
            settle(f);
    }
    assert_true(f->events.names_n >= 6);
    crew(4, churn_main, churn);
    assert_int_equal(churn->wrong, 0);
    assert_true(churn->hits > 0);
    settle(f);
    WAIT_FOR(cw_cache_dataset_is_loaded(f->node));
    for (size_t i = 0; i < f->events.names_n; i++) {
        const char *name = f->events.names[i];

        WAIT_FOR((cw_cache_dataset_remove(f->node, &name, 1), cw_cache_dataset_is_loaded(f->node)));
    }
    WAIT_FOR(counts_of(f->node).chunks == 0);
    WAIT_FOR(cw_cache_memory_used(f->cache) == 0);
    assert_int_equal(counts_of(f->node).records, 0);
    fixture_close(f, 0);
    cw_mem_free(churn);
}

static void test_churn(void **state)
{
    (void)state;
    churn("fake:map", CW_CHUNK_PLAIN);
    churn("fake:read", CW_CHUNK_PLAIN);
    churn("fake:map", 1);
    churn("fake:read", 1);
}

/* Damage that appears between two reads, while several read: everything that is delivered is
 * right. */
static void damage_main(void *arg, size_t no)
{
    struct churn *churn = arg;
    struct cw_cache_dataset *node = churn->f.node;

    if (no) {
        read_on(arg, no);
        return;
    }
    for (size_t i = 0; i < 6; i++) {
        const char *name = churn->f.events.names[i];

        cw_cache_dataset_remove(node, &name, 1);
        for (size_t k = 0; k < fake_files(); k++)
            if (strcmp(fake_name(k), name) == 0)
                fake_damage(k, fake_bytes(k) / 2);
        cw_cache_dataset_add(node, &name, 1);
    }
    for (int64_t deadline = cw_clock_ns() + DEADLINE_NS;
         events_of(&churn->f.events, CW_CACHE_DAMAGED) == 0 && cw_clock_ns() < deadline;) {
        /* one that was still loaded when it was damaged is added again now */
        for (size_t i = 0; i < 6; i++) {
            const char *name = churn->f.events.names[i];

            cw_cache_dataset_add(node, &name, 1);
        }
        cw_clock_sleep_ns(1000000);
    }
    atomic_store(&churn->stop, true);
}

static void test_damage_under_readers(void **state)
{
    struct churn *churn = CW_NEW(struct churn);
    struct fixture *f = &churn->f;

    (void)state;
    fake_reset();
    fixture_open(f, "fake:read",
                 (struct cw_cache_options){.memory = 4 << 20, .chunk_bytes = 1 << 20});
    for (uint64_t id = 0; id < 600; id++) {
        put_sample(f->node, id);
        if (id % 100 == 99)
            settle(f);
    }
    crew(4, damage_main, churn);
    assert_int_equal(churn->wrong, 0);
    assert_true(events_of(&f->events, CW_CACHE_DAMAGED) > 0);
    fixture_close(f, 1000);
    cw_mem_free(churn);
}

/* ---- two workers ---- */

static void pass_on(struct fixture *from, struct fixture *to, size_t *at)
{
    for (;; (*at)++) {
        cw_mutex_lock(&from->events.lock);
        const char *name = *at < from->events.names_n ? from->events.names[*at] : NULL;
        cw_mutex_unlock(&from->events.lock);
        if (!name)
            return;
        cw_cache_dataset_add(to->node, &name, 1);
    }
}

struct pair {
    struct fixture f[2];
    atomic_size_t done;
};

/* Both compute what they do not find; threads 2 and 3 carry the names. */
static void pair_main(void *arg, size_t no)
{
    struct pair *pair = arg;
    size_t at = 0;

    if (no >= 2) {
        while (atomic_load(&pair->done) < 2) {
            pass_on(&pair->f[no - 2], &pair->f[3 - no], &at);
            cw_clock_sleep_ns(100000);
        }
        return;
    }
    for (uint64_t i = 0; i < 3000; i++) {
        uint64_t id = no ? 2999 - i : i;
        int found = get_sample(pair->f[no].node, id);

        CW_ASSERT(found >= 0);
        if (!found)
            put_sample(pair->f[no].node, id);
        if (i % 300 == 299)
            cw_cache_flush(pair->f[no].cache, NULL);
    }
    atomic_fetch_add(&pair->done, 1);
}

static void test_two_workers(void **state)
{
    struct pair *pair = CW_NEW(struct pair);
    size_t at[2] = {0};

    (void)state;
    fake_reset();
    for (size_t i = 0; i < 2; i++)
        fixture_open(&pair->f[i], "fake:map", (struct cw_cache_options){.chunk_bytes = 256 << 10});
    crew(4, pair_main, pair);
    for (size_t i = 0; i < 2; i++)
        settle(&pair->f[i]);
    for (size_t i = 0; i < 2; i++)
        pass_on(&pair->f[i], &pair->f[1 - i], &at[i]);
    for (size_t i = 0; i < 2; i++) {
        WAIT_FOR(cw_cache_dataset_is_loaded(pair->f[i].node));
        for (uint64_t id = 0; id < 3000; id++)
            assert_int_equal(get_sample(pair->f[i].node, id), 1);
        assert_int_equal(counts_of(pair->f[i].node).records, 3000);
        fixture_close(&pair->f[i], 0);
    }
    cw_mem_free(pair);
}

/* ---- from block to chunk ---- */

#define MOVED 8000u
#define RECENT 64u

struct moves {
    struct fixture f;
    atomic_bool stop;
    atomic_size_t there, looks, missing, wrong;
};

static void move_main(void *arg, size_t no)
{
    struct moves *moves = arg;

    if (no) {
        for (uint64_t i = no; !atomic_load(&moves->stop); i++) {
            size_t there = atomic_load(&moves->there);
            /* the latest are on the move */
            size_t back = cw_mix64(i) % CW_MAX(CW_MIN(there, RECENT), 1u);
            int found = there ? get_sample(moves->f.node, there - 1 - back) : 1;

            atomic_fetch_add(&moves->looks, there != 0);
            atomic_fetch_add(&moves->missing, found == 0);
            atomic_fetch_add(&moves->wrong, found < 0);
        }
        return;
    }
    for (uint64_t id = 0; id < MOVED; id++) {
        put_sample(moves->f.node, id);
        atomic_store(&moves->there, id + 1);
    }
    for (int64_t deadline = cw_clock_ns() + DEADLINE_NS;
         atomic_load(&moves->looks) < MOVED && cw_clock_ns() < deadline;)
        cw_clock_sleep_ns(1000000);
    atomic_store(&moves->stop, true);
}

/* What was put is found at every moment, also when its block is written and its chunk takes its
 * place. */
static void moved_under_readers(const char *url)
{
    struct moves *moves = CW_NEW(struct moves);

    fake_reset();
    fixture_open(&moves->f, url,
                 (struct cw_cache_options){.memory = 64 << 20, .chunk_bytes = 32 << 10});
    crew(4, move_main, moves);
    assert_true(moves->looks >= MOVED);
    assert_int_equal(moves->wrong, 0);
    assert_int_equal(moves->missing, 0);
    settle(&moves->f);
    assert_true(counts_of(moves->f.node).chunks > 100);
    fixture_close(&moves->f, 0);
    cw_mem_free(moves);
}

static void test_moved(void **state)
{
    (void)state;
    moved_under_readers("fake:map?timeout=120s");
    moved_under_readers("fake:read?timeout=120s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_churn),
        cmocka_unit_test(test_damage_under_readers),
        cmocka_unit_test(test_two_workers),
        cmocka_unit_test(test_moved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
