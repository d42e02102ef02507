/* SPDX-License-Identifier: Apache-2.0 */
/* Rows whose sizes are not known cost no allocation: the allocator's functions are wrapped, and counted while
 * items are computed that differ in nothing but how many rows they have. */
#include <stdatomic.h>

#include "base/mem.h"
#include "plan/plan_nodes.h"
#include "run.h"
#include "support/cm.h"

static atomic_size_t allocations; /* threads of the engine allocate as well */

#define WRAP(name, parameters, arguments)                                                          \
    void *__real_cw_mem_##name parameters;                                                         \
    void *__wrap_cw_mem_##name parameters;                                                         \
    void *__wrap_cw_mem_##name parameters                                                          \
    {                                                                                              \
        allocations++;                                                                             \
        return __real_cw_mem_##name arguments;                                                     \
    }
WRAP(try, (size_t bytes), (bytes))
WRAP(try_grow, (void *p, size_t bytes), (p, bytes))
WRAP(try_aligned, (size_t align, size_t bytes), (align, bytes))
WRAP(try_pages, (size_t bytes), (bytes))
WRAP(new, (size_t bytes), (bytes))
WRAP(new_array, (size_t n, size_t size), (n, size))
WRAP(grow, (void *p, size_t n, size_t size), (p, n, size))

#define FEW 50
#define MANY 1000

/* Returns the allocations of an item that comes when sizes have settled. */
static size_t count(const char *nodes, size_t rows)
{
    cw_autofree char *text = cw_mem_printf("%s,\"size\":%zu}", nodes, rows);
    struct cw_plan *plan = plan_of(text, 1);
    size_t n = 0;
    for (uint64_t i = 0; i < 4; i++) {
        struct cw_batch *batch = NULL;
        struct cw_err err = {0};
        allocations = 0;
        if (cw_exec_run(plan, 0, i, CW_BAD_FAIL, &batch, &err))
            fail_msg("%s", err.msg);
        n = allocations;
        assert_int_equal(batch->elements, rows);
        cw_batch_unref(batch);
    }
    cw_plan_unref(plan);
    return n;
}

/* The options of the last node go on with its size. */
static const char *const PIPELINES[] = {
    /* strings, as they come and changed */
    "{\"op\":\"from_values\",\"values\":[\"ABC\",\"defgh\",\"\"]},{\"op\":\"repeat\",\"count\":"
    "4000},"
    "{\"op\":\"batch\"",
    "{\"op\":\"from_values\",\"values\":[\"ABC\",\"defgh\",\"\"]},{\"op\":\"repeat\",\"count\":"
    "4000},"
    "{\"op\":\"lower\"},{\"op\":\"batch\"",
    /* rows of unlike shape */
    "{\"op\":\"range\",\"stop\":12000},{\"op\":\"reshape\",\"shape\":[1]},{\"op\":\"emulate\","
    "\"ratio\":8,"
    "\"random\":true},{\"op\":\"batch\",\"ragged\":true",
    /* filled up */
    "{\"op\":\"range\",\"stop\":12000},{\"op\":\"reshape\",\"shape\":[1]},{\"op\":\"emulate\","
    "\"ratio\":8,"
    "\"random\":true},{\"op\":\"padded_batch\"",
    /* longer than they came */
    "{\"op\":\"from_values\",\"values\":[\"ABC\",\"defgh\",\"\"]},{\"op\":\"repeat\",\"count\":"
    "4000},"
    "{\"op\":\"regex_replace\",\"pattern\":\"b|e\",\"with\":\"<$0>\"},{\"op\":\"batch\"",
};

static void test_rows_are_not_allocated(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(PIPELINES); i++) {
        size_t few = count(PIPELINES[i], FEW), many = count(PIPELINES[i], MANY);
        if (few == 0 || many > few + 8)
            fail_msg("pipeline %zu: %zu allocations for %d rows, and %zu for %d", i, few, FEW, many,
                     MANY);
    }
}

/* More than a plan keeps: blocks grow with the item. */
static void test_large_rows(void **state)
{
    (void)state;
    static const char nodes[] =
        "{\"op\":\"range\",\"stop\":2000},{\"op\":\"reshape\",\"shape\":[1]},"
        "{\"op\":\"emulate\",\"ratio\":16384,\"random\":true},"
        "{\"op\":\"batch\",\"ragged\":true";
    size_t few = count(nodes, FEW), many = count(nodes, 8 * FEW);
    if (many > few + 20)
        fail_msg("%zu allocations for %d rows, and %zu for %d", few, FEW, many, 8 * FEW);
}

/* Threads go on in each other's blocks. */
static void test_threads(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(PIPELINES); i++) {
        cw_autofree char *text = cw_mem_printf("%s,\"size\":300}", PIPELINES[i]);
        struct cw_plan *plan = plan_of(text, 1);
        uint64_t rows = 0;
        struct cw_hash pool = hash_pool(plan, 3, 0, CW_BAD_FAIL, &rows);
        assert_int_equal(rows, 12000);
        assert_true(cw_hash_eq(pool, hash_here(plan, 0, CW_BAD_FAIL)));
        cw_plan_unref(plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_not_allocated),
        cmocka_unit_test(test_large_rows),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
