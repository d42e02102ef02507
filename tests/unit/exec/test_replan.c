/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of one pipeline in other orders: an item is the same whichever of them computes which of its
 * rows, on any number of threads, with caches, and with elements that are bad or left out. */
#include "base/mem.h"
#include "exec/task.h"
#include "plan/plan_nodes.h"
#include "run.h"
#include "setups.h"
#include "support/checked.h"
#include "support/cm.h"
#include "support/fake_cache.h"
#include <stdatomic.h>
#include <string.h>

#define OUT(name, expr, out)                                                                       \
    "{\"op\":\"eval\",\"name\":\"" name "\",\"expr\":\"" expr "\",\"out\":\"" out "\"}"
#define AB                                                                                         \
    "{\"op\":\"range\",\"name\":\"ra\",\"stop\":300,\"field\":\"a\"},"                             \
    "{\"op\":\"range\",\"name\":\"rb\",\"stop\":300,\"field\":\"b\",\"inputs\":[]},"               \
    "{\"op\":\"zip\",\"name\":\"z\",\"inputs\":[\"ra\",\"rb\"]}"
#define NAMED(op, name, more) "{\"op\":\"" op "\",\"name\":\"" name "\"" more "}"
#define IMAGES                                                                                     \
    "{\"op\":\"files\",\"name\":\"files\",\"pattern\":\"" CW_TEST_IMAGES "/image_*.jpg\"}"
#define DECODE NAMED("read_file", "r", "") "," NAMED("decode_image", "d", "")
#define FLIP NAMED("random_flip", "flip", "")
#define SCALE NAMED("cast", "scale", ",\"dtype\":\"f32\"")
#define CROP NAMED("center_crop", "crop", ",\"size\":[32,32]")
#define A1 OUT("a1", "a * 3 + 1", "a")
#define B1 OUT("b1", "b - 7", "b")
#define FA FILTER("fa", "a % 3 == 1")
#define FB FILTER("fb", "b % 5 != 2")
#define BAD OUT("bad", "1 % (b % 10)", "b")
#define SHUF NAMED("shuffle", "s", "")
#define TAKE NAMED("take", "t", ",\"count\":250")

/* The written order, then others. */
static const struct {
    const char *nodes[3];
    enum cw_bad_elements bad;
    const char *cached; /* a node at which all orders may have a cache, or NULL */
} cases[] = {
    {{AB "," A1 "," B1 "," SHUF "," BATCH(37), AB "," B1 "," A1 "," SHUF "," BATCH(37),
      AB "," A1 "," B1 "," SHUF "," BATCH(37)},
     CW_BAD_FAIL,
     "s"},
    {{AB "," A1 "," B1 "," FB "," SHUF "," BATCH(37),
      AB "," B1 "," FB "," A1 "," SHUF "," BATCH(37),
      AB "," B1 "," A1 "," FB "," SHUF "," BATCH(37)},
     CW_BAD_FAIL,
     "s"},
    {{AB "," FA "," B1 "," FB "," BATCH(16), AB "," B1 "," FB "," FA "," BATCH(16),
      AB "," B1 "," FA "," FB "," BATCH(16)},
     CW_BAD_FAIL,
     NULL},
    {{AB "," A1 "," BAD "," BATCH(16), AB "," BAD "," A1 "," BATCH(16),
      AB "," A1 "," BAD "," BATCH(16)},
     CW_BAD_SKIP,
     "bad"},
    {{AB "," A1 "," B1 "," BATCH(16) "," OUT("behind", "a + b", "c"),
      AB "," B1 "," A1 "," BATCH(16) "," OUT("behind", "a + b", "c"),
      AB "," A1 "," B1 "," BATCH(16) "," OUT("behind", "a + b", "c")},
     CW_BAD_FAIL,
     "behind"},
    {{AB "," A1 "," SHUF "," B1 "," TAKE "," BAD "," BATCH(16),
      AB "," B1 "," SHUF "," TAKE "," BAD "," A1 "," BATCH(16),
      AB "," B1 "," BAD "," A1 "," SHUF "," TAKE "," BATCH(16)},
     CW_BAD_SKIP,
     NULL},
    {{IMAGES "," DECODE "," SCALE "," FLIP "," CROP "," BATCH(3),
      IMAGES "," DECODE "," FLIP "," SCALE "," CROP "," BATCH(3),
      IMAGES "," DECODE "," FLIP "," CROP "," SCALE "," BATCH(3)},
     CW_BAD_SKIP,
     "d"},
};
#define CASES CW_ARRAY_LEN(cases)
#define ORDERS 3

struct orders {
    struct cw_plan *plan[ORDERS];
};

static struct orders open_orders(size_t which)
{
    struct orders orders;
    struct cw_err err = {0};
    orders.plan[0] = plan_of(cases[which].nodes[0], 42);
    for (size_t k = 1; k < ORDERS; k++) {
        struct cw_checked *checked = cw_test_must_check(cases[which].nodes[k]);
        if (cw_plan_open_beside(orders.plan[0], checked, &orders.plan[k], &err) != 0)
            fail_msg("case %zu order %zu: %s", which, k, err.msg);
        cw_checked_unref(checked);
    }
    return orders;
}

static void close_orders(struct orders *orders)
{
    for (size_t k = 0; k < ORDERS; k++)
        cw_plan_unref(orders->plan[k]);
}

static struct cw_hash hash_of(const struct cw_batch *batch)
{
    struct cw_hasher *hasher = cw_hasher_new();
    cw_hasher_add_u64(hasher, batch->elements);
    cw_hasher_add_u64(hasher, batch->skipped);
    cw_batch_hash(batch, hasher);
    struct cw_hash hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return hash;
}

/* Computes rows [lo, hi) as exec does. */
static void run_rows(struct cw_exec_task *task, struct cw_arena *arena, int64_t lo, int64_t hi)
{
    struct cw_thread_context *work =
        cw_thread_context_get(task->way.plan, arena, task->item->epoch, &task->stop);
    cw_exec_task_run(task, work, &task->way, lo, hi);
    cw_thread_context_put(work);
}

/* Computes an item by one plan up to a row, and then by the other. */
static struct cw_hash hash_split(struct cw_exec_item *item, struct cw_plan *other, int64_t split,
                                 int64_t *ret_rows)
{
    struct cw_err err = {0};
    struct cw_arena *arena = cw_arena_new(1 << 20);
    struct cw_exec_task *task = cw_exec_task_new(item);
    assert_int_equal(cw_exec_task_begin(task, &err), 0);
    task->state = CW_TASK_OPEN;
    *ret_rows = task->rows;
    run_rows(task, arena, 0, split);
    struct cw_plan *old = cw_exec_task_replan(task, other);
    assert_ptr_equal(old, item->plan);
    cw_plan_unref(old);
    run_rows(task, arena, split, task->rows);
    struct cw_thread_context *work =
        cw_thread_context_get(task->plan, arena, item->epoch, &task->stop);
    struct cw_batch *batch = cw_exec_task_finish(task, work, &err);
    cw_thread_context_put(work);
    if (!batch)
        fail_msg("%s", err.msg);
    struct cw_hash hash = hash_of(batch);
    cw_batch_unref(batch);
    cw_exec_task_free(task);
    cw_arena_free(arena);
    return hash;
}

/* A switch between any two rows of an item. */
static void test_any_row(void **state)
{
    (void)state;
    for (size_t c = 0; c < CASES; c++) {
        struct orders orders = open_orders(c);
        for (size_t k = 0; k < ORDERS * ORDERS; k++) {
            struct cw_plan *one = orders.plan[k / ORDERS], *two = orders.plan[k % ORDERS];
            struct cw_exec_item item = {.plan = one, .epoch = 1, .item = 0, .bad = cases[c].bad};
            struct cw_batch *batch = NULL;
            struct cw_err err = {0};
            if (cw_exec_run(orders.plan[0], 1, 0, cases[c].bad, &batch, &err))
                fail_msg("case %zu: %s", c, err.msg);
            struct cw_hash right = hash_of(batch);
            cw_batch_unref(batch);
            int64_t rows = 1;
            for (int64_t split = 0; split <= rows; split++)
                if (!cw_hash_eq(hash_split(&item, two, split, &rows), right))
                    fail_msg("case %zu: orders %zu, switch before row %d", c, k, (int)split);
            assert_true(rows >= 2);
        }
        close_orders(&orders);
    }
}

static struct cw_hash hash_jobs(const struct job *jobs, size_t n)
{
    struct cw_hasher *hasher = cw_hasher_new();
    for (size_t i = 0; i < n; i++) {
        if (!jobs[i].batch)
            fail_msg("item %zu: %s", i, jobs[i].err.msg);
        struct cw_hash hash = hash_of(jobs[i].batch);
        cw_hasher_add_u64(hasher, hash.hi);
        cw_hasher_add_u64(hasher, hash.lo);
    }
    struct cw_hash hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return hash;
}

/* Has a pool compute an epoch while the plans of its items are changed all the time. */
static struct cw_hash hash_changing(const struct orders *orders, size_t threads, uint64_t epoch,
                                    enum cw_bad_elements bad)
{
    size_t n = (size_t)cw_plan_info(orders->plan[0])->items, left;
    struct cw_exec *exec = cw_exec_new(threads);
    struct job *jobs = CW_NEW_ARRAY(struct job, n);
    struct waiter waiter = {.left = n};
    cw_mutex_init(&waiter.mutex);
    cw_cond_init(&waiter.cond);
    for (size_t i = 0; i < n; i++) {
        jobs[i].waiter = &waiter;
        jobs[i].item = (struct cw_exec_item){.plan = orders->plan[i % ORDERS],
                                             .epoch = epoch,
                                             .item = i,
                                             .bad = bad,
                                             .done = on_done,
                                             .arg = &jobs[i]};
        cw_exec_submit(exec, &jobs[i].item);
    }
    for (size_t k = 0;; k++) {
        for (size_t i = 0; i < n; i++)
            cw_exec_replan(exec, &jobs[i].item, orders->plan[(i + k) % ORDERS]);
        cw_mutex_lock(&waiter.mutex);
        left = waiter.left;
        cw_mutex_unlock(&waiter.mutex);
        if (left == 0)
            break;
    }
    struct cw_hash hash = hash_jobs(jobs, n);
    free_jobs(jobs, n);
    cw_exec_free(exec);
    cw_cond_fini(&waiter.cond);
    cw_mutex_fini(&waiter.mutex);
    return hash;
}

static struct cw_hash hash_written(struct cw_plan *plan, uint64_t epoch, enum cw_bad_elements bad)
{
    size_t n = (size_t)cw_plan_info(plan)->items;
    struct cw_exec *exec = cw_exec_new(1);
    struct job *jobs = run_all(exec, plan, epoch, bad, n);
    struct cw_hash hash = hash_jobs(jobs, n);
    free_jobs(jobs, n);
    cw_exec_free(exec);
    return hash;
}

static void test_changing(void **state)
{
    (void)state;
    for (size_t c = 0; c < CASES; c++)
        for (size_t threads = 1; threads <= 4; threads += 3) {
            struct orders orders = open_orders(c);
            for (uint64_t epoch = 0; epoch < 4; epoch++)
                if (!cw_hash_eq(hash_changing(&orders, threads, epoch, cases[c].bad),
                                hash_written(orders.plan[0], epoch, cases[c].bad)))
                    fail_msg("case %zu: other data, %zu threads", c, threads);
            close_orders(&orders);
        }
}

/* All orders fill and read one cache. */
static void test_cached(void **state)
{
    (void)state;
    for (size_t c = 0; c < CASES; c++) {
        const char *at = cases[c].cached;
        if (!at)
            continue;
        struct orders orders = open_orders(c);
        struct cw_hash right = hash_written(orders.plan[0], 0, cases[c].bad);
        struct cw_cache_dataset *cache =
            fake_cache_new(&orders.plan[0]->nodes[node_of(orders.plan[0], at)].out);
        struct cw_plan_cacheable written, other;
        cw_plan_cacheable(orders.plan[0], node_of(orders.plan[0], at), &written);
        for (size_t k = 0; k < ORDERS; k++) {
            size_t node = node_of(orders.plan[k], at);
            cw_plan_cacheable(orders.plan[k], node, &other);
            if (strcmp(at, "bad") != 0 || k != 1) /* there a1 is not below it */
                assert_true(cw_hash_eq(written.key, other.key));
            else
                assert_false(cw_hash_eq(written.key, other.key));
            if (cw_hash_eq(written.key, other.key))
                assert_int_equal(cw_plan_set_cache(orders.plan[k], node, cache, true, true, NULL),
                                 0);
        }
        for (size_t round = 0; round < 3; round++)
            if (!cw_hash_eq(hash_changing(&orders, 3, 0, cases[c].bad), right))
                fail_msg("case %zu: other data, round %zu with a cache", c, round);
        assert_true(fake_cache_counts(cache).hits > 0);
        close_orders(&orders);
        fake_cache_free(cache);
    }
}

/* Counters go by names, and stay when a plan ends. */
static void test_counts(void **state)
{
    (void)state;
    struct orders orders = open_orders(0);
    size_t n = orders.plan[0]->n;
    struct cw_exec_count *counts = CW_NEW_ARRAY(struct cw_exec_count, n);
    hash_changing(&orders, 2, 0, CW_BAD_FAIL);
    for (size_t k = 0; k < 2; k++) {
        cw_exec_counts(orders.plan[0], counts);
        assert_int_equal(counts[node_of(orders.plan[0], "a1")].elements, 300);
        assert_int_equal(counts[node_of(orders.plan[0], "b1")].elements, 300);
        assert_int_equal(counts[node_of(orders.plan[0], "ra")].elements, 300);
        struct cw_exec_plan_time time;
        cw_exec_plan_time(orders.plan[0], &time);
        assert_true(time.busy_ns > 0);
        for (size_t o = 1; o < ORDERS; o++)
            orders.plan[o] = cw_plan_unref(orders.plan[o]);
    }
    cw_mem_free(counts);
    close_orders(&orders);
}

/* What is no order of the written pipeline. */
static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *written, *other, *why;
    } refused[] = {
        {RANGE(10) "," BATCH(2), RANGE(11) "," BATCH(2), "is a source that the written"},
        {RANGE(10) "," BATCH(2), RANGE(10) "," BATCH(3), "other items"},
        {RANGE(10) "," BATCH(2), RANGE(10) ",{\"op\":\"take\",\"count\":4}," BATCH(2),
         "another number of items"},
        {RANGE(10) "," BATCH(2), RANGE(10) ",{\"op\":\"cast\",\"dtype\":\"f32\"}," BATCH(2),
         "another output"},
        {RANGE(10) "," FILTER("f", "x > 3") "," BATCH(2), RANGE(10) "," BATCH(2), "other items"},
        {RANGE(10) "," FILTER("f", "x > 3") ",{\"op\":\"take\",\"count\":3}," BATCH(2),
         RANGE(10) "," FILTER("f", "x > 3") ",{\"op\":\"take\",\"count\":2}," BATCH(2),
         "joined in another way"},
        {RANGE(10) "," SHUFFLE "," BATCH(2),
         RANGE(10) ",{\"op\":\"shuffle\",\"name\":\"other\"}," BATCH(2), "other random numbers"},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(refused); i++) {
        struct cw_plan *written = plan_of(refused[i].written, 1), *other = NULL;
        struct cw_checked *checked = cw_test_must_check(refused[i].other);
        struct cw_err err = {0};
        assert_int_equal(cw_plan_open_beside(written, checked, &other, &err), CW_E_INVALID);
        if (!strstr(err.msg, refused[i].why))
            fail_msg("%zu: %s", i, err.msg);
        cw_checked_unref(checked);
        cw_plan_unref(written);
    }
}

#define MOD NAMED("eval", "mod", ",\"expr\":\"7 % (x + 1)\"")

/* A crop that comes nearer to a decoder does not have it decode a part, unless it does so as written: what
 * is bad of a damaged image is the same in all orders. */
static void test_wants(void **state)
{
    (void)state;
    static const char *const far = IMAGES "," DECODE "," MOD "," CROP "," BATCH(3), *const near =
                                                                                        IMAGES
                                                                                    "," DECODE
                                                                                    "," CROP "," MOD
                                                                                    "," BATCH(3);
    struct cw_plan *written = plan_of(far, 1), *other = NULL;
    struct cw_checked *checked = cw_test_must_check(near);
    struct cw_err err = {0};
    assert_int_equal(cw_plan_open_beside(written, checked, &other, &err), 0);
    assert_int_equal(other->nodes[node_of(other, "d")].want_n, 0);
    cw_plan_unref(other);
    cw_plan_unref(written);
    cw_checked_unref(checked);
    written = plan_of(near, 1);
    assert_int_equal(written->nodes[node_of(written, "d")].want_n, 1);
    checked = cw_test_must_check(far);
    assert_int_equal(cw_plan_open_beside(written, checked, &other, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "has to decode more"));
    cw_checked_unref(checked);
    cw_plan_unref(written);
}

/* An item whose plan has other operators behind the batch is finished as it was begun. */
static void test_other_rows(void **state)
{
    (void)state;
    static const char *const in_front = RANGE(64) "," EVAL("e", "x + 1") "," BATCH(8),
                             *const behind = RANGE(64) "," BATCH(8) "," EVAL("e", "x + 1");
    struct orders orders = {{plan_of(in_front, 1)}};
    struct cw_checked *checked = cw_test_must_check(behind);
    struct cw_err err = {0};
    assert_int_equal(cw_plan_open_beside(orders.plan[0], checked, &orders.plan[1], &err), 0);
    orders.plan[2] = cw_plan_ref(orders.plan[0]);
    cw_checked_unref(checked);
    for (size_t round = 0; round < 10; round++)
        assert_true(cw_hash_eq(hash_changing(&orders, 3, 0, CW_BAD_FAIL),
                               hash_written(orders.plan[0], 0, CW_BAD_FAIL)));
    close_orders(&orders);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_row),    cmocka_unit_test(test_changing),
        cmocka_unit_test(test_cached),     cmocka_unit_test(test_counts),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_wants),
        cmocka_unit_test(test_other_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
