/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong with a store: wrong URLs, full, slow, away and back, damaged from outside. */
#include "support/cm.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "cache/store/backend.h"
#include "cache/store/store.h"

#define MIB ((size_t)1 << 20)
static char scratch[] = "/tmp/cachew-store-XXXXXX";

static CW_PRINTF(1, 2) struct cw_store *open_store(const char *fmt, ...)
{
    struct cw_store *store = NULL;
    struct cw_err err = {0};
    char url[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(url, sizeof(url), fmt, args);
    va_end(args);
    if (cw_store_open(url, &store, &err) < 0)
        fail_msg("%s", err.msg);
    return store;
}
static int put(struct cw_store *store, const char *name, size_t n, struct cw_err *err)
{
    cw_autofree uint8_t *p = cw_mem_new(n + 1);
    struct iovec part = {p, n};

    return cw_store_put(store, name, &part, 1, err);
}
static int count_one(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    size_t *n = arg;

    (void)name, (void)bytes, (void)mtime_ms;
    ++*n;
    return 0;
}
static size_t count(struct cw_store *store)
{
    struct cw_err err = {0};
    size_t n = 0;

    assert_int_equal(cw_store_list(store, "", count_one, &n, &err), 0);
    return n;
}
static bool exists(const char *path)
{
    cw_autofree char *all = cw_mem_printf("%s/%s", scratch, path);
    struct stat st;

    return lstat(all, &st) == 0;
}
/* Polls; a minute is enough for anything. */
static bool comes_back(struct cw_store *store)
{
    for (int i = 0; i < 6000; i++) {
        if (!cw_store_is_unavailable(store, NULL))
            return true;
        cw_clock_sleep_ns(10000000);
    }
    return false;
}

static void test_urls(void **state)
{
    static const struct {
        const char *url, *says; /* NULL: right */
    } cases[] = {
        {"dir:/x", NULL},
        {"dir:/x?timeout=3s&read_rate=10M&write_rate=1G&latency=2ms&map=off&direct=on", NULL},
        {"mem:x?bytes=3K", NULL},
        {"gluster://a/v", NULL},
        {"gluster://a/v/", NULL},
        {"gluster://a.b-c:24007,10.0.0.1/v/p/q?timeout=10s", NULL},
        {"", "one of dir:/path"},
        {"dir", "one of"},
        {"nfs:/x", "gluster://host"},
        {"dir:x", "absolute"},
        {"dir:/x y", "no spaces"},
        {"mem:", "name"},
        {"dir:/x?bytes=3",
         "\"bytes\"; known are timeout, read_rate, write_rate, latency, verify, map, direct"},
        {"dir:/x?timeout", "not key=value"},
        {"dir:/x?timeout=0", "timeout=0"},
        {"dir:/x?timeout=x", "such as"},
        {"dir:/x?read_rate=0", "read_rate=0"},
        {"dir:/x?map=maybe", "map is on, off or auto"},
        {"dir:/x?direct=1", "direct is on"},
        {"dir:/x?verify=never", "verify is first or always"},
        {"mem:x?bytes=-1", "bytes=-1"},
        {"gluster:/a/v", "must be"},
        {"gluster://a", "must be"},
        {"gluster://a/", "must be"},
        {"gluster:///v", "must be"},
        {"gluster://a:0/v", "must be"},
        {"gluster://a:99999/v", "must be"},
        {"gluster://a,/v", "must be"},
        {"gluster://a/v/../w", "must be"},
        {"gluster://a@b/v", "must be"}};
    (void)state;

    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_err err = {0};
        int rc = cw_store_url_check(cases[i].url, &err);
        if (rc != (cases[i].says ? CW_E_INVALID : 0) ||
            (cases[i].says && !strstr(err.msg, cases[i].says)))
            fail_msg("%s: %d %s", cases[i].url, rc, err.msg);
    }
    const struct {
        const char *url;
        int64_t timeout_ms;
        bool always;
    } said[] = {{"dir:/timeout=3s/xtimeout=1s", 0, false},
                {"mem:timeout=3s?verify=first", 0, false},
                {"dir:/x?map=off&timeout=2s", 2000, false},
                {"dir:/x?verify=always", 0, true}};
    for (size_t i = 0; i < CW_ARRAY_LEN(said); i++) {
        struct cw_store *store = NULL;
        assert_int_equal(cw_store_open_lazily(said[i].url, &store, NULL), 0);
        assert_int_equal(cw_store_timeout_ms(store), said[i].timeout_ms);
        assert_int_equal(cw_store_verifies_always(store), said[i].always);
        cw_store_close(store);
    }
    char long_url[CW_STORE_URL_MAX + 8];
    memset(long_url, 'a', sizeof(long_url));
    memcpy(long_url, "dir:/", 5);
    long_url[sizeof(long_url) - 1] = '\0';
    assert_int_equal(cw_store_url_check(long_url, NULL), CW_E_INVALID);
}

/* A file that was given up is taken away by a thread of the store, soon. */
static void wait_for_space(struct cw_store *store, uint64_t wanted)
{
    int64_t deadline_ns = cw_clock_ns() + 120 * (int64_t)1000000000;
    uint64_t total, left;

    do {
        assert_int_equal(cw_store_space(store, &total, &left, NULL), 0);
    } while (left != wanted && cw_clock_ns() < deadline_ns);
    assert_int_equal(left, wanted);
}

static void test_full(void **state)
{
    struct cw_store *store = open_store("mem:full?bytes=3M&write_rate=4G"),
                    *plain = open_store("mem:full2?bytes=3M");
    struct cw_err err = {0};
    (void)state;

    for (int i = 0; i < 2; i++, store = plain) {
        assert_int_equal(put(store, "a/one", MIB, &err), 0);
        assert_int_equal(put(store, "a/two", 3 * MIB, &err), CW_E_LIMIT);
        assert_int_equal(count(store), 1);
        wait_for_space(store, 2 * MIB);
        assert_int_equal(put(store, "a/two", 2 * MIB, &err), 0);
        assert_false(cw_store_is_unavailable(store, NULL));
        cw_store_close(store);
    }
}
/* The limit of a file's size stands for a full disk. */
static void test_full_disk(void **state)
{
    struct cw_store *store = open_store("dir:%s/full", scratch);
    struct rlimit before, small = {2 * MIB, 2 * MIB};
    struct cw_err err = {0};
    (void)state;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN); // NOLINT
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int rc = put(store, "a/big", 3 * MIB, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(rc, CW_E_LIMIT);
    assert_int_equal(count(store), 0);
    assert_int_equal(put(store, "a/big", 3 * MIB, &err), 0);
    cw_store_close(store);
}

static void on_read(struct cw_store_read *read, int rc)
{
    int *ret = read->arg;

    __atomic_store_n(ret, rc, __ATOMIC_SEQ_CST);
}
/* A store that takes longer than its timeout: whoever waits hears of it, nothing is written to
 * memory that was given back. */
static void test_slow(void **state)
{
    struct cw_store *quick = open_store("mem:slow"),
                    *slow = open_store("mem:slow?latency=4s&timeout=2s");
    struct cw_store_file *file = NULL;
    struct cw_err err = {0};
    uint64_t bytes;
    (void)state;

    assert_int_equal(put(quick, "a", 100, &err), 0);
    assert_false(cw_store_is_unavailable(slow, NULL));
    assert_int_equal(cw_store_file_open(slow, "a", &file, &bytes, &err), CW_E_TIMEOUT);
    assert_non_null(strstr(err.msg, "no answer within 2000 ms"));
    bool is_away = cw_store_is_unavailable(slow, &err);
    for (int i = 0; i < 20 && !is_away; i++) { /* for half a second: looked too late */
        assert_int_equal(cw_store_stat(slow, "a", &bytes, NULL), CW_E_TIMEOUT);
        is_away = cw_store_is_unavailable(slow, &err);
    }
    assert_true(is_away);
    int rc = CW_E_TIMEOUT;
    for (int i = 0; i < 20 && rc == CW_E_TIMEOUT; i++)
        rc = cw_store_stat(slow, "a", &bytes, &err);
    assert_int_equal(rc, CW_E_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "no answer within 2000 ms"));
    rc = CW_E_TIMEOUT;
    for (int i = 0; i < 20 && rc == CW_E_TIMEOUT; i++)
        rc = put(slow, "b", 100, &err);
    assert_int_equal(rc, CW_E_UNAVAILABLE);
    assert_true(comes_back(slow)); /* to be tried is no operation: it takes no latency */
    assert_int_equal(put(slow, "b", 100, &err), CW_E_TIMEOUT);
    cw_store_close(slow); /* while calls are under way */
    cw_store_close(quick);
}
/* Reads wait for the throttle without timing out. */
static void test_throttled(void **state)
{
    struct cw_store *store = open_store("mem:throttled?read_rate=256K&timeout=3s");
    struct cw_store_file *file = NULL;
    struct cw_store_read reads[2] = {0};
    struct cw_err err = {0};
    struct cw_store_rates rates;
    static uint8_t got[2][MIB];
    int rc[2] = {1, 1};
    uint64_t bytes;
    (void)state;

    assert_int_equal(put(store, "a", MIB, &err), 0);
    assert_int_equal(cw_store_file_open(store, "a", &file, &bytes, &err), 0);
    assert_null(cw_store_file_map(file));
    int64_t begin_ns = cw_clock_ns();
    for (size_t i = 0; i < 2; i++) {
        reads[i] = (struct cw_store_read){
            .file = file, .offset = 0, .dst = got[i], .n = MIB, .done = on_read, .arg = &rc[i]};
        cw_store_file_read_start(&reads[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        while (__atomic_load_n(&rc[i], __ATOMIC_SEQ_CST) == 1)
            cw_clock_sleep_ns(1000000);
        assert_int_equal(rc[i], 0);
    }
    assert_true(cw_clock_ns() - begin_ns >= 3900000000); /* the first is free */
    cw_store_rates(store, &rates);
    assert_true(rates.read_ns >= 3900000000);
    cw_store_file_close(file);
    cw_store_close(store);
}

/* A store that cannot be opened is away, until it can. */
static void test_lazily(void **state)
{
    struct cw_store *store = NULL, *none = NULL;
    struct cw_err err = {0};
    char url[256], path[256];
    (void)state;

    snprintf(path, sizeof(path), "%s/blocked", scratch);
    snprintf(url, sizeof(url), "dir:%s/blocked/below", scratch);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_true(cw_store_open(url, &none, &err) < 0);
    assert_non_null(strstr(err.msg, "/blocked"));
    assert_int_equal(cw_store_open_lazily("dir:nonsense", &none, &err), CW_E_INVALID);
    assert_int_equal(cw_store_open_lazily(url, &store, &err), 0);
    assert_int_equal(put(store, "a", 1, &err), CW_E_UNAVAILABLE);
    assert_true(cw_store_is_unavailable(store, NULL));
    assert_int_equal(put(store, "a", 1, &err), CW_E_UNAVAILABLE);
    assert_int_equal(unlink(path), 0);
    assert_true(comes_back(store));
    assert_int_equal(put(store, "a", 1, &err), 0);
    cw_store_close(store);
}
static void test_directory_removed(void **state)
{
    struct cw_store *store = open_store("dir:%s/gone", scratch);
    struct cw_err err = {0};
    char path[256];
    (void)state;

    snprintf(path, sizeof(path), "%s/gone", scratch);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(put(store, "a", 1, &err), CW_E_UNAVAILABLE);
    assert_true(comes_back(store));
    assert_int_equal(put(store, "a", 1, &err), 0);
    assert_true(exists("gone/a"));
    cw_store_close(store);
}

/* Cut short from outside: an error, and no signal. */
static void test_cut(void **state)
{
    struct cw_store *store = open_store("dir:%s/cut?map=on", scratch);
    struct cw_store_file *file = NULL;
    struct cw_err err = {0};
    char path[256];
    uint8_t got[100];
    uint64_t bytes;
    (void)state;

    snprintf(path, sizeof(path), "%s/cut/a", scratch);
    assert_int_equal(put(store, "a", 3 * MIB, &err), 0);
    assert_int_equal(cw_store_file_open(store, "a", &file, &bytes, &err), 0);
    assert_int_equal(truncate(path, 1000), 0);
    assert_null(cw_store_file_map(file));
    assert_int_equal(cw_store_file_read(file, 0, got, 100, &err), 0);
    assert_int_equal(cw_store_file_read(file, 950, got, 100, &err), CW_E_CORRUPT);
    assert_int_equal(cw_store_file_read(file, MIB, got, 100, &err), CW_E_CORRUPT);
    cw_store_file_close(file);
    cw_store_close(store);
}
/* What others put into the directory: links lead nowhere, old temporary files go. */
static void test_strangers(void **state)
{
    struct cw_store *store = open_store("dir:%s/strangers", scratch);
    struct utimbuf old = {1000000000, 1000000000};
    struct cw_store_file *file = NULL;
    struct cw_err err = {0};
    char path[256], target[256];
    uint64_t bytes;
    (void)state;

    assert_int_equal(put(store, "a/real", 10, &err), 0);
    snprintf(target, sizeof(target), "%s", scratch);
    snprintf(path, sizeof(path), "%s/strangers/link", scratch);
    assert_int_equal(symlink(target, path), 0);
    snprintf(path, sizeof(path), "%s/strangers/a/file", scratch);
    assert_int_equal(symlink("real", path), 0);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/strangers/a/.tmp-%d", scratch, i);
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        assert_true(fd >= 0);
        close(fd);
        if (i == 0)
            assert_int_equal(utime(path, &old), 0);
    }
    assert_int_equal(count(store), 1);
    assert_false(exists("strangers/a/.tmp-0"));
    assert_true(exists("strangers/a/.tmp-1"));
    size_t n = 0; /* nobody writes any more */
    assert_int_equal(cw_store_list_unwritten(store, count_one, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_false(exists("strangers/a/.tmp-1"));
    assert_true(put(store, "link/x", 1, &err) < 0);
    assert_true(cw_store_file_open(store, "a/file", &file, &bytes, &err) < 0);
    assert_true(cw_store_file_open(store, "link/strangers/a/real", &file, &bytes, &err) < 0);
    assert_false(exists("x"));
    cw_store_close(store);
}

/* A command tells a store from a path by this, so it must hold for a new backend as well. */
static void test_schemes(void **state)
{
    static const char *const no_schemes[] = {"",        "photos", "/a/dir:b", "dir",
                                             "dirs:/x", "nfs:/x", ":",        "./mem:x"};

    (void)state;
    for (const struct cw_backend *const *backend = cw_backends; *backend; backend++) {
        cw_autofree char *url = cw_mem_printf("%s:x", (*backend)->scheme);
        assert_true(cw_store_has_scheme(url));
    }
    assert_true(cw_store_has_scheme("gluster://host/volume"));
    for (size_t i = 0; i < CW_ARRAY_LEN(no_schemes); i++)
        if (cw_store_has_scheme(no_schemes[i]))
            fail_msg("%s", no_schemes[i]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_urls),   cmocka_unit_test(test_schemes),
        cmocka_unit_test(test_full),   cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_slow),   cmocka_unit_test(test_throttled),
        cmocka_unit_test(test_lazily), cmocka_unit_test(test_directory_removed),
        cmocka_unit_test(test_cut),    cmocka_unit_test(test_strangers)};

    if (!mkdtemp(scratch))
        return 1;
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    cw_autofree char *remove = cw_mem_printf("rm -rf '%s'", scratch);
    FILE *rm = popen(remove, "r");
    if (rm)
        pclose(rm);
    return failures;
}
