/* SPDX-License-Identifier: Apache-2.0 */
/* Listings that hang in the file system: this program has a readdir of its own, which waits at an
 * entry for as long as the test wants. */
#include "support/cm.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "cache/store/store.h"

#define FILES 500
#define HANGS_AT 400 /* The entry at which readdir hangs; more than a batch comes before it. */

static struct cw_mutex lock = CW_MUTEX_INIT;
static struct cw_cond changed;
static bool hangs; /* lock, as the rest */
static int entries, hanging;

struct dirent *readdir(DIR *dir)
{
    struct dirent *(*real)(DIR *) = NULL;

    *(void **)&real = dlsym(RTLD_NEXT, "readdir");
    cw_mutex_lock(&lock);
    if (++entries >= HANGS_AT && hangs) {
        hanging++;
        cw_cond_broadcast(&changed);
        while (hangs)
            cw_cond_wait(&changed, &lock);
        hanging--;
    }
    cw_mutex_unlock(&lock);
    return real(dir);
}

static void set_hangs(bool on)
{
    cw_mutex_lock(&lock);
    hangs = on;
    entries = 0;
    cw_cond_broadcast(&changed);
    cw_mutex_unlock(&lock);
}

static void wait_until_it_hangs(void)
{
    cw_mutex_lock(&lock);
    while (hanging == 0)
        cw_cond_wait(&changed, &lock);
    cw_mutex_unlock(&lock);
}

struct fixture {
    char dir[64], url[128];
    struct cw_store *store;
};

static int set_up(void **state)
{
    struct fixture *f = CW_NEW(struct fixture);

    cw_cond_init(&changed);
    snprintf(f->dir, sizeof(f->dir), "/tmp/cachew-test-list-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    for (int i = 0; i < FILES; i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%d", f->dir, i);
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    snprintf(f->url, sizeof(f->url), "dir:%s?timeout=1h", f->dir);
    assert_int_equal(cw_store_open(f->url, &f->store, NULL), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cw_store_close(f->store);
    for (int i = 0; i < FILES; i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%d", f->dir, i);
        unlink(path);
    }
    assert_int_equal(rmdir(f->dir), 0);
    cw_mem_free(f);
    cw_cond_fini(&changed);
    return 0;
}

static int count(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    int *n = arg;

    (void)name, (void)bytes, (void)mtime_ms;
    (*n)++;
    return 0;
}

static int stop_at_ten(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    int *n = arg;

    (void)count(arg, name, bytes, mtime_ms);
    return *n == 10 ? 42 : 0;
}

/* The caller has seen enough while the storage hangs at a later entry. */
static void the_caller_ends_it(void **state)
{
    struct fixture *f = *state;
    int n = 0;

    set_hangs(true);
    assert_int_equal(cw_store_list(f->store, "", stop_at_ten, &n, NULL), 42);
    assert_int_equal(n, 10);
    set_hangs(false);
    n = 0;
    assert_int_equal(cw_store_list(f->store, "", count, &n, NULL), 0);
    assert_int_equal(n, FILES);
}

struct listing { /* a listing on a thread of its own */
    struct cw_store *store;
    int rc, n;
};

static void list_all(void *arg)
{
    struct listing *listing = arg;

    listing->rc = cw_store_list(listing->store, "", count, &listing->n, NULL);
}

/* Another thread wants to close the store while the listing hangs. */
static void the_store_is_interrupted(void **state)
{
    struct fixture *f = *state;
    struct listing listing = {.store = f->store};
    struct cw_thread thread = {0};

    set_hangs(true);
    cw_thread_start(&thread, "listing", list_all, &listing);
    wait_until_it_hangs();
    cw_store_interrupt(f->store);
    cw_thread_join(&thread);
    assert_int_equal(listing.rc, CW_E_CANCELLED);
    assert_true(listing.n < HANGS_AT);
    /* What begins afterwards ends at once, too. */
    assert_int_equal(cw_store_remove(f->store, "1", NULL), CW_E_CANCELLED);
    assert_int_equal(cw_store_list(f->store, "", count, &listing.n, NULL), CW_E_CANCELLED);
    set_hangs(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_caller_ends_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_store_is_interrupted, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
