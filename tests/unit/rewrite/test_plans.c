/* SPDX-License-Identifier: Apache-2.0 */
/* Random pipelines give the same bytes in the written order, in the order that the optimizer finds for
 * random costs, and in any exact order. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "plan_runs.h"
#include "rewrite/hoist.h"
#include "rewrite/pin.h"
#include "rewrite/problem.h"
#include "support/cm.h"

#define OPS_MAX 7
#define ELEMENTS 9
#ifndef PIPELINES      /* sanitizer builds try fewer */
#define PIPELINES 4000 /* CACHEW_TEST_PLANS=10000 tries more */
#endif
#define WRONG 300 /* of them in an order that need not be exact */

static uint64_t state_of_random = 0x9e3779b97f4a7c15u;

static uint64_t random_below(uint64_t n)
{
    state_of_random += 0x9e3779b97f4a7c15u;
    return cw_mix64(state_of_random) % n;
}

static const char *one_of(const char *const *texts, size_t n)
{
    return texts[random_below(n)];
}

/* ---- pipelines ---- */

static void add_list(struct cw_str *out, size_t n, size_t m, size_t depth)
{
    cw_str_add_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        cw_str_add(out, i ? "," : "");
        if (depth > 1)
            add_list(out, m, 2, depth - 1);
        else
            cw_str_addf(out, "%d", (int)random_below(256));
    }
    cw_str_add_char(out, ']');
}

/* Fields: an image, a list and a number, or all but the number. */
static void add_source(struct cw_str *out, bool has_number)
{
    size_t h = 1 + random_below(5), w = 1 + random_below(5);

    cw_str_add(out, "{\"op\":\"from_values\",\"name\":\"from_values\",\"values\":[");
    for (size_t i = 0; i < ELEMENTS; i++) {
        cw_str_addf(out, "%s{\"image\":", i ? "," : "");
        add_list(out, h, w, 3);
        cw_str_add(out, ",\"v\":");
        add_list(out, 3, 0, 1);
        if (has_number)
            cw_str_addf(out, ",\"s\":%d", (int)random_below(7) - 2);
        cw_str_add(out, "}");
    }
    cw_str_add(out, "]}");
    if (random_below(2))
        cw_str_add(out, ",{\"op\":\"shuffle\"}");
    if (random_below(8))
        cw_str_addf(out, ",{\"op\":\"cast\",\"dtype\":\"%s\",\"fields\":\"image\"}",
                    random_below(2) ? "u8" : "f32");
}

/* The number, of fewer elements now and then. */
static void add_numbers(struct cw_str *out)
{
    size_t n = ELEMENTS - random_below(3);

    cw_str_add(out, ",{\"op\":\"from_values\",\"name\":\"numbers\",\"field\":\"s\",\"values\":[");
    for (size_t i = 0; i < n; i++)
        cw_str_addf(out, "%s%d", i ? "," : "", (int)random_below(7) - 2);
    cw_str_add(out, "]}");
}

static const char *const OPS[] = {
    "\"random_flip\"",
    "\"random_flip\",\"fields\":\"image\"",
    "\"random_flip\",\"direction\":\"vertical\",\"fields\":\"image\"",
    "\"random_flip\",\"p\":0.9,\"fields\":\"image\"",
    "\"center_crop\",\"size\":2,\"fields\":\"image\"",
    "\"center_crop\",\"size\":[3,4],\"fields\":\"image\"",
    "\"center_crop\",\"size\":7,\"fields\":\"image\"",
    "\"resize\",\"size\":3,\"fields\":\"image\"",
    "\"random_resized_crop\",\"size\":2,\"fields\":\"image\"",
    "\"normalize\"",
    "\"normalize\",\"mean\":0.5,\"std\":0.25,\"fields\":\"image\"",
    "\"normalize\",\"mean\":[0.5,0.25],\"fields\":\"image\"",
    "\"cast\",\"dtype\":\"f32\",\"fields\":\"image\"",
    "\"cast\",\"dtype\":\"i16\",\"fields\":\"v\"",
    "\"cast\",\"dtype\":\"f64\"",
    "\"inflate\",\"factor\":2,\"fields\":\"v\"",
    "\"inflate\",\"factor\":2",
    "\"eval\",\"expr\":\"image * 2\"",
    "\"eval\",\"expr\":\"image + s\",\"out\":\"image\"",
    "\"eval\",\"expr\":\"image * -1\"",
    "\"eval\",\"expr\":\"s + 1\"",
    "\"eval\",\"expr\":\"v * s\",\"out\":\"v\"",
    "\"eval\",\"expr\":\"100 % s\"",
    "\"eval\",\"expr\":\"v * pi\"",
    "\"eval\",\"expr\":\"s * 3\",\"out\":\"more\"",
    "\"eval\",\"expr\":\"s / 3\",\"out\":\"pi\"",
    "\"filter\",\"expr\":\"s > 0\"",
    "\"filter\",\"expr\":\"s != 0\"",
    "\"filter\",\"expr\":\"100 % s < 50\"",
    "\"filter\",\"expr\":\"v > 20\"",
    "\"filter\",\"expr\":\"image < 250\"",
    "\"filter\",\"expr\":\"s != 1\",\"survey\":true",
    "\"burn\",\"ms\":0",
    "\"sleep\",\"ms\":0",
};

/* What chooses elements by their places. */
static const char *const MAPS[] = {
    "\"shuffle\"",
    "\"take\",\"count\":7",
    "\"skip\",\"count\":2",
    "\"step\",\"every\":2",
    "\"repeat\",\"count\":2",
    "\"repeat_each\",\"count\":2",
    "\"sample\",\"count\":5,\"balance\":\"s\"",
};

static void add_ops(struct cw_str *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cw_str_addf(out, ",{\"op\":%s", one_of(OPS, CW_ARRAY_LEN(OPS)));
        if (random_below(3) == 0)
            cw_str_addf(out, ",\"name\":\"n%zu\"", i);
        if (random_below(12) == 0)
            cw_str_add(out, ",\"keep_position\":true");
        if (random_below(12) == 0)
            cw_str_add(out, ",\"depends_on\":\"from_values\"");
        cw_str_add(out, "}");
        if (random_below(16) == 0)
            cw_str_addf(out, ",{\"op\":\"mark\",\"name\":\"m%zu\"}", i);
        if (random_below(6) == 0)
            cw_str_addf(out, ",{\"op\":%s}", one_of(MAPS, CW_ARRAY_LEN(MAPS)));
    }
}

/* One source, or two that meet behind operators on the first. */
static void add_nodes(struct cw_str *out)
{
    const bool meet = random_below(3) == 0;

    add_source(out, !meet);
    if (meet) {
        const size_t n = random_below(4);
        for (size_t i = 0; i < n; i++)
            cw_str_addf(out, ",{\"op\":%s,\"name\":\"b%zu\"}", one_of(OPS, CW_ARRAY_LEN(OPS)), i);
        cw_str_add(out, ",{\"op\":\"burn\",\"ms\":0,\"name\":\"left\"}");
        add_numbers(out);
        cw_str_add(out, ",{\"op\":\"zip\",\"inputs\":[\"left\",\"numbers\"]}");
    }
    add_ops(out, 2 + random_below(OPS_MAX - 1));
    if (random_below(3) == 0)
        cw_str_add(out, ",{\"op\":\"batch\",\"size\":2}");
}

/* Whether it can be opened: where labels are counted, no element may be bad. */
static bool can_open(struct cw_checked *checked)
{
    struct cw_plan *plan = NULL;
    struct cw_err err = {0};
    bool can = cw_plan_new(checked, 7, NULL, &plan, &err) == 0;

    cw_plan_unref(plan);
    return can;
}

/* A pipeline that is accepted. */
static struct cw_checked *make_pipeline(void)
{
    struct cw_checked *checked = NULL;

    while (!checked) {
        CW_STR_AUTO text = {0};
        struct cw_graph *graph = NULL;
        struct cw_err err = {0};
        cw_str_add(&text, "{\"pipeline\":[");
        add_nodes(&text);
        cw_str_add(&text, "]}");
        if (cw_graph_parse(cw_str_text(&text), text.len, "", &graph, &err) == 0 &&
            cw_graph_check(graph, &checked, &err) < 0)
            checked = NULL;
        if (checked && !can_open(checked))
            checked = cw_checked_unref(checked);
        cw_graph_unref(graph);
    }
    return checked;
}

/* ---- orders ---- */

static void name_order(const struct cw_chain *chain, const size_t *places,
                       struct cw_order_plan *ret_plan)
{
    const struct cw_graph *graph = chain->checked->graph;

    *ret_plan = (struct cw_order_plan){.n = graph->n, .order = CW_NEW_ARRAY(char *, graph->n)};
    for (size_t i = 0; i < graph->n; i++)
        ret_plan->order[i] = cw_mem_strdup(
            graph->nodes[i < chain->first ? i : chain->first + places[i - chain->first]].name);
}

static bool is_ready(const struct cw_chain *chain, const bool *done, size_t place)
{
    for (size_t a = 0; a < place; a++)
        if (!done[a] && cw_chain_why_not(chain, a, place))
            return false;
    return !done[place];
}

static void random_exact(const struct cw_chain *chain, size_t *places)
{
    bool done[CW_OPTIMIZE_NODES_MAX] = {false};

    for (size_t n = 0; n < chain->n; n++) {
        size_t place;
        do
            place = random_below(chain->n);
        while (!is_ready(chain, done, place));
        done[place] = true;
        places[n] = place;
    }
}

static double random_cost(void)
{
    return (double)random_below(1000) * (random_below(3) ? 1 : 1e4);
}

static void make_profile(const struct cw_checked *checked, struct cw_cost_profile *ret_profile)
{
    size_t n = checked->graph->n;

    *ret_profile = (struct cw_cost_profile){
        .elements = 1000, .nodes = CW_NEW_ARRAY(struct cw_cost_profile_node, n), .n = n};
    for (size_t i = 0; i < n; i++)
        ret_profile->nodes[i] =
            (struct cw_cost_profile_node){.name = cw_mem_strdup(checked->graph->nodes[i].name),
                                          .ns = random_cost(),
                                          .ns_byte = random_cost() / 1000,
                                          .keep = (double)random_below(101) / 100};
    ret_profile->has_store = random_below(2);
    ret_profile->store.free_bytes = -1;
}

/* What the optimizer finds for random costs; a cache may stand in it. */
static void best_plan(const struct cw_chain *chain, struct cw_order_plan *ret_plan)
{
    struct cw_cost_profile profile;
    struct cw_optimize_problem *problem = CW_NEW(struct cw_optimize_problem);
    struct cw_optimize_plan best;
    struct cw_problem_map map;
    struct cw_err err = {0};

    make_profile(chain->checked, &profile);
    if (cw_problem_from(chain, &profile, problem, &map, &err) < 0)
        fail_msg("%s", err.msg);
    problem->epochs = (double)(1 + random_below(9));
    problem->threads = 1;
    problem->remote_max = 1;
    cw_optimize(problem, &best);
    name_order(chain, best.order, ret_plan);
    const char *cached = cw_optimize_cached_name(problem, &best);
    if (cached)
        ret_plan->cache = cw_mem_strdup(cached);
    cw_mem_free(problem);
    cw_cost_profile_fini(&profile);
}

/* ---- comparing ---- */

static bool is_as_written(const struct cw_checked *checked, const struct cw_order_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++)
        if (!cw_str_eq(checked->graph->nodes[i].name, plan->order[i]))
            return false;
    return true;
}

/* Returns whether something was moved. */
static bool try_plan(struct cw_checked *written, const struct outcome *was,
                     enum cw_bad_elements bad, struct cw_order_plan *plan, const char *what)
{
    struct cw_rewritten made;
    struct cw_err err = {0};
    CW_STR_AUTO text = {0};

    cw_graph_print(written->graph, &text);
    if (cw_rewrite(written, plan, &made, &err) < 0)
        fail_msg("%s plan of %s: %s", what, cw_str_text(&text), err.msg);
    if (plan->cache && made.no_cache)
        fail_msg("%s plan of %s: cache behind %s: %s", what, cw_str_text(&text), plan->cache,
                 made.no_cache);
    struct outcome is = outcome_beside(written, made.checked, bad);
    if (!outcome_is(was, &is)) {
        cw_graph_print(made.checked->graph, &text);
        fail_msg("%s plan: %s", what, cw_str_text(&text));
    }
    bool is_moved = !is_as_written(written, plan);
    outcome_fini(&is);
    cw_rewritten_fini(&made);
    cw_order_plan_fini(plan);
    return is_moved;
}

/* Any order, whether exact or not. Returns whether it came out differently, or not at all. */
static bool try_wrong(const struct cw_chain *chain, const struct outcome *was,
                      enum cw_bad_elements bad)
{
    const struct cw_graph *graph = chain->checked->graph;
    struct cw_graph_builder *builder = cw_graph_builder_new("");
    struct cw_graph *moved = NULL;
    struct cw_checked *checked = NULL;
    struct cw_err err = {0};
    size_t swapped = chain->n > 3 ? 1 + random_below(chain->n - 2) : 0;

    for (size_t i = 0; i < graph->n; i++) {
        struct cw_node node;
        size_t from = swapped && i == swapped ? i + 1 : swapped && i == swapped + 1 ? i - 1 : i;
        cw_pin_node(chain->checked, from, &node);
        cw_graph_builder_add(builder, &node, NULL, 0);
    }
    bool is_other = cw_graph_builder_finish(builder, &moved, &err) < 0 ||
                    cw_graph_check(moved, &checked, &err) < 0;
    cw_graph_builder_free(builder);
    if (!is_other) {
        struct outcome is = outcome_of(checked, bad);
        is_other = !outcome_is(was, &is);
        outcome_fini(&is);
    }
    cw_checked_unref(checked);
    cw_graph_unref(moved);
    return is_other;
}

static void test_plans_give_the_same(void **state)
{
    const char *more = getenv("CACHEW_TEST_PLANS");
    size_t n = more ? strtoul(more, NULL, 10) : PIPELINES, moved = 0, wrong = 0, hoisted_n = 0;

    (void)state;
    cw_exec_surveys();
    for (size_t i = 0; i < n; i++) {
        enum cw_bad_elements bad = random_below(3) ? CW_BAD_SKIP : CW_BAD_FAIL;
        struct cw_checked *written = make_pipeline();
        struct outcome was = outcome_of(written, bad);
        struct cw_chain chain;
        struct cw_order_plan plan;
        size_t places[CW_OPTIMIZE_NODES_MAX];
        struct cw_checked *hoisted = cw_hoist(written, NULL);

        hoisted_n += hoisted != NULL;
        cw_chain_list(hoisted ? hoisted : written, &chain);
        best_plan(&chain, &plan);
        moved += try_plan(written, &was, bad, &plan, "best");
        random_exact(&chain, places);
        name_order(&chain, places, &plan);
        moved += try_plan(written, &was, bad, &plan, "random");
        wrong += i < WRONG && chain.first == 0 && try_wrong(&chain, &was, bad);
        cw_chain_fini(&chain);
        outcome_fini(&was);
        cw_checked_unref(hoisted);
        cw_checked_unref(written);
    }
    printf("%zu pipelines, %zu plans that move something, %zu with operators behind a zip; of %d "
           "wrong orders %zu are noticed\n",
           n, moved, hoisted_n, WRONG, wrong);
    assert_true(hoisted_n > n / 20);
    assert_true(moved > n / 2);
    assert_true(wrong > WRONG / 10);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_plans_give_the_same),
};

CW_TESTS_MAIN(tests)
