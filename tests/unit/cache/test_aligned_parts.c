/* SPDX-License-Identifier: Apache-2.0 */
/* Large records are written from where they lie: whatever their sizes, the chunk is right; a
 * write that hangs keeps their memory. This program has a pwrite of its own, which notes which
 * memory is written, and hangs when told. */
#include "records.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cache/store/store.h"
#include "format/chunk.h"

#define PIECE ((size_t)1 << 20)

static struct cw_mutex lock = CW_MUTEX_INIT;
static struct cw_cond changed;
static bool hangs, hung, is_intact; /* lock, as the rest */
static struct {
    uintptr_t begin, end;
} written[4096];
static size_t written_n;
static char scratch[] = "/tmp/cachew-test-straight-XXXXXX";

static uint64_t sum_of(const void *p, size_t n)
{
    return cw_hash_u64(p, n);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t offset)
{
    cw_mutex_lock(&lock);
    if (written_n < CW_ARRAY_LEN(written)) {
        written[written_n].begin = (uintptr_t)p;
        written[written_n++].end = (uintptr_t)p + n;
    }
    if (hangs && !hung) {
        uint64_t before = sum_of(p, n);

        hung = true;
        while (hangs)
            cw_cond_wait(&changed, &lock);
        is_intact = sum_of(p, n) == before;
        hung = false;
        cw_cond_broadcast(&changed);
    }
    cw_mutex_unlock(&lock);
    return (ssize_t)syscall(SYS_pwrite64, fd, p, n, offset);
}

static int compare(const void *a, const void *b)
{
    const uintptr_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Bytes of memory that were written from, each counted once. */
static size_t memory_written(void)
{
    uintptr_t end = 0;
    size_t n = 0;

    qsort(written, written_n, sizeof(written[0]), compare);
    for (size_t i = 0; i < written_n; i++) {
        uintptr_t begin = CW_MAX(written[i].begin, end);

        n += written[i].end > begin ? written[i].end - begin : 0;
        end = CW_MAX(end, written[i].end);
    }
    return n;
}

static void put(struct cw_cache_dataset *node, uint64_t id, size_t n)
{
    cw_autofree unsigned char *bytes = cw_mem_new(n);
    struct cw_element element = {.n = 2};

    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(cw_mix64(id) >> i % 57);
    element.fields[0] = (struct cw_view){
        .data = bytes, .bytes = n, .dtype = CW_DTYPE_U8, .rank = 1, .dims = {(int64_t)n}};
    element.fields[1] = (struct cw_view){
        .data = (unsigned char *)&id, .bytes = 8, .dtype = CW_DTYPE_U64, .rank = 1, .dims = {1}};
    cw_cache_put(node, id, &element, 1000);
}

static bool is_right(struct cw_cache_dataset *node, uint64_t id, size_t n)
{
    struct cw_cache_pins hold = {0};
    struct cw_element element;
    bool ok =
        cw_cache_get(node, id, &hold, &element) == CW_CACHE_HIT && element.fields[0].bytes == n;

    for (size_t i = 0; ok && i < n; i++)
        ok = ((const unsigned char *)element.fields[0].data)[i] ==
             (unsigned char)(cw_mix64(id) >> i % 57);
    cw_cache_unpin(&hold);
    return ok;
}

static int read_at(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    return cw_store_file_read(arg, offset, dst, n, err);
}

static void check_chunk(struct cw_cache *cache, const char *name, uint64_t *ret_bytes)
{
    struct cw_store_file *file = NULL;
    struct cw_err err = {0};

    assert_int_equal(cw_store_file_open(cw_cache_store(cache), name, &file, ret_bytes, NULL), 0);
    struct cw_readable readable = {
        .name = name, .size = *ret_bytes, .read_at = read_at, .arg = file};
    if (cw_chunk_check(&readable, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    cw_store_file_close(file);
}

static void empty_scratch(void)
{
    cw_autofree char *command = cw_mem_printf("rm -rf %s/*", scratch);

    assert_int_equal(system(command), 0);
}

/* Records of `sizes`, in turns; ids descend. At least so much of a hundred parts of the chunk is
 * written from as much memory. */
static void check(const size_t *sizes, size_t sizes_n, uint64_t n, const char *params, int level,
                  unsigned straight_percent)
{
    CW_CLEANUP(cw_mem_free_at) char *url = cw_mem_printf("dir:%s%s", scratch, params);
    struct fixture f;
    uint64_t bytes;

    fixture_open(
        &f, url,
        (struct cw_cache_options){.memory = 256 << 20, .chunk_bytes = 48 << 20, .level = level});
    written_n = 0;
    for (uint64_t i = 0; i < n; i++)
        put(f.node, n - i, sizes[i % sizes_n]);
    settle(&f);
    assert_int_equal(f.events.names_n, 1);
    check_chunk(f.cache, f.events.names[0], &bytes);
    assert_in_range(memory_written(), straight_percent * bytes / 100, bytes + CW_MEM_PAGE);
    if (!straight_percent)
        assert_in_range(memory_written(), 0, 3 * PIECE);
    for (uint64_t i = 0; i < n; i++)
        assert_true(is_right(f.node, n - i, sizes[i % sizes_n]));
    fixture_close(&f, 0);
    empty_scratch();
}

static void test_sizes(void **state)
{
    static const size_t photo[] = {150528 - 32}, odd[] = {65537, 100001, 70003, 99},
                        large[] = {700001, 70000}, edge[] = {65536, 131072 - 32};
    (void)state;

    check(photo, 1, 100, "", CW_CHUNK_PLAIN, 97);
    check(photo, 1, 1, "", CW_CHUNK_PLAIN, 0);
    check(photo, 1, 100, "?direct=off", CW_CHUNK_PLAIN, 97);
    check(odd, 3, 200, "", CW_CHUNK_PLAIN, 95);
    check(odd, 4, 200, "", CW_CHUNK_PLAIN, 0);
    check(large, 1, 30, "", CW_CHUNK_PLAIN, 97);
    check(large, 2, 40, "", CW_CHUNK_PLAIN, 30);
    check(edge, 2, 200, "", CW_CHUNK_PLAIN, 95);
    check(photo, 1, 100, "", 1, 0); /* packed */
}

static bool is_hung(void)
{
    cw_mutex_lock(&lock);
    bool is = hung;
    cw_mutex_unlock(&lock);
    return is;
}

/* A write hangs while the cache goes: its memory stays until it ends. */
static void test_hangs(void **state)
{
    CW_CLEANUP(cw_mem_free_at) char *url = cw_mem_printf("dir:%s?timeout=2s", scratch);
    struct fixture f;
    (void)state;

    fixture_open(&f, url, (struct cw_cache_options){.memory = 64 << 20, .chunk_bytes = 8 << 20});
    cw_mutex_lock(&lock);
    hangs = true;
    cw_mutex_unlock(&lock);
    for (uint64_t id = 0; id < 60; id++)
        put(f.node, id, 150000);
    cw_cache_flush(f.cache, NULL);
    WAIT_FOR(is_hung());
    fixture_close(&f, 0); /* what is lost is given up, the store is left to the thread that hangs */
    cw_mutex_lock(&lock);
    assert_true(hung);
    hangs = false;
    cw_cond_broadcast(&changed);
    while (hung)
        cw_cond_wait(&changed, &lock);
    assert_true(is_intact);
    cw_mutex_unlock(&lock);
    empty_scratch();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes),
                                              cmocka_unit_test(test_hangs)};

    if (!mkdtemp(scratch))
        return 1;
    cw_cond_init(&changed);
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(scratch);
    return failures;
}
