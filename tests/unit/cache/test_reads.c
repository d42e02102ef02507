/* SPDX-License-Identifier: Apache-2.0 */
/* Reads in flight and ahead, chunks that come and go under readers, caches that share a store, ends in the middle; and random operations
 * beside a plain map. */
#include "records.h"

#include "base/map.h"
#include "fake_store.h"

/* ---- ahead ---- */

static void test_prefetch(void **state)
{
    uint64_t ids[400];
    struct fixture f;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:read", (struct cw_cache_options){0});
    for (uint64_t id = 0; id < 400; id++)
        put_sample(f.node, ids[id] = id);
    settle(&f);
    fake_hold_reads(true);
    cw_cache_prefetch(f.node, ids, 400);
    size_t held = fake_reads_held();
    assert_true(held > 0 && held < 10); /* about 650 KB: neighbours are read together */
    cw_cache_prefetch(f.node, ids, 400);
    assert_int_equal(fake_reads_held(), held); /* they are under way */
    assert_int_equal(fake_release_reads(0), held);
    uint64_t begun = fake_reads_begun();
    for (uint64_t id = 0; id < 400; id++)
        assert_int_equal(get_sample(f.node, id), 1);
    assert_int_equal(fake_reads_begun(), begun);
    fixture_close(&f, 0);
}

/* What does not fit into memory is not read ahead, and what was read ahead and is not needed yet stays. */
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
    size_t used = cw_cache_memory_used(f.cache);
    assert_true(used > options.memory / 2 && used <= options.memory);
    uint64_t begun = fake_reads_begun();
    for (uint64_t id = 0; id < 100; id++)
        assert_int_equal(get_sample(f.node, id), 1);
    assert_int_equal(fake_reads_begun(), begun);
    for (uint64_t id = 0; id < 3000; id++)
        assert_int_equal(get_sample(f.node, id), 1);
    assert_true(cw_cache_memory_used(f.cache) <= options.memory);
    for (uint64_t id = 5000; id < 5100; id++)
        put_sample(f.node, id); /* frames give way */
    assert_int_equal(counts_of(f.node).lost, 0);
    fixture_close(&f, 0);
}

static void get_one(void *arg, size_t no)
{
    (void)no;
    CW_ASSERT(get_sample(arg, 7) == 1);
}

static void release_soon(void *arg)
{
    (void)arg;
    while (!fake_reads_held())
        cw_clock_sleep_ns(1000000);
    fake_hold_reads(false);
    fake_release_reads(0);
}

/* Several want a record at once: one read. */
static void test_wait_for_one_read(void **state)
{
    struct cw_thread thread = {0};
    struct fixture f;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:read?timeout=120s", (struct cw_cache_options){0});
    put_sample(f.node, 7);
    settle(&f);
    uint64_t begun = fake_reads_begun();
    fake_hold_reads(true);
    cw_thread_start(&thread, "release", release_soon, NULL);
    crew(4, get_one, f.node);
    cw_thread_join(&thread);
    assert_int_equal(fake_reads_begun(), begun + 1);
    struct cw_cache_counts counts = counts_of(f.node);
    assert_true(counts.wait_ns > 0 && counts.get_ns >= counts.wait_ns);
    fixture_close(&f, 0);
}

/* A read that does not end is a miss after the timeout; one that fails is a miss, too; both can be tried again. */
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
    WAIT_FOR(events_of(&f.events, CW_CACHE_AWAY) == 1);
    WAIT_FOR(events_of(&f.events, CW_CACHE_BACK) == 1);
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
    for (int i = 0; i < 3; i++) { /* three in a row, and nothing wrong with the store: it is the chunk */
        assert_int_equal(get_sample(f.node, 8), 0);
        assert_int_equal(fake_release_reads(CW_E_IO), 1);
    }
    WAIT_FOR(events_of(&f.events, CW_CACHE_DAMAGED) == 1);
    assert_int_equal(get_sample(f.node, 8), 0);
    fake_hold_reads(false);
    assert_int_equal(get_sample(f.node, 7), 1);
    fixture_close(&f, 0);
}

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
        uint64_t ids[8];
        int found = get_sample(churn->f.node, cw_mix64(i) % 600);

        atomic_fetch_add(&churn->hits, found == 1);
        atomic_fetch_add(&churn->wrong, found < 0);
        for (size_t k = 0; k < 8; k++)
            ids[k] = cw_mix64(i + 1 + k) % 600;
        if (i % 16 == 0)
            cw_cache_prefetch(churn->f.node, ids, 8);
        if (i % 64 == 0)
            put_sample(churn->f.node, 600 + cw_mix64(i) % 600);
    }
}

static void churn_main(void *arg, size_t no)
{
    struct churn *churn = arg;
    struct cw_cache_node *node = churn->f.node;

    if (no) {
        read_on(arg, no);
        return;
    }
    for (int round = 0; round < 60; round++) {
        const char *name = churn->f.events.names[round % 6];

        cw_cache_node_remove(node, &name, 1);
        if (round % 3 == 0)
            cw_cache_node_add(node, &name, 1);
        cw_clock_sleep_ns(1000000);
        cw_cache_node_add(node, &name, 1);
        if (round % 7 == 0)
            cw_cache_flush(churn->f.cache, NULL);
    }
    size_t seen = atomic_load(&churn->hits);
    for (int64_t deadline = cw_clock_ns() + DEADLINE_NS; atomic_load(&churn->hits) < seen + 100 && cw_clock_ns() < deadline;)
        cw_clock_sleep_ns(1000000);
    atomic_store(&churn->stop, true);
}

static void churn(const char *url, int level)
{
    struct churn *churn = CW_NEW(struct churn);
    struct fixture *f = &churn->f;

    fake_reset();
    fixture_open(f, url, (struct cw_cache_options){.memory = 4 << 20, .chunk_bytes = 1 << 20, .level = level});
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
    WAIT_FOR(cw_cache_node_is_loaded(f->node));
    for (size_t i = 0; i < f->events.names_n; i++) {
        const char *name = f->events.names[i];

        WAIT_FOR((cw_cache_node_remove(f->node, &name, 1), cw_cache_node_is_loaded(f->node)));
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

/* Damage that appears between two reads, while several read: everything that is delivered is right. */
static void damage_main(void *arg, size_t no)
{
    struct churn *churn = arg;
    struct cw_cache_node *node = churn->f.node;

    if (no) {
        read_on(arg, no);
        return;
    }
    for (size_t i = 0; i < 6; i++) {
        const char *name = churn->f.events.names[i];

        cw_cache_node_remove(node, &name, 1);
        for (size_t k = 0; k < fake_files(); k++)
            if (strcmp(fake_name(k), name) == 0)
                fake_damage(k, fake_bytes(k) / 2);
        cw_cache_node_add(node, &name, 1);
    }
    for (int64_t deadline = cw_clock_ns() + DEADLINE_NS; events_of(&churn->f.events, CW_CACHE_DAMAGED) == 0 && cw_clock_ns() < deadline;) {
        for (size_t i = 0; i < 6; i++) { /* one that was still loaded when it was damaged is added again now */
            const char *name = churn->f.events.names[i];

            cw_cache_node_add(node, &name, 1);
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
    fixture_open(f, "fake:read", (struct cw_cache_options){.memory = 4 << 20, .chunk_bytes = 1 << 20});
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
        cw_cache_node_add(to->node, &name, 1);
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
        WAIT_FOR(cw_cache_node_is_loaded(pair->f[i].node));
        for (uint64_t id = 0; id < 3000; id++)
            assert_int_equal(get_sample(pair->f[i].node, id), 1);
        assert_int_equal(counts_of(pair->f[i].node).records, 3000);
        fixture_close(&pair->f[i], 0);
    }
    cw_mem_free(pair);
}

/* ---- ends ---- */

static void free_cache(void *arg)
{
    cw_cache_free(arg, 0);
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
    cw_clock_sleep_ns(20000000);
    fake_hold_puts(false);
    cw_thread_join(&thread);
    struct cw_cache_counts counts = counts_of(f.node);
    assert_int_equal(counts.put, 600);
    assert_int_equal(counts.written + counts.lost, 600);
    assert_int_equal(counts.lost, f.events.lost);
    assert_true(counts.written > 0);
    cw_cache_node_unref(f.node);
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
    cw_cache_node_unref(f.node); /* what waits keeps the node */
    cw_cache_free(f.cache, 120000);
    assert_int_equal(f.events.written, 600);
    fixture_fini_events(&f);
}

static void release_late(void *arg)
{
    (void)arg;
    cw_clock_sleep_ns(20000000);
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
    assert_true(fake_reads_held() > 0);
    cw_thread_start(&thread, "release", release_late, NULL);
    fixture_close(&f, 0);
    cw_thread_join(&thread);
}

static void test_nodes(void **state)
{
    struct cw_spec spec;
    struct fixture f;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:map", (struct cw_cache_options){0});
    test_spec(&spec);
    struct cw_cache_node *same = cw_cache_node(f.cache, "default", test_key(1), &spec);
    struct cw_cache_node *other = cw_cache_node(f.cache, "t2", test_key(1), &spec);
    assert_ptr_equal(same, f.node);
    assert_ptr_not_equal(other, f.node);
    assert_string_equal(cw_cache_node_tenant(other), "t2");
    assert_true(cw_hash_eq(cw_cache_node_key(other), test_key(1)));
    put_sample(f.node, 1);
    assert_int_equal(get_sample(other, 1), 0);
    settle(&f);
    const char *name = f.events.names[0];
    cw_cache_node_add(other, &name, 1); /* another tenant's: not ours */
    assert_true(cw_cache_node_is_loaded(other));
    assert_false(cw_cache_has(other, 1));
    cw_cache_node_unref(same);
    cw_cache_node_unref(f.node);
    f.node = cw_cache_node(f.cache, "", test_key(1), &spec); /* a new one: knows nothing */
    assert_false(cw_cache_has(f.node, 1));
    cw_cache_node_unref(other);
    fixture_close(&f, 0);
}

/* ---- random operations beside a plain map ---- */

#define MODEL_IDS 400

struct model {
    struct fixture f;
    bool there[MODEL_IDS]; /* kept: must be found unless a chunk was removed since */
    struct cw_rng rng;
    uint32_t draw;
    enum { SMALL, FAR, STRIDE } kind;
    struct cw_strmap loaded; /* names of chunks */
    size_t seen;             /* of the events' names */
};

static uint64_t draw(struct model *m, uint64_t n)
{
    return cw_rng_below(&m->rng, m->draw++, n);
}

static uint64_t model_id(const struct model *m, uint64_t i)
{
    return m->kind == SMALL ? i : m->kind == FAR ? ~cw_mix64(i) : i * 1000003;
}

static void model_expect(struct model *m, uint64_t i)
{
    int found = get_sample(m->f.node, model_id(m, i));

    assert_int_equal(found, m->there[i]);
    assert_int_equal(cw_cache_has(m->f.node, model_id(m, i)), m->there[i]);
}

static void model_look(struct model *m, size_t most)
{
    size_t changed = 0;

    for (uint64_t i = 0; i < MODEL_IDS; i++) {
        bool found = get_sample(m->f.node, model_id(m, i)) == 1;

        changed += m->there[i] != found;
        m->there[i] = found;
    }
    assert_true(changed <= most);
}

/* Nothing waits. One chunk goes or comes back: no more records can change than it has. */
static void model_chunk(struct model *m)
{
    struct cw_chunk_name parsed;

    for (; m->seen < m->f.events.names_n; m->seen++)
        cw_strmap_set(&m->loaded, m->f.events.names[m->seen], &m->f);
    if (!m->seen)
        return;
    const char *name = m->f.events.names[draw(m, m->seen)];
    uint64_t chunks = counts_of(m->f.node).chunks;
    assert_true(cw_chunk_name_parse(name, &parsed));
    if (cw_strmap_get(&m->loaded, name)) {
        cw_cache_node_remove(m->f.node, &name, 1);
        WAIT_FOR(counts_of(m->f.node).chunks == chunks - 1);
        cw_strmap_remove(&m->loaded, name);
    } else {
        cw_cache_node_add(m->f.node, &name, 1);
        WAIT_FOR(cw_cache_node_is_loaded(m->f.node));
        assert_int_equal(counts_of(m->f.node).chunks, chunks + 1);
        cw_strmap_set(&m->loaded, name, &m->f);
    }
    model_look(m, parsed.count);
}

static void model_step(struct model *m)
{
    uint64_t i = draw(m, MODEL_IDS);

    switch (draw(m, 12)) {
    case 0:
        if (draw(m, 4) == 0)
            settle(&m->f);
        break;
    case 1:
        if (draw(m, 8) == 0) {
            settle(&m->f);
            model_chunk(m);
        }
        break;
    case 2:
    case 3:
    case 4: {
        put_sample(m->f.node, model_id(m, i));
        m->there[i] = true;
        break;
    }
    case 5: {
        uint64_t ids[4] = {model_id(m, i), model_id(m, (i + 1) % MODEL_IDS), 1u << 30, model_id(m, i)};

        cw_cache_prefetch(m->f.node, ids, 4);
        break;
    }
    default:
        model_expect(m, i);
    }
}

static void test_model(void **state)
{
    static const char *const urls[] = {"fake:map", "fake:read"};

    (void)state;
    for (uint64_t seed = 0; seed < 18; seed++) {
        struct model *m = CW_NEW(struct model);
        static const int levels[] = {CW_CHUNK_PLAIN, 3, CW_CHUNK_AUTO};

        fake_reset();
        m->kind = seed % 3 == 0 ? SMALL : seed % 3 == 1 ? FAR : STRIDE;
        cw_rng_init(&m->rng, seed, 0, 0, 0, 0);
        fixture_open(&m->f, urls[seed % 2], (struct cw_cache_options){.memory = 64 << 20, .level = levels[seed / 6]});
        for (int step = 0; step < 1500; step++)
            model_step(m);
        settle(&m->f);
        for (uint64_t i = 0; i < MODEL_IDS; i++)
            model_expect(m, i);
        fixture_close(&m->f, 0);
        cw_strmap_fini(&m->loaded);
        cw_mem_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefetch),
        cmocka_unit_test(test_prefetch_is_bounded),
        cmocka_unit_test(test_wait_for_one_read),
        cmocka_unit_test(test_slow_and_failing_reads),
        cmocka_unit_test(test_churn),
        cmocka_unit_test(test_damage_under_readers),
        cmocka_unit_test(test_two_workers),
        cmocka_unit_test(test_free_while_writing),
        cmocka_unit_test(test_free_with_wait),
        cmocka_unit_test(test_free_with_reads),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
