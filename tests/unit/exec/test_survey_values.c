/* SPDX-License-Identifier: Apache-2.0 */
/* Draws of `sample` by what a survey finds out of a field, against those by a list of the same weights. */
#include "base/mem.h"
#include "run.h"
#include "support/checked.h"
#include "support/cm.h"

#include <string.h>

/* Draws by what a field says are those by the same numbers in a list. */
static void expect_same_draws(const char *nodes, const char *listed)
{
    struct cw_plan *by_field = plan_of(nodes, 9), *by_list = plan_of(listed, 9);
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        size_t n = 0, want_n = 0;
        cw_autofree int64_t *rows = rows_of(by_field, epoch, &n);
        cw_autofree int64_t *want = rows_of(by_list, epoch, &want_n);
        assert_int_equal(n, want_n);
        assert_memory_equal(rows, want, n * sizeof(*rows));
    }
    cw_plan_unref(by_field);
    cw_plan_unref(by_list);
}

#define NUMBERS "{\"op\":\"range\",\"stop\":%d},"
#define WEIGHED                                                                                    \
    NUMBERS "{\"op\":\"eval\",\"expr\":\"%s\",\"out\":\"w\"},{\"op\":\"sample\",\"%s\":\"w\","     \
            "\"count\":400%s},"                                                                    \
            "{\"op\":\"select\",\"names\":\"x\"}"

static void check_sample(int n, const char *expr, const char *option, const char *more,
                         double (*weight)(int n, int i))
{
    CW_STR_AUTO listed = {0};
    cw_autofree char *nodes = cw_mem_printf(WEIGHED, n, expr, option, more);
    cw_str_addf(&listed, NUMBERS "{\"op\":\"sample\",\"weights\":[", n);
    for (int i = 0; i < n; i++)
        cw_str_addf(&listed, "%s%.17g", i > 0 ? "," : "", weight(n, i));
    cw_str_addf(&listed, "],\"count\":400%s}", more);
    expect_same_draws(nodes, cw_str_text(&listed));
}

static double rest_of_7(int n, int i)
{
    (void)n;
    return i % 7;
}

/* One in ten has label 1, the others have 0. */
static double rare(int n, int i)
{
    const int ones = (n + 9) / 10;
    return i % 10 == 0 ? 1.0 / ones : 1.0 / (n - ones);
}

static void draws_by_a_field(void **state)
{
    (void)state;
    check_sample(53, "x % 7", "weight_field", "", rest_of_7);
    check_sample(700, "x % 7", "weight_field", ",\"replacement\":false", rest_of_7);
    check_sample(53, "(x % 7) * 1.0", "weight_field", "", rest_of_7);
    check_sample(600, "x % 10 == 0", "balance", "", rare);
    check_sample(603, "where(x % 10 == 0, -5, 7)", "balance", "", rare);
}

/* Behind a surveyed filter, and with strings as labels. */
static void labels_may_be_strings(void **state)
{
    size_t n = 0, rare_n = 0;
    (void)state;
    struct cw_plan *plan = plan_of("{\"op\":\"range\",\"stop\":8},"
                                   "{\"op\":\"from_values\",\"values\":[\"a\",\"a\",\"b\",\"a\","
                                   "\"a\",\"c\",\"a\",\"a\"],\"name\":"
                                   "\"labels\",\"field\":\"label\"},"
                                   "{\"op\":\"zip\",\"inputs\":[\"range\",\"labels\"]},{\"op\":"
                                   "\"filter\",\"expr\":\"x != 5\"},"
                                   "{\"op\":\"sample\",\"balance\":\"label\",\"count\":1000},{"
                                   "\"op\":\"select\",\"names\":\"x\"}",
                                   3);
    cw_autofree int64_t *rows = rows_of(plan, 0, &n);
    assert_int_equal(n, 1000);
    for (size_t i = 0; i < n; i++) {
        assert_int_not_equal(rows[i], 5);
        rare_n += rows[i] == 2; /* the only "b" */
    }
    assert_in_range(rare_n, 400, 600);
    cw_plan_unref(plan);
}

#define BAD_VALUES                                                                                 \
    "{\"op\":\"range\",\"stop\":70},{\"op\":\"eval\",\"expr\":\"100 % (x % 10)\",\"out\":\"w\"},"  \
    "{\"op\":\"sample\",\"weight_field\":\"w\",\"count\":500},{\"op\":\"select\",\"names\":\"x\"}"

static void what_is_bad_is_never_drawn(void **state)
{
    size_t n = 0;
    struct cw_err err = {0};
    struct cw_plan *plan = NULL;
    (void)state;
    struct cw_checked *checked = cw_test_must_check(BAD_VALUES);
    assert_true(cw_plan_prepare(checked, 5, NULL, false, NULL, &plan, &err) < 0);
    assert_non_null(strstr(err.msg, "node \"eval\" (eval), element 0 (number 0): "));
    assert_int_equal(cw_plan_prepare(checked, 5, NULL, true, NULL, &plan, &err), 0);
    cw_checked_unref(checked);
    cw_autofree int64_t *rows = rows_of(plan, 0, &n);
    assert_int_equal(n, 500);
    for (size_t i = 0; i < n; i++)
        assert_true(100 % CW_MAX(rows[i] % 10, 1) > 0);
    cw_plan_unref(plan);
}

static void wrong_fields_are_refused(void **state)
{
    static const char *const wrong[][2] = {
        {"{\"op\":\"sample\",\"balance\":\"z\"}", "option balance: there is no field \"z\""},
        {"{\"op\":\"cast\",\"dtype\":\"f32\"},{\"op\":\"sample\",\"balance\":\"x\"}",
         "is no label"},
        {"{\"op\":\"batch\",\"size\":2},{\"op\":\"sample\",\"weight_field\":\"x\"}",
         "has dimensions"},
        {"{\"op\":\"sample\",\"balance\":\"x\",\"weight_field\":\"x\"}", "give one of them"},
        {"{\"op\":\"shuffle\"},{\"op\":\"sample\",\"balance\":\"x\"}",
         "cannot be found out beforehand, since which elements come to it is another choice"},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(wrong); i++) {
        struct cw_err err = {0};
        cw_autofree char *nodes = cw_mem_printf("{\"op\":\"range\",\"stop\":9},%s", wrong[i][0]);
        struct cw_checked *checked = cw_test_check(nodes, &err);
        if (checked || !strstr(err.msg, wrong[i][1]))
            fail_msg("%s: %s", nodes, err.msg);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(draws_by_a_field),
    cmocka_unit_test(labels_may_be_strings),
    cmocka_unit_test(what_is_bad_is_never_drawn),
    cmocka_unit_test(wrong_fields_are_refused),
};

int main(void)
{
    cw_exec_surveys();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
