/* SPDX-License-Identifier: Apache-2.0 */
/* Items that several jobs want: who computes, who waits, what is kept and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "worker/model/state.h"

#define KEY(n) ((struct cw_hash){7, (n)})
#define LARGE 10000 /* bytes of a batch; what goes with it is less */

static struct cw_wtask task_of(uint64_t epoch, uint64_t item)
{
    struct cw_wtask task = {0};
    task.exec.epoch = epoch;
    task.exec.item = item;
    return task;
}

static struct cw_batch *batch_new(void)
{
    struct cw_batch *batch = cw_batch_new(0);
    batch->buf = cw_buf_new(LARGE);
    assert_non_null(batch->buf);
    batch->buf->len = LARGE;
    return batch;
}

/* What the kept result of one item holds. */
static size_t with_head(void)
{
    struct cw_batch *batch = batch_new();
    size_t bytes = cw_mem_cost(sizeof(struct cw_dedup_item)) + cw_batch_held(batch);
    cw_batch_unref(batch);
    return bytes;
}

/* Computes an item for the member; nobody may wait for it. */
static void compute(struct cw_dedup *w, struct cw_dedup_function *f, struct cw_dedup_member *m,
                    uint64_t item)
{
    struct cw_wtask task = task_of(0, item);
    assert_int_equal(cw_dedup_ask(w, f, m, &task), CW_DEDUP_COMPUTE);
    task.batch = batch_new();
    assert_null(cw_dedup_made(w, &task));
    cw_batch_unref(task.batch);
}

static enum cw_dedup_answer ask(struct cw_dedup *w, struct cw_dedup_function *f,
                                struct cw_dedup_member *m, uint64_t item)
{
    struct cw_wtask task = task_of(0, item);
    enum cw_dedup_answer answer = cw_dedup_ask(w, f, m, &task);
    assert_int_equal(answer == CW_DEDUP_KEPT, task.batch != NULL);
    if (answer == CW_DEDUP_COMPUTE)
        assert_null(cw_dedup_made(w, &task)); /* it failed */
    cw_batch_unref(task.batch);
    return answer;
}

static void leave(struct cw_dedup *w, struct cw_dedup_function *f, struct cw_dedup_member *m)
{
    cw_dedup_leave(w, f, m);
    cw_dedup_unref(w, f);
}

static void test_alone(void **state)
{
    (void)state;
    struct cw_dedup w = {.limit = 1u << 20};
    struct cw_dedup_member a, b;
    struct cw_dedup_function *f = cw_dedup_join(&w, KEY(1), &a), *g = cw_dedup_join(&w, KEY(2), &b);
    assert_ptr_not_equal(f, g);
    compute(&w, f, &a, 0);
    assert_int_equal(w.bytes, 0);
    assert_int_equal(ask(&w, g, &b, 0), CW_DEDUP_COMPUTE); /* another function */
    leave(&w, f, &a);
    leave(&w, g, &b);
    assert_null(w.functions);
}

/* What may be cancelled when its own job goes. */
static void test_awaited(void **state)
{
    (void)state;
    struct cw_dedup w = {.limit = 1u << 20};
    struct cw_dedup_member a, b;
    struct cw_dedup_function *f = cw_dedup_join(&w, KEY(1), &a);
    assert_ptr_equal(cw_dedup_join(&w, KEY(1), &b), f);
    struct cw_wtask alone = task_of(0, 4), made = task_of(0, 5), waits = task_of(0, 5);
    assert_false(cw_dedup_is_awaited(&alone)); /* not even asked for */
    assert_int_equal(cw_dedup_ask(&w, f, &a, &alone), CW_DEDUP_COMPUTE);
    assert_int_equal(cw_dedup_ask(&w, f, &a, &made), CW_DEDUP_COMPUTE);
    assert_int_equal(cw_dedup_ask(&w, f, &b, &waits), CW_DEDUP_WAIT);
    assert_false(cw_dedup_is_awaited(&alone));
    assert_true(cw_dedup_is_awaited(&made));
    assert_false(cw_dedup_is_awaited(&waits));
    waits.revoked = true;
    assert_false(cw_dedup_is_awaited(&made));
    assert_null(cw_dedup_made(&w, &alone));
    assert_ptr_equal(cw_dedup_made(&w, &made), &waits);
    leave(&w, f, &a);
    leave(&w, f, &b);
}

static void test_kept_until_all_have_it(void **state)
{
    (void)state;
    struct cw_dedup w = {.limit = 1u << 20};
    struct cw_dedup_member a, b, c;
    struct cw_dedup_function *f = cw_dedup_join(&w, KEY(1), &a);
    assert_ptr_equal(cw_dedup_join(&w, KEY(1), &b), f);
    assert_ptr_equal(cw_dedup_join(&w, KEY(1), &c), f);
    for (uint64_t i = 0; i < 5; i++)
        compute(&w, f, &a, i);
    assert_int_equal(w.bytes, 5 * with_head());
    assert_int_equal(ask(&w, f, &b, 2), CW_DEDUP_KEPT);
    assert_int_equal(w.bytes, 5 * with_head());
    assert_int_equal(ask(&w, f, &c, 2), CW_DEDUP_KEPT);
    assert_int_equal(w.bytes, 4 * with_head());
    assert_int_equal(ask(&w, f, &a, 2), CW_DEDUP_COMPUTE);
    /* The others are past it: not worth keeping. */
    compute(&w, f, &a, 1000);
    size_t bytes = w.bytes;
    assert_int_equal(ask(&w, f, &b, 1001), CW_DEDUP_COMPUTE);
    assert_int_equal(ask(&w, f, &c, 1002), CW_DEDUP_COMPUTE);
    compute(&w, f, &a, 1000 - 1);
    assert_int_equal(w.bytes, bytes);
    /* With one job left nothing is kept. */
    leave(&w, f, &a);
    assert_int_equal(w.bytes, bytes);
    leave(&w, f, &c);
    assert_int_equal(w.bytes, 0);
    leave(&w, f, &b);
    assert_null(w.functions);
}

static void test_limit(void **state)
{
    (void)state;
    struct cw_dedup w = {.limit = 3 * with_head()};
    struct cw_dedup_member a, b;
    struct cw_dedup_function *f = cw_dedup_join(&w, KEY(1), &a);
    (void)cw_dedup_join(&w, KEY(1), &b);
    for (uint64_t i = 0; i < 10; i++) {
        compute(&w, f, &a, i);
        assert_true(w.bytes <= w.limit);
    }
    assert_int_equal(ask(&w, f, &b, 0), CW_DEDUP_COMPUTE); /* too late */
    assert_int_equal(ask(&w, f, &b, 6), CW_DEDUP_COMPUTE);
    assert_int_equal(ask(&w, f, &b, 7), CW_DEDUP_KEPT);
    assert_int_equal(ask(&w, f, &b, 9), CW_DEDUP_KEPT);
    assert_int_equal(w.bytes, with_head());
    cw_dedup_trim(&w, 0);
    assert_int_equal(w.bytes, 0);
    assert_null(w.oldest);
    assert_int_equal(ask(&w, f, &b, 8), CW_DEDUP_COMPUTE);
    /* One that is larger than all that may be kept drives nothing out. */
    compute(&w, f, &a, 20);
    w.limit = with_head() - 1;
    compute(&w, f, &a, 21);
    assert_int_equal(ask(&w, f, &b, 20), CW_DEDUP_KEPT);
    assert_int_equal(ask(&w, f, &b, 21), CW_DEDUP_COMPUTE);
    leave(&w, f, &a);
    leave(&w, f, &b);
}

static void test_waiting(void **state)
{
    (void)state;
    struct cw_dedup w = {.limit = 1u << 20};
    struct cw_dedup_member a, b, c;
    struct cw_dedup_function *f = cw_dedup_join(&w, KEY(1), &a);
    (void)cw_dedup_join(&w, KEY(1), &b);
    (void)cw_dedup_join(&w, KEY(1), &c);
    struct cw_wtask first = task_of(3, 5), second = first, third = first, other = task_of(4, 5);
    assert_int_equal(cw_dedup_ask(&w, f, &a, &first), CW_DEDUP_COMPUTE);
    assert_int_equal(cw_dedup_ask(&w, f, &b, &second), CW_DEDUP_WAIT);
    assert_int_equal(cw_dedup_ask(&w, f, &c, &third), CW_DEDUP_WAIT);
    assert_int_equal(cw_dedup_ask(&w, f, &a, &other), CW_DEDUP_COMPUTE);
    /* It fails: those who waited are told, and the next who asks computes. */
    assert_ptr_equal(cw_dedup_made(&w, &first), &second);
    assert_ptr_equal(second.wait_next, &third);
    assert_null(third.wait_next);
    assert_int_equal(cw_dedup_ask(&w, f, &b, &second), CW_DEDUP_COMPUTE);
    assert_int_equal(cw_dedup_ask(&w, f, &c, &third), CW_DEDUP_WAIT);
    /* Its job goes while it is at it. */
    cw_dedup_leave(&w, f, &b);
    second.batch = batch_new();
    assert_ptr_equal(cw_dedup_made(&w, &second), &third);
    assert_int_equal(w.bytes, 0);
    cw_dedup_unref(&w, f);
    cw_batch_unref(second.batch);
    assert_null(cw_dedup_made(&w, &other));
    leave(&w, f, &a);
    leave(&w, f, &c);
    assert_null(w.functions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_awaited),
        cmocka_unit_test(test_kept_until_all_have_it),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
