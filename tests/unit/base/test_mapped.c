/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings whose file is cut short, and signals that are none of theirs. */
#include "base/mapped.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "support/cm.h"

#define PAGES 8
#define BYTES (PAGES * CW_MEM_PAGE - 100)

/* An anonymous file of BYTES bytes, each 7. */
static int file_new(void)
{
    char path[] = "/tmp/cachew-test-mapped-XXXXXX", page[CW_MEM_PAGE];
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    unlink(path);
    memset(page, 7, sizeof(page));
    for (size_t i = 0; i < PAGES; i++)
        assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
    assert_int_equal(ftruncate(fd, BYTES), 0);
    return fd;
}

static unsigned char at(const struct cw_mapped *mapped, size_t i)
{
    return ((const volatile unsigned char *)cw_mapped_data(mapped))[i];
}

static void test_cut(void **state)
{
    size_t where = 1;

    (void)state;
    int fd = file_new(), other_fd = file_new();
    struct cw_mapped *mapped = cw_mapped_new(fd, BYTES), *other = cw_mapped_new(other_fd, BYTES);
    assert_non_null(mapped);
    assert_non_null(other);
    assert_int_equal(at(mapped, BYTES - 1), 7);
    assert_int_equal(ftruncate(fd, 3 * CW_MEM_PAGE), 0);
    assert_int_equal(at(mapped, 0), 7);
    assert_false(cw_mapped_is_broken(mapped, &where));
    assert_int_equal(where, 1);
    assert_int_equal(at(mapped, 5 * CW_MEM_PAGE), 0);
    assert_true(cw_mapped_is_broken(mapped, &where));
    assert_int_equal(where, 5 * CW_MEM_PAGE);
    assert_int_equal(at(mapped, 0), 0); /* all of it */
    assert_int_equal(at(mapped, BYTES - 1), 0);
    assert_int_equal(at(other, BYTES - 1), 7); /* nothing but it */
    assert_false(cw_mapped_is_broken(other, NULL));
    cw_mapped_free(mapped);
    cw_mapped_free(other);
    cw_mapped_free(NULL);
    assert_null(cw_mapped_new(fd, 0));
    assert_null(cw_mapped_new(-1, 100));
    close(fd);
    close(other_fd);
}

struct cut {
    struct cw_mapped *mapped;
    atomic_size_t sum;
};

static void read_all(void *arg)
{
    struct cut *cut = arg;

    for (size_t i = 0; i < BYTES; i++)
        atomic_fetch_add(&cut->sum, at(cut->mapped, i));
}

/* Mappings come and go while others break, and several threads are at one that does. */
static void test_threads(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        struct cw_thread threads[4] = {0};
        int fd = file_new();
        struct cut cut = {.mapped = cw_mapped_new(fd, BYTES)};

        assert_int_equal(ftruncate(fd, 0), 0);
        for (size_t i = 0; i < CW_ARRAY_LEN(threads); i++)
            cw_thread_start(&threads[i], "reader", read_all, &cut);
        for (size_t i = 0; i < CW_ARRAY_LEN(threads); i++)
            cw_thread_join(&threads[i]);
        assert_int_equal(cut.sum, 0);
        assert_true(cw_mapped_is_broken(cut.mapped, NULL));
        cw_mapped_free(cut.mapped);
        close(fd);
    }
}

/* ---- signals that are none of ours: each in a process of its own ---- */

/* Of no concern to this module. */
static void touch_foreign(void)
{
    int fd = file_new();
    const volatile unsigned char *map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);

    if (map == MAP_FAILED || ftruncate(fd, 0) != 0)
        _exit(1);
    _exit(map[0] ? 2 : 3);
}
static void touch_freed(void)
{
    int fd = file_new();
    struct cw_mapped *mapped = cw_mapped_new(fd, BYTES);
    void *where = (void *)(uintptr_t)cw_mapped_data(mapped);

    cw_mapped_free(mapped);
    const volatile unsigned char *map =
        mmap(where, BYTES, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
    if (map == MAP_FAILED || ftruncate(fd, 0) != 0)
        _exit(1);
    _exit(map[0] ? 2 : 3);
}
static void send(void)
{
    raise(SIGBUS);
    _exit(4);
}
static void on_signal(int number)
{
    (void)number;
    _exit(42);
}
static void on_signal_info(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    _exit(info->si_addr || info->si_code <= 0 ? 43 : 5);
}

/* How a process ends that had `before` as its handler when the first file was mapped, and then
 * does so. */
static int end_of(const struct sigaction *before, void (*act)(void))
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        sigaction(SIGBUS, before, NULL);
        struct cw_mapped *mapped = cw_mapped_new(file_new(), BYTES);
        if (mapped)
            act();
        _exit(6);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_passed_on(void **state)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL}, ignored = {.sa_handler = SIG_IGN},
                           plain = {.sa_handler = on_signal},
                           info = {.sa_sigaction = on_signal_info, .sa_flags = SA_SIGINFO};
    void (*const acts[])(void) = {touch_foreign, touch_freed, send};

    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(acts); i++) {
        int status = end_of(&standard, acts[i]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
        status = end_of(&plain, acts[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
        status = end_of(&info, acts[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 43);
    }
    int status = end_of(&ignored, send);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 4);
    status = end_of(&ignored, touch_foreign); /* the kernel heeds no one there */
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passed_on), /* first: no file is mapped yet */
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
