/* SPDX-License-Identifier: Apache-2.0 */
/* What real pipelines look like to the policies that go by types and shapes: Pecan's classes, and which
 * neighbours the relaxed constraints let change sides. */
#include "support/cm.h"

#include <string.h>

#include "base/mem.h"
#include "rewrite/pecan_class.h"
#include "rewrite/relaxed.h"

struct pipeline {
    struct cw_graph *graph;
    struct cw_checked *checked;
    struct cw_chain chain;
    struct cw_problem_map map;
    struct cw_optimize_problem problem;
};

/* A profile in which nothing costs anything. */
static struct cw_cost_profile free_profile(const struct cw_graph *graph)
{
    struct cw_cost_profile profile = {.n = graph->n, .elements = 10};

    profile.nodes = CW_NEW_ARRAY(struct cw_cost_profile_node, graph->n);
    for (size_t i = 0; i < graph->n; i++)
        profile.nodes[i] =
            (struct cw_cost_profile_node){.name = cw_mem_strdup(graph->nodes[i].name), .keep = 1};
    return profile;
}

static void parse(const char *nodes, struct pipeline *p)
{
    CW_STR_AUTO text = {0};
    struct cw_err err = {0};

    memset(p, 0, sizeof(*p));
    cw_str_addf(&text, "{\"name\": \"p\", \"pipeline\": [%s]}", nodes);
    for (size_t i = 0; i < text.len; i++)
        if (text.s[i] == '\'')
            text.s[i] = '"';
    if (cw_graph_parse(cw_str_text(&text), text.len, "p", &p->graph, &err) < 0 ||
        cw_graph_check(p->graph, &p->checked, &err) < 0)
        fail_msg("%s: %s", cw_str_text(&text), err.msg);
    struct cw_cost_profile profile = free_profile(p->graph);
    cw_chain_list(p->checked, &p->chain);
    if (cw_problem_from(&p->chain, &profile, &p->problem, &p->map, &err) < 0)
        fail_msg("%s", err.msg);
    cw_cost_profile_fini(&profile);
}

static void fini(struct pipeline *p)
{
    cw_chain_fini(&p->chain);
    cw_checked_unref(p->checked);
    cw_graph_unref(p->graph);
}

#define PHOTOS                                                                                     \
    "{'op': 'files', 'pattern': '/nowhere/*.jpg'}, {'op': 'read_file'}, "                          \
    "{'op': 'decode_image', 'channels': 3}, "

/* ---- Pecan's classes ---- */

static void check_classes(const char *nodes, const double *growth, const enum cw_pecan_class *what)
{
    struct pipeline p;
    struct cw_pecan_op ops[CW_OPTIMIZE_NODES_MAX];

    parse(nodes, &p);
    cw_pecan_classify(p.checked, &p.map, growth, ops);
    for (size_t i = 0; i < p.map.n; i++)
        if (ops[i].what != what[i])
            fail_msg("node %zu of %s: class %d", i, nodes, (int)ops[i].what);
    fini(&p);
}

static void test_classes(void **state)
{
    (void)state;
    double growth[CW_OPTIMIZE_NODES_MAX] = {0};
    check_classes(PHOTOS "{'op': 'resize', 'size': [256, 256]}, {'op': 'random_flip'}, "
                         "{'op': 'cast', 'dtype': 'f32'}, {'op': 'center_crop', 'size': 224}, "
                         "{'op': 'cast', 'dtype': 'f16'}, {'op': 'cast', 'dtype': 'bool'}, "
                         "{'op': 'batch', 'size': 4}",
                  growth,
                  (enum cw_pecan_class[]){CW_PECAN_BARRIER, CW_PECAN_BARRIER, CW_PECAN_BARRIER,
                                          CW_PECAN_AS_LARGE, CW_PECAN_NEUTRAL, CW_PECAN_DEARER_CAST,
                                          CW_PECAN_SMALLER, CW_PECAN_CHEAPER_CAST, CW_PECAN_BARRIER,
                                          CW_PECAN_BARRIER});
    check_classes("{'op': 'range', 'stop': 9}, {'op': 'inflate', 'factor': 6}, "
                  "{'op': 'inflate', 'factor': 2}, {'op': 'emulate', 'ratio': 0.5}, "
                  "{'op': 'eval', 'expr': 'x + 1', 'out': 'y'}",
                  growth,
                  (enum cw_pecan_class[]){CW_PECAN_BARRIER, CW_PECAN_BARRIER, CW_PECAN_LARGER,
                                          CW_PECAN_SMALLER, CW_PECAN_BARRIER});
}

/* The sample decides where shapes are not known; 3 % do not move anything. */
static void test_classes_by_sample(void **state)
{
    (void)state;
    static const double GROWTHS[] = {0.97, 0.9, 1.04, 1.2, 0};
    static const enum cw_pecan_class WHAT[] = {
        CW_PECAN_AS_LARGE, CW_PECAN_SMALLER, CW_PECAN_AS_LARGE, CW_PECAN_LARGER, CW_PECAN_AS_LARGE};
    struct pipeline p;
    struct cw_pecan_op ops[CW_OPTIMIZE_NODES_MAX];
    parse(PHOTOS
          "{'op': 'random_flip'}, {'op': 'resize', 'size': [256, 256]}, {'op': 'random_flip'}",
          &p);
    for (size_t i = 0; i < p.map.n; i++)
        assert_int_equal(cw_pecan_wants_sample(p.checked, &p.map, i), i == 4);
    for (size_t i = 0; i < CW_ARRAY_LEN(GROWTHS); i++) {
        double growth[CW_OPTIMIZE_NODES_MAX] = {0};
        growth[4] = GROWTHS[i];
        cw_pecan_classify(p.checked, &p.map, growth, ops);
        assert_int_equal(ops[4].what, WHAT[i]);
        assert_true(ops[3].keeps_dims && !ops[4].keeps_dims && !ops[2].keeps_dims);
    }
    fini(&p);
}

/* ---- relaxed constraints ---- */

/* Whether the operator at place b may be done before the one at place a. */
static bool may(const char *nodes, size_t a, size_t b)
{
    struct pipeline p;

    parse(nodes, &p);
    bool exact = cw_chain_why_not(&p.chain, a, b) == NULL;
    bool relaxed = cw_relaxed_why_not(&p.chain, a, b) == NULL;
    assert_true(relaxed || !exact); /* what is exact is relaxed, too */
    cw_problem_relax(&p.chain, &p.problem);
    assert_int_equal((p.problem.nodes[b].behind >> a & 1) == 0, relaxed);
    fini(&p);
    return relaxed && !exact;
}

#define EMULATE "{'op': 'emulate', 'ns': 5, 'random': true, 'fields': 'image'}, "
#define RESIZE "{'op': 'resize', 'size': [256, 256], 'fields': 'image'}"
#define FLIP "{'op': 'random_flip', 'fields': 'image'}, "

static void test_what_may_move(void **state)
{
    (void)state;
    assert_true(may(PHOTOS EMULATE RESIZE, 3, 4));
    assert_true(may(PHOTOS FLIP RESIZE, 3, 4));
    assert_true(may(PHOTOS FLIP EMULATE RESIZE, 4, 5));
    /* what is needed, and what comes out otherwise */
    assert_false(may(PHOTOS RESIZE, 2, 3));
    assert_false(may(PHOTOS RESIZE, 1, 2));
    assert_false(may(PHOTOS RESIZE ", {'op': 'center_crop', 'size': 224}", 3, 4));
    assert_false(may("{'op': 'range', 'stop': 9}, {'op': 'cast', 'dtype': 'f32'}, "
                     "{'op': 'cast', 'dtype': 'f64'}",
                     1, 2));
    assert_true(may("{'op': 'range', 'stop': 9}, {'op': 'eval', 'expr': 'x * 2'}, "
                    "{'op': 'eval', 'expr': 'x + 1'}",
                    1, 2));
}

static void test_what_stays(void **state)
{
    (void)state;
    assert_false(
        may(PHOTOS "{'op': 'emulate', 'name': 'e', 'random': true, 'keep_position': true}," RESIZE,
            3, 4));
    assert_false(may(PHOTOS "{'op': 'emulate', 'name': 'e', 'random': true}, {'op': 'resize', "
                            "'size': [9, 9], 'depends_on': 'e'}",
                     3, 4));
    assert_false(may(PHOTOS EMULATE RESIZE ", {'op': 'batch', 'size': 2}", 4, 5));
    assert_false(may("{'op': 'range', 'stop': 9}, {'op': 'eval', 'expr': 'x * 2'}, "
                     "{'op': 'filter', 'expr': 'x > 4'}",
                     1, 2));
    assert_false(may("{'op': 'range', 'stop': 9}, {'op': 'emulate', 'random': true}, "
                     "{'op': 'mark', 'name': 'm'}, {'op': 'emulate', 'random': true}",
                     1, 2));
}

/* The whole order is inferred, since pairs need not show everything. */
static void test_order_is_checked(void **state)
{
    (void)state;
    struct pipeline p;
    struct cw_err err = {0};
    size_t order[] = {0, 1, 2, 4, 3};
    parse(PHOTOS EMULATE RESIZE, &p);
    assert_int_equal(cw_relaxed_check(&p.chain, order, &err), 0);
    order[2] = 3, order[4] = 2, order[3] = 4;
    assert_int_equal(cw_relaxed_check(&p.chain, order, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "in the relaxed order"));
    fini(&p);
    parse("{'op': 'range', 'stop': 9}, {'op': 'cast', 'dtype': 'f32'}, {'op': 'cast', 'dtype': "
          "'f64'}",
          &p);
    assert_int_equal(cw_relaxed_check(&p.chain, (size_t[]){0, 2, 1}, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "other types or shapes"));
    fini(&p);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_classes),          cmocka_unit_test(test_classes_by_sample),
    cmocka_unit_test(test_what_may_move),    cmocka_unit_test(test_what_stays),
    cmocka_unit_test(test_order_is_checked),
};

CW_TESTS_MAIN(tests)
