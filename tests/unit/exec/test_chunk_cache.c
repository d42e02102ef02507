/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines with the real cache and real chunks: the same bytes with none, filling, full, read by
 * another process, without chunks that are evicted while items run, with damaged ones, switched on
 * and off between items. */
#include "base/clock.h"
#include "base/mem.h"
#include "plan/plan_nodes.h"
#include "run.h"
#include "setups.h"
#include "support/cm.h"
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEADLINE_NS (INT64_C(120) * 1000000000)
#define CHUNKS_MAX 256
#define EPOCHS 3

static const struct setup more[] = {
    /* bad elements are left out, behind and before what is kept */
    {RANGE(100) "," EVAL("a", "x + 1") "," EVAL("b", "1 % (x % 10)") "," BATCH(16),
     {"b", "a"},
     0,
     false},
    {RANGE(100) "," EVAL("a", "1 % (x % 30)") "," BATCH(8) "," EVAL("b", "x + 1"),
     {"b", "batch", "a"},
     0,
     false},
    /* draws of the first epoch; images, and what is drawn behind them */
    {"{\"op\":\"files\",\"pattern\":\"" CW_TEST_IMAGES
     "/image_4*.jpg\"},{\"op\":\"read_file\"},{\"op\":\"decode_image\",\"channels\":3},"
     "{\"op\":\"random_resized_crop\",\"name\":\"crop\",\"size\":[9,7]},{\"op\":\"cache\",\"name\":"
     "\"c\",\"freeze\":true},"
     "{\"op\":\"repeat\",\"count\":4},{\"op\":\"random_flip\"}," BATCH(4),
     {"c", "read_file"},
     0,
     false},
};

/* Images that are damaged at each tenth of their length (make_damaged_images), cached where a
 * crop behind the cache needs only a part. */
#define DAMAGED_DIR "/tmp/cachew-test-damaged-%d"
#define DAMAGED(crop)                                                                              \
    "{\"op\":\"files\",\"pattern\":\"" DAMAGED_DIR "/*.jpg\"},{\"op\":\"read_file\"},"             \
    "{\"op\":\"decode_image\",\"name\":\"d\",\"channels\":3}," CACHE "," crop
static struct setup damaged_setups[] = {
    {DAMAGED("{\"op\":\"center_crop\",\"size\":9}," BATCH(1)), {"c"}, 0, false},
    {DAMAGED("{\"op\":\"center_crop\",\"size\":[9,50]}," SHUFFLE "," BATCH(2)),
     {"c", "d", "read_file"},
     0,
     false},
    {DAMAGED("{\"op\":\"random_resized_crop\",\"size\":[9,7],\"scale\":[0.05,0.3]}," BATCH(1)),
     {"c"},
     0,
     true},
    /* what changes parts of images between the cache and the crop, and before the cache */
    {DAMAGED("{\"op\":\"random_flip\"},{\"op\":\"normalize\"},{\"op\":\"center_crop\","
             "\"size\":9}," BATCH(1)),
     {"c"},
     0,
     false},
    {DAMAGED("{\"op\":\"resize\",\"size\":[20,24],\"name\":\"r\"},{\"op\":\"cast\",\"name\":\"n\","
             "\"dtype\":\"f32\"},{\"op\":\"random_flip\",\"direction\":\"vertical\"},"
             "{\"op\":\"center_crop\",\"size\":[5,7]}," BATCH(1)),
     {"n", "r", "c"},
     0,
     false},
    {DAMAGED("{\"op\":\"resize\",\"size\":30,\"name\":\"r\"},{\"op\":\"random_resized_crop\","
             "\"size\":[9,7],\"scale\":[0.05,0.3]}," BATCH(1)),
     {"r"},
     0,
     true},
};

/* A chunk as the catalogue of a dispatcher would know it. */
struct chunk {
    struct cw_hash key;
    char name[CW_STORE_NAME_MAX + 1];
};
/* What all processes of a test share. */
struct world {
    const char *url;
    struct cw_mutex mutex;
    struct chunk chunks[CHUNKS_MAX]; /* mutex, as the rest */
    size_t chunks_n, damaged, lost;
};
/* One process: a cache, and the nodes of a plan there. */
struct worker {
    struct world *world;
    struct cw_cache *cache;
    struct cw_cache_dataset *node[NODES_MAX];
    size_t n;
};

static void on_event(void *arg, const struct cw_cache_event *event)
{
    struct world *world = arg;
    cw_mutex_lock(&world->mutex);
    world->damaged += event->kind == CW_CACHE_DAMAGED;
    world->lost += event->kind == CW_CACHE_LOST;
    if (event->kind == CW_CACHE_WRITTEN && world->chunks_n < CHUNKS_MAX) {
        struct chunk *chunk = &world->chunks[world->chunks_n++];
        chunk->key = cw_cache_dataset_key(event->dataset);
        snprintf(chunk->name, sizeof(chunk->name), "%s", event->name);
    }
    cw_mutex_unlock(&world->mutex);
}

static void start_worker(struct world *world, const struct cw_plan *plan, const struct setup *setup,
                         struct worker *worker)
{
    struct cw_err err = {0};
    struct cw_store *store = NULL;
    if (cw_store_open(world->url, &store, &err))
        fail_msg("%s", err.msg);
    const struct cw_cache_options options = {.memory = (size_t)64 << 20,
                                             .chunk_bytes = 4096,
                                             .level = CW_CHUNK_AUTO,
                                             .event = on_event,
                                             .event_arg = world};
    *worker = (struct worker){.world = world, .cache = cw_cache_new(store, &options)};
    for (; worker->n < NODES_MAX && setup->cached[worker->n]; worker->n++) {
        struct cw_plan_cacheable what;
        cw_plan_cacheable(plan, node_of(plan, setup->cached[worker->n]), &what);
        if (what.why_not)
            fail_msg("%s: %s: %s", setup->nodes, setup->cached[worker->n], what.why_not);
        worker->node[worker->n] = cw_cache_dataset(worker->cache, "", what.key, what.out);
    }
}

static void stop_worker(struct worker *worker)
{
    for (size_t k = 0; k < worker->n; k++)
        cw_cache_dataset_unref(worker->node[k]);
    cw_cache_free(worker->cache, 60000);
}

static void use(struct cw_plan *plan, const struct setup *setup, const struct worker *worker,
                bool read, bool write)
{
    for (size_t k = 0; k < worker->n; k++)
        assert_int_equal(cw_plan_set_cache(plan, node_of(plan, setup->cached[k]), worker->node[k],
                                           read, write, NULL),
                         0);
}

static size_t count_chunks(struct world *world)
{
    cw_mutex_lock(&world->mutex);
    size_t n = world->chunks_n; /* those before it do not change any more */
    cw_mutex_unlock(&world->mutex);
    return n;
}

static void write_all(struct worker *worker)
{
    int64_t deadline = cw_clock_ns() + DEADLINE_NS;
    cw_cache_flush(worker->cache, NULL);
    while (cw_cache_is_writing(worker->cache)) {
        assert_true(cw_clock_ns() < deadline);
        cw_clock_sleep_ns(1000000);
    }
}

/* Tells the worker of all chunks, or of the loss of each second one. */
static void tell(struct worker *worker, bool gone)
{
    int64_t deadline = cw_clock_ns() + DEADLINE_NS;
    size_t chunks_n = count_chunks(worker->world);
    for (size_t k = 0; k < worker->n; k++) {
        for (size_t i = 0; i < chunks_n; i++) {
            const struct chunk *chunk = &worker->world->chunks[i];
            const char *name = chunk->name;
            if (!cw_hash_eq(chunk->key, cw_cache_dataset_key(worker->node[k])))
                continue;
            if (!gone)
                cw_cache_dataset_add(worker->node[k], &name, 1);
            else if (i % 2)
                cw_cache_dataset_remove(worker->node[k], &name, 1);
        }
        while (!gone && !cw_cache_dataset_is_loaded(worker->node[k])) {
            assert_true(cw_clock_ns() < deadline);
            cw_clock_sleep_ns(1000000);
        }
    }
}

static void remove_some(struct worker *worker)
{
    size_t chunks_n = count_chunks(worker->world);
    tell(worker, true);
    for (size_t i = 1; i < chunks_n; i += 2)
        (void)!cw_store_remove(cw_cache_store(worker->cache), worker->world->chunks[i].name, NULL);
}

static void must_be(const struct setup *setup, const char *when, struct cw_hash a, struct cw_hash b)
{
    if (!cw_hash_eq(a, b))
        fail_msg("%s: other data %s", setup->nodes, when);
}

/* All items are submitted, then something happens. */
static struct cw_hash hash_disturbed(struct cw_plan *plan, size_t threads, struct worker *worker,
                                     void (*disturb)(struct worker *worker))
{
    size_t n = (size_t)cw_plan_info(plan)->items;
    struct cw_exec *exec = cw_exec_new(threads);
    struct job *jobs = CW_NEW_ARRAY(struct job, n + 1);
    struct waiter waiter = {.left = n};
    struct cw_hasher *hasher = cw_hasher_new();
    cw_mutex_init(&waiter.mutex);
    cw_cond_init(&waiter.cond);
    for (size_t i = 0; i < n; i++) {
        jobs[i].waiter = &waiter;
        jobs[i].item = (struct cw_exec_item){.plan = plan,
                                             .epoch = 2,
                                             .item = i,
                                             .bad = CW_BAD_SKIP,
                                             .done = on_done,
                                             .arg = &jobs[i]};
        cw_exec_prefetch(plan, 2, i);
        cw_exec_submit(exec, &jobs[i].item);
        if (i == n / 2)
            disturb(worker);
    }
    cw_exec_free(exec); /* cancels what has not begun */
    for (size_t i = 0; i < n; i++) {
        if (!jobs[i].batch && jobs[i].err.code == CW_E_CANCELLED)
            assert_int_equal(cw_exec_run(plan, 2, i, CW_BAD_SKIP, &jobs[i].batch, &jobs[i].err), 0);
        if (!jobs[i].batch)
            fail_msg("item %zu: %s", i, jobs[i].err.msg);
        cw_hasher_add_u64(hasher, jobs[i].batch->elements);
        cw_hasher_add_u64(hasher, jobs[i].batch->skipped);
        cw_batch_hash(jobs[i].batch, hasher);
    }
    struct cw_hash hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    free_jobs(jobs, n);
    cw_cond_fini(&waiter.cond);
    cw_mutex_fini(&waiter.mutex);
    return hash;
}

/* The first process: nothing is there. It fills the cache and writes chunks. */
static void fill(struct world *world, const struct setup *setup, size_t threads,
                 const struct cw_hash *plain)
{
    struct cw_plan *plan = plan_of(setup->nodes, 7);
    struct worker worker;
    struct cw_cache_counts counts;
    uint64_t rows;
    start_worker(world, plan, setup, &worker);
    use(plan, setup, &worker, true, true);
    must_be(setup, "filling", plain[0], hash_pool(plan, threads, 0, CW_BAD_SKIP, &rows));
    must_be(setup, "while it is written", plain[1],
            hash_pool(plan, threads, 1, CW_BAD_SKIP, &rows));
    write_all(&worker);
    use(plan, setup, &worker, true, false);
    must_be(setup, "full", plain[2], hash_pool(plan, threads, 2, CW_BAD_SKIP, &rows));
    cw_cache_counts(worker.node[0], &counts);
    if (!counts.put || !counts.hits || counts.lost)
        fail_msg("%s: %d put, %d hits, %d lost", setup->nodes, (int)counts.put, (int)counts.hits,
                 (int)counts.lost);
    cw_plan_unref(plan);
    stop_worker(&worker);
}

/* Another process, which knows the chunks by name. */
static void read_back(struct world *world, const struct setup *setup, size_t threads,
                      const struct cw_hash *plain)
{
    struct cw_plan *plan = plan_of(setup->nodes, 7);
    struct worker worker;
    struct cw_cache_counts counts;
    uint64_t rows;
    start_worker(world, plan, setup, &worker);
    tell(&worker, false);
    use(plan, setup, &worker, true, false);
    must_be(setup, "read", plain[0], hash_pool(plan, threads, 0, CW_BAD_SKIP, &rows));
    cw_cache_counts(worker.node[0], &counts);
    assert_true(counts.hits > 0);
    for (uint64_t item = 0; item < cw_plan_info(plan)->items; item++) {
        struct cw_batch *batch = NULL;
        use(plan, setup, &worker, item % 3 != 0, item % 2);
        assert_int_equal(cw_exec_run(plan, 1, item, CW_BAD_SKIP, &batch, NULL), 0);
        cw_batch_unref(batch);
    }
    use(plan, setup, &worker, true, true);
    must_be(setup, "after it was switched on and off", plain[1],
            hash_pool(plan, threads, 1, CW_BAD_SKIP, &rows));
    must_be(setup, "while chunks are evicted", plain[2],
            hash_disturbed(plan, threads, &worker, remove_some));
    must_be(setup, "without some chunks", plain[0],
            hash_pool(plan, threads, 0, CW_BAD_SKIP, &rows));
    cw_plan_unref(plan);
    stop_worker(&worker);
}

static const struct setup *setup_at(size_t i)
{
    const size_t others = CW_ARRAY_LEN(setups) + CW_ARRAY_LEN(more);
    if (i >= others)
        return &damaged_setups[i - others];
    return i < CW_ARRAY_LEN(setups) ? &setups[i] : &more[i - CW_ARRAY_LEN(setups)];
}
enum { SETUPS = CW_ARRAY_LEN(setups) + CW_ARRAY_LEN(more) + CW_ARRAY_LEN(damaged_setups) };

static void find_plain(const struct setup *setup, struct cw_hash *ret_plain)
{
    struct cw_plan *plan = plan_of(setup->nodes, 7);
    for (uint64_t e = 0; e < EPOCHS; e++)
        ret_plain[e] = hash_here(plan, e, CW_BAD_SKIP);
    cw_plan_unref(plan);
}

static void test_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < SETUPS; i++) {
        for (size_t threads = 1; threads <= 4; threads += 3) {
            cw_autofree char *url = cw_mem_printf("mem:cache-rows-%zu-%zu", i, threads);
            struct world world = {.url = url};
            struct cw_hash plain[EPOCHS];
            cw_mutex_init(&world.mutex);
            find_plain(setup_at(i), plain);
            fill(&world, setup_at(i), threads, plain);
            read_back(&world, setup_at(i), threads, plain);
            assert_int_equal(world.damaged, 0);
            cw_mutex_fini(&world.mutex);
        }
    }
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static int damage_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    const char *dot = strrchr(path, '.');
    (void)at;
    if (kind != FTW_F || !dot || strcmp(dot, ".chunk") != 0)
        return 0;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    for (off_t where = 0; where < st->st_size - CW_CHUNK_FOOTER_BYTES;
         where += 61) { /* less than a line: no padding hides it */
        unsigned char byte = 0;
        assert_int_equal(pread(fd, &byte, 1, where), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, where), 1);
    }
    close(fd);
    return 0;
}

/* In files, all of which are damaged: before they are read by one process, after they
 * were loaded by another. */
static void test_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < SETUPS; i++) {
        const struct setup *setup = setup_at(i);
        char dir[] = "/tmp/cachew-test-rows-XXXXXX";
        assert_non_null(mkdtemp(dir));
        cw_autofree char *url = cw_mem_printf("dir:%s", dir);
        struct world world = {.url = url};
        struct cw_hash plain[EPOCHS];
        struct worker loaded, late;
        uint64_t rows;
        cw_mutex_init(&world.mutex);
        find_plain(setup, plain);
        fill(&world, setup, 3, plain);
        assert_true(count_chunks(&world) > 0);
        struct cw_plan *plan = plan_of(setup->nodes, 7), *other = plan_of(setup->nodes, 7);
        start_worker(&world, plan, setup, &loaded);
        tell(&loaded, false);
        use(plan, setup, &loaded, true, true);
        assert_int_equal(nftw(dir, damage_entry, 16, FTW_PHYS), 0);
        must_be(setup, "of files that were damaged after they were loaded", plain[0],
                hash_pool(plan, 3, 0, CW_BAD_SKIP, &rows));
        start_worker(&world, other, setup, &late);
        tell(&late, false);
        use(other, setup, &late, true, false);
        must_be(setup, "of damaged files", plain[1], hash_pool(other, 3, 1, CW_BAD_SKIP, &rows));
        cw_mutex_lock(&world.mutex);
        unsigned long long damaged = (unsigned long long)world.damaged;
        cw_mutex_unlock(&world.mutex);
        if (!damaged)
            fail_msg("%s: nothing was found damaged", setup->nodes);
        cw_plan_unref(plan);
        cw_plan_unref(other);
        stop_worker(&loaded);
        stop_worker(&late);
        assert_int_equal(nftw(dir, remove_entry, 16, FTW_PHYS | FTW_DEPTH), 0);
        cw_mutex_fini(&world.mutex);
    }
}

/* Cut short as a disk that fails does it: in place, while they are mapped. */
static int cut_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    const char *dot = strrchr(path, '.');
    (void)at;
    if (kind == FTW_F && dot && strcmp(dot, ".chunk") == 0)
        assert_int_equal(truncate(path, st->st_size * (off_t)(st->st_ino % 4) / 4), 0);
    return 0;
}

static void cut_later(void *dir)
{
    cw_clock_sleep_ns(1000000); /* any moment will do */
    if (nftw(dir, cut_entry, 16, FTW_PHYS))
        abort();
}

enum cut { CUT_UNTOUCHED, CUT_VERIFIED, CUT_WHILE_READ, CUTS };

static void run_cut(const struct setup *setup, enum cut when, const struct cw_hash *plain)
{
    static const char *const texts[] = {"that were cut before they were touched",
                                        "that were cut after they were verified",
                                        "that are cut while they are read"};
    char dir[] = "/tmp/cachew-test-rows-XXXXXX";
    assert_non_null(mkdtemp(dir));
    cw_autofree char *url = cw_mem_printf("dir:%s?map=on", dir);
    struct world world = {.url = url};
    struct worker worker;
    struct cw_thread cutter = {0};
    uint64_t rows;
    cw_mutex_init(&world.mutex);
    fill(&world, setup, 3, plain);
    struct cw_plan *plan = plan_of(setup->nodes, 7);
    start_worker(&world, plan, setup, &worker);
    tell(&worker, false);
    use(plan, setup, &worker, true, true);
    if (when == CUT_VERIFIED)
        must_be(setup, "of whole files", plain[1], hash_pool(plan, 3, 1, CW_BAD_SKIP, &rows));
    if (when == CUT_WHILE_READ)
        cw_thread_start(&cutter, "cutter", cut_later, dir);
    else
        cut_later(dir);
    for (uint64_t e = 0; e < EPOCHS; e++)
        must_be(setup, texts[when], plain[e], hash_pool(plan, 3, e, CW_BAD_SKIP, &rows));
    cw_thread_join(&cutter);
    must_be(setup, texts[when], plain[0], hash_pool(plan, 3, 0, CW_BAD_SKIP, &rows));
    cw_plan_unref(plan);
    stop_worker(&worker);
    cw_mutex_lock(&world.mutex);
    if (!world.damaged)
        fail_msg("%s: files %s: none was found damaged", setup->nodes, texts[when]);
    cw_mutex_unlock(&world.mutex);
    assert_int_equal(nftw(dir, remove_entry, 16, FTW_PHYS | FTW_DEPTH), 0);
    cw_mutex_fini(&world.mutex);
}

static void test_cut_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < SETUPS; i++) {
        struct cw_hash plain[EPOCHS];
        find_plain(setup_at(i), plain);
        for (enum cut when = CUT_UNTOUCHED; when < CUTS; when++)
            run_cut(setup_at(i), when, plain);
    }
}

/* What each item of epoch 0 gives where a bad element fails it: a hash, or the error. */
static void find_outcomes(struct cw_plan *plan, struct cw_hash *hashes, int *codes)
{
    for (uint64_t item = 0; item < cw_plan_info(plan)->items; item++) {
        struct cw_batch *batch = NULL;
        struct cw_err err = {0};
        codes[item] = cw_exec_run(plan, 0, item, CW_BAD_FAIL, &batch, &err);
        hashes[item] = (struct cw_hash){0};
        if (codes[item])
            continue;
        struct cw_hasher *hasher = cw_hasher_new();
        cw_batch_hash(batch, hasher);
        hashes[item] = cw_hasher_get(hasher);
        cw_hasher_free(hasher);
        cw_batch_unref(batch);
    }
}

/* Where bad elements are errors: the same items fail without a cache, while it fills and when it
 * is full. */
static void test_damaged_fails(void **state)
{
    enum { ITEMS_MAX = 64 };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(damaged_setups); i++) {
        cw_autofree char *url = cw_mem_printf("mem:damaged-%zu", i);
        struct world world = {.url = url};
        struct cw_hash plain[ITEMS_MAX], cached[ITEMS_MAX];
        int codes[ITEMS_MAX], cached_codes[ITEMS_MAX];
        struct worker worker;
        size_t failed = 0, items = 0;
        cw_mutex_init(&world.mutex);
        struct cw_plan *plan = plan_of(damaged_setups[i].nodes, 7);
        items = (size_t)cw_plan_info(plan)->items;
        assert_in_range(items, 2, ITEMS_MAX);
        find_outcomes(plan, plain, codes);
        start_worker(&world, plan, &damaged_setups[i], &worker);
        use(plan, &damaged_setups[i], &worker, true, true);
        for (int pass = 0; pass < 3; pass++) {
            find_outcomes(plan, cached, cached_codes);
            for (size_t k = 0; k < items; k++) {
                assert_int_equal(codes[k], cached_codes[k]);
                assert_true(cw_hash_eq(plain[k], cached[k]));
                failed += codes[k] != 0;
            }
            write_all(&worker);
        }
        assert_in_range(failed, 1, 3 * items - 1); /* some do, and some do not */
        cw_plan_unref(plan);
        stop_worker(&worker);
        cw_mutex_fini(&world.mutex);
    }
}

/* A copy of an image with an end marker in the middle of its data, and what stands behind it
 * left as it is. */
static void make_damaged(const char *dir, const char *from, int tenth)
{
    unsigned char bytes[8192];
    cw_autofree char *source = cw_mem_printf(CW_TEST_IMAGES "/%s.jpg", from);
    cw_autofree char *path = cw_mem_printf("%s/%s-%d.jpg", dir, from, tenth);
    FILE *in = fopen(source, "rb"), *out = fopen(path, "wb");
    assert_non_null(in);
    assert_non_null(out);
    size_t n = fread(bytes, 1, sizeof(bytes), in), at = n * (size_t)tenth / 10;
    assert_in_range(n, 100, sizeof(bytes) - 1);
    if (tenth > 0) {
        bytes[at] = 0xff;
        bytes[at + 1] = 0xd9;
    }
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    fclose(out);
}

static int make_damaged_images(void **state)
{
    static const char *const images[] = {"image_420", "image_422", "image_444"};
    cw_autofree char *dir = cw_mem_printf(DAMAGED_DIR, (int)getpid());
    (void)state;
    assert_int_equal(mkdir(dir, 0700), 0);
    for (size_t i = 0; i < CW_ARRAY_LEN(images); i++)
        for (int tenth = 0; tenth < 10; tenth++)
            make_damaged(dir, images[i], tenth);
    for (size_t i = 0; i < CW_ARRAY_LEN(damaged_setups); i++) {
        const char *at = strstr(damaged_setups[i].nodes, "%d"), *nodes = damaged_setups[i].nodes;
        damaged_setups[i].nodes =
            cw_mem_printf("%.*s%d%s", (int)(at - nodes), nodes, (int)getpid(), at + 2);
    }
    return 0;
}

static int remove_damaged_images(void **state)
{
    cw_autofree char *dir = cw_mem_printf(DAMAGED_DIR, (int)getpid());
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(damaged_setups); i++)
        cw_mem_free((void *)(uintptr_t)damaged_setups[i].nodes);
    return nftw(dir, remove_entry, 16, FTW_PHYS | FTW_DEPTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory), cmocka_unit_test(test_files),
                                       cmocka_unit_test(test_cut_files),
                                       cmocka_unit_test(test_damaged_fails)};
    return cmocka_run_group_tests(tests, make_damaged_images, remove_damaged_images);
}
