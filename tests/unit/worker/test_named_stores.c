/* SPDX-License-Identifier: Apache-2.0 */
/* How long a worker keeps the stores of named caches open that no job uses: on a clock that only the
 * test sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "unit/worker/bare_worker.h"
#include "worker/cache/cache_job.h"
#include "worker/cache/cache_store.h"
#include "worker/cache/source.h"
#include "worker/cache/worker_cache.h"

#define MINUTE_MS INT64_C(60000)
#define CACHE 7
#define PLACE "mem:named-stores"

static int64_t now_ms = 1000000;

int64_t __wrap_cw_clock_ms(void);
int64_t __wrap_cw_clock_ms(void)
{
    return now_ms;
}

static void on_may_begin(void *arg)
{
    struct cw_worker_state *w = arg;
    cw_loop_stop(w->loop);
}

static int begin(void **state)
{
    static char dispatcher[] = "127.0.0.1:1";
    struct cw_worker_state *w = bare_new();
    w->loop = cw_loop_new();
    w->dispatcher = dispatcher;
    cw_wcache_start(w, (size_t)1 << 20, on_may_begin);
    *state = w;
    return 0;
}

static int end(void **state)
{
    struct cw_worker_state *w = *state;
    struct cw_loop *loop = w->loop;
    w->closing = true;
    cw_wcache_stop(w);
    for (size_t i = 0; i < w->jobs.n; i++)
        cw_wcache_job_fini(w->jobs.list[i]);
    cw_wcache_free(w);
    bare_free(w);
    cw_loop_free(loop);
    return 0;
}

/* The job has the cache from now on. */
static void give(struct cw_wjob *job)
{
    static char name[] = "photos", url[] = PLACE;
    Cachew__V1__CacheStore store = CACHEW__V1__CACHE_STORE__INIT;
    store.id = CACHE;
    store.name = name;
    store.url = url;
    cw_wcache_job_given(job, &store, NULL, 0);
}

/* The job has no cache any more. */
static void take_away(struct cw_wjob *job)
{
    Cachew__V1__CacheStore none = CACHEW__V1__CACHE_STORE__INIT;
    cw_wcache_job_given(job, &none, NULL, 0);
}

static bool is_open_after(struct cw_worker_state *w, int64_t ms)
{
    now_ms += ms;
    cw_wcache_beat(w);
    return cw_wcache_store_of(w, CACHE) != NULL;
}

/* The store is open as long as a job has the cache, and then for a minute, which begins anew with
 * each job. */
static void closes_a_minute_after_the_last_job(void **state)
{
    struct cw_worker_state *w = *state;
    struct cw_wjob *a = bare_job(w, "a", 1), *b = bare_job(w, "b", 1);
    give(a);
    cw_loop_run(w->loop); /* until it is open */
    give(b);
    assert_true(is_open_after(w, 0));
    assert_true(is_open_after(w, 60 * MINUTE_MS));
    take_away(a);
    assert_true(is_open_after(w, 60 * MINUTE_MS)); /* b has it */
    take_away(b);
    assert_true(is_open_after(w, 0));
    assert_true(is_open_after(w, MINUTE_MS - 1));
    give(a); /* in time */
    assert_true(is_open_after(w, MINUTE_MS));
    take_away(a);
    assert_true(is_open_after(w, 0));
    assert_true(is_open_after(w, MINUTE_MS - 1));
    assert_false(is_open_after(w, 1));
    assert_int_equal(w->cache.left_n, 0); /* nobody waits for its end */
}

/* One that was detached is left at once, whoever had it. */
static void leaves_at_once_when_told(void **state)
{
    struct cw_worker_state *w = *state;
    struct cw_wjob *job = bare_job(w, "a", 1);
    Cachew__V1__LeaveCache leave = CACHEW__V1__LEAVE_CACHE__INIT;
    leave.cache = CACHE;
    give(job);
    cw_loop_run(w->loop);
    cw_wcache_leave(w, &leave);
    assert_null(cw_wcache_store_of(w, CACHE));
    w->closing = true;
    cw_wcache_stop(w); /* waits until it is closed */
    assert_int_equal(w->cache.left_n, 1);
    assert_int_equal(w->cache.left[0], CACHE);
}

/* A cache was kept, and what is there now is deleted: the worker has left only when nothing is written
 * there any more, for whichever cache. */
static void leaves_the_place(void **state)
{
    struct cw_worker_state *w = *state;
    struct cw_wjob *job = bare_job(w, "a", 1);
    static char place[] = PLACE "?timeout=300ms";
    Cachew__V1__LeaveCache kept = CACHEW__V1__LEAVE_CACHE__INIT;
    Cachew__V1__LeaveCache deleted = CACHEW__V1__LEAVE_CACHE__INIT;
    kept.cache = CACHE;
    kept.keep = true;
    deleted.cache = CACHE + 1;
    deleted.url = place;
    give(job);
    cw_loop_run(w->loop);
    struct cw_wcache_store *store = cw_wcache_store_of(w, CACHE);
    atomic_fetch_add(&store->refs, 1); /* a task writes a record */
    cw_wcache_leave(w, &kept);
    assert_int_not_equal(store->write_ms, 0);
    cw_wcache_leave(w, &deleted);
    assert_int_equal(store->write_ms, 0);
    assert_int_equal(w->cache.left_n, 0);
    atomic_fetch_sub(&store->refs, 1);
    cw_wcache_beat(w);
    assert_int_equal(w->cache.left_n, 0); /* a thread closes it */
    w->closing = true;
    cw_wcache_stop(w);
    assert_int_equal(w->cache.left_n, 2);
    assert_int_equal(w->cache.left[0], CACHE);
    assert_int_equal(w->cache.left[1], CACHE + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(closes_a_minute_after_the_last_job, begin, end),
        cmocka_unit_test_setup_teardown(leaves_at_once_when_told, begin, end),
        cmocka_unit_test_setup_teardown(leaves_the_place, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
