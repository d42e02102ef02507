/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of slots: use again, limit, trimming, retiring, buffers that outlive the pool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/resource.h>

#include "base/thread.h"
#include "shm/shm.h"

#define MIB ((size_t)1 << 20)

static void test_slots_are_used_again(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct cw_shm_pool *pool = cw_shm_pool_new(64 * MIB);
    struct cw_buf *a = cw_shm_pool_get(pool, 3 * MIB, &err);
    assert_non_null(a);
    uint64_t id = a->tag;
    assert_true(id != 0);
    assert_int_equal(a->len, 3 * MIB);
    assert_true(a->cap >= a->len);
    assert_int_equal((uintptr_t)a->data % CW_BUF_ALIGN, 0);
    memset(a->data, 7, a->len);
    cw_buf_unref(a);
    struct cw_buf *b = cw_shm_pool_get(pool, 3 * MIB - 100, &err);
    assert_int_equal(b->tag, id);
    struct cw_buf *c = cw_shm_pool_get(pool, 3 * MIB, &err);
    assert_true(c->tag != id);
    /* Much smaller: not worth a big slot. */
    cw_buf_unref(b);
    struct cw_buf *d = cw_shm_pool_get(pool, 100, &err);
    assert_true(d->tag != id);
    assert_true(cw_shm_pool_bytes(pool) >= 6 * MIB);
    cw_buf_unref(c);
    cw_buf_unref(d);
    cw_shm_pool_trim(pool, 0);
    assert_int_equal(cw_shm_pool_bytes(pool), 0);
    cw_shm_pool_free(pool);
}

/* Sizes that come and go: idle slots of the wrong size make room, however large the limit is. */
static void test_idle_is_bounded(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct cw_shm_pool *pool = cw_shm_pool_new(1024 * MIB);
    for (size_t i = 0; i < 100; i++) {
        size_t bytes = MIB + (i * 7 % 50) * (MIB / 8);
        struct cw_buf *a = cw_shm_pool_get(pool, bytes, &err),
                      *b = cw_shm_pool_get(pool, bytes / 3, &err);
        assert_non_null(a);
        assert_non_null(b);
        assert_true(a->cap <= bytes + bytes / 3 + MIB / 16);
        cw_buf_unref(a);
        cw_buf_unref(b);
        assert_true(cw_shm_pool_bytes(pool) <= 14 * MIB);
    }
    cw_shm_pool_free(pool);
}

static void test_limit_and_gone(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct cw_shm_pool *pool = cw_shm_pool_new(4 * MIB);
    assert_null(cw_shm_pool_get(pool, 5 * MIB, &err));
    assert_int_equal(err.code, CW_E_LIMIT);
    assert_null(cw_shm_pool_get(pool, SIZE_MAX, &err));
    struct cw_buf *a = cw_shm_pool_get(pool, 2 * MIB, &err),
                  *b = cw_shm_pool_get(pool, 2 * MIB, &err);
    assert_non_null(a);
    assert_non_null(b);
    assert_null(cw_shm_pool_get(pool, 1, &err));
    uint64_t gone[4], id = a->tag;
    assert_int_equal(cw_shm_pool_take_freed(pool, gone, 4), 0);
    /* An idle slot makes room for one of another size. */
    cw_buf_unref(a);
    a = cw_shm_pool_get(pool, 100, &err);
    assert_non_null(a);
    assert_int_equal(cw_shm_pool_take_freed(pool, gone, 4), 1);
    assert_int_equal(gone[0], id);
    cw_buf_unref(a);
    cw_buf_unref(b);
    cw_shm_pool_free(pool);
}

static void test_retired_slots_are_not_used_again(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct cw_shm_pool *pool = cw_shm_pool_new(4 * MIB);
    struct cw_buf *a = cw_shm_pool_get(pool, MIB, &err);
    uint64_t id = a->tag;
    cw_shm_pool_retire(pool, a);
    cw_buf_unref(a);
    assert_int_equal(cw_shm_pool_bytes(pool), 0);
    a = cw_shm_pool_get(pool, MIB, &err);
    assert_true(a->tag != id);
    /* The pool may go first. */
    cw_shm_pool_free(pool);
    memset(a->data, 1, a->len);
    cw_buf_unref(a);
}

static void test_number_of_slots(void **state)
{
    (void)state;
    struct rlimit old, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = 64;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    struct cw_shm_pool *pool = cw_shm_pool_new(1024 * MIB);
    struct cw_err err = {0};
    struct cw_buf *bufs[32];
    for (size_t i = 0; i < 32; i++) {
        bufs[i] = cw_shm_pool_get(pool, 1000, &err);
        assert_non_null(bufs[i]);
    }
    assert_null(cw_shm_pool_get(pool, 1000, &err));
    assert_int_equal(err.code, CW_E_LIMIT);
    /* An idle one that is too small makes room. */
    cw_buf_unref(bufs[0]);
    bufs[0] = cw_shm_pool_get(pool, MIB, &err);
    assert_non_null(bufs[0]);
    for (size_t i = 0; i < 32; i++)
        cw_buf_unref(bufs[i]);
    cw_shm_pool_free(pool);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

struct churn {
    struct cw_shm_pool *pool;
    unsigned seed;
};

static void churn(void *arg)
{
    struct churn *c = arg;
    for (int i = 0; i < 400; i++) {
        size_t bytes = 1000 + (c->seed * 7919u + (unsigned)i * 104729u) % 300000;
        struct cw_buf *buf = cw_shm_pool_get(c->pool, bytes, NULL);
        if (!buf)
            continue;
        memset(buf->data, (int)c->seed, bytes);
        assert_int_equal(((unsigned char *)buf->data)[bytes - 1], c->seed);
        if (i % 50 == 0)
            cw_shm_pool_retire(c->pool, buf);
        cw_buf_unref(buf);
    }
}

static void test_threads(void **state)
{
    (void)state;
    struct cw_shm_pool *pool = cw_shm_pool_new(MIB);
    struct cw_thread threads[4] = {0};
    struct churn churns[4];
    for (unsigned i = 0; i < 4; i++) {
        churns[i] = (struct churn){pool, i + 1};
        cw_thread_start(&threads[i], "churn", churn, &churns[i]);
    }
    for (int i = 0; i < 4; i++)
        cw_thread_join(&threads[i]);
    assert_true(cw_shm_pool_bytes(pool) <= MIB);
    cw_shm_pool_trim(pool, 0);
    assert_int_equal(cw_shm_pool_bytes(pool), 0);
    cw_shm_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots_are_used_again),
        cmocka_unit_test(test_idle_is_bounded),
        cmocka_unit_test(test_limit_and_gone),
        cmocka_unit_test(test_retired_slots_are_not_used_again),
        cmocka_unit_test(test_number_of_slots),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
