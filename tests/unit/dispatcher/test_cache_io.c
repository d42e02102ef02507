/* SPDX-License-Identifier: Apache-2.0 */
/* The dispatcher ends although its store does not answer: this program has a readdir and a pread of
 * its own, which wait for as long as the test wants. */
#include "support/cm.h"

#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/thread.h"
#include "dispatcher/autocache/measure_store.h"
#include "dispatcher/cache/cache_int.h"
#include "loop/loop.h"

static struct cw_mutex lock = CW_MUTEX_INIT;
static struct cw_cond changed;
static bool hangs; /* `lock` guards this and the next line. */
static int hanging;

static void hang(void)
{
    cw_mutex_lock(&lock);
    hanging++;
    cw_cond_broadcast(&changed);
    while (hangs)
        cw_cond_wait(&changed, &lock);
    hanging--;
    cw_cond_broadcast(&changed);
    cw_mutex_unlock(&lock);
}
struct dirent *readdir(DIR *dir)
{
    (void)dir;
    hang();
    return NULL;
}
ssize_t pread(int fd, void *dst, size_t n, off_t offset)
{
    (void)fd, (void)offset;
    hang();
    memset(dst, 0, n);
    return (ssize_t)n;
}

static void set_hangs(bool on)
{
    cw_mutex_lock(&lock);
    hangs = on;
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

static void no_result(void *arg, const struct cw_cache_io_result *result)
{
    (void)result;
    fail_msg("%s", (const char *)arg);
}

static void stop(void *arg)
{
    cw_loop_stop(arg);
}

static void a_listing_hangs(void **state)
{
    static char why[] = "a result is delivered after the end";
    (void)state;
    struct cw_loop *loop = cw_loop_new();
    set_hangs(true);
    struct cw_cache_io *io = cw_cache_io_open(loop, "dir:/tmp?timeout=1h", no_result, why);
    cw_cache_io_list(io);
    wait_until_it_hangs();
    cw_cache_io_close(io); /* It returns while the listing hangs. */
    set_hangs(false);
    cw_loop_post(loop, stop, loop);
    cw_loop_run(loop);
    cw_cache_io_free(io);
    cw_loop_free(loop);
}

/* What an interrupted benchmark leaves is removed later, with what the cache has no use for. */
static void remove_all(const char *path)
{
    char pattern[64];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%s/*", path);
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            unlink(found.gl_pathv[i]);
        globfree(&found);
    }
    assert_int_equal(rmdir(path), 0);
}

static void a_benchmark_hangs(void **state)
{
    char path[] = "/tmp/cachew-probe-XXXXXX", url[64];
    (void)state;
    assert_non_null(mkdtemp(path));
    snprintf(url, sizeof(url), "dir:%s?map=off&timeout=1h", path);
    set_hangs(true);
    struct cw_store_benchmark *benchmark = cw_store_benchmark_start(url);
    wait_until_it_hangs();
    cw_store_benchmark_free(benchmark);
    set_hangs(false);
    remove_all(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listing_hangs),
        cmocka_unit_test(a_benchmark_hangs),
    };
    cw_cond_init(&changed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
