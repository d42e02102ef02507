/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of stores (cache/store/store.h), run over every store: dir:, mem:, both throttled, and
 * those that the environment names in CACHEW_TEST_STORES (tests/integration/test_gluster.sh:
 * real volumes). */
#include "support/cm.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "cache/store/store.h"

#define MIB ((size_t)1 << 20)

static char scratch[] = "/tmp/cachew-store-XXXXXX";
static const char *url; /* of the store that the group is about */
static struct cw_store *store;

/* Bytes that say where they are. */
static uint8_t *pattern(size_t n, unsigned salt)
{
    uint8_t *p = cw_mem_try(n ? n : 1);

    assert_non_null(p);
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)((i * 2654435761u + salt * 97u) >> 11);
    return p;
}
static int put(const char *name, const void *p, size_t n, struct cw_err *err)
{
    struct iovec part = {(void *)(uintptr_t)p, n};

    return cw_store_put(store, name, &part, 1, err);
}
static void must(int rc, const struct cw_err *err)
{
    if (rc != 0)
        fail_msg("%s: %s: %s", url, cw_err_name(rc), err->msg);
}
static void put_pattern(const char *name, size_t n, unsigned salt)
{
    cw_autofree uint8_t *p = pattern(n, salt);
    struct cw_err err = {0};

    must(put(name, p, n, &err), &err);
}
static struct cw_store_file *open_file(const char *name, uint64_t *ret_bytes)
{
    struct cw_store_file *file = NULL;
    struct cw_err err = {0};

    must(cw_store_file_open(store, name, &file, ret_bytes, &err), &err);
    return file;
}
static void check_pattern(const char *name, size_t n, unsigned salt)
{
    cw_autofree uint8_t *want = pattern(n, salt), *got = cw_mem_try(n ? n : 1);
    struct cw_err err = {0};
    uint64_t bytes = 0;
    struct cw_store_file *file = open_file(name, &bytes);

    assert_int_equal(bytes, n);
    must(cw_store_file_read(file, 0, got, n, &err), &err);
    assert_memory_equal(got, want, n);
    const uint8_t *map = cw_store_file_map(file);
    if (map)
        assert_memory_equal(map, want, n);
    cw_store_file_close(file);
}

static void test_put_and_read(void **state)
{
    static const size_t sizes[] = {0, 1, 4095, MIB - 1, MIB, MIB + 1, 3 * MIB + 17};
    uint64_t bytes;
    char name[64];
    (void)state;

    for (unsigned i = 0; i < CW_ARRAY_LEN(sizes); i++) {
        snprintf(name, sizeof(name), "tenant/key%u/file-%u.chunk", i % 2, i);
        put_pattern(name, sizes[i], i);
        must(cw_store_stat(store, name, &bytes, NULL), &(struct cw_err){0});
        assert_int_equal(bytes, sizes[i]);
    }
    for (unsigned i = 0; i < CW_ARRAY_LEN(sizes); i++) {
        snprintf(name, sizeof(name), "tenant/key%u/file-%u.chunk", i % 2, i);
        check_pattern(name, sizes[i], i);
    }
}
static void test_parts(void **state)
{
    cw_autofree uint8_t *p = pattern(3 * MIB, 5);
    struct iovec parts[] = {
        {p, 10}, {p + 10, 0}, {p + 10, MIB}, {p + MIB + 10, 2 * MIB - 11}, {p + 3 * MIB - 1, 1}};
    struct cw_err err = {0};
    (void)state;

    must(cw_store_put(store, "parts", parts, CW_ARRAY_LEN(parts), &err), &err);
    check_pattern("parts", 3 * MIB, 5);
    must(cw_store_put(store, "none", NULL, 0, &err), &err);
    check_pattern("none", 0, 0);
}
static void test_ranges(void **state)
{
    cw_autofree uint8_t *want = pattern(5 * MIB, 9), *got = cw_mem_try(5 * MIB);
    static const struct {
        uint64_t offset;
        size_t n;
        int rc;
    } cases[] = {{0, 1, 0},
                 {MIB - 1, 2, 0},
                 {3, 4 * MIB, 0},
                 {5 * MIB, 0, 0},
                 {5 * MIB - 1, 1, 0},
                 {5 * MIB - 1, 2, CW_E_CORRUPT},
                 {5 * MIB, 1, CW_E_CORRUPT},
                 {UINT64_MAX, 2, CW_E_CORRUPT}};
    struct cw_err err = {0};
    uint64_t bytes;
    (void)state;

    put_pattern("ranges", 5 * MIB, 9);
    struct cw_store_file *file = open_file("ranges", &bytes);
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        assert_int_equal(cw_store_file_read(file, cases[i].offset, got, cases[i].n, &err),
                         cases[i].rc);
        if (cases[i].rc == 0)
            assert_memory_equal(got, want + cases[i].offset, cases[i].n);
    }
    cw_store_file_close(file);
}
static void test_replace_and_remove(void **state)
{
    struct cw_store_file *none = NULL;
    struct cw_err err = {0};
    uint64_t bytes;
    (void)state;

    put_pattern("a/replaced", 2000, 1);
    put_pattern("a/replaced", 1000, 2);
    check_pattern("a/replaced", 1000, 2);
    must(cw_store_remove(store, "a/replaced", &err), &err);
    must(cw_store_remove(store, "a/replaced", &err), &err);
    must(cw_store_remove(store, "no/such/file", &err), &err);
    assert_int_equal(cw_store_stat(store, "a/replaced", &bytes, &err), CW_E_NOT_FOUND);
    assert_int_equal(cw_store_file_open(store, "a/replaced", &none, &bytes, &err), CW_E_NOT_FOUND);
    assert_int_equal(cw_store_file_open(store, "no/such/file", &none, &bytes, &err),
                     CW_E_NOT_FOUND);
    assert_false(cw_store_is_unavailable(store, NULL));
}
/* It reads on, or fails: what it must not do is give other bytes. */
static void test_removed_while_open(void **state)
{
    cw_autofree uint8_t *want = pattern(2 * MIB, 3), *got = cw_mem_try(2 * MIB);
    struct cw_err err = {0};
    uint64_t bytes;
    (void)state;

    put_pattern("removed", 2 * MIB, 3);
    struct cw_store_file *file = open_file("removed", &bytes);
    must(cw_store_remove(store, "removed", &err), &err);
    put_pattern("removed", 2 * MIB, 4);
    if (cw_store_file_read(file, 0, got, 2 * MIB, &err) == 0)
        assert_memory_equal(got, want, 2 * MIB);
    cw_store_file_close(file);
    check_pattern("removed", 2 * MIB, 4);
}
static void test_names(void **state)
{
    static const char *const bad[] = {"",    "/",    "/a",     "a/",       "a//b",   ".",
                                      "..",  "../a", "a/../b", "a/.b",     ".tmp-1", "a b",
                                      "a\n", "a\\b", "a:b",    "\xc3\xa4", "a*"};
    char long_name[CW_STORE_NAME_MAX + 2];
    struct cw_store_file *file = NULL;
    struct cw_err err = {0};
    uint64_t bytes;
    (void)state;

    memset(long_name, 'a', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    for (size_t i = 0; i <= CW_ARRAY_LEN(bad); i++) {
        const char *name = i < CW_ARRAY_LEN(bad) ? bad[i] : long_name;
        assert_int_equal(put(name, "x", 1, &err), CW_E_INVALID);
        assert_int_equal(cw_store_remove(store, name, &err), CW_E_INVALID);
        assert_int_equal(cw_store_stat(store, name, &bytes, &err), CW_E_INVALID);
        assert_int_equal(cw_store_file_open(store, name, &file, &bytes, &err), CW_E_INVALID);
    }
    long_name[CW_STORE_NAME_MAX] = '\0';
    put_pattern(long_name, 10, 1);
    check_pattern(long_name, 10, 1);
    must(cw_store_remove(store, long_name, &err), &err);
}

struct seen {
    size_t n, stop_at;
    uint64_t bytes;
    char names[32][64];
};
static int on_file(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    struct seen *seen = arg;

    assert_true(mtime_ms > cw_clock_wall_ms() - 3600 * 1000 &&
                mtime_ms < cw_clock_wall_ms() + 3600 * 1000);
    assert_true(seen->n < CW_ARRAY_LEN(seen->names));
    snprintf(seen->names[seen->n++], sizeof(seen->names[0]), "%s", name);
    seen->bytes += bytes;
    return seen->n == seen->stop_at ? 42 : 0;
}
static bool has_seen(const struct seen *seen, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < seen->n; i++)
        n += strcmp(seen->names[i], name) == 0;
    return n == 1;
}
static void test_list(void **state)
{
    static const char *const names[] = {"list/a/1", "list/a/2", "list/ab/3", "list/b/c/d/4",
                                        "list/5"};
    struct seen all = {0}, some = {0}, none = {0}, one = {0}, few = {.stop_at = 2};
    struct cw_err err = {0};
    (void)state;

    for (unsigned i = 0; i < CW_ARRAY_LEN(names); i++)
        put_pattern(names[i], 100 + i, i);
    must(cw_store_list(store, "list", on_file, &all, &err), &err);
    assert_int_equal(all.n, 5);
    assert_int_equal(all.bytes, 510);
    for (unsigned i = 0; i < CW_ARRAY_LEN(names); i++)
        assert_true(has_seen(&all, names[i]));
    must(cw_store_list(store, "list/a/", on_file, &some, &err), &err);
    assert_int_equal(some.n, 2);
    must(cw_store_list(store, "list/5", on_file, &one, &err), &err);
    assert_true(one.n == 1 && has_seen(&one, "list/5"));
    must(cw_store_list(store, "list/x", on_file, &none, &err), &err);
    assert_int_equal(none.n, 0);
    assert_int_equal(cw_store_list(store, "list", on_file, &few, &err), 42);
    assert_int_equal(few.n, 2);
    assert_int_equal(cw_store_list(store, "../", on_file, &none, &err), CW_E_INVALID);
    for (unsigned i = 0; i < CW_ARRAY_LEN(names); i++)
        must(cw_store_remove(store, names[i], &err), &err);
    must(cw_store_list(store, "list", on_file, &none, &err), &err);
    assert_int_equal(none.n, 0);
}

/* Writers of one name: afterwards it is one of theirs, whole. */
static void write_one_name(void *arg)
{
    for (int i = 0; i < 5; i++)
        put_pattern("same/name", 2 * MIB + 5, (unsigned)(uintptr_t)arg);
}
static void test_two_writers(void **state)
{
    cw_autofree uint8_t *a = pattern(2 * MIB + 5, 1), *b = pattern(2 * MIB + 5, 2),
                        *got = cw_mem_try(2 * MIB + 5);
    struct cw_thread threads[2] = {0};
    struct cw_err err = {0};
    struct seen seen = {0};
    uint64_t bytes;
    (void)state;

    for (uintptr_t i = 0; i < 2; i++)
        cw_thread_start(&threads[i], "writer", write_one_name, (void *)(i + 1)); // NOLINT
    for (int i = 0; i < 2; i++)
        cw_thread_join(&threads[i]);
    struct cw_store_file *file = open_file("same/name", &bytes);
    assert_int_equal(bytes, 2 * MIB + 5);
    must(cw_store_file_read(file, 0, got, 2 * MIB + 5, &err), &err);
    assert_true(memcmp(got, a, 2 * MIB + 5) == 0 || memcmp(got, b, 2 * MIB + 5) == 0);
    cw_store_file_close(file);
    must(cw_store_list(store, "same", on_file, &seen, &err), &err);
    assert_int_equal(seen.n, 1);
}

#define READERS 8
#define READS 24
struct reader {
    struct cw_store_read reads[READS];
    uint8_t *got[READS];
};
static struct cw_mutex tally_lock = CW_MUTEX_INIT;
static int finished, failed; /* tally_lock */
static struct cw_cond tally;

static void on_read(struct cw_store_read *read, int rc)
{
    (void)read;
    cw_mutex_lock(&tally_lock);
    finished++;
    failed += rc != 0;
    cw_cond_signal(&tally);
    cw_mutex_unlock(&tally_lock);
}
static void on_left(struct cw_store_read *read)
{
    CW_ASSERT(read->arg == read);
    read->arg = NULL;
    on_read(read, 0);
}
static void on_read_to_be_left(struct cw_store_read *read, int rc)
{
    CW_ASSERT(rc == 0);
    read->arg = read;
}
static void wait_for_reads(int n)
{
    int64_t deadline_ns = cw_clock_ns() + 120 * (int64_t)1000000000;

    cw_mutex_lock(&tally_lock);
    while (finished < n)
        assert_true(cw_cond_wait_until(&tally, &tally_lock, deadline_ns));
    finished = 0;
    cw_mutex_unlock(&tally_lock);
}
static void start_reads(void *arg)
{
    struct reader *reader = arg;

    for (size_t i = 0; i < READS; i++)
        cw_store_file_read_start(&reader->reads[i]);
}
static void test_asynchronous(void **state)
{
    struct reader *readers = cw_mem_new_array(READERS, sizeof(*readers));
    struct cw_thread threads[READERS] = {0};
    cw_autofree uint8_t *want = pattern(4 * MIB, 6);
    uint64_t bytes;
    (void)state;

    cw_cond_init(&tally);
    put_pattern("asynchronous", 4 * MIB, 6);
    struct cw_store_file *file = open_file("asynchronous", &bytes);
    for (size_t r = 0; r < READERS; r++)
        for (size_t i = 0; i < READS; i++) {
            size_t offset = (r * READS + i) * 7919 % (2 * MIB),
                   n = i == 0 ? 2 * MIB - 100 : 1000 + i * 4001;
            readers[r].got[i] = cw_mem_try(n);
            readers[r].reads[i] = (struct cw_store_read){
                .file = file, .offset = offset, .dst = readers[r].got[i], .n = n, .done = on_read};
            if (i % 2) { /* straight into dst */
                readers[r].reads[i].done = on_read_to_be_left;
                readers[r].reads[i].left = on_left;
            }
        }
    for (size_t r = 0; r < READERS; r++)
        cw_thread_start(&threads[r], "reader", start_reads, &readers[r]);
    for (size_t r = 0; r < READERS; r++)
        cw_thread_join(&threads[r]);
    wait_for_reads(READERS * READS);
    assert_int_equal(failed, 0);
    for (size_t r = 0; r < READERS; r++)
        for (size_t i = 0; i < READS; i++) {
            assert_memory_equal(readers[r].got[i], want + readers[r].reads[i].offset,
                                readers[r].reads[i].n);
            cw_mem_free(readers[r].got[i]);
        }
    /* An error is told in the same way. */
    struct cw_store_read wrong = {
        .file = file, .offset = 4 * MIB, .dst = want, .n = 1, .done = on_read};
    cw_store_file_read_start(&wrong);
    wait_for_reads(1);
    assert_int_equal(failed, 1);
    failed = 0;
    assert_int_equal(wrong.err.code, CW_E_CORRUPT);
    cw_store_file_close(file);
    cw_mem_free(readers);
    cw_cond_fini(&tally);
}
static void test_rates(void **state)
{
    struct cw_store_rates before, after;
    (void)state;

    cw_store_rates(store, &before);
    put_pattern("rates", 2 * MIB, 1);
    check_pattern("rates", 2 * MIB, 1);
    cw_store_rates(store, &after);
    assert_int_equal(after.writes - before.writes, 1);
    assert_int_equal(after.write_bytes - before.write_bytes, 2 * MIB);
    assert_int_equal(after.reads - before.reads, 1);
    assert_int_equal(after.read_bytes - before.read_bytes, 2 * MIB);
    assert_true(after.read_ns > before.read_ns && after.write_ns > before.write_ns);
    assert_true(after.write_ns - before.write_ns < 600 * (uint64_t)1000000000);
}
static void test_space(void **state)
{
    uint64_t total = 0, left = 0;
    struct cw_err err = {0};
    (void)state;

    int rc = cw_store_space(store, &total, &left, &err);
    if (rc == CW_E_UNSUPPORTED)
        return;
    must(rc, &err);
    assert_true(total > 0 && left <= total);
}
/* Opened a second time it shows the same files. */
static void test_second(void **state)
{
    struct cw_store *first = store, *second;
    struct cw_err err = {0};
    (void)state;

    put_pattern("shared/file", 5000, 8);
    must(cw_store_open_lazily(url, &second, &err), &err);
    assert_string_equal(cw_store_url(second), url);
    store = second;
    check_pattern("shared/file", 5000, 8);
    put_pattern("shared/file", 6000, 9);
    store = first;
    check_pattern("shared/file", 6000, 9);
    cw_store_close(second);
}

static int open_store(void **state)
{
    struct cw_err err = {0};
    (void)state;

    if (cw_store_open(url, &store, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return -1;
    }
    return 0;
}
static int close_store(void **state)
{
    (void)state;
    cw_store_close(store);
    store = NULL;
    return 0;
}
static int run_contract(const char *of)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_put_and_read),
                                              cmocka_unit_test(test_parts),
                                              cmocka_unit_test(test_ranges),
                                              cmocka_unit_test(test_replace_and_remove),
                                              cmocka_unit_test(test_removed_while_open),
                                              cmocka_unit_test(test_names),
                                              cmocka_unit_test(test_list),
                                              cmocka_unit_test(test_two_writers),
                                              cmocka_unit_test(test_asynchronous),
                                              cmocka_unit_test(test_rates),
                                              cmocka_unit_test(test_space),
                                              cmocka_unit_test(test_second)};

    url = of;
    return cmocka_run_group_tests_name(of, tests, open_store, close_store);
}

int main(void)
{
    const char *others = getenv("CACHEW_TEST_STORES");
    char text[5][256];
    int failures = 0;

    if (!mkdtemp(scratch))
        return 1;
    snprintf(text[0], sizeof(text[0]), "dir:%s/plain", scratch);
    snprintf(text[1], sizeof(text[1]), "dir:%s/throttled?latency=1ms&read_rate=4G&write_rate=4G",
             scratch);
    snprintf(text[2], sizeof(text[2]), "mem:plain");
    snprintf(text[3], sizeof(text[3]), "mem:throttled?latency=1ms&bytes=1G");
    snprintf(text[4], sizeof(text[4]), "dir:%s/through?direct=off", scratch);
    for (size_t i = 0; !others && i < CW_ARRAY_LEN(text); i++)
        failures += run_contract(text[i]);
    cw_autofree char *list = cw_mem_strdup(others ? others : "");
    char *rest = list;
    for (char *one; (one = strsep(&rest, " "));)
        failures += *one ? run_contract(one) : 0;
    if (!others)
        fprintf(stderr,
                "skipped here: gluster:// (CACHEW_TEST_STORES; integration.gluster runs it)\n");
    cw_autofree char *remove = cw_mem_printf("rm -rf '%s'", scratch);
    FILE *rm = popen(remove, "r");
    if (rm)
        pclose(rm);
    return failures;
}
