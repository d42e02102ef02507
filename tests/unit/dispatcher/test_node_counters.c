/* SPDX-License-Identifier: Apache-2.0 */
/* What workers tell in totals, added up: they come, go, begin again; and rates of the store. */
#include <math.h>

#include "dispatcher/autocache/autocache.h"
#include "support/cm.h"

static char node_name[] = "n", job_id[] = "j", tenant[] = "default";

static Cachew__V1__NodeCounts counts(uint64_t elements, uint64_t hits, uint64_t cpu_ns)
{
    Cachew__V1__NodeCounts c = CACHEW__V1__NODE_COUNTS__INIT;
    c.job_id = job_id;
    c.node = node_name;
    c.elements = elements;
    c.hits = hits;
    c.cpu_ns = cpu_ns;
    c.wall_ns = 2 * cpu_ns;
    c.element_bytes = 100 * elements;
    return c;
}
static void add(struct cw_node_counters *m, uint64_t worker, size_t node, uint64_t elements,
                uint64_t hits, uint64_t cpu_ns)
{
    Cachew__V1__NodeCounts c = counts(elements, hits, cpu_ns);
    cw_node_counters_add(m, worker, node, &c);
}
static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b) + 1e-9;
}

static void totals_become_sums(void **state)
{
    (void)state;
    struct cw_node_counters m;
    cw_node_counters_init(&m, 2);
    add(&m, 1, 0, 10, 0, 1000);
    add(&m, 1, 1, 5, 0, 50);
    add(&m, 1, 0, 30, 0, 3000);
    add(&m, 2, 0, 7, 0, 700); /* another worker */
    assert_true(near(m.recent[0].elements, 37) && near(m.recent[0].cpu_ns, 3700) &&
                near(m.recent[0].wall_ns, 7400) && near(m.recent[0].bytes, 3700));
    assert_true(near(m.all_outputs, 5) && near(m.outputs, 5) && near(m.computed[0], 37));
    add(&m, 1, 0, 4, 0, 400); /* it was given the job anew: counts from zero */
    assert_true(near(m.recent[0].elements, 41) && near(m.recent[0].cpu_ns, 4100));
    cw_node_counters_halve(&m);
    assert_true(near(m.total[0].elements, 41) && near(m.total[0].wall_ns, 8200));
    assert_true(near(m.recent[0].elements, 20.5) && near(m.recent[0].cpu_ns, 2050) &&
                near(m.all_outputs, 5));
    cw_node_counters_fini(&m);
}

static void hits_are_outputs_but_no_work(void **state)
{
    (void)state;
    struct cw_node_counters m;
    cw_node_counters_init(&m, 2);
    add(&m, 1, 0, 10, 0, 1000);
    add(&m, 1, 1, 10, 0, 10);
    add(&m, 1, 1, 12, 8, 12);
    assert_true(near(m.all_outputs, 20) && near(m.all_hits, 8));
    /* how many elements an output needs does not show any more */
    assert_true(near(m.outputs, 10) && near(m.computed[1], 10));
    cw_node_counters_fini(&m);
}

/* An earlier dispatcher has counted it: it is known of the nodes, and not counted again. */
static void what_was_counted_before(void **state)
{
    (void)state;
    struct cw_node_counters m;
    cw_node_counters_init(&m, 1);
    Cachew__V1__NodeCounts c = counts(10, 4, 1000);
    assert_false(cw_node_counters_has(&m, 1, 0));
    cw_node_counters_add_counted(&m, 1, 0, &c);
    assert_true(cw_node_counters_has(&m, 1, 0));
    assert_true(near(m.total[0].elements, 0) && near(m.all_hits, 0));
    assert_true(near(m.recent[0].elements, 10) && near(m.recent[0].cpu_ns, 1000));
    add(&m, 1, 0, 12, 5, 1200);
    assert_true(near(m.total[0].elements, 2) && near(m.all_hits, 1));
    assert_true(near(m.recent[0].elements, 12) && near(m.recent[0].hits, 5));
    cw_node_counters_forget_hits(&m);
    assert_true(near(m.recent[0].hits, 0) && near(m.total[0].hits, 1));
    cw_node_counters_fini(&m);
}

/* Sums for the line of costs grow as the other totals do, age with the recent ones, and are not mixed
 * with what other jobs have measured. */
static void costs_by_bytes(void **state)
{
    (void)state;
    struct cw_node_counters m;
    struct cw_autocache_node node = {.name = "a", .samples = 50, .cpu_ns = 5, .per_output = 1};
    const struct cw_autocache_snapshot s = {.n = 1, .nodes = &node, .elements_measured = 50};
    cw_node_counters_init(&m, 1);
    cw_node_counters_set_prior(&m, &s);
    assert_true(near(m.costs[0].elements, 0) && near(m.costs[0].cpu_ns, 0));
    Cachew__V1__NodeCounts c = counts(100, 0, 3000);
    c.timed = 20;
    c.calls = 100;
    c.in_bytes = 100 * 50;
    c.dropped = 75;
    cw_node_counters_add(&m, 1, 0, &c);
    cw_node_counters_add(&m, 1, 0, &c);
    cw_node_counters_add(&m, 2, 0, &c);
    assert_true(near(m.costs[0].elements, 200) && near(m.costs[0].cpu_ns, 6000));
    assert_true(near(m.costs[0].sums.calls, 200) && near(m.costs[0].sums.in_bytes, 10000));
    cw_node_counters_halve(&m);
    assert_true(near(m.costs[0].elements, 100) && near(m.costs[0].wall_ns, 6000));
    assert_true(near(m.costs[0].sums.timed, 20) && near(m.costs[0].sums.dropped, 75));
    cw_node_counters_fini(&m);
}

static void another_jobs_measurements(void **state)
{
    (void)state;
    struct cw_autocache_node nodes[2] = {
        {.name = "a", .samples = 1000, .cpu_ns = 5, .wall_ns = 7, .bytes = 9, .per_output = 4},
        {.name = "b", .samples = 10, .cpu_ns = 1, .wall_ns = 1, .bytes = 1, .per_output = 1}};
    const struct cw_autocache_snapshot s = {.n = 2, .nodes = nodes, .elements_measured = 300};
    struct cw_node_counters m;
    cw_node_counters_init(&m, 2);
    cw_node_counters_set_prior(&m, &s);
    assert_true(near(m.recent[0].cpu_ns / m.recent[0].elements, 5) &&
                near(m.recent[0].wall_ns / m.recent[0].elements, 7));
    assert_true(m.recent[0].elements < 100); /* what is measured now soon weighs more */
    assert_true(near(m.all_outputs, 300));
    cw_node_counters_fini(&m);
}

struct window { /* what one worker tells */
    uint64_t hits, bytes, get_ns, wait_ns;
};
static void tell(struct cw_cache_rates *cache, const struct window *w, int64_t now_ms)
{
    uint8_t key[16] = {1};
    Cachew__V1__CacheCounts c = CACHEW__V1__CACHE_COUNTS__INIT, *list[] = {&c};
    Cachew__V1__StoreState store = CACHEW__V1__STORE_STATE__INIT;
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    c.key = (ProtobufCBinaryData){sizeof(key), key};
    c.tenant = tenant;
    c.hits = w->hits;
    c.hit_bytes = w->bytes;
    c.get_ns = w->get_ns;
    c.wait_ns = w->wait_ns;
    progress.cache = list;
    progress.n_cache = 1;
    progress.store = &store;
    const struct cw_worker worker = {.id = 7, .threads = 1};
    cw_cache_rates_add(cache, 0, &worker, &progress, now_ms);
}

static void rates_of_the_store(void **state)
{
    (void)state;
    struct cw_cache_rates cache = {0};
    struct cw_autocache_store s = {0};
    cw_cache_rates_read(&cache, 2, 0, &s);
    assert_true(s.read_bytes_s <= 0 && s.assumed != NULL && near(s.read_ns, 2000));
    cw_cache_rates_read(&cache, 2, 1e6, &s);
    assert_true(near(s.read_bytes_s, 2e6)); /* what one got alone, for two */
    tell(&cache, &(struct window){0, 0, 0, 0}, 1000);
    /* it waited little: the store may have more */
    tell(&cache, &(struct window){100, 1000000, 5000000, 1000000}, 2000);
    cw_cache_rates_read(&cache, 1, 5e5, &s);
    assert_true(near(s.read_bytes_s, 1e6));
    assert_null(s.assumed);
    /* time without waiting, shared out */
    assert_true(near(s.read_ns * 100 + s.read_byte_ns * 1000000, 4000000));
    /* it waited nearly all the time: that is all there is */
    tell(&cache, &(struct window){150, 1400000, 905000000, 900000000}, 3000);
    cw_cache_rates_read(&cache, 1, 5e9, &s);
    assert_true(near(s.read_bytes_s, 4e5));
    cw_cache_rates_forget(&cache, 7);
    assert_int_equal(cache.keys.n, 0);
    assert_int_equal(cache.workers.n, 0);
    cw_cache_rates_fini(&cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_become_sums),        cmocka_unit_test(hits_are_outputs_but_no_work),
        cmocka_unit_test(what_was_counted_before),   cmocka_unit_test(costs_by_bytes),
        cmocka_unit_test(another_jobs_measurements), cmocka_unit_test(rates_of_the_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
