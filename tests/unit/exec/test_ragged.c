/* SPDX-License-Identifier: Apache-2.0 */
/* Ragged batches of elements whose shapes differ: what they hold, in any number of threads, from a cache
 * of whole batches, and what is refused. */
#include "base/mem.h"
#include "data/ragged.h"
#include "graph/graph.h"
#include "run.h"
#include "support/checked.h"
#include <string.h>

/* Elements {"x": f32[?], "name": str}. */
#define CHUNKS "{\"op\":\"chunks\",\"pattern\":\"" CW_TEST_IMAGES "/chunks_*.chunk\"}"
#define IMAGES                                                                                     \
    "{\"op\":\"files\",\"pattern\":\"" CW_TEST_IMAGES "/image_4*.jpg\"},{\"op\":\"read_file\"},"   \
    "{\"op\":\"decode_image\",\"channels\":3}"

/* Compares each row of field `f` of the ragged batches with the element that is computed alone. */
static void check_rows(const char *source, size_t f, size_t size)
{
    CW_STR_AUTO nodes = {0};
    cw_str_addf(&nodes, "%s,{\"op\":\"batch\",\"size\":%zu,\"ragged\":true}", source, size);
    struct cw_plan *one = plan_of(source, 0), *many = plan_of(cw_str_text(&nodes), 0);
    uint64_t n = cw_plan_info(one)->items;
    struct cw_err err = {0};
    assert_true(n > size);
    for (uint64_t i = 0; i < n; i++) {
        struct cw_batch *element = NULL, *batch = NULL;
        assert_int_equal(cw_exec_run(one, 0, i, CW_BAD_FAIL, &element, &err), 0);
        assert_int_equal(cw_exec_run(many, 0, i / size, CW_BAD_FAIL, &batch, &err), 0);
        assert_int_equal(cw_batch_validate(batch, &err), 0);
        const struct cw_tensor *want = &element->tensors[f], *got = &batch->tensors[f];
        struct cw_ragged ragged;
        struct cw_view row;
        assert_int_equal(cw_ragged_init(&ragged, &got->field, &err), 0);
        cw_ragged_row(&ragged, cw_batch_data(batch, f), (int64_t)(i % size), &row);
        assert_int_equal(row.rank, want->field.rank);
        for (int d = 0; d < row.rank; d++)
            assert_int_equal(row.dims[d], want->field.dims[d]);
        assert_int_equal(row.bytes, want->bytes);
        assert_memory_equal(row.data, cw_batch_data(element, f), row.bytes);
        cw_batch_unref(element);
        cw_batch_unref(batch);
    }
    cw_plan_unref(one);
    cw_plan_unref(many);
}

static void rows_are_elements(void **state)
{
    (void)state;
    check_rows(CHUNKS, 0, 2);
    check_rows(CHUNKS, 0, 3);
    check_rows(IMAGES, 0, 2);
}

static void threads_do_not_show(void **state)
{
    (void)state;
    struct cw_plan *plan = plan_of(IMAGES ",{\"op\":\"repeat\",\"count\":7},{\"op\":\"shuffle\"},"
                                          "{\"op\":\"batch\",\"size\":5,\"ragged\":\"image\"}",
                                   3);
    uint64_t rows = 0;
    struct cw_hash here = hash_here(plan, 1, CW_BAD_FAIL);
    assert_true(cw_hash_eq(hash_pool(plan, 4, 1, CW_BAD_FAIL, &rows), here));
    assert_int_equal(rows, 21);
    cw_plan_unref(plan);
}

/* Index operators go on behind a ragged batch, and a zip puts another one beside it. */
static void behind_a_batch(void **state)
{
    (void)state;
    struct cw_plan *plan = plan_of(
        "{\"op\":\"chunks\",\"name\":\"c\",\"pattern\":\"" CW_TEST_IMAGES "/chunks_*.chunk\"},"
        "{\"op\":\"batch\",\"name\":\"b\",\"size\":2,\"ragged\":true},"
        "{\"op\":\"range\",\"name\":\"n\",\"stop\":2,\"field\":\"n\"},"
        "{\"op\":\"zip\",\"inputs\":[\"b\",\"n\"]},{\"op\":\"repeat\",\"count\":2}",
        0);
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    assert_int_equal(cw_plan_info(plan)->items, 4);
    assert_int_equal(cw_exec_run(plan, 0, 3, CW_BAD_FAIL, &batch, &err), 0);
    assert_int_equal(cw_batch_validate(batch, &err), 0);
    assert_int_equal(batch->tensors[0].field.dims[0], 2);
    assert_int_equal(batch->tensors[0].field.dims[1], CW_DIM_RAGGED);
    cw_batch_unref(batch);
    cw_plan_unref(plan);
}

/* Rows of a sparse pipeline that differ travel in one item. */
static void sparse_rows(void **state)
{
    (void)state;
    struct cw_plan *plan =
        plan_of("{\"op\":\"range\",\"name\":\"n\",\"stop\":3,\"field\":\"n\"},"
                "{\"op\":\"files\",\"name\":\"f\",\"pattern\":\"" CW_TEST_IMAGES
                "/image_4*.jpg\"},{\"op\":\"zip\",\"inputs\":[\"n\",\"f\"]},"
                "{\"op\":\"read_file\",\"fields\":\"path\"},"
                "{\"op\":\"decode_image\",\"fields\":\"bytes\"},"
                "{\"op\":\"filter\",\"expr\":\"n < 9\"},{\"op\":\"batch\",\"size\":2}",
                0);
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    assert_true(cw_plan_info(plan)->sparse);
    assert_int_equal(cw_exec_run(plan, 0, 0, CW_BAD_FAIL, &batch, &err), 0);
    assert_int_equal(batch->elements, 3);
    assert_int_equal(cw_batch_validate(batch, &err), 0);
    assert_true(batch->tensors[0].field.rank == 1 && batch->tensors[1].field.rank == 4);
    cw_batch_unref(batch);
    cw_plan_unref(plan);
}

static void refused(const char *nodes, const char *why)
{
    struct cw_err err = {0};
    assert_null(cw_test_check(nodes, &err));
    if (!strstr(err.msg, why))
        fail_msg("%s: %s", nodes, err.msg);
}

static void what_is_refused(void **state)
{
    (void)state;
    refused(CHUNKS
            ",{\"op\":\"batch\",\"size\":2,\"ragged\":true},{\"op\":\"cast\",\"dtype\":\"f64\","
            "\"fields\":\"x\"}",
            "\"x\" is a ragged batch; put the operator before the batch");
    refused(CHUNKS
            ",{\"op\":\"batch\",\"size\":2,\"ragged\":true},{\"op\":\"eval\",\"expr\":\"x + 1\"}",
            "\"x\" is a ragged batch");
    refused(IMAGES ",{\"op\":\"batch\",\"size\":2,\"ragged\":true},{\"op\":\"batch\",\"size\":2}",
            "is a ragged batch already");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_elements), cmocka_unit_test(threads_do_not_show),
        cmocka_unit_test(behind_a_batch), cmocka_unit_test(sparse_rows),
        cmocka_unit_test(what_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
