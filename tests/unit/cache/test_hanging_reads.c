/* SPDX-License-Identifier: Apache-2.0 */
/* Reads that hang in the file system: this program has a pread of its own, which waits as long
 * as the test wants. */
#include "support/cm.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "cache/store/store.h"

#define BYTES ((size_t)100000)

static struct cw_mutex lock = CW_MUTEX_INIT;
static struct cw_cond changed;
static bool hangs; /* lock, as the rest */
static int hanging, dones, lefts, rc_of_done;

ssize_t pread(int fd, void *dst, size_t n, off_t offset)
{
    cw_mutex_lock(&lock);
    hanging++;
    cw_cond_broadcast(&changed);
    while (hangs)
        cw_cond_wait(&changed, &lock);
    hanging--;
    cw_mutex_unlock(&lock);
    return (ssize_t)syscall(SYS_pread64, fd, dst, n, offset);
}

static void on_done(struct cw_store_read *read, int rc)
{
    (void)read;
    cw_mutex_lock(&lock);
    dones++;
    rc_of_done = rc;
    cw_cond_broadcast(&changed);
    cw_mutex_unlock(&lock);
}

static void on_left(struct cw_store_read *read)
{
    (void)read;
    cw_mutex_lock(&lock);
    lefts++;
    cw_cond_broadcast(&changed);
    cw_mutex_unlock(&lock);
}

static void wait_until(const int *count, int n)
{
    int64_t deadline_ns = cw_clock_ns() + 120 * (int64_t)1000000000;

    cw_mutex_lock(&lock);
    while (*count < n)
        assert_true(cw_cond_wait_until(&changed, &lock, deadline_ns));
    cw_mutex_unlock(&lock);
}

static void set_hangs(bool on)
{
    cw_mutex_lock(&lock);
    hangs = on;
    cw_cond_broadcast(&changed);
    cw_mutex_unlock(&lock);
}

static struct cw_store_file *open_one(struct cw_store *store)
{
    struct cw_store_file *file = NULL;
    uint64_t bytes;

    assert_int_equal(cw_store_file_open(store, "a", &file, &bytes, NULL), 0);
    assert_int_equal(bytes, BYTES);
    return file;
}

/* done says TIMEOUT while the thread is still in the read; it ends later, and writes. left comes
 * when it has. */
static void test_straight(void **state)
{
    cw_autofree char *dir = cw_mem_strdup("/tmp/cachew-test-stuck-XXXXXX");
    cw_autofree uint8_t *data = cw_mem_new(BYTES), *dst = cw_mem_new(BYTES),
                        *copied = cw_mem_new(BYTES);
    struct cw_store *store = NULL;
    (void)state;

    assert_non_null(mkdtemp(dir));
    cw_autofree char *url = cw_mem_printf("dir:%s?map=off&timeout=5s", dir),
                     *path = cw_mem_printf("%s/a", dir);
    memset(data, 7, BYTES);
    cw_cond_init(&changed);
    assert_int_equal(cw_store_open(url, &store, NULL), 0);
    struct iovec part = {data, BYTES};
    assert_int_equal(cw_store_put(store, "a", &part, 1, NULL), 0);
    struct cw_store_file *file = open_one(store);
    struct cw_store_read read = {
        .file = file, .dst = dst, .n = BYTES, .done = on_done, .left = on_left};
    cw_store_file_read_start(&read);
    wait_until(&lefts, 1);
    assert_int_equal(rc_of_done, 0);
    assert_memory_equal(dst, data, BYTES);
    memset(dst, 0, BYTES);

    set_hangs(true);
    cw_store_file_read_start(&read);
    struct cw_store_read plain = {.file = file, .dst = copied, .n = BYTES, .done = on_done};
    cw_store_file_read_start(&plain);
    /* both: what still waits in line when the store goes away does not time out */
    wait_until(&hanging, 2);
    wait_until(&dones, 3);
    assert_int_equal(rc_of_done, CW_E_TIMEOUT);
    cw_mutex_lock(&lock);
    assert_int_equal(lefts, 1);
    cw_mutex_unlock(&lock);
    assert_int_equal(dst[0], 0);
    set_hangs(false);
    wait_until(&lefts, 2);
    assert_memory_equal(dst, data, BYTES);
    cw_store_file_close(file);
    cw_store_close(store);          /* no thread is in a read any more */
    assert_int_equal(copied[0], 0); /* without left nothing is written after done */
    assert_int_equal(dones, 3);
    unlink(path);
    rmdir(dir);
    cw_cond_fini(&changed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_straight)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
