/* SPDX-License-Identifier: Apache-2.0 */
/* Large records of mapped chunks that are not in the page cache; nothing is told ahead of small
 * ones. */
#include "records.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define N 160
#define MEMORY ((size_t)8 << 20)
#define LARGE ((size_t)100000)

static char scratch[] = "/tmp/cachew-test-ahead-XXXXXX";

static int make_scratch(void **state)
{
    (void)state;
    return mkdtemp(scratch) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int remove_scratch(void **state)
{
    (void)state;
    return nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put(struct cw_cache_dataset *node, uint64_t id, size_t n)
{
    cw_autofree unsigned char *bytes = cw_mem_new(n);
    struct cw_element element = {.n = 2};

    memset(bytes, (int)id, n);
    element.fields[0] = (struct cw_view){
        .data = bytes, .bytes = n, .dtype = CW_DTYPE_U8, .rank = 1, .dims = {(int64_t)n}};
    element.fields[1] = (struct cw_view){
        .data = (unsigned char *)&id, .bytes = 8, .dtype = CW_DTYPE_U64, .rank = 1, .dims = {1}};
    cw_cache_put(node, id, &element, 1000);
}

static void open_filled(struct fixture *f, size_t record_bytes)
{
    cw_autofree char *url = cw_mem_printf("dir:%s/%zu?map=on&timeout=120s", scratch, record_bytes);

    fixture_open(f, url, (struct cw_cache_options){.memory = MEMORY});
    assert_false(cw_cache_wants_prefetch(f->node));
    for (uint64_t id = 0; id < N; id++) {
        put(f->node, id, record_bytes);
        if (id % 16 == 15) /* it has memory for a few */
            settle(f);
    }
    assert_int_equal(counts_of(f->node).lost, 0);
}

static char *path_of(const struct fixture *f, size_t i)
{
    return cw_mem_printf("%s/%zu/%s", scratch, LARGE, f->events.names[i]);
}

static size_t resident_pages_of(const char *path, bool drops, size_t *all)
{
    struct stat st;
    size_t n = 0;
    int fd = open(path, O_RDONLY);

    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    if (drops)
        assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    size_t pages_n = ((size_t)st.st_size + CW_MEM_PAGE - 1) / CW_MEM_PAGE;
    cw_autofree unsigned char *pages = cw_mem_new(pages_n);
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_int_equal(mincore(map, (size_t)st.st_size, pages), 0);
    for (size_t i = 0; i < pages_n; i++)
        n += pages[i] & 1;
    munmap(map, (size_t)st.st_size);
    close(fd);
    *all += pages_n;
    return n;
}

/* Of the chunks, in the page cache; *ret_all: of how many. */
static size_t resident_pages(const struct fixture *f, bool drops, size_t *ret_all)
{
    size_t n = 0;

    *ret_all = 0;
    for (size_t i = 0; i < f->events.names_n; i++) {
        cw_autofree char *path = path_of(f, i);

        n += resident_pages_of(path, drops, ret_all);
    }
    return n;
}

static void get_all(struct cw_cache_dataset *node)
{
    for (uint64_t id = 0; id < N; id++) {
        struct cw_cache_pins hold = {0};
        struct cw_element element;

        assert_int_equal(cw_cache_get(node, id, &hold, &element), CW_CACHE_HIT);
        assert_int_equal(((const unsigned char *)element.fields[0].data)[LARGE - 1],
                         (unsigned char)id);
        cw_cache_unpin(&hold);
    }
}

static bool can_read_past(const struct fixture *f)
{
    cw_autofree char *path = path_of(f, 0);
    cw_autofree void *page = cw_mem_try_pages(CW_MEM_PAGE);
    int fd = open(path, O_RDONLY | O_DIRECT);
    bool can = fd >= 0 && pread(fd, page, CW_MEM_PAGE, 0) == (ssize_t)CW_MEM_PAGE;

    if (fd >= 0)
        close(fd);
    return can;
}

/* The first time they are read past the page cache, and in memory until others come; then they
 * come by way of the page cache. */
static void test_large_records(void **state)
{
    uint64_t ids[N];
    struct fixture f;
    size_t all;

    (void)state;
    open_filled(&f, LARGE);
    assert_true(cw_cache_wants_prefetch(f.node));
    size_t before = resident_pages(&f, true, &all);
    if (before > all / 4 || !can_read_past(&f)) { /* a file system in memory, or one that cannot */
        fixture_close(&f, 0);
        skip();
    }
    for (uint64_t i = 0; i < N; i++)
        ids[i] = i;
    cw_cache_prefetch(f.node, ids, N);
    get_all(f.node);
    assert_in_range(resident_pages(&f, false, &all), 0, before + all / 8);
    for (int i = 0; i < 3; i++) {
        cw_cache_prefetch(f.node, ids, N);
        get_all(f.node);
    }
    WAIT_FOR(resident_pages(&f, false, &all) >= before + all / 8);
    assert_in_range(cw_cache_memory_used(f.cache), 0, MEMORY);
    fixture_close(&f, 0);
}

/* Their file is changed before they are read for the first time. */
static void test_damage(void **state)
{
    struct fixture f;
    size_t all;

    (void)state;
    open_filled(&f, LARGE);
    cw_autofree char *path = path_of(&f, 0);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "damaged", 7, (off_t)(5 * LARGE + LARGE / 2)), 7);
    assert_int_equal(fsync(fd), 0);
    resident_pages(&f, true, &all);
    close(fd);
    size_t missed = 0;
    for (uint64_t id = 0; id < N; id++) {
        struct cw_cache_pins hold = {0};
        struct cw_element element;
        enum cw_cache_found found = cw_cache_get(f.node, id, &hold, &element);

        missed += found == CW_CACHE_MISS;
        if (found == CW_CACHE_HIT)
            assert_int_equal(((const unsigned char *)element.fields[0].data)[LARGE / 2],
                             (unsigned char)id);
        cw_cache_unpin(&hold);
    }
    assert_true(missed > 0); /* the rest of the chunk is given up with it */
    WAIT_FOR(events_of(&f.events, CW_CACHE_DAMAGED) == 1);
    fixture_close(&f, 0);
}

static void test_small_records(void **state)
{
    struct fixture f;

    (void)state;
    open_filled(&f, 1000);
    assert_false(cw_cache_wants_prefetch(f.node));
    fixture_close(&f, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_records),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_small_records),
    };

    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
