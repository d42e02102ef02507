/* SPDX-License-Identifier: Apache-2.0 */
/* The source cache: the same bytes as the file's from every tier, full, damaged, shared, or away. */
#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/thread.h"
#include "cache/source_cache.h"
#include "support/cm.h"

#define BLOCK CW_SOURCE_BLOCK_BYTES
#define BYTES (5 * BLOCK + 12345)
#define BLOCKS 6

struct world {
    char root[64], path[96], dir[96], store[128];
    char *bytes; /* of the file */
    struct cw_source_file file;
};

static void write_source(struct world *w, uint64_t seed, int64_t age_s)
{
    FILE *f = fopen(w->path, "wb");
    assert_non_null(f);
    for (size_t i = 0; i + 8 <= BYTES; i += 8) {
        uint64_t v = cw_mix64(seed * 1000003 + i + 1);
        memcpy(w->bytes + i, &v, 8);
    }
    assert_int_equal(fwrite(w->bytes, 1, BYTES, f), BYTES);
    fclose(f);
    const struct timespec times[2] = {{.tv_sec = time(NULL) - age_s, .tv_nsec = (long)seed}, {.tv_sec = time(NULL) - age_s, .tv_nsec = (long)seed}};
    assert_int_equal(utimensat(AT_FDCWD, w->path, times, 0), 0);
}

static void open_source(struct world *w)
{
    struct stat st;
    if (w->file.fd > 0)
        close(w->file.fd);
    w->file.path = w->path;
    w->file.fd = open(w->path, O_RDONLY | O_CLOEXEC);
    assert_true(w->file.fd >= 0);
    assert_int_equal(fstat(w->file.fd, &st), 0);
    w->file.stamp.size = st.st_size;
    w->file.stamp.mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static int begin(void **state)
{
    struct world *w = CW_NEW(struct world);
    snprintf(w->root, sizeof(w->root), "/tmp/cachew-source-XXXXXX");
    assert_non_null(mkdtemp(w->root));
    snprintf(w->path, sizeof(w->path), "%s/file", w->root);
    snprintf(w->dir, sizeof(w->dir), "%s/dir", w->root);
    snprintf(w->store, sizeof(w->store), "dir:%s/store", w->root);
    w->bytes = cw_mem_new(BYTES + 8);
    write_source(w, 1, 3600);
    open_source(w);
    *state = w;
    return 0;
}

static int end(void **state)
{
    struct world *w = *state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", w->root);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    assert_int_equal(pclose(p), 0);
    close(w->file.fd);
    cw_mem_free(w->bytes);
    cw_mem_free(w);
    return 0;
}

static struct cw_source_cache *new_cache(const struct cw_source_cache_options *o)
{
    struct cw_source_cache *c = NULL;
    struct cw_err err = {0};
    assert_int_equal(cw_source_cache_new(o, &c, &err), 0);
    return c;
}

static struct cw_source_counts counts_of(struct cw_source_cache *c, enum cw_source_tier tier)
{
    struct cw_source_counts counts[CW_SOURCE_TIERS_N];
    cw_source_cache_counts(c, counts);
    return counts[tier];
}

static uint64_t origin_reads(struct cw_source_cache *c)
{
    return counts_of(c, CW_SOURCE_ORIGIN).hits;
}

static void wait_written(struct cw_source_cache *c)
{
    int64_t deadline = cw_clock_ms() + 120000;
    while (counts_of(c, CW_SOURCE_DIR).pending + counts_of(c, CW_SOURCE_STORE).pending > 0) {
        assert_true(cw_clock_ms() < deadline);
        usleep(2000);
    }
}

static void read_range(struct world *w, struct cw_source_cache *c, uint64_t offset, size_t n)
{
    const struct cw_source_hook *hook = cw_source_cache_hook(c);
    struct cw_err err = {0};
    char *got = cw_mem_new(n + 1);
    assert_int_equal(hook->read(hook->arg, &w->file, offset, got, n, &err), 0);
    assert_memory_equal(got, w->bytes + offset, n);
    cw_mem_free(got);
}

static void read_all(struct world *w, struct cw_source_cache *c)
{
    for (uint64_t at = 0; at < BYTES; at += 300000)
        read_range(w, c, at, (size_t)CW_MIN((uint64_t)300000, BYTES - at));
    read_range(w, c, 0, BYTES);
    read_range(w, c, BYTES, 0);
    read_range(w, c, BLOCK - 1, 2);
}

static unsigned tiers_of(struct world *w, struct cw_source_cache *c, uint64_t block, bool load)
{
    const struct cw_source_hook *hook = cw_source_cache_hook(c);
    struct cw_err err = {0};
    struct cw_source_block b = {.bytes = CW_MIN((uint64_t)BLOCK, BYTES - block * BLOCK)};
    assert_int_equal(hook->block(hook->arg, &w->file, block, load, &b, &err), 0);
    return b.tiers;
}

/* Until every block is known to be there: another's packs are found by listing. */
static void wait_found(struct world *w, struct cw_source_cache *c, unsigned tier)
{
    int64_t deadline = cw_clock_ms() + 120000;
    for (uint64_t i = 0; i < BLOCKS; i++)
        while (!(tiers_of(w, c, i, false) & tier)) {
            assert_true(cw_clock_ms() < deadline);
            usleep(2000);
        }
}

/* ---- files under a directory ---- */

typedef void file_fn(void *arg, const char *path, uint64_t bytes);
static void each_file(const char *root, file_fn *fn, void *arg)
{
    DIR *dir = opendir(root);
    const struct dirent *e;
    while (dir && (e = readdir(dir)) != NULL) {
        char path[512];
        struct stat st;
        if (e->d_name[0] == '.')
            continue;
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", root, e->d_name) >= sizeof(path))
            continue;
        if (stat(path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode))
            each_file(path, fn, arg);
        else if (strcmp(e->d_name, "usage") != 0)
            fn(arg, path, (uint64_t)st.st_size);
    }
    if (dir)
        closedir(dir);
}
static void on_add(void *arg, const char *path, uint64_t bytes)
{
    (void)path;
    *(uint64_t *)arg += bytes;
}
static uint64_t bytes_under(const char *root)
{
    uint64_t sum = 0;
    each_file(root, on_add, &sum);
    return sum;
}
static void on_flip(void *arg, const char *path, uint64_t bytes)
{
    int fd = open(path, O_RDWR);
    char c;
    uint64_t at = *(const double *)arg < 0 ? bytes - 20 : (uint64_t)((double)bytes * *(const double *)arg);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &c, 1, (off_t)at), 1);
    c = (char)(c ^ 4);
    assert_int_equal(pwrite(fd, &c, 1, (off_t)at), 1);
    close(fd);
}
static void on_cut(void *arg, const char *path, uint64_t bytes)
{
    (void)arg;
    assert_int_equal(truncate(path, (off_t)bytes / 2), 0);
}

/* ---- cases ---- */

static void memory_alone(void **state)
{
    struct world *w = *state;
    struct cw_source_cache *c = new_cache(&(struct cw_source_cache_options){.memory = (uint64_t)16 << 20});
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
    struct cw_source_cache *c = new_cache(&(struct cw_source_cache_options){.memory = 1}); /* 8 MiB is the least */
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
    cw_source_cache_set_store(c, w->store, (uint64_t)1 << 30);
    read_all(w, c);
    wait_written(c);
    assert_int_equal(counts_of(c, CW_SOURCE_STORE).filled_bytes, BYTES);
    cw_source_cache_free(c);
    c = new_cache(&o);
    cw_source_cache_set_store(c, w->store, (uint64_t)1 << 30);
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
    cw_source_cache_set_store(c, w->store, (uint64_t)1 << 30);
    read_range(w, c, 0, 10);
    cw_source_cache_free(c);
    char path[160];
    snprintf(path, sizeof(path), "%s/store", w->root);
    assert_in_range(bytes_under(path), BLOCK, BLOCK + 4096);
}

static void damaged_blocks_of_the_directory(void **state)
{
    struct world *w = *state;
    const struct cw_source_cache_options o = {.dir = w->dir};
    double at[] = {0.0, 0.5, -1};
    for (size_t i = 0; i < 4; i++) {
        struct cw_source_cache *c = new_cache(&o);
        read_all(w, c);
        wait_written(c);
        cw_source_cache_free(c);
        each_file(w->dir, i < 3 ? on_flip : on_cut, i < 3 ? &at[i] : NULL);
        c = new_cache(&o);
        read_all(w, c);
        assert_int_equal(origin_reads(c), BLOCKS);
        assert_int_equal(counts_of(c, CW_SOURCE_DIR).damaged, BLOCKS);
        cw_source_cache_free(c);
    }
}

static void damaged_packs(void **state)
{
    struct world *w = *state;
    char path[160];
    snprintf(path, sizeof(path), "%s/store", w->root);
    struct cw_source_cache *c = new_cache(&(struct cw_source_cache_options){0});
    cw_source_cache_set_store(c, w->store, (uint64_t)1 << 30);
    read_all(w, c);
    wait_written(c);
    cw_source_cache_free(c);
    /* a block: its pack is not used any more */
    double in_blocks = 0.3, in_tail = -1;
    each_file(path, on_flip, &in_blocks);
    c = new_cache(&(struct cw_source_cache_options){0});
    cw_source_cache_set_store(c, w->store, (uint64_t)1 << 30);
    wait_found(w, c, CW_SOURCE_IN_STORE);
    read_all(w, c);
    assert_in_range(counts_of(c, CW_SOURCE_STORE).damaged, 1, BLOCKS);
    assert_in_range(origin_reads(c), 1, BLOCKS);
    cw_source_cache_free(c);
    /* its tail: it is not even listed */
    each_file(path, on_flip, &in_tail);
    c = new_cache(&(struct cw_source_cache_options){0});
    cw_source_cache_set_store(c, w->store, (uint64_t)1 << 30);
    read_all(w, c);
    assert_int_equal(origin_reads(c), BLOCKS);
    cw_source_cache_free(c);
}

static void another_file_of_the_same_name(void **state)
{
    struct world *w = *state;
    const struct cw_source_cache_options o = {.dir = w->dir};
    struct cw_source_cache *c = new_cache(&o);
    read_all(w, c);
    wait_written(c);
    write_source(w, 2, 3600); /* same size, another time */
    open_source(w);
    read_all(w, c);
    assert_int_equal(origin_reads(c), 2 * BLOCKS);
    /* its time is put back, but not what is in it: that is what no stamp can tell, with a cache or without. But a file that is not as its stamp
     * says when a block was read is not kept. */
    write_source(w, 3, 1800);
    struct cw_source_file stale = w->file;
    open_source(w);
    stale.fd = w->file.fd;
    stale.stamp.mtime_ns += 1;
    w->file.stamp = stale.stamp;
    read_all(w, c);
    uint64_t reads = origin_reads(c);
    read_range(w, c, 0, 10);
    assert_true(origin_reads(c) > reads);
    cw_source_cache_free(c);
}

static void young_files_are_not_kept(void **state)
{
    struct world *w = *state;
    write_source(w, 4, -3600); /* in an hour: never old enough */
    open_source(w);
    struct cw_source_cache *c = new_cache(&(struct cw_source_cache_options){.dir = w->dir});
    read_all(w, c);
    uint64_t reads = origin_reads(c);
    read_range(w, c, 7, 10);
    assert_int_equal(origin_reads(c), reads + 1);
    wait_written(c);
    assert_int_equal(bytes_under(w->dir), 0);
    assert_int_equal(counts_of(c, CW_SOURCE_MEMORY).bytes, 0);
    cw_source_cache_free(c);
}

static void quota_of_the_directory(void **state)
{
    struct world *w = *state;
    const uint64_t quota = 3 * BLOCK;
    struct cw_source_cache *c = new_cache(&(struct cw_source_cache_options){.dir = w->dir, .dir_bytes = quota});
    read_all(w, c);
    wait_written(c);
    assert_in_range(bytes_under(w->dir), BLOCK, quota);
    assert_true(counts_of(c, CW_SOURCE_DIR).refused > 0);
    cw_source_cache_free(c);
    /* what is idle makes room */
    c = new_cache(&(struct cw_source_cache_options){.dir = w->dir, .dir_bytes = quota, .idle_ms = 1});
    usleep(5000);
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
    struct cw_source_cache *c = new_cache(&(struct cw_source_cache_options){.memory = (uint64_t)8 << 20});
    cw_source_cache_set_store(c, w->store, 2 * BLOCK);
    read_all(w, c);
    wait_written(c);
    assert_in_range(bytes_under(path), 0, 2 * BLOCK);
    assert_true(counts_of(c, CW_SOURCE_STORE).refused > 0);
    cw_source_cache_free(c);
    c = new_cache(&(struct cw_source_cache_options){.memory = (uint64_t)8 << 20, .idle_ms = 1});
    cw_source_cache_set_store(c, w->store, 3 * BLOCK);
    usleep(5000);
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
    cw_source_cache_set_store(c, w->store, (uint64_t)1 << 30);
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
    cw_source_cache_set_store(c, w->store, (uint64_t)1 << 30);
    for (uint64_t i = 0; i < BLOCKS; i++)
        (void)tiers_of(w, c, i, true);
    wait_written(c);
    wait_found(w, c, CW_SOURCE_IN_STORE);
    assert_int_equal(origin_reads(c), 0);
    cw_source_cache_free(c);
}

static void store_that_is_away(void **state)
{
    struct world *w = *state;
    struct cw_source_cache *c = new_cache(&(struct cw_source_cache_options){.memory = (uint64_t)8 << 20});
    snprintf(w->store, sizeof(w->store), "dir:%s/file/below", w->root); /* a file is no directory */
    cw_source_cache_set_store(c, w->store, (uint64_t)1 << 30);
    read_all(w, c);
    wait_written(c);
    assert_int_equal(origin_reads(c), BLOCKS);
    assert_int_equal(counts_of(c, CW_SOURCE_STORE).bytes, 0);
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
        bool ok = hook->read(hook->arg, &r->w->file, at, got, n, &err) == 0 && memcmp(got, r->w->bytes + at, n) == 0;
        atomic_fetch_add(r->bad, !ok);
    }
    cw_mem_free(got);
}

static void many_threads(void **state)
{
    struct world *w = *state;
    atomic_int bad = 0;
    struct cw_source_cache *c = new_cache(&(struct cw_source_cache_options){.dir = w->dir});
    cw_source_cache_set_store(c, w->store, (uint64_t)1 << 30);
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

static void directory_that_cannot_be(void **state)
{
    struct world *w = *state;
    struct cw_source_cache *c = NULL;
    struct cw_err err = {0};
    char path[128];
    snprintf(path, sizeof(path), "%s/no/such", w->root);
    assert_int_equal(cw_source_cache_new(&(struct cw_source_cache_options){.dir = path}, &c, &err), CW_E_NOT_FOUND);
    assert_non_null(strstr(err.msg, "no/such"));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(memory_alone), CASE(memory_is_limited), CASE(directory_outlives), CASE(store_outlives), CASE(written_when_it_ends),
        CASE(damaged_blocks_of_the_directory), CASE(damaged_packs), CASE(another_file_of_the_same_name), CASE(young_files_are_not_kept),
        CASE(quota_of_the_directory), CASE(quota_of_the_store), CASE(two_share_a_directory), CASE(warming), CASE(store_that_is_away),
        CASE(many_threads), CASE(directory_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
