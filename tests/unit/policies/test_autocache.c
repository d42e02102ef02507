/* SPDX-License-Identifier: Apache-2.0 */
/* The autocache policies: the model's arithmetic on small graphs, and what must hold whatever
 * was measured, on random pipelines. */
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "policies/autocache_model.h"
#include "support/cm.h"

#define CHAIN 6

struct world { /* source, four operators, batch of 10 */
    struct cw_autocache_node nodes[CHAIN];
    size_t inputs[CHAIN];
    char names[CHAIN][8];
    struct cw_autocache_snapshot s;
};

static uint64_t random_state = 20220711;
static double uniform(double lo, double hi)
{
    random_state += 0x9e3779b97f4a7c15u;
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return lo + (hi - lo) * (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}
static double magnitude(double lo, double hi) /* log-uniform */
{
    return exp(uniform(log(lo), log(hi)));
}

static void random_world(struct world *w)
{
    memset(w, 0, sizeof(*w));
    double rows = floor(magnitude(50, 1e6));
    for (size_t i = 0; i < CHAIN; i++) {
        struct cw_autocache_node *node = &w->nodes[i];
        bool batch = i == CHAIN - 1;
        w->names[i][0] = (char)('a' + i);
        node->name = w->names[i];
        node->op = "x";
        node->inputs = &w->inputs[i];
        node->inputs_n = i > 0;
        w->inputs[i] = i > 0 ? i - 1 : 0;
        node->per_output = batch ? 1 : 10;
        node->elements_n = batch ? rows / 10 : rows;
        node->samples = 100;
        node->cpu_ns = magnitude(100, 1e7);
        node->wall_ns = node->cpu_ns * uniform(1, 3);
        node->bytes = magnitude(100, 1e7);
        node->why_not = uniform(0, 1) < 0.3 ? "no" : NULL;
    }
    w->s = (struct cw_autocache_snapshot){
        .n = CHAIN,
        .nodes = w->nodes,
        .store = {.read_ns = magnitude(100, 1e5),
                  .read_byte_ns = magnitude(0.01, 2),
                  .write_ns = magnitude(100, 1e5),
                  .write_byte_ns = magnitude(0.1, 3),
                  .free_bytes = uniform(0, 1) < 0.5 ? -1 : magnitude(1e3, 1e13),
                  .read_bytes_s = uniform(0, 1) < 0.5 ? 0 : magnitude(1e7, 1e10),
                  .write_bytes_s = uniform(0, 1) < 0.5 ? 0 : magnitude(1e7, 1e10)},
        .workers = 1,
        .threads = floor(uniform(1, 9)),
        .epochs_left = floor(uniform(1, 20)),
        .elements_measured = 100,
        .wait_share = -1,
        .current = CW_POLICY_NONE,
    };
}

static struct cw_policy_decision decide(const char *name, const struct cw_autocache_snapshot *s)
{
    const struct cw_autocache_policy *policy = NULL;
    const char *argument = NULL;
    struct cw_policy_decision d = {0};
    assert_int_equal(cw_autocache_find(name, &policy, &argument, NULL), 0);
    assert_int_equal(policy->decide(s, argument, &d, NULL), 0);
    assert_true(d.reason.len > 0);
    assert_int_equal(cw_str_text(&d.reason)[d.reason.len - 1], '.');
    return d;
}
static size_t node_of(const char *name, const struct cw_autocache_snapshot *s)
{
    struct cw_policy_decision d = decide(name, s);
    size_t node = d.node;
    assert_true(d.decided);
    cw_policy_decision_fini(&d);
    return node;
}

/* ---- arithmetic ---- */

static void test_interpolation(void **state)
{
    (void)state;
    const struct cw_autocache_point points[] = {{100, 10}, {200, 30}, {400, 40}};
    const double expect[][2] = {{100, 10}, {150, 20}, {200, 30}, {300, 35},
                                {400, 40}, {600, 50}, {75, 5},   {0, 0}};
    for (size_t i = 0; i < CW_ARRAY_LEN(expect); i++)
        assert_true(fabs(cw_autocache_interpolate(points, 3, expect[i][0]) - expect[i][1]) < 1e-9);
    assert_true(fabs(cw_autocache_interpolate(points, 1, 50) - 5) < 1e-9);
}

/* images and labels are zipped; caching the images saves nothing of the labels. */
static void test_two_inputs(void **state)
{
    (void)state;
    const size_t zip[] = {0, 1}, last[] = {2};
    const struct cw_autocache_node nodes[] = {{.name = "images",
                                               .elements_n = 100,
                                               .samples = 1,
                                               .wall_ns = 1000,
                                               .cpu_ns = 1000,
                                               .bytes = 10,
                                               .per_output = 1},
                                              {.name = "labels",
                                               .elements_n = 100,
                                               .samples = 1,
                                               .wall_ns = 300,
                                               .cpu_ns = 300,
                                               .bytes = 10,
                                               .per_output = 1},
                                              {.name = "zip",
                                               .elements_n = 100,
                                               .samples = 1,
                                               .bytes = 20,
                                               .per_output = 1,
                                               .inputs = zip,
                                               .inputs_n = 2},
                                              {.name = "cast",
                                               .elements_n = 100,
                                               .samples = 1,
                                               .wall_ns = 7,
                                               .cpu_ns = 7,
                                               .bytes = 20,
                                               .per_output = 1,
                                               .inputs = last,
                                               .inputs_n = 1}};
    struct cw_autocache_snapshot s = {.n = 4,
                                      .nodes = nodes,
                                      .threads = 1,
                                      .epochs_left = 3,
                                      .current = CW_POLICY_NONE,
                                      .store = {.read_ns = 1, .free_bytes = -1}};
    struct cw_plan_cost cost;
    cw_autocache_cost(&s, CW_POLICY_NONE, 0, &cost);
    assert_true(fabs(cost.epoch_ns - 130700) < 1e-6);
    assert_true(fabs(cost.total_ns - 3 * 130700) < 1e-6);
    cw_autocache_cost(&s, 0, 0, &cost);
    assert_true(fabs(cost.epoch_ns - (100 + 30700)) < 1e-6);
    assert_true(fabs(cost.total_ns - (130700 + 2 * 30800)) < 1e-6);
    cw_autocache_cost(&s, 2, 5, &cost);
    assert_true(fabs(cost.epoch_ns - (100 + 700 + 5)) < 1e-6);
}

/* Of a pipeline that repeats 4 times, a cache holds a quarter of the elements. */
static void test_repeated(void **state)
{
    (void)state;
    struct world w;
    random_world(&w);
    w.nodes[2].records = w.nodes[2].elements_n / 4;
    w.nodes[2].why_not = NULL;
    w.s.store.free_bytes = -1;
    struct cw_plan_cost cost;
    cw_autocache_cost(&w.s, 2, 0, &cost);
    assert_true(fabs(cost.bytes - w.nodes[2].records * w.nodes[2].bytes) < 1);
    assert_true(cost.share == 1.0);
}

/* Closed form: filling epoch, then reading ones. */
static void test_closed_form(void **state)
{
    (void)state;
    for (int round = 0; round < 500; round++) {
        struct world w;
        random_world(&w);
        w.s.store.free_bytes = -1;
        w.s.store.write_bytes_s = w.s.store.read_bytes_s = 0;
        size_t at = (size_t)uniform(0, CHAIN - 1);
        double above = 0, below = 0, n = w.nodes[0].elements_n;
        for (size_t i = 0; i < CHAIN; i++)
            *(i <= at ? &above : &below) += w.nodes[i].elements_n * w.nodes[i].wall_ns;
        double put = n * (w.s.store.write_ns + w.nodes[at].bytes * w.s.store.write_byte_ns);
        double get = n * (w.s.store.read_ns + w.nodes[at].bytes * w.s.store.read_byte_ns);
        double expect = (above + below + put + (w.s.epochs_left - 1) * (get + below)) / w.s.threads;
        struct cw_plan_cost cost;
        cw_autocache_cost(&w.s, at, 0, &cost);
        assert_true(fabs(cost.total_ns - expect) <= 1e-6 * expect);
    }
}

/* ---- what must hold ---- */

static void test_auto_is_least(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct world w;
        random_world(&w);
        size_t node = node_of("auto", &w.s);
        assert_true(node == CW_POLICY_NONE || !w.nodes[node].why_not);
        struct cw_plan_cost chosen, other;
        cw_autocache_cost(&w.s, node, 0, &chosen);
        for (size_t i = 0; i <= CHAIN; i++) {
            if (i < CHAIN && w.nodes[i].why_not)
                continue;
            cw_autocache_cost(&w.s, i < CHAIN ? i : CW_POLICY_NONE, 0, &other);
            /* CPU time weighs a little, a gain of 5 % is none. */
            assert_true(chosen.total_ns <= other.total_ns * 1.11);
        }
    }
}

/* What stands above becomes more expensive: what was cached stays cached there or further down. */
static void test_more_expensive_upstream(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct world w;
        random_world(&w);
        size_t before = node_of("auto", &w.s);
        w.nodes[0].wall_ns *= 4;
        w.nodes[0].cpu_ns *= 4;
        size_t after = node_of("auto", &w.s);
        assert_true(before == CW_POLICY_NONE || after != CW_POLICY_NONE);
    }
}

/* A faster store never makes an end to caching. */
static void test_faster_store(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct world w;
        random_world(&w);
        size_t before = node_of("auto", &w.s);
        w.s.store.read_ns /= 3;
        w.s.store.read_byte_ns /= 3;
        w.s.store.read_bytes_s *= 3;
        size_t after = node_of("auto", &w.s);
        assert_true(before == CW_POLICY_NONE || after != CW_POLICY_NONE);
    }
}

/* Records that are there make their node no worse: it stays chosen. */
static void test_cached_records_attract(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct world w;
        random_world(&w);
        w.s.store.free_bytes = -1;
        size_t before = node_of("auto", &w.s);
        if (before == CW_POLICY_NONE)
            continue;
        w.nodes[before].cached = w.nodes[before].elements_n * uniform(0.05, 1);
        assert_int_equal(node_of("auto", &w.s), before);
    }
}

/* Asked again with nothing new, it says the same; and noise of a few per cent moves nothing. */
static void test_stands_still(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct world w;
        random_world(&w);
        w.s.store.read_bytes_s = w.s.store.write_bytes_s = 0;
        struct cw_policy_decision d = decide("auto", &w.s);
        w.s.standing = true;
        w.s.current = d.node;
        w.s.predicted_ns = w.s.epoch_ns = d.epoch_ns;
        assert_int_equal(node_of("auto", &w.s), d.node);
        for (size_t i = 0; i < CHAIN; i++)
            w.nodes[i].wall_ns *= uniform(0.98, 1.02);
        assert_int_equal(node_of("auto", &w.s), d.node);
        cw_policy_decision_fini(&d);
    }
}

/* One thread, and a store that gives what its points say: the published policy finds the least
 * of its three, too. */
static void test_published_is_least(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct world w;
        random_world(&w);
        const double a = magnitude(100, 1e6), b = magnitude(0.01, 10);
        const struct cw_autocache_point points[] = {{1, a + b}, {1e6, a + 1e6 * b}};
        w.s.store.points = points;
        w.s.store.points_n = 2;
        w.s.threads = 1;
        w.s.elements_measured = 300;
        w.nodes[1].mark = "source";
        w.nodes[1].why_not = NULL;
        size_t last = 1;
        double total = 0, to_last = 0, to_mark = 0;
        for (size_t i = 0; i < CHAIN; i++) {
            total += w.nodes[i].wall_ns * w.nodes[i].per_output;
            last = w.nodes[i].why_not ? last : i;
            to_mark = i == 1 ? total : to_mark;
            to_last = last == i ? total : to_last;
        }
        double source = total - to_mark + 10 * (a + b * w.nodes[1].bytes);
        double full = total - to_last + w.nodes[last].per_output * (a + b * w.nodes[last].bytes);
        size_t expect = source <= full && source <= total ? 1
                        : full <= total                   ? last
                                                          : CW_POLICY_NONE;
        assert_int_equal(node_of("cachew", &w.s), expect);
    }
}

/* Whole epochs were measured, with 4 % of noise, and so were the trainer's steps. */
static void measure_epochs(struct world *w, double trainer_part)
{
    struct cw_plan_cost compute;
    cw_autocache_cost(&w->s, CW_POLICY_NONE, 0, &compute);
    w->s.trainer_ns = trainer_part * compute.epoch_ns;
    w->s.wait_share = uniform(0, 1);
    w->s.compute_ns = fmax(compute.epoch_ns, w->s.trainer_ns) * uniform(0.96, 1.04);
    w->s.epoch_ns = w->s.compute_ns;
    for (size_t i = 0; i < CHAIN; i++) {
        struct cw_autocache_node *node = &w->nodes[i];
        if (node->why_not || uniform(0, 1) < 0.5)
            continue;
        struct cw_plan_cost cost;
        node->cached = node->elements_n;
        cw_autocache_cost(&w->s, i, 0, &cost);
        node->epoch_ns = cost.epoch_ns * uniform(0.96, 1.04) * (uniform(0, 1) < 0.2 ? 3 : 1);
    }
}

/* Whatever was measured: no prediction is shorter than the trainer's steps, what is chosen saves
 * more than noise, and no reason has a gain of nothing. */
static void test_measured_epochs(void **state)
{
    (void)state;
    for (int round = 0; round < 5000; round++) {
        struct world w;
        random_world(&w);
        w.s.elements_measured = 1000;
        w.s.epochs_left = floor(uniform(2, 50));
        measure_epochs(&w, magnitude(0.05, 5));
        const size_t before = (size_t)uniform(0, CHAIN);
        w.s.standing = !w.nodes[before].why_not && uniform(0, 1) < 0.5;
        w.s.current = w.s.standing ? before : CW_POLICY_NONE;
        struct cw_policy_decision d = decide("auto", &w.s);
        assert_true(d.decided);
        assert_true(d.epoch_ns >= w.s.trainer_ns * (1 - 1e-9));
        assert_true(d.total_ns >= w.s.epochs_left * w.s.trainer_ns * (1 - 1e-9));
        assert_null(strstr(cw_str_text(&d.reason), "-0 %"));
        assert_null(strstr(cw_str_text(&d.reason), "(0 %)"));
        assert_null(strstr(cw_str_text(&d.reason), "(-"));
        if (d.node != w.s.current && d.node != CW_POLICY_NONE) {
            struct cw_plan_cost chosen, compute;
            cw_autocache_cost(&w.s, d.node, 0, &chosen);
            cw_autocache_cost(&w.s, CW_POLICY_NONE, 0, &compute);
            assert_true(chosen.total_ns < (1 - 0.05) * compute.total_ns * 1.03 ||
                        chosen.cpu_ns < (1 - 0.2) * compute.cpu_ns);
        }
        cw_policy_decision_fini(&d);
    }
}

/* Where the trainer is the limit of all, noise of measured epochs moves nothing: what stands is
 * kept if it saves CPU time, however many of the candidates were measured. */
static void test_equal_epochs_are_equal(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct world w;
        random_world(&w);
        w.s.store.free_bytes = -1;
        w.s.store.read_bytes_s = w.s.store.write_bytes_s = 0;
        w.s.elements_measured = 1000;
        struct cw_plan_cost compute;
        cw_autocache_cost(&w.s, CW_POLICY_NONE, 0, &compute);
        w.s.trainer_ns = 20 * compute.epoch_ns;
        const size_t node = node_of("auto", &w.s);
        w.s.standing = true;
        w.s.current = node;
        w.s.predicted_ns = w.s.trainer_ns;
        for (int epoch = 0; epoch < 10; epoch++) {
            w.s.epoch_ns = w.s.trainer_ns * uniform(1, 1.3);
            w.s.wait_share = uniform(0, 0.03);
            if (node == CW_POLICY_NONE)
                w.s.compute_ns = w.s.epoch_ns;
            else
                w.nodes[node].epoch_ns = w.s.epoch_ns;
            assert_int_equal(node_of("auto", &w.s), node);
        }
    }
}

/* Reading from one node was measured, and took longer than the store's rates say: reading from
 * another one is not taken for faster because it was not measured. */
static void test_reading_is_compared_with_reading(void **state)
{
    (void)state;
    size_t refuted = 0;
    for (int round = 0; round < 2000; round++) {
        struct world w;
        random_world(&w);
        w.s.store.free_bytes = -1;
        w.s.elements_measured = 1000;
        const size_t node = node_of("auto", &w.s);
        if (node == CW_POLICY_NONE)
            continue;
        struct cw_plan_cost compute;
        cw_autocache_cost(&w.s, CW_POLICY_NONE, 0, &compute);
        for (size_t i = 0; i < CHAIN; i++)
            w.nodes[i].bytes = w.nodes[i].elements_n > 0 ? 1e9 / w.nodes[i].elements_n : 0;
        w.nodes[node].cached = w.nodes[node].elements_n;
        w.nodes[node].epoch_ns = 10 * fmax(compute.epoch_ns, w.s.trainer_ns);
        const size_t after = node_of("auto", &w.s);
        assert_true(after == CW_POLICY_NONE);
        refuted++;
    }
    assert_true(refuted > 100);
}

static void test_junk_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"nodes\":[]}",
        "{\"nodes\":[{}]}",
        "{\"nodes\":[{\"name\":1}]}",
        "{\"nodes\":[{\"name\":\"a\",\"inputs\":[0]}]}",
        "{\"nodes\":[{\"name\":\"a\",\"bytes\":\"x\"}]}",
        "{\"nodes\":[{\"name\":\"a\"}],\"store\":{\"points\":[[2,1],[1,1]]}}"};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++) {
        struct cw_autocache_snapshot *s = NULL;
        struct cw_err err = {0};
        assert_true(cw_autocache_snapshot_parse(texts[i], strlen(texts[i]), &s, &err) < 0);
        assert_null(s);
        assert_true(err.msg[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interpolation),
        cmocka_unit_test(test_two_inputs),
        cmocka_unit_test(test_repeated),
        cmocka_unit_test(test_closed_form),
        cmocka_unit_test(test_auto_is_least),
        cmocka_unit_test(test_more_expensive_upstream),
        cmocka_unit_test(test_faster_store),
        cmocka_unit_test(test_cached_records_attract),
        cmocka_unit_test(test_stands_still),
        cmocka_unit_test(test_published_is_least),
        cmocka_unit_test(test_measured_epochs),
        cmocka_unit_test(test_equal_epochs_are_equal),
        cmocka_unit_test(test_reading_is_compared_with_reading),
        cmocka_unit_test(test_junk_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
