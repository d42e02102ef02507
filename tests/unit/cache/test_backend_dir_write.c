/* SPDX-License-Identifier: Apache-2.0 */
/* Files of dir: that are written past the page cache: what goes which way, and what is there in
 * the end. pwrite is our own: it tells the ways apart, and refuses, fails or cuts short what
 * goes directly, as file systems do. */
#include "support/cm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"
#include "cache/store/backend_dir_write.h"

#define MIB ((size_t)1 << 20)
#define NAME "tenant.chunk"

static char scratch[] = "/tmp/cachew-out-XXXXXX";
static int direct_errno;                /* of a direct write; 0: none */
static size_t direct_most;              /* a direct write takes no more; 0: all */
static atomic_size_t directly, usually; /* bytes that were written like this */
static struct cw_mutex lock;
static struct cw_cond changed;
/* lock: the next write is to hang; it does; it was given the same bytes to the end */
static bool hangs, hung, kept;

/* As on a disk that does not answer: until `hangs` is taken back. */
static void hang(const void *p, size_t n)
{
    cw_mutex_lock(&lock);
    if (hangs && !hung) {
        uint64_t sum = cw_hash_u64(p, n);

        hung = true;
        cw_cond_broadcast(&changed);
        while (hangs)
            cw_cond_wait(&changed, &lock);
        kept = cw_hash_u64(p, n) == sum;
        hung = false;
        cw_cond_broadcast(&changed);
    }
    cw_mutex_unlock(&lock);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t offset)
{
    int flags = fcntl(fd, F_GETFL);
    bool direct = flags & O_DIRECT;

    hang(p, n);
    if (direct && direct_errno) {
        errno = direct_errno;
        return -1;
    }
    if (direct && direct_most && n > direct_most)
        n = direct_most;
    if (direct && fcntl(fd, F_SETFL, flags & ~O_DIRECT) < 0)
        return -1;
    ssize_t some = syscall(SYS_pwrite64, fd, p, n, offset);
    if (direct && fcntl(fd, F_SETFL, flags) < 0)
        return -1;
    if (some > 0)
        atomic_fetch_add(direct ? &directly : &usually, (size_t)some);
    return some;
}

static atomic_int synced;

int fsync(int fd)
{
    atomic_fetch_add(&synced, 1);
    return (int)syscall(SYS_fsync, fd);
}

static char *path_of(const char *name)
{
    return cw_mem_printf("%s/%s", scratch, name);
}

static int set_up(void **state)
{
    (void)state;
    direct_errno = 0;
    direct_most = 0;
    atomic_store(&directly, 0);
    atomic_store(&usually, 0);
    return 0;
}

/* false: the file system of the test knows no direct writes. */
static bool has_direct(void)
{
    cw_autofree char *path = path_of("probe");
    int fd = open(path, O_WRONLY | O_CREAT | O_DIRECT, 0600);

    if (fd >= 0)
        close(fd);
    unlink(path);
    return fd >= 0;
}

static void *create(bool direct)
{
    int parent = open(scratch, O_RDONLY | O_DIRECTORY);
    struct cw_err err = {0};
    void *out = NULL;

    assert_true(parent >= 0);
    if (cw_dir_write_create(parent, NAME, NAME, direct, &out, &err) != 0)
        fail_msg("%s", err.msg);
    return out;
}

static uint8_t *pattern(size_t n)
{
    uint8_t *p = cw_mem_try_pages(n);

    assert_non_null(p);
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(i * 2654435761u >> 11);
    return p;
}

/* n bytes in pieces, from memory that begins `shift` bytes behind a page. */
static int write_all(void *out, const uint8_t *p, size_t n, size_t shift, struct cw_err *err)
{
    cw_autofree uint8_t *piece = cw_mem_try_pages(MIB + CW_MEM_PAGE);
    int rc = 0;

    assert_non_null(piece);
    for (size_t at = 0; rc == 0 && at < n; at += MIB) {
        size_t some = n - at < MIB ? n - at : MIB;
        memcpy(piece + shift, p + at, some);
        rc = cw_dir_write_piece(out, at, piece + shift, some, err);
    }
    return rc;
}

static void check_file(const uint8_t *want, size_t n)
{
    cw_autofree char *path = path_of(NAME);
    cw_autofree uint8_t *got = cw_mem_new(n + 1);
    int fd = open(path, O_RDONLY);

    assert_true(fd >= 0);
    assert_int_equal(read(fd, got, n + 1), n);
    assert_memory_equal(got, want, n);
    close(fd);
    unlink(path);
}

static void write_and_check(size_t n, size_t shift)
{
    cw_autofree uint8_t *p = pattern(n);
    struct cw_err err = {0};
    void *out = create(true);

    if (write_all(out, p, n, shift, &err) != 0 || cw_dir_write_sync(out, &err) != 0 ||
        cw_dir_write_commit(out, &err) != 0)
        fail_msg("%s", err.msg);
    check_file(p, n);
    assert_int_equal(directly + usually, n);
}

static void test_whole_blocks(void **state)
{
    (void)state;
    if (!has_direct())
        skip();
    write_and_check(3 * MIB + 3 * CW_MEM_PAGE + 17, 0);
    assert_int_equal(usually, 17);
    set_up(NULL);
    write_and_check(2 * MIB, 0);
    assert_int_equal(usually, 0);
    set_up(NULL);
    write_and_check(100, 0);
    assert_int_equal(directly, 0);
}

static void test_memory_that_is_not_aligned(void **state)
{
    (void)state;
    write_and_check(2 * MIB + 5, 64);
    assert_int_equal(directly, 0);
}

static void test_off(void **state)
{
    cw_autofree uint8_t *p = pattern(MIB);
    void *out = create(false);

    (void)state;
    assert_int_equal(write_all(out, p, MIB, 0, NULL), 0);
    assert_int_equal(cw_dir_write_commit(out, NULL), 0);
    check_file(p, MIB);
    assert_int_equal(directly, 0);
}

/* A file system that opens such a file and then wants larger blocks, or none at all. */
static void test_refused(void **state)
{
    static const int errors[] = {EINVAL, EOPNOTSUPP};

    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(errors); i++) {
        set_up(NULL);
        direct_errno = errors[i];
        write_and_check(2 * MIB + 100, 0);
        assert_int_equal(directly, 0);
    }
}

static void test_cut_short(void **state)
{
    (void)state;
    if (!has_direct())
        skip();
    direct_most = 16 * CW_MEM_PAGE; /* goes on directly */
    write_and_check(2 * MIB, 0);
    assert_int_equal(usually, 0);
    set_up(NULL);
    direct_most = 5000; /* in the middle of a block: the rest of the piece goes the usual way */
    write_and_check(2 * MIB, 0);
    assert_int_equal(directly, 2 * 5000);
}

static void test_errors(void **state)
{
    static const struct {
        int sys_errno, rc;
    } cases[] = {
        {ENOSPC, CW_E_LIMIT}, {EDQUOT, CW_E_LIMIT}, {EIO, CW_E_IO}, {ESTALE, CW_E_UNAVAILABLE}};
    cw_autofree uint8_t *p = pattern(MIB);
    cw_autofree char *path = path_of(NAME);

    (void)state;
    if (!has_direct())
        skip();
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_err err = {0};
        void *out = create(true);

        direct_errno = cases[i].sys_errno;
        assert_int_equal(write_all(out, p, MIB, 0, &err), cases[i].rc);
        assert_non_null(strstr(err.msg, NAME));
        cw_dir_write_abandon(out);
        assert_int_equal(access(path, F_OK), -1);
    }
    assert_int_equal(rmdir(scratch), 0); /* nothing is left */
    assert_int_equal(mkdir(scratch, 0700), 0);
}

static int put(struct cw_store *store, const char *name, const uint8_t *p, size_t n)
{
    struct iovec part = {(void *)(uintptr_t)p, n};

    return cw_store_put(store, name, &part, 1, NULL);
}

/* What can be made anew waits for no disk: neither its bytes nor its name are synced. */
static void test_unsynced(void **state)
{
    CW_CLEANUP(cw_mem_free_at) char *url = cw_mem_printf("dir:%s", scratch);
    cw_autofree uint8_t *p = pattern(2 * MIB);
    const struct iovec part = {p, 2 * MIB};
    struct cw_store *store;

    (void)state;
    assert_int_equal(cw_store_open(url, &store, NULL), 0);
    atomic_store(&synced, 0);
    assert_int_equal(put(store, NAME, p, 2 * MIB), 0);
    assert_int_equal(atomic_exchange(&synced, 0), 2); /* the file and its directory */
    check_file(p, 2 * MIB);
    assert_int_equal(cw_store_put_unsynced(store, NAME, &part, 1, NULL), 0);
    assert_int_equal(atomic_load(&synced), 0);
    check_file(p, 2 * MIB);
    assert_int_equal(cw_store_put_unsynced(store, "../x", &part, 1, NULL), CW_E_INVALID);
    cw_store_close(store);
}

/* A write that hangs: who put the file goes on and frees it, others are written, and the write
 * still has its bytes when the disk answers at last. */
static void test_hangs(void **state)
{
    CW_CLEANUP(cw_mem_free_at) char *url = cw_mem_printf("dir:%s?timeout=2s", scratch);
    uint8_t *lost = pattern(5 * MIB);
    cw_autofree uint8_t *other = cw_mem_new(5 * MIB);
    struct cw_store *store;

    (void)state;
    assert_int_equal(cw_store_open(url, &store, NULL), 0);
    cw_mutex_lock(&lock);
    hangs = true;
    cw_mutex_unlock(&lock);
    assert_int_equal(put(store, "lost", lost, 5 * MIB), CW_E_TIMEOUT);
    memset(lost, 0, 5 * MIB);
    cw_mem_free(lost);
    int rc;
    /* away for a while; and the machine may be slow */
    while ((rc = put(store, NAME, other, 5 * MIB)) != 0) {
        assert_true(rc == CW_E_UNAVAILABLE || rc == CW_E_TIMEOUT);
        cw_clock_sleep_ns(10000000);
    }
    check_file(other, 5 * MIB);
    cw_mutex_lock(&lock);
    assert_true(hung);
    hangs = false;
    cw_cond_broadcast(&changed);
    while (hung)
        cw_cond_wait(&changed, &lock);
    assert_true(kept);
    cw_mutex_unlock(&lock);
    cw_store_close(store);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_whole_blocks, set_up),
        cmocka_unit_test_setup(test_memory_that_is_not_aligned, set_up),
        cmocka_unit_test_setup(test_off, set_up),
        cmocka_unit_test_setup(test_refused, set_up),
        cmocka_unit_test_setup(test_cut_short, set_up),
        cmocka_unit_test_setup(test_errors, set_up),
        cmocka_unit_test_setup(test_unsynced, set_up),
        cmocka_unit_test_setup(test_hangs, set_up)};

    if (!mkdtemp(scratch))
        return 1;
    cw_mutex_init(&lock);
    cw_cond_init(&changed);
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(scratch);
    return failures;
}
