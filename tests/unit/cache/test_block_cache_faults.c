/* SPDX-License-Identifier: Apache-2.0 */
/* The source cache when blocks are damaged, files change, and tiers are away. */
#include "source_world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* In place of flock(2): a mount that has no locks. */
static _Atomic bool no_locks;
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
    if (!no_locks)
        return __real_flock(fd, operation);
    errno = ENOLCK;
    return -1;
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
        each_file(w->dir, i < 3 ? source_flip : source_cut, i < 3 ? &at[i] : NULL);
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
    cw_source_cache_set_store(c, 0, w->store, (uint64_t)1 << 30);
    read_all(w, c);
    wait_written(c);
    cw_source_cache_free(c);
    /* a block: its pack is not used any more */
    double in_blocks = 0.3, in_tail = -1;
    each_file(path, source_flip, &in_blocks);
    c = new_cache(&(struct cw_source_cache_options){0});
    cw_source_cache_set_store(c, 0, w->store, (uint64_t)1 << 30);
    wait_found(w, c, CW_SOURCE_IN_STORE);
    read_all(w, c);
    assert_in_range(counts_of(c, CW_SOURCE_STORE).damaged, 1, BLOCKS);
    assert_in_range(origin_reads(c), 1, BLOCKS);
    cw_source_cache_free(c);
    /* its tail: it is not even listed */
    each_file(path, source_flip, &in_tail);
    c = new_cache(&(struct cw_source_cache_options){0});
    cw_source_cache_set_store(c, 0, w->store, (uint64_t)1 << 30);
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
    /* its time is put back, but not what is in it: that is what no stamp can tell, with a cache
     * or without. But a file that is not as its stamp says when a block was read is not kept. */
    write_source(w, 3, 1800);
    struct cw_source_file stale = w->file;
    open_source(w);
    stale.stamp.mtime_ns += 1;
    w->file.stamp = stale.stamp;
    read_all(w, c);
    uint64_t reads = origin_reads(c);
    read_range(w, c, 0, 10);
    assert_true(origin_reads(c) > reads);
    cw_source_cache_free(c);
}

/* Copies with other times share blocks where all bytes are known; a sum of samples does not
 * stand for the bytes; and no other sum finds them. */
static void blocks_by_sums(void **state)
{
    struct world *w = *state;
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    for (int identity = 0; identity < CW_IDENTITY_N; identity++) {
        bool sums = cw_identity_reads((enum cw_identity)identity);
        struct cw_source_cache *c = new_cache(&(struct cw_source_cache_options){0});
        write_source(w, 1, 3600);
        open_source(w);
        w->file.stamp.identity = (enum cw_identity)identity;
        w->file.stamp.sum = (struct cw_hash){sums, 1};
        read_all(w, c);
        uint64_t reads = BLOCKS;
        assert_int_equal(origin_reads(c), reads);
        assert_int_equal(utimensat(AT_FDCWD, w->path, times, 0), 0); /* the copy */
        open_source(w);
        read_all(w, c);
        reads += identity == CW_IDENTITY_CONTENT ? 0 : BLOCKS;
        assert_int_equal(origin_reads(c), reads);
        w->file.stamp.sum.lo = 2;
        read_all(w, c);
        reads += sums ? BLOCKS : 0;
        assert_int_equal(origin_reads(c), reads);
        cw_source_cache_free(c);
    }
    w->file.stamp = (struct cw_file_stamp){0};
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

static void store_that_is_away(void **state)
{
    struct world *w = *state;
    struct cw_source_cache *c =
        new_cache(&(struct cw_source_cache_options){.memory = (uint64_t)8 << 20});
    snprintf(w->store, sizeof(w->store), "dir:%s/file/below", w->root); /* a file is no directory */
    cw_source_cache_set_store(c, 0, w->store, (uint64_t)1 << 30);
    read_all(w, c);
    wait_written(c);
    assert_int_equal(origin_reads(c), BLOCKS);
    assert_int_equal(counts_of(c, CW_SOURCE_STORE).bytes, 0);
    cw_source_cache_free(c);
}

static void directory_that_cannot_be(void **state)
{
    struct world *w = *state;
    struct cw_source_cache *c = NULL;
    struct cw_err err = {0};
    char path[128];
    snprintf(path, sizeof(path), "%s/no/such", w->root);
    assert_int_equal(cw_source_cache_new(&(struct cw_source_cache_options){.dir = path}, &c, &err),
                     CW_E_NOT_FOUND);
    assert_non_null(strstr(err.msg, "no/such"));
}

/* Nothing is added to the sum of all processes without the lock; what is there is read. */
static void directory_without_locks(void **state)
{
    struct world *w = *state;
    const struct cw_source_cache_options o = {.dir = w->dir};
    struct cw_source_cache *c = new_cache(&o);
    no_locks = true;
    read_all(w, c);
    wait_written(c);
    struct cw_source_counts counts = counts_of(c, CW_SOURCE_DIR);
    assert_int_equal(counts.bytes, 0);
    assert_int_equal(counts.filled_bytes, 0);
    assert_true(counts.refused > 0);
    assert_non_null(strstr(counts.trouble, "cannot be locked"));
    cw_source_cache_free(c);
    no_locks = false;
    c = new_cache(&o);
    read_all(w, c);
    wait_written(c);
    cw_source_cache_free(c);
    no_locks = true;
    c = new_cache(&o);
    read_all(w, c);
    assert_int_equal(origin_reads(c), 0);
    cw_source_cache_free(c);
    no_locks = false;
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, source_begin, source_end)
    const struct CMUnitTest tests[] = {
        CASE(damaged_blocks_of_the_directory), CASE(damaged_packs),
        CASE(another_file_of_the_same_name),   CASE(blocks_by_sums),
        CASE(young_files_are_not_kept),        CASE(store_that_is_away),
        CASE(directory_that_cannot_be),        CASE(directory_without_locks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
