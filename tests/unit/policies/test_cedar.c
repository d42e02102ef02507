/* SPDX-License-Identifier: Apache-2.0 */
/* cedar's optimizer: orders of random chains against a search of all permutations, and each pass by
 * small chains whose costs are worked out by hand. Its published plans are in integration.plan. */
#include "support/cm.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "policies/cedar.h"
#include "policies/cedar_int.h"

#define N_MAX 8

static struct cw_cedar_options options;
static struct cw_cedar_plan plan;

/* ---- random chains ---- */

struct random {
    struct cw_rng rng;
    uint32_t draws;
};

static struct random random_from(uint64_t seed)
{
    struct random random = {0};

    cw_rng_init(&random.rng, seed, 0, 0, 0, 0);
    return random;
}

static double between(struct random *random, double a, double b)
{
    return cw_rng_range(&random->rng, random->draws++, a, b);
}

static size_t below(struct random *random, uint64_t n)
{
    return (size_t)cw_rng_below(&random->rng, random->draws++, n);
}

static struct cw_cedar_chain random_chain(struct random *rng, size_t n)
{
    struct cw_cedar_chain chain = {.n = n, .throughput = between(rng, 1, 1000)};

    for (size_t i = 0; i < n; i++) {
        struct cw_cedar_op *op = &chain.ops[i];
        bool is_even = below(rng, 3) == 0;
        op->id = (int64_t)(n - 1 - i);
        op->is_source = i == 0;
        op->is_fixed = i > 0 && below(rng, 8) == 0;
        op->latency = between(rng, 0.1, 10);
        op->in_bytes = between(rng, 1, 1e6);
        op->out_bytes = op->in_bytes * (is_even ? 1 : between(rng, 0.1, 4));
        if (i > 1 && below(rng, 4) == 0)
            op->depends_on = UINT64_C(1) << (1 + below(rng, i - 1));
    }
    return chain;
}

struct all {
    const struct cw_cedar_chain *chain;
    uint64_t walls[CW_CEDAR_OPS_MAX];
    size_t order[N_MAX];
    double orders, least;
};

static double cost_of(const struct cw_cedar_chain *chain, const size_t *order)
{
    struct cw_cedar_view view = {chain, order};

    return cw_cedar_cost(&view, NULL);
}

/* All permutations in which operators with a wall between them keep their sides. */
static void permute(struct all *all, size_t at, uint64_t used)
{
    if (at == all->chain->n) {
        all->orders++;
        all->least = fmin(all->least, cost_of(all->chain, all->order));
        return;
    }
    for (size_t op = 0; op < all->chain->n; op++) {
        uint64_t before = all->walls[op] & ((UINT64_C(1) << op) - 1);
        if ((used >> op & 1) || (before & ~used))
            continue;
        all->order[at] = op;
        permute(all, at + 1, used | UINT64_C(1) << op);
    }
}

static void check_is_allowed(const struct all *all, const size_t *order)
{
    uint64_t seen = 0;

    for (size_t i = 0; i < all->chain->n; i++) {
        uint64_t before = all->walls[order[i]] & ((UINT64_C(1) << order[i]) - 1);
        assert_int_equal(before & ~seen, 0);
        seen |= UINT64_C(1) << order[i];
    }
    assert_int_equal(seen, (UINT64_C(1) << all->chain->n) - 1);
}

static void test_the_least_of_all_orders(void **state)
{
    (void)state;
    struct random rng = random_from(7);
    size_t with_choice = 0;
    for (size_t i = 0; i < 300; i++) {
        size_t n = 1 + below(&rng, N_MAX);
        struct cw_cedar_chain chain = random_chain(&rng, n);
        struct all all = {.chain = &chain, .least = HUGE_VAL};
        assert_int_equal(cw_cedar_check(&chain, NULL), 0);
        cw_cedar_walls(&chain, all.walls);
        permute(&all, 0, 0);
        struct cw_cedar_plan found = {.n = n};
        cw_cedar_find_order(&chain, &found);
        check_is_allowed(&all, found.order);
        assert_true(found.is_least && found.is_complete);
        assert_true(found.orders == all.orders);
        assert_true(fabs(cost_of(&chain, found.order) - all.least) <= 1e-9);
        with_choice += all.orders > 1;
    }
    assert_true(with_choice > 150);
}

/* Beyond a million orders the least is found all the same, and a part of a chain that is too large for
 * that stays as written. */
static void test_chains_with_too_many_orders(void **state)
{
    (void)state;
    struct random rng = random_from(8);
    struct cw_cedar_chain chain = random_chain(&rng, 12);
    for (size_t i = 0; i < chain.n; i++) {
        chain.ops[i].is_fixed = false;
        chain.ops[i].depends_on = 0;
    }
    cw_cedar_plan(&chain, &options, &plan);
    assert_true(plan.orders == 39916800 && plan.is_least && !plan.is_complete); /* 11! */
    /* without constraints, the least cost is that of the order by cost over what it saves */
    double ratio = -HUGE_VAL;
    for (size_t i = 1; i < chain.n; i++) {
        const struct cw_cedar_op *op = &chain.ops[plan.order[i]];
        double rank = (op->out_bytes / op->in_bytes - 1) /
                      (cw_cedar_base_ms(&chain, plan.order[i]) / op->in_bytes);
        assert_true(rank >= ratio);
        ratio = rank;
    }
    chain = random_chain(&rng, 40);
    for (size_t i = 0; i < chain.n; i++) {
        chain.ops[i].is_fixed = false;
        chain.ops[i].depends_on = 0;
    }
    cw_cedar_plan(&chain, &options, &plan);
    assert_true(plan.orders == 0 && !plan.is_least && !plan.is_complete);
    for (size_t i = 0; i < chain.n; i++)
        assert_int_equal(plan.order[i], i);
}

/* ---- the passes ---- */

/* A source and three operators of 1, 2 and 4 ms; 10 bytes go in and out everywhere. */
static struct cw_cedar_chain chain_by_hand(void)
{
    struct cw_cedar_chain chain = {.n = 4, .throughput = 1000.0 / 8, .read_latency = 1e-5};

    for (size_t i = 0; i < chain.n; i++)
        chain.ops[i] = (struct cw_cedar_op){.id = (int64_t)i,
                                            .is_source = i == 0,
                                            .is_fixed = true,
                                            .latency = i == 0 ? 1 : 1 << (i - 1),
                                            .in_bytes = 10,
                                            .out_bytes = 10};
    return chain;
}

static struct cw_cedar_options with(unsigned cpus)
{
    return (struct cw_cedar_options){.cpus = cpus, .free_bytes = HUGE_VAL};
}

static void test_copies(void **state)
{
    (void)state;
    struct cw_cedar_chain chain = chain_by_hand();
    struct cw_cedar_options o = with(6);
    cw_cedar_plan(&chain, &o, &plan);
    assert_true(fabs(plan.base_ms - 8) < 1e-9 && plan.workers == 6);
    o.no_parallelism = true;
    cw_cedar_plan(&chain, &o, &plan);
    assert_int_equal(plan.workers, 1);
    /* 125 elements a second of 8e5 bytes are more than 95 MB a second, of 7e5 less, but more than 80 */
    o.no_parallelism = false;
    chain.ops[3].out_bytes = 8e5;
    cw_cedar_plan(&chain, &o, &plan);
    assert_int_equal(plan.workers, 1);
    chain.ops[3].out_bytes = 7e5;
    cw_cedar_plan(&chain, &o, &plan);
    assert_int_equal(plan.workers, 6);
    o.no_offload = true;
    cw_cedar_plan(&chain, &o, &plan);
    assert_int_equal(plan.workers, 1);
}

static void test_cache(void **state)
{
    (void)state;
    struct cw_cedar_chain chain = chain_by_hand();
    struct cw_cedar_options o = with(1);
    o.with_caching = true;
    o.samples = 100;
    chain.ops[3].is_random = true;
    cw_cedar_plan(&chain, &o, &plan);
    assert_true(plan.has_cache && plan.cache_after == 2); /* 4 ms and 10 bytes of 10 us a byte */
    assert_true(fabs(plan.cached_ms - 4.1) < 1e-9 && fabs(plan.plan_ms - 4.1) < 1e-9);
    o.free_bytes = 1000; /* 100 elements of 10 bytes are not less */
    cw_cedar_plan(&chain, &o, &plan);
    assert_true(!plan.has_cache && plan.cached_ms == plan.order_ms);
    o.free_bytes = 1001;
    chain.read_latency = 0.1; /* a second an element: never worth it */
    cw_cedar_plan(&chain, &o, &plan);
    assert_false(plan.has_cache);
    chain.read_latency = 1e-5;
    o.samples = 0;
    cw_cedar_plan(&chain, &o, &plan);
    assert_false(plan.has_cache);
}

static void make_movable(struct cw_cedar_chain *chain, size_t op, double throughput)
{
    chain->ops[op].is_fusable = chain->ops[op].is_offloadable = true;
    chain->ops[op].moved_throughput[CW_CEDAR_RAY] = throughput;
    chain->has_backend[CW_CEDAR_RAY] = true;
}

static void test_offload(void **state)
{
    (void)state;
    struct cw_cedar_chain chain = chain_by_hand();
    struct cw_cedar_options o = with(2);
    /* half of the time: 4 of 8 ms; 1000/6 elements a second are 6 ms, so that 2 of the 4 are left */
    make_movable(&chain, 3, 1000.0 / 6);
    cw_cedar_plan(&chain, &o, &plan);
    assert_true(plan.backend == CW_CEDAR_RAY && plan.offloads_n == 1);
    assert_true(plan.offloads[0].first == 3 && plan.offloads[0].n == 1);
    assert_true(plan.offloads[0].scale == 16 && plan.offloads[0].submit_batch == 500);
    assert_true(fabs(plan.plan_ms - 6) < 1e-9);
    /* more than the law allows: nothing is left of it */
    make_movable(&chain, 3, 1000.0 / 3);
    cw_cedar_plan(&chain, &o, &plan);
    assert_true(fabs(plan.plan_ms - 4) < 1e-9);
    /* fused with its neighbour, which by itself would be slower: 2 * 3 + 0 ms, of which half are left */
    make_movable(&chain, 2, 1000.0 / 12);
    cw_cedar_plan(&chain, &o, &plan);
    assert_true(plan.offloads_n == 1 && plan.offloads[0].first == 3);
    make_movable(&chain, 2, 1000.0 / 7.5);
    cw_cedar_plan(&chain, &o, &plan);
    assert_true(plan.offloads_n == 1 && plan.offloads[0].first == 2 && plan.offloads[0].n == 2);
    assert_true(fabs(plan.plan_ms - (2 + 1.5 * 20 / 40)) < 1e-9);
    o.no_fusion = true;
    cw_cedar_plan(&chain, &o, &plan);
    assert_true(plan.offloads_n == 2 && plan.offloads[0].n == 1 && plan.offloads[0].scale == 8);
    chain.ops[2].is_offloadable = false;
    cw_cedar_plan(&chain, &o, &plan);
    assert_true(plan.offloads_n == 1 && plan.offloads[0].first == 3);
}

static void test_what_saves_little_stays(void **state)
{
    (void)state;
    struct cw_cedar_chain chain = chain_by_hand();
    struct cw_cedar_options o = with(1);
    chain.ops[1].latency = 0.1; /* 1.4 % of the time */
    make_movable(&chain, 1, 1000);
    cw_cedar_plan(&chain, &o, &plan);
    assert_true(plan.offloads_n == 0 && plan.backend == CW_CEDAR_BACKENDS);
}

/* What is not fusable may run elsewhere by itself. */
static void test_single_operators_move(void **state)
{
    (void)state;
    struct cw_cedar_chain chain = chain_by_hand();
    struct cw_cedar_options o = with(1);
    make_movable(&chain, 3, 1000.0 / 6);
    chain.ops[3].is_fusable = false;
    cw_cedar_plan(&chain, &o, &plan);
    assert_true(plan.offloads_n == 1 && plan.offloads[0].first == 3);
    chain.ops[3].is_offloadable = false;
    cw_cedar_plan(&chain, &o, &plan);
    assert_int_equal(plan.offloads_n, 0);
}

/* A cache goes if the offload that was chosen without it is cheaper so. */
static void test_cache_or_offload(void **state)
{
    (void)state;
    struct cw_cedar_chain chain = chain_by_hand();
    struct cw_cedar_options o = with(1);
    o.with_caching = true;
    o.samples = 1;
    chain.read_latency = 0.3; /* 3 ms an element: better than 4 or more, worse than nothing */
    chain.ops[3].is_random = true;
    make_movable(&chain, 2, 1e6);
    cw_cedar_plan(&chain, &o, &plan);
    assert_true(!plan.has_cache && plan.offloads_n == 1);
    chain.read_latency = 1e-5;
    cw_cedar_plan(&chain, &o, &plan);
    assert_true(plan.has_cache);
}

static void test_source_takes_all(void **state)
{
    (void)state;
    struct cw_cedar_chain chain = chain_by_hand();
    struct cw_cedar_options o = with(4);
    chain.ops[0].is_fusable_source = true;
    for (size_t i = 1; i < 4; i++)
        make_movable(&chain, i, 1000);
    cw_cedar_plan(&chain, &o, &plan);
    assert_true(plan.is_source_fused && plan.workers == 1);
    o.no_offload = true;
    cw_cedar_plan(&chain, &o, &plan);
    assert_true(plan.is_source_fused && plan.workers == 1);
    o.no_fusion = true;
    cw_cedar_plan(&chain, &o, &plan);
    assert_true(!plan.is_source_fused && plan.workers == 4);
    chain.ops[2].is_fusable = false;
    o.no_fusion = false;
    cw_cedar_plan(&chain, &o, &plan);
    assert_false(plan.is_source_fused);
}

static void test_bad_chains(void **state)
{
    (void)state;
    struct cw_cedar_chain chain = chain_by_hand();
    struct cw_err err = {0};
    chain.ops[2].in_bytes = 0;
    assert_int_equal(cw_cedar_check(&chain, &err), CW_E_INVALID);
    assert_string_equal(err.msg, "operator 2: the profile has no usable input size");
    chain = chain_by_hand();
    chain.ops[1].is_source = true;
    assert_int_equal(cw_cedar_check(&chain, &err), CW_E_INVALID);
    chain = chain_by_hand();
    chain.ops[0].is_source = false;
    assert_int_equal(cw_cedar_check(&chain, &err), CW_E_INVALID);
    chain = chain_by_hand();
    chain.throughput = 0;
    assert_int_equal(cw_cedar_check(&chain, &err), CW_E_INVALID);
    chain = chain_by_hand();
    chain.ops[3].latency = HUGE_VAL;
    assert_int_equal(cw_cedar_check(&chain, &err), CW_E_INVALID);
    chain = chain_by_hand();
    for (size_t i = 0; i < chain.n; i++)
        chain.ops[i].latency = 0;
    assert_int_equal(cw_cedar_check(&chain, &err), CW_E_INVALID);
    chain.n = 0;
    assert_int_equal(cw_cedar_check(&chain, &err), CW_E_INVALID);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_the_least_of_all_orders),
    cmocka_unit_test(test_chains_with_too_many_orders),
    cmocka_unit_test(test_copies),
    cmocka_unit_test(test_cache),
    cmocka_unit_test(test_offload),
    cmocka_unit_test(test_what_saves_little_stays),
    cmocka_unit_test(test_single_operators_move),
    cmocka_unit_test(test_cache_or_offload),
    cmocka_unit_test(test_source_takes_all),
    cmocka_unit_test(test_bad_chains),
};

CW_TESTS_MAIN(tests)
