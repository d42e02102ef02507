/* SPDX-License-Identifier: Apache-2.0 */
/* The policies of --optimize on random problems: what they give is a plan, and `auto` is never worse than
 * another; and each by hand, where its answer is known. */
#include "support/cm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "policies/optimizer.h"

struct random {
    struct cw_rng rng;
    uint32_t draws;
};

static double between(struct random *random, double a, double b)
{
    return cw_rng_range(&random->rng, random->draws++, a, b);
}

static size_t below(struct random *random, uint64_t n)
{
    return (size_t)cw_rng_below(&random->rng, random->draws++, n);
}

/* ---- random problems ---- */

static uint64_t bit(size_t i)
{
    return UINT64_C(1) << i;
}

static void make_node(struct random *random, size_t i, struct cw_optimize_problem *p)
{
    struct cw_optimize_node *node = &p->nodes[i];

    *node = (struct cw_optimize_node){.name = "n",
                                      .ns = between(random, 0, 1000),
                                      .ns_byte = between(random, 0, 2),
                                      .reads = (uint32_t)below(random, 4),
                                      .ratio = {1, 1},
                                      .keep = below(random, 4) ? 1 : between(random, 0.1, 1),
                                      .behind = i > 0,
                                      .uncacheable = below(random, 6) == 0};
    node->cpu_ns = node->ns * between(random, 0.1, 1);
    node->cpu_ns_byte = node->ns_byte * between(random, 0.1, 1);
    node->ratio[below(random, 2)] = below(random, 3) ? 1 : between(random, 0.2, 4);
    for (size_t j = 1; j < i; j++)
        if (below(random, 4) == 0)
            node->behind |= bit(j);
}

static struct cw_optimize_problem random_problem(struct random *random)
{
    struct cw_optimize_problem p = {.n = 2 + below(random, 7), .fields_n = 2};

    for (size_t i = 0; i < p.n; i++)
        make_node(random, i, &p);
    p.bytes[0] = between(random, 1, 1000);
    p.bytes[1] = between(random, 1, 100);
    p.elements = between(random, 10, 1e5);
    p.epochs = (double)(1 + below(random, 10));
    p.threads = (double)(1 + below(random, 4));
    p.cores = below(random, 2) ? between(random, 0.3, 4) : 0;
    p.remote_max = (unsigned)below(random, 4);
    p.local_max = (unsigned)below(random, 3) + (p.remote_max == 0);
    p.has_store = below(random, 3) > 0;
    p.store = (struct cw_optimize_store){between(random, 0, 500),
                                         between(random, 0, 1),
                                         between(random, 0, 1000),
                                         between(random, 0, 1),
                                         0,
                                         0,
                                         between(random, 0, 1e8)};
    p.cache_needs = below(random, 4) == 0 ? below(random, bit(p.n)) : 0;
    p.source_bytes = between(random, 0, 1000);
    p.source_bytes_s = below(random, 3) ? 0 : between(random, 1e7, 1e9);
    p.network_bytes_s = below(random, 3) ? 0 : between(random, 1e7, 1e9);
    p.trainer_ns = below(random, 3) ? 0 : p.elements * between(random, 1, 1000);
    return p;
}

static void random_classes(struct random *random, const struct cw_optimize_problem *p,
                           struct cw_pecan_op *ops)
{
    for (size_t i = 0; i < p->n; i++) {
        ops[i] = (struct cw_pecan_op){.what = (enum cw_pecan_class)below(random, 7),
                                      .is_map = i > 0 && below(random, 8) > 0,
                                      .stays = below(random, 10) == 0};
        ops[i].keeps_dims = ops[i].what == CW_PECAN_NEUTRAL ||
                            ops[i].what == CW_PECAN_CHEAPER_CAST ||
                            ops[i].what == CW_PECAN_DEARER_CAST;
    }
}

/* The same problem with fewer constraints. */
static void relax(struct random *random, struct cw_optimize_problem *p)
{
    for (size_t i = 1; i < p->n; i++)
        p->nodes[i].behind &= 1 | (uint64_t)below(random, bit(i));
}

static void check_is_plan(const struct cw_optimize_problem *p, const struct cw_optimize_plan *plan)
{
    uint64_t before = 0, cached = 0;

    for (size_t i = 0; i < p->n; i++) {
        size_t op = plan->order[i];
        assert_true(op < p->n && !(before & bit(op)));
        assert_true((p->nodes[op].behind & ~before) == 0);
        before |= bit(op);
        if (plan->cache_after != CW_OPTIMIZE_NO_CACHE && i <= plan->cache_after) {
            assert_true(p->has_store && !p->nodes[op].uncacheable);
            cached = before;
        }
    }
    assert_true(!cached || (p->cache_needs & ~cached) == 0);
    assert_true(plan->remote + plan->local > 0);
    assert_true(plan->remote <= p->remote_max && plan->local <= p->local_max);
}

static double plan_by(const char *name, const struct cw_optimize_problem *p,
                      const struct cw_pecan_op *ops, struct cw_optimizer_plan *ret_plan)
{
    const struct cw_optimizer *policy = cw_optimizer_find(name);

    assert_non_null(policy);
    policy->plan(p, ops, ret_plan);
    check_is_plan(p, &ret_plan->plan);
    return ret_plan->plan.total_ns;
}

/* Returns what `auto` takes, after it was compared with the others. Within 1 % it may take fewer workers. */
static double compare(const struct cw_optimize_problem *p, const struct cw_pecan_op *ops,
                      size_t *moved)
{
    static const char *const OTHERS[] = {"off", "pecan", "cedar"};
    struct cw_optimizer_plan best, other;
    double least = plan_by("auto", p, ops, &best);

    for (size_t i = 0; i < CW_ARRAY_LEN(OTHERS); i++) {
        double ns = plan_by(OTHERS[i], p, ops, &other);
        moved[i] += other.plan.moved > 0;
        if (least > ns * 1.01 * (1 + 1e-9))
            fail_msg("auto takes %.12g ns, and %s %.12g", least, OTHERS[i], ns);
        assert_true(least >= ns * (1 - other.plan.gap) * (1 - 1e-9));
    }
    return least;
}

static void test_never_worse(void **state)
{
    (void)state;
    struct random random = {0};
    size_t moved[3] = {0}, gained = 0;
    cw_rng_init(&random.rng, 11, 0, 0, 0, 0);

    for (size_t i = 0; i < 200; i++) {
        struct cw_optimize_problem p = random_problem(&random);
        struct cw_pecan_op ops[CW_OPTIMIZE_NODES_MAX];
        random_classes(&random, &p, ops);
        double exact = compare(&p, ops, moved);
        relax(&random, &p);
        double relaxed = compare(&p, ops, moved);
        assert_true(relaxed <= exact * 1.01 * (1 + 1e-9));
        gained += relaxed < exact * 0.99;
    }
    printf("pecan moved in %zu, cedar in %zu; relaxed gains in %zu\n", moved[1], moved[2], gained);
    assert_true(moved[0] == 0 && moved[1] > 40 && moved[2] > 80 && gained > 30);
}

/* ---- by hand ---- */

static struct cw_optimize_problem by_hand(size_t n)
{
    struct cw_optimize_problem p = {.n = n,
                                    .fields_n = 1,
                                    .bytes = {100},
                                    .elements = 1000,
                                    .epochs = 1,
                                    .threads = 1,
                                    .remote_max = 2,
                                    .store = {.free_bytes = -1}};

    for (size_t i = 0; i < n; i++)
        p.nodes[i] = (struct cw_optimize_node){
            .name = "n", .ns_byte = 1, .reads = 1, .ratio = {1}, .keep = 1, .behind = i > 0};
    return p;
}

/* b: barrier, n: neutral, c: cheaper cast, d: dearer cast, s: smaller, l: larger, e: as large; in
 * capitals: it keeps its position; "|": no map. */
static void check_pecan(const char *classes, const char *expected)
{
    static const char LETTERS[] = "bncdsle";
    struct cw_optimize_problem p = by_hand(strlen(classes));
    struct cw_pecan_op ops[CW_OPTIMIZE_NODES_MAX];
    struct cw_optimizer_plan found;
    char order[CW_OPTIMIZE_NODES_MAX + 1] = {0};

    for (size_t i = 0; i < p.n; i++) {
        const char *letter = strchr(LETTERS, classes[i] | 0x20);
        ops[i] = (struct cw_pecan_op){.is_map = classes[i] != '|',
                                      .what = letter ? (enum cw_pecan_class)(letter - LETTERS)
                                                     : CW_PECAN_BARRIER,
                                      .stays = classes[i] >= 'A' && classes[i] <= 'Z'};
        ops[i].keeps_dims = letter && strchr("ncd", classes[i] | 0x20);
    }
    plan_by("pecan", &p, ops, &found);
    for (size_t i = 0; i < p.n; i++)
        order[i] = classes[found.plan.order[i]];
    if (strcmp(order, expected) != 0)
        fail_msg("%s: %s, expected %s", classes, order, expected);
    assert_true(found.left_out_n == 0 && found.plan.remote == 2);
}

static void test_pecan_by_hand(void **state)
{
    (void)state;
    /* ResNet-50: decode, augmentation, resize, normalization, a cast that reshapes the label */
    check_pecan("|bnsnb", "|bsnnb");
    /* RetinaNet: decode, normalization, flip, a parser that reshapes: the normalization sinks once */
    check_pecan("|bdnbc", "|bndbc");
    check_pecan("|nnc", "|cnn");
    check_pecan("|dnn", "|nnd");
    check_pecan("|ddn", "|dnd"); /* only the neighbour is passed */
    check_pecan("|nss", "|ssn"); /* the second does not pass the first, which changes dimensions */
    check_pecan("|lnn", "|nnl");
    check_pecan("|lns", "|nls"); /* what changes dimensions is not passed */
    check_pecan("|n|s", "|n|s"); /* a batch, filter or cache */
}

/* What must not move: everything keeps its place, the order is best already, a dearer cast does not
 * rise, and what reshapes is a wall. */
static void test_pecan_leaves(void **state)
{
    (void)state;
    check_pecan("|NNSC", "|NNSC");
    check_pecan("|nS", "|nS");
    check_pecan("|Ns", "|Ns");
    check_pecan("|Dn", "|Dn");
    check_pecan("|dN", "|dN");
    check_pecan("|scnnd", "|scnnd");
    check_pecan("|nnd", "|nnd");
    check_pecan("|nbs", "|nbs");
    check_pecan("|nne", "|nne"); /* such as a factor of 0.97 */
}

/* What the problem forbids is left out, and named. */
static void test_pecan_says_what_it_left_out(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand(4);
    const struct cw_pecan_op ops[4] = {{0},
                                       {CW_PECAN_NEUTRAL, true, true, false},
                                       {CW_PECAN_NEUTRAL, true, true, false},
                                       {CW_PECAN_SMALLER, true, false, false}};
    struct cw_optimizer_plan found;
    p.nodes[3].behind |= bit(1);
    plan_by("pecan", &p, ops, &found);
    assert_true(found.plan.order[2] == 3 && found.plan.moved == 2);
    assert_int_equal(found.left_out_n, 1);
    assert_true(found.left_out[0].up == 3 && found.left_out[0].down == 1);
}

/* cedar goes by cost, and takes the cache that the best order leaves, which `auto` need not. */
static void test_cedar_one_after_the_other(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand(3);
    struct cw_optimizer_plan found, best;
    p.epochs = 10;
    p.has_store = true;
    p.store.read_byte_ns = 0.1;
    p.nodes[1].ns_byte = 10;
    p.nodes[2].ratio[0] = 0.5;
    p.nodes[2].uncacheable = true; /* it draws */
    plan_by("cedar", &p, NULL, &found);
    assert_true(found.plan.order[1] == 2); /* behind it nothing can be cached */
    assert_true(found.plan.cache_after == 0 && found.plan.remote == 2);
    plan_by("auto", &p, NULL, &best);
    assert_true(best.plan.order[1] == 1 && best.plan.cache_after == 1);
    assert_true(best.plan.total_ns < found.plan.total_ns / 1.2);
    p.nodes[2].behind |= bit(1);
    plan_by("cedar", &p, NULL, &found);
    assert_true(found.plan.order[1] == 1 && found.plan.cache_after == 1);
}

/* A profile whose costs are the other way round gives the other plan. */
static void test_costs_decide(void **state)
{
    (void)state;
    static const char *const BY_COST[] = {"auto", "cedar"};

    for (size_t i = 0; i < CW_ARRAY_LEN(BY_COST); i++) {
        struct cw_optimize_problem p = by_hand(3);
        struct cw_optimizer_plan found;
        p.nodes[1].keep = p.nodes[2].keep = 0.5;
        p.nodes[1].ns_byte = 2;
        plan_by(BY_COST[i], &p, NULL, &found);
        assert_true(found.plan.order[1] == 2);
        p.nodes[1].ns_byte = 1;
        p.nodes[2].ns_byte = 2;
        plan_by(BY_COST[i], &p, NULL, &found);
        assert_true(found.plan.order[1] == 1);
    }
}

/* Without costs, cedar has nothing to go by. */
static void test_cedar_without_costs(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand(3);
    struct cw_optimizer_plan found;
    for (size_t i = 0; i < p.n; i++)
        p.nodes[i].ns_byte = 0;
    p.nodes[2].ratio[0] = 0.5;
    plan_by("cedar", &p, NULL, &found);
    assert_true(found.plan.moved == 0);
}

static void test_registry(void **state)
{
    (void)state;
    assert_string_equal(cw_optimizer_names(), "auto, cedar, off, pecan");
    assert_null(cw_optimizer_find("best"));
    assert_true(cw_optimizer_find("auto")->needs_profile);
    assert_true(!cw_optimizer_find("pecan")->needs_profile);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_never_worse),
    cmocka_unit_test(test_pecan_by_hand),
    cmocka_unit_test(test_pecan_leaves),
    cmocka_unit_test(test_pecan_says_what_it_left_out),
    cmocka_unit_test(test_cedar_one_after_the_other),
    cmocka_unit_test(test_costs_decide),
    cmocka_unit_test(test_cedar_without_costs),
    cmocka_unit_test(test_registry),
};

CW_TESTS_MAIN(tests)
