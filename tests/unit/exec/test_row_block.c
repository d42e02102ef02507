/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that are called for blocks of rows: the batches are those of operators that are called row
 * by row, and each operator is called by blocks where it may be, and nowhere else. */
#include "base/mem.h"
#include "exec/task.h"
#include "plan/plan_nodes.h"
#include "run.h"
#include "setups.h"
#include "support/cm.h"
#include "support/fake_cache.h"

#define OUT(name, expr, out)                                                                       \
    "{\"op\":\"eval\",\"name\":\"" name "\",\"expr\":\"" expr "\",\"out\":\"" out "\"}"
#define CAST(name, dtype) "{\"op\":\"cast\",\"name\":\"" name "\",\"dtype\":\"" dtype "\"}"
#define INNER(n) "{\"op\":\"batch\",\"name\":\"inner\",\"drop_remainder\":true,\"size\":" #n "}"
#define PAIR                                                                                       \
    "{\"op\":\"range\",\"name\":\"ra\",\"stop\":700,\"field\":\"a\"},"                             \
    "{\"op\":\"range\",\"name\":\"rb\",\"stop\":700,\"field\":\"b\",\"inputs\":[]},"               \
    "{\"op\":\"zip\",\"name\":\"z\",\"inputs\":[\"ra\",\"rb\"]}"
/* It changes nothing, and may not be called for many elements at once: operators below it are called
 * row by row. */
#define STOP_LAST "{\"op\":\"emulate\",\"name\":\"last\",\"ns_per_byte\":0}"
#define STOP "{\"op\":\"emulate\",\"name\":\"stop\",\"ns_per_byte\":0}"

static const struct {
    const char *nodes, *batch;
    size_t ops; /* operators that are called by blocks */
    enum cw_bad_elements bad;
    const char *cached; /* a node with a cache, or NULL */
} cases[] = {
    {RANGE(5000) "," EVAL("e", "x * 2 + 1"), BATCH(1024), 1, CW_BAD_FAIL, NULL},
    {RANGE(5000) "," EVAL("e", "x * 2 + 1") "," CAST("c", "f32") "," EVAL("f", "sqrt(x)"),
     BATCH(3000), 3, CW_BAD_FAIL, NULL},
    {RANGE(5000) "," SHUFFLE "," CAST("c", "u8"), BATCH(64), 1, CW_BAD_FAIL, NULL},
    /* one row, and a last short block */
    {RANGE(1) "," EVAL("e", "x - 1"), BATCH(64), 1, CW_BAD_FAIL, NULL},
    {RANGE(1025) "," EVAL("e", "x - 1"), BATCH(1025), 1, CW_BAD_FAIL, NULL},
    /* rows are left out, by a filter and since they are bad */
    {RANGE(5000) "," FILTER("f", "x % 7 < 2") "," EVAL("e", "x * 3"), BATCH(50), 1, CW_BAD_FAIL,
     NULL},
    {RANGE(2000) "," FILTER("f", "x < 0") "," EVAL("e", "x * 3"), BATCH(50), 1, CW_BAD_FAIL, NULL},
    {RANGE(2000) "," EVAL("bad", "100 % (x % 10)") "," EVAL("e", "x * 3"), BATCH(50), 1,
     CW_BAD_SKIP, NULL},
    /* several fields, of which some are written by nobody */
    {PAIR "," OUT("e", "a * 2", "a") "," OUT("p", "a + b", "c"), BATCH(128), 2, CW_BAD_FAIL, NULL},
    {PAIR "," OUT("e", "a * 2", "c") "," CAST("c", "f64") "," OUT("q", "c - b", "b"), BATCH(128), 3,
     CW_BAD_FAIL, NULL},
    /* elements with dimensions */
    {RANGE(4000) "," INNER(20) "," EVAL("e", "x / 7"), BATCH(33), 1, CW_BAD_FAIL, NULL},
    {RANGE(4000) "," INNER(4) ",{\"op\":\"cast\",\"name\":\"c\",\"dtype\":\"f32\"},{\"op\":"
                              "\"normalize\",\"name\":\"n\","
                              "\"mean\":[1,2,3,4],\"std\":[1,2,4,8]}",
     BATCH(33), 2, CW_BAD_FAIL, NULL},
    /* only what stands above an operator that is not of the kind */
    {RANGE(2000) "," EVAL("e", "x * 2") "," STOP "," EVAL("g", "x + 1"), BATCH(100), 1, CW_BAD_FAIL,
     NULL},
    {RANGE(2000) "," EVAL("e", "100 % (x + 1)"), BATCH(100), 0, CW_BAD_FAIL, NULL},
    /* rows that are large */
    {RANGE(6000) "," INNER(1000) "," EVAL("e", "x / 7"), BATCH(2), 0, CW_BAD_FAIL, NULL},
    /* caches: below, in the middle, at the last operator */
    {RANGE(2000) "," SHUFFLE "," EVAL("e", "x * 2"), BATCH(100), 1, CW_BAD_FAIL, "range"},
    {RANGE(2000) "," EVAL("e", "x * 2") "," SHUFFLE, BATCH(100), 0, CW_BAD_FAIL, "e"},
    {RANGE(2000) "," EVAL("e", "x * 2") "," EVAL("g", "x + 5"), BATCH(100), 1, CW_BAD_FAIL, "e"},
};

static struct cw_hash hash_of(struct cw_plan *plan, size_t threads, enum cw_bad_elements bad)
{
    uint64_t rows;
    return threads ? hash_pool(plan, threads, 1, bad, &rows) : hash_here(plan, 1, bad);
}

static size_t ops_of(struct cw_plan *plan)
{
    struct cw_exec_item item = {.plan = plan, .epoch = 1};
    struct cw_exec_task *task = cw_exec_task_new(&item);
    struct cw_err err = {0};
    assert_int_equal(cw_exec_task_begin(task, &err), 0);
    const size_t n = task->way.block_ops_n;
    cw_exec_task_free(task);
    return n;
}

static void test_batches(void **state)
{
    (void)state;
    for (size_t c = 0; c < CW_ARRAY_LEN(cases); c++) {
        cw_autofree char *blocks = cw_mem_printf("%s,%s", cases[c].nodes, cases[c].batch);
        cw_autofree char *by_rows =
            cw_mem_printf("%s," STOP_LAST ",%s", cases[c].nodes, cases[c].batch);
        struct cw_plan *plan = plan_of(blocks, 3), *other = plan_of(by_rows, 3);
        struct cw_cache_dataset *cache = NULL;
        if (cases[c].cached) {
            const size_t at = node_of(plan, cases[c].cached);
            cache = fake_cache_new(&plan->nodes[at].out);
            struct cw_err err = {0};
            assert_int_equal(cw_plan_set_cache(plan, at, cache, true, true, &err), 0);
        }
        if (ops_of(plan) != cases[c].ops)
            fail_msg("case %zu: %zu operators by blocks", c, ops_of(plan));
        assert_int_equal(ops_of(other), 0);
        const struct cw_hash right = hash_of(other, 0, cases[c].bad);
        for (size_t threads = 0; threads < 3; threads++)
            for (int again = 0; again < 2; again++) /* the second time from the cache */
                if (!cw_hash_eq(hash_of(plan, threads, cases[c].bad), right))
                    fail_msg("case %zu: other batches, %zu threads", c, threads);
        cw_plan_unref(plan);
        cw_plan_unref(other);
        if (cache)
            fake_cache_free(cache);
    }
}

/* Every row that is left counts as one element of the operator, whether it is called by blocks or not. */
static void test_counts(void **state)
{
    struct cw_exec_count counts[NODES_MAX];
    struct cw_plan *plan =
        plan_of(RANGE(5000) "," FILTER("f", "x % 5 == 0") "," EVAL("e", "x * 3") "," BATCH(500), 1);
    (void)state;
    (void)hash_here(plan, 0, CW_BAD_FAIL);
    cw_exec_counts(plan, counts);
    const struct cw_exec_count *count = &counts[node_of(plan, "e")];
    assert_int_equal(count->elements, 1000);
    assert_int_equal(count->bytes_out, 8000);
    assert_int_equal(count->element_bytes, 8000);
    assert_true(count->cpu_ns > 0 && count->sums.timed >= 1);
    assert_true(count->sums.in_bytes == 8 * count->sums.calls);
    cw_plan_unref(plan);
}

#define PARQUET(name, column, type)                                                                \
    "{\"op\":\"parquet\",\"name\":\"" name "\",\"inputs\":[],\"pattern\":\"" CW_TEST_IMAGES        \
    "/parquet_snappy_v1.parquet\",\"columns\":\"" column "\",\"types\":{\"" column "\":\"" type    \
    "\"}}"

/* Where a source refuses to read many rows at once, since one of them is null, all of them are read one by
 * one, and count once. */
static void test_counts_refused(void **state)
{
    struct cw_exec_count counts[6];
    struct cw_plan *plan =
        plan_of(PARQUET("a", "i32", "i32") "," PARQUET(
                    "b", "gap", "i64") ","
                                       "{\"op\":\"zip\",\"name\":\"z\",\"inputs\":[\"a\",\"b\"]},"
                                       "{\"op\":\"skip\",\"name\":\"s\",\"count\":3},"
                                       "{\"op\":\"take\",\"name\":\"t\",\"count\":250}," BATCH(100),
                1);
    (void)state;
    (void)hash_here(plan, 0, CW_BAD_SKIP);
    cw_exec_counts(plan, counts);
    static const char *const names[] = {"a", "b", "s", "t"};
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++)
        assert_int_equal(counts[node_of(plan, names[i])].elements, 250);
    cw_plan_unref(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_batches),
                                       cmocka_unit_test(test_counts),
                                       cmocka_unit_test(test_counts_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
