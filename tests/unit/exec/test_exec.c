/* SPDX-License-Identifier: Apache-2.0 */
/* Items computed by the pool and by the calling thread: the same bytes, for every kind of pipeline.
 */
#include "base/mem.h"
#include "run.h"
#include "support/cm.h"
#include <string.h>

static const struct {
    const char *nodes;
    uint64_t items, rows;
} cases[] = {
    {"{\"op\":\"range\",\"stop\":1000},{\"op\":\"batch\",\"size\":64}", 16, 1000},
    {"{\"op\":\"range\",\"stop\":1000},{\"op\":\"batch\",\"size\":64,\"drop_remainder\":true}", 15,
     960},
    {"{\"op\":\"range\",\"stop\":1000},{\"op\":\"shuffle\"},{\"op\":\"batch\",\"size\":7}", 143,
     1000},
    {"{\"op\":\"range\",\"stop\":100},{\"op\":\"shuffle\"},{\"op\":\"repeat\",\"count\":3},{\"op\":"
     "\"skip\",\"count\":5},{\"op\":\"take\",\"count\":250},{\"op\":\"batch\",\"size\":16}",
     16, 250},
    {"{\"op\":\"range\",\"stop\":100},{\"op\":\"shard\",\"num_shards\":3,\"index\":1},{\"op\":"
     "\"batch\",\"size\":10}",
     4, 33},
    {"{\"op\":\"range\",\"stop\":0},{\"op\":\"batch\",\"size\":10}", 0, 0},
    {"{\"op\":\"range\",\"stop\":1},{\"op\":\"batch\",\"size\":10}", 1, 1},
    {"{\"op\":\"range\",\"stop\":9}", 9, 9},
    {"{\"op\":\"range\",\"stop\":100},{\"op\":\"batch\",\"size\":5},{\"op\":\"shuffle\"},{\"op\":"
     "\"batch\",\"size\":3}",
     7, 20},
    {"{\"op\":\"range\",\"stop\":100},{\"op\":\"batch\",\"size\":8},{\"op\":\"shuffle\"},{\"op\":"
     "\"cast\",\"dtype\":\"f32\"}",
     13, 100},
    {"{\"op\":\"range\",\"stop\":100,\"name\":\"a\",\"field\":\"a\"},{\"op\":\"shuffle\",\"name\":"
     "\"sa\"},{\"op\":\"range\",\"start\":5,\"stop\":80,\"name\":\"b\",\"field\":\"b\"},"
     "{\"op\":\"cast\",\"dtype\":\"f64\",\"name\":\"cb\"},{\"op\":\"zip\",\"inputs\":[\"sa\","
     "\"cb\"]},{\"op\":\"batch\",\"size\":16}",
     5, 75},
    {"{\"op\":\"range\",\"stop\":40,\"name\":\"a\",\"field\":\"a\"},{\"op\":\"batch\",\"size\":4,"
     "\"name\":\"ba\"},{\"op\":\"range\",\"stop\":10,\"name\":\"b\",\"field\":\"b\"},"
     "{\"op\":\"zip\",\"inputs\":[\"ba\",\"b\"]},{\"op\":\"batch\",\"size\":3}",
     4, 10},
    {"{\"op\":\"from_values\",\"values\":[\"a\",\"\",\"ccc\",\"dd\",\"e\"]},{\"op\":\"shuffle\"},{"
     "\"op\":\"repeat\",\"count\":21},{\"op\":\"batch\",\"size\":10}",
     11, 105},
    {"{\"op\":\"range\",\"stop\":1000},{\"op\":\"shuffle\"},{\"op\":\"filter\",\"expr\":\"x % 3 == "
     "0\"},{\"op\":\"eval\",\"expr\":\"x * "
     "2\"},{\"op\":\"inflate\",\"factor\":100},{\"op\":\"batch\",\"size\":8}",
     4, 334},
    {"{\"op\":\"range\",\"stop\":60},{\"op\":\"batch\",\"size\":4},{\"op\":\"eval\",\"expr\":\"x + "
     "0.5\"},{\"op\":\"repeat\",\"count\":2}",
     30, 120},
};

static void test_same_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_plan *plan = plan_of(cases[i].nodes, 42);
        uint64_t rows1 = 0, rows4 = 0;
        struct cw_hash here = hash_here(plan, 3, CW_BAD_FAIL);
        struct cw_hash one = hash_pool(plan, 1, 3, CW_BAD_FAIL, &rows1);
        struct cw_hash four = hash_pool(plan, 4, 3, CW_BAD_FAIL, &rows4);
        if (!cw_hash_eq(here, one) || !cw_hash_eq(here, four) || rows1 != cases[i].rows ||
            rows4 != rows1 || cw_plan_info(plan)->items != cases[i].items)
            fail_msg("%s: %d items, %d rows", cases[i].nodes, (int)cw_plan_info(plan)->items,
                     (int)rows1);
        cw_plan_unref(plan);
    }
}

static const char *const bad_nodes[] = {
    "{\"op\":\"range\",\"stop\":100},{\"op\":\"eval\",\"expr\":\"1 % (x % "
    "10)\",\"name\":\"div\"},{\"op\":\"batch\",\"size\":16}",
    "{\"op\":\"range\",\"stop\":100},{\"op\":\"eval\",\"expr\":\"1 % (x % "
    "10)\",\"name\":\"div\"},{\"op\":\"batch\",\"size\":16,\"drop_remainder\":true}",
    "{\"op\":\"range\",\"stop\":100},{\"op\":\"eval\",\"expr\":\"1 % (x % "
    "10)\",\"name\":\"div\"},{\"op\":\"filter\",\"expr\":\"true\"},{\"op\":\"batch\",\"size\":16}",
    "{\"op\":\"range\",\"stop\":100},{\"op\":\"eval\",\"expr\":\"1 % (x % 10)\",\"name\":\"div\"}",
};

static void test_bad_elements(void **state)
{
    (void)state;
    for (size_t k = 0; k < CW_ARRAY_LEN(bad_nodes); k++) {
        struct cw_plan *plan = plan_of(bad_nodes[k], 1);
        struct cw_batch *batch = NULL;
        struct cw_err err = {0};
        uint64_t rows = 0;
        assert_true(cw_exec_run(plan, 0, 0, CW_BAD_FAIL, &batch, &err) < 0);
        assert_non_null(strstr(err.msg, "node \"div\" (eval), element 0 (number 0): "));
        struct cw_hash here = hash_here(plan, 0, CW_BAD_SKIP),
                       pool = hash_pool(plan, 3, 0, CW_BAD_SKIP, &rows);
        assert_true(cw_hash_eq(here, pool));
        assert_int_equal(rows, k == 1 ? 86 : 90);
        cw_plan_unref(plan);
    }
}

/* Whichever thread fails first, the lowest bad row is the one that is named. */
static void test_lowest_error(void **state)
{
    (void)state;
    struct cw_plan *plan =
        plan_of("{\"op\":\"range\",\"stop\":200},{\"op\":\"sleep\",\"ms\":0.05},{\"op\":\"eval\","
                "\"expr\":\"1 % (x % 50 - 17)\"},{\"op\":\"batch\",\"size\":100}",
                1);
    struct cw_exec *exec = cw_exec_new(4);
    struct job *jobs = run_all(exec, plan, 0, CW_BAD_FAIL, 2);
    assert_null(jobs[0].batch);
    assert_non_null(strstr(jobs[0].err.msg, "element 17 "));
    assert_non_null(strstr(jobs[1].err.msg, "element 117 "));
    free_jobs(jobs, 2);
    cw_exec_free(exec);
    cw_plan_unref(plan);
}

static void test_cancel(void **state)
{
    (void)state;
    enum { N = 200 };
    struct cw_plan *plan = plan_of("{\"op\":\"range\",\"stop\":1000},{\"op\":\"sleep\",\"ms\":20},{"
                                   "\"op\":\"batch\",\"size\":5}",
                                   1);
    struct cw_exec *exec = cw_exec_new(2);
    struct job *jobs = CW_NEW_ARRAY(struct job, N);
    struct waiter waiter = {.left = N};
    cw_mutex_init(&waiter.mutex);
    cw_cond_init(&waiter.cond);
    for (size_t i = 0; i < N; i++) {
        jobs[i].waiter = &waiter;
        jobs[i].item =
            (struct cw_exec_item){.plan = plan, .item = i, .done = on_done, .arg = &jobs[i]};
        cw_exec_submit(exec, &jobs[i].item);
        if (i == N / 2)
            cw_exec_cancel(exec, plan);
    }
    cw_exec_free(exec); /* the rest is cancelled here */
    assert_int_equal(waiter.left, 0);
    size_t cancelled = 0;
    for (size_t i = 0; i < N; i++) {
        assert_true(jobs[i].batch || jobs[i].err.code == CW_E_CANCELLED);
        cancelled += !jobs[i].batch;
    }
    assert_true(cancelled > 0);
    free_jobs(jobs, N);
    cw_cond_fini(&waiter.cond);
    cw_mutex_fini(&waiter.mutex);
    cw_plan_unref(plan);
}

static struct cw_buf *no_memory(void *arg, size_t bytes, struct cw_err *err)
{
    size_t *asked = arg;
    *asked = bytes;
    cw_err_set(err, CW_E_AGAIN, "no slot");
    return NULL;
}

static void test_alloc_fails(void **state)
{
    (void)state;
    const char *nodes[] = {
        "{\"op\":\"range\",\"stop\":100},{\"op\":\"batch\",\"size\":16}",
        "{\"op\":\"from_values\",\"values\":[\"a\",\"b\"]},{\"op\":\"batch\",\"size\":16}",
        ("{\"op\":\"range\",\"stop\":100},{\"op\":\"batch\",\"size\":16},{\"op\":\"cast\",\"dtype\":"
         "\"i32\"}")};
    const size_t bytes[] = {128, 26, 64};
    for (size_t k = 0; k < CW_ARRAY_LEN(nodes); k++) {
        struct cw_plan *plan = plan_of(nodes[k], 1);
        struct cw_exec *exec = cw_exec_new(2);
        struct waiter waiter = {.left = 1};
        struct job job = {.waiter = &waiter};
        size_t asked = 0;
        cw_mutex_init(&waiter.mutex);
        cw_cond_init(&waiter.cond);
        job.item = (struct cw_exec_item){
            .plan = plan, .done = on_done, .arg = &job, .alloc = no_memory, .alloc_arg = &asked};
        cw_exec_submit(exec, &job.item);
        cw_mutex_lock(&waiter.mutex);
        while (waiter.left)
            cw_cond_wait(&waiter.cond, &waiter.mutex);
        cw_mutex_unlock(&waiter.mutex);
        assert_null(job.batch);
        assert_int_equal(job.err.code, CW_E_AGAIN);
        assert_true(asked >= bytes[k]);
        cw_exec_free(exec);
        cw_plan_unref(plan);
        cw_cond_fini(&waiter.cond);
        cw_mutex_fini(&waiter.mutex);
    }
}

static void test_counts(void **state)
{
    (void)state;
    struct cw_plan *plan = plan_of("{\"op\":\"range\",\"stop\":100},{\"op\":\"shuffle\"},{\"op\":"
                                   "\"cast\",\"dtype\":\"f32\"},{\"op\":\"batch\",\"size\":16}",
                                   1);
    uint64_t rows;
    struct cw_exec_count counts[4];
    hash_pool(plan, 3, 0, CW_BAD_FAIL, &rows);
    cw_exec_counts(plan, counts);
    assert_int_equal(counts[0].elements, 100);
    assert_int_equal(counts[1].elements, 100);
    assert_int_equal(counts[2].elements, 100);
    assert_int_equal(counts[2].bytes_out, 400);
    assert_int_equal(counts[3].elements, 7);
    assert_true(counts[2].cpu_ns > 0);
    cw_plan_unref(plan);
}

/* What a thread is good for is less when it may not work all the time. */
static void time_held_by_the_limit_is_time_of_the_work(void **state)
{
    (void)state;
    enum { N = 8 };
    struct cw_plan *plan = plan_of("{\"op\": \"range\", \"stop\": 8}, {\"op\": \"burn\", \"ms\": 10}, {\"op\": \"batch\", \"size\": 1}", 0);
    struct cw_exec *exec = cw_exec_new(1);
    cw_exec_limit_cpu(exec, 0.1);
    struct job *jobs = run_all(exec, plan, 0, CW_BAD_FAIL, N);
    int64_t cpu_ns = 0, busy_ns = 0;
    for (size_t i = 0; i < N; i++) {
        cpu_ns += jobs[i].item.cpu_ns;
        busy_ns += jobs[i].item.busy_ns;
    }
    assert_true(cpu_ns >= N * INT64_C(10000000));
    assert_true(busy_ns >= 10 * cpu_ns - N);
    free_jobs(jobs, N);
    cw_exec_free(exec);
    cw_plan_unref(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_held_by_the_limit_is_time_of_the_work),
        cmocka_unit_test(test_same_bytes),   cmocka_unit_test(test_bad_elements),
        cmocka_unit_test(test_lowest_error), cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_alloc_fails),  cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
