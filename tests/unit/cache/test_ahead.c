/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ahead in mapped chunks: the kernel is asked for the large records that are not in its page cache, and for nothing of small ones. */
#include "records.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define N 64
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

static void put(struct cw_cache_node *node, uint64_t id, size_t n)
{
    cw_autofree unsigned char *bytes = cw_mem_new(n);
    struct cw_element element = {.n = 2};

    memset(bytes, (int)id, n);
    element.fields[0] = (struct cw_view){.data = bytes, .bytes = n, .dtype = CW_DTYPE_U8, .rank = 1, .dims = {(int64_t)n}};
    element.fields[1] = (struct cw_view){.data = (unsigned char *)&id, .bytes = 8, .dtype = CW_DTYPE_U64, .rank = 1, .dims = {1}};
    cw_cache_put(node, id, &element, 1000);
}

static void open_filled(struct fixture *f, size_t record_bytes)
{
    cw_autofree char *url = cw_mem_printf("dir:%s/%zu?map=on", scratch, record_bytes);

    fixture_open(f, url, (struct cw_cache_options){.memory = 64 << 20});
    assert_false(cw_cache_wants_ahead(f->node));
    for (uint64_t id = 0; id < N; id++)
        put(f->node, id, record_bytes);
    settle(f);
    assert_int_equal(f->events.names_n, 1);
}

/* Of the only chunk, in the page cache; *ret_all: of how many. */
static size_t resident_pages(const struct fixture *f, bool drops, size_t *ret_all)
{
    cw_autofree char *path = cw_mem_printf("%s/%zu/%s", scratch, LARGE, f->events.names[0]);
    struct stat st;
    size_t n = 0;
    int fd = open(path, O_RDONLY);

    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    if (drops)
        assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    *ret_all = ((size_t)st.st_size + CW_MEM_PAGE - 1) / CW_MEM_PAGE;
    cw_autofree unsigned char *pages = cw_mem_new(*ret_all);
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_int_equal(mincore(map, (size_t)st.st_size, pages), 0);
    for (size_t i = 0; i < *ret_all; i++)
        n += pages[i] & 1;
    munmap(map, (size_t)st.st_size);
    close(fd);
    return n;
}

static void test_large_records(void **state)
{
    uint64_t ids[N / 2];
    struct fixture f;
    size_t all;

    (void)state;
    open_filled(&f, LARGE);
    assert_true(cw_cache_wants_ahead(f.node));
    size_t before = resident_pages(&f, true, &all);
    if (before > all / 4) { /* a file system in memory */
        fixture_close(&f, 0);
        skip();
    }
    for (uint64_t i = 0; i < N / 2; i++)
        ids[i] = 2 * i;
    cw_cache_prefetch(f.node, ids, N / 2);
    WAIT_FOR(resident_pages(&f, false, &all) >= before + N / 2 * (LARGE / CW_MEM_PAGE) - all / 8);
    assert_true(cw_cache_memory_used(f.cache) < LARGE); /* in the page cache, and nowhere else */
    for (uint64_t id = 0; id < N; id++) {
        struct cw_cache_hold hold = {0};
        struct cw_element element;

        assert_int_equal(cw_cache_get(f.node, id, &hold, &element), CW_CACHE_HIT);
        assert_int_equal(((const unsigned char *)element.fields[0].data)[LARGE - 1], (unsigned char)id);
        cw_cache_release(&hold);
    }
    fixture_close(&f, 0);
}

static void test_small_records(void **state)
{
    struct fixture f;

    (void)state;
    open_filled(&f, 1000);
    assert_false(cw_cache_wants_ahead(f.node));
    fixture_close(&f, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_records),
        cmocka_unit_test(test_small_records),
    };

    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
