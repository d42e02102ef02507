/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizer against a search of all orders, caches and numbers of workers, and by cases whose best
 * plan is known. */
#include "support/cm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "policies/optimize_int.h"
#include "policies/optimize_view.h"

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

static void make_node(struct random *random, size_t i, struct cw_optimize_problem *p)
{
    struct cw_optimize_node *node = &p->nodes[i];

    *node = (struct cw_optimize_node){.name = "n",
                                      .ns = between(random, 0, 1000),
                                      .ns_byte = between(random, 0, 2),
                                      .reads = (uint32_t)below(random, 1 << p->fields_n),
                                      .keep = 1};
    node->cpu_ns = node->ns * between(random, 0.1, 1);
    node->cpu_ns_byte = node->ns_byte * between(random, 0.1, 1);
    if (below(random, 3) == 0)
        node->keep = between(random, 0.05, 1);
    for (size_t f = 0; f < p->fields_n; f++)
        node->ratio[f] = below(random, 2) ? between(random, 0.2, 4) : 1;
    node->behind = i > 0 ? 1 : 0; /* the source */
    for (size_t j = 1; j < i; j++)
        if (below(random, 5) == 0)
            node->behind |= UINT64_C(1) << j;
    node->uncacheable = below(random, 6) == 0;
    if (i > 0 && i + 1 < p->n && below(random, 4) == 0) { /* one of the next crops */
        node->crops = UINT64_C(1) << (i + 1 + below(random, p->n - i - 1));
        node->whole = (struct cw_optimize_whole){node->ns * 2, node->ns_byte * 2, node->cpu_ns * 2,
                                                 node->cpu_ns_byte * 2, between(random, 1, 8)};
        node->whole_fields = 1;
    }
}

static struct cw_optimize_problem random_problem(struct random *random, size_t n)
{
    struct cw_optimize_problem p = {.n = n, .fields_n = 1 + below(random, 3)};

    for (size_t f = 0; f < p.fields_n; f++)
        p.bytes[f] = between(random, 1, 1000);
    for (size_t i = 0; i < n; i++)
        make_node(random, i, &p);
    if (n > 2 && below(random, 4) == 0) { /* the second operator adds the last field */
        p.nodes[1].adds = UINT32_C(1) << (p.fields_n - 1);
        p.nodes[0].reads = p.nodes[1].reads = 0;
        for (size_t i = 2; i < n; i++)
            p.nodes[i].behind |= 1 << 1;
    }
    p.cache_needs = below(random, 4) == 0 ? below(random, UINT64_C(1) << n) : 0;
    p.elements = between(random, 10, 1e5);
    p.epochs = (double)(1 + below(random, 10));
    p.threads = (double)(1 + below(random, 4));
    p.cores = below(random, 2) ? between(random, 0.3, 4) : 0;
    p.remote_max = (unsigned)below(random, 4);
    p.local_max = (unsigned)below(random, 3) + (p.remote_max == 0);
    p.has_store = below(random, 3) > 0;
    p.store =
        (struct cw_optimize_store){.read_ns = between(random, 0, 500),
                                   .read_byte_ns = between(random, 0, 1),
                                   .write_ns = between(random, 0, 1000),
                                   .write_byte_ns = between(random, 0, 1),
                                   .free_bytes = below(random, 2) ? -1 : between(random, 1, 1e7)};
    if (below(random, 3) == 0)
        p.store.read_bytes_s = between(random, 1e6, 1e9);
    if (below(random, 3) == 0)
        p.store.write_bytes_s = between(random, 1e6, 1e9);
    p.source_bytes = between(random, 0, 1000);
    p.source_bytes_s = below(random, 2) ? 0 : between(random, 1e7, 1e9);
    p.network_bytes_s = below(random, 2) ? 0 : between(random, 1e7, 1e9);
    p.trainer_ns = below(random, 2) ? 0 : p.elements * between(random, 1, 1000);
    p.other_ns = below(random, 3) ? between(random, 0, 1e6) : 1e10; /* workers change little then */
    p.element_ns = below(random, 2) ? between(random, 0, 500) : 0;
    p.worker_price = between(random, 0, 1);
    p.trainer_price = between(random, 0, 3);
    p.least_money = below(random, 4) == 0;
    p.least_work = below(random, 3) == 0;
    for (p.cached_n = below(random, 3); below(random, 3) > 0 && p.cached_n < 4; p.cached_n++) {
    }
    for (size_t i = 0; i < p.cached_n; i++)
        p.cached[i] = (struct cw_optimize_cached){1 + below(random, (UINT64_C(1) << n) - 1),
                                                  between(random, 0, 1)};
    return p;
}

/* What passes a set of filters passes each part of it. */
static void make_filters(struct random *random, struct cw_optimize_problem *p)
{
    struct cw_optimize_filters *filters = &p->filters;
    filters->n = below(random, CW_MIN(p->n, 4));
    for (size_t i = 0; i < filters->n; i++)
        filters->place[i] = (uint8_t)(i + 1);
    filters->share[0] = 1;
    for (unsigned set = 1; filters->n > 0 && set < 1u << filters->n; set++) {
        double share = 1;
        for (size_t i = 0; i < filters->n; i++)
            if (set >> i & 1)
                share = fmin(share, filters->share[set & ~(1u << i)]);
        filters->share[set] = share * (below(random, 3) ? between(random, 0.1, 1) : 1);
    }
}

/* Operators that do the work of others, and that work on many elements at once; and filters that leave out the same
 * elements. */
static void make_together(struct random *random, struct cw_optimize_problem *p)
{
    for (size_t i = 1; i < p->n; i++) {
        struct cw_optimize_node *node = &p->nodes[i];
        if (below(random, 3) == 0)
            node->folds = below(random, UINT64_C(1) << p->n) & ~UINT64_C(1);
        node->by_batch = below(random, 3) > 0;
        if (node->by_batch && below(random, 3) > 0)
            node->batch = (struct cw_optimize_batch){true, node->ns / 5, node->ns_byte / 2,
                                                     node->cpu_ns / 4, node->cpu_ns_byte / 2};
    }
    if (p->n > 3 && below(random, 3) == 0) { /* nobody passes what makes batches */
        const size_t at = 1 + below(random, p->n - 1);
        p->nodes[at].is_batch = true;
        p->nodes[at].by_batch = false;
        p->nodes[at].folds = 0;
        p->nodes[at].behind |= (UINT64_C(1) << at) - 1;
        for (size_t i = at + 1; i < p->n; i++)
            p->nodes[i].behind |= UINT64_C(1) << at;
    }
    make_filters(random, p);
    p->apart = below(random, 8) == 0;
}

/* ---- all plans ---- */

struct all {
    const struct cw_optimize_problem *problem;
    struct cw_optimize_plan plan;
    double least, second;
    size_t orders;
    bool is_second_round;
};

static double first_of(const struct all *all)
{
    return all->problem->least_money ? all->plan.money : all->plan.total_ns;
}

static void look(struct all *all)
{
    cw_optimize_price(all->problem, &all->plan);
    if (!all->is_second_round)
        all->least = fmin(all->least, first_of(all));
    else if (first_of(all) <= all->least * 1.01 * (1 + 1e-9))
        all->second =
            fmin(all->second, all->problem->least_money ? all->plan.total_ns : all->plan.money);
}

static void with_workers(struct all *all)
{
    for (all->plan.remote = 0; all->plan.remote <= all->problem->remote_max; all->plan.remote++)
        for (all->plan.local = 0; all->plan.local <= all->problem->local_max; all->plan.local++)
            if (all->plan.remote + all->plan.local > 0)
                look(all);
}

static void with_caches(struct all *all)
{
    uint64_t before = 0;
    all->orders++;
    all->plan.cache_after = CW_OPTIMIZE_NO_CACHE;
    with_workers(all);
    for (size_t i = 0; all->problem->has_store && i < all->problem->n; i++) {
        if (all->problem->nodes[all->plan.order[i]].uncacheable)
            return;
        before |= UINT64_C(1) << all->plan.order[i];
        all->plan.cache_after = i;
        if ((all->problem->cache_needs & ~before) == 0)
            with_workers(all);
    }
}

static void permute(struct all *all, size_t at, uint64_t used)
{
    if (at == all->problem->n) {
        with_caches(all);
        return;
    }
    for (size_t op = 0; op < all->problem->n; op++)
        if (!(used >> op & 1) && (all->problem->nodes[op].behind & ~used) == 0) {
            all->plan.order[at] = op;
            permute(all, at + 1, used | UINT64_C(1) << op);
        }
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* Counts the operators of a plan that are not called, and those that work on many elements at once. */
static void count_together(const struct cw_optimize_problem *p, const struct cw_optimize_plan *plan,
                           size_t *folded, size_t *by_batch)
{
    struct cw_optimize_row rows[CW_OPTIMIZE_NODES_MAX];
    cw_optimize_rows(p, plan, rows);
    for (size_t i = 0; i < p->n; i++) {
        *folded += rows[i].is_folded;
        *by_batch += rows[i].by_batch;
    }
}

/* together: with operators that do the work of others and the like. */
static void look_at_all_plans(bool together)
{
    struct random random = {0};
    size_t with_cache = 0, with_move = 0, not_fastest = 0, folded = 0, by_batch = 0;
    cw_rng_init(&random.rng, 5 + together, 0, 0, 0, 0);
    for (size_t i = 0; i < 300; i++) {
        struct cw_optimize_problem p = random_problem(&random, 1 + below(&random, 6));
        if (together)
            make_together(&random, &p);
        struct all all = {.problem = &p, .least = HUGE_VAL, .second = HUGE_VAL};
        struct cw_optimize_plan plan;
        permute(&all, 0, 0);
        all.is_second_round = true;
        permute(&all, 0, 0);
        cw_optimize(&p, &plan);
        assert_true(plan.is_best && plan.states > 0 && plan.gap < 1e-300);
        if (!p.least_money)
            assert_true(plan.total_ns * (1 - cw_optimize_gap(&p, &plan)) <= all.least * (1 + 1e-9));
        double first = p.least_money ? plan.money : plan.total_ns;
        double second = p.least_money ? plan.total_ns : plan.money;
        if (first > all.least * 1.01 * (1 + 1e-9) || !is_near(second, all.second))
            fail_msg("problem %zu: %.12g of %.12g, %.12g of %.12g", i, first, all.least, second,
                     all.second);
        not_fastest += !is_near(first, all.least);
        with_cache += plan.cache_after != CW_OPTIMIZE_NO_CACHE;
        with_move += plan.moved > 0;
        count_together(&p, &plan, &folded, &by_batch);
    }
    printf("%zu with a cache, %zu with operators moved, %zu cheaper and not fastest\n", with_cache,
           with_move, not_fastest);
    assert_true(with_cache > 20 && with_move > 80 && not_fastest > 10);
    if (together)
        assert_true(folded > 50 && by_batch > 50);
    else
        assert_true(folded == 0 && by_batch == 0);
}

static void test_best_of_all_plans(void **state)
{
    (void)state;
    look_at_all_plans(false);
}

static void test_best_together(void **state)
{
    (void)state;
    look_at_all_plans(true);
}

/* ---- by hand ---- */

/* A source, and three operators on one field of 100 bytes; one worker of one thread, one epoch. */
static struct cw_optimize_problem by_hand(void)
{
    struct cw_optimize_problem p = {.n = 4,
                                    .fields_n = 1,
                                    .bytes = {100},
                                    .elements = 1000,
                                    .epochs = 1,
                                    .threads = 1,
                                    .remote_max = 1,
                                    .store = {.free_bytes = -1}};

    for (size_t i = 0; i < p.n; i++)
        p.nodes[i] = (struct cw_optimize_node){
            .name = "n", .reads = 1, .ratio = {1}, .keep = 1, .behind = i > 0};
    return p;
}

/* A cast is worth nothing where who comes next reads what the cast reads: it stays beside it, though a filter would
 * save more of it elsewhere. */
static void test_fold(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.nodes[1].ns_byte = 1, p.nodes[1].ratio[0] = 4; /* the cast */
    p.nodes[2].ns = 50;
    p.nodes[3].ns_byte = 2, p.nodes[3].behind |= 1 << 1;
    p.nodes[3].folds = 1 << 1;
    cw_optimize(&p, &plan);
    const size_t at = plan.order[1] == 1 ? 1 : 2;
    assert_true(plan.order[at] == 1 && plan.order[at + 1] == 3);
    assert_true(cw_optimize_is_folded(&p, &plan, at) && !cw_optimize_is_folded(&p, &plan, at + 1));
    assert_true(is_near(plan.thread_ns, 50 + 2 * 100)); /* of the bytes before the cast */
    /* a cache between wants what the cast makes */
    plan.cache_after = at;
    assert_false(cw_optimize_is_folded(&p, &plan, at));
    p.apart = true;
    cw_optimize(&p, &plan);
    assert_true(is_near(plan.thread_ns, 100 + 50 + 2 * 400));
    /* what has no effect is not called anywhere */
    p.apart = false;
    p.nodes[2].folds = 1 << 2;
    cw_optimize(&p, &plan);
    assert_true(is_near(plan.thread_ns, 2 * 100));
}

/* Many at once before the batch: the operator that gains by it goes there, and the other one does not. */
static void test_batch(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.nodes[1].ns = 100, p.nodes[1].by_batch = true;
    p.nodes[1].batch = (struct cw_optimize_batch){true, 10, 0, 10, 0};
    p.nodes[2].ns = 100;
    p.nodes[3].is_batch = true, p.nodes[3].behind = 7;
    cw_optimize(&p, &plan);
    assert_true(plan.order[1] == 2 && plan.order[2] == 1);
    assert_true(is_near(plan.thread_ns, 110));
    p.bytes[0] = CW_OPTIMIZE_ROW_BYTES_MAX + 1; /* rows that gain nothing */
    cw_optimize(&p, &plan);
    assert_true(plan.moved == 0 && is_near(plan.thread_ns, 200));
}

/* What is left after both of two filters that leave out the same is known, so the second one is of no use, wherever it
 * stands; taken by itself, each would save as much. */
static void test_filters_alike(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.nodes[1].ns = 10, p.nodes[1].keep = 0.1;
    p.nodes[2].ns = 9, p.nodes[2].keep = 0.9; /* as measured behind the other one */
    p.nodes[3].ns = 1000;
    p.filters = (struct cw_optimize_filters){2, {1, 2}, {1, 0.1, 0.11, 0.099}};
    cw_optimize(&p, &plan);
    assert_int_equal(plan.order[1], 2);
    assert_true(is_near(plan.thread_ns, 9 + 0.11 * 10 + 0.099 * 1000));
    /* and that plan stays when it is measured in this order */
    p.nodes[1].keep = 0.9, p.nodes[2].keep = 0.11;
    cw_optimize(&p, &plan);
    assert_int_equal(plan.order[1], 2);
    /* without what is known of both it would go one way and then the other */
    p.filters.n = 0;
    cw_optimize(&p, &plan);
    assert_int_equal(plan.order[1], 2);
    p.nodes[1].keep = 0.1, p.nodes[2].keep = 0.9;
    cw_optimize(&p, &plan);
    assert_int_equal(plan.order[1], 1);
}

static double cost_of_dropping(const struct cw_optimize_problem *p, size_t op)
{
    return p->nodes[op].ns / (1 - p->nodes[op].keep);
}

/* Filters alone stand by what they cost over the share that they leave out: no order is better, and the one that is
 * found is alike to it. */
static void test_filters_alone(void **state)
{
    (void)state;
    struct random random = {0};
    cw_rng_init(&random.rng, 11, 0, 0, 0, 0);
    for (size_t k = 0; k < 100; k++) {
        struct cw_optimize_problem p = by_hand();
        struct cw_optimize_plan plan, sorted = {.remote = 1, .cache_after = CW_OPTIMIZE_NO_CACHE};
        p.n = 8;
        for (size_t i = 1; i < p.n; i++) {
            p.nodes[i] = p.nodes[1];
            p.nodes[i].ns = between(&random, 1, 1000);
            p.nodes[i].keep = between(&random, 0, 0.99);
            size_t at = i;
            for (; at > 1 && cost_of_dropping(&p, sorted.order[at - 1]) > cost_of_dropping(&p, i);
                 at--)
                sorted.order[at] = sorted.order[at - 1];
            sorted.order[at] = i;
        }
        cw_optimize_price(&p, &sorted);
        cw_optimize(&p, &plan);
        assert_true(sorted.total_ns <= plan.total_ns * (1 + 1e-9));
        assert_true(plan.total_ns <= sorted.total_ns * 1.01);
        assert_int_equal(plan.order[1], sorted.order[1]);
    }
}

static void test_filter_goes_first(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.nodes[1].ns = 1000;
    p.nodes[2].ns = 10;
    p.nodes[3].ns = 10;
    p.nodes[3].keep = 0.05;
    cw_optimize(&p, &plan);
    assert_int_equal(plan.order[1], 3);
    assert_true(is_near(plan.total_ns, 1000 * (10 + 0.05 * 1010)));
    assert_true(plan.states == 9 && plan.cache_after == CW_OPTIMIZE_NO_CACHE);
    /* not past what it has to stay behind */
    p.nodes[3].behind |= 1 << 1;
    cw_optimize(&p, &plan);
    assert_true(plan.order[1] == 1 && plan.order[2] == 3 && plan.order[3] == 2);
}

/* Of orders that cost the same, the one with the fewest operators moved. */
static void test_no_idle_moves(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.n = 6;
    p.nodes[4] = p.nodes[5] = p.nodes[1];
    p.nodes[1].ns = 1000;
    p.nodes[2].ns = 10;
    p.nodes[3].ns = 10, p.nodes[3].keep = 0.05, p.nodes[3].behind |= 1 << 2;
    p.nodes[4].ns = 300;
    p.nodes[5].behind = 0x1f;
    cw_optimize(&p, &plan);
    assert_true(plan.order[1] == 2 && plan.order[2] == 3 && plan.order[3] == 1);
    assert_true(plan.order[4] == 4 && plan.moved == 3);
}

/* Filters alone come out by cost over the share that they drop. */
static void test_filters_by_cost_over_dropped(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.nodes[1].ns = 10, p.nodes[1].keep = 0.9; /* 100 */
    p.nodes[2].ns = 30, p.nodes[2].keep = 0.4; /* 50 */
    p.nodes[3].ns = 8, p.nodes[3].keep = 0.9;  /* 80 */
    cw_optimize(&p, &plan);
    assert_true(plan.order[1] == 2 && plan.order[2] == 3 && plan.order[3] == 1);
}

static void test_what_shrinks_goes_before_what_grows(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.nodes[1].ns_byte = 1, p.nodes[1].ratio[0] = 4;
    p.nodes[2].ns_byte = 1;
    p.nodes[3].ns_byte = 0.5, p.nodes[3].ratio[0] = 0.25;
    cw_optimize(&p, &plan);
    assert_true(plan.order[1] == 3 && plan.order[2] == 2 && plan.order[3] == 1);
    assert_true(is_near(plan.total_ns, 1000 * (50 + 25 + 25)));
}

/* The order that is best without a cache is not the one that is best with it: a random operator that
 * shrinks goes first without, and last with. */
static void test_order_and_cache_together(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.nodes[1].ns_byte = 10;
    p.nodes[2].ns_byte = 1, p.nodes[2].ratio[0] = 0.5, p.nodes[2].uncacheable = true;
    p.n = 3;
    cw_optimize(&p, &plan);
    assert_true(plan.order[1] == 2);
    p.has_store = true;
    p.epochs = 10;
    p.store.read_ns = 50;
    cw_optimize(&p, &plan);
    assert_true(plan.order[1] == 1 && plan.cache_after == 1);
    assert_true(is_near(plan.epoch_ns, 1000 * (50 + 100)));
    assert_true(is_near(plan.first_ns, 1000 * (1000 + 100)));
    p.epochs = 1;
    cw_optimize(&p, &plan);
    assert_true(plan.cache_after == CW_OPTIMIZE_NO_CACHE && plan.order[1] == 2);
}

/* What is in the cache already is read in the first epoch, and is not written again. */
static void test_what_is_cached_already(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.n = 3;
    p.nodes[1].ns = 1000;
    p.nodes[2].ns = 100, p.nodes[2].uncacheable = true;
    p.has_store = true;
    p.store.read_ns = 50, p.store.write_ns = 2000;
    p.cached[0] = (struct cw_optimize_cached){3, 0.25};
    p.cached_n = 1;
    cw_optimize(&p, &plan);
    assert_int_equal(plan.cache_after, CW_OPTIMIZE_NO_CACHE);
    p.cached[0].share = 0.75;
    p.store.free_bytes = 1000 * 100 / 2; /* half of them would fit, but they are there */
    cw_optimize(&p, &plan);
    assert_int_equal(plan.cache_after, 1);
    assert_true(is_near(plan.first_ns, 1000 * (0.75 * 50 + 0.25 * 1000 + 100)));
    p.store.free_bytes = -1;
    p.epochs = 3;
    cw_optimize(&p, &plan);
    double first = 0.75 * 50 + 0.25 * 3000 + 100, later = 50 + 100;
    assert_true(is_near(plan.total_ns, 1000 * (first + 2 * later)));
    assert_true(is_near(plan.work_ns, first + 2 * later));
}

/* A decoder that makes a quarter of each image for a crop: a cache between the two would have it make all. */
static void test_whole_images(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.n = 3;
    p.nodes[1].ns = 1000;
    p.nodes[2].ns_byte = 1, p.nodes[2].behind = 3, p.nodes[2].uncacheable = true;
    p.has_store = true;
    p.store.read_byte_ns = 5;
    p.epochs = 100;
    cw_optimize(&p, &plan);
    assert_int_equal(plan.cache_after, 1);
    assert_true(is_near(plan.epoch_ns, 1000 * (500 + 100)));
    p.nodes[1].crops = 1 << 2;
    p.nodes[1].whole_fields = 1;
    p.nodes[1].whole = (struct cw_optimize_whole){.ns = 1600, .grows = 4};
    cw_optimize_price(&p, &plan);
    assert_true(is_near(plan.first_ns, 1000 * (1600 + 400)));
    assert_true(is_near(plan.epoch_ns, 1000 * (2000 + 400)));
    cw_optimize(&p, &plan);
    assert_int_equal(plan.cache_after, CW_OPTIMIZE_NO_CACHE);
    assert_true(is_near(plan.epoch_ns, 1000 * (1000 + 100)));
    p.nodes[2].uncacheable = false; /* behind the crop it is a part all the same */
    p.store.read_byte_ns = 2;
    p.nodes[2].ratio[0] = 0.5;
    cw_optimize(&p, &plan);
    assert_true(plan.cache_after == 2 && is_near(plan.epoch_ns, 1000 * 100));
}

/* Where the trainer decides, a cache brings nothing, unless the work of threads is to be saved. */
static void test_least_work(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.nodes[3].ns = 1000;
    p.has_store = true;
    p.store.read_ns = 50;
    p.epochs = 4;
    p.trainer_ns = 1e9;
    cw_optimize(&p, &plan);
    assert_true(plan.cache_after == CW_OPTIMIZE_NO_CACHE && plan.bound == CW_BOUND_TRAINER);
    p.least_work = true;
    cw_optimize(&p, &plan);
    assert_true(plan.cache_after == 3 && is_near(plan.work_ns, 1000 + 3 * 50));
}

/* No more workers than bring something, and what decides is named. */
static void test_workers_and_bounds(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.nodes[1].ns = 1000;
    p.remote_max = 10;
    p.worker_price = 1;
    p.trainer_price = 10;
    p.trainer_ns = 1000 * 250;
    cw_optimize(&p, &plan);
    assert_true(plan.remote == 4 && plan.bound == CW_BOUND_THREADS);
    p.trainer_ns = 1000 * 255;
    cw_optimize(&p, &plan);
    assert_true(plan.remote == 4 && plan.bound == CW_BOUND_TRAINER);
    p.trainer_ns = 0;
    p.source_bytes = 100;
    p.source_bytes_s = 100 / 500e-9; /* 500 ns an element */
    cw_optimize(&p, &plan);
    assert_true(plan.remote == 2);
    p.remote_max = 5;
    p.source_bytes_s = 100 / 501e-9;
    cw_optimize(&p, &plan);
    assert_true(plan.remote == 2 && plan.bound == CW_BOUND_SOURCE);
    p.source_bytes_s = 0;
    p.network_bytes_s = 100 / 600e-9;
    p.local_max = 1;
    cw_optimize(&p, &plan); /* one of three workers is local: two thirds of 600 ns travel */
    assert_true(plan.local == 1);
    p.least_money = true;
    cw_optimize(&p, &plan);
    assert_true(plan.money > 0);
    p.least_money = false;
    p.network_bytes_s = 0;
    p.local_max = 0;
    p.nodes[1].cpu_ns = 1000;
    p.cores = 0.5;
    cw_optimize(&p, &plan);
    assert_true(plan.remote == 5 && plan.bound == CW_BOUND_CPU);
}

/* What there is no room for is computed again. */
static void test_half_a_cache(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.n = 2;
    p.nodes[1].ns = 1000;
    p.has_store = true;
    p.epochs = 100;
    p.store.free_bytes = 50000;
    cw_optimize(&p, &plan);
    assert_true(plan.cache_after == 1 && is_near(plan.epoch_ns, 1000 * 500));
}

/* A chain with more sets than can be looked at stays as written. */
static void test_too_many_sets(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.n = 40;
    for (size_t i = 0; i < p.n; i++)
        p.nodes[i] = (struct cw_optimize_node){
            .name = "n", .ns = 40 - (double)i, .ratio = {1}, .keep = 0.5, .behind = i > 0};
    cw_optimize(&p, &plan);
    assert_true(plan.states == 0 && !plan.is_best && plan.moved == 0 && plan.remote == 1);
    assert_true(plan.total_ns > 0);
    struct cw_optimize_plan best = plan;
    for (size_t i = 1; i < p.n; i++)
        best.order[i] = p.n - i;
    cw_optimize_price(&p, &best);
    assert_true(best.total_ns < plan.total_ns);
    assert_true(plan.gap < 1 && plan.total_ns * (1 - plan.gap) <= best.total_ns);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_best_of_all_plans),
    cmocka_unit_test(test_best_together),
    cmocka_unit_test(test_fold),
    cmocka_unit_test(test_batch),
    cmocka_unit_test(test_filters_alike),
    cmocka_unit_test(test_filters_alone),
    cmocka_unit_test(test_filter_goes_first),
    cmocka_unit_test(test_no_idle_moves),
    cmocka_unit_test(test_filters_by_cost_over_dropped),
    cmocka_unit_test(test_what_shrinks_goes_before_what_grows),
    cmocka_unit_test(test_order_and_cache_together),
    cmocka_unit_test(test_what_is_cached_already),
    cmocka_unit_test(test_whole_images),
    cmocka_unit_test(test_least_work),
    cmocka_unit_test(test_workers_and_bounds),
    cmocka_unit_test(test_half_a_cache),
    cmocka_unit_test(test_too_many_sets),
};

CW_TESTS_MAIN(tests)
