/* SPDX-License-Identifier: Apache-2.0 */
/* The source cache: the same bytes as the file's from every tier, full and shared. */
#include "source_world.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/thread.h"

static void memory_alone(void **state)
{
    struct world *w = *state;
    struct cw_source_cache *c =
        new_cache(&(struct cw_source_cache_options){.memory = (uint64_t)16 << 20});
    read_all(w, c);
    assert_int_equal(origin_reads(c), BLOCKS);
    assert_int_equal(counts_of(c, CW_SOURCE_MEMORY).bytes, BYTES);
    assert_false(counts_of(c, CW_SOURCE_DIR).there);
    cw_source_cache_free(c);
}

static void memory_is_limited(void **state)
{
    struct world *w = *state;
    char other[128];
    /* 8 MiB is the least */
    struct cw_source_cache *c = new_cache(&(struct cw_source_cache_options){.memory = 1});
    read_all(w, c);
    snprintf(other, sizeof(other), "%s-2", w->path);
    assert_int_equal(rename(w->path, other), 0);
    w->file.path = other;
    read_all(w, c);
    assert_in_range(counts_of(c, CW_SOURCE_MEMORY).bytes, 1, 8 << 20);
    assert_int_equal(origin_reads(c), 2 * BLOCKS);
    cw_source_cache_free(c);
}

static void directory_outlives(void **state)
{
    struct world *w = *state;
    const struct cw_source_cache_options o = {.dir = w->dir};
    struct cw_source_cache *c = new_cache(&o);
    read_all(w, c);
    wait_written(c);
    assert_int_equal(counts_of(c, CW_SOURCE_DIR).filled_bytes, BYTES);
    assert_in_range(counts_of(c, CW_SOURCE_DIR).bytes, BYTES, BYTES + 4096);
    cw_source_cache_free(c);
    c = new_cache(&o);
    read_all(w, c);
    assert_int_equal(origin_reads(c), 0);
    assert_int_equal(counts_of(c, CW_SOURCE_DIR).hits, BLOCKS);
    cw_source_cache_free(c);
}

static void store_outlives(void **state)
{
    struct world *w = *state;
    const struct cw_source_cache_options o = {0};
    struct cw_source_cache *c = new_cache(&o);
    cw_source_cache_set_store(c, 0, w->store, (uint64_t)1 << 30);
    read_all(w, c);
    wait_written(c);
    assert_int_equal(counts_of(c, CW_SOURCE_STORE).filled_bytes, BYTES);
    cw_source_cache_free(c);
    c = new_cache(&o);
    cw_source_cache_set_store(c, 0, w->store, (uint64_t)1 << 30);
    wait_found(w, c, CW_SOURCE_IN_STORE);
    read_all(w, c);
    assert_int_equal(origin_reads(c), 0);
    assert_int_equal(counts_of(c, CW_SOURCE_STORE).hits, BLOCKS);
    assert_int_equal(counts_of(c, CW_SOURCE_STORE).filled_bytes, 0);
    cw_source_cache_free(c);
}

static void written_when_it_ends(void **state)
{
    struct world *w = *state;
    struct cw_source_cache *c = new_cache(&(struct cw_source_cache_options){0});
    cw_source_cache_set_store(c, 0, w->store, (uint64_t)1 << 30);
    read_range(w, c, 0, 10);
    cw_source_cache_free(c);
    char path[160];
    snprintf(path, sizeof(path), "%s/store", w->root);
    assert_in_range(bytes_under(path), BLOCK, BLOCK + 4096);
}

static void quota_of_the_directory(void **state)
{
    struct world *w = *state;
    const uint64_t quota = 3 * BLOCK;
    struct cw_source_cache *c =
        new_cache(&(struct cw_source_cache_options){.dir = w->dir, .dir_bytes = quota});
    read_all(w, c);
    wait_written(c);
    assert_in_range(bytes_under(w->dir), BLOCK, quota);
    assert_true(counts_of(c, CW_SOURCE_DIR).refused > 0);
    cw_source_cache_free(c);
    /* what is idle makes room */
    c = new_cache(
        &(struct cw_source_cache_options){.dir = w->dir, .dir_bytes = quota, .idle_ms = -1});
    write_source(w, 5, 3600);
    open_source(w);
    read_all(w, c);
    wait_written(c);
    assert_in_range(bytes_under(w->dir), BLOCK, quota);
    assert_true(counts_of(c, CW_SOURCE_DIR).filled_bytes >= 2 * BLOCK);
    cw_source_cache_free(c);
    /* a smaller quota holds from the start */
    c = new_cache(&(struct cw_source_cache_options){.dir = w->dir, .dir_bytes = BLOCK + 4096});
    read_all(w, c);
    wait_written(c);
    assert_in_range(bytes_under(w->dir), 0, BLOCK + 4096);
    cw_source_cache_free(c);
}

static void quota_of_the_store(void **state)
{
    struct world *w = *state;
    char path[160];
    snprintf(path, sizeof(path), "%s/store", w->root);
    struct cw_source_cache *c =
        new_cache(&(struct cw_source_cache_options){.memory = (uint64_t)8 << 20});
    cw_source_cache_set_store(c, 0, w->store, 2 * BLOCK);
    read_all(w, c);
    wait_written(c);
    assert_in_range(bytes_under(path), 0, 2 * BLOCK);
    assert_true(counts_of(c, CW_SOURCE_STORE).refused > 0);
    cw_source_cache_free(c);
    c = new_cache(&(struct cw_source_cache_options){.memory = (uint64_t)8 << 20, .idle_ms = -1});
    cw_source_cache_set_store(c, 0, w->store, 3 * BLOCK);
    write_source(w, 6, 3600);
    open_source(w);
    read_all(w, c);
    wait_written(c);
    assert_in_range(bytes_under(path), BLOCK, 3 * BLOCK);
    assert_true(counts_of(c, CW_SOURCE_STORE).filled_bytes > 0);
    cw_source_cache_free(c);
}

/* Two caches as two processes would have them. */
static void two_share_a_directory(void **state)
{
    struct world *w = *state;
    const struct cw_source_cache_options o = {.dir = w->dir, .dir_bytes = 4 * BLOCK};
    struct cw_source_cache *a = new_cache(&o), *b = new_cache(&o);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        read_range(w, i % 2 ? a : b, i * BLOCK, 100);
        read_range(w, i % 2 ? b : a, i * BLOCK + 50, 100);
    }
    wait_written(a);
    wait_written(b);
    assert_in_range(bytes_under(w->dir), BLOCK, 4 * BLOCK);
    read_all(w, a);
    read_all(w, b);
    cw_source_cache_free(a);
    cw_source_cache_free(b);
}

static void warming(void **state)
{
    struct world *w = *state;
    const struct cw_source_cache_options o = {.dir = w->dir};
    struct cw_source_cache *c = new_cache(&o);
    cw_source_cache_set_store(c, 0, w->store, (uint64_t)1 << 30);
    for (uint64_t i = 0; i < BLOCKS; i++)
        assert_int_equal(tiers_of(w, c, i, false), 0);
    for (uint64_t i = 0; i < BLOCKS; i++)
        assert_int_equal(tiers_of(w, c, i, true), 0);
    wait_written(c);
    assert_int_equal(origin_reads(c), BLOCKS);
    const unsigned all = CW_SOURCE_IN_MEMORY | CW_SOURCE_IN_DIR | CW_SOURCE_IN_STORE;
    for (uint64_t i = 0; i < BLOCKS; i++)
        assert_int_equal(tiers_of(w, c, i, true), all);
    assert_int_equal(origin_reads(c), BLOCKS);
    cw_source_cache_free(c);
    /* what only the directory has goes to the store without the file being read */
    snprintf(w->store, sizeof(w->store), "dir:%s/store2", w->root);
    c = new_cache(&o);
    cw_source_cache_set_store(c, 0, w->store, (uint64_t)1 << 30);
    for (uint64_t i = 0; i < BLOCKS; i++)
        (void)tiers_of(w, c, i, true);
    wait_written(c);
    wait_found(w, c, CW_SOURCE_IN_STORE);
    assert_int_equal(origin_reads(c), 0);
    cw_source_cache_free(c);
}

struct reader {
    struct cw_thread thread;
    struct world *w;
    struct cw_source_cache *c;
    uint64_t seed;
    atomic_int *bad;
};

static void read_at_random(void *arg)
{
    struct reader *r = arg;
    const struct cw_source_hook *hook = cw_source_cache_hook(r->c);
    struct cw_err err = {0};
    char *got = cw_mem_new(70000);
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t at = cw_mix64(r->seed * 7919 + i) % (BYTES - 70000);
        size_t n = 1 + (size_t)(cw_mix64(i + 3) % 69999);
        bool ok = hook->read(hook->arg, &r->w->file, at, got, n, &err) == 0 &&
                  memcmp(got, r->w->bytes + at, n) == 0;
        atomic_fetch_add(r->bad, !ok);
    }
    cw_mem_free(got);
}

static void many_threads(void **state)
{
    struct world *w = *state;
    atomic_int bad = 0;
    struct cw_source_cache *c = new_cache(&(struct cw_source_cache_options){.dir = w->dir});
    cw_source_cache_set_store(c, 0, w->store, (uint64_t)1 << 30);
    struct reader readers[4];
    for (uint64_t i = 0; i < 4; i++) {
        readers[i] = (struct reader){.w = w, .c = c, .seed = i, .bad = &bad};
        cw_thread_start(&readers[i].thread, "reader", read_at_random, &readers[i]);
    }
    for (size_t i = 0; i < 4; i++)
        cw_thread_join(&readers[i].thread);
    assert_int_equal(atomic_load(&bad), 0);
    assert_in_range(origin_reads(c), 1, BLOCKS); /* each block was read by one of them */
    cw_source_cache_free(c);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, source_begin, source_end)
    const struct CMUnitTest tests[] = {
        CASE(memory_alone),       CASE(memory_is_limited),     CASE(directory_outlives),
        CASE(store_outlives),     CASE(written_when_it_ends),  CASE(quota_of_the_directory),
        CASE(quota_of_the_store), CASE(two_share_a_directory), CASE(warming),
        CASE(many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
