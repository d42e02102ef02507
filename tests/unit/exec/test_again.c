/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that give an element several times, or number elements, in the engine: which elements come,
 * which random numbers they draw, and what may be cached. */
#include "base/mem.h"
#include "run.h"
#include "support/cm.h"

#include <string.h>

#define IMAGES                                                                                     \
    "{\"op\":\"range\",\"stop\":5120},{\"op\":\"batch\",\"size\":64},{\"op\":\"batch\",\"size\":"  \
    "2}"
#define FLIP "{\"op\":\"random_flip\"}"

/* The elements of an epoch, which are images of 128 numbers: the number of each, and whether it was
 * flipped. */
struct seen {
    int64_t image[400];
    bool flipped[400];
    size_t n;
};

static void look(const char *nodes, uint64_t epoch, struct seen *ret)
{
    struct cw_plan *plan = plan_of(nodes, 5);
    struct cw_err err = {0};
    ret->n = (size_t)cw_plan_info(plan)->items;
    assert_true(ret->n <= 400);
    for (size_t i = 0; i < ret->n; i++) {
        struct cw_batch *batch = NULL;
        assert_int_equal(cw_exec_run(plan, epoch, i, CW_BAD_FAIL, &batch, &err), 0);
        const int64_t *values = cw_batch_data(batch, 0);
        ret->image[i] = values[0] / 128;
        ret->flipped[i] = values[0] % 64 != 0;
        cw_batch_unref(batch);
    }
    cw_plan_unref(plan);
}

static size_t flips(const struct seen *seen)
{
    size_t n = 0;
    for (size_t i = 0; i < seen->n; i++)
        n += seen->flipped[i];
    return n;
}

/* Repetitions stand side by side though a shuffle is before them; the first of each draws as without
 * them, the others by themselves. */
static void check_repetitions(const char *before, const char *behind, const struct seen *plain)
{
    cw_autofree char *nodes = cw_mem_printf(
        IMAGES ",{\"op\":\"shuffle\"}%s,{\"op\":\"repeat_each\",\"count\":3}%s", before, behind);
    struct seen seen;
    size_t same = 0;
    look(nodes, 1, &seen);
    assert_int_equal(seen.n, 3 * plain->n);
    for (size_t i = 0; i < plain->n; i++) {
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(seen.image[3 * i + k], plain->image[i]);
        assert_int_equal(seen.flipped[3 * i], plain->flipped[i]);
        same += seen.flipped[3 * i] == seen.flipped[3 * i + 1];
        same += seen.flipped[3 * i + 1] == seen.flipped[3 * i + 2];
    }
    assert_true(same > 10 && same < 70); /* of 80, half of them on average */
    assert_true(flips(&seen) > 30 && flips(&seen) < 90);
}

static void repetitions_are_of_one_element(void **state)
{
    struct seen plain;
    (void)state;
    look(IMAGES ",{\"op\":\"shuffle\"}," FLIP, 1, &plain);
    assert_int_equal(plain.n, 40);
    check_repetitions("", "," FLIP, &plain);
    check_repetitions("," FLIP, "", &plain);
}

/* An order goes on with repetitions of the whole, and not with those of each element. */
static void a_shuffle_below_both_is_permuted_by_one(void **state)
{
    struct seen seen;
    size_t moved = 0;
    (void)state;
    look(IMAGES ",{\"op\":\"shuffle\"},{\"op\":\"repeat_each\",\"count\":2},"
                "{\"op\":\"repeat\",\"count\":2}",
         0, &seen);
    assert_int_equal(seen.n, 160);
    for (size_t i = 0; i < 160; i += 2)
        assert_int_equal(seen.image[i], seen.image[i + 1]);
    for (size_t i = 0; i < 80; i++)
        moved += seen.image[i] != seen.image[80 + i];
    assert_true(moved > 60);
}

static void draws_of_one_element_differ(void **state)
{
    struct seen seen;
    (void)state;
    look(IMAGES ",{\"op\":\"take\",\"count\":1},{\"op\":\"sample\",\"count\":100}," FLIP, 0, &seen);
    assert_int_equal(seen.n, 100);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(seen.image[i], 0);
    assert_true(flips(&seen) > 25 && flips(&seen) < 75);
}

/* How often each of three elements is drawn follows the weights: 0, 1 and 3. */
static void draws_follow_the_weights(void **state)
{
    struct cw_plan *plan = plan_of("{\"op\":\"range\",\"stop\":3},"
                                   "{\"op\":\"sample\",\"count\":40000,\"weights\":[0,1,3]},"
                                   "{\"op\":\"batch\",\"size\":1000}",
                                   3);
    size_t n = 0, count[3] = {0};
    (void)state;
    cw_autofree int64_t *rows = rows_of(plan, 0, &n);
    assert_int_equal(n, 40000);
    for (size_t i = 0; i < n; i++)
        count[rows[i]]++;
    assert_int_equal(count[0], 0);
    assert_true(count[1] > 9650 && count[1] < 10350); /* 10,000 and four standard deviations */
    cw_plan_unref(plan);
}

/* Without replacement the first of many orders is drawn by the weights, too. */
static void orders_follow_the_weights(void **state)
{
    struct cw_plan *plan =
        plan_of("{\"op\":\"range\",\"stop\":3},{\"op\":\"sample\",\"weights\":[1,1,2],"
                "\"replacement\":false},{\"op\":\"repeat\",\"count\":8000},"
                "{\"op\":\"batch\",\"size\":3}",
                3);
    size_t n = 0, first[3] = {0};
    (void)state;
    cw_autofree int64_t *rows = rows_of(plan, 0, &n);
    assert_int_equal(n, 24000);
    for (size_t i = 0; i < n; i += 3) {
        first[rows[i]]++;
        assert_int_equal(rows[i] + rows[i + 1] + rows[i + 2], 3);
        assert_int_equal(rows[i] * rows[i + 1] * rows[i + 2], 0);
    }
    assert_true(first[2] > 3820 && first[2] < 4180); /* 4,000 and four standard deviations */
    cw_plan_unref(plan);
}

/* The numbers of enumerate, which are its second field, whatever is before and behind it. */
static void positions_are_those_at_the_operator(void **state)
{
    struct cw_plan *plan = plan_of("{\"op\":\"range\",\"stop\":100},{\"op\":\"shuffle\"},"
                                   "{\"op\":\"enumerate\"},{\"op\":\"skip\",\"count\":10},"
                                   "{\"op\":\"eval\",\"expr\":\"x\",\"out\":\"y\"},"
                                   "{\"op\":\"batch\",\"size\":90}",
                                   7);
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    int64_t sum = 0;
    (void)state;
    assert_int_equal(cw_exec_run(plan, 0, 0, CW_BAD_FAIL, &batch, &err), 0);
    assert_string_equal(batch->tensors[1].field.name, "position");
    const int64_t *x = cw_batch_data(batch, 0), *position = cw_batch_data(batch, 1),
                  *y = cw_batch_data(batch, 2);
    for (int64_t i = 0; i < 90; i++) {
        assert_int_equal(position[i], 10 + i);
        assert_int_equal(x[i], y[i]);
        sum += x[i] == i + 10;
    }
    assert_true(sum < 10);
    cw_batch_unref(batch);
    cw_plan_unref(plan);
}

static const char *why_not(const char *nodes, const char *name)
{
    struct cw_plan *plan = plan_of(nodes, 1);
    struct cw_plan_cacheable what;
    cw_plan_cacheable(plan, node_of(plan, name), &what);
    cw_plan_unref(plan);
    return what.why_not;
}

static void only_positions_that_are_ids_are_cached(void **state)
{
    (void)state;
    assert_null(why_not("{\"op\":\"range\",\"stop\":9},{\"op\":\"enumerate\"},{\"op\":\"shuffle\"},"
                        "{\"op\":\"eval\",\"expr\":\"x+position\",\"out\":\"y\"}",
                        "eval"));
    assert_non_null(strstr(
        why_not("{\"op\":\"range\",\"stop\":9},{\"op\":\"skip\",\"count\":1},"
                "{\"op\":\"enumerate\"},{\"op\":\"eval\",\"expr\":\"x+position\",\"out\":\"y\"}",
                "eval"),
        "before they were numbered"));
    assert_null(why_not("{\"op\":\"range\",\"stop\":9},{\"op\":\"repeat_each\",\"count\":2},"
                        "{\"op\":\"eval\",\"expr\":\"x+1\"}",
                        "eval"));
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(repetitions_are_of_one_element),
                                          cmocka_unit_test(a_shuffle_below_both_is_permuted_by_one),
                                          cmocka_unit_test(draws_of_one_element_differ),
                                          cmocka_unit_test(draws_follow_the_weights),
                                          cmocka_unit_test(orders_follow_the_weights),
                                          cmocka_unit_test(positions_are_those_at_the_operator),
                                          cmocka_unit_test(only_positions_that_are_ids_are_cached)};
CW_TESTS_MAIN(tests)
