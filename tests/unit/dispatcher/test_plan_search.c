/* SPDX-License-Identifier: Apache-2.0 */
/* The best plan of a job by what was measured of it. */
#include "support/cm.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "dispatcher/optimize/plan_search.h"
#include "policies/problem_json.h"
#include "wire/wire.h"

/* Nodes by their names, each of which is one letter: a source, an operator that burns, filters that keep
 * few and many, an operator that stays, two that cost little, a shuffle, batches, and what meets another source in a zip, which `y`
 * does without the operator that burns and `w` with what draws. `c` is `b` under another name. */
static const char *text_of(char node)
{
    static const struct {
        char name;
        const char *text;
    } all[] = {
        {'r', "{\"op\": \"range\", \"name\": \"r\", \"stop\": 100}"},
        {'b', "{\"op\": \"burn\", \"name\": \"b\", \"ms\": 1}"},
        {'f', "{\"op\": \"filter\", \"name\": \"f\", \"expr\": \"x % 20 == 3\"}"},
        {'g', "{\"op\": \"filter\", \"name\": \"g\", \"expr\": \"x % 20 < 15\"}"},
        {'k', "{\"op\": \"burn\", \"name\": \"k\", \"ms\": 1, \"keep_position\": true}"},
        {'l', "{\"op\": \"range\", \"name\": \"l\", \"stop\": 100, \"field\": \"y\"}"},
        {'z', "{\"op\": \"zip\", \"name\": \"z\", \"inputs\": [\"b\", \"l\"]}"},
        {'y', "{\"op\": \"zip\", \"name\": \"z\", \"inputs\": [\"r\", \"l\"]}"},
        {'h', "{\"op\": \"filter\", \"name\": \"h\", \"expr\": \"y % 20 == 3\"}"},
        {'c', "{\"op\": \"burn\", \"name\": \"c\", \"ms\": 1}"},
        {'p', "{\"op\": \"burn\", \"name\": \"p\", \"ms\": 0.001}"},
        {'q', "{\"op\": \"burn\", \"name\": \"q\", \"ms\": 0.001}"},
        {'e', "{\"op\": \"emulate\", \"name\": \"e\", \"ns\": 1, \"random\": true}"},
        {'w', "{\"op\": \"zip\", \"name\": \"z\", \"inputs\": [\"b\", \"e\"]}"},
        {'m', "{\"op\": \"batch\", \"name\": \"m\", \"size\": 8}"},
        {'s', "{\"op\": \"shuffle\", \"name\": \"s\"}"},
        {'n', "{\"op\": \"batch\", \"name\": \"n\", \"size\": 4}"},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(all); i++)
        if (all[i].name == node)
            return all[i].text;
    return NULL;
}

static struct cw_buf *pack(const char *nodes)
{
    CW_STR_AUTO text = {0};
    struct cw_graph *graph = NULL;
    struct cw_err err = {0};
    cw_str_add(&text, "{\"pipeline\": [");
    for (size_t i = 0; nodes[i]; i++)
        cw_str_addf(&text, "%s%s", i > 0 ? ", " : "", text_of(nodes[i]));
    cw_str_add(&text, "]}");
    if (cw_graph_parse(cw_str_text(&text), text.len, "test", &graph, &err) != 0)
        fail_msg("%s", err.msg);
    struct cw_buf *packed = cw_wire_graph_pack(graph);
    cw_graph_unref(graph);
    return packed;
}

/* What 1,000 elements have cost; filters keep 5 % and 75 %. */
static struct cw_cost_measured cost_of(char node)
{
    double ns = node == 'b' || node == 'c' || node == 'k' ? 1e6 : 1000;
    double dropped = node == 'f' || node == 'h' ? 950 : node == 'g' ? 250 : 0;
    return (struct cw_cost_measured){.elements = 1000,
                                     .cpu_ns = 1000 * ns,
                                     .wall_ns = 1000 * ns,
                                     .sums = {.timed = 100,
                                              .calls = 1000,
                                              .in_bytes = 8000,
                                              .in_bytes_squared = 64000,
                                              .out_bytes = 8000,
                                              .cpu_ns_bytes = 8000 * ns,
                                              .wall_ns_bytes = 8000 * ns,
                                              .dropped = dropped}};
}

static struct cw_plan_search *begin(const char *written, const char *present)
{
    struct cw_plan_search *search = CW_NEW(struct cw_plan_search);
    struct cw_plan_question *q = &search->question;
    q->policy = cw_optimizer_find("auto");
    q->written = pack(written);
    q->present = present ? pack(present) : NULL;
    q->measured_n = strlen(written);
    q->measured = CW_NEW_ARRAY(struct cw_cost_measured, q->measured_n);
    for (size_t i = 0; i < q->measured_n; i++)
        q->measured[i] = cost_of(written[i]);
    q->elements = 1000;
    q->epochs = q->threads = 1;
    return search;
}

static void run(struct cw_plan_search *search)
{
    cw_plan_search_run(search);
    if (search->answer.rc != 0)
        fail_msg("%s", search->answer.err.msg);
}

/* Whether the graph has these nodes in this order. */
static bool is_graph(const struct cw_buf *packed, const char *nodes)
{
    struct cw_graph *graph = NULL;
    assert_int_equal(cw_wire_graph_unpack(packed->data, packed->len, &graph, NULL), 0);
    bool same = graph->n == strlen(nodes);
    for (size_t i = 0; same && i < graph->n; i++)
        same = graph->nodes[i].name[0] == nodes[i];
    cw_graph_unref(graph);
    return same;
}

static void a_filter_comes_first(void **state)
{
    (void)state;
    struct cw_plan_search *search = begin("rbgfn", NULL);
    run(search);
    const struct cw_plan_answer *a = &search->answer;
    assert_true(a->is_other && !a->is_fixed && !a->is_illegal);
    assert_true(is_graph(a->graph, "rfgbn"));
    assert_string_equal(a->choice, "r > f > g > b > n");
    assert_true(a->then_ns < a->now_ns / 10 && a->n == 5);
    /* In the written order: what a call of each costs, and what passes. */
    assert_true(a->then[1].call_ns > 0.99e6 && a->then[1].call_ns < 1.01e6);
    assert_true(a->now[3].keep > 0.0499 && a->now[3].keep < 0.0501);
    assert_non_null(strstr(a->candidates, "the present order: "));
    cw_plan_search_free(search);
}

/* Filters do not pass a shuffle, but what costs comes behind both. */
static void past_a_shuffle(void **state)
{
    (void)state;
    struct cw_plan_search *search = begin("rbsfn", NULL);
    run(search);
    assert_true(search->answer.is_other && is_graph(search->answer.graph, "rsfbn"));
    cw_plan_search_free(search);
    search = begin("rbsn", NULL); /* nothing is to be gained by that alone */
    run(search);
    assert_true(search->answer.is_fixed);
    cw_plan_search_free(search);
}

/* An operator at the end of a zip's branch comes behind a filter on the other branch, and is there in the next plan;
 * not while its elements are cached in the branch. */
static void a_branch_comes_behind_a_filter(void **state)
{
    (void)state;
    static const size_t NODES[] = {3, 1, 4, 5};
    struct cw_plan_search *search = begin("rblzhn", NULL);
    run(search);
    const struct cw_plan_answer *a = &search->answer;
    assert_true(a->is_other && !a->is_fixed && a->n == 4);
    assert_true(is_graph(a->graph, "rlzhbn"));
    assert_string_equal(a->choice, "z > h > b > n");
    assert_memory_equal(a->nodes, NODES, sizeof(NODES));
    assert_true(a->then_ns < a->now_ns / 10);
    assert_true(a->now[2].keep < 0.0501 && a->then[1].call_ns > 0.99e6);
    cw_plan_search_free(search);
    search = begin("rblzhn", "rlyhbn");
    run(search);
    assert_true(!search->answer.is_other && search->answer.n == 4);
    cw_plan_search_free(search);
    search = begin("rblzhn", NULL);
    search->question.cached = cw_mem_strdup("b");
    run(search);
    assert_true(!search->answer.is_other && !search->answer.is_fixed && search->answer.n == 3);
    cw_plan_search_free(search);
    search = begin("rblzhn", NULL);
    search->question.order =
        cw_mem_strdup("{\"plan\": 1, \"order\": [\"r\", \"b\", \"l\", \"z\", \"h\", \"n\"]}");
    run(search);
    assert_false(search->answer.is_other);
    cw_plan_search_free(search);
}

/* By the plan that it has found nothing is better; and by costs that are otherwise the way leads back. */
static void there_and_back(void **state)
{
    (void)state;
    struct cw_plan_search *search = begin("rbfn", "rfbn");
    run(search);
    assert_false(search->answer.is_other);
    cw_plan_search_free(search);
    search = begin("rbfn", "rfbn");
    search->question.measured[2] = cost_of('b'); /* the filter is dear and keeps all, */
    search->question.measured[1] = cost_of('f'); /* and what burns is cheap and drops */
    run(search);
    assert_true(search->answer.is_other && !search->answer.graph); /* as it is written */
    assert_string_equal(search->answer.choice, "r > b > f > n");
    cw_plan_search_free(search);
}

/* A cache saves three epochs of a worker: it is taken if it costs less than that. */
static void money_decides(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct cw_plan_search *search = begin("rbgn", NULL);
        struct cw_plan_question *q = &search->question;
        q->has_store = true;
        q->store = (struct cw_optimize_store){.read_ns = 1000, .free_bytes = -1};
        q->epochs = 4;
        q->workers = q->worker_price = 1;
        q->least_money = i > 0;
        q->store_price = i == 1 ? 1e6 : 1e4; /* 6,000 bytes: 6 an hour, or 0.06 */
        run(search);
        const struct cw_plan_answer *a = &search->answer;
        assert_int_equal(a->cached != NULL, i != 1);
        assert_true(a->then_total < a->now_total * (i == 1 ? 0.8 : 0.3));
        assert_non_null(strstr(a->inputs, "\"store_price\""));
        cw_plan_search_free(search);
    }
}

static void what_is_cached_is_a_wall(void **state)
{
    (void)state;
    struct cw_plan_search *search = begin("rbfn", NULL);
    search->question.cached = cw_mem_strdup("b");
    run(search);
    assert_false(search->answer.is_other);
    cw_plan_search_free(search);
    search = begin("rbfn", "rfbn");
    search->question.cached = cw_mem_strdup("b");
    run(search);
    assert_true(search->answer.is_other && search->answer.is_illegal && !search->answer.graph);
    cw_plan_search_free(search);
}

static struct cw_plan_search *begin_cached(const char *written, const char *present)
{
    struct cw_plan_search *search = begin(written, present);
    search->question.has_store = true;
    search->question.store = (struct cw_optimize_store){
        .read_ns = 2000, .write_ns = 5000, .read_byte_ns = 0.1, .free_bytes = -1};
    search->question.epochs = 5;
    return search;
}

static void add_records(struct cw_plan_search *search, const char *node, bool of_written, double n)
{
    struct cw_plan_question *q = &search->question;
    q->records[q->records_n++] = (struct cw_plan_records){cw_mem_strdup(node), of_written, n};
}

/* Order and cache at once: behind what burns, when the filter has come before it. What an earlier plan has
 * cached is no wall then. */
static void the_cache_is_placed(void **state)
{
    (void)state;
    struct cw_plan_search *search = begin_cached("rbfn", NULL);
    search->question.cached = cw_mem_strdup("b");
    add_records(search, "b", true, 300);
    run(search);
    const struct cw_plan_answer *a = &search->answer;
    assert_true(a->is_other && a->is_other_order && !a->is_illegal && a->decides_cache);
    assert_string_equal(a->cached, "b");
    assert_string_equal(a->choice, "r > f > b > n; cached: b");
    assert_true(is_graph(a->graph, "rfbn"));
    assert_non_null(strstr(a->candidates, "without a cache: "));
    assert_non_null(strstr(a->candidates, "cached behind "));
    /* now: one epoch with 70 % of 1 ms, and four that read the cache and filter */
    assert_true(a->now_ns > 140e3 && a->now_ns < 146e3);
    assert_true(a->then_total < a->now_total / 5);
    cw_plan_search_free(search);
}

/* With a zip: behind it, where the operator of a branch may come behind a filter; or in the branch, where the other one
 * draws. What is cached there is read, and stays. */
static void branches_are_cached(void **state)
{
    (void)state;
    struct cw_plan_search *search = begin_cached("rblzhn", NULL);
    run(search);
    assert_string_equal(search->answer.choice, "z > h > b > n; cached: b");
    cw_plan_search_free(search);
    search = begin_cached("rblewpqn", NULL);
    run(search);
    const struct cw_plan_answer *a = &search->answer;
    assert_true(a->is_other && !a->is_other_order && a->decides_cache);
    assert_string_equal(a->cached, "b");
    assert_true(a->then_total < a->now_total / 4);
    cw_plan_search_free(search);
    search = begin_cached("rblewpqn", NULL);
    search->question.cached = cw_mem_strdup("b");
    add_records(search, "b", true, 1000);
    run(search);
    assert_true(search->answer.decides_cache && !search->answer.is_other);
    assert_string_equal(search->answer.cached, "b");
    cw_plan_search_free(search);
    search = begin_cached("rblewpqn", NULL);
    search->question.order =
        cw_mem_strdup("{\"plan\": 1, \"cache\": \"b\", \"order\": "
                      "[\"r\", \"b\", \"l\", \"e\", \"z\", \"q\", \"p\", \"n\"]}");
    run(search);
    assert_true(search->answer.is_other_order);
    assert_string_equal(search->answer.cached, "b");
    cw_plan_search_free(search);
}

/* What is cached in a branch has another key than what would be cached behind the zip, where the same operator is done in
 * a plan: it is of no use there, whether the plan is to come or is the present one. What a plan has cached behind its zip
 * is. */
static void records_of_a_branch_are_no_others(void **state)
{
    (void)state;
    static const char *const PRESENT[] = {NULL, "rlyhbn"};
    for (size_t i = 0; i < CW_ARRAY_LEN(PRESENT); i++) {
        struct cw_plan_search *none = begin_cached("rblzhn", PRESENT[i]),
                              *branch = begin_cached("rblzhn", PRESENT[i]),
                              *behind = begin_cached("rblzhn", "rlyhbn");
        add_records(branch, "b", true, 1000);
        add_records(behind, "b", false, 50);
        run(none);
        run(branch);
        run(behind);
        assert_string_equal(none->answer.inputs, branch->answer.inputs);
        assert_true(none->answer.then_total == branch->answer.then_total); // NOLINT
        assert_true(behind->answer.then_total < 0.9 * none->answer.then_total);
        cw_plan_search_free(none);
        cw_plan_search_free(branch);
        cw_plan_search_free(behind);
    }
}

/* With all of it cached, and one epoch to come, there is nothing better than to read it. */
static void what_is_full_is_read(void **state)
{
    (void)state;
    struct cw_plan_search *search = begin_cached("rbfn", "rfbn");
    search->question.cached = cw_mem_strdup("b");
    search->question.cached_is_of_plan = true;
    search->question.epochs = 1;
    add_records(search, "b", false, 50);
    run(search);
    assert_true(search->answer.decides_cache && !search->answer.is_other);
    assert_string_equal(search->answer.cached, "b");
    cw_plan_search_free(search);
    search = begin_cached("rbfn", "rfbn"); /* and if nothing were there, not to write it */
    search->question.cached = cw_mem_strdup("b");
    search->question.cached_is_of_plan = true;
    search->question.epochs = 1;
    run(search);
    assert_true(search->answer.is_other && !search->answer.is_other_order);
    assert_null(search->answer.cached);
    cw_plan_search_free(search);
}

/* As many workers as the trainer needs by the new plan. */
static void workers_are_counted(void **state)
{
    (void)state;
    struct cw_plan_search *search = begin("rbfn", NULL);
    search->question.workers = 8;
    search->question.workers_max = 10;
    search->question.step_ns = 30e6 / 12.5; /* 30 us an element; the plan takes 53 us */
    run(search);
    assert_true(search->answer.is_other && search->answer.workers == 2);
    cw_plan_search_free(search);
    search = begin("rbfn", NULL);
    search->question.workers = 8;
    search->question.workers_max = 10;
    search->question.step_ns = 30e6 / 12.5;
    search->question.busy_ns = 1003e3 + 100e3; /* so much more than what operators take */
    run(search);
    assert_int_equal(search->answer.workers, 6);
    cw_plan_search_free(search);
}

static void nothing_may_move(void **state)
{
    (void)state;
    struct cw_plan_search *search = begin("rkfn", NULL);
    run(search);
    assert_true(search->answer.is_fixed && !search->answer.is_other);
    cw_plan_search_free(search);
}

/* An earlier job's profile gives the same plan before anything is measured. */
static void by_a_profile(void **state)
{
    (void)state;
    struct cw_plan_search *first = begin("rbgfn", NULL), *next = begin("rbgfn", NULL);
    run(first);
    cw_mem_free(cw_steal(&next->question.measured));
    next->question.profile = cw_mem_strdup(first->answer.profile);
    run(next);
    assert_true(next->answer.is_other && next->answer.order == first->answer.order);
    assert_string_equal(next->answer.choice, first->answer.choice);
    cw_plan_search_free(first);
    next->question.profile[0] = '[';
    cw_plan_search_run(next);
    assert_int_not_equal(next->answer.rc, 0);
    cw_plan_search_free(next);
}

static struct cw_plan_search *begin_by_others(const char *written, struct cw_dispatcher *d)
{
    struct cw_plan_search *search = begin(written, NULL);
    cw_mem_free(cw_steal(&search->question.measured));
    cw_operator_costs_copy(d, "tenant", &search->question.costs);
    return search;
}

/* Operators cost the same in another pipeline, whatever they are named; but a filter of other elements, and what nobody has
 * measured, are not known. */
static void by_other_pipelines(void **state)
{
    (void)state;
    struct cw_dispatcher *d = CW_NEW(struct cw_dispatcher);
    struct cw_plan_search *first = begin("rbgfn", NULL), *next = begin_by_others("rcgfm", d);
    run(next);
    assert_true(next->answer.lacks_costs && !next->answer.is_other);
    cw_plan_search_free(next);
    run(first);
    cw_operator_costs_keep(d, "tenant", first->answer.profile);
    cw_operator_costs_keep(d, "other", "no profile");
    next = begin_by_others("rcgfm", d);
    run(next);
    assert_true(next->answer.is_other && !next->answer.lacks_costs);
    assert_string_equal(next->answer.choice, "r > f > g > c > m");
    assert_true(next->answer.now_ns > 0.99 * first->answer.now_ns &&
                next->answer.now_ns < 1.01 * first->answer.now_ns);
    cw_plan_search_free(next);
    static const char *const UNKNOWN[] = {"rcfm", "rcgfpm"};
    for (size_t i = 0; i < CW_ARRAY_LEN(UNKNOWN); i++) {
        next = begin_by_others(UNKNOWN[i], d);
        run(next);
        assert_true(next->answer.lacks_costs);
        cw_plan_search_free(next);
    }
    struct cw_operator_costs none;
    cw_operator_costs_copy(d, "other", &none);
    assert_int_equal(none.n, 0);
    cw_mem_free(none.nodes);
    cw_plan_search_free(first);
    cw_operator_costs_close(d);
    cw_mem_free(d);
}

/* Of many operators the oldest make room. */
static void operators_are_bounded(void **state)
{
    (void)state;
    struct cw_dispatcher *d = CW_NEW(struct cw_dispatcher);
    struct cw_operator_costs costs;
    for (unsigned i = 0; i < 1500; i++) {
        char text[200];
        snprintf(text, sizeof(text),
                 "{\"profile\": 1, \"elements\": 1, \"nodes\": {\"n\": {\"ns\": %u, \"operator\": "
                 "\"%032x\"}}}",
                 i, i + 1);
        cw_operator_costs_keep(d, "tenant", text);
        cw_operator_costs_keep(d, "tenant", text); /* what is known already takes no room */
    }
    cw_operator_costs_copy(d, "tenant", &costs);
    assert_int_equal(costs.n, 1000);
    assert_null(cw_operator_costs_find(&costs, (struct cw_hash){0, 500}));
    assert_non_null(cw_operator_costs_find(&costs, (struct cw_hash){0, 501}));
    assert_non_null(cw_operator_costs_find(&costs, (struct cw_hash){0, 1500}));
    cw_mem_free(costs.nodes);
    cw_operator_costs_close(d);
    cw_mem_free(d);
}

/* The inputs of a decision are planned alike. */
static void inputs_say_it_again(void **state)
{
    (void)state;
    struct cw_plan_search *search = begin("rbgfn", NULL);
    struct cw_optimize_problem *problem = CW_NEW(struct cw_optimize_problem);
    struct cw_optimize_plan plan;
    struct cw_value value = {0};
    CW_STR_AUTO choice = {0};
    run(search);
    const char *inputs = search->answer.inputs;
    assert_int_equal(cw_value_parse(inputs, strlen(inputs), "inputs", &value, NULL), 0);
    assert_int_equal(cw_problem_read(&value, "inputs", problem, NULL), 0);
    cw_optimize(problem, &plan);
    for (size_t i = 0; i < problem->n; i++)
        cw_str_addf(&choice, "%s%s", i > 0 ? " > " : "", problem->nodes[plan.order[i]].name);
    assert_string_equal(cw_str_text(&choice), search->answer.choice);
    cw_value_fini(&value);
    cw_mem_free(problem);
    cw_plan_search_free(search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_comes_first),
        cmocka_unit_test(past_a_shuffle),
        cmocka_unit_test(a_branch_comes_behind_a_filter),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(money_decides),
        cmocka_unit_test(what_is_cached_is_a_wall),
        cmocka_unit_test(the_cache_is_placed),
        cmocka_unit_test(branches_are_cached),
        cmocka_unit_test(records_of_a_branch_are_no_others),
        cmocka_unit_test(what_is_full_is_read),
        cmocka_unit_test(workers_are_counted),
        cmocka_unit_test(nothing_may_move),
        cmocka_unit_test(by_a_profile),
        cmocka_unit_test(by_other_pipelines),
        cmocka_unit_test(operators_are_bounded),
        cmocka_unit_test(inputs_say_it_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
