/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a plan: its operators, what decides, what was not taken, and what would be if. */
#include "support/cm.h"

#include <math.h>
#include <string.h>

#include "policies/optimize_view.h"

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* A source, a filter that keeps half, an operator that makes a tenth of its bytes, and one at the end. */
static struct cw_optimize_problem by_hand(void)
{
    struct cw_optimize_problem p = {.n = 4,
                                    .fields_n = 1,
                                    .bytes = {1000},
                                    .elements = 100,
                                    .epochs = 4,
                                    .threads = 1,
                                    .remote_max = 2,
                                    .network_bytes_s = 1e9,
                                    .trainer_ns = 100 * 40,
                                    .worker_price = 3.6,
                                    .trainer_price = 7.2,
                                    .store = {.free_bytes = 100, .read_ns = 10}};

    for (size_t i = 0; i < p.n; i++)
        p.nodes[i] = (struct cw_optimize_node){
            .name = "n", .ns = 100, .cpu_ns = 80, .reads = 1, .ratio = {1}, .keep = 1};
    for (size_t i = 1; i < p.n; i++)
        p.nodes[i].behind = (UINT64_C(1) << i) - 1;
    p.nodes[1].keep = 0.5;
    p.nodes[2].ratio[0] = 0.1;
    p.nodes[2].ns_byte = 1;
    return p;
}

static void test_rows(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_row rows[CW_OPTIMIZE_NODES_MAX];
    struct cw_optimize_plan plan;
    double share = 0;
    cw_optimize(&p, &plan);
    cw_optimize_rows(&p, &plan, rows);
    assert_true(rows[0].rows_in == 100 && rows[0].rows == 100 && rows[0].bytes == 1000);
    assert_true(rows[1].rows_in == 100 && rows[1].rows == 50 && rows[1].bytes == 1000);
    assert_true(rows[2].rows == 50 && is_near(rows[2].bytes, 100));
    assert_true(is_near(rows[2].ns, 1100) && is_near(rows[2].cpu_ns, 80));
    assert_true(is_near(rows[3].ns, 100));
    for (size_t i = 0; i < p.n; i++)
        share += rows[i].share;
    assert_true(is_near(share, 1) && is_near(rows[2].share, 550.0 / 800));
}

/* The longest of what may decide is the epoch. */
static void test_epoch(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_epoch epoch;
    struct cw_optimize_plan plan;
    p.cores = 1;
    cw_optimize(&p, &plan);
    cw_optimize_epoch(&p, &plan, &epoch);
    assert_int_equal(plan.remote, 2);
    assert_true(is_near(epoch.bound_ns[CW_BOUND_THREADS], 100 * 800 / 2));
    assert_true(is_near(epoch.bound_ns[CW_BOUND_CPU], 100 * 240 / 2));
    assert_true(is_near(epoch.bound_ns[CW_BOUND_NETWORK], 100 * 50));
    assert_true(is_near(epoch.bound_ns[CW_BOUND_TRAINER], 100 * 40));
    assert_true(epoch.bound_ns[CW_BOUND_SOURCE] == 0 && epoch.bound_ns[CW_BOUND_STORE] == 0);
    assert_true(is_near(epoch.bound_ns[plan.bound], plan.epoch_ns));
    assert_true(is_near(epoch.cpu_ns, 100 * 240) && is_near(epoch.network_bytes, 100 * 50));
    assert_true(is_near(epoch.money, (2 * 3.6 + 7.2) * plan.epoch_ns / 3.6e12));
    /* from the cache, which half of it fits into: what is read is not computed */
    p.has_store = true;
    p.store.free_bytes = 100 * 0.5 * 100 / 2;
    p.elements = 100;
    cw_optimize(&p, &plan);
    assert_true(plan.cache_after >= 2);
    cw_optimize_epoch(&p, &plan, &epoch);
    assert_true(is_near(epoch.bound_ns[plan.bound], plan.epoch_ns) &&
                plan.epoch_ns < plan.first_ns);
}

static void test_rejected(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_rejected list[CW_REJECTED_MAX];
    struct cw_optimize_plan plan;
    bool kinds[5] = {false};
    p.has_store = true;
    p.store.free_bytes = -1;
    p.trainer_ns = p.network_bytes_s = 0;
    p.nodes[2].behind = p.nodes[3].behind = 1;
    cw_optimize(&p, &plan);
    assert_true(plan.cache_after == 3);
    size_t n = cw_optimize_rejected(&p, &plan, false, list);
    assert_true(n > 4 && n <= CW_REJECTED_MAX);
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || list[i].plan.total_ns >= list[i - 1].plan.total_ns);
        assert_true(list[i].plan.total_ns >= plan.total_ns / 1.01);
        struct cw_optimize_plan again = list[i].plan;
        cw_optimize_price(&p, &again);
        assert_true(again.total_ns == list[i].plan.total_ns);
        for (size_t k = 0; k < i; k++)
            assert_true(memcmp(list[i].plan.order, list[k].plan.order, p.n * sizeof(*plan.order)) !=
                            0 ||
                        list[i].plan.cache_after != list[k].plan.cache_after ||
                        list[i].plan.remote != list[k].plan.remote);
        kinds[list[i].kind] = true;
    }
    assert_true(kinds[CW_REJECTED_NO_CACHE] && kinds[CW_REJECTED_CACHE]);
    assert_true(kinds[CW_REJECTED_SWAPPED] && kinds[CW_REJECTED_WORKERS]);
    n = cw_optimize_rejected(&p, &plan, true, list);
    assert_true(n > 2);
    for (size_t i = 0; i < n; i++)
        assert_true(list[i].kind != CW_REJECTED_WORKERS && list[i].plan.remote == plan.remote &&
                    list[i].plan.local == plan.local);
}

/* A swap that is not allowed is no plan that was rejected, nor one that would take away the cache. */
static void test_rejected_are_plans(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_optimize_rejected list[CW_REJECTED_MAX];
    struct cw_optimize_plan plan;
    p.remote_max = 1;
    cw_optimize(&p, &plan);
    assert_int_equal(cw_optimize_rejected(&p, &plan, false, list), 0);
    p.has_store = true;
    p.store.free_bytes = -1;
    p.nodes[1].uncacheable = true;
    cw_optimize(&p, &plan);
    size_t n = cw_optimize_rejected(&p, &plan, false, list);
    for (size_t i = 0; i < n; i++)
        assert_true(list[i].plan.cache_after == CW_OPTIMIZE_NO_CACHE ||
                    list[i].plan.cache_after == 0);
    assert_true(n == 1);
}

static const struct cw_what_if *find(const struct cw_what_if *list, size_t n,
                                     enum cw_what_if_kind kind, size_t op)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].kind == kind && list[i].op == op)
            return &list[i];
    return NULL;
}

/* Each case is what the search says when it is so. */
static void test_what_if(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand(), other, relaxed;
    struct cw_what_if list[CW_WHAT_IF_MAX];
    struct cw_optimize_plan plan, so;
    cw_optimize(&p, &plan);
    relaxed = p;
    relaxed.nodes[2].behind = 1;
    size_t n = cw_optimize_what_if(&p, &relaxed, &plan, list);
    assert_int_equal(n, 6); /* there is no store, and nowhere fewer bytes than at the end */
    double more = find(list, n, CW_WHAT_IF_WORKER_MORE, 0)->plan.epoch_ns;
    double less = find(list, n, CW_WHAT_IF_WORKER_LESS, 0)->plan.epoch_ns;
    assert_true(is_near(more, plan.epoch_ns * 2 / 3) && is_near(less, plan.epoch_ns * 2));
    other = p;
    other.trainer_ns /= 2;
    cw_optimize(&other, &so);
    assert_true(find(list, n, CW_WHAT_IF_TRAINER, 0)->plan.epoch_ns == so.epoch_ns);
    other = p;
    other.nodes[2].ns /= 2, other.nodes[2].ns_byte /= 2, other.nodes[2].cpu_ns /= 2;
    cw_optimize(&other, &so);
    const struct cw_what_if *half = find(list, n, CW_WHAT_IF_HALF, 2);
    assert_true(half && half->plan.epoch_ns == so.epoch_ns && so.epoch_ns < plan.epoch_ns);
    const struct cw_what_if *free = find(list, n, CW_WHAT_IF_RELAXED, 0);
    cw_optimize(&relaxed, &so);
    assert_true(free && free->plan.epoch_ns == so.epoch_ns);
}

/* An operator at half its cost takes half for whole images as well, which it makes where they are cached. */
static void test_what_if_whole(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand(), other;
    struct cw_what_if list[CW_WHAT_IF_MAX];
    struct cw_optimize_plan plan, so;
    p.nodes[1].crops = 1 << 2, p.nodes[1].whole_fields = 1;
    p.nodes[1].whole = (struct cw_optimize_whole){8000, 8, 8000, 8, 2};
    p.nodes[1].ns = 4000;
    p.nodes[2].uncacheable = true;
    p.has_store = true;
    p.store.free_bytes = -1;
    p.epochs = 10;
    cw_optimize(&p, &plan);
    assert_int_equal(plan.cache_after, 1);
    size_t n = cw_optimize_what_if(&p, NULL, &plan, list);
    const struct cw_what_if *half = find(list, n, CW_WHAT_IF_HALF, 1);
    other = p;
    other.nodes[1].ns /= 2, other.nodes[1].cpu_ns /= 2;
    other.nodes[1].whole = (struct cw_optimize_whole){4000, 4, 4000, 4, 2};
    cw_optimize(&other, &so);
    assert_true(half && is_near(half->plan.total_ns, so.total_ns));
    assert_true(so.total_ns < plan.total_ns);
}

/* A trainer that decides is twice as fast; room that decides is more. */
static void test_what_if_relieves(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_what_if list[CW_WHAT_IF_MAX];
    struct cw_optimize_plan plan;
    p.trainer_ns = 1e9;
    cw_optimize(&p, &plan);
    assert_int_equal(plan.bound, CW_BOUND_TRAINER);
    size_t n = cw_optimize_what_if(&p, NULL, &plan, list);
    assert_true(is_near(find(list, n, CW_WHAT_IF_TRAINER, 0)->plan.epoch_ns, 5e8));
    assert_true(is_near(find(list, n, CW_WHAT_IF_WORKER_MORE, 0)->plan.epoch_ns, 1e9));
    assert_null(find(list, n, CW_WHAT_IF_RELAXED, 0));
    p.trainer_ns = 0;
    p.has_store = true;
    p.epochs = 1000;
    p.elements = 1e8; /* of 50 bytes each: 5 GB behind the third */
    cw_optimize(&p, &plan);
    n = cw_optimize_what_if(&p, NULL, &plan, list);
    assert_null(find(list, n, CW_WHAT_IF_TRAINER, 0));
    const struct cw_what_if *room = find(list, n, CW_WHAT_IF_CACHE, 0);
    assert_true(room && room->plan.epoch_ns < plan.epoch_ns / 2);
    p.store.free_bytes = -1;
    n = cw_optimize_what_if(&p, NULL, &plan, list);
    assert_null(find(list, n, CW_WHAT_IF_CACHE, 0)); /* there is no limit */
}

/* Behind what grows fewer bytes travel than at the end. */
static void test_cut(void **state)
{
    (void)state;
    struct cw_optimize_problem p = by_hand();
    struct cw_what_if list[CW_WHAT_IF_MAX];
    struct cw_optimize_plan plan;
    p.nodes[3].ratio[0] = 8;
    cw_optimize(&p, &plan);
    size_t n = cw_optimize_what_if(&p, NULL, &plan, list);
    const struct cw_what_if *cut = find(list, n, CW_WHAT_IF_CUT, 2);
    assert_non_null(cut);
    assert_true(is_near(cut->epoch.network_bytes, 100 * 50));
    assert_true(is_near(cut->beside_cpu_ns, 50 * 80));
    assert_true(cut->plan.epoch_ns < plan.epoch_ns);
    p.nodes[3].ratio[0] = 1;
    cw_optimize(&p, &plan);
    n = cw_optimize_what_if(&p, NULL, &plan, list);
    assert_null(find(list, n, CW_WHAT_IF_CUT, 2)); /* the end is as small */
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows),     cmocka_unit_test(test_epoch),
    cmocka_unit_test(test_rejected), cmocka_unit_test(test_rejected_are_plans),
    cmocka_unit_test(test_what_if),  cmocka_unit_test(test_what_if_whole),
    cmocka_unit_test(test_cut),      cmocka_unit_test(test_what_if_relieves),
};

CW_TESTS_MAIN(tests)
