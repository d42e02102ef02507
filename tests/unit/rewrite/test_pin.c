/* SPDX-License-Identifier: Apache-2.0 */
/* What depends on where a node stands is written down before it moves. In each case only one such thing
 * matters: with it the moved order gives the same, and without it another result, or none. */
#include "rewrite/pin.h"

#include "plan_runs.h"
#include "support/checked.h"

#define NODES_MAX 6
#define VALUES                                                                                     \
    "{\"op\": \"from_values\", \"values\": ["                                                      \
    "{\"image\": [[[1], [2]], [[3], [4]]], \"v\": [1, 2], \"s\": 3},"                              \
    "{\"image\": [[[5], [6]], [[7], [8]]], \"v\": [3, 4], \"s\": 4},"                              \
    "{\"image\": [[[9], [8]], [[7], [6]]], \"v\": [5, 6], \"s\": 5},"                              \
    "{\"image\": [[[1], [3]], [[5], [7]]], \"v\": [5, 6], \"s\": 6},"                              \
    "{\"image\": [[[2], [3]], [[5], [8]]], \"v\": [7, 8], \"s\": 7}]}"

static const struct {
    const char *what;
    const char *nodes[NODES_MAX]; /* as written */
    const char *order;            /* the plan */
    size_t places[NODES_MAX];     /* the same, as places */
} CASES[] = {
    {"made names",
     {VALUES, "{\"op\": \"random_flip\", \"fields\": [\"image\"]}",
      "{\"op\": \"random_flip\", \"direction\": \"vertical\", \"fields\": [\"image\"]}"},
     "from_values random_flip_2 random_flip",
     {0, 2, 1}},
    {"default fields",
     {VALUES, "{\"op\": \"inflate\", \"factor\": 2}",
      "{\"op\": \"eval\", \"expr\": \"1 + 1\", \"out\": \"new\"}"},
     "from_values eval inflate",
     {0, 2, 1}},
    {"default fields of a chain",
     {VALUES,
      "{\"op\": \"random_apply\", \"p\": 1, \"chain\": [{\"op\": \"inflate\", \"factor\": 2}]}",
      "{\"op\": \"eval\", \"expr\": \"1 + 1\", \"out\": \"new\"}"},
     "from_values eval random_apply",
     {0, 2, 1}},
    {"x",
     {"{\"op\": \"from_values\", \"values\": [1, 2, 3, 4], \"field\": \"n\"}",
      "{\"op\": \"filter\", \"expr\": \"x % 2 == 0\"}",
      "{\"op\": \"eval\", \"expr\": \"1 + 1\", \"out\": \"y\"}"},
     "from_values eval filter",
     {0, 2, 1}},
    {"the field that is replaced",
     {"{\"op\": \"from_values\", \"values\": [1, 2, 3, 4], \"field\": \"n\"}",
      "{\"op\": \"eval\", \"expr\": \"7\"}",
      "{\"op\": \"eval\", \"expr\": \"1 + 1\", \"out\": \"y\"}"},
     "from_values eval_2 eval",
     {0, 2, 1}},
    {"pi",
     {VALUES, "{\"op\": \"eval\", \"expr\": \"s * pi\"}",
      "{\"op\": \"eval\", \"expr\": \"2.5\", \"out\": \"pi\"}"},
     "from_values eval_2 eval",
     {0, 2, 1}},
    {"true",
     {VALUES, "{\"op\": \"filter\", \"expr\": \"(s > 4) == true\"}",
      "{\"op\": \"eval\", \"expr\": \"0 * 1\", \"out\": \"true\"}"},
     "from_values eval filter",
     {0, 2, 1}},
};

static char *join(const char *const *nodes, const size_t *places)
{
    CW_STR_AUTO text = {0};

    for (size_t i = 0; i < NODES_MAX && nodes[i]; i++)
        cw_str_addf(&text, "%s%s", i ? ", " : "", nodes[places ? places[i] : i]);
    return cw_mem_strdup(cw_str_text(&text));
}

static struct cw_hash hash_rewritten(const struct cw_checked *written, const char *order)
{
    struct cw_order_plan plan;
    struct cw_rewritten rewritten;
    struct cw_err err = {0};

    plan_from(order, &plan);
    if (cw_rewrite(written, &plan, &rewritten, &err) < 0)
        fail_msg("%s: %s", order, err.msg);
    struct cw_hash hash = hash_of(rewritten.checked, CW_BAD_FAIL);
    cw_rewritten_fini(&rewritten);
    cw_order_plan_fini(&plan);
    return hash;
}

static void test_what_is_forgotten_is_caught(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(CASES); i++) {
        cw_autofree char *text = join(CASES[i].nodes, NULL);
        cw_autofree char *moved = join(CASES[i].nodes, CASES[i].places);
        struct cw_err err = {0};
        struct cw_checked *written = cw_test_must_check(text), *other = cw_test_check(moved, &err);
        struct cw_hash hash = hash_of(written, CW_BAD_FAIL);

        if (!cw_hash_eq(hash, hash_rewritten(written, CASES[i].order)))
            fail_msg("%s: pinned, the moved order gives something else", CASES[i].what);
        if (other && cw_hash_eq(hash, hash_of(other, CW_BAD_FAIL)))
            fail_msg("%s: forgotten, the moved order gives the same", CASES[i].what);
        cw_checked_unref(other);
        cw_checked_unref(written);
    }
}

static void test_pinned_graphs_give_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(CASES); i++) {
        cw_autofree char *text = join(CASES[i].nodes, NULL);
        struct cw_checked *written = cw_test_must_check(text);
        struct cw_graph *graph = NULL, *again = NULL;
        struct cw_err err = {0};
        CW_STR_AUTO once = {0};
        CW_STR_AUTO twice = {0};

        assert_int_equal(cw_pin_graph(written, &graph, &err), 0);
        cw_graph_print(graph, &once);
        struct cw_checked *pinned = checked_of(graph);
        assert_true(cw_hash_eq(hash_of(written, CW_BAD_FAIL), hash_of(pinned, CW_BAD_FAIL)));
        assert_int_equal(cw_pin_graph(pinned, &again, &err), 0);
        cw_graph_print(again, &twice);
        assert_string_equal(cw_str_text(&once), cw_str_text(&twice));
        cw_graph_unref(again);
        cw_checked_unref(pinned);
        cw_checked_unref(written);
    }
}

/* Nothing that changes a dtype may pass a `normalize`, so this is tried on graphs written by hand: it
 * divides by what it divided by, whatever comes in. */
static void test_scale_of_normalize(void **state)
{
    (void)state;
    struct cw_checked *u8 =
        cw_test_must_check(VALUES ", {\"op\": \"cast\", \"dtype\": \"u8\"},"
                                  "{\"op\": \"normalize\", \"fields\": [\"image\"]}");
    struct cw_checked *f32 =
        cw_test_must_check(VALUES ", {\"op\": \"cast\", \"dtype\": \"f32\"},"
                                  "{\"op\": \"normalize\", \"fields\": [\"image\"]}");
    struct cw_checked *both = cw_test_must_check(
        VALUES
        ", {\"op\": \"cast\", \"dtype\": \"u8\", \"fields\": [\"image\"]}, {\"op\": \"cast\","
        "\"dtype\": \"f32\", \"fields\": [\"v\"]}, {\"op\": \"normalize\"}");
    struct cw_node a, b;

    cw_pin_node(u8, 2, &a);
    cw_pin_node(f32, 2, &b);
    assert_true(cw_value_get(&a.options, "scale")->f == 255);
    assert_true(cw_value_get(&b.options, "scale")->f == 1);
    assert_true(cw_pin_can(u8, 2));
    assert_false(cw_pin_can(both, 3));
    cw_node_fini(&a);
    cw_node_fini(&b);
    cw_checked_unref(u8);
    cw_checked_unref(f32);
    cw_checked_unref(both);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_what_is_forgotten_is_caught),
    cmocka_unit_test(test_pinned_graphs_give_the_same),
    cmocka_unit_test(test_scale_of_normalize),
};

CW_TESTS_MAIN(tests)
