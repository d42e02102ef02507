/* SPDX-License-Identifier: Apache-2.0 */
/* What the pool of I/O threads counts: a thread that hangs is replaced by another, also when it
 * hangs beside one that found an error. This program has a pread of its own. */
#include "support/cm.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "cache/store/store_state.h"

#define BYTES (2 * CW_STORE_PIECE)

enum plan { PASS, FIRST_HANGS_SECOND_FAILS, BOTH_PASS_TOGETHER };

static struct cw_mutex lock = CW_MUTEX_INIT;
static struct cw_cond changed;
static enum plan plan; /* lock, as the rest */
static int inside;
static bool released, is_done;
static int rc_of_done;

/* Returns when both pieces of the read are in hand, and the first not before it is released. */
static bool meet(off_t offset)
{
    cw_mutex_lock(&lock);
    inside++;
    cw_cond_broadcast(&changed);
    while (plan != PASS && inside < 2)
        cw_cond_wait(&changed, &lock);
    bool fails = plan == FIRST_HANGS_SECOND_FAILS && offset > 0;
    while (plan == FIRST_HANGS_SECOND_FAILS && offset == 0 && !released)
        cw_cond_wait(&changed, &lock);
    cw_mutex_unlock(&lock);
    return !fails;
}

ssize_t pread(int fd, void *dst, size_t n, off_t offset)
{
    if (!meet(offset)) {
        errno = EIO;
        return -1;
    }
    return (ssize_t)syscall(SYS_pread64, fd, dst, n, offset);
}

static void on_done(struct cw_store_read *read, int rc)
{
    (void)read;
    cw_mutex_lock(&lock);
    is_done = true;
    rc_of_done = rc;
    cw_cond_broadcast(&changed);
    cw_mutex_unlock(&lock);
}

struct fixture {
    char *dir;
    struct cw_store *store;
    struct cw_store_file *file;
    uint8_t *dst;
};

static int set_up(void **state)
{
    static struct fixture f;
    cw_autofree uint8_t *data = cw_mem_new(BYTES);
    struct iovec part = {data, BYTES};
    uint64_t bytes;

    f.dir = cw_mem_strdup("/tmp/cachew-test-pool-XXXXXX");
    cw_cond_init(&changed);
    plan = PASS;
    inside = 0;
    released = is_done = false;
    if (!mkdtemp(f.dir))
        return -1;
    cw_autofree char *url = cw_mem_printf("dir:%s?map=off&timeout=1h", f.dir);
    f.dst = cw_mem_new(BYTES);
    *state = &f;
    if (cw_store_open(url, &f.store, NULL) != 0 || cw_store_put(f.store, "a", &part, 1, NULL) != 0)
        return -1;
    return cw_store_file_open(f.store, "a", &f.file, &bytes, NULL);
}

static void release(void)
{
    cw_mutex_lock(&lock);
    released = true;
    cw_cond_broadcast(&changed);
    cw_mutex_unlock(&lock);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    cw_autofree char *path = cw_mem_printf("%s/a", f->dir);

    release();
    cw_store_file_close(f->file);
    cw_store_close(f->store);
    unlink(path);
    rmdir(f->dir);
    cw_mem_free(f->dir);
    cw_mem_free(f->dst);
    cw_cond_fini(&changed);
    return 0;
}

static void read_all(struct fixture *f, struct cw_store_read *read, enum plan how)
{
    cw_mutex_lock(&lock);
    plan = how;
    inside = 0;
    is_done = false;
    cw_mutex_unlock(&lock);
    *read = (struct cw_store_read){.file = f->file, .dst = f->dst, .n = BYTES, .done = on_done};
    cw_store_file_read_start(read);
    cw_mutex_lock(&lock);
    while (!is_done)
        cw_cond_wait(&changed, &lock);
    cw_mutex_unlock(&lock);
}

/* Waits until all threads but so many wait for work; returns how many count as stuck then. */
static unsigned stuck_when_busy(struct cw_store *store, unsigned busy)
{
    for (;;) {
        cw_mutex_lock(&store->lock);
        bool is_so = store->idle + busy == store->threads_n && store->wanted == 0;
        unsigned stuck = store->stuck;
        cw_mutex_unlock(&store->lock);
        if (is_so)
            return stuck;
        sched_yield();
    }
}

static void test_one_hangs_beside_an_error(void **state)
{
    struct fixture *f = *state;
    struct cw_store_read read;

    read_all(f, &read, FIRST_HANGS_SECOND_FAILS);
    assert_int_equal(rc_of_done, CW_E_IO);
    assert_int_equal(stuck_when_busy(f->store, 1), 1);
    release();
    assert_int_equal(stuck_when_busy(f->store, 0), 0);
}

static void test_none_is_stuck_after_a_good_read(void **state)
{
    struct fixture *f = *state;
    struct cw_store_read read;

    for (int i = 0; i < 200; i++) { /* who of the two is late differs */
        read_all(f, &read, BOTH_PASS_TOGETHER);
        assert_int_equal(rc_of_done, 0);
        assert_int_equal(stuck_when_busy(f->store, 0), 0);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_one_hangs_beside_an_error, set_up, tear_down),
    cmocka_unit_test_setup_teardown(test_none_is_stuck_after_a_good_read, set_up, tear_down),
};

CW_TESTS_MAIN(tests)
