/* SPDX-License-Identifier: Apache-2.0 */
/* Files of this host that are read ahead, as long as reads of them wait. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/ahead.h"
#include "io/file_waits.h"
#include "io/source_root.h"
#include "support/cm.h"
#include "support/soon.h"

#define BYTES ((size_t)1 << 20)

static char directory[] = "/tmp/cachew-file-ahead-XXXXXX";
static char path[64], other[64];
static int waits_n;

static void write_file(const char *name, char first)
{
    cw_autofree char *bytes = cw_mem_new(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (char)(first + (char)(i * 2654435761U >> 13));
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, BYTES), BYTES);
    assert_int_equal(fsync(fd), 0);
    close(fd);
}

static int begin(void **unused)
{
    (void)unused;
    cw_file_waits_reset();
    cw_source_root_reset();
    cw_ahead_set_limit(4);
    write_file(path, 1);
    waits_n = 0;
    return 0;
}

static int make_directory(void **unused)
{
    (void)unused;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/a", directory);
    snprintf(other, sizeof(other), "%s/b", directory);
    return 0;
}

static int remove_directory(void **unused)
{
    (void)unused;
    unlink(path);
    unlink(other);
    return rmdir(directory);
}

static void note(size_t n, bool has_waited)
{
    for (size_t i = 0; i < n; i++)
        cw_file_waits_note(has_waited);
}

static struct cw_ahead_counts counts(void)
{
    struct cw_ahead_counts c;
    cw_ahead_counts(&c);
    return c;
}

static struct cw_ahead *ask(const char *name, uint64_t offset, uint64_t n)
{
    struct cw_ahead *list = cw_ahead_new(UINT64_MAX);
    cw_ahead_add(list, name, offset, n);
    (void)cw_ahead_begin(list, NULL, NULL);
    return list;
}

/* Frees the list, and waits for what is under way. */
static void done_with(struct cw_ahead *list)
{
    cw_ahead_free(list);
    soon(counts().ranges == 0);
    assert_int_equal(counts().bytes, 0);
}

/* Reads a stretch as a source does. */
static void expect_bytes(const char *name, uint64_t offset, size_t n, char first)
{
    struct cw_io_file file;
    struct cw_err err = {0};
    cw_autofree char *bytes = cw_mem_new(n);
    assert_int_equal(cw_io_open(name, NULL, &file, &err), 0);
    assert_int_equal(cw_io_read(&file, offset, bytes, n, NULL, &err), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(bytes[i], (char)(first + (char)((offset + i) * 2654435761U >> 13)));
    cw_io_close(&file);
}

static void a_few_waits_are_not_enough(void **unused)
{
    (void)unused;
    note(100, false);
    note(2, true);
    assert_false(cw_file_waits());
    note(1000, false);
    note(2, true);
    assert_false(cw_file_waits());
}

static void waits_begin_and_end_it(void **unused)
{
    (void)unused;
    note(3, true);
    assert_true(cw_file_waits());
    /* one in 64 waits still: it goes on */
    for (int i = 0; i < 100; i++) {
        note(63, false);
        note(1, true);
    }
    assert_true(cw_file_waits());
    note(400, false);
    assert_false(cw_file_waits());
}

static void only_as_long_as_reads_wait(void **unused)
{
    uint64_t requests = counts().requests, reads = counts().reads;
    (void)unused;
    assert_false(cw_ahead_is_for(path));
    struct cw_ahead *list = ask(path, 1000, 5000);
    assert_true(cw_ahead_is_done(list));
    assert_int_equal(counts().requests, requests);
    done_with(list);
    note(64, true);
    assert_true(cw_ahead_is_for(path));
    list = ask(path, 1000, 5000);
    soon(cw_ahead_is_done(list));
    assert_int_equal(counts().requests, requests + 1);
    expect_bytes(path, 1500, 4000, 1);
    assert_int_equal(counts().reads, reads + 1);
    /* a read that begins there and goes on behind it */
    expect_bytes(path, 5500, 2000, 1);
    assert_int_equal(counts().reads, reads + 2);
    /* what lies before it is not there */
    expect_bytes(path, 500, 2000, 1);
    assert_int_equal(counts().reads, reads + 2);
    done_with(list);
    cw_ahead_set_limit(0);
    assert_false(cw_ahead_is_for(path));
}

static void a_file_that_became_another_one_is_read_again(void **unused)
{
    (void)unused;
    note(64, true);
    struct cw_ahead *list = ask(path, 0, 5000);
    soon(cw_ahead_is_done(list));
    uint64_t reads = counts().reads;
    write_file(other, 7);
    assert_int_equal(rename(other, path), 0);
    expect_bytes(path, 0, 5000, 7);
    assert_int_equal(counts().reads, reads);
    done_with(list);
}

static void what_cannot_be_read_is_left_to_the_reader(void **unused)
{
    struct cw_io_file file;
    (void)unused;
    note(64, true);
    struct cw_ahead *list = ask(other, 0, 100);
    soon(cw_ahead_is_done(list));
    assert_int_equal(cw_io_open(other, NULL, &file, NULL), CW_E_NOT_FOUND);
    done_with(list);
    list = ask(path, BYTES - 10, 20);
    soon(cw_ahead_is_done(list));
    expect_bytes(path, BYTES - 10, 10, 1);
    done_with(list);
}

static void a_file_is_opened_with_the_rights_of_who_asks(void **unused)
{
    cw_autofree char *root = cw_mem_printf("%s,tenant=blue", directory);
    struct cw_err err = {0};
    struct cw_io_file file;
    (void)unused;
    assert_int_equal(cw_source_root_add(root, &err), 0);
    note(64, true);
    uint64_t reads = counts().reads;
    struct cw_ahead *list = ask(path, 0, 100);
    soon(cw_ahead_is_done(list));
    assert_int_equal(cw_io_open(path, NULL, &file, NULL), CW_E_DENIED);
    cw_source_root_read_as(cw_source_root_reader("blue"));
    expect_bytes(path, 0, 100, 1);
    assert_int_equal(counts().reads, reads);
    struct cw_ahead *blue = ask(path, 0, 100);
    soon(cw_ahead_is_done(blue));
    expect_bytes(path, 0, 100, 1);
    assert_int_equal(counts().reads, reads + 1);
    cw_source_root_read_as(0);
    cw_ahead_free(blue);
    done_with(list);
}

static void what_nobody_wants_any_more_is_dropped(void **unused)
{
    struct cw_ahead *lists[64];
    (void)unused;
    note(1000, true);
    for (size_t i = 0; i < 64; i++)
        lists[i] = ask(path, i * 16000, 10000);
    for (size_t i = 0; i < 64; i++)
        cw_ahead_free(lists[i]);
    soon(counts().ranges == 0);
}

/* ---- what the kernel says ---- */

static void count_wait(void)
{
    waits_n++;
}

/* Whether the file's first page is in the page cache. */
static bool is_cached(int fd)
{
    unsigned char there = 0;
    void *map = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mincore(map, 1, &there), 0);
    munmap(map, 1);
    return there & 1;
}

static void a_read_of_what_is_not_cached_waits(void **unused)
{
    static char bytes[20000]; /* each read of so many is tried */
    (void)unused;
    int fd = open(path, O_RDONLY);
    const struct iovec part = {bytes, sizeof(bytes)};
    assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
    const bool tells = preadv2(fd, &part, 1, 0, RWF_NOWAIT) > 0;
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    if (!tells || is_cached(fd)) {
        close(fd); /* a file system that does not tell, or one in memory */
        skip();
    }
    assert_int_equal(cw_file_read_noted(fd, bytes, sizeof(bytes), 0, count_wait), sizeof(bytes));
    assert_int_equal(waits_n, 1);
    assert_int_equal(cw_file_read_noted(fd, bytes, sizeof(bytes), 0, count_wait), sizeof(bytes));
    assert_int_equal(waits_n, 1);
    assert_int_equal(cw_file_read_noted(fd, bytes, sizeof(bytes), BYTES, count_wait), 0);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_few_waits_are_not_enough, begin),
        cmocka_unit_test_setup(waits_begin_and_end_it, begin),
        cmocka_unit_test_setup(only_as_long_as_reads_wait, begin),
        cmocka_unit_test_setup(a_file_that_became_another_one_is_read_again, begin),
        cmocka_unit_test_setup(what_cannot_be_read_is_left_to_the_reader, begin),
        cmocka_unit_test_setup(a_file_is_opened_with_the_rights_of_who_asks, begin),
        cmocka_unit_test_setup(what_nobody_wants_any_more_is_dropped, begin),
        cmocka_unit_test_setup(a_read_of_what_is_not_cached_waits, begin),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
