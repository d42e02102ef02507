/* SPDX-License-Identifier: Apache-2.0 */
/* The cache on the real stores: a directory that is mapped, one that is not, memory; slow, full,
 * and with files damaged or gone. */
#include "records.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define N 400

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    /* no disk that others keep busy: every put is synced */
    snprintf(dir, sizeof(dir), "/dev/shm/cachew-cache-XXXXXX");
    if (mkdtemp(dir))
        return 0;
    snprintf(dir, sizeof(dir), "/tmp/cachew-cache-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int on_file(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    (void)bytes, (void)mtime_ms;
    return cw_store_remove(arg, name, NULL);
}

static int clear_dir(void **state)
{
    CW_CLEANUP(cw_mem_free_at) char *url = cw_mem_printf("dir:%s", dir);
    struct cw_store *store;

    (void)state;
    if (cw_store_open(url, &store, NULL) != 0 ||
        cw_store_list(store, "", on_file, store, NULL) != 0)
        return -1;
    cw_store_close(store);
    CW_CLEANUP(cw_mem_free_at) char *tenant = cw_mem_printf("%s/default", dir);
    CW_CLEANUP(cw_mem_free_at)
    char *key = cw_mem_printf("%s/00000000000012340000000000000001", tenant);
    rmdir(key);
    rmdir(tenant);
    return rmdir(dir);
}

static void fill(struct fixture *f)
{
    for (uint64_t id = 0; id < N; id++) {
        int found = get_sample(f->node, id);

        assert_true(found >= 0);
        if (!found)
            put_sample(f->node, id);
    }
}

static size_t hits(struct fixture *f)
{
    size_t n = 0;

    for (uint64_t id = 0; id < N; id++) {
        int found = get_sample(f->node, id);

        assert_true(found >= 0);
        n += found == 1;
    }
    return n;
}

/* Every chunk that the store has, as the dispatcher would tell. */
static int add_one(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    struct fixture *f = arg;

    (void)bytes, (void)mtime_ms;
    cw_cache_dataset_add(f->node, &name, 1);
    return 0;
}

static void add_all(struct fixture *f)
{
    assert_int_equal(cw_store_list(cw_cache_store(f->cache), "", add_one, f, NULL), 0);
    WAIT_FOR(cw_cache_dataset_is_loaded(f->node));
}

static void write_and_read(const char *url, int level)
{
    struct cw_cache_options options = {
        .memory = 32 << 20, .chunk_bytes = 128 << 10, .level = level};
    uint64_t ids[N];
    struct fixture f;

    fixture_open(&f, url, options);
    fill(&f);
    settle(&f);
    assert_int_equal(hits(&f), N);
    assert_int_equal(counts_of(f.node).written, N);
    assert_true(counts_of(f.node).chunks > 1);
    fixture_close(&f, 0);

    fixture_open(&f, url, options);
    add_all(&f);
    for (uint64_t id = 0; id < N; id++)
        ids[id] = id;
    cw_cache_prefetch(f.node, ids, N);
    assert_int_equal(hits(&f), N);
    assert_int_equal(counts_of(f.node).misses, 0);
    fixture_close(&f, 0);
}

static void test_memory_store(void **state)
{
    (void)state;
    write_and_read("mem:cache-a?timeout=120s", CW_CHUNK_PLAIN);
    write_and_read("mem:cache-b?timeout=120s", CW_CHUNK_AUTO);
    write_and_read("mem:cache-c?latency=1ms&timeout=120s", 3);
}

static void test_directory(void **state)
{
    CW_CLEANUP(cw_mem_free_at) char *mapped = cw_mem_printf("dir:%s?map=on&timeout=120s", dir);

    (void)state;
    write_and_read(mapped, CW_CHUNK_PLAIN);
}

static void test_directory_not_mapped(void **state)
{
    CW_CLEANUP(cw_mem_free_at) char *url = cw_mem_printf("dir:%s?map=off&timeout=120s", dir);

    (void)state;
    write_and_read(url, 3);
}

/* One file is gone, one is cut off, in one a byte is changed. What is left is used, the rest
 * computed and written anew. */
static int spoil(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    CW_CLEANUP(cw_mem_free_at) char *path = cw_mem_printf("%s/%s", dir, name);
    int *i = arg;

    (void)mtime_ms;
    if (*i == 0) {
        assert_int_equal(unlink(path), 0);
    } else if (*i == 1) {
        assert_int_equal(truncate(path, (off_t)bytes / 2), 0);
    } else if (*i == 2) {
        char byte;
        int fd = open(path, O_RDWR);

        assert_true(fd >= 0);
        assert_int_equal(pread(fd, &byte, 1, (off_t)bytes / 2), 1);
        byte ^= 4;
        assert_int_equal(pwrite(fd, &byte, 1, (off_t)bytes / 2), 1);
        close(fd);
    }
    (*i)++;
    return 0;
}

static void test_spoilt_files(void **state)
{
    CW_CLEANUP(cw_mem_free_at) char *url = cw_mem_printf("dir:%s?timeout=120s", dir);
    struct cw_cache_options options = {.chunk_bytes = 128 << 10};
    struct fixture f, other;
    int i = 0;

    (void)state;
    fixture_open(&f, url, options);
    fill(&f);
    settle(&f);
    fixture_close(&f, 0);
    fixture_open(&f, url, options);
    fixture_open(&other, url, options);
    assert_int_equal(cw_store_list(cw_cache_store(f.cache), "", spoil, &i, NULL), 0);
    assert_true(i > 3);
    add_all(&f);
    add_all(&other);
    size_t n = hits(&f);
    assert_true(n < N);
    WAIT_FOR(events_of(&f.events, CW_CACHE_DAMAGED) == 2);
    assert_true(counts_of(f.node).damaged == 2);
    fill(&f);
    settle(&f);
    assert_int_equal(hits(&f), N);
    (void)hits(&other);
    fixture_close(&f, 0);
    fixture_close(&other, 0);
}

static void test_full_store(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f, "mem:cache-full?bytes=200K&timeout=120s",
                 (struct cw_cache_options){.chunk_bytes = 64 << 10});
    fill(&f);
    /* a full store is asked once more after ten seconds; what it does not take then is lost */
    settle(&f);
    struct cw_cache_counts counts = counts_of(f.node);
    assert_true(counts.lost > 0 && counts.written > 0);
    assert_int_equal(counts.lost + counts.written, N);
    assert_int_equal(hits(&f), counts.written);
    WAIT_FOR(events_lost(&f.events) == counts.lost);
    fixture_close(&f, 0);
}

/* What looks like a parameter in a store's address is none. */
static void test_timeout(void **state)
{
    static const struct {
        const char *url;
        int64_t timeout_ms;
    } cases[] = {{"mem:timeout=1ms", 5000},
                 {"mem:x?latency=0ms", 5000},
                 {"mem:timeout=1ms?timeout=20s", 20000}};

    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct fixture f;

        fixture_open(&f, cases[i].url, (struct cw_cache_options){0});
        assert_int_equal(f.cache->timeout_ms, cases[i].timeout_ms);
        fixture_close(&f, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_store),
        cmocka_unit_test_setup_teardown(test_directory, make_dir, clear_dir),
        cmocka_unit_test_setup_teardown(test_directory_not_mapped, make_dir, clear_dir),
        cmocka_unit_test_setup_teardown(test_spoilt_files, make_dir, clear_dir),
        cmocka_unit_test(test_full_store),
        cmocka_unit_test(test_timeout),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
