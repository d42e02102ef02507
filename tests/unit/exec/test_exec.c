/* SPDX-License-Identifier: Apache-2.0 */
/* Items computed by the pool and by the calling thread: the same bytes, for every kind of pipeline.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "run.h"
#include "support/cm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    /* runs of several sources side by side */
    {"{\"op\":\"range\",\"stop\":100,\"name\":\"a\",\"field\":\"a\"},{\"op\":\"skip\",\"count\":3,"
     "\"name\":\"sa\"},{\"op\":\"range\",\"start\":1000,\"stop\":1300,\"name\":\"b\",\"field\":"
     "\"b\"},{\"op\":\"shard\",\"num_shards\":3,\"index\":2,\"name\":\"sb\"},{\"op\":\"zip\","
     "\"inputs\":[\"sa\",\"sb\"]},{\"op\":\"skip\",\"count\":1},{\"op\":\"batch\",\"size\":16},"
     "{\"op\":\"stack\",\"names\":[\"b\",\"a\"]}",
     6, 96},
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

/* What was left out is described, row by row, whichever thread computed it. */
static void test_bad_elements_are_described(void **state)
{
    (void)state;
    for (size_t k = 0; k < CW_ARRAY_LEN(bad_nodes); k++) {
        struct cw_plan *plan = plan_of(bad_nodes[k], 1);
        struct cw_exec *exec = cw_exec_new(3);
        struct job *jobs = run_all(exec, plan, 0, CW_BAD_SKIP, 1);
        const struct cw_batch *batch = jobs[0].batch;
        assert_non_null(batch);
        assert_true(batch->skipped > 0);
        assert_int_equal(cw_bad_list_n(batch->bad), batch->skipped);
        for (size_t i = 0; i < batch->skipped; i++) {
            const struct cw_bad_element *bad = cw_bad_list_at(batch->bad, i);
            char source[32];
            snprintf(source, sizeof source, "number %zu", 10 * i);
            assert_string_equal(bad->source, source);
            assert_int_equal(bad->position, 10 * i);
            assert_int_equal(bad->elements, 1);
            assert_int_equal(bad->record, -1);
            assert_string_equal(bad->file, "");
            assert_string_equal(bad->node, "div");
            assert_string_equal(bad->op, "eval");
            assert_true(bad->reason[0] != '\0' && !strstr(bad->reason, "number"));
        }
        free_jobs(jobs, 1);
        cw_exec_free(exec);
        cw_plan_unref(plan);
    }
}

/* An operator behind the batch that fails makes all of its rows bad; one that was bad before is
 * described on its own. */
static void test_bad_batch_is_described(void **state)
{
    struct cw_plan *plan = plan_of(
        "{\"op\":\"range\",\"stop\":8},{\"op\":\"eval\",\"expr\":\"1 % x\",\"name\":\"div\"},"
        "{\"op\":\"batch\",\"size\":4},{\"op\":\"eval\",\"expr\":\"1 % (x * 0)\",\"name\":\"all\"}",
        1);
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(cw_exec_run(plan, 0, 0, CW_BAD_SKIP, &batch, &err), 0);
    assert_int_equal(batch->elements, 0);
    assert_int_equal(batch->skipped, 4);
    assert_int_equal(cw_bad_list_n(batch->bad), 2);
    assert_string_equal(cw_bad_list_at(batch->bad, 0)->source, "number 0");
    const struct cw_bad_element *rest = cw_bad_list_at(batch->bad, 1);
    assert_int_equal(rest->elements, 3);
    assert_int_equal(rest->position, -1);
    assert_string_equal(rest->source, "number 1 and 2 more");
    assert_string_equal(rest->node, "all");
    cw_batch_unref(batch);
    cw_plan_unref(plan);
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

/* Some items on a pool: submitted, and waited for. */
struct batchful {
    struct waiter waiter;
    struct job *jobs;
    size_t n;
};

static void submit_some(struct batchful *b, struct cw_exec *exec, struct cw_plan *plan, size_t n)
{
    *b = (struct batchful){.waiter = {.left = n}, .jobs = CW_NEW_ARRAY(struct job, n), .n = n};
    cw_mutex_init(&b->waiter.mutex);
    cw_cond_init(&b->waiter.cond);
    for (size_t i = 0; i < n; i++) {
        b->jobs[i].waiter = &b->waiter;
        b->jobs[i].item =
            (struct cw_exec_item){.plan = plan, .item = i, .done = on_done, .arg = &b->jobs[i]};
        cw_exec_submit(exec, &b->jobs[i].item);
    }
}

static void wait_until_left(struct batchful *b, size_t left)
{
    cw_mutex_lock(&b->waiter.mutex);
    while (b->waiter.left > left)
        cw_cond_wait(&b->waiter.cond, &b->waiter.mutex);
    cw_mutex_unlock(&b->waiter.mutex);
}

static void free_some(struct batchful *b)
{
    free_jobs(b->jobs, b->n);
    cw_cond_fini(&b->waiter.cond);
    cw_mutex_fini(&b->waiter.mutex);
}

static uint64_t rows_read(const struct cw_plan *plan)
{
    struct cw_exec_count counts[8];
    cw_exec_counts(plan, counts);
    return counts[0].elements;
}

/* Of items that wait while the only thread is at another's. */
static void test_cancel(void **state)
{
    (void)state;
    enum { N = 200 };
    struct cw_plan *first =
        plan_of("{\"op\":\"range\",\"stop\":1},{\"op\":\"sleep\",\"ms\":60000}", 1);
    struct cw_plan *plan =
        plan_of("{\"op\":\"range\",\"stop\":1000},{\"op\":\"batch\",\"size\":5}", 1);
    struct cw_exec *exec = cw_exec_new(1);
    struct batchful holder, b;
    submit_some(&holder, exec, first, 1);
    while (rows_read(first) == 0)
        cw_clock_sleep_ns(1000000);
    submit_some(&b, exec, plan, N);
    for (size_t i = 0; i < N; i += 2)
        cw_exec_cancel(exec, &b.jobs[i].item);
    cw_exec_cancel(exec, &holder.jobs[0].item);
    wait_until_left(&holder, 0);
    wait_until_left(&b, 0);
    assert_int_equal(holder.jobs[0].err.code, CW_E_CANCELLED);
    for (size_t i = 0; i < N; i++)
        assert_true(i % 2 == 0 ? b.jobs[i].err.code == CW_E_CANCELLED : b.jobs[i].batch != NULL);
    assert_int_equal(rows_read(plan), N / 2 * 5);
    cw_exec_cancel(exec, &b.jobs[1].item); /* long done */
    cw_exec_free(exec);
    free_some(&holder);
    free_some(&b);
    cw_plan_unref(first);
    cw_plan_unref(plan);
}

/* Items whose rows would take hours: begun, so many rows of each at once as there are threads,
 * and then not wanted. */
static void ends_when_cancelled(const char *nodes, bool whole_pool)
{
    enum { ITEMS = 2 };
    struct cw_plan *plan = plan_of(nodes, 1);
    struct cw_exec *exec = cw_exec_new(2);
    struct batchful b;
    submit_some(&b, exec, plan, ITEMS);
    while (rows_read(plan) == 0)
        cw_clock_sleep_ns(1000000);
    for (size_t i = 0; i < ITEMS && !whole_pool; i++)
        cw_exec_cancel(exec, &b.jobs[i].item);
    if (whole_pool)
        cw_exec_free(exec);
    wait_until_left(&b, 0);
    for (size_t i = 0; i < ITEMS; i++) {
        assert_null(b.jobs[i].batch);
        assert_int_equal(b.jobs[i].err.code, CW_E_CANCELLED);
    }
    assert_true(rows_read(plan) < 1000);
    if (!whole_pool)
        cw_exec_free(exec);
    free_some(&b);
    cw_plan_unref(plan);
}

static void open_items_end_when_cancelled(void **state)
{
    (void)state;
    for (int whole_pool = 0; whole_pool < 2; whole_pool++) {
        ends_when_cancelled("{\"op\":\"range\",\"stop\":200000},{\"op\":\"sleep\",\"ms\":60000},{"
                            "\"op\":\"batch\",\"size\":100000}",
                            whole_pool);
        ends_when_cancelled("{\"op\":\"range\",\"stop\":200000},{\"op\":\"sleep\",\"ms\":200},{"
                            "\"op\":\"batch\",\"size\":100000}",
                            whole_pool);
        ends_when_cancelled("{\"op\":\"range\",\"stop\":200000},{\"op\":\"burn\",\"ms\":60000},{"
                            "\"op\":\"batch\",\"size\":100000}",
                            whole_pool);
        /* The row is a whole batch, and so is what stands behind one. */
        ends_when_cancelled("{\"op\":\"range\",\"stop\":200000},{\"op\":\"sleep\",\"ms\":200},{"
                            "\"op\":\"batch\",\"size\":50000},{\"op\":\"batch\",\"size\":2}",
                            whole_pool);
        ends_when_cancelled("{\"op\":\"range\",\"stop\":20},{\"op\":\"batch\",\"size\":10},{\"op\":"
                            "\"sleep\",\"ms\":60000}",
                            whole_pool);
    }
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
        ("{\"op\":\"range\",\"stop\":100},{\"op\":\"batch\",\"size\":16},{\"op\":\"cast\","
         "\"dtype\":"
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

/* What an output holds is what its remaining rows take, not what all would have. */
static void test_memory_of_what_is_left(void **state)
{
    (void)state;
    const char *nodes[] = {"\"x % 20 == 0\"", "\"x % 2 == 0\"", "\"x >= 0\"", "\"x < 0\""};
    for (size_t k = 0; k < CW_ARRAY_LEN(nodes); k++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "{\"op\":\"range\",\"stop\":4096},{\"op\":\"filter\",\"expr\":%s},"
                 "{\"op\":\"inflate\",\"factor\":512},{\"op\":\"batch\",\"size\":64}",
                 nodes[k]);
        struct cw_plan *plan = plan_of(text, 1);
        struct cw_exec *exec = cw_exec_new(1);
        struct job *jobs = run_all(exec, plan, 0, CW_BAD_FAIL, 3);
        for (size_t i = 0; i < 3; i++) {
            const struct cw_batch *batch = jobs[i].batch;
            assert_non_null(batch);
            size_t bytes = batch->elements * 512 * sizeof(int64_t),
                   held = batch->buf ? batch->buf->cap : 0;
            assert_int_equal(batch->buf ? batch->buf->len : 0, bytes);
            assert_true(held >= bytes && held <= bytes + bytes / 7);
        }
        free_jobs(jobs, 3);
        cw_exec_free(exec);
        cw_plan_unref(plan);
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
    struct cw_plan *plan = plan_of("{\"op\": \"range\", \"stop\": 8}, {\"op\": \"burn\", \"ms\": "
                                   "10}, {\"op\": \"batch\", \"size\": 1}",
                                   0);
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

/* What the only thread has as scratch memory when it begins an item, by computing one that needs little. */
static size_t kept_by(struct cw_exec *exec, struct cw_plan *small)
{
    free_jobs(run_all(exec, small, 0, CW_BAD_FAIL, 1), 1);
    return cw_exec_kept(exec);
}

/* A plan whose element is a text of so many bytes, which is read into scratch memory. */
static struct cw_plan *plan_of_a_text(char *path, size_t bytes)
{
    const int fd = mkstemp(path);
    cw_autofree char *text = cw_mem_new(bytes);
    memset(text, '\n', bytes);
    assert_int_equal(write(fd, text, bytes), bytes);
    close(fd);
    cw_autofree char *nodes =
        cw_mem_printf("{\"op\":\"text_ranges\",\"pattern\":\"%s\",\"bytes\":\"16MiB\"}", path);
    return plan_of(nodes, 1);
}

/* Scratch memory that threads keep counts, is bounded, and goes when memory is short. */
static void scratch_memory_counts(void **state)
{
    struct cw_plan *small = plan_of("{\"op\":\"range\",\"stop\":1}", 1);
    char path[] = "/tmp/cachew-exec-XXXXXX";
    struct cw_plan *large = plan_of_a_text(path, 5000000);
    struct cw_exec *exec = cw_exec_new(1);
    (void)state;
    assert_true(kept_by(exec, small) < 1 << 20);
    free_jobs(run_all(exec, large, 0, CW_BAD_FAIL, 1), 1);
    assert_true(kept_by(exec, small) >= 4000000);
    cw_exec_shed(exec);
    assert_true(kept_by(exec, small) < 1 << 20);
    free_jobs(run_all(exec, large, 0, CW_BAD_FAIL, 1), 1);
    assert_true(kept_by(exec, small) >= 4000000);
    cw_exec_limit_kept(exec, 1 << 20);
    (void)kept_by(exec, small);
    assert_true(kept_by(exec, small) <= 1 << 20);
    free_jobs(run_all(exec, large, 0, CW_BAD_FAIL, 1), 1);
    (void)kept_by(exec, small);
    assert_true(kept_by(exec, small) <= 1 << 20);
    cw_exec_free(exec);
    cw_plan_unref(large);
    cw_plan_unref(small);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_held_by_the_limit_is_time_of_the_work),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_bad_elements),
        cmocka_unit_test(test_bad_elements_are_described),
        cmocka_unit_test(test_bad_batch_is_described),
        cmocka_unit_test(test_lowest_error),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(scratch_memory_counts),
        cmocka_unit_test(open_items_end_when_cancelled),
        cmocka_unit_test(test_alloc_fails),
        cmocka_unit_test(test_memory_of_what_is_left),
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
