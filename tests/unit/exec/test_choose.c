/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that choose from several inputs, in the engine: what comes, and which random numbers
 * the elements draw. */
#include "base/mem.h"
#include "exec/eval.h"
#include "run.h"
#include "support/cm.h"

#include <string.h>

#define IMAGES ",{\"op\":\"batch\",\"size\":64},{\"op\":\"batch\",\"size\":2}"

/* The images of two ranges of numbers one after the other, and what comes behind them. */
static struct cw_plan *two_inputs(int images_a, int images_b, const char *behind)
{
    cw_autofree char *text = cw_mem_printf(
        "{\"op\":\"range\",\"stop\":%d}" IMAGES ",{\"op\":\"mark\",\"name\":\"a\"},"
        "{\"op\":\"range\",\"start\":0,\"stop\":%d}" IMAGES ",{\"op\":\"mark\",\"name\":\"b\"},"
        "{\"op\":\"concatenate\",\"inputs\":[\"a\",\"b\"]},%s",
        images_a * 128, images_b * 128, behind);
    return plan_of(text, 5);
}

/* Which of the images were flipped: a row of the first value is not the number that it was. */
static void flips(struct cw_plan *plan, bool *ret, size_t n)
{
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(cw_exec_run(plan, 0, i, CW_BAD_FAIL, &batch, &err), 0);
        const int64_t *values = cw_batch_data(batch, 0);
        ret[i] = values[0] % 64 != 0;
        batch = cw_batch_unref(batch);
    }
    cw_plan_unref(plan);
}

#define FLIP "{\"op\":\"random_flip\"}"

/* The draws of the second input stay the same when the first one has an element more, and are others
 * than those of the first. */
static void an_element_more_changes_no_other_draw(void **state)
{
    bool few[80], more[81];
    size_t same = 0;
    (void)state;
    flips(two_inputs(40, 40, FLIP), few, 80);
    flips(two_inputs(41, 40, FLIP), more, 81);
    assert_memory_equal(few, more, 40 * sizeof(bool));
    assert_memory_equal(few + 40, more + 41, 40 * sizeof(bool));
    for (size_t i = 0; i < 40; i++)
        same += few[i] == few[40 + i];
    assert_true(same > 5 && same < 35);
}

static void the_order_of_a_mix_is_that_of_its_slots(void **state)
{
    static const int64_t want[] = {0, 100, 1, 2, 101, 3, 4, 102, 5};
    struct cw_plan *plan = plan_of("{\"op\":\"range\",\"stop\":6,\"name\":\"a\"},"
                                   "{\"op\":\"range\",\"start\":100,\"stop\":110,\"name\":\"b\"},"
                                   "{\"op\":\"mix\",\"inputs\":[\"a\",\"b\"],\"weights\":[2,1]},"
                                   "{\"op\":\"batch\",\"size\":4}",
                                   1);
    size_t n = 0;
    (void)state;
    cw_autofree int64_t *rows = rows_of(plan, 0, &n);
    assert_int_equal(n, 9);
    assert_memory_equal(rows, want, sizeof(want));
    cw_plan_unref(plan);
}

/* Of more than 2^59 elements an id has no room for the number of the input: they are computed, and not cached. */
static void too_many_ids_cannot_be_cached(void **state)
{
    struct cw_plan *plan = plan_of("{\"op\":\"range\",\"stop\":600000000000000000,\"name\":\"a\"},"
                                   "{\"op\":\"range\",\"stop\":3,\"name\":\"b\"},"
                                   "{\"op\":\"interleave\",\"inputs\":[\"b\",\"a\"]},"
                                   "{\"op\":\"take\",\"count\":9}",
                                   1);
    struct cw_plan_cacheable what;
    size_t n = 0;
    (void)state;
    cw_plan_cacheable(plan, node_of(plan, "interleave"), &what);
    assert_non_null(strstr(what.why_not, "more ids"));
    cw_plan_cacheable(plan, node_of(plan, "a"), &what);
    assert_null(what.why_not);
    cw_autofree int64_t *rows = rows_of(plan, 0, &n);
    assert_int_equal(n, 9);
    assert_int_equal(rows[8], 5);
    cw_plan_unref(plan);
}

static void elements_are_named_by_their_source(void **state)
{
    struct cw_plan *plan = two_inputs(2, 2, "{\"op\":\"skip\",\"count\":3}");
    struct cw_walk_at at = {.node = node_of(plan, "skip"), .pos = 0};
    CW_STR_AUTO text = {0};
    int64_t id;
    (void)state;
    cw_eval_describe(plan, 0, &at, &id, &text);
    assert_int_equal(id, 128); /* the first number of the second image of the second input */
    cw_plan_unref(plan);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(an_element_more_changes_no_other_draw),
                                          cmocka_unit_test(the_order_of_a_mix_is_that_of_its_slots),
                                          cmocka_unit_test(too_many_ids_cannot_be_cached),
                                          cmocka_unit_test(elements_are_named_by_their_source)};
CW_TESTS_MAIN(tests)
