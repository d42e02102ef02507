/* SPDX-License-Identifier: Apache-2.0 */
/* Elements with as many fields as there may be: each value has to be where its name is, behind
 * operators that know all fields, that choose some, and that write into the batch. */
#include "base/mem.h"
#include "plan/plan_nodes.h"
#include "run.h"
#include "support/cm.h"
#include <stdio.h>
#include <string.h>

#define ROWS 40

/* Adds n ranges and a zip of them: row r of field k is 1000 * k + r. */
static void add_fields(struct cw_str *text, size_t n)
{
    CW_STR_AUTO names = {0};
    for (size_t k = 0; k < n; k++) {
        cw_str_addf(text,
                    "{\"op\":\"range\",\"start\":%zu,\"stop\":%zu,\"name\":\"n%zu\",\"field\":"
                    "\"f%zu\"},",
                    1000 * k, 1000 * k + ROWS, k, k);
        cw_str_addf(&names, "%s\"n%zu\"", k ? "," : "", k);
    }
    cw_str_addf(text, "{\"op\":\"zip\",\"name\":\"zip\",\"inputs\":[%s]}", cw_str_text(&names));
}

static const struct cw_tensor *tensor_of(const struct cw_batch *batch, const char *name,
                                         const void **ret_data)
{
    for (size_t i = 0; i < batch->n; i++) {
        if (strcmp(batch->tensors[i].field.name, name) != 0)
            continue;
        *ret_data = cw_batch_data(batch, i);
        return &batch->tensors[i];
    }
    fail_msg("there is no field %s", name);
    return NULL;
}

static struct cw_batch *first_of(const char *nodes, uint64_t seed)
{
    struct cw_plan *plan = plan_of(nodes, seed);
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    if (cw_exec_run(plan, 0, 0, CW_BAD_FAIL, &batch, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(cw_batch_validate(batch, &err), 0);
    cw_plan_unref(plan);
    return batch;
}

/* Row r of the batch is row `first` + r of the ranges. */
static void check_field(const struct cw_batch *batch, size_t k, int64_t first, int64_t times)
{
    char name[16];
    const void *data;
    snprintf(name, sizeof(name), "f%zu", k);
    const struct cw_tensor *tensor = tensor_of(batch, name, &data);
    assert_int_equal(tensor->field.dtype, CW_DTYPE_I64);
    for (int64_t r = 0; r < tensor->field.dims[0]; r++)
        if (((const int64_t *)data)[r] != ((int64_t)(1000 * k) + first + r) * times)
            fail_msg("field %zu, row %lld is %lld", k, (long long)r,
                     (long long)((const int64_t *)data)[r]);
}

static void test_all_fields(void **state)
{
    (void)state;
    static const size_t NUMBERS[] = {2, 31, 32, 33, 63, 64, 65, 511, 512};
    for (size_t i = 0; i < CW_ARRAY_LEN(NUMBERS); i++) {
        CW_STR_AUTO text = {0};
        add_fields(&text, NUMBERS[i]);
        cw_str_add(&text, ",{\"op\":\"batch\",\"size\":16}");
        struct cw_batch *batch = first_of(cw_str_text(&text), 1);
        assert_int_equal(batch->n, NUMBERS[i]);
        for (size_t k = 0; k < NUMBERS[i]; k++)
            check_field(batch, k, 0, 1);
        cw_batch_unref(batch);
    }
}

/* Behind a filter, with an operator for each of three fields, and one that reads two of them. */
static void test_operators(void **state)
{
    (void)state;
    CW_STR_AUTO text = {0};
    add_fields(&text, 511);
    cw_str_add(&text, ",{\"op\":\"filter\",\"expr\":\"f500 >= 500010 and f3 < 3030\"}"
                      ",{\"op\":\"eval\",\"expr\":\"f2 + f500\",\"out\":\"sum\"}"
                      ",{\"op\":\"eval\",\"expr\":\"f70 * 3\",\"out\":\"f70\"}"
                      ",{\"op\":\"cast\",\"fields\":[\"f5\",\"f400\"],\"dtype\":\"i32\"}");
    struct cw_batch *batch = first_of(cw_str_text(&text), 1);
    const void *sum, *cast;
    assert_true(batch->n == 512 && batch->elements == 20);
    (void)tensor_of(batch, "sum", &sum);
    assert_int_equal(tensor_of(batch, "f400", &cast)->field.dtype, CW_DTYPE_I32);
    for (int64_t r = 0; r < 20; r++) {
        assert_int_equal(((const int64_t *)sum)[r], 502000 + 2 * (r + 10));
        assert_int_equal(((const int32_t *)cast)[r], 400010 + r);
    }
    for (size_t k = 6; k < 400; k++)
        check_field(batch, k, 10, k == 70 ? 3 : 1);
    cw_batch_unref(batch);
}

static void test_fields_are_chosen(void **state)
{
    (void)state;
    CW_STR_AUTO text = {0};
    add_fields(&text, 512);
    cw_str_add(&text, ",{\"op\":\"drop\",\"names\":[\"f0\",\"f100\"]}"
                      ",{\"op\":\"rename\",\"names\":{\"f300\":\"new\"}}"
                      ",{\"op\":\"select\",\"names\":[\"f511\",\"new\",\"f64\",\"f1\"]}"
                      ",{\"op\":\"batch\",\"size\":8}");
    struct cw_batch *batch = first_of(cw_str_text(&text), 1);
    const void *data;
    assert_int_equal(batch->n, 4);
    check_field(batch, 511, 0, 1);
    check_field(batch, 64, 0, 1);
    check_field(batch, 1, 0, 1);
    (void)tensor_of(batch, "new", &data);
    assert_int_equal(((const int64_t *)data)[7], 300007);
    cw_batch_unref(batch);
}

/* A thread, a pool and an item computed backwards give one hash, in another order, too. */
static void test_one_hash(void **state)
{
    (void)state;
    CW_STR_AUTO text = {0};
    add_fields(&text, 200);
    cw_str_add(&text,
               ",{\"op\":\"shuffle\"},{\"op\":\"eval\",\"expr\":\"f150 + 1\",\"out\":\"f150\"}"
               ",{\"op\":\"batch\",\"size\":7}");
    struct cw_plan *plan = plan_of(cw_str_text(&text), 5);
    uint64_t rows = 0;
    struct cw_hash pool = hash_pool(plan, 3, 1, CW_BAD_FAIL, &rows);
    assert_int_equal(rows, ROWS);
    assert_true(cw_hash_eq(pool, hash_here(plan, 1, CW_BAD_FAIL)));
    cw_plan_unref(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_fields),
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_fields_are_chosen),
        cmocka_unit_test(test_one_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
