/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizer against a search of all orders, caches and numbers of workers, and by cases whose best
 * plan is known. */
#include "support/cm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "policies/optimize_bound.h"
#include "policies/optimize_int.h"
#include "policies/optimize_view.h"

#define OPERATORS_MAX 8 /* of a problem, besides its source */
#define LARGE_EVERY 5   /* one problem of so many has as many */

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
    for (size_t i = 0; i < n; i++) /* a crop stays behind what makes the part that it needs */
        for (size_t crop = 0; crop < n; crop++)
            if (p.nodes[i].crops >> crop & 1)
                p.nodes[crop].behind |= UINT64_C(1) << i;
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
    p.store_price = below(random, 2) ? between(random, 0, 1000) : 0;
    p.least_money = below(random, 4) == 0;
    p.least_work = below(random, 3) == 0;
    for (size_t k = below(random, 4); p.has_store && k < 2; k++) {
        const double part = between(random, 0, 1);
        p.branches[p.branches_n++] = (struct cw_optimize_branch){"branch",
                                                                 p.nodes[0].ns * part,
                                                                 p.nodes[0].cpu_ns * part,
                                                                 p.nodes[0].ns * (part + 1),
                                                                 p.nodes[0].cpu_ns * (part + 1),
                                                                 between(random, 1, 1000),
                                                                 below(random, 2) ? part : 0};
    }
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
        else if (below(random, 2) == 0) /* rows of them as they are written */
            node->folds = (UINT64_C(1) << (i - 1)) & ~UINT64_C(1);
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
    for (size_t k = 0; all->problem->has_store && k < all->problem->branches_n; k++) {
        all->plan.cache_after = CW_OPTIMIZE_INSIDE + k;
        with_workers(all);
    }
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

/* A problem of a source and up to five operators. A large one has eight, and few numbers of workers, so that all of its
 * plans can be looked at in a moment. */
static struct cw_optimize_problem some_problem(struct random *random, bool is_large)
{
    struct cw_optimize_problem p =
        random_problem(random, is_large ? 1 + OPERATORS_MAX : 1 + below(random, 6));
    if (is_large) {
        p.remote_max = CW_MIN(p.remote_max, 1);
        p.local_max = 1;
    }
    return p;
}

/* Exchanges two operators of a problem in place, so that one may stand behind a later one. */
static uint64_t exchanged(uint64_t set, size_t a, size_t b)
{
    const uint64_t differ = ((set >> a) ^ (set >> b)) & 1;

    return set ^ (differ << a | differ << b);
}

static void exchange(struct cw_optimize_problem *p, size_t a, size_t b)
{
    const struct cw_optimize_node node = p->nodes[a];

    p->nodes[a] = p->nodes[b];
    p->nodes[b] = node;
    for (size_t i = 0; i < p->n; i++) {
        p->nodes[i].behind = exchanged(p->nodes[i].behind, a, b);
        p->nodes[i].crops = exchanged(p->nodes[i].crops, a, b);
        p->nodes[i].folds = exchanged(p->nodes[i].folds, a, b);
    }
    for (size_t i = 0; i < p->filters.n; i++)
        if (p->filters.place[i] == a || p->filters.place[i] == b)
            p->filters.place[i] = (uint8_t)(a + b - p->filters.place[i]);
    p->cache_needs = exchanged(p->cache_needs, a, b);
    for (size_t i = 0; i < p->cached_n; i++)
        p->cached[i].set = exchanged(p->cached[i].set, a, b);
}

/* The order in which a problem has its operators makes no difference, though it may not be allowed. */
static void test_not_sorted(void **state)
{
    (void)state;
    struct random random = {0};
    size_t wrong = 0;
    cw_rng_init(&random.rng, 29, 0, 0, 0, 0);
    for (size_t i = 0; i < 200; i++) {
        struct cw_optimize_problem p = random_problem(&random, 4 + below(&random, 4)), other;
        struct cw_optimize_plan plan, of_other;
        make_together(&random, &p);
        for (size_t k = 0; k < p.n; k++) /* a field that is added needs the allowed order */
            p.nodes[k].adds = 0, p.nodes[k].crops = 0;
        other = p;
        exchange(&other, 1 + below(&random, p.n - 1), 1 + below(&random, p.n - 1));
        wrong += !cw_optimize_is_sorted(&other);
        cw_optimize(&p, &plan);
        cw_optimize(&other, &of_other);
        double a = p.least_money ? plan.total_ns : plan.money;
        double b = p.least_money ? of_other.total_ns : of_other.money;
        assert_true(is_near(a, b));
    }
    assert_true(wrong > 50);
}

/* together: with operators that do the work of others and the like. */
static void look_at_all_plans(bool together)
{
    struct random random = {0};
    size_t with_cache = 0, with_move = 0, not_fastest = 0, folded = 0, by_batch = 0, largest = 0;
    cw_rng_init(&random.rng, 5 + together, 0, 0, 0, 0);
    for (size_t i = 0; i < 300; i++) {
        struct cw_optimize_problem p = some_problem(&random, i % LARGE_EVERY == 0);
        if (together)
            make_together(&random, &p);
        struct all all = {.problem = &p, .least = HUGE_VAL, .second = HUGE_VAL};
        struct cw_optimize_plan plan;
        permute(&all, 0, 0);
        all.is_second_round = true;
        permute(&all, 0, 0);
        largest = CW_MAX(largest, all.orders / 2);
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
    printf("%zu with a cache, %zu with operators moved, %zu cheaper and not fastest, %zu orders\n",
           with_cache, with_move, not_fastest, largest);
    assert_true(with_cache > 20 && with_move > 80 && not_fastest > 10 && largest > 2000);
    if (together)
        assert_true(folded > 50 && by_batch > 50);
    else
        assert_true(folded == 0 && by_batch == 0);
}

/* What is found where only a few sets are looked at is not worse than the written order, and the gap that is told is
 * not too small, within the 1 % in which plans are alike. Often nothing is lost, and that is told. */
static void test_few_sets(void **state)
{
    (void)state;
    struct random random = {0};
    size_t proven = 0, least = 0;
    cw_rng_init(&random.rng, 17, 0, 0, 0, 0);
    for (size_t i = 0; i < 300; i++) {
        struct cw_optimize_problem p = some_problem(&random, i % LARGE_EVERY == 0);
        if (i % 2)
            make_together(&random, &p);
        p.least_money = false;
        struct all all = {.problem = &p, .least = HUGE_VAL, .second = HUGE_VAL};
        struct cw_optimize_plan plan, written = {.cache_after = CW_OPTIMIZE_NO_CACHE};
        permute(&all, 0, 0);
        cw_optimize_within(&p, 4, 3 * p.n, &plan);
        assert_true(plan.states <= 2 * (4 * p.n + 1));
        if (plan.total_ns * (1 - plan.gap) > all.least * 1.01 * (1 + 1e-9))
            fail_msg("problem %zu: %.12g, gap %g, of %.12g", i, plan.total_ns, plan.gap, all.least);
        proven += plan.is_best;
        least += plan.total_ns <= all.least * 1.01;
        written.remote = p.remote_max, written.local = p.local_max;
        for (size_t op = 0; op < p.n; op++)
            written.order[op] = op;
        cw_optimize_price(&p, &written);
        assert_true(plan.total_ns <= written.total_ns * 1.01 * (1 + 1e-9));
    }
    printf("%zu of 300 are the best, %zu are said to be\n", least, proven);
    assert_true(least > 200 && proven > 100 && proven <= least);
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

/* Who is left out does nobody's work: of three in a row, each of which could be left to the next, the first is called. */
static void test_fold_chain(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.nodes[1].ns = 100;
    p.nodes[2].ns = 10, p.nodes[2].folds = 1 << 1, p.nodes[2].behind |= 1 << 1;
    p.nodes[3].ns = 1, p.nodes[3].folds = 1 << 2, p.nodes[3].behind |= 1 << 2;
    cw_optimize(&p, &plan);
    assert_true(is_near(plan.thread_ns, 100 + 1));
    assert_true(!cw_optimize_is_folded(&p, &plan, 1) && cw_optimize_is_folded(&p, &plan, 2));
    /* a cache behind the second one wants what it makes: the first is left to it */
    plan.cache_after = 2;
    cw_optimize_price(&p, &plan);
    assert_true(is_near(plan.thread_ns, 10 + 1) && cw_optimize_is_folded(&p, &plan, 1));
    /* and so does one behind which there is nothing to do */
    plan.cache_after = CW_OPTIMIZE_NO_CACHE;
    p.nodes[3].folds = 1 << 3;
    cw_optimize_price(&p, &plan);
    assert_true(is_near(plan.thread_ns, 10));
    /* what has no effect is not called either, so it does nobody's work */
    p.nodes[2].folds |= 1 << 2;
    cw_optimize_price(&p, &plan);
    assert_true(is_near(plan.thread_ns, 100));
    assert_true(!cw_optimize_is_folded(&p, &plan, 1) && cw_optimize_is_folded(&p, &plan, 2));
}

/* What has no effect stands in nobody's way: who comes before it is left to who comes behind it. A cache between the two
 * wants what the first one makes, on whichever side of the idle one it stands. */
static void test_fold_over_idle(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.nodes[1].ns_byte = 1, p.nodes[1].ratio[0] = 4;
    p.nodes[2].ns = 1000, p.nodes[2].folds = 1 << 2, p.nodes[2].behind = 3;
    p.nodes[3].ns_byte = 2, p.nodes[3].folds = 1 << 1, p.nodes[3].behind = 7;
    cw_optimize(&p, &plan);
    assert_true(is_near(plan.thread_ns, 2 * 100)); /* of the bytes before the first one */
    assert_true(cw_optimize_is_folded(&p, &plan, 1) && cw_optimize_is_folded(&p, &plan, 2));
    assert_false(cw_optimize_is_folded(&p, &plan, 3));
    for (plan.cache_after = 1; plan.cache_after < 3; plan.cache_after++) {
        cw_optimize_price(&p, &plan);
        assert_true(is_near(plan.thread_ns, 100 + 2 * 400));
        assert_false(cw_optimize_is_folded(&p, &plan, 1));
    }
    plan.cache_after = 0;
    cw_optimize_price(&p, &plan);
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

/* A cache that saves time costs more than the workers that it saves: who asks for the least money has none, but where
 * they cost more than what is kept. */
static void test_least_money(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    struct cw_optimize_epoch epoch;
    p.nodes[3].ns = 1000;
    p.has_store = true;
    p.epochs = 4;
    p.worker_price = 3.6; /* 1e-12 a ns */
    p.store_price = 1e6;  /* of 100,000 bytes: 100 */
    cw_optimize(&p, &plan);
    assert_true(plan.cache_after == 3 && is_near(plan.money, (3.6 + 100) * 1e6 / 3.6e12));
    cw_optimize_epoch(&p, &plan, &epoch);
    assert_true(is_near(epoch.money, (3.6 + 100) * plan.epoch_ns / 3.6e12));
    p.least_money = true;
    cw_optimize(&p, &plan);
    assert_true(plan.cache_after == CW_OPTIMIZE_NO_CACHE &&
                is_near(plan.money, 3.6 * 4e6 / 3.6e12));
    p.store_price = 1e5; /* 10: less than what three epochs of a worker cost */
    cw_optimize(&p, &plan);
    assert_true(plan.cache_after == 3 && is_near(plan.money, 13.6 * 1e6 / 3.6e12));
    p.store.free_bytes = 50000; /* only half of it is kept, and paid for */
    cw_optimize_price(&p, &plan);
    assert_true(is_near(plan.money, (3.6 + 5) * plan.total_ns / 3.6e12));
}

/* A cache within what the first node stands for: its other part is computed in each epoch. */
static void test_branch(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.nodes[0].ns = 1100, p.nodes[0].uncacheable = true;
    p.nodes[3].ns = 10;
    p.has_store = true;
    p.store.read_ns = 50, p.store.read_byte_ns = 1, p.store.write_ns = 5;
    p.epochs = 10;
    p.branches[0] = (struct cw_optimize_branch){.name = "b",
                                                .ns = 1000,
                                                .cpu_ns = 1000,
                                                .whole_ns = 1500,
                                                .whole_cpu_ns = 1500,
                                                .bytes = 20};
    p.branches_n = 1;
    cw_optimize(&p, &plan);
    assert_int_equal(plan.cache_after, CW_OPTIMIZE_INSIDE);
    assert_string_equal(cw_optimize_cached_name(&p, &plan), "b");
    assert_true(is_near(plan.first_ns, 1000 * (1500 + 5 + 100 + 10)));
    assert_true(is_near(plan.epoch_ns, 1000 * (50 + 20 + 100 + 10)));
    p.branches[0].share = 1;
    cw_optimize_price(&p, &plan);
    assert_true(is_near(plan.first_ns, plan.epoch_ns));
    p.nodes[0].uncacheable = false; /* then all of the first node is better read than a part */
    p.branches[0].share = 0;
    cw_optimize(&p, &plan);
    assert_true(plan.cache_after < p.n);
    p.epochs = 1;
    cw_optimize(&p, &plan);
    assert_int_equal(plan.cache_after, CW_OPTIMIZE_NO_CACHE);
    assert_null(cw_optimize_cached_name(&p, &plan));
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

/* Filters in the worst order, of more sets than can be looked at: the best order is found, and known to be the best. */
static void order_filters(size_t n)
{
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.n = n + 1;
    for (size_t i = 1; i < p.n; i++)
        p.nodes[i] = (struct cw_optimize_node){
            .name = "n", .ns = (double)(p.n - i), .ratio = {1}, .keep = 0.9, .behind = 1};
    cw_optimize(&p, &plan);
    assert_true(plan.states > n && plan.states < 2 * CW_OPTIMIZE_PROMISING_SETS);
    struct cw_optimize_plan best = plan;
    for (size_t i = 1; i < p.n; i++)
        best.order[i] = p.n - i;
    cw_optimize_price(&p, &best);
    assert_true(is_near(plan.total_ns, best.total_ns) && plan.gap < 1e-9);
}

static void test_too_many_sets(void **state)
{
    (void)state;
    order_filters(25);
    order_filters(40);
}

/* The same where filters may not go anywhere, what is read becomes larger and smaller, and there may be a cache: it takes
 * much less than as it is written, and the gap is told. */
static void test_too_many_sets_for_all(void **state)
{
    (void)state;
    struct random random = {0};
    cw_rng_init(&random.rng, 23, 0, 0, 0, 0);
    for (size_t n = 25; n <= 40; n += 15) {
        struct cw_optimize_problem p = random_problem(&random, n);
        struct cw_optimize_plan plan, written = {.remote = 1, .cache_after = CW_OPTIMIZE_NO_CACHE};
        for (size_t i = 1; i < n; i++) {
            p.nodes[i].behind = 1 | (i > 3 && i % 4 == 0 ? UINT64_C(1) << (i - 3) : 0);
            p.nodes[i].crops = 0;
            p.nodes[i].adds = 0;
        }
        p.least_money = false;
        p.cores = p.source_bytes_s = p.network_bytes_s = p.trainer_ns = p.other_ns = 0;
        p.remote_max = 1, p.local_max = 0;
        p.has_store = n > 25, p.cached_n = 0;
        cw_optimize(&p, &plan);
        for (size_t i = 0; i < n; i++)
            written.order[i] = i;
        cw_optimize_price(&p, &written);
        printf("%zu operators: %.3g of the time as written, gap %.2g, %zu sets\n", n - 1,
               plan.total_ns / written.total_ns, plan.gap, plan.states);
        assert_true(plan.moved > 0 && plan.gap < 0.4 && plan.total_ns < 0.7 * written.total_ns);
        assert_true(cw_optimize_gap(&p, &plan) >= plan.gap);
    }
}

/* Planning is quick: of many workers only those are priced that could be taken, so 64 of them make no difference of more
 * than a few times. Counted are plans, since clocks differ. */
static void test_steps(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_plan plan;
    p.n = 11;
    for (size_t i = 1; i < p.n; i++)
        p.nodes[i] = (struct cw_optimize_node){.name = "n",
                                               .ns = 100 * (double)i,
                                               .reads = 1,
                                               .ratio = {1},
                                               .keep = 1 - 0.05 * (double)(i % 4),
                                               .behind = 1};
    p.has_store = true;
    p.store.read_ns = 50;
    p.epochs = 10;
    cw_optimize(&p, &plan);
    assert_int_equal(plan.states, 1 + 1024);
    assert_true(plan.priced > 1024 && plan.priced < 3 * 1024);
    p.remote_max = 64;
    cw_optimize(&p, &plan);
    assert_true(plan.remote == 64 && plan.priced < 20 * 1024);
}

/* An operator whose work a later one can do may stand further before it, and bring it fewer bytes. */
static void test_no_order_stays_below_the_bound(void **state)
{
    (void)state;
    struct cw_optimize_problem p = {
        .n = 3, .fields_n = 1, .bytes = {1000}, .elements = 1, .epochs = 1};
    struct cw_optimize_least least;
    struct cw_optimize_flow begin;
    for (size_t i = 0; i < 3; i++)
        p.nodes[i] = (struct cw_optimize_node){.name = "n", .reads = 1, .keep = 1, .ratio = {1}};
    p.nodes[0].ratio[0] = 0.25;
    p.nodes[1].ns = 10;
    p.nodes[2].ns_byte = 1;
    p.nodes[2].folds = p.nodes[2].behind = 1;
    cw_optimize_begin(&p, false, &begin);
    cw_optimize_least_init(&p, &least);
    const double rest = cw_optimize_least_rest(&least, 0, &begin).thread_ns;
    cw_optimize_least_fini(&least);
    assert_true(rest > 200 && rest <= 260);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_best_of_all_plans),
    cmocka_unit_test(test_best_together),
    cmocka_unit_test(test_few_sets),
    cmocka_unit_test(test_not_sorted),
    cmocka_unit_test(test_fold),
    cmocka_unit_test(test_fold_chain),
    cmocka_unit_test(test_fold_over_idle),
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
    cmocka_unit_test(test_least_money),
    cmocka_unit_test(test_branch),
    cmocka_unit_test(test_half_a_cache),
    cmocka_unit_test(test_too_many_sets),
    cmocka_unit_test(test_too_many_sets_for_all),
    cmocka_unit_test(test_steps),
    cmocka_unit_test(test_no_order_stays_below_the_bound),
};

CW_TESTS_MAIN(tests)
