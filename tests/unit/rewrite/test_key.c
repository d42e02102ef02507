/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of cached elements: they depend on which operators stand before a node, not on their order, unless
 * the order shows. */
#include "rewrite/key.h"

#include "plan_runs.h"
#include "support/checked.h"

#define SOURCE                                                                                     \
    "{\"op\": \"from_values\", \"values\": [{\"v\": [1, 2], \"s\": 1}, {\"v\": [3, 4], \"s\": "    \
    "2}]}"
#define DOUBLE "{\"op\": \"eval\", \"expr\": \"v * 2\", \"out\": \"v\", \"name\": \"double\"}"
#define NEXT "{\"op\": \"eval\", \"expr\": \"s + 1\", \"out\": \"s\", \"name\": \"next\"}"
#define FEW "{\"op\": \"filter\", \"expr\": \"s > 1\", \"name\": \"few\"}"
#define GROW "{\"op\": \"inflate\", \"factor\": 2, \"fields\": \"v\", \"name\": \"grow\"}"

static struct cw_hash key_of(const char *nodes, bool by_set)
{
    struct cw_checked *checked = cw_test_must_check(nodes);

    if (by_set)
        cw_key_set(checked);
    struct cw_hash key = checked->nodes[checked->graph->n - 1].element;
    cw_checked_unref(checked);
    return key;
}

static bool is_same(const char *a, const char *b)
{
    return cw_hash_eq(key_of(a, true), key_of(b, true));
}

static void test_order_that_does_not_show(void **state)
{
    (void)state;
    assert_false(cw_hash_eq(key_of(SOURCE "," DOUBLE "," NEXT, false),
                            key_of(SOURCE "," NEXT "," DOUBLE, false)));
    assert_true(is_same(SOURCE "," DOUBLE "," NEXT, SOURCE "," NEXT "," DOUBLE));
    assert_true(is_same(SOURCE "," DOUBLE "," GROW "," NEXT, SOURCE "," NEXT "," GROW "," DOUBLE));
    assert_true(is_same(SOURCE "," DOUBLE "," FEW "," NEXT, SOURCE "," FEW "," NEXT "," DOUBLE));
}

static void test_order_that_shows(void **state)
{
    (void)state;
    assert_false(is_same(SOURCE "," NEXT "," FEW, SOURCE "," FEW "," NEXT));
    assert_false(is_same(SOURCE "," DOUBLE "," NEXT, SOURCE "," DOUBLE));
    assert_false(is_same(SOURCE "," DOUBLE, SOURCE "," NEXT));
    assert_false(is_same(SOURCE "," DOUBLE ", {\"op\": \"batch\", \"size\": 2}," NEXT,
                         SOURCE "," NEXT ", {\"op\": \"batch\", \"size\": 2}," DOUBLE));
}

/* In the one order an element is bad that is left out in the other. */
static void test_bad_elements(void **state)
{
    (void)state;
    static const char DIVIDE[] = ", {\"op\": \"eval\", \"expr\": \"100 % s\", \"out\": \"v\"}";
    static const char DROP[] = ", {\"op\": \"filter\", \"expr\": \"s > 0\"}";
    cw_autofree char *a = cw_mem_printf("%s%s%s", SOURCE, DIVIDE, DROP);
    cw_autofree char *b = cw_mem_printf("%s%s%s", SOURCE, DROP, DIVIDE);

    assert_false(is_same(a, b));
}

/* A name that is a field in the one order and a number in the other. */
static void test_name_that_changes(void **state)
{
    (void)state;
    assert_false(is_same(
        SOURCE ", {\"op\": \"eval\", \"expr\": \"s * pi\"},"
               "{\"op\": \"eval\", \"expr\": \"2.5\", \"out\": \"pi\"}",
        SOURCE ", {\"op\": \"eval\", \"expr\": \"2.5\", \"out\": \"pi\", \"name\": \"eval_2\"},"
               "{\"op\": \"eval\", \"expr\": \"s * pi\", \"out\": \"s\", \"name\": \"eval\"}"));
    assert_false(is_same(SOURCE ", {\"op\": \"eval\", \"expr\": \"s * inf\", \"out\": \"s\"},"
                                "{\"op\": \"eval\", \"expr\": \"2.5\", \"out\": \"inf\"}",
                         SOURCE ", {\"op\": \"eval\", \"expr\": \"2.5\", \"out\": \"inf\"},"
                                "{\"op\": \"eval\", \"expr\": \"s * inf\", \"out\": \"s\"}"));
}

/* Caches that were filled before keys went by sets stay of use where nothing can move. */
static void test_where_nothing_can_move(void **state)
{
    (void)state;
    static const char *const FIXED[] = {
        SOURCE "," NEXT "," FEW,
        SOURCE "," DOUBLE,
        SOURCE "," DOUBLE ", {\"op\": \"batch\", \"size\": 2}",
        SOURCE
        ", {\"op\": \"shuffle\"}, {\"op\": \"eval\", \"expr\": \"v + s\", \"out\": \"v\"}," DOUBLE,
    };

    for (size_t i = 0; i < CW_ARRAY_LEN(FIXED); i++)
        assert_true(cw_hash_eq(key_of(FIXED[i], false), key_of(FIXED[i], true)));
}

/* Positions are mapped before anything is computed, so the keys of elements do not tell at which side of an index operator
 * they were made. */
static void test_past_index_operators(void **state)
{
    (void)state;
    assert_true(is_same(SOURCE "," DOUBLE ", {\"op\": \"shuffle\"}," NEXT,
                        SOURCE "," NEXT ", {\"op\": \"shuffle\"}," DOUBLE));
    assert_true(is_same(SOURCE "," DOUBLE "," NEXT ", {\"op\": \"take\", \"count\": 1}",
                        SOURCE "," NEXT ", {\"op\": \"take\", \"count\": 1}," DOUBLE));
    assert_false(is_same(SOURCE "," DOUBLE ", {\"op\": \"shuffle\"}," NEXT,
                         SOURCE "," DOUBLE ", {\"op\": \"shuffle\"}"));
}

static size_t find(const struct cw_checked *checked, const char *name)
{
    size_t i = 0;

    while (!cw_str_eq(checked->graph->nodes[i].name, name))
        i++;
    return i;
}

/* All that stands before `few` and `next` is the same in both orders, and nothing is so of `grow`. Pinning
 * does not show: `v * 2` has no `out`. */
static void test_plans_of_one_pipeline(void **state)
{
    (void)state;
    struct cw_checked *written = cw_test_must_check(
        SOURCE ", {\"op\": \"eval\", \"expr\": \"v * 2\"}, {\"op\": \"inflate\", \"factor\": 2,"
               "\"name\": \"grow\", \"fields\": \"v\"}," FEW "," NEXT);
    struct cw_rewritten made;
    struct cw_order_plan plan;
    struct cw_err err = {0};

    plan_from("from_values few grow eval next", &plan);
    assert_int_equal(cw_rewrite(written, &plan, &made, &err), 0);
    cw_key_set(written);
    cw_key_set_rewritten(made.checked, written);
    assert_true(cw_hash_eq(written->nodes[find(written, "next")].element,
                           made.checked->nodes[find(made.checked, "next")].element));
    assert_true(cw_hash_eq(written->nodes[find(written, "few")].element,
                           made.checked->nodes[find(made.checked, "eval")].element));
    assert_false(cw_hash_eq(written->nodes[find(written, "grow")].element,
                            made.checked->nodes[find(made.checked, "grow")].element));
    cw_rewritten_fini(&made);
    cw_order_plan_fini(&plan);
    cw_checked_unref(written);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_order_that_does_not_show),
    cmocka_unit_test(test_order_that_shows),
    cmocka_unit_test(test_bad_elements),
    cmocka_unit_test(test_name_that_changes),
    cmocka_unit_test(test_where_nothing_can_move),
    cmocka_unit_test(test_past_index_operators),
    cmocka_unit_test(test_plans_of_one_pipeline),
};

CW_TESTS_MAIN(tests)
