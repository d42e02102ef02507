/* SPDX-License-Identifier: Apache-2.0 */
/* Strings and lists that a source gives many rows at a time: a batch has what each element has that is computed
 * alone, in any number of threads, in any order, and where some of the rows are bad. */
#include "base/mem.h"
#include "data/ragged.h"
#include "data/strings.h"
#include "run.h"
#include "support/cm.h"
#include <string.h>

#define FOLDER CW_TEST_IMAGES "/"
#define STRINGS                                                                                    \
    "{\"op\":\"parquet\",\"pattern\":\"" FOLDER                                                    \
    "parquet_*_v1.parquet\",\"columns\":[\"i32\",\"text\",\"f64\",\"word\"],\"types\":{\"i32\":"   \
    "\"i32\",\"text\":\"str\",\"f64\":\"f64\",\"word\":\"str\"}}"
#define LISTS                                                                                      \
    "{\"op\":\"parquet\",\"pattern\":\"" FOLDER                                                    \
    "parquet_types.parquet\",\"columns\":[\"list\",\"u16\"],\"types\":{\"list\":\"i32[?]\","       \
    "\"u16\":\"u16\"}%s}"

static void check_value(const struct cw_batch *batch, size_t f, int64_t row,
                        const struct cw_batch *element)
{
    const struct cw_tensor *want = &element->tensors[f], *got = &batch->tensors[f];
    const char *data = cw_batch_data(batch, f);
    struct cw_err err = {0};
    struct cw_view view = {.bytes = want->bytes};
    if (cw_field_is_ragged(&got->field)) {
        struct cw_ragged ragged;
        assert_int_equal(cw_ragged_init(&ragged, &got->field, &err), 0);
        cw_ragged_row(&ragged, data, row, &view);
        assert_int_equal(view.dims[0], want->field.dims[0]);
    } else if (got->field.dtype == CW_DTYPE_STR) {
        view.data = (char *)(uintptr_t)cw_strings_get(data, got->field.dims[0], row, &view.bytes);
    } else {
        view.data = (char *)(uintptr_t)data + (size_t)row * want->bytes;
    }
    const size_t bytes =
        want->field.dtype == CW_DTYPE_STR ? want->bytes - cw_strings_table_bytes(1) : want->bytes;
    assert_int_equal(view.bytes, bytes);
    if (bytes > 0)
        assert_memory_equal(view.data,
                            (const char *)cw_batch_data(element, f) + (want->bytes - bytes), bytes);
}

/* Compares the batches of a pipeline, which ends without one, with its elements. */
static void check(const char *nodes, size_t size)
{
    CW_STR_AUTO text = {0};
    cw_str_addf(&text, "%s,{\"op\":\"batch\",\"size\":%zu,\"ragged\":true}", nodes, size);
    struct cw_plan *one = plan_of(nodes, 3), *many = plan_of(cw_str_text(&text), 3);
    const uint64_t n = cw_plan_info(one)->items;
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    uint64_t rows = 0;
    assert_true(n > size);
    for (uint64_t i = 0; i < n; i++) {
        struct cw_batch *element = NULL;
        if (i % size == 0) {
            cw_batch_unref(batch);
            batch = NULL;
            assert_int_equal(cw_exec_run(many, 1, i / size, CW_BAD_FAIL, &batch, &err), 0);
            assert_int_equal(cw_batch_validate(batch, &err), 0);
        }
        assert_int_equal(cw_exec_run(one, 1, i, CW_BAD_FAIL, &element, &err), 0);
        for (size_t f = 0; f < batch->n; f++)
            check_value(batch, f, (int64_t)(i % size), element);
        cw_batch_unref(element);
    }
    cw_batch_unref(batch);
    assert_true(
        cw_hash_eq(hash_pool(many, 4, 1, CW_BAD_FAIL, &rows), hash_here(many, 1, CW_BAD_FAIL)));
    assert_int_equal(rows, n);
    cw_plan_unref(one);
    cw_plan_unref(many);
}

static void rows_are_elements(void **state)
{
    static const char *const orders[] = {
        "", ",{\"op\":\"shuffle\"}", ",{\"op\":\"shuffle\",\"window\":64}",
        ",{\"op\":\"repeat\",\"count\":2},{\"op\":\"shuffle\"}", ",{\"op\":\"skip\",\"count\":7}"};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(orders); i++) {
        CW_STR_AUTO strings = {0}, lists = {0};
        cw_str_addf(&strings, "%s%s", STRINGS, orders[i]);
        check(cw_str_text(&strings), 100);
        cw_str_addf(&lists, LISTS "%s", ",\"fill\":{\"list\":0}", orders[i]);
        check(cw_str_text(&lists), 11);
    }
}

static uint64_t skipped_of(struct cw_plan *plan, uint64_t *ret_rows)
{
    uint64_t skipped = 0;
    *ret_rows = 0;
    for (uint64_t i = 0; i < cw_plan_info(plan)->items; i++) {
        struct cw_batch *batch = NULL;
        struct cw_err err = {0};
        assert_int_equal(cw_exec_run(plan, 0, i, CW_BAD_SKIP, &batch, &err), 0);
        assert_int_equal(cw_batch_validate(batch, &err), 0);
        skipped += batch->skipped;
        *ret_rows += batch->elements;
        cw_batch_unref(batch);
    }
    return skipped;
}

/* One list is null: it alone is left out, and the message tells which. */
static void a_bad_row_among_others(void **state)
{
    CW_STR_AUTO nodes = {0};
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    uint64_t rows;
    (void)state;
    cw_str_addf(&nodes, LISTS ",{\"op\":\"batch\",\"size\":500,\"ragged\":true}", "");
    struct cw_plan *plan = plan_of(cw_str_text(&nodes), 0);
    assert_int_equal(cw_exec_run(plan, 0, 0, CW_BAD_FAIL, &batch, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "row 4: column list is null"));
    assert_int_equal(skipped_of(plan, &rows), 1);
    assert_true(rows > 4);
    cw_plan_unref(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_elements),
                                       cmocka_unit_test(a_bad_row_among_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
