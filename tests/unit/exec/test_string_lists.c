/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of strings on their way: made of texts, changed, batched in each form, taken apart, cached. */
#include "base/mem.h"
#include "data/ragged.h"
#include "data/strings.h"
#include "plan/plan_nodes.h"
#include "run.h"
#include "support/cm.h"
#include <stdio.h>
#include <string.h>

#define TEXTS                                                                                      \
    "{\"op\":\"from_values\",\"values\":[\"The Quick brown\",\"\",\"fox\",\"jumps  OVER\"]}"
#define SPLIT TEXTS ",{\"op\":\"split_text\"}"

static const char *const WORDS[] = {"the", "quick", "brown", "fox", "jumps", "over"};
static const int64_t BEGINS[] = {0, 3, 3, 4, 6};

static struct cw_batch *item_of(const char *nodes, uint64_t item)
{
    struct cw_plan *plan = plan_of(nodes, 1);
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    if (cw_exec_run(plan, 0, item, CW_BAD_FAIL, &batch, &err) || cw_batch_validate(batch, &err) < 0)
        fail_msg("%s: %s", nodes, err.msg);
    cw_plan_unref(plan);
    return batch;
}

static void assert_words(const void *list, int64_t n, size_t first)
{
    for (int64_t i = 0; i < n; i++) {
        size_t bytes;
        const char *p = cw_strings_get(list, n, i, &bytes);
        assert_int_equal(bytes, strlen(WORDS[first + (size_t)i]));
        assert_memory_equal(p, WORDS[first + (size_t)i], bytes);
    }
}

static void assert_ragged(const struct cw_batch *batch, size_t tensor)
{
    struct cw_ragged_parts parts;
    assert_int_equal(cw_ragged_split(&batch->tensors[tensor].field, cw_batch_data(batch, tensor),
                                     batch->tensors[tensor].bytes, &parts),
                     0);
    assert_int_equal(parts.begins.dims[0], 5);
    assert_memory_equal(parts.begins.data, BEGINS, sizeof(BEGINS));
    assert_words(parts.values.data, 6, 0);
}

static void test_ragged(void **state)
{
    (void)state;
    struct cw_batch *batch =
        item_of(SPLIT ",{\"op\":\"lower\"},{\"op\":\"batch\",\"size\":4,\"ragged\":true}", 0);
    assert_ragged(batch, 0);
    cw_batch_unref(batch);
    /* behind a filter rows travel so in any case */
    batch = item_of(SPLIT ",{\"op\":\"lower\"},{\"op\":\"filter\",\"expr\":\"len(x) >= 0\"},"
                          "{\"op\":\"batch\",\"size\":4,\"ragged\":true}",
                    0);
    assert_int_equal(batch->elements, 4);
    assert_ragged(batch, 0);
    cw_batch_unref(batch);
}

static void test_stacked(void **state)
{
    (void)state;
    struct cw_batch *batch =
        item_of("{\"op\":\"from_values\",\"values\":[\"the quick\",\"brown fox\",\"jumps over\"]},"
                "{\"op\":\"split_text\"},{\"op\":\"batch\",\"size\":3}",
                0);
    assert_int_equal(batch->tensors[0].field.rank, 2);
    assert_int_equal(batch->tensors[0].field.dims[1], 2);
    assert_words(cw_batch_data(batch, 0), 6, 0);
    cw_batch_unref(batch);
    struct cw_plan *plan = plan_of(SPLIT ",{\"op\":\"batch\",\"size\":4}", 1);
    struct cw_err err = {0};
    assert_int_equal(cw_exec_run(plan, 0, 0, CW_BAD_FAIL, &batch, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "elements of a batch must have one shape"));
    cw_plan_unref(plan);
}

static void test_single(void **state)
{
    (void)state;
    struct cw_batch *batch = item_of(SPLIT ",{\"op\":\"lower\"}", 3);
    assert_int_equal(batch->tensors[0].field.dims[0], 2);
    assert_words(cw_batch_data(batch, 0), 2, 4);
    cw_batch_unref(batch);
}

/* A word is an element, and words are a text again. */
static void test_taken_apart(void **state)
{
    (void)state;
    struct cw_batch *batch =
        item_of(SPLIT ",{\"op\":\"lower\"},{\"op\":\"unbatch\"},{\"op\":\"batch\",\"size\":6}", 0);
    assert_true(batch->elements == 6 && batch->tensors[0].field.rank == 1);
    assert_words(cw_batch_data(batch, 0), 6, 0);
    cw_batch_unref(batch);
    batch = item_of(SPLIT ",{\"op\":\"join_text\",\"sep\":\"-\"},{\"op\":\"batch\",\"size\":4}", 0);
    size_t bytes;
    const char *text = cw_strings_get(cw_batch_data(batch, 0), 4, 0, &bytes);
    assert_int_equal(bytes, 15);
    assert_memory_equal(text, "The-Quick-brown", 15);
    cw_batch_unref(batch);
}

static void test_looked_up(void **state)
{
    (void)state;
    static const int32_t ids[] = {5, 4, 3, 2, 1, 0};
    struct cw_batch *batch = item_of(
        SPLIT ",{\"op\":\"lower\"},{\"op\":\"vocab_lookup\",\"strings\":[\"over\",\"jumps\","
              "\"fox\",\"brown\",\"quick\",\"the\"]},{\"op\":\"batch\",\"size\":4,"
              "\"ragged\":true}",
        0);
    struct cw_ragged_parts parts;
    assert_int_equal(cw_ragged_split(&batch->tensors[0].field, cw_batch_data(batch, 0),
                                     batch->tensors[0].bytes, &parts),
                     0);
    assert_memory_equal(parts.begins.data, BEGINS, sizeof(BEGINS));
    assert_memory_equal(parts.values.data, ids, sizeof(ids));
    cw_batch_unref(batch);
}

/* Threads give what one gives. */
static void test_one_hash(void **state)
{
    (void)state;
    static const char *const PIPELINES[] = {
        SPLIT
        ",{\"op\":\"repeat\",\"count\":500},{\"op\":\"shuffle\"},{\"op\":\"batch\",\"size\":64,"
        "\"ragged\":true}",
        SPLIT ",{\"op\":\"repeat\",\"count\":500},{\"op\":\"lower\"}",
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(PIPELINES); i++) {
        struct cw_plan *plan = plan_of(PIPELINES[i], 1);
        uint64_t rows = 0;
        struct cw_hash pool = hash_pool(plan, 3, 0, CW_BAD_FAIL, &rows);
        assert_true(cw_hash_eq(pool, hash_here(plan, 0, CW_BAD_FAIL)));
        cw_plan_unref(plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ragged),    cmocka_unit_test(test_stacked),
        cmocka_unit_test(test_single),    cmocka_unit_test(test_taken_apart),
        cmocka_unit_test(test_looked_up), cmocka_unit_test(test_one_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
